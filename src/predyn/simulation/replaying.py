"""Replay predicted torques in a forward simulation and compare the motion with the prediction.

The torques of a solution drive a forward simulation from its first state, without correction. The
difference at the end is the transcription error, unless the motion amplifies it: an unstable motion
multiplies every difference, including rounding, by a factor that grows exponentially with time.
A body that stands on the ground is such a case: its feet are light, and in the simulation nothing
but given forces holds them. It is replayed in short windows that start from the predicted state;
hands that hold something are then joined to it by the predicted forces only.
Work is integrated as well, so that the energy balance checks the simulation itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.energy import kinetic_energy, potential_energy
from predyn.dynamics.evaluations import Accelerations, Evaluation
from predyn.dynamics.expansion import expand_states
from predyn.dynamics.rnea import RNEA
from predyn.errors import InputError
from predyn.kernels.forces import signal_of
from predyn.model import PRISMATIC, Model
from predyn.simulation.closed_loops import projection_of
from predyn.simulation.controls import Predicted
from predyn.simulation.predicted_phases import PredictedPhase
from predyn.simulation.simulation import LEAST_RTOL, positive, step_count
from predyn.simulation.stepping import STEP_LIMIT, Adaptive, Slope, run
from predyn.simulation.trajectories import DIVERGED, FINISHED, LIMITED
from predyn.solution import MOST_LISTED, Solution
from predyn.solution.evaluation import has_motor
from predyn.solution.ground import touches_ground

Floats = NDArray[np.float64]
STANDING = 0.05  # s between restarts of a motion on the ground
MOST_WINDOWS = 100_000
JUMP = 1e-6  # rad, m, rad/s, m/s; larger steps between phases are intended, not solver tolerance


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Result of a forward simulation under a solution's torques: motion, differences, energy.

    Times are those of the solution's samples, up to the end of the simulation.
    """

    name: str
    model: Model
    status: str  # finished, step_limit or diverged
    message: str
    t: Floats  # (K,)
    q: Floats  # (K, n) simulated
    v: Floats
    tau: Floats  # applied torques: zero at passive joints
    dq: Floats  # (K, n) simulated minus predicted
    dv: Floats
    energy: Floats  # (K,) J, kinetic and potential, including payloads
    work_torques: Floats  # (K,) J done on the mechanism since the start
    work_friction: Floats  # not positive
    work_forces: Floats
    energy_error: Floats  # (K,) change of the energy minus all work and energy_jumps
    energy_jumps: Floats  # (K,) J gained by jumps of the state and changes of the load
    passive: tuple[str, ...] = ()  # names of the joints without a motor
    jumps: tuple[float, ...] = ()  # times at which the predicted and simulated states jump
    load_changes: tuple[float, ...] = ()  # times at which a payload is added or removed
    restart: float | None = None  # s, the longest window between restarts from the prediction

    @property
    def max_position_error(self) -> float:
        """The largest difference of a joint's position at any time, rad or m."""
        return float(np.abs(self.dq).max())

    @property
    def max_velocity_error(self) -> float:
        return float(np.abs(self.dv).max())

    @property
    def end_position_error(self) -> float:
        """The largest difference of a joint's position at the end, rad or m."""
        return float(np.abs(self.dq[-1]).max())

    @property
    def end_velocity_error(self) -> float:
        return float(np.abs(self.dv[-1]).max())

    @property
    def max_energy_error(self) -> float:
        """The largest imbalance of energy, J."""
        return float(np.abs(self.energy_error).max())

    def __str__(self) -> str:
        ended = f"{self.status}: {self.message}" if self.message else self.status
        lines = [
            f"{self.name}, replayed by forward simulation{_every(self.restart)}: {ended}",
            f"{'joint':<16}  {'largest dq':>15}  {'largest dv':>17}  {'dq at the end':>15}  "
            f"{'dv at the end':>17}",
        ]
        for j, joint in list(enumerate(self.model.joint_names))[:MOST_LISTED]:
            unit = "m" if self.model.kind[j] == PRISMATIC else "rad"
            cells = (
                (np.abs(self.dq[:, j]).max(), unit, 15),
                (np.abs(self.dv[:, j]).max(), f"{unit}/s", 17),
                (self.dq[-1, j], unit, 15),
                (self.dv[-1, j], f"{unit}/s", 17),
            )
            columns = (f"{f'{value:.3g} {of}':>{width}}" for value, of, width in cells)
            lines.append("  ".join((f"{joint:<16.60}", *columns)))
        if self.model.n > MOST_LISTED:
            lines.append(f"... and {self.model.n - MOST_LISTED} more joints")
        lines += [
            f"energy {self.energy[0]:.6g} J at {self.t[0]:.4g} s, {self.energy[-1]:.6g} J at "
            f"{self.t[-1]:.4g} s; work of torques {self.work_torques[-1]:.6g} J, of friction "
            f"{self.work_friction[-1]:.6g} J, of external forces {self.work_forces[-1]:.6g} J",
            f"largest imbalance of energy {self.max_energy_error:.3g} J",
        ]
        if self.jumps:
            times = ", ".join(f"{t:.4g}" for t in self.jumps)
            lines.append(f"the predicted state jumps at {times} s, and the simulated one with it")
        if self.load_changes:
            times = ", ".join(f"{t:.4g}" for t in self.load_changes)
            lines.append(f"the load changes at {times} s")
        if self.jumps or self.load_changes:
            lines.append(f"this adds {self.energy_jumps[-1]:.6g} J, included in the balance")
        return "\n".join(lines)

    __repr__ = __str__


def _every(restart: float | None) -> str:
    return "" if restart is None else f" in windows of at most {restart:g} s"


def replay(
    solution: Solution,
    *,
    restart: float | str | None = "auto",
    rtol: float = 1e-10,
    atol: float = 1e-12,
    max_steps: int = 30_000,
) -> Replay:
    """Simulate the mechanism under a solution's torques and forces, and compare with its motion.

    At every instant the torques are those that the curves need, zero at passive joints, and the
    forces, those of the ground included, are the predicted ones, without feedback correction.
    restart: s, the longest time after which the simulation starts again from the predicted state;
    None: never; "auto": 0.05 s for a motion on the ground, else never. The difference at such an
    instant is the one before the restart. rtol, atol: tolerances of the adaptive method, which
    restarts at every break point of the curves; max_steps: largest number of steps in a phase or
    window. This does NOT judge the result: the acceptable difference depends on the application,
    and unstable motions (balancing, a long swing, feet on the ground) amplify even rounding errors.
    """
    if not isinstance(solution, Solution):
        raise InputError(f"solution: expected a predyn.Solution, got {type(solution).__name__}")
    positive("rtol", rtol, least=LEAST_RTOL)
    positive("atol", atol)
    most = step_count(max_steps)
    window = _window(solution, restart)
    model, control = solution.model, Predicted(solution)
    n, times = model.n, np.unique(solution.t)
    first = solution.at(0.0)
    y = np.concatenate((first.q, first.v, np.zeros(3)))
    windows = _windows(solution, window)
    models = [_model_in(solution, k, window is not None) for k in range(len(solution.curves))]
    rows: list[Floats] = []
    kept: list[Floats] = []
    phases: list[int] = []  # of each row
    steps: list[tuple[float, float]] = []  # time, change of energy
    jumps, load_changes = [], []
    message, status = "", FINISHED
    for number, (k, begin, end) in enumerate(windows):
        now = models[k]
        if number > 0:
            earlier = models[windows[number - 1][0]]
            before, jump = _energy(earlier, y), _jump(control, begin)
            if window is not None:
                piece = control.pieces.piece(begin + 1e-9 * (end - begin))
                state = control.pieces.at(begin, piece)
                y = np.concatenate((state[0], state[1], y[2 * n :]))
            elif np.abs(jump).max() > JUMP:
                y = y + np.append(jump, np.zeros(3))
                jumps.append(begin)
            if not np.array_equal(now.inertia, earlier.inertia):
                load_changes.append(begin)
            steps.append((begin, _energy(now, y) - before))
        last = number == len(windows) - 1
        inside = times[(times > begin) & (times < end)]
        grid = np.concatenate(([begin], inside, [end]))
        accelerations = Accelerations(now, control.phases[k].first_forces)
        slopes = _slopes(control.phases[k], control, accelerations)
        limits = (rtol, atol, math.inf, most)
        project = projection_of(now, accelerations, y[None, :n])
        stepper = Adaptive(slopes, (begin, end), y, n, control.breaks, *limits, project)
        part = run(stepper, grid, n)
        # of two rows at a boundary, the one after it; of a restart, the one before it
        first_row = 1 if window is not None and number > 0 else 0
        stop = len(part.t) - (0 if window is not None or last or part.trouble else 1)
        kept.append(part.t[first_row:stop])
        phases += [k] * (stop - first_row)
        rows.append(part.y[first_row:stop])
        y = part.y[-1]
        if part.trouble is not None:
            message = part.trouble.text(model)
            status = LIMITED if part.trouble.place == STEP_LIMIT else DIVERGED
            break
    phase = np.array(phases, np.int64)
    found = _compared(solution, control, phase, np.concatenate(kept), np.concatenate(rows), steps,
                      window)  # fmt: skip
    return replace(
        found,
        status=status,
        message=message,
        jumps=tuple(jumps),
        load_changes=tuple(load_changes),
        restart=window,
    )


def _window(solution: Solution, restart: Any) -> float | None:
    if isinstance(restart, str):
        if restart != "auto":
            raise InputError(f"restart: expected seconds, None or 'auto', got {restart!r:.40}")
        return STANDING if touches_ground(solution) else None
    return None if restart is None else positive("restart", restart)


def _windows(solution: Solution, window: float | None) -> list[tuple[int, float, float]]:
    """Phase, begin and end of each stretch that is simulated without a restart."""
    ends = np.cumsum([0.0, *(curve.duration for curve in solution.curves)])
    found = []
    for k, (begin, end) in enumerate(itertools.pairwise(ends.tolist())):
        count = 1 if window is None else math.ceil((end - begin) / window * (1.0 - 1e-12))
        if count > MOST_WINDOWS:
            raise InputError(
                f"restart: {window:g} s makes {count} windows in a phase; expected at most "
                f"{MOST_WINDOWS}; choose a longer one"
            )
        grid = np.linspace(begin, end, max(count, 1) + 1).tolist()
        found += [(k, low, high) for low, high in itertools.pairwise(grid)]
    return found


def _model_in(solution: Solution, k: int, windows: bool) -> Model:
    """What moves in a phase, with the loops that are held there.

    Within a window, predicted forces of points act as those of the ground do: nothing else holds
    them, and what they leave open is part of the difference.
    """
    system, signals = solution.system(k), solution.signal_curves
    given = {signal_of(x.force)[0] for x in system.forces if isinstance(x.force, str)}
    held = []
    for loop in system.model.loops:
        own = [signals[x] for x in (loop.name, f"{loop.name} tension") if x in signals]
        open_here = any(signal.curves[k] is None for signal in own)
        if not open_here and not (windows and loop.kind == "point" and loop.name in given):
            held.append(loop)
    return replace(system.model, loops=tuple(held))


def _slopes(
    phase: PredictedPhase, control: Predicted, accelerations: Accelerations
) -> Callable[[float, float], Slope]:
    """dy/dt of y = (q, v, work of torques, of friction, of external forces) in a phase."""
    model = phase.model
    n = model.n
    first = phase.first_forces
    loaded, free = Evaluation(RNEA, model, first), Evaluation(RNEA, model, ())
    rest, tree = np.zeros((1, n)), model.expanded
    speed = np.where(tree.coulomb_speed > 0.0, tree.coulomb_speed, 1.0)

    def within(start: float, end: float) -> Slope:
        torques, forces = control.on(start, end), phase.forces_near(0.5 * (start + end))

        def slope(t: float, y: Floats) -> Floats:
            q, v = y[None, :n], y[None, n : 2 * n]
            tau = torques(t, q, v)
            if not phase.constant:
                acting = forces(t)
                accelerations.load(acting)
                loaded.load(acting)
            rates = expand_states(model, q, v, rest).v if model.couplings else v
            friction = tree.damping * rates + tree.coulomb * np.tanh(rates / speed)
            pushed = 0.0
            if phase.forces:
                pushed = float(np.sum((free(q, rest, rest) - loaded(q, rest, rest)) * v))
            powers = (float(np.sum(tau * v)), -float(np.sum(friction * rates)), pushed)
            return np.concatenate((v[0], accelerations(q, v, tau)[0], powers))

        return slope

    return within


def _energy(model: Model, y: Floats) -> float:
    q, v = y[: model.n], y[model.n : 2 * model.n]
    return float(kinetic_energy(model, q, v) + potential_energy(model, q))


def _jump(control: Predicted, t: float) -> Floats:
    """Jumps of the predicted q and v at the boundary between two phases."""
    later = control.pieces.piece(t)
    before, after = control.pieces.at(t, later - 1), control.pieces.at(t, later)
    return np.concatenate((after[0] - before[0], after[1] - before[1]))


def _compared(
    solution: Solution,
    control: Predicted,
    phase: NDArray[np.int64],
    t: Floats,
    y: Floats,
    steps: list[tuple[float, float]],
    window: float | None,
) -> Replay:
    n = solution.model.n
    q, v = np.ascontiguousarray(y[:, :n]), np.ascontiguousarray(y[:, n : 2 * n])
    predicted = solution.at(np.minimum(t, solution.duration))
    energy = np.empty(len(t))
    for k in np.unique(phase):
        rows, model = phase == k, control.phases[k].model
        energy[rows] = kinetic_energy(model, q[rows], v[rows]) + potential_energy(model, q[rows])
    work = y[:, 2 * n :].T
    jumps = np.zeros(len(t))
    for time, change in steps:
        jumps[t >= time if window is None else t > time] += change
    return Replay(
        name=solution.name,
        model=solution.model,
        status=FINISHED,
        message="",
        t=t,
        q=q,
        v=v,
        tau=np.where(has_motor(solution, phase), predicted.tau, 0.0),
        dq=q - predicted.q,
        dv=v - predicted.v,
        energy=energy,
        work_torques=work[0],
        work_friction=work[1],
        work_forces=work[2],
        energy_error=energy - energy[0] - work.sum(axis=0) - jumps,
        energy_jumps=jumps,
        passive=solution.passive,
    )

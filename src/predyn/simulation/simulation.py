"""Forward simulation: the motion of a mechanism under given torques from a given state."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.closed_dynamics import closed_forward_dynamics
from predyn.dynamics.evaluations import Accelerations, select_force
from predyn.dynamics.rk4 import LARGEST, Marched, Plan, can_march, march
from predyn.errors import InputError, unknown_name
from predyn.kernels.arguments import finite, joints, real
from predyn.kernels.forces import ExternalForce, placed_forces, vector
from predyn.model import Model
from predyn.model.floating_base import floating_base
from predyn.simulation.closed_loops import close_start, projection_of
from predyn.simulation.controls import Control, Samples, check_times, read_control
from predyn.simulation.stepping import RK4, Adaptive, Event, Fixed, march_in_numpy, run
from predyn.simulation.trajectories import Trajectory, gather_runs, gather_trajectory
from predyn.simulation.variational import VariationalStepper, VariationalSteps
from predyn.solution import Solution
from predyn.solution.ground import touches_ground

Floats = NDArray[np.float64]
METHODS = ("adaptive", "rk4", "variational")
LEAST_RTOL = 1e-13
MOST_STEPS = 10**9


def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    control: Any,
    t: ArrayLike,
    *,
    method: str = "adaptive",
    step: float | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    forces: Sequence[ExternalForce] = (),
    events: Event | Sequence[Event] = (),
    max_steps: int = 100_000,
    free_fall: bool = False,
) -> Trajectory:
    """Simulate the mechanism from q0, v0 at t[0]; returns states at the increasing times t (K,).

    q0, v0   (..., n): one trajectory or a batch of them
    control  None (no torques); constant torques (..., n); (times (S,), torques (..., S, n)), linear
             in between; a Solution, for its torques; a solution.Curve of torques; or a function
             control(t, q, v) -> torques (n,) or (..., n)
    method   "adaptive": DOP853 with tolerances rtol and atol, one trajectory after the other;
             "rk4": fixed steps, the whole batch at once;
             "variational": the midpoint rule of discrete mechanics, with fixed steps: loops stay
             closed and momentum is conserved to rounding, energy stays near its value for good.
             A control function is called with q and v (n,) by "adaptive", else (..., n)
    step     s, the longest step; "rk4" and "variational" divide each interval of t into equal steps
             (default: one step per interval), so that states at t need no interpolation
    forces   external forces; their leading shapes broadcast with that of q0
    events   functions event(t, q, v) -> number; the first change of sign stops the trajectory
    max_steps  of the adaptive method; after that, a trajectory is stopped (status "step_limit"):
             strong damping, stiff springs or steep friction need very short steps
    free_fall  whether a model that stands on contact points may be simulated without forces on it

    Springs, friction and rotors are those of the model. Its loops stay closed: every state is
    projected onto them ("variational": they are equations of every step), and a start that is more
    than 1e-6 away is an error. A trajectory that becomes infinite or NaN, or exceeds 1e6 rad, m,
    rad/s or m/s, is stopped (status "diverged"), as is one whose step has no solution
    ("variational"). The page docs/simulation.md has the details of each method.
    """
    n, times = joints(model), check_times("t", t)
    if not isinstance(method, str) or method not in METHODS:
        raise unknown_name("method", method, METHODS)
    longest = math.inf if step is None else positive("step", step)
    positive("rtol", rtol, least=LEAST_RTOL)
    positive("atol", atol)
    most = step_count(max_steps)
    if not free_fall and not forces:
        _refuse_to_fall(model, control)
    given = read_control(model, control, times)
    stops = _read_events(events)
    starts = [_check_bounds(name, real(model, name, x, n)) for name, x in (("q0", q0), ("v0", v0))]
    lead = _broadcast_lead(model, starts, given, forces)
    q, v = (np.array(np.broadcast_to(x, (*lead, *n)), order="C").reshape(-1, *n) for x in starts)
    q, v = close_start(model, q, v, lead)
    loads = [_flatten_force(force, lead) for force in forces]
    driven = given.flat(lead)
    if method == "variational":
        parts, event, controls = _simulate_variational(
            model, q, v, driven, _plan_steps(times, longest), loads, stops
        )
        return gather_trajectory(model, times, parts, event, controls, lead, tuple(forces), stops)
    if method == "rk4" and not stops:
        _check_start(model, q, v, driven, times[0], loads)
        plan = _plan_steps(times, longest)
        parts, none = _march(model, q, v, driven, plan, loads), np.full(len(q), -1)
        return gather_trajectory(model, times, parts, none, driven, lead, tuple(forces), stops)
    controls, runs = [driven.of(row) for row in range(len(q))], []
    for row, alone in enumerate(controls):
        y = np.concatenate((q[row], v[row]))
        pushes = [select_force(force, row) for force in loads]
        _check_start(model, q[row : row + 1], v[row : row + 1], alone, times[0], pushes)
        accelerations = Accelerations(model, pushes)
        project = projection_of(model, accelerations, q[row : row + 1])
        stepper: Fixed | Adaptive
        if method == "rk4":
            step_by = RK4(accelerations, alone.at, project)
            stepper = Fixed(step_by, _plan_steps(times, longest), y)
        else:
            slopes = _make_slopes(accelerations, alone, model.n)
            span = (float(times[0]), float(times[-1]))
            limits = (rtol, atol, longest, most)
            stepper = Adaptive(slopes, span, y, model.n, alone.breaks, *limits, project)
        runs.append(run(stepper, times, model.n, stops))
    parts, event = gather_runs(runs, times, model.n)
    return gather_trajectory(model, times, parts, event, controls, lead, tuple(forces), stops)


def _simulate_variational(
    model: Model,
    q: Floats,
    v: Floats,
    control: Control,
    plan: Plan,
    forces: Sequence[ExternalForce],
    events: Sequence[Event],
) -> tuple[Marched, NDArray[np.int64], Control | list[Control]]:
    """A flat batch at once, or one trajectory after the other if events may stop them."""
    if not events:
        parts = VariationalSteps(model, control, plan, forces).march(q, v)
        return parts, np.full(len(q), -1), control
    controls, runs = [control.of(row) for row in range(len(q))], []
    for row, alone in enumerate(controls):
        pushes = [select_force(force, row) for force in forces]
        steps = VariationalSteps(model, alone, plan, pushes)
        stepper = VariationalStepper(steps, plan, q[row], v[row])
        runs.append(run(stepper, plan.t, model.n, events))
    return *gather_runs(runs, plan.t, model.n), controls


def stands(model: Model) -> bool:
    """Whether it floats and has contact points on which it stands against gravity."""
    heavy = bool(model.contact_points) and bool(model.gravity.any())
    return heavy and floating_base(model) is not None


def _refuse_to_fall(model: Model, control: Any) -> None:
    """A body that stands needs the ground, which a simulation does not have."""
    if not stands(model):
        return
    points = [point.name for point in model.contact_points]
    listed = ", ".join(points[:3]) + (", ..." if len(points) > 3 else "")
    advice = "give the forces of the ground as forces=[ExternalForce(point, force), ...]"
    if isinstance(control, Solution) and touches_ground(control):
        advice = "predyn.replay(solution) applies the predicted forces of the ground"
    raise InputError(
        f"simulate: model {model.name!r} floats and stands on contact points ({listed}), but no "
        f"ground holds it in a simulation: it would fall; {advice}, or allow it: free_fall=True"
    )


def _check_start(
    model: Model,
    q: Floats,
    v: Floats,
    control: Control,
    t: float,
    forces: Sequence[ExternalForce],
) -> None:
    """Refuse a start without accelerations: a singular mass matrix, or a control that is NaN."""
    tau = finite("control(t, q, v)", np.broadcast_to(control.at(float(t), q, v), q.shape))
    if model.loops:
        closed_forward_dynamics(model, q, v, tau, forces=forces)
        return
    forward_dynamics(model, q, v, tau, forces=forces)


def _march(
    model: Model,
    q: Floats,
    v: Floats,
    control: Control,
    plan: Plan,
    forces: Sequence[ExternalForce],
) -> Marched:
    """RK4 in lanes if the torques are known in advance, else in NumPy."""
    torques: Floats | None
    if isinstance(control, Samples):
        knots, torques = control.knots, control.torques
    else:  # known at the half steps, the only times that RK4 uses
        h = np.repeat(np.diff(plan.t) / plan.steps, plan.steps)
        within = np.concatenate([np.arange(m) for m in plan.steps])
        starts = np.repeat(plan.t[:-1], plan.steps) + within * h
        knots = np.append(np.stack((starts, starts + 0.5 * h), axis=1).ravel(), plan.t[-1])
        torques = control.open_loop(knots)
    if torques is None or not can_march(model):
        accelerations = Accelerations(model, forces)
        step = RK4(accelerations, control.at, projection_of(model, accelerations, q))
        return march_in_numpy(step, q, v, plan)
    return march(model, q, v, torques, plan._replace(knots=knots), forces)


def _make_slopes(accelerations: Accelerations, control: Control, n: int) -> Callable[..., Any]:
    """dy/dt within an interval, for y = (q, v)."""

    def within(start: float, end: float) -> Callable[[float, Floats], Floats]:
        torques = control.on(start, end)

        def slope(t: float, y: Floats) -> Floats:
            q, v = y[None, :n], y[None, n:]
            tau = np.array(torques(t, q, v), order="C")
            return np.concatenate((y[n:], accelerations(q, v, tau)[0]))

        return slope

    return within


def _plan_steps(t: Floats, longest: float) -> Plan:
    """Equal steps within each interval of t, none longer than `longest`."""
    count = np.maximum(np.ceil(np.diff(t) / longest * (1.0 - 1e-12)), 1.0)
    if count.sum() > MOST_STEPS:
        raise InputError(
            f"step: {longest:g} s means {count.sum():.3g} steps from {t[0]:g} to {t[-1]:g} s, more "
            f"than {MOST_STEPS:g}; choose a longer step"
        )
    return Plan(t, count.astype(np.int64), np.zeros(1), np.zeros(1, np.int64))


def positive(name: str, value: Any, least: float = 0.0) -> float:
    """Check a finite number above 0 and at least `least`."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 < value <= sys.float_info.max or value < least:
        bound = f"of at least {least:g}" if least else "above 0"
        raise InputError(f"{name}: expected a finite number {bound}, got {value!r:.60}")
    return float(value)


def step_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"max_steps: expected a whole number of at least 1, got {value!r:.60}")
    return int(value)


def _check_bounds(name: str, state: Floats) -> Floats:
    if (np.abs(finite(name, state)) >= LARGEST).any():
        worst = float(np.abs(state).max())
        raise InputError(f"{name}: expected numbers below {LARGEST:g}, got {worst:g}")
    return state


def _read_events(events: Any) -> list[Event]:
    given = [events] if callable(events) else events
    if not isinstance(given, list | tuple) or not all(callable(event) for event in given):
        raise InputError(f"events: expected functions event(t, q, v), got {events!r:.60}")
    return list(given)


def _broadcast_lead(
    model: Model, starts: list[Floats], control: Control, forces: Sequence[ExternalForce]
) -> tuple[int, ...]:
    leads = {"q0": starts[0].shape[:-1], "v0": starts[1].shape[:-1], "control": control.lead}
    for k, (force, _, _) in enumerate(placed_forces(model, forces)):
        for name in ("force", "moment"):
            what = f"forces[{k}].{name}"
            leads[what] = vector(what, getattr(force, name), batched=True).shape[:-1]
    try:
        lead = np.broadcast_shapes(*leads.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in leads.items() if shape)
        raise InputError(f"the leading shapes do not broadcast: {shapes}") from None
    if 0 in lead:
        raise InputError(f"q0: expected at least one trajectory, got leading shape {lead}")
    return lead


def _flatten_force(force: ExternalForce, lead: tuple[int, ...]) -> ExternalForce:
    """The force for a flat batch."""
    moment, vector = (
        x if x.ndim == 1 else np.broadcast_to(x, (*lead, 3)).reshape(-1, 3)
        for x in (np.asarray(y, np.float64) for y in (force.moment, force.force))
    )
    return replace(force, moment=moment, force=vector)

"""The result of retiming: a motion along the path, exact between the nodes of its grid."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.rnea import inverse_dynamics
from predyn.dynamics.system import Payload
from predyn.errors import InputError, NotConverged
from predyn.model import Model
from predyn.planning.best_timing import Timing
from predyn.planning.path_check import DenseMotion, Excess
from predyn.planning.path_rows import DENSE, Grid
from predyn.planning.path_torques import directions, without_friction
from predyn.planning.paths import Path
from predyn.planning.plan_result import duration_text
from predyn.planning.retimed_solution import hermite_curve, solution_of
from predyn.solution import EXCEEDS, MOST_EXCESS, ROUNDING, SUCCESS, Curve, Solution

Floats = NDArray[np.float64]
ACTIVE = 1e-5  # slack of an active limit, over half the distance of the limits


@dataclass(frozen=True, eq=False, repr=False)
class Retiming:
    """A path with its best timing.

    The squared path speed b = (du/dt)^2 is linear in u between the nodes. t, q, v, a and tau are
    samples: the nodes and 7 places in each interval; `at` gives other instants. At a node the
    acceleration jumps, and samples have the one after it.
    """

    model: Model  # without payloads
    payloads: tuple[Payload, ...]
    path: Path
    status: str  # as of a Solution: optimal, exceeds_limits, infeasible, iteration_limit, diverged
    message: str
    duration: float  # s; inf without a motion
    energy: float  # s, integral of sum_j (tau_j / limit_j)^2 over time; 0 if its weight is 0
    weight: float  # of the energy
    objective: float  # duration + weight * energy
    gap: float  # estimate of how far the objective is from the optimum on the grid
    iterations: int
    is_global: bool  # no viscous friction: the optimum on the grid is the only one
    u: Floats  # (N + 1,) nodes, parameter of the path from 0 to 1
    b: Floats  # (N + 1,) squared speeds, 1/s^2
    node_times: Floats  # (N + 1,) s
    limiting: tuple[str, ...]  # (N,) the limit that matters most in each interval, "" for none
    excess: tuple[Excess, ...]  # limits exceeded between the nodes, worst first
    t: Floats  # (K,) s
    q: Floats  # (K, n)
    v: Floats
    a: Floats
    tau: Floats
    solve_seconds: float
    loaded: Model = field(repr=False)  # with payloads

    @property
    def success(self) -> bool:
        return self.status in SUCCESS

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the limits that hold with equality somewhere, such as "effort of elbow"."""
        return tuple(name for name in dict.fromkeys(self.limiting) if name)

    @property
    def max_excess(self) -> float:
        """Largest excess between the nodes, over half the distance of the limits."""
        return self.excess[0].relative if self.excess else 0.0

    def check(self) -> Retiming:
        """This result if it is a success; otherwise NotConverged with its message."""
        if not self.success:
            raise NotConverged(f"retiming ended with status {self.status!r}: {self.message}")
        return self

    def at(self, t: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
        """q, v, a and tau (..., n) at times t (...), s from the start."""
        times = np.asarray(t, dtype=float)
        slack = ROUNDING * self.duration
        if not self.t.size:
            raise InputError(f"t: there is no motion (status {self.status!r}): {self.message}")
        if not ((times >= -slack) & (times <= self.duration + slack)).all():
            raise InputError(f"t: expected seconds from 0 to {self.duration!r}, got {t!r:.60}")
        flat = np.clip(times.ravel(), 0.0, self.duration)
        k = np.clip(np.searchsorted(self.node_times, flat, side="right") - 1, 0, len(self.u) - 2)
        since = flat - self.node_times[k]
        root = np.sqrt(self.b)
        rate = (np.diff(self.b) / (2.0 * np.diff(self.u)))[k]
        u = np.clip(self.u[k] + since * (root[k] + 0.5 * rate * since), self.u[k], self.u[k + 1])
        speed = np.maximum(root[k] + rate * since, 0.0)[:, None]
        q, slope, bend = self.path.at(u)
        v, a = slope * speed, slope * rate[:, None] + bend * speed**2
        tau = inverse_dynamics(self._frictionless, q, v, a)
        tau += self.loaded.coulomb * directions(slope) + self.loaded.damping * v
        q, v, a, tau = (x.reshape(*times.shape, -1) for x in (q, v, a, tau))
        return q, v, a, tau

    @cached_property
    def _frictionless(self) -> Model:
        return without_friction(self.loaded)

    @property
    def guess(self) -> tuple[Floats, Floats]:
        """Fractions of the duration (K,) and positions (K, n): `guess=` of `predyn.solve`."""
        self.check()
        return self.t / self.t[-1], self.q  # the duration may differ by a rounding error

    @property
    def curve(self) -> Curve:
        """The motion over time as a cubic spline with the positions and velocities of the nodes.

        Between them it follows the path up to the fourth power of the step.
        """
        self.check()
        return hermite_curve(self.node_times, self.q[::DENSE], self.v[::DENSE])

    def to_solution(self, name: str = "retimed") -> Solution:
        """A Solution with this motion: to save, export, plot, show, or start `predyn.solve` from.

        Its samples are those of this result. At other times it evaluates `curve`, with the Coulomb
        friction of `inverse_dynamics`.
        """
        return solution_of(self, name)

    def export(
        self,
        path: str | os.PathLike[str],
        rate: float | None = None,
        *,
        format: str | None = None,
    ) -> None:
        """Write the motion as `Solution.export` does: tables, formats for robots, or .h5."""
        self.to_solution().export(path, rate, format=format)

    def __str__(self) -> str:
        lines = [f"Retiming of {self.model.name!r}: {self.status}; {self.message}"]
        if self.t.size:
            lines += [
                f"  duration {self.duration:.6g} s, objective {self.objective:.6g}, "
                f"{len(self.u) - 1} intervals, {self.iterations} iterations, "
                f"{duration_text(self.solve_seconds)}",
                f"  active: {', '.join(self.active) or 'no limit'}",
                f"  largest excess between nodes: {100.0 * self.max_excess:.2g} %"
                + (f" ({self.excess[0].name})" if self.excess else ""),
            ]
        return "\n".join(lines)

    __repr__ = __str__


class Task(NamedTuple):
    """What moves, and at what cost."""

    model: Model
    loaded: Model  # with payloads
    frictionless: Model  # with payloads, without friction
    payloads: tuple[Payload, ...]
    weight: float  # of the energy


class Checked(NamedTuple):
    """The motion between the nodes."""

    motion: DenseMotion
    excess: list[Excess]
    allowed: float


def build_retiming(
    task: Task, path: Path, grid: Grid, timing: Timing, checked: Checked, seconds: float
) -> Retiming:
    """The result of a solved program."""
    status, message = _ending(timing, checked.excess, checked.allowed)
    samples = [_joined(x) for x in checked.motion]
    return Retiming(
        model=task.model,
        payloads=task.payloads,
        path=path,
        status=status,
        message=message,
        duration=timing.duration,
        energy=timing.energy,
        weight=task.weight,
        objective=timing.objective,
        gap=timing.speeds.gap + timing.speeds.residual,
        iterations=timing.iterations,
        is_global=not grid.torques.viscous.any(),
        u=grid.u,
        b=timing.b,
        node_times=samples[0][::DENSE],
        limiting=_limiting(task.loaded, grid, timing),
        excess=tuple(checked.excess),
        t=samples[0],
        q=samples[1],
        v=samples[2],
        a=samples[3],
        tau=samples[4],
        solve_seconds=seconds,
        loaded=task.loaded,
    )


def _joined(x: Floats) -> Floats:
    """(N, DENSE + 1, ...) as (N DENSE + 1, ...): nodes as the intervals after them have them."""
    return np.concatenate([x[:, :-1].reshape(-1, *x.shape[2:]), x[-1:, -1]])


def _ending(timing: Timing, excess: list[Excess], allowed: float) -> tuple[str, str]:
    if timing.trouble == "iteration_limit":
        return "iteration_limit", f"not converged after {timing.iterations} iterations"
    if timing.trouble:
        return "diverged", f"the solver stopped ({timing.trouble}); the motion keeps the limits"
    most = min(max(allowed, 0.0), MOST_EXCESS)
    if excess and excess[0].relative > max(most, 1e-9):
        worst = excess[0]
        return EXCEEDS, (
            f"{worst.name} is {worst.value:.5g} at {worst.time:.4g} s, {100 * worst.relative:.2g} "
            f"% beyond its limit {worst.limit:g}; more intervals reduce this"
        )
    return "optimal", "Converged."


def _limiting(model: Model, grid: Grid, timing: Timing) -> tuple[str, ...]:
    """In each interval, the active limit with the largest multiplier."""
    b, (rows, row_names, upper) = timing.b, timing.limits
    root = np.sqrt(b)
    slack = rows[..., 4] - sum(
        rows[..., i] * x[:, None] for i, x in enumerate((b[:-1], b[1:], -root[:-1], -root[1:]))
    )
    force = np.where(slack < ACTIVE, timing.speeds.multipliers, 0.0)
    best = force.argmax(axis=1)
    fast = timing.speeds.bound_multipliers[:, 1] * upper
    fast = np.where(upper - b < ACTIVE * upper, fast, 0.0)
    ahead = np.maximum(fast[:-1], fast[1:])
    with np.errstate(divide="ignore"):
        speed_joint = np.argmax(_velocity_use(model, grid), axis=1)
    names = []
    for k in range(len(b) - 1):
        strength = force[k, best[k]]
        if max(strength, ahead[k]) == 0.0:
            names.append("")
        elif strength >= ahead[k]:
            row = row_names[best[k]]
            names.append(f"{row.kind} of {model.joint_names[row.joint]}")
        else:
            node = k + int(fast[k + 1] >= fast[k])
            names.append(f"velocity of {model.joint_names[speed_joint[node]]}")
    return tuple(names)


def _velocity_use(model: Model, grid: Grid) -> Floats:
    """(N + 1, n) velocity of each joint over its limit, at unit path speed."""
    slope = grid.at_nodes(1)
    limit = np.where(slope > 0.0, model.limits.velocity[:, 1], -model.limits.velocity[:, 0])
    # without velocity a joint rests on the path, up to rounding
    return np.divide(np.abs(slope), limit, out=np.zeros_like(slope), where=limit > 0.0)


def without_motion(task: Task, path: Path, message: str, seconds: float) -> Retiming:
    """The result for a path that cannot be followed."""
    none, nothing = np.zeros(0), np.zeros((0, task.model.n))
    return Retiming(
        task.model, task.payloads, path, "infeasible", message, np.inf, np.inf, task.weight,
        np.inf, np.inf, 0, False, none, none, none, (), (), none, nothing, nothing, nothing,
        nothing, seconds, task.loaded,
    )  # fmt: skip

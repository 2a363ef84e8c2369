"""The best timing along a given path: `predyn.retime`.

Unknown is the squared speed along the path at the nodes of a grid (best_timing.py). After each
solution the motion is checked between the nodes, and intervals in which it exceeds a limit by too
much are halved.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.system import Payload, loaded_model
from predyn.errors import InputError
from predyn.kernels.arguments import joints
from predyn.model import Model
from predyn.planning.best_timing import Blocked, find_timing
from predyn.planning.infeasible_paths import explain_blocked, explain_limits
from predyn.planning.path_check import dense_motion, find_excess
from predyn.planning.path_rows import grid_of
from predyn.planning.path_torques import without_friction
from predyn.planning.paths import Path, path_of
from predyn.planning.retimed_motion import (
    Checked,
    Retiming,
    Task,
    build_retiming,
    without_motion,
)

Floats = NDArray[np.float64]
SHORTEST = 1e-7  # of the path: an interval that is not halved
NEIGHBOURS = 2  # intervals on each side of one that is halved, halved with it
MOST_INTERVALS = 20_000
POSITION = 1e-9  # rad or m beyond a position limit that are rounding


def retime(
    model: Model,
    path: Any,
    *,
    interpolation: str = "cubic",
    energy: float = 0.0,
    payloads: Sequence[Payload] = (),
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    intervals: int = 200,
    max_excess: float | None = 0.005,
    tolerance: float = 1e-9,
) -> Retiming:
    """The best timing along a path under the velocity, acceleration and effort limits of a model.

    Minimises the duration plus `energy` times the integral of sum_j (tau_j / limit_j)^2 over time.

    path           points (K, n); a Curve with continuous second derivatives, whose parameter has no
                   meaning; or a Solution, on whose motion 201 points are taken
    interpolation  of points: "cubic", the spline through all of them, or "rounded", the polyline
                   with rounded corners
    energy         weight of the energy; 0: least time
    payloads       bodies carried along the path
    start_speed,
    end_speed      norm of the joint velocities at the two ends; 0: at rest
    intervals      about so many; breaks of the path are nodes of the grid
    max_excess     the grid is refined where the motion exceeds a limit by more than this share
                   between the nodes; None keeps the grid
    tolerance      of the objective, relative

    Every joint needs a finite effort or acceleration limit, with energy an effort limit. Coulomb
    friction acts against the direction of motion in full, also just before a stop, where
    `inverse_dynamics` rounds it off. The optimum is global for the path on the grid, unless joints
    have viscous friction (`Retiming.is_global`).

    A path that cannot be followed has the status "infeasible", with the joint and the place in its
    message. Bad arguments raise an InputError.
    """
    began = time.perf_counter()
    joints(model)  # an InputError if it is no model
    carried = _payloads(payloads)
    loaded = loaded_model(model, carried)
    task = Task(model, loaded, without_friction(loaded), carried, _number("energy", energy))
    _require_limits(loaded, task.weight)
    curve = path_of(loaded, path, interpolation)
    ends = _squared_ends(loaded, curve, start_speed, end_speed)
    accuracy = _number("tolerance", tolerance, 1e-12)
    allowed = np.inf if max_excess is None else _number("max_excess", max_excess, 1e-4)
    u = curve.grid(_count(intervals), loaded.coulomb != 0.0)
    while True:
        grid = grid_of(loaded, task.frictionless, curve, u)
        _require_positions(loaded, grid.dense[0])
        impossible = explain_limits(loaded, grid)
        if impossible is not None:
            return without_motion(task, curve, impossible, time.perf_counter() - began)
        timing = find_timing(loaded, grid, task.weight, ends, accuracy)
        if isinstance(timing, Blocked):
            message = explain_blocked(loaded, grid, timing)
            return without_motion(task, curve, message, time.perf_counter() - began)
        motion = dense_motion(loaded, task.frictionless, grid, timing.b)
        over, excess = find_excess(loaded, motion)
        finer = _refined(u, over, allowed)
        if finer is None:
            checked = Checked(motion, excess, allowed)
            return build_retiming(task, curve, grid, timing, checked, time.perf_counter() - began)
        u = finer


def _refined(u: Floats, over: Floats, allowed: float) -> Floats | None:
    """Nodes with intervals halved that exceed a limit too much, and their neighbours.

    over (N,) is the excess of each interval. None if there are no such intervals, or too many or
    too short ones.
    """
    if not (over > allowed).any():
        return None
    bad = np.convolve(over > 0.5 * allowed, np.ones(1 + 2 * NEIGHBOURS), mode="same") > 0.0
    if len(u) + bad.sum() > MOST_INTERVALS or np.diff(u)[bad].min() < SHORTEST:
        return None
    return np.sort(np.append(u, 0.5 * (u[:-1] + u[1:])[bad]))


def _number(name: str, value: Any, least: float = 0.0) -> float:
    """A finite number, at least `least`."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not least <= value < np.inf:
        raise InputError(
            f"{name}: expected a finite number of at least {least:g}, got {value!r:.40}"
        )
    return float(value)


def _payloads(given: Any) -> tuple[Payload, ...]:
    found = tuple(given) if isinstance(given, Sequence) else (given,)
    for load in found:
        if not isinstance(load, Payload):
            raise InputError(f"payloads: expected a list of predyn.Payload, got {load!r:.60}")
    return found


def _count(intervals: Any) -> int:
    whole = isinstance(intervals, int | np.integer) and not isinstance(intervals, bool)
    if not whole or not 2 <= intervals <= MOST_INTERVALS:
        raise InputError(
            f"intervals: expected a whole number from 2 to {MOST_INTERVALS}, got {intervals!r:.40}"
        )
    return int(intervals)


def _require_limits(model: Model, weight: float) -> None:
    """The limits without which the program has no solution or the cost no scale."""
    effort, acceleration = (
        np.isfinite(x).all(axis=1) for x in (model.limits.effort, model.limits.acceleration)
    )
    enough = effort if weight > 0.0 else effort | acceleration
    if not enough.all():
        names = ", ".join(repr(model.joint_names[j]) for j in np.flatnonzero(~enough))
        needed = "effort limits, which scale the energy," if weight > 0.0 else (
            "effort or acceleration limits"
        )  # fmt: skip
        kind = "effort" if weight > 0.0 else "acceleration"
        raise InputError(
            f"retime: {needed} are missing for the joints {names} of model {model.name!r}; "
            f"model.with_limits({kind}=...) sets them"
        )


def _squared_ends(model: Model, path: Path, start: Any, end: Any) -> tuple[float, float]:
    """Squared path speeds of the two ends; an InputError if a velocity limit does not allow one."""
    slopes = path.at(np.array([0.0, 1.0]), 1)[1]
    found = []
    for name, given, slope in zip(("start_speed", "end_speed"), (start, end), slopes, strict=True):
        speed = _number(name, given)
        v = slope * speed / np.linalg.norm(slope)
        low, high = model.limits.velocity.T
        beyond = (v < low) | (v > high)
        if beyond.any():
            j = int(np.argmax(beyond))
            bound = high[j] if v[j] > high[j] else low[j]
            most = speed * np.min(np.where(v > 0.0, high, low)[v != 0.0] / v[v != 0.0])
            raise InputError(
                f"{name}: {speed:g} moves joint {model.joint_names[j]!r} with {v[j]:.5g}, beyond "
                f"its velocity limit {bound:g}; at most {most:.5g} is possible"
            )
        found.append(float((speed / np.linalg.norm(slope)) ** 2))
    return found[0], found[1]


def _require_positions(model: Model, q: Floats) -> None:
    """Timing cannot keep position limits: the path must."""
    low, high = model.limits.position.T
    over = np.maximum(q - high, low - q)
    row, joint = (int(x) for x in np.unravel_index(np.argmax(over), over.shape))
    if over[row, joint] > POSITION:
        raise InputError(
            f"path: joint {model.joint_names[joint]!r} is {q[row, joint]:.6g} at "
            f"{100.0 * row / (len(q) - 1):.3g} % of the path, outside its position limits "
            f"{low[joint]:g} to {high[joint]:g}; a spline may overshoot between points, a "
            "'rounded' polyline does not"
        )

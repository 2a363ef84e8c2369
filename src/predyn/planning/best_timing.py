"""The best squared speeds on one grid: a start within the limits, then one convex program or more.

Without viscous friction there is one program. With it, programs with tangents (path_rows.py) are
solved one after the other, each around the solution of the one before: a convex-concave procedure
(Yuille and Rangarajan, Neural Computation 15, 2003), which never gets worse and ends in a local
optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.planning.path_rows import (
    Effort,
    Grid,
    RowName,
    cost_of_time,
    cost_with_energy,
    effort_in_middles,
    limit_rows,
    speed_bounds,
)
from predyn.planning.reachable_speeds import inner_profile, reachable
from predyn.planning.speed_program import Speeds, best_speeds

Floats = NDArray[np.float64]
MARGINS = (0.2, 0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # of a start, in half ranges
# shares of the speed bounds at which the first tangents are taken
TANGENTS = (0.25, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
MOST_TANGENTS = 50
SETTLED = 1e-8  # relative change of the objective at which tangents stay


class Rows(NamedTuple):
    """The limits on one grid."""

    rows: Floats  # (N, M, 5)
    names: list[RowName]  # (M,)
    upper: Floats  # (N + 1,) speed bounds


class Timing(NamedTuple):
    """The optimum on one grid."""

    b: Floats  # (N + 1,) squared speeds
    limits: Rows
    speeds: Speeds  # of the last program
    duration: float
    energy: float  # integral of the squared relative torques, 0 if it is not part of the cost
    objective: float
    iterations: int  # of all programs
    trouble: str  # "" on convergence


class Blocked(NamedTuple):
    """Where no speed is possible, and the limit that leaves none."""

    node: int
    name: RowName


def find_timing(
    model: Model, grid: Grid, weight: float, ends: tuple[float, float], tolerance: float
) -> Timing | Blocked:
    """The optimum, or the place that blocks the path."""
    upper = speed_bounds(model, grid)
    effort = effort_in_middles(model, grid) if weight > 0.0 else None
    viscous = bool(grid.torques.viscous.any())
    for share in TANGENTS if viscous else TANGENTS[:1]:
        around = _with_ends(share * upper, ends)
        rows, names = limit_rows(model, grid, around)
        start = inner_profile(rows, upper, *ends, MARGINS)
        if start is not None:
            break
    else:
        return _why_blocked(grid, rows, names, upper, ends)
    found = _solve(grid, weight, effort, around, Rows(rows, names, upper), start, tolerance)
    for _ in range(MOST_TANGENTS if viscous else 0):
        around = _with_ends(found.b, ends)
        rows, names = limit_rows(model, grid, around)
        start = inner_profile(rows, upper, *ends, MARGINS)
        if start is None or found.trouble:
            break
        last = found
        found = _solve(grid, weight, effort, around, Rows(rows, names, upper), start, tolerance)
        found = found._replace(iterations=last.iterations + found.iterations)
        if found.trouble or not found.objective <= last.objective:
            return last._replace(iterations=found.iterations)
        if last.objective - found.objective <= SETTLED * found.objective:
            break
    return found


def _solve(
    grid: Grid, weight: float, effort: Effort | None, around: Floats, limits: Rows, start: Floats,
    tolerance: float,
) -> Timing:  # fmt: skip
    """The optimum of the program with tangents at `around`, from a start within its limits."""
    cost = (
        cost_of_time(grid.h) if effort is None else cost_with_energy(grid.h, weight, effort, around)
    )
    speeds = best_speeds(*cost, limits.rows, limits.upper, start, tolerance)
    steps = 2.0 * grid.h / (np.sqrt(speeds.b[:-1]) + np.sqrt(speeds.b[1:]))
    duration, energy = float(steps.sum()), 0.0
    if effort is not None:
        energy = float(steps @ (effort.values(speeds.b) ** 2).sum(axis=1))
    return Timing(speeds.b, limits, speeds, duration, energy, duration + weight * energy,
                  speeds.iterations, speeds.trouble)  # fmt: skip


def _with_ends(b: Floats, ends: tuple[float, float]) -> Floats:
    b = b.copy()
    b[0], b[-1] = ends
    return b


def _why_blocked(
    grid: Grid, rows: Floats, names: list[RowName], upper: Floats, ends: tuple[float, float]
) -> Blocked:
    """The blocking limit; an InputError if only the speed at one end is impossible."""
    reach = reachable(rows, upper, ends[1], MARGINS[-1])
    if reach.blocked is not None:
        node, name = reach.blocked[0], names[reach.blocked[1]]
        if ends[1] > 0.0 and reachable(rows, upper, 0.0, MARGINS[-1]).blocked is None:
            speed = np.sqrt(ends[1]) * np.linalg.norm(grid.at_nodes(1)[-1])
            raise InputError(
                f"end_speed: {speed:.6g} cannot be reached along the path, the limits allow no "
                "speed from which it could be; choose a lower one"
            )
        return Blocked(node, name)
    scale = float(np.linalg.norm(grid.at_nodes(1)[0]))
    low, high = (scale * float(x) for x in np.sqrt(reach.sets[0]))
    first = scale * float(np.sqrt(ends[0]))
    if not low <= first <= high and max(ends) > 0.0:
        raise InputError(
            f"start_speed: speeds from {low:.6g} to {high:.6g} allow to follow the path and to "
            f"end with the given end_speed, got {first:.6g}"
        )
    node = int(np.argmin(reach.sets[1:-1, 1])) + 1
    return Blocked(node, names[int(np.argmin(rows[node, :, 4]))])

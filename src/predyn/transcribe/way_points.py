"""Way points of a guess: the ends of phases, and instants between them with a goal for a frame.

A way point has the joint positions that the boundary values give; a goal may determine the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.model.orientations import rotation_of
from predyn.problem import Constraint, Problem, row_bounds, system_of
from predyn.terms.frames import FrameOrientation, FramePose, FramePosition
from predyn.transcribe.layout import end_values

Floats = NDArray[np.float64]


class Goal(NamedTuple):
    """A pose for a frame; None leaves that part or a coordinate free."""

    frame: str
    position: tuple[float | None, ...] | None
    orientation: Floats | None


class WayPoint(NamedTuple):
    """An instant that a guess passes through, within limits of position."""

    phase: int
    s: float  # normalised time in the phase; 0 only at the start of the motion
    q: Floats  # NaN if free
    low: Floats
    high: Floats
    goal: Goal | None
    also: tuple[Goal, ...] = ()  # goals of other frames there

    @property
    def middle(self) -> Floats:
        """The middle of the limits; the nearest to zero where there are none."""
        both = np.isfinite(self.low) & np.isfinite(self.high)
        middle = 0.5 * (np.where(both, self.low, 0.0) + np.where(both, self.high, 0.0))
        clipped: Floats = np.clip(middle, self.low, self.high)
        return clipped

    @property
    def sought(self) -> bool:
        """Whether a goal determines joint positions that are not given."""
        return self.goal is not None and bool(np.isnan(self.q).any())


def way_points(problem: Problem, search: bool) -> list[WayPoint]:
    """The way points in order; `search` looks for goals."""
    n, last = problem.model.n, len(problem.phases) - 1
    limits = [system_of(problem, p).limits.position.T for p in range(last + 1)]
    goals = _goals(problem) if search else {}
    start = end_values(problem.phases[0].start, n)[0]
    first = _ordered(goals.get((0, 0.0), ()))
    points = [WayPoint(0, 0.0, start, limits[0][0], limits[0][1], *first)]
    for p, phase in enumerate(problem.phases):
        low, high = limits[p]
        for s in sorted(s for k, s in goals if k == p and 0.0 < s < 1.0):
            points.append(WayPoint(p, s, np.full(n, np.nan), low, high, *_ordered(goals[p, s])))
        q, own = end_values(phase.end, n)[0], goals.get((p, 1.0), ())
        if p < last:
            q = np.where(np.isnan(q), end_values(problem.phases[p + 1].start, n)[0], q)
            own = (*own, *goals.get((p + 1, 0.0), ()))
            low, high = np.maximum(low, limits[p + 1][0]), np.minimum(high, limits[p + 1][1])
        points.append(WayPoint(p, 1.0, q, low, high, *_ordered(own)))
    return points


def fill_free(points: Sequence[WayPoint], found: Sequence[Floats]) -> list[Floats]:
    """Positions at all way points; values that nothing determines are copied from a neighbour,
    forwards, then backwards, or are the middle of the limits.
    """
    filled = list(found)
    for k in (*range(1, len(filled)), *range(len(filled) - 2, -1, -1)):
        before, after = filled[max(k - 1, 0)], filled[min(k + 1, len(filled) - 1)]
        q = np.where(np.isnan(filled[k]), before, filled[k])
        filled[k] = np.where(np.isnan(q), after, q)
    return [np.where(np.isnan(q), x.middle, q) for q, x in zip(filled, points, strict=True)]


def _goals(problem: Problem) -> dict[tuple[int, float], tuple[Goal, ...]]:
    """Goals by phase and normalised time, one of each frame."""
    ends = {"start": (0.0,), "end": (1.0,)}
    found: dict[tuple[int, float], tuple[Goal, ...]] = {}
    for p, phase in enumerate(problem.phases):
        by_frame: dict[tuple[float, str], Goal] = {}
        for entry in (*phase.constraints, *problem.constraints):
            if isinstance(entry.at, str):
                times: tuple[float, ...] = ends.get(entry.at, ())
            else:
                times = tuple(float(s) for s in entry.at)
            goal = _goal_of(problem, entry) if times and not entry.integral else None
            if goal is not None:
                for key in ((s, goal.frame) for s in times):
                    by_frame[key] = _merged(by_frame.get(key), goal)
        for (s, _), known in by_frame.items():
            found[p, s] = (*found.get((p, s), ()), known)
    return found


def _goal_of(problem: Problem, entry: Constraint) -> Goal | None:
    """The goal that a constraint sets; None if it is no goal, or bounded on one side only."""
    term, position, orientation = entry.term, None, None
    if isinstance(term, FramePosition | FramePose):
        given = term.target if isinstance(term, FramePosition) else term.position
        target = np.array(given, float)
        lower, upper = row_bounds(entry.lower, entry.upper, term.bind(problem.model))
        axes = np.flatnonzero(~np.isnan(target))
        low, high = lower[: len(axes)], upper[: len(axes)]
        if len(axes) and np.isfinite(high - low).all():
            target[axes] += 0.5 * (low + high)
            position = tuple(None if np.isnan(x) else float(x) for x in target)
    if isinstance(term, FrameOrientation):
        orientation = rotation_of(term.target, term.kind)
    elif isinstance(term, FramePose):
        orientation = rotation_of(term.orientation, term.kind)
    if position is None and orientation is None:
        return None
    assert isinstance(term, FramePosition | FrameOrientation | FramePose)
    return Goal(term.frame, position, orientation)


def _merged(known: Goal | None, goal: Goal) -> Goal:
    """Two goals for one frame: what the second leaves free is that of the first."""
    if known is None:
        return goal
    position = known.position if goal.position is None else goal.position
    orientation = known.orientation if goal.orientation is None else goal.orientation
    return Goal(goal.frame, position, orientation)


def _ordered(goals: Sequence[Goal]) -> tuple[Goal | None, tuple[Goal, ...]]:
    """The first goal of those that determine most, and the others, of other frames."""
    if not goals:
        return None, ()
    most = max(goals, key=lambda x: 2 - (x.position is None) - (x.orientation is None))
    return most, tuple(x for x in goals if x.frame != most.frame)

"""Goals in space: positions and poses that constraints of the problem ask frames to reach."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from predyn.dynamics.kinematics import frame_kinematics
from predyn.model.orientations import rotation_of
from predyn.problem import Constraint
from predyn.solution import Solution
from predyn.solution.evaluation import phase_starts
from predyn.terms.frames import FramePose, FramePosition
from predyn.view.solids import Floats


class Goal(NamedTuple):
    """Where a frame is to be at an instant; R (3, 3) if its orientation is given too."""

    name: str
    p: Floats
    R: Floats | None


def goals_of(solution: Solution) -> list[Goal]:
    """Goals at the ends of phases and at given instants.

    Axes that a goal leaves free have the values that the motion has there. A goal has the name of
    its frame; that of its phase where a frame has several.
    """
    problem = solution.problem
    if problem is None:
        return []
    starts = phase_starts(solution)
    found: dict[tuple[object, ...], tuple[Goal, str, float]] = {}
    for k, (phase, name) in enumerate(zip(problem.phases, solution.phase_names, strict=True)):
        for constraint in (*problem.constraints, *phase.constraints):
            for share in _instants(constraint):
                instant = starts[k] + share * solution.curves[k].duration
                goal = _goal(solution, constraint, min(instant, solution.duration))
                if goal is not None:
                    key = (goal.name, *np.round(goal.p, 9).tolist())
                    found.setdefault(key, (goal, name, share))
    frames = Counter(goal.name for goal, _, _ in found.values())
    several = len(problem.phases) > 1
    ends = Counter((goal.name, phase) for goal, phase, _ in found.values())
    return [
        goal._replace(
            name=_label(goal.name, phase if several else "", share, ends[goal.name, phase])
        )
        if frames[goal.name] > 1
        else goal
        for goal, phase, share in found.values()
    ]


def _label(frame: str, phase: str, share: float, count: int) -> str:
    """By the phase; count: goals of the frame there, of which those before the end say when."""
    when = f" at {100.0 * share:.3g} %" if count > 1 and share < 1.0 else ""
    return f"{phase or frame}{when}"


def _instants(constraint: Constraint) -> list[float]:
    """Shares of a phase where the constraint holds, if these are single instants."""
    if constraint.integral or constraint.at == "throughout":
        return []
    if isinstance(constraint.at, str):
        return [0.0 if constraint.at == "start" else 1.0]
    return [float(share) for share in constraint.at]


def _goal(solution: Solution, constraint: Constraint, instant: float) -> Goal | None:
    term = constraint.term
    if isinstance(term, FramePosition):
        target, R = term.target, None
    elif isinstance(term, FramePose):
        target, R = term.position, rotation_of(term.orientation, term.kind)
    else:
        return None
    actual = frame_kinematics(solution.model, term.frame, solution.channel("q", instant)).p
    given = np.array(target, dtype=float)  # None becomes NaN
    return Goal(term.frame, np.where(np.isfinite(given), given, actual), R)

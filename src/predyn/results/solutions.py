"""A solution in words for a terminal."""

from __future__ import annotations

from predyn.analysis.lifting import find_lift
from predyn.solution import Solution


def solution_text(solution: Solution) -> str:
    """The table that printing shows, and the largest loads of a lift."""
    lift = find_lift(solution)
    return str(solution) if lift is None else f"{solution}\n\n{lift.text()}"

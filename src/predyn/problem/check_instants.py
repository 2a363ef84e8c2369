"""Check the instants at which constraints are imposed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from predyn.problem.check_phases import Finding, Path

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


def instant_problems(problem: Problem) -> Iterator[Finding]:
    """Errors in the instants at which constraints are imposed."""
    from predyn.problem.problem import Constraint, Points, Spline

    entries: list[tuple[Path, Any, list[int]]] = []
    every = list(range(len(problem.phases)))
    for where, given, phases in (
        (("constraints",), problem.constraints, every),
        *((("phases", p, "constraints"), problem.phases[p].constraints, [p]) for p in every),
    ):
        if isinstance(given, tuple | list):
            entries += [((*where, k), x, phases) for k, x in enumerate(given)]
    for where, constraint, phases in entries:
        if not isinstance(constraint, Constraint) or constraint.imposed_at is None:
            continue
        points: Any = constraint.imposed_at
        place: Path = (*where, "imposed_at")
        expected = "expected Points such as Points('motion', first=3)"
        if not isinstance(points, Points):
            yield place, f"{expected}, got {points!r:.60}"
            continue
        counts = (points.first, points.last)
        whole = all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in counts)
        if points.of not in ("limits", "motion") or not whole:
            yield place, f"{expected}, with numbers from 0 on, got {points!r:.80}"
            continue
        throughout = isinstance(constraint.at, str) and constraint.at == "throughout"
        if constraint.integral or not throughout or getattr(constraint.term, "pairs", False):
            yield place, "it belongs to constraints throughout a phase; leave it out here"
            continue
        spline: Any = problem.transcription
        if not isinstance(spline, Spline):
            continue
        least = min(_count(problem, p, points.of) for p in phases)
        if sum(counts) >= least:
            yield place, f"expected first + last below the {least} points, got {sum(counts)}"


def _count(problem: Problem, p: int, of: str) -> int:
    """How many points of a kind a phase has."""
    from predyn.problem.problem import Dmoc

    spline = problem.transcription
    own = problem.phases[p].segments
    if isinstance(spline, Dmoc):
        steps: Any = spline.steps_of(own)
        return 1 + steps * (spline.order // 2) if isinstance(steps, int) else sys.maxsize
    numbers: tuple[Any, ...] = (spline.segments if own is None else own, spline.degree)
    numbers += (spline.limit_points,)
    if not all(isinstance(x, int) for x in numbers) or not isinstance(spline.knots, str):
        return sys.maxsize  # reported elsewhere, or checked when the program is built
    segments, degree, limit_points = (int(x) for x in numbers)
    return segments + degree if of == "motion" else segments * limit_points + 1

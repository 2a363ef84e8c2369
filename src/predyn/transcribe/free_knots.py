"""Free knots: a spline whose segments have individual durations.

A phase is split into phases of one segment each, continuous up to the acceleration, with free
durations whose sum obeys the bounds of the phase. For cubic splines this is the spline with free
simple knots; for degrees 4 and 5 continuity ends at the acceleration, as with knots of higher
multiplicity. The pieces of the solution are joined to one curve again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predyn.errors import InputError
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, State, duration_of
from predyn.problem.offers import phase_name
from predyn.solution import Curve, Solution
from predyn.transcribe.spline import SplineProgram

SHORTEST, LONGEST = 0.25, 4.0  # segment lengths relative to equal segments
NEAR = 1e-5  # initial barrier parameter: the solution with equal segments is close


def split(problem: Problem, duration: float) -> SplineProgram:
    """The program of the problem with free knots, near a solution of the given duration.

    Unsupported features are refused when the problem is checked.
    """
    (phase,) = problem.phases
    count = phase.segments or problem.transcription.segments
    share = duration / count
    free = Duration(SHORTEST * share, LONGEST * share, share)
    ends = [phase.start, *(State() for _ in range(2 * count - 2)), phase.end]
    everywhere = (*problem.constraints, *phase.constraints)
    costs = (*problem.costs, *phase.costs)
    entries: tuple[Cost | Constraint, ...] = (*costs, *everywhere)
    for entry in entries:
        if "t" in entry.term.bind(problem.model).channels:
            raise InputError(
                f"{entry.name or entry.term.kind}: it depends on the time, which free knots do not "
                "support; use knots 'clamped'"
            )
    pieces = tuple(
        Phase(
            duration=free,
            start=ends[2 * k],
            end=ends[2 * k + 1],
            costs=tuple(x for x in costs if _here(x, k, count)),
            constraints=tuple(x for x in everywhere if _here(x, k, count)),
            name=f"segment {k + 1}",
        )
        for k in range(count)
    )
    given = duration_of(problem, phase)
    total = (given.min, given.max) if isinstance(given, Duration) else (given, given)
    spline = replace(problem.transcription, segments=1, knots="clamped", refine=False)
    pieced = replace(
        problem,
        phases=pieces,
        costs=(),
        constraints=(),
        transcription=spline,
        continuity=2,
        solver=replace(problem.solver, mu_init=NEAR),
    )
    return SplineProgram(pieced, total)


def _here(entry: Cost | Constraint, k: int, count: int) -> bool:
    """Whether a cost or constraint applies to segment k."""
    return entry.at == "throughout" or k == (0 if entry.at == "start" else count - 1)


def joined(solution: Solution, name: str, problem: Problem) -> Solution:
    """Join the pieces of the solution to one curve; each segment keeps its own control points."""
    curves = solution.curves
    degree = curves[0].degree
    begin = np.cumsum([0.0, *(curve.duration for curve in curves)])
    breaks = begin / begin[-1]
    breaks[-1] = 1.0
    knots = np.repeat(breaks, [degree + 1, *[degree] * (len(curves) - 1), degree + 1])
    control = np.concatenate([curves[0].control, *(curve.control[1:] for curve in curves[1:])])
    whole = Curve(degree, knots, control, float(begin[-1]))
    keep = np.append(np.diff(solution.t) > 0.0, True)
    return replace(
        solution,
        curves=(whole,),
        phase_names=(phase_name(problem, 0),),
        name=name,
        systems=solution.systems[:1],  # the same for all pieces
        costs=_added(solution.costs),
        unsmoothed=_added(solution.unsmoothed),
        widths={part.split(": ", 1)[-1]: width for part, width in solution.widths.items()},
        problem=replace(problem, guess="auto"),
        t=solution.t[keep],
        phase=np.zeros(int(keep.sum()), np.int64),
        **{x: getattr(solution, x)[keep] for x in ("q", "v", "a", "tau", "reactions")},
    )


def _added(parts: dict[str, float]) -> dict[str, float]:
    """Values by name, added up over the segments; a name without a segment is kept."""
    whole: dict[str, float] = {}
    for part, value in parts.items():
        plain = part.split(": ", 1)[-1]
        whole[plain] = whole.get(plain, 0.0) + value
    return whole

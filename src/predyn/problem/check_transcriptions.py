"""Check the options of the transcription method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from predyn.errors import unknown_name
from predyn.problem.check_forces import has_profiles
from predyn.problem.check_phases import (
    MOST_SEGMENTS,
    Finding,
    Path,
    finite,
    numbers,
    spans,
    whole,
)

if TYPE_CHECKING:
    from predyn.problem.problem import Dmoc, Hybrid, Problem

AT = "transcription"
MOST_STEPS = 1000
LEAST_STEPS = 2  # of discrete mechanics
ORDERS = (2, 4)
SHOOTING = ("multiple", "single")
KNOTS = ("clamped", "uniform", "free")
LIMITS = ("points", "everywhere")


def transcription_problems(problem: Problem) -> Iterator[Finding]:
    """Errors in the options of the method, alone and in combination."""
    from predyn.problem.problem import Dmoc, Hybrid

    method = problem.transcription
    wrong = list(_spline(method))
    if isinstance(method, Dmoc):
        wrong += _dmoc(problem, method)
    elif isinstance(method, Hybrid):
        wrong += _hybrid(method)
    elif not wrong and method.knots == "free":
        wrong += [((AT, "knots"), message) for message in _free_knots(problem)]
    yield from wrong


def _dmoc(problem: Problem, method: Dmoc) -> Iterator[Finding]:
    if method.steps is not None and not whole(method.steps, LEAST_STEPS, MOST_SEGMENTS):
        got = f"got {method.steps!r:.60}"
        yield (
            (AT, "steps"),
            f"expected a whole number from {LEAST_STEPS} to {MOST_SEGMENTS}: steps of a phase, "
            f"{got}",
        )
    if not whole(method.order, 2) or method.order not in ORDERS:
        yield (AT, "order"), f"expected 2 or 4, got {method.order!r:.60}"
    for option, usual in (("knots", "clamped"), ("limits", "points")):
        if getattr(method, option) != usual:
            got = f"{getattr(method, option)!r:.60}"
            yield (
                (AT, option),
                f"method 'dmoc' has equal steps, and limits at its nodes: expected {usual!r}, got "
                f"{got}; leave it out, or use method 'spline'",
            )
    if any(not coupling.is_linear for coupling in problem.model.couplings):
        yield (
            (AT,),
            f"method 'dmoc' supports joints that follow others by a constant ratio only, and model "
            f"{problem.model.name!r:.60} has curves; use method 'spline'",
        )


def _hybrid(method: Hybrid) -> Iterator[Finding]:
    if method.steps is not None and not whole(method.steps, 1, MOST_STEPS):
        got = f"got {method.steps!r:.60}"
        yield (AT, "steps"), f"expected a whole number from 1 to {MOST_STEPS}, {got}"
    if not isinstance(method.shooting, str) or method.shooting not in SHOOTING:
        yield (AT, "shooting"), str(unknown_name("shooting", method.shooting, SHOOTING))
    if method.knots == "free":
        yield (
            (AT, "knots"),
            "method 'hybrid' integrates in fixed steps: expected 'clamped', 'uniform' or the break "
            "points, got 'free'",
        )
    if method.limits == "everywhere":
        yield (
            (AT, "limits"),
            "method 'hybrid' integrates the passive joints, whose motion has no control points to "
            "bound: expected 'points', got 'everywhere'; use more limit_points, or method 'spline'",
        )


def _free_knots(problem: Problem) -> Iterator[str]:
    """Features that cannot be combined with free knots.

    Each segment becomes a phase, in which signals, systems and force curves would start again.
    """
    for what in ("signals", "parameters", "systems"):
        if getattr(problem, what):
            yield f"'free' cannot be combined with {what}; use 'clamped'"
    if has_profiles(problem):
        yield "'free' cannot be combined with forces that are curves; use 'clamped'"
    if len(problem.phases) != 1:
        yield f"'free' needs a single phase, got {len(problem.phases)}; use 'clamped'"
        return
    (phase,) = problem.phases
    entries: tuple[Any, ...] = (*problem.costs, *problem.constraints)
    for entry in (*entries, *phase.costs, *phase.constraints):
        pairs = getattr(entry.term, "pairs", False)
        if pairs or not isinstance(entry.at, str) or getattr(entry, "integral", False):
            yield (
                f"'free' cannot be combined with {entry.name or entry.term.kind!r}: entries must "
                "apply throughout, at the start or at the end, not to pairs, fractions or integrals"
            )


def average_problems(problem: Problem) -> Iterator[Finding]:
    """Costs that are averages, which the hybrid method does not support."""
    from predyn.problem.problem import Cost, Hybrid

    if not isinstance(problem.transcription, Hybrid):
        return
    places: list[tuple[Path, Any]] = [(("costs",), problem.costs)]
    places += [(("phases", k, "costs"), x.costs) for k, x in enumerate(problem.phases)]
    for where, costs in places:
        for k, cost in enumerate(costs if isinstance(costs, tuple | list) else ()):
            if isinstance(cost, Cost) and cost.average is True:
                yield (
                    (*where, k, "average"),
                    "method 'hybrid' only integrates costs; use method 'spline', or omit average",
                )


def _spline(spline: Any) -> Iterator[Finding]:
    from predyn.problem.problem import Spline

    if not isinstance(spline, Spline):
        yield (
            (AT,),
            (
                f"expected a Spline, Hybrid or Dmoc, got {type(spline).__name__}; write "
                "Spline(...), Hybrid(...) or Dmoc(...)"
            ),
        )
        return
    if not whole(spline.degree, 3) or spline.degree > 5:
        yield (AT, "degree"), f"expected 3, 4 or 5, got {spline.degree!r:.60}"
    for name, most in (("segments", MOST_SEGMENTS), ("limit_points", 1000), ("gauss_points", 100)):
        if not whole(getattr(spline, name), 1, most):
            got = f"got {getattr(spline, name)!r:.60}"
            yield (AT, name), f"expected a whole number from 1 to {most}, {got}"
    refine: Any = spline.refine
    if type(refine) is not bool:
        yield (AT, "refine"), f"expected true or false, got {spline.refine!r:.60}"
    if not whole(spline.max_refinements, 0):
        got = f"got {spline.max_refinements!r:.60}"
        yield (AT, "max_refinements"), f"expected a whole number from 0, {got}"
    if not finite(spline.refine_tolerance) or spline.refine_tolerance <= 0.0:
        yield (AT, "refine_tolerance"), f"expected a number above 0, got {spline.refine_tolerance}"
    if not isinstance(spline.limits, str) or spline.limits not in LIMITS:
        yield (AT, "limits"), str(unknown_name("limits", spline.limits, LIMITS))
    if isinstance(spline.knots, str):
        if spline.knots not in KNOTS:
            yield (AT, "knots"), str(unknown_name("knots", spline.knots, KNOTS))
        return
    knots = numbers(spline.knots)
    if knots is None or knots.ndim != 1 or len(knots) < 2 or not spans(knots):
        yield (
            (AT, "knots"),
            "expected 'clamped', 'uniform', 'free' or break points that increase from 0 to 1, "
            f"got {spline.knots!r:.60}",
        )

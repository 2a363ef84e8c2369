"""Check costs and constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import InputError, listed, unknown_name
from predyn.problem.check_bindings import Binder
from predyn.problem.check_phases import Finding, Path, finite, name_problems, not_a_list
from predyn.terms.signals import ParameterValue
from predyn.terms.term import LOSSES, Residual, Term

if TYPE_CHECKING:
    from predyn.problem.problem import Constraint, Cost

WHEN = ("throughout", "start", "end")
OVER = ("phase", "motion")


def entry_problems(
    binder: Binder, where: Path, phases: Sequence[int], costs: Any, constraints: Any
) -> Iterator[Finding]:
    """Errors in the costs and constraints of the given phases; where: their path."""
    from predyn.problem.problem import Constraint, Cost

    for field, entries, kind in (("costs", costs, Cost), ("constraints", constraints, Constraint)):
        if not isinstance(entries, tuple | list):
            yield (*where, field), not_a_list(kind, entries)
            continue
        for k, entry in enumerate(entries):
            place = (*where, field, k)
            if not isinstance(entry, kind):
                got = type(entry).__name__
                hint = f"; write {kind.__name__}({got}(...))" if isinstance(entry, Term) else ""
                yield place, f"expected a {kind.__name__}, got {got}{hint}"
                continue
            residual, message = binder.bind(entry.term, phases)
            if message is not None:
                yield (*place, "term"), message
            yield from _place(entry.term, entry.at, place)
            yield from name_problems(entry.name, place)
            if isinstance(entry, Cost):
                yield from cost_problems(entry, place)
            else:
                yield from _over(entry, bool(where), place)
                if residual is not None:
                    yield from bounds_problems(entry, residual, place)


def cost_problems(cost: Cost, where: Path) -> Iterator[Finding]:
    if getattr(cost.term, "pairs", False):
        message = (
            f"{cost.term.kind!r} is a term on pairs of instants, which can only be a constraint"
        )
        yield (*where, "term"), message
    average: Any = cost.average
    if type(average) is not bool:
        yield (*where, "average"), f"expected true or false, got {average!r:.60}"
    elif average and cost.at != "throughout":
        yield (*where, "average"), "applies only to costs throughout a phase; omit it here"
    if not finite(cost.weight):
        yield (*where, "weight"), f"expected a finite number, got {cost.weight!r:.60}"
    if cost.loss is not None and cost.loss not in LOSSES:
        yield (*where, "loss"), str(unknown_name("loss", cost.loss, LOSSES))


def _over(constraint: Constraint, in_phase: bool, where: Path) -> Iterator[Finding]:
    """Check `over` and `integral` against the term and the place of the constraint."""
    over: Any = constraint.over
    pairs = getattr(constraint.term, "pairs", False)
    if not isinstance(over, str) or over not in OVER:
        yield (*where, "over"), str(unknown_name("over", over, OVER))
    elif over == "motion" and in_phase:
        yield (
            (*where, "over"),
            "a constraint of a phase covers that phase; give it to the problem to cover the whole "
            "motion",
        )
    elif over == "motion" and constraint.integral is False and not pairs:
        yield (
            (*where, "over"),
            "only integrals add up over the whole motion; bound the integral (integral = true), "
            "or leave `over` out",
        )
    if isinstance(constraint.term, ParameterValue) and constraint.integral is True:
        yield (
            (*where, "integral"),
            f"parameter {constraint.term.parameter!r} is the same at all times; bound it directly "
            "(leave `integral` out)",
        )
    if pairs and constraint.integral is True:
        yield (
            (*where, "integral"),
            f"term {constraint.term.kind!r} is on pairs of instants; leave `integral` out",
        )


def _place(term: Any, at: Any, where: Path) -> Iterator[Finding]:
    if isinstance(at, str):
        if at not in WHEN:
            names = unknown_name("instant", at, WHEN)
            yield (*where, "at"), f"{names}, or a list of fractions of the phase, such as [0.5]"
        elif getattr(term, "pairs", False) and at != "throughout":
            yield (
                (*where, "at"),
                f"term {term.kind!r} determines its own pairs of instants; leave `at` out",
            )
        return
    try:
        fractions = np.asarray(at, dtype=float)
    except (TypeError, ValueError, OverflowError):
        fractions = np.empty(0)
    inside = (fractions >= 0.0) & (fractions <= 1.0)
    if fractions.ndim != 1 or not fractions.size or not inside.all():
        yield (
            (*where, "fractions"),
            "expected 'throughout', 'start', 'end' or a list of fractions from 0 to 1, such as "
            f"[0.5], got {at!r:.60}",
        )
    elif len(np.unique(fractions)) < fractions.size:
        yield (*where, "fractions"), f"expected each instant once, got {at!r:.60}"
    elif getattr(term, "pairs", False):
        yield (
            (*where, "fractions"),
            f"term {term.kind!r} determines its own pairs of instants; leave them out",
        )


def bounds_problems(constraint: Constraint, residual: Residual, where: Path) -> Iterator[Finding]:
    integral: Any = constraint.integral
    if type(integral) is not bool:
        yield (*where, "integral"), f"expected true or false, got {constraint.integral!r:.60}"
        return
    rows = ("integral",) if constraint.integral else residual.rows
    if not constraint.integral and not residual.entries and not constraint.term.pairs:
        yield (
            where,
            f"{', '.join(residual.rows)!s:.60} does not depend on the motion; bound its integral "
            "(integral = true)",
        )
    if constraint.lower is None and constraint.upper is None:
        if constraint.integral:
            yield where, "an integral has no default bounds; give lower, upper or both"
        elif getattr(constraint.term, "form", None) == "angle" and residual.upper is None:
            yield where, "form 'angle' needs a tolerance, or bounds of 1 - cos(angle)"
        return
    pairs = []
    for name, none in (("lower", -np.inf), ("upper", np.inf)):
        value = getattr(constraint, name)
        try:
            pairs.append(_row_values(none if value is None else value, rows))
        except InputError as error:
            yield (*where, name), str(error)
    if len(pairs) < 2:
        return
    lower, upper = pairs
    for row, low, high in zip(rows, lower.tolist(), upper.tolist(), strict=True):
        if np.isnan(low) or np.isnan(high):
            yield (*where, "lower" if np.isnan(low) else "upper"), f"{row!r}: NaN is not a bound"
        elif low > high:
            yield (*where, "lower"), f"{row!r}: lower {low:g} is above upper {high:g}"
        elif low == np.inf or high == -np.inf:
            yield (*where, "lower"), f"{row!r}: no value lies between {low:g} and {high:g}"
    if np.isneginf(lower).all() and np.isposinf(upper).all():
        yield where, "has no effect: lower is -infinity and upper is infinity for all rows"


def _row_values(value: Any, rows: tuple[str, ...]) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"expected one number or {len(rows)} ({listed(rows, 6)}), got {value!r:.60}"
        ) from None
    if array.shape not in ((), (len(rows),)):
        raise InputError(
            f"expected one number or {len(rows)} ({listed(rows, 6)}), got {array.size or 'none'}"
        )
    return np.broadcast_to(array, (len(rows),))

"""What is wrong with costs and constraints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import InputError, PredynError, unknown_name
from predyn.model import Model
from predyn.problem.check_phases import Finding, Path, finite, name_problems
from predyn.samples import channel_size
from predyn.terms.term import Residual, Term

if TYPE_CHECKING:
    from predyn.problem.problem import Constraint

WHEN = ("throughout", "start", "end")
LOSSES = ("linear", "square", "abs")


def entry_problems(model: Model, where: Path, costs: Any, constraints: Any) -> Iterator[Finding]:
    """Everything that is wrong with the costs and constraints at a path."""
    from predyn.problem.problem import Constraint, Cost

    for field, entries, kind in (("costs", costs, Cost), ("constraints", constraints, Constraint)):
        if not isinstance(entries, tuple | list):
            name = kind.__name__
            yield (*where, field), f"expected a list of {name}, got {type(entries).__name__}"
            continue
        for k, entry in enumerate(entries):
            place = (*where, field, k)
            if not isinstance(entry, kind):
                yield place, f"expected a {kind.__name__}, got {type(entry).__name__}"
                continue
            residual, message = _bound(model, entry.term)
            if message is not None:
                yield (*place, "term"), message
            yield from _place(entry.term, entry.at, place)
            yield from name_problems(entry.name, place)
            if isinstance(entry, Cost):
                if getattr(entry.term, "pairs", False):
                    yield (
                        (*place, "term"),
                        f"{entry.term.kind!r} looks at pairs of instants: a constraint only",
                    )
                if not finite(entry.weight):
                    got = f"got {entry.weight!r:.60}"
                    yield (*place, "weight"), f"expected a finite number, {got}"
                if entry.loss is not None and entry.loss not in LOSSES:
                    yield (*place, "loss"), str(unknown_name("loss", entry.loss, LOSSES))
            elif residual is not None:
                yield from _bounds(entry, residual, place)


def _bound(model: Model, term: Any) -> tuple[Residual | None, str | None]:
    """The residual of a term, or why there is none."""
    if isinstance(term, type) and issubclass(term, Term):
        return None, f"expected a Term, got the class {term.__name__}: write {term.__name__}(...)"
    if not isinstance(term, Term):
        return None, f"expected a Term, got {type(term).__name__}"
    try:
        residual = term.bind(model)
        for channel in residual.channels:
            channel_size(model, channel)
    except PredynError as error:
        return None, str(error)
    return residual, None


def _place(term: Any, at: Any, where: Path) -> Iterator[Finding]:
    if isinstance(at, str):
        if at not in WHEN:
            yield (*where, "at"), str(unknown_name("instant", at, WHEN))
        elif getattr(term, "pairs", False) and at != "throughout":
            yield (
                (*where, "at"),
                f"term {term.kind!r} looks at pairs of instants of its own; leave `at` out",
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
            f"expected 'throughout', 'start', 'end' or fractions from 0 to 1, got {at!r:.60}",
        )
    elif len(np.unique(fractions)) < fractions.size:
        yield (*where, "fractions"), f"expected each instant once, got {at!r:.60}"
    elif getattr(term, "pairs", False):
        yield (
            (*where, "fractions"),
            f"term {term.kind!r} looks at pairs of instants of its own; leave them out",
        )


def _bounds(constraint: Constraint, residual: Residual, where: Path) -> Iterator[Finding]:
    integral: Any = constraint.integral
    if type(integral) is not bool:
        yield (*where, "integral"), f"expected true or false, got {constraint.integral!r:.60}"
        return
    rows = ("integral",) if constraint.integral else residual.rows
    if not constraint.integral and not residual.entries:
        yield (
            where,
            f"{', '.join(residual.rows)!s:.60} is the same for every motion; bound its integral "
            "(integral = true)",
        )
    if constraint.lower is None and constraint.upper is None:
        if constraint.integral:
            yield where, "an integral has no bounds of its own; give lower, upper or both"
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
            yield (*where, "lower" if np.isnan(low) else "upper"), f"{row!r}: NaN is no bound"
        elif low > high:
            yield (*where, "lower"), f"{row!r}: lower {low:g} is above upper {high:g}"
        elif low == np.inf or high == -np.inf:
            yield (*where, "lower"), f"{row!r}: nothing lies between {low:g} and {high:g}"
    if np.isneginf(lower).all() and np.isposinf(upper).all():
        yield where, "bounds nothing: lower is -infinity and upper infinity for all rows"


def _row_values(value: Any, rows: tuple[str, ...]) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"expected numbers, got {value!r:.60}") from None
    if array.shape not in ((), (len(rows),)):
        names = ", ".join(rows[:6]) + (", ..." if len(rows) > 6 else "")
        raise InputError(
            f"expected one number or {len(rows)} ({names}), got {array.size or 'none'}"
        )
    return np.broadcast_to(array, (len(rows),))

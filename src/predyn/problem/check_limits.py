"""Check the limits of a problem or of one of its systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from predyn.model import Limits, Model
from predyn.model.parts import Array
from predyn.problem.check_phases import Finding, Path, numbers

EASIER = "model.with_limits(velocity=...).limits makes them of numbers or of a dict by joint"


def check_limits(model: Model, given: Any, where: Path) -> tuple[Limits, list[Finding]]:
    """The effective limits (those of the model where the given ones are not valid), and errors."""
    if given is None:
        return model.limits, []
    if not isinstance(given, Limits):
        return model.limits, [(where, f"expected Limits, got {type(given).__name__}; {EASIER}")]
    wrong: list[Finding] = []
    pairs = []
    for name, value in zip(Limits._fields, given, strict=True):
        pair = numbers(value)
        usual = getattr(model.limits, name)
        if pair is None or pair.shape != (model.n, 2):
            shape = "no numbers" if pair is None else f"shape {pair.shape}"
            wrong.append(((*where, name), f"expected shape ({model.n}, 2), got {shape}"))
            pairs.append(usual)
            continue
        bad = _bad_pairs(model, pair)
        wrong += [((*where, name), message) for message in bad]
        pairs.append(usual if bad else pair)
    return Limits(*pairs), wrong


def jerk_problems(model: Model, given: Any, where: Path) -> Iterator[Finding]:
    if given is None:
        return
    jerk = numbers(given)
    if jerk is None or jerk.shape not in ((), (model.n,)) or not (jerk > 0.0).all():
        yield (
            where,
            f"expected a number above 0 (plus and minus that), or {model.n}, one per joint, "
            f"got {given!r:.60}",
        )


def _bad_pairs(model: Model, pairs: Array) -> list[str]:
    wrong = []
    for name, (lower, upper) in zip(model.joint_names, pairs.tolist(), strict=True):
        problem = bound_problem(lower, upper)
        if problem is not None:
            wrong.append(f"joint {name!r}: {problem}")
    return wrong


def bound_problem(lower: float, upper: float) -> str | None:
    """The error in a pair of bounds; None if they are valid."""
    if np.isnan(lower) or np.isnan(upper):
        return "NaN is not a bound; use infinity for no bound"
    if lower > upper:
        return f"lower {lower:g} is above upper {upper:g}"
    if lower == np.inf or upper == -np.inf:
        return f"no value lies between {lower:g} and {upper:g}"
    return None

"""Values of a table as what a task file holds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.study.study import TEXT

MOST_SEED = 2**53  # all whole numbers below are exact in a table


def case_value(form: str, value: Any) -> Any:
    """A value of a varied column in the form that `Knob.values` names."""
    if form == "json":
        return json.loads(str(value))
    if form == TEXT:
        return str(value)
    return int(value) if form == "whole" else float(value)


def rounded(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers; an InputError for values that have none."""
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise InputError(f"whole: expected finite numbers as values, got {no_number(values)!s:.60}")
    return np.round(values)


def no_number(values: NDArray[Any]) -> str:
    """The first value that is no finite number, or the first of all."""
    for value in values.tolist():
        try:
            if np.isfinite(float(value)):
                continue
        except ValueError:
            pass
        return str(value)
    return str(values[0])


def check_seeds(values: NDArray[Any]) -> None:
    """Raise an InputError for values that are no seeds."""
    usable = (values >= 0) & (values < MOST_SEED) & (np.floor(values) == values)
    if not usable.all():
        raise InputError(
            f"seed: expected whole numbers from 0 to {MOST_SEED - 1:,}, got {values[~usable][0]:g}"
        )

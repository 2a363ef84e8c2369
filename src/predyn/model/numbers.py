"""Arrays of real numbers from users and files."""

from __future__ import annotations

from typing import Any

import numpy as np

from predyn.errors import InputError
from predyn.model.parts import Array


def real_numbers(value: Any, what: str, expected: str) -> Array:
    """A float64 copy of numbers, nested lists of them, or an array; they need not be finite.

    Raises an InputError for words, truth values, complex numbers, rows of different lengths, and
    whole numbers beyond those that a float can hold.
    """
    try:
        array = np.array(value)
        real = array.dtype.kind in "iuf" and not _has_truth_value(value)
    except (TypeError, ValueError, OverflowError):
        real = False
    if not real:
        raise InputError(f"{what}: expected {expected}, got {shown(value)}")
    return np.asarray(array, dtype=np.float64)


def shown(value: Any) -> str:
    """The first characters of a value, for a message."""
    try:
        return f"{value!r:.60}"
    except ValueError:  # Python does not write numbers of more than 4300 digits
        return f"a {type(value).__name__} with a number of more than 4300 digits"


def _has_truth_value(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_truth_value(item) for item in value)
    return isinstance(value, bool | np.bool_) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "b"
    )

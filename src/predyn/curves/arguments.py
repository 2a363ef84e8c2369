"""Arguments of curves, checked: each function raises an InputError that names the argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError

DEGREES = range(6)


def vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers (K,); one number becomes (1,)."""
    try:
        array = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers, got {values!r:.60}") from None
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise InputError(f"{name}: expected a vector of finite numbers, got shape {array.shape}")
    return array


def finite(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Finite numbers of that shape."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise InputError(f"{name}: expected finite numbers, shape {shape}, got {array.shape}")
    return array


def count(name: str, value: object, least: int = 1) -> int:
    """A whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name}: expected a whole number of at least {least}, got {value!r:.40}")
    return int(value)


def check_degree(degree: object) -> None:
    """Raise an InputError unless it is the degree of a spline."""
    if isinstance(degree, bool) or degree not in DEGREES or not isinstance(degree, int):
        raise InputError(f"degree: expected a whole number from 0 to 5, got {degree!r:.40}")


def duration(T: float) -> float:
    """Seconds, above zero."""
    if isinstance(T, bool) or not isinstance(T, int | float | np.number) or not 0.0 < T < np.inf:
        raise InputError(f"T: expected a duration in seconds above 0, got {T!r:.40}")
    return float(T)

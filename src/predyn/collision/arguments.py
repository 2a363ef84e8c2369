"""Numbers that users and scene files give: lengths, times and margins within sensible bounds.

A certificate sets 1e-10 m aside for rounding, which is enough up to about LARGEST.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from predyn.errors import InputError
from predyn.model.numbers import real_numbers, shown
from predyn.model.parts import Array

LARGEST = 1e4  # m, of sizes and positions; rad or m, of joint positions
LATEST, SHORTEST_STEP = 1e9, 1e-9  # s


def lengths(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    """Read-only numbers of a shape, at most LARGEST in magnitude."""
    expected = f"finite numbers of shape {shape}, at most {LARGEST:g} m in magnitude"
    array = real_numbers(value, what, expected)
    if array.shape != shape:
        raise InputError(f"{what}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what}: expected finite numbers, got {shown(array.tolist())}")
    bounded(array, what, "m")
    array.flags.writeable = False
    return array


def bounded(array: Array, what: str, unit: str) -> None:
    """Raise an InputError unless all finite numbers are at most LARGEST in magnitude."""
    worst = float(np.abs(array).max(initial=0.0))
    if not worst <= LARGEST:
        raise InputError(f"{what}: expected at most {LARGEST:g} {unit} in magnitude, got {worst:g}")


def instants(value: Any, what: str, count: int | None = None) -> Array:
    """Read-only increasing times (K,) in s, K > 1; count: the K that is expected."""
    expected = "at least 2 finite, increasing numbers"
    if count is not None:
        expected = f"{count} increasing numbers, one for each position"
    times = real_numbers(value, what, expected)
    if times.ndim != 1 or len(times) < 2 or count not in (None, len(times)):
        raise InputError(f"{what}: expected {expected}, got shape {times.shape}")
    if not np.isfinite(times).all() or not (np.diff(times) > 0.0).all():
        raise InputError(f"{what}: expected {expected}, got {shown(times.tolist())}")
    if (worst := float(np.abs(times).max())) > LATEST:
        raise InputError(f"{what}: expected at most {LATEST:g} s in magnitude, got {worst:g}")
    k = int(np.argmin(np.diff(times)))
    if times[k + 1] - times[k] < SHORTEST_STEP:
        raise InputError(
            f"{what}: the step from {times[k]:.17g} to {times[k + 1]:.17g} is too short: expected "
            f"steps of at least {SHORTEST_STEP:g} s"
        )
    times.flags.writeable = False
    return times


def checked_margin(value: Any) -> float:
    """A distance of at least 0: depths of overlap may be bounds, and prove nothing."""
    expected = f"a distance of at least 0 m, at most {LARGEST:g} m"
    margin = real_numbers(value, "margin", expected)
    if margin.shape != () or not 0.0 <= float(margin) <= LARGEST:
        raise InputError(f"margin: expected {expected}, got {shown(value)}")
    return float(margin)

"""Numbers as people read them and as the page stores them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

NOTHING = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
LONG = 1e6  # below, no power of ten is written


def rounded(values: Any, digits: int = 5) -> list[float | None]:
    """Significant digits; None in place of what JSON cannot hold."""
    flat = np.asarray(values, dtype=float).ravel().tolist()
    return [_short(float(f"{x:.{digits}g}")) if math.isfinite(x) else None for x in flat]


def _short(x: float) -> float:
    """Whole numbers as such: JSON writes them without a fraction."""
    return int(x) if x.is_integer() and abs(x) < LONG else x


def shown(value: float, digits: int = 5) -> str:
    """A number for a table: short, with an ordinary minus, and words for what is no number."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0.0 else MINUS + "∞"
    text = f"{value + 0.0:.{digits}g}"
    if 1.0 <= abs(value) < LONG and "e" in text:
        text = f"{float(text):.0f}"
    return text.replace("-", MINUS)


def written_unit(unit: str) -> str:
    """A unit with raised exponents; nothing for numbers without one."""
    return "" if unit == "1" else unit.replace("^2", "²").replace("^3", "³")


def seconds(value: float) -> str:
    """A time span with a fitting unit."""
    if not math.isfinite(value):
        return NOTHING
    if abs(value) < 1.0:
        return f"{shown(1e3 * value, 3)} ms"
    return f"{shown(value, 4)} s"

"""Sample times: the usual interval, stamps that a program rounded, and a repeated last row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FINEST = 5  # decimals beyond which rounding of times does not matter
ROUNDING = 1e-6  # over the interval: rounding of doubles, not of printed times


def usual_interval(t: Floats) -> float:
    """The mean of the intervals that are not gaps, s.

    The median of intervals is wrong for rounded times: 60 Hz in milliseconds has steps of 16 and
    17 ms, whose median is 58.8 Hz.
    """
    steps = np.sort(np.diff(t))
    median = float(steps[len(steps) // 2])  # one of them, also of an even number
    return float(np.mean(steps[np.abs(steps - median) < 0.75 * median]))


def undo_rounding(t: Floats, rate: float | None = None) -> tuple[Floats, float | None]:
    """Even times if rounding to a decimal place explains every difference from them, else `t`.

    Also returns the samples per second if times were replaced. `rate` is what the file states;
    otherwise a whole number is tried, then the rate of a straight line through the times.
    """
    if len(t) < 4 or not np.isfinite(t).all() or not (np.diff(t) > 0.0).all():
        return t, None
    number = np.arange(len(t))
    step = float(np.polyfit(number, t, 1)[0])
    if np.abs(np.diff(t) - step).max() < ROUNDING * step:
        return t, None
    quantum = _find_quantum(t)
    if quantum is None:
        return t, None
    most = 0.5 * quantum * (1.0 + 1e-6) + 1e-9 * abs(float(t[-1]))
    for tried in (rate, float(round(1.0 / step)), 1.0 / step):
        if tried is None or not tried > 0.0:
            continue
        offset = t - number / tried
        middle = 0.5 * (float(offset.min()) + float(offset.max()))
        first = float(t[0]) if np.abs(offset - t[0]).max() <= most else middle
        if np.abs(offset - first).max() <= most:
            return first + number / tried, tried
    return t, None


def _find_quantum(t: Floats) -> float | None:
    """The decimal place to which all times are rounded, s."""
    for decimals in range(1, FINEST + 1):
        scaled = t * 10.0**decimals
        if np.abs(scaled - np.round(scaled)).max() < 1e-5:
            return float(10.0**-decimals)
    return None

"""Timing of rivals side by side: interleaved repeats, medians, ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

BURST = 0.005  # seconds that each turn of a rival lasts at least


def medians(rivals: dict[str, Callable[[], object]], repeats: int = 15) -> dict[str, float]:
    """Median seconds of a call of each function.

    Turns are interleaved, so that noise hits all alike, and each turn is a burst of calls, so that
    a quick function is not measured on the caches that a slow one left behind.
    """
    calls = {}
    for name, function in rivals.items():
        function()
        calls[name] = max(1, round(BURST / _seconds(function, 1)))
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, function in rivals.items():
            times[name].append(_seconds(function, calls[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def _seconds(function: Callable[[], object], calls: int) -> float:
    """Mean seconds of a call in a burst."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Least-squares slope of log(time) over log(size)."""
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])

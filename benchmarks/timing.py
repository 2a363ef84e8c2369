"""Timing of rivals side by side: interleaved repeats, medians, ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def medians(rivals: dict[str, Callable[[], object]], repeats: int = 15) -> dict[str, float]:
    """Median seconds of each function; repeats are interleaved, so that noise hits all alike."""
    for function in rivals.values():
        function()
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, function in rivals.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Least-squares slope of log(time) over log(size)."""
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])

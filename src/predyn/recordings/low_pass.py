"""A Butterworth low-pass of order 2, run forwards and backwards, so that nothing is delayed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, filtfilt

Floats = NDArray[np.float64]

TWICE = (np.sqrt(2.0) - 1.0) ** 0.25  # two passes have their half-power point lower by this


def butterworth(t: Floats, values: Floats, cutoff: float) -> Floats:
    """Values (K, n) at equal steps in t, without what is faster than `cutoff` (Hz)."""
    rate = (len(t) - 1) / (t[-1] - t[0])
    b, a = butter(2, 2.0 / np.pi * np.arctan(np.tan(np.pi * cutoff / rate) / TWICE))
    beyond = min(len(t) - 1, max(9, round(rate / cutoff)))  # samples mirrored at each end
    return np.asarray(filtfilt(b, a, values, axis=0, padlen=beyond))

"""What samples tell before any model is looked at: their noise, jumps, speeds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError

Floats = NDArray[np.float64]

FASTEST = {"rad": 100.0, "m": 50.0}  # per second
JUMP, SUDDEN = 0.5, 30.0  # rad or m, and how many times as fast as nine tenths of the steps
WILD = 1e3  # rad or m from one sample to the next that no motion has


def roughness(*parts: Floats) -> float:
    """Standard deviation of white noise that has the third differences of these samples."""
    third = np.concatenate([np.abs(np.diff(part, 3)) for part in parts])
    return 1.4826 * float(np.median(third)) / math.sqrt(20.0) if len(third) else 0.0


def moves_too_fast(what: str, t: Floats, values: Floats, unit: str) -> list[str]:
    """Jumps from one sample to the next in columns (M, k), and speeds that nothing has.

    Noise makes steps too: only what is beyond six of its standard deviations counts.
    """
    after, steps, rates, usual = [], [], [], []
    for column in values.T:
        there = np.flatnonzero(np.isfinite(column))
        step = np.abs(np.diff(column[there]))
        if len(step):
            rate = np.maximum(step - 6.0 * roughness(column[there]), 0.0) / np.diff(t[there])
            usual.append(np.full(len(step), np.quantile(step / np.diff(t[there]), 0.9)))
            after.append(there[:-1])
            steps.append(step)
            rates.append(rate)
    if not after:
        return []
    sample, step, rate = np.concatenate(after), np.concatenate(steps), np.concatenate(rates)
    sudden = (step > JUMP) & (rate > SUDDEN * np.concatenate(usual))
    fast = rate > FASTEST[unit]
    if (fast & ~sudden).any():
        return [f"{what}: moves at up to {rate[~sudden].max():.3g} {unit}/s; check the units of "
                "positions and times"]  # fmt: skip
    if not sudden.any():
        return []
    first = int(np.argmax(sudden))
    most = int(np.argmax(step * sudden))
    if step[most] > WILD:
        raise InputError(
            f"{what}: jumps by {step[most]:.3g} {unit} after sample {sample[most]}; mark wild "
            "samples as missing (NaN), or check the units"
        )
    more = f" ({int(sudden.sum())} jumps in all)" if sudden.sum() > 1 else ""
    return [f"{what}: jumps by {step[first]:.3g} {unit} after sample {sample[first]}{more}; mark "
            "wild samples as missing (NaN)"]  # fmt: skip

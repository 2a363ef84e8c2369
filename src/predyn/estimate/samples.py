"""What samples tell before any model is looked at: their noise, jumps, speeds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError

Floats = NDArray[np.float64]

FASTEST = {"rad": 100.0, "m": 100.0}  # per second
JUMP, SUDDEN = 0.5, 30.0  # rad or m, and how many times as fast as nine tenths of the steps
WILD = 1e3  # rad or m from one sample to the next that no motion has


def roughness(*parts: Floats) -> float:
    """Standard deviation of white noise that has the third differences of these samples."""
    third = np.concatenate([np.abs(np.diff(part, 3)) for part in parts])
    return 1.4826 * float(np.median(third)) / math.sqrt(20.0) if len(third) else 0.0


class Steps(NamedTuple):
    """What is odd in the steps from sample to sample."""

    speed: float  # per second, 0 unless it is one that nothing has
    jumps: str  # the first of them in words, empty if there is none


def odd_steps(what: str, t: Floats, values: Floats, unit: str) -> Steps:
    """Speeds that nothing has, and jumps, in columns (M, k) of a channel.

    Noise makes steps too: only what is beyond six of its standard deviations counts.
    """
    after, steps, rates, usual = [], [], [], []
    for column in values.T:
        there = np.flatnonzero(np.isfinite(column))
        step, time = np.abs(np.diff(column[there])), np.diff(t[there])
        if len(step):
            rates.append(np.maximum(step - 6.0 * roughness(column[there]), 0.0) / time)
            usual.append(np.full(len(step), np.quantile(step / time, 0.9)))
            after.append(there[:-1])
            steps.append(step)
    if not after:
        return Steps(0.0, "")
    sample, step, rate = np.concatenate(after), np.concatenate(steps), np.concatenate(rates)
    sudden = (step > JUMP) & (rate > SUDDEN * np.concatenate(usual))
    speed = float(rate[~sudden].max(initial=0.0))
    speed = speed if speed > FASTEST[unit] else 0.0
    if not sudden.any():
        return Steps(speed, "")
    most = int(np.argmax(step * sudden))
    if step[most] > WILD:
        raise InputError(
            f"{what}: jumps by {step[most]:.3g} {unit} after sample {sample[most]}; mark wild "
            "samples as missing (NaN), or check the units"
        )
    first = int(np.argmax(sudden))
    more = f" ({int(sudden.sum())} jumps in all)" if sudden.sum() > 1 else ""
    return Steps(
        speed,
        f"{what}: jumps by {step[first]:.3g} {unit} after sample {sample[first]}{more}; mark wild "
        "samples as missing (NaN)",
    )

"""Noise, jumps and speeds of samples, before a model is involved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError

Floats = NDArray[np.float64]

FASTEST = {"rad": 100.0, "m": 100.0}  # per second
JUMP, SUDDEN = 0.5, 30.0  # rad or m, and how many times as fast as nine tenths of the steps
WILD = 1e3  # rad or m between samples that no motion has


def roughness(*parts: tuple[Floats, Floats]) -> float:
    """Standard deviation of white noise that has the third differences of samples (times, values).

    Each takes four neighbours, weighted so that a parabola through them, at their times, gives
    nothing and white noise its own deviation.
    """
    third = []
    for t, values in parts:
        if len(t) > 3:
            at = np.stack([t[k : len(t) - 3 + k] for k in range(4)])
            apart = at[:, None] - at[None] + np.eye(4)[:, :, None]
            weight = 1.0 / np.prod(apart * np.abs(apart).max(axis=(0, 1)) ** -1.0, axis=1)
            weight /= np.sqrt((weight**2).sum(axis=0))
            values_at = np.stack([values[k : len(t) - 3 + k] for k in range(4)])
            third.append(np.abs((weight * values_at).sum(axis=0)))
    return 1.4826 * float(np.median(np.concatenate(third))) if third else 0.0


class Steps(NamedTuple):
    """What is odd in the steps from sample to sample."""

    speed: float  # per second, if implausible, else 0
    jumps: str  # describes the first, empty if there are none


def odd_steps(what: str, t: Floats, values: Floats, unit: str) -> Steps:
    """Implausible speeds and jumps in columns (M, k) of a channel.

    Noise makes steps too: only what is beyond six of its standard deviations counts.
    """
    after, steps, rates, usual = [], [], [], []
    for column in values.T:
        present = np.flatnonzero(np.isfinite(column))
        step, time = np.abs(np.diff(column[present])), np.diff(t[present])
        if len(step):
            noise = roughness((t[present], column[present]))
            rates.append(np.maximum(step - 6.0 * noise, 0.0) / time)
            usual.append(np.full(len(step), np.quantile(step / time, 0.9)))
            after.append(present[:-1])
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
            f"{what}: jumps by {step[most]:.3g} {unit} after sample {sample[most]}; mark "
            "outliers as missing (NaN), or check the units"
        )
    first = int(np.argmax(sudden))
    more = f" ({int(sudden.sum())} jumps in all)" if sudden.sum() > 1 else ""
    return Steps(
        speed,
        f"{what}: jumps by {step[first]:.3g} {unit} after sample {sample[first]}{more}; mark "
        "outliers as missing (NaN)",
    )

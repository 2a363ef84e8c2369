"""The arguments of an estimate, checked, and numbers to start from where none are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.estimate.matching import Matched
from predyn.estimate.regularisation import JOINTS, KINDS, LINKS, ORDERS
from predyn.estimate.spline_grid import Floats, Grid
from predyn.model import Model

LEAST_INTERVALS, MOST_INTERVALS, MOST_EMPTY = 5, 1_000_000, 20  # the last: intervals per sample
LEAST_NOISE, MOST_NOISE = 1e-7, 10.0  # over the range of what was measured


def positive(what: str, value: Any) -> float | None:
    """A finite number above zero, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{what}: expected a number above 0, got {value!r:.60}")
    if not 0.0 < value < math.inf:
        raise InputError(f"{what}: expected a finite number above 0, got {value!r}")
    return float(value)


def orders_of(order: Any, total_variation: bool) -> tuple[int, ...]:
    """Orders to try."""
    if total_variation:
        if order not in (None, 1):
            raise InputError(f"total_variation looks at changes, order 1; got order={order!r:.40}")
        return (1,)
    if order is None:
        return (1, 2, 0)
    if isinstance(order, bool) or order not in ORDERS:
        raise InputError(f"order: expected 0, 1, 2 or None (by evidence), got {order!r:.40}")
    return (int(order),)


def kinds_of(independent: Any, total_variation: bool, weight: Any) -> tuple[str, ...]:
    """What to take as changing independently: torques if these switch or sizes are given."""
    torques = (JOINTS, LINKS)
    if independent is None:
        return torques if total_variation or weight is not None else KINDS
    if independent not in KINDS:
        raise unknown_name("independent", independent, KINDS)
    if total_variation and independent not in torques:
        raise InputError(
            f"total_variation: torques switch, accelerations do not; expected independent to be "
            f"{JOINTS!r} or {LINKS!r}, got {independent!r}"
        )
    return (str(independent),)


def grid_of(model: Model, t: Floats, step: float | None) -> Grid:
    """Equal intervals over the recording."""
    wanted = positive("step", step) or float(np.median(np.diff(t)))
    length = float(t[-1] - t[0])
    count = round(length / wanted)
    if step is None and count > MOST_EMPTY * len(t):
        gap = int(np.argmax(np.diff(t)))
        raise InputError(
            f"no samples from {t[gap]:.6g} to {t[gap + 1]:.6g} s, where the usual step is "
            f"{wanted:.3g} s; cut the recording there, or give a step"
        )
    if count > MOST_INTERVALS:
        raise InputError(
            f"a step of {wanted:.3g} s makes {count} intervals; expected at most {MOST_INTERVALS}: "
            "use a longer step"
        )
    if count < LEAST_INTERVALS:
        raise InputError(
            f"a step of {wanted:.3g} s makes {count} intervals in {length:.3g} s; expected at "
            f"least {LEAST_INTERVALS}: use a shorter step or a longer recording"
        )
    return Grid(float(t[0]), length / count, count, model.n)


def pose_of(model: Model, guess: Mapping[str, float] | None) -> Floats | None:
    """A pose from joint names, zero where none is given."""
    if guess is None:
        return None
    pose = np.zeros(model.n)
    for name, value in guess.items():
        pose[model.joint_index(name)] = _finite(f"guess of joint {name}", value)
    return pose


def weights_of(model: Model, weight: float | Mapping[str, float] | None) -> Floats | None:
    """Given scales (n,), NaN where they are to be found."""
    if weight is None:
        return None
    if not isinstance(weight, Mapping):
        return np.full(model.n, positive("weight", weight))
    given = np.full(model.n, np.nan)
    for name, value in weight.items():
        given[model.joint_index(name)] = positive(f"weight of joint {name}", value)
    return given


def known_noise(matched: Matched, noise: float | Mapping[str, float] | None) -> Floats:
    """Given noise levels in the order of what was observed, NaN where they are to be found."""
    names = [x.name for x in matched.observed]
    if not isinstance(noise, Mapping):
        level = positive("noise", noise)
        return np.full(len(names), np.nan if level is None else level)
    known = np.full(len(names), np.nan)
    for name, value in noise.items():
        if name not in names:
            raise unknown_name("joint or marker in noise", name, names)
        known[names.index(name)] = positive(f"noise of {name}", value)
    return known


def noise_range(matched: Matched) -> tuple[Floats, Floats, Floats]:
    """Least, likely and largest noise of what was observed.

    The likely one comes from third differences, which a slow motion hardly has: of white noise
    they have 20 times its variance.
    """
    span, likely = [], []
    for x in matched.observed:
        parts = [x.measured]
        if not hasattr(x, "joint"):
            parts = [x.measured[x.axis == axis] for axis in range(3)]
        parts = [part for part in parts if len(part)]
        span.append(max(float(np.ptp(part)) for part in parts))
        rough = np.concatenate([np.abs(np.diff(part, 3)) for part in parts])
        likely.append(1.4826 * float(np.median(rough)) / math.sqrt(20.0) if len(rough) else 0.0)
    size = np.maximum(span, 1e-6)
    return LEAST_NOISE * size, np.clip(likely, 1e-5 * size, size), MOST_NOISE * size


def usual_size(values: Floats) -> Floats:
    """Sizes (n,) of torques or accelerations (K, n), roughly: none far below the others."""
    size = np.sqrt(np.mean(values**2, axis=0))
    return np.asarray(np.maximum(size, max(1e-3 * float(size.max()), 1e-9)))


def _finite(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected a number, got {value!r:.60}") from None
    if not math.isfinite(number):
        raise InputError(f"{what}: expected a finite number, got {value!r}")
    return number

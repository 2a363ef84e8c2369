"""The arguments of an estimate, checked, and numbers to start from where none are given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.estimate.matching import Matched
from predyn.estimate.observations import Marker
from predyn.estimate.result import ACCELERATIONS, INDEPENDENT, JOINTS, LINKS, NONE, ORDERS
from predyn.estimate.samples import roughness
from predyn.estimate.spline_grid import Floats, Grid
from predyn.model import Model
from predyn.recordings.sampling import usual_interval

LEAST_INTERVALS, MOST_INTERVALS, MOST_EMPTY = 5, 1_000_000, 20  # the last: intervals per sample
LEAST_NOISE, MOST_NOISE = 1e-7, 10.0  # over the range of what was measured
FEW, UNKNOWN = 5, 1e-2  # samples needed to estimate noise; rad or m assumed with fewer
PLAUSIBLE = 1e12  # largest factor between a given and the usual level
SMALLEST, LARGEST = 1e-30, 1e30  # of a given level: its square must be a number
FARTHEST = 1e4  # rad or m, of a guess


def positive(what: str, value: Any) -> float | None:
    """A finite number above zero, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{what}: expected a number above 0, got {value!r:.60}")
    if not 0.0 < value < math.inf:
        raise InputError(f"{what}: expected a finite number above 0, got {value!r}")
    return float(value)


def called(report: Any) -> Any:
    """The progress callback, a callable or None."""
    if report is not None and not callable(report):
        raise InputError(
            f"report: expected a function of iteration, value, step, text; got {report!r:.40}"
        )
    return report


def orders_of(order: Any, total_variation: bool) -> tuple[int, ...]:
    """Orders to try."""
    if not isinstance(total_variation, bool | np.bool_):
        raise InputError(f"total_variation: expected True or False, got {total_variation!r:.40}")
    whole = isinstance(order, int | np.integer) and not isinstance(order, bool)
    if order is not None and not (whole and order in ORDERS):
        raise InputError(f"order: expected 0, 1, 2, 3 or None (by evidence), got {order!r:.40}")
    if total_variation and order not in (None, 1):
        raise InputError(f"total_variation penalises changes, order 1; got order={order!r:.40}")
    if total_variation:
        return (1,)
    if order is None:
        return (1, 2, 0)
    return (min(int(order), 2),)  # a process of order 3 starts from second differences


def process_orders(
    order: Any, independent: Any, total_variation: bool, weight: Any
) -> tuple[int, ...]:
    """Orders of processes with a corner frequency to try; none if differences are asked for."""
    if order == 0 and independent == NONE:
        raise InputError("order: expected 1, 2 or 3 for independent='none', got 0")
    if weight is not None and (order == 3 or independent == NONE):
        raise InputError(
            "weight: applies to differences, not to processes with a corner frequency (order 3, or "
            "independent='none'), whose scales are estimated; omit one of them"
        )
    if order == 3 and independent not in (None, LINKS, NONE):
        raise InputError(
            "order: 3 is for processes with a corner frequency; expected independent to be 'links' "
            f"or 'none', got {independent!r:.40}"
        )
    if total_variation or weight is not None or independent in (JOINTS, ACCELERATIONS):
        return ()
    if order is None:
        return (1, 2, 3)
    return (int(order),) if order == 3 or independent == NONE else ()


def requested_processes(order: Any, independent: Any) -> tuple[str, ...]:
    """Kinds of processes with a corner frequency that are asked for."""
    if independent == NONE or order == 3:
        return (NONE, LINKS) if independent is None else (str(independent),)
    return ()


def kinds_of(independent: Any, total_variation: bool, weight: Any) -> tuple[str, ...]:
    """What to take as changing independently in differences: torques if these switch or sizes are
    given."""
    torques = (JOINTS, LINKS)
    if independent is None:
        return torques if total_variation or weight is not None else (*torques, ACCELERATIONS)
    if not isinstance(independent, str) or independent not in INDEPENDENT:
        raise unknown_name("independent", independent, INDEPENDENT)
    if total_variation and independent not in torques:
        raise InputError(
            f"total_variation: applies to torques, not accelerations; expected independent to be "
            f"{JOINTS!r} or {LINKS!r}, got {independent!r}"
        )
    return (ACCELERATIONS if independent == NONE else str(independent),)


def grid_of(model: Model, t: Floats, step: float | None) -> Grid:
    """Equal intervals over the recording."""
    wanted = positive("step", step) or usual_interval(t)
    length = float(t[-1] - t[0])
    count = round(min(length / wanted, 1e18))
    if step is None and count > MOST_EMPTY * len(t):
        gap = int(np.argmax(np.diff(t)))
        raise InputError(
            f"no samples from {t[gap]:.6g} to {t[gap + 1]:.6g} s, although the usual step "
            f"is {wanted:.3g} s; split the recording there, or give a step"
        )
    if count > MOST_INTERVALS:
        raise InputError(
            f"a step of {wanted:.3g} s gives {length / wanted:.3g} intervals; expected at most "
            f"{MOST_INTERVALS}: use a longer step"
        )
    if count < LEAST_INTERVALS:
        raise InputError(
            f"a step of {wanted:.3g} s gives {count} intervals in {length:.3g} s; expected at "
            f"least {LEAST_INTERVALS}: use a shorter step or a longer recording"
        )
    return Grid(float(t[0]), length / count, count, model.n)


def pose_of(model: Model, guess: Mapping[str, float] | None) -> Floats | None:
    """A pose from joint names, zero where none is given."""
    if guess is None:
        return None
    if not isinstance(guess, Mapping):
        raise InputError(f"guess: expected a mapping, joint -> rad or m, got {guess!r:.60}")
    pose = np.zeros(model.n)
    for name, value in guess.items():
        joint = model.joint_index(name)
        pose[joint] = _finite(f"guess of joint {name}", value)
        if abs(pose[joint]) > FARTHEST:
            raise InputError(
                f"guess of joint {name}: expected at most {FARTHEST:g} rad or m, got {value:.3g}"
            )
    return pose


def weights_of(
    model: Model, weight: float | Mapping[str, float] | None, unactuated: Iterable[int] = ()
) -> Floats | None:
    """Given scales (n,), NaN where they are to be estimated."""
    if weight is None:
        return None
    if not isinstance(weight, Mapping):
        return np.full(model.n, _level("weight", weight, "N m or N"))
    given = np.full(model.n, np.nan)
    for name, value in weight.items():
        joint = model.joint_index(name)
        if joint in unactuated:
            raise InputError(
                f"weight of joint {name}: the joint is listed as unactuated, so its torque is "
                "zero; remove one of the two"
            )
        given[joint] = _level(f"weight of joint {name}", value, "N m or N")
    return given


def known_noise(matched: Matched, noise: float | Mapping[str, float] | None) -> Floats:
    """Given noise levels in the order of what was observed, NaN where they are to be estimated."""
    names = [x.name for x in matched.observed]
    known = np.full(len(names), np.nan)
    if noise is None:
        return known
    if not isinstance(noise, Mapping):
        known[:] = _level("noise", noise, "rad or m")
    else:
        for name, value in noise.items():
            if name not in names:
                raise unknown_name("joint or marker in noise", name, names)
            known[names.index(name)] = _level(f"noise of {name}", value, "rad or m")
    _, likely, _ = noise_range(matched)
    for name, given, about in zip(names, known, likely, strict=True):
        if not np.isnan(given) and not about / PLAUSIBLE < given < about * PLAUSIBLE:
            raise InputError(
                f"noise of {name}: {given:.3g} is implausible: the noise between neighbouring "
                f"samples is about {about:.2g} rad or m; give that, or omit this option"
            )
    return known


def noise_range(matched: Matched) -> tuple[Floats, Floats, Floats]:
    """Least, likely and largest noise of what was observed.

    The likely one comes from third differences, which a slow motion hardly has. What was seen a few
    times only is taken to be like the others of its kind.
    """
    span, likely, known = [], [], []
    for x in matched.observed:
        t = matched.t[x.samples]
        parts = [(t, x.measured)]
        if isinstance(x, Marker):
            parts = [(t[x.axis == axis], x.measured[x.axis == axis]) for axis in range(3)]
        span.append(max(float(np.ptp(values)) for _, values in parts if len(values)))
        likely.append(roughness(*parts))
        known.append(max(len(values) for _, values in parts) >= FEW)
    on_marker = np.array([isinstance(x, Marker) for x in matched.observed])
    for kind in (False, True):
        alike = (on_marker == kind) & known
        for k in np.flatnonzero((on_marker == kind) & ~np.array(known)):
            span[k] = max(span[k], float(np.median(np.array(span)[alike])) if alike.any() else 1.0)
            likely[k] = float(np.median(np.array(likely)[alike])) if alike.any() else UNKNOWN
    size = np.maximum(span, 1e-6)
    return LEAST_NOISE * size, np.clip(likely, 1e-5 * size, size), MOST_NOISE * size


def usual_size(values: Floats) -> Floats:
    """Sizes (n,) of torques or accelerations (K, n), roughly: none far below the others."""
    size = np.sqrt(np.mean(values**2, axis=0))
    return np.asarray(np.maximum(size, max(1e-3 * float(size.max()), 1e-9)))


def _level(what: str, value: Any, unit: str) -> float:
    """A given weight or noise, one that can be squared."""
    level = positive(what, value)
    if level is None or not SMALLEST < level < LARGEST:
        raise InputError(
            f"{what}: expected a size in {unit} between {SMALLEST:g} and {LARGEST:g}, got {value!r}"
        )
    return level


def _finite(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected a number, got {value!r:.60}") from None
    if not math.isfinite(number):
        raise InputError(f"{what}: expected a finite number, got {value!r}")
    return number

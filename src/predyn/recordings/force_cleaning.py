"""Forces as an estimate needs them: on the clock of the motion, without offset, noise or idle load.

In this order: the baseline is subtracted, the forces are low-passed, loads below the threshold
become zero, and the times are shifted. Force and moment about a fixed point are filtered, never the
centre of pressure, which is undefined while nothing touches the plate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predyn.errors import InputError
from predyn.recordings.columns import IDLE, Bools, Recording, hold_points
from predyn.recordings.editing import check_number
from predyn.recordings.low_pass import butterworth
from predyn.recordings.measurements import MeasuredForce
from predyn.recordings.text import Floats

AUTO = "auto"
NOTICED = 4.0  # N, an offset that is reported
FEWEST, LEAST = 5, 0.1  # idle samples needed to find an offset; of all samples, to report it
STEADY = 3.0  # times its spread
SLOWEST = 0.1  # periods within the recording: a slower filter says nothing about it


@dataclass(frozen=True)
class ForceCleaning:
    """What to do with the forces of a file; None: nothing."""

    shift: float | None = None  # s, added to the times of forces
    baseline: str | tuple[float, float] | None = None  # "auto", or s from and to
    cutoff: float | None = None  # Hz
    threshold: float | None = None  # N

    def __post_init__(self) -> None:
        check_number("force_shift", self.shift, 0.0)
        for what, value in (("force_cutoff", self.cutoff), ("force_threshold", self.threshold)):
            if not check_number(what, value, 1.0) > 0.0:
                raise InputError(f"{what}: expected a number above 0, got {value!r}")
        if self.baseline is None or (isinstance(self.baseline, str) and self.baseline == AUTO):
            return
        if not isinstance(self.baseline, tuple | list) or len(self.baseline) != 2:
            raise InputError(
                f"force_baseline: expected {AUTO!r}, or the start and end of a time without load "
                f"in s, got {self.baseline!r:.60}"
            )
        low, high = (check_number("force_baseline", x, 0.0) for x in self.baseline)
        if not low < high:
            raise InputError(f"force_baseline: expected start before end, got {low:g}, {high:g} s")

    def any(self) -> bool:
        return (self.shift, self.baseline, self.cutoff, self.threshold) != (None,) * 4


def clean_forces(recording: Recording, options: ForceCleaning) -> None:
    """Apply the options to every force, with notes; warn of an offset that is left in."""
    if options.any() and not recording.forces:
        raise InputError("force options were given, but the file contains no forces")
    for name, force in recording.forces.items():
        notes: list[str] = []
        if options.baseline is not None:
            force = _subtract_baseline(name, force, options.baseline, recording.baseline, notes)
        elif warning := _describe_offset(name, force):
            recording.warnings.append(warning)
        if options.cutoff is not None:
            force = _low_pass(name, force, options.cutoff, notes)
        if options.threshold is not None:
            force = _drop_small(force, options.threshold, notes)
        if options.shift:
            force = replace(force, t=force.t + options.shift)
            notes.append(f"times shifted by {options.shift:g} s")
        recording.forces[name] = force
        if notes:
            recording.notes.append(f"force {name!r}: {'; '.join(notes)}")


def find_idle(force: MeasuredForce) -> Bools:
    """Samples without load: less than 5 % of the largest force."""
    size = np.linalg.norm(force.force, axis=1)
    idle: Bools = size < IDLE * size.max(initial=0.0)
    return idle


def _describe_offset(name: str, force: MeasuredForce) -> str:
    idle = find_idle(force)
    if idle.sum() < max(FEWEST, LEAST * len(idle)):
        return ""
    offset = np.median(force.force[idle], axis=0)
    spread = np.median(np.linalg.norm(force.force[idle] - offset, axis=1))
    if not np.linalg.norm(offset) > max(NOTICED, STEADY * float(spread)):
        return ""  # none, or a load that comes and goes
    return (
        f"force {name!r}: {np.linalg.norm(offset):.3g} N while nothing touches it "
        f"(median of {int(idle.sum())} samples below 5 % of its largest force); to subtract this "
        "offset: force_baseline='auto', or --force-baseline auto"
    )


def _subtract_baseline(
    name: str,
    force: MeasuredForce,
    baseline: str | tuple[float, float],
    stated: tuple[float, float] | None,
    notes: list[str],
) -> MeasuredForce:
    """Less the mean force and moment of a time without load."""
    idle = find_idle(force)
    if isinstance(baseline, str):
        named = np.zeros(len(idle), bool)
        if stated is not None:
            named = (force.t >= stated[0]) & (force.t < stated[1])
        rows = named if named.any() and idle[named].all() else idle
        if rows.sum() < FEWEST:
            notes.append("no baseline subtracted: it is never without load")
            return force
    else:
        rows = (force.t >= baseline[0]) & (force.t <= baseline[1])
        if not rows.any():
            raise InputError(
                f"force_baseline: force {name!r} has no samples from {baseline[0]:g} to "
                f"{baseline[1]:g} s; it was recorded from {force.t[0]:.6g} to {force.t[-1]:.6g} s"
            )
        if not idle[rows].all() and np.linalg.norm(force.force, axis=1).max() > NOTICED / IDLE:
            raise InputError(
                f"force_baseline: force {name!r} is loaded between {baseline[0]:g} and "
                f"{baseline[1]:g} s (up to {np.linalg.norm(force.force[rows], axis=1).max():.3g} "
                "N); give a time when nothing touches it"
            )
    centre = _find_centre(force)
    about = force.moment + np.cross(force.point - centre, force.force)
    offset = force.force[rows].mean(axis=0)
    left, turning = force.force - offset, about - about[rows].mean(axis=0)
    notes.append(f"baseline of {np.linalg.norm(offset):.3g} N subtracted")
    return replace(force, force=left, moment=turning - np.cross(force.point - centre, left))


def _find_centre(force: MeasuredForce) -> Floats:
    """A fixed point near the loads: the mean point of application, weighted by the force."""
    size = np.linalg.norm(force.force, axis=1)
    total = float(size.sum())
    centre: Floats = size @ force.point / total if total > 0.0 else force.point[0]
    return centre


def _low_pass(name: str, force: MeasuredForce, cutoff: float, notes: list[str]) -> MeasuredForce:
    """Low-pass of the force and of its moment about a fixed point."""
    count = len(force.t)
    if count < 2:
        raise InputError(f"force_cutoff: force {name!r} has 1 sample; omit force_cutoff")
    rate = (count - 1) / float(force.t[-1] - force.t[0])
    slowest = SLOWEST / float(force.t[-1] - force.t[0])
    if cutoff < slowest:
        raise InputError(
            f"force_cutoff: expected at least {slowest:.4g} Hz, as force {name!r} lasts "
            f"{force.t[-1] - force.t[0]:.4g} s; got {cutoff:g} Hz"
        )
    if not cutoff < 0.49 * rate:
        raise InputError(
            f"force_cutoff: expected less than {0.49 * rate:.4g} Hz, as force {name!r} has "
            f"{rate:.6g} samples per second; got {cutoff:g} Hz"
        )
    if count > 2 and np.abs(np.diff(force.t) * rate - 1.0).max() > 0.01:
        raise InputError(
            f"force_cutoff: the samples of force {name!r} are not evenly spaced; filter them first"
        )
    centre = _find_centre(force)
    about = force.moment + np.cross(force.point - centre, force.force)
    smooth, turning = (butterworth(force.t, x, cutoff) for x in (force.force, about))
    point = hold_points(force.point, ~find_idle(force))
    notes.append(f"low-passed at {cutoff:g} Hz")
    return replace(
        force, force=smooth, point=point, moment=turning - np.cross(point - centre, smooth)
    )


def _drop_small(force: MeasuredForce, threshold: float, notes: list[str]) -> MeasuredForce:
    """Zero force and moment where the force is below the threshold."""
    loaded = np.linalg.norm(force.force, axis=1) >= threshold
    keep = loaded[:, None]
    notes.append(f"zero in {int((~loaded).sum())} samples below {threshold:g} N")
    return replace(
        force,
        force=np.where(keep, force.force, 0.0),
        point=hold_points(force.point, loaded),
        moment=np.where(keep, force.moment, 0.0),
    )

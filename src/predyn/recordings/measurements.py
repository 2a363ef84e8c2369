"""Measurements of a motion over time: joint angles, markers and forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError

Floats = NDArray[np.float64]

LARGEST = 1e9  # a larger number is a wrong unit or a code for "missing"
MOST_PROBLEMS = 12
AXES = "xyz"


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredForce:
    """A force that the surroundings exert on a link, as a force plate reports it; world axes.

    Only force and moment together matter: any point may replace the centre of pressure if `moment`
    is about that point. Measurements checks the numbers.
    """

    t: Floats  # (P,) s
    force: Floats  # (P, 3) N
    point: Floats  # (P, 3) m, centre of pressure
    moment: Floats  # (P, 3) N m about that point

    def __post_init__(self) -> None:
        for name in ("t", "force", "point", "moment"):
            object.__setattr__(
                self, name, _copy_numbers(f"MeasuredForce.{name}", getattr(self, name))
            )

    def __repr__(self) -> str:
        return f"MeasuredForce({len(self.t)} samples)"


@dataclass(frozen=True, eq=False, repr=False)
class Measurements:
    """A recording: times, joint angles, markers and forces; NaN = missing.

    All arrays become read-only copies. Raises an InputError that lists problems by name and row
    (rows count from 0): times that do not increase, wrong shapes, numbers that are infinite or
    larger than 1e9, no sample, gaps in a force, a name that a joint and a marker
    share. A channel may be missing throughout.

    Each force has its own times. To add the forces of another file:
    `dataclasses.replace(motion, forces=plates.forces)`.
    """

    t: Floats  # (M,) s, strictly increasing
    angles: Mapping[str, Floats] = field(default_factory=dict)  # joint: (M,) rad, or m for slides
    markers: Mapping[str, Floats] = field(default_factory=dict)  # marker: (M, 3) m, world axes
    forces: Mapping[str, MeasuredForce] = field(default_factory=dict)
    source: str = ""  # path of the file
    notes: tuple[str, ...] = ()  # what a reader assumed, rotated or skipped
    units: Mapping[str, str] = field(default_factory=dict)  # joint: "rad" or "m", if a file said so

    def __post_init__(self) -> None:
        problems: list[str] = []
        t = _copy_numbers("t", self.t)
        object.__setattr__(self, "t", t)
        problems += _find_time_problems("t", t)
        for kind, what, tail in (("angles", "angle", ()), ("markers", "marker", (3,))):
            channels = {
                name: _copy_numbers(f"{what} {name!r}", values)
                for name, values in _check_names(kind, getattr(self, kind)).items()
            }
            object.__setattr__(self, kind, channels)
            for name, values in channels.items():
                problems += _find_problems(f"{what} {name!r}", values, (t.size, *tail), gaps=True)
        object.__setattr__(self, "units", _check_names("units", self.units))
        forces = _check_names("forces", self.forces)
        object.__setattr__(self, "forces", forces)
        for name, force in forces.items():
            if not isinstance(force, MeasuredForce):
                problems.append(f"force {name!r}: expected a MeasuredForce, got {force!r:.40}")
            else:
                problems += _find_force_problems(name, force)
        for name in sorted(self.angles.keys() & self.markers.keys()):
            problems.append(f"{name!r} is the name of an angle and of a marker: names must differ")
        if not self.angles and not self.markers and not self.forces:
            problems.append("expected at least one angle, marker or force, got none")
        object.__setattr__(self, "notes", tuple(map(str, self.notes)))
        if problems:
            more = len(problems) - MOST_PROBLEMS
            shown = problems[:MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
            raise InputError("measurements: " + "; ".join(shown))

    def __repr__(self) -> str:
        where = f" from {self.source!r}" if self.source else ""
        return (
            f"Measurements({len(self.t)} samples in {self.t[-1] - self.t[0]:.6g} s, "
            f"{len(self.angles)} angles, {len(self.markers)} markers, "
            f"{len(self.forces)} forces{where})"
        )


def _copy_numbers(what: str, given: object) -> Floats:
    """A read-only float64 copy."""
    try:
        kind = np.asarray(given).dtype.kind
        if kind not in "fiub":
            raise TypeError
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected an array of numbers, got {given!r:.60}") from None
    array.flags.writeable = False
    return array


def _check_names(kind: str, given: object) -> dict[str, object]:
    if not isinstance(given, Mapping):
        raise InputError(f"{kind}: expected a mapping from names, got {type(given).__name__}")
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{kind}: expected names (str, not empty), got {name!r:.60}")
    return dict(given)


def _find_time_problems(what: str, t: Floats) -> list[str]:
    if t.ndim != 1:
        return [f"{what}: expected times of shape (M,), got shape {t.shape}"]
    if not len(t):
        return [f"{what}: expected at least 1 sample, got none"]
    if found := _find_problems(what, t, t.shape, gaps=False):
        return found
    wrong = np.flatnonzero(np.diff(t) <= 0.0)
    if not len(wrong):
        return []
    k = int(wrong[0])
    does = "repeats" if t[k + 1] == t[k] else "goes backwards"
    more = f" ({len(wrong)} such rows)" if len(wrong) > 1 else ""
    return [f"{what}: row {k + 1} {does}: {t[k + 1]:.9g} s after {t[k]:.9g} s{more}; "
            "expected times that increase"]  # fmt: skip


def _find_problems(what: str, values: Floats, shape: tuple[int, ...], gaps: bool) -> list[str]:
    """Wrong shape, and the first number that is NaN (without `gaps`), infinite or too large."""
    if values.shape != shape:
        return [f"{what}: expected shape {shape}, got {values.shape}"]
    bad = ~(np.abs(values) <= LARGEST)
    if gaps:
        bad &= ~np.isnan(values)
    if not bad.any():
        return []
    at = tuple(int(k) for k in np.argwhere(bad)[0])
    place = f"row {at[0]}" + (f", {AXES[at[1]]}" if len(at) > 1 else "")
    got = values[at]
    if np.isnan(got):
        return [f"{what}, {place}: missing (NaN); gaps are not allowed here: fill them or "
                "remove the rows"]  # fmt: skip
    return [f"{what}, {place}: {got:g} is too large (at most {LARGEST:g}); NaN means missing"
            + ("; subtract the first time" if what == "t" else "")]  # fmt: skip


def _find_force_problems(name: str, force: MeasuredForce) -> list[str]:
    what = f"force {name!r}"
    problems = _find_time_problems(f"{what}, t", force.t)
    shape = (force.t.size, 3)
    problems += _find_problems(what, force.force, shape, gaps=False)
    problems += _find_problems(f"{what}, point", force.point, shape, gaps=False)
    problems += _find_problems(f"{what}, moment", force.moment, shape, gaps=False)
    return problems

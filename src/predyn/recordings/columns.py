"""Channels of recordings: units to SI, forces without gaps, axes of the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.recordings.measurements import AXES, MeasuredForce, Measurements
from predyn.recordings.text import Floats, Table, fail

Bools = NDArray[np.bool_]


class Unit(NamedTuple):
    """What a unit measures and how many SI units it is."""

    kind: str
    factor: float


ANGLE, LENGTH, TIME, FORCE, MOMENT, RATE = "angle", "length", "time", "force", "moment", "rate"
DEGREE = np.pi / 180.0
UNITS = {
    "rad": Unit(ANGLE, 1.0),
    "deg": Unit(ANGLE, DEGREE),
    "degree": Unit(ANGLE, DEGREE),
    "degrees": Unit(ANGLE, DEGREE),
    "°": Unit(ANGLE, DEGREE),
    "m": Unit(LENGTH, 1.0),
    "cm": Unit(LENGTH, 1e-2),
    "mm": Unit(LENGTH, 1e-3),
    "s": Unit(TIME, 1.0),
    "ms": Unit(TIME, 1e-3),
    "N": Unit(FORCE, 1.0),
    "kN": Unit(FORCE, 1e3),
    "N m": Unit(MOMENT, 1.0),
    "Nm": Unit(MOMENT, 1.0),
    "N mm": Unit(MOMENT, 1e-3),
    "Nmm": Unit(MOMENT, 1e-3),
}
WORDS = {
    ("meter", "meters", "metre", "metres", "mete", "metr"): "m",  # some formats cut words off
    ("centimeter", "centimeters", "centimetre", "centimetres"): "cm",
    ("millimeter", "millimeters", "millimetre", "millimetres", "mill"): "mm",
    ("radian", "radians"): "rad",
    ("second", "seconds", "sec"): "s",
    ("newton", "newtons"): "N",
    ("n.m", "n-m", "newton meters", "newton metres", "newton-meters"): "N m",
    ("n.mm", "n-mm"): "N mm",
}
SPELLINGS = {word: unit for words, unit in WORDS.items() for word in words}
TRANSLATION = re.compile(r".*_t[xyz]", re.IGNORECASE)  # names of coordinates that slide
UNITS |= {
    f"{unit}/{per}": Unit(RATE, 1.0)
    for unit in ("rad", "deg", "degree", "degrees", "°", "m", "mm", "cm")
    for per in ("s", "s^2", "s2", "s²")
}
UNITS |= {unit: Unit(RATE, 1.0) for unit in ("W", "kW", "J")}  # known, but skipped
VALID_UNITS = "s, ms, rad, deg, m, cm, mm, N, kN, N m, N mm"
IDLE = 0.05  # of the largest force: less is an empty plate
SI = {ANGLE: "rad", LENGTH: "m", FORCE: "N", MOMENT: "N m", TIME: "s"}


def find_unit(name: str, kind: str) -> Unit | None:
    """The unit of this name if it measures `kind`; capitals do not matter."""
    name = " ".join(name.replace("·", " ").replace("*", " ").split())
    name = SPELLINGS.get(name.lower(), name)
    unit = UNITS.get(name) or {known.lower(): x for known, x in UNITS.items()}.get(name.lower())
    return unit if unit is not None and unit.kind == kind else None


class Given:
    """The units that a user states in place of the file, one for each kind of quantity."""

    def __init__(self, units: object = None) -> None:
        given = (units,) if isinstance(units, str) else () if units is None else units
        texts = [x for x in given if isinstance(x, str)] if isinstance(given, Iterable) else []
        if not isinstance(given, Iterable) or len(texts) < len(list(given)):
            raise InputError(f"units: expected one or several of {VALID_UNITS}, got {units!r:.60}")
        self.names: dict[str, str] = {}  # by kind
        for text in texts:
            unit = next((x for kind in SI if (x := find_unit(text, kind))), None)
            if unit is None:
                raise InputError(f"units: unknown unit {text!r:.40}; valid units: {VALID_UNITS}")
            if unit.kind in self.names:
                raise InputError(
                    f"units: expected one unit of {unit.kind}, got {self.names[unit.kind]!r} and "
                    f"{text!r:.40}"
                )
            self.names[unit.kind] = next(name for name, x in UNITS.items() if x == unit)

    def factor(self, kind: str) -> float | None:
        """SI units per stated unit, None if none is stated."""
        unit = find_unit(self.names[kind], kind) if kind in self.names else None
        return None if unit is None else unit.factor

    def choose(self, kind: str, stated: str, notes: list[str]) -> Unit | None:
        """The user's unit, else that of the file; None if neither is known."""
        found = find_unit(stated, kind)
        if kind not in self.names:
            return found
        chosen = find_unit(self.names[kind], kind)
        if found is None or found != chosen:
            instead = f" instead of {stated!r:.40}" if stated else ""
            notes.append(f"unit of {kind} as given: {self.names[kind]}{instead}")
        return chosen


@dataclass(eq=False)
class Recording:
    """The contents of a file, in SI units and the axes of the file."""

    path: str
    t: Floats
    angles: dict[str, Floats] = field(default_factory=dict)
    markers: dict[str, Floats] = field(default_factory=dict)
    forces: dict[str, MeasuredForce] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)  # by joint, where the file states them
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    baseline: tuple[float, float] | None = None  # s, when the file says that plates are unloaded

    def finish(self, axes: str) -> Measurements:
        """The measurements, in the axes of the model."""
        order, signs = read_axes(axes)
        notes = list(self.notes)
        if axes != AXES:
            notes.append(f"axes rotated: x, y, z of the model are {axes!r} of the file")

        def rotate(x: Floats) -> Floats:
            return x[:, order] * signs

        return Measurements(
            self.t,
            self.angles,
            {name: rotate(x) for name, x in self.markers.items()},
            {
                name: MeasuredForce(f.t, rotate(f.force), rotate(f.point), rotate(f.moment))
                for name, f in self.forces.items()
            },
            self.path,
            (*notes, *self.warnings),
            self.units,
        )


def read_axes(axes: object) -> tuple[list[int], Floats]:
    """For each axis of the model, the axis of the file and its sign."""
    parts = re.fullmatch(r"([+-]?[xyz])" * 3, axes) if isinstance(axes, str) else None
    if parts is None or {part[-1] for part in parts.groups()} != set(AXES):
        raise InputError(
            f"axes: expected x, y, z of the file in the order of the model's axes, with '-' before "
            f"a reversed one, such as 'xyz' or 'x-zy', got {axes!r:.40}"
        )
    order = [AXES.index(part[-1]) for part in parts.groups()]
    signs = np.array([-1.0 if part[0] == "-" else 1.0 for part in parts.groups()])
    if np.linalg.det(np.eye(3)[order] * signs[:, None]) < 0.0:
        raise InputError(
            f"axes: {axes!r} mirrors the recording; expected a rotation: reverse one sign, as in "
            "'x-zy' (y up in the file, z up in the model)"
        )
    return order, signs


def list_names(names: list[str]) -> str:
    """A few names for a message."""
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(f"{name!r:.60}" for name in names[:6]) + more


def build_force(
    table: Table, name: str, t: Floats, parts: Mapping[str, Floats], notes: list[str]
) -> MeasuredForce:
    """A force from its parts "f", "p", "m", (M, 3) each.

    Where nothing touches the plate, its point, or force, point and moment, may be missing. Any
    other gap is an error that names the line.
    """
    force, moment, point = (parts[part].copy() for part in "fmp")
    if count := _fill_unloaded(force, moment):
        notes.append(f"force {name!r}: {count} rows without values, before, between or after "
                     "loads; 0 N assumed")  # fmt: skip
    idle = np.isnan(point).any(axis=1) & ~(force != 0.0).any(axis=1) & ~(moment != 0.0).any(axis=1)
    if idle.any():
        point = np.where(idle.all(), 0.0, hold_points(point, ~idle))
        notes.append(f"force {name!r}: {idle.sum()} rows without force have no point of "
                     "application; the nearest known one was used")  # fmt: skip
    for what, values in (("force", force), ("centre of pressure", point), ("moment", moment)):
        if len(gaps := np.argwhere(np.isnan(values))):
            i, j = gaps[0]
            fail(table.path, int(table.lines[i]), f"force {name!r}: {AXES[j]} of its {what} is "
                 "missing; a known force needs every value: fill the gap, or write 0 where no "
                 "force acts")  # fmt: skip
    return MeasuredForce(t, force, point, moment)


def _fill_unloaded(force: Floats, moment: Floats) -> int:
    """Zero rows that lack the whole force, if the force is small on both sides; their number.

    A gap during a load stays: its neighbours carry more than 5 % of the largest force.
    """
    missing = np.isnan(force).all(axis=1)
    if not missing.any():
        return 0
    size = np.linalg.norm(force, axis=1)
    small = ~(size > IDLE * np.nanmax(size, initial=0.0))
    edges = np.flatnonzero(np.diff(np.concatenate(([0], missing.astype(np.int8), [0]))))
    count = 0
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        before, after = max(start - 1, 0), min(end, len(force) - 1)
        if small[before] and small[after]:
            force[start:end] = 0.0
            moment[start:end] = 0.0
            count += int(end - start)
    return count


def hold_points(point: Floats, loaded: Bools) -> Floats:
    """Points of application where there is load; elsewhere the nearest of these in the table.

    A jump to the origin would turn up as a moment when forces are interpolated.
    """
    if loaded.all() or not loaded.any():
        return point
    at = np.flatnonzero(loaded)
    rows = np.arange(len(point))
    right = np.clip(np.searchsorted(at, rows), 0, len(at) - 1)
    left = np.clip(right - 1, 0, None)
    nearer = np.where(np.abs(at[left] - rows) <= np.abs(at[right] - rows), at[left], at[right])
    held: Floats = point[nearer]
    return held

"""Channels of recordings: units to SI, forces without gaps, axes of the model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from predyn.errors import InputError
from predyn.recordings.measurements import AXES, MeasuredForce, Measurements
from predyn.recordings.text import Floats, Table, fail


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
UNITS |= {
    f"{unit}/{per}": Unit(RATE, 1.0)
    for unit in ("rad", "deg", "degree", "degrees", "°", "m", "mm", "cm")
    for per in ("s", "s^2", "s2", "s²")
}
UNITS |= {unit: Unit(RATE, 1.0) for unit in ("W", "kW", "J")}  # known, but skipped
VALID_UNITS = "s, ms, rad, deg, m, cm, mm, N, kN, N m, N mm"
SI = {ANGLE: "rad", LENGTH: "m", FORCE: "N", MOMENT: "N m", TIME: "s"}


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
    """A force from its parts "f", "p", "m", (M, 3) each; an unloaded plate may lack its point.

    Any other gap is an error that names the line.
    """
    force, moment = parts["f"], parts["m"]
    point = parts["p"].copy()
    idle = np.isnan(point).any(axis=1) & ~(force != 0.0).any(axis=1) & ~(moment != 0.0).any(axis=1)
    if idle.any():
        point[idle] = 0.0
        notes.append(f"force {name!r}: {idle.sum()} rows without force have no point of "
                     "application; the origin was used")  # fmt: skip
    for what, values in (("force", force), ("centre of pressure", point), ("moment", moment)):
        if len(gaps := np.argwhere(np.isnan(values))):
            i, j = gaps[0]
            fail(table.path, int(table.lines[i]), f"force {name!r}: {AXES[j]} of its {what} is "
                 "missing; a known force needs every value: fill the gap, or write 0 where no "
                 "force acts")  # fmt: skip
    return MeasuredForce(t, force, point, moment)

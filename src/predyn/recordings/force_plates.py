"""Force plates of C3D files, types 1 to 4: forces on the body, and moments about the plate.

A plate's z axis points down. The point of application is always the middle of its surface, with the
whole moment about it: this is equivalent to the force at the centre of pressure, and it stays
defined while the plate is unloaded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.recordings.c3d_file import C3D
from predyn.recordings.c3d_parameters import Value, find_numbers, join_texts
from predyn.recordings.columns import FORCE, LENGTH, MOMENT, Given, Recording, find_unit
from predyn.recordings.measurements import MeasuredForce
from predyn.recordings.text import Floats

TYPES = {1: 6, 2: 6, 3: 8, 4: 6}  # channels
OTHERS = {  # as the makers of plates defined them later
    5: "eight channels of a plate with corners A to D",
    6: "twelve channels with a 12 x 12 calibration matrix",
    7: "eight channels with an 8 x 8 calibration matrix",
    11: "a split-belt treadmill",
    12: "a split-belt treadmill",
    21: "instrumented stairs",
}


def take_plates(file: C3D, unit: float, given: Given, result: Recording) -> None:
    """Add the forces `plate1`, `plate2`, ...; `unit` is the length unit of the file in m."""
    group = file.parameters.get("FORCE_PLATFORM", {})
    used = find_numbers(group, "USED")
    if used is None or not 0.0 < used.flat[0] < 100.0:
        return
    _note_zero(file, group, result)
    for k in range(int(used.flat[0])):
        name = f"plate{k + 1}"
        try:
            force, moment, centre = _read_plate(_Plate(file, k, unit, given), result)
        except InputError as error:
            result.warnings.append(f"force plate {k + 1} skipped: {error}")
            continue
        t = (file.first - 1) / file.rate + np.arange(len(force)) / (file.rate * file.per_frame)
        result.forces[name] = MeasuredForce(t, force, np.tile(centre, (len(force), 1)), moment)
        result.notes.append(f"force {name!r} acts at the middle of the plate, with the moment "
                            "about it")  # fmt: skip


def _note_zero(file: C3D, group: dict[str, Value], result: Recording) -> None:
    """FORCE_PLATFORM:ZERO: the first and last frame of a time without load."""
    zero = find_numbers(group, "ZERO")
    if zero is None or zero.size < 2 or not 0.0 < zero.flat[0] < zero.flat[1] <= len(file.points):
        return
    low, high = zero.flat[0] - 1.0, float(zero.flat[1])
    result.baseline = (low + file.first - 1) / file.rate, (high + file.first - 1) / file.rate
    result.notes.append(f"FORCE_PLATFORM:ZERO: plates are without load from {result.baseline[0]:g} "
                        f"to {result.baseline[1]:g} s; force_baseline='auto' subtracts the mean of "
                        "that time")  # fmt: skip


class _Plate(NamedTuple):
    """Plate k of a file."""

    file: C3D
    k: int
    unit: float  # of lengths, m
    given: Given

    def part(self, name: str, ndim: int, shape: tuple[int, ...]) -> Floats:
        return _find_part(self.file.parameters["FORCE_PLATFORM"], name, self.k, ndim, shape)

    def scale(self, channel: int, kind: str, default: float) -> float:
        """SI units per unit of a channel; the default if neither user nor file states the unit."""
        if kind != LENGTH and (factor := self.given.factor(kind)) is not None:
            return factor
        unit = find_unit(self.stated(channel), kind)
        return default if unit is None else unit.factor

    def stated(self, channel: int) -> str:
        """The unit of a channel as written in the file."""
        units = join_texts(self.file.parameters.get("ANALOG", {}), "UNITS")
        return units[channel] if channel < len(units) else ""


def _read_plate(plate: _Plate, result: Recording) -> tuple[Floats, Floats, Floats]:
    """Force and moment (N, 3) on the body in the axes of the file, and the middle of the plate."""
    number = plate.k + 1
    kind = int(plate.part("TYPE", 1, ()))
    if kind not in TYPES:
        what = f" ({OTHERS[kind]})" if kind in OTHERS else ""
        raise InputError(
            f"type {kind}{what} is not supported; expected one of {', '.join(map(str, TYPES))}; "
            "export its forces and moments as type 2"
        )
    channels = plate.part("CHANNEL", 2, (TYPES[kind],)).astype(np.int64) - 1
    count = plate.file.analog.shape[1]
    if channels.min() < 0 or channels.max() >= count:
        raise InputError(f"channels {(channels + 1).tolist()}; the file has {count}")
    samples = plate.file.analog[:, channels]
    if not (np.abs(samples) < 1e12).all():
        raise InputError("its samples are not finite numbers")
    corners = plate.part("CORNERS", 3, (3, 4)).T * plate.unit
    R = _find_axes(corners)
    centre = corners.mean(axis=0)
    origin = plate.part("ORIGIN", 2, (3,)) * plate.unit
    force, moment = _compute_wrench(plate, kind, samples, channels, origin)
    if kind != 4 and (stated := plate.stated(channels[0])) and not find_unit(stated, FORCE):
        result.warnings.append(f"force plate {number}: its channels are in {stated!r:.40}; N "
                               "assumed; are FORCE_PLATFORM:CHANNEL and TYPE right?")  # fmt: skip
    offset = {1: np.zeros(3), 3: np.array([0.0, 0.0, origin[2]])}.get(kind, origin)
    if offset[2] > 0.0:
        offset = -offset
        result.notes.append(f"force plate {number}: sign of ORIGIN reversed, so that it is below "
                            "the surface")  # fmt: skip
    moment = moment + np.cross(force, offset)
    force, moment = force @ R.T, moment @ R.T
    up = -R[:, 2]
    positions = [x for x in result.markers.values() if not np.isnan(x).all()]
    if positions:
        middle = np.nanmedian(np.concatenate(positions), axis=0)
        up = np.copysign(1.0, (middle - centre) @ up) * up
    load = np.linalg.norm(force, axis=1) @ force  # large forces count more than an offset
    if load @ up < 0.0:
        force, moment = -force, -moment
        result.notes.append(f"force plate {number} reports the force on the plate: sign reversed")
    return force, moment, centre


def _compute_wrench(
    plate: _Plate, kind: int, samples: Floats, channels: NDArray[np.int64], origin: Floats
) -> tuple[Floats, Floats]:
    """Force and moment about the origin of the plate, in its axes (type 1: about its middle)."""
    newtons = plate.scale(channels[0], FORCE, 1.0)
    if kind == 1:  # the centre of pressure, and the moment about the vertical through it
        force = samples[:, :3] * newtons
        point = np.zeros_like(force)
        point[:, :2] = samples[:, 3:5] * plate.scale(channels[3], LENGTH, plate.unit)
        moment = np.cross(point, force)
        moment[:, 2] += samples[:, 5] * plate.scale(channels[5], MOMENT, plate.unit)
        return force, moment
    if kind == 3:
        a, b = np.abs(origin[:2])
        x12, x34, y14, y23, z1, z2, z3, z4 = samples.T * newtons
        force = np.column_stack((x12 + x34, y14 + y23, z1 + z2 + z3 + z4))
        parts = (
            b * (z1 + z2 - z3 - z4),
            a * (z2 + z3 - z1 - z4),
            b * (x34 - x12) + a * (y14 - y23),
        )
        return force, np.column_stack(parts)
    if kind == 4:
        samples = np.asarray(samples @ plate.part("CAL_MATRIX", 3, (6, 6)).T)
        return samples[:, :3], samples[:, 3:] * plate.unit
    return samples[:, :3] * newtons, samples[:, 3:] * plate.scale(channels[3], MOMENT, plate.unit)


def _find_part(
    group: dict[str, Value], name: str, k: int, ndim: int, shape: tuple[int, ...]
) -> Floats:
    """The part of a parameter that belongs to plate k; its last index counts plates."""
    value = find_numbers(group, name)
    if value is not None and ndim == 1:
        value = value.ravel()  # some files have a second dimension of 1
    elif value is not None and value.ndim == ndim - 1:
        value = value[..., None]
    if value is None or value.ndim != ndim or k >= value.shape[-1]:
        raise InputError(f"FORCE_PLATFORM:{name} is missing")
    part: Floats = value[..., k]
    if len(part.shape) != len(shape) or any(p < s for p, s in zip(part.shape, shape, strict=True)):
        raise InputError(f"FORCE_PLATFORM:{name} has the shape {part.shape}, expected {shape}")
    part = part[tuple(slice(size) for size in shape)]
    if not (np.abs(part) < 1e9).all():
        raise InputError(f"FORCE_PLATFORM:{name} is not finite")
    return part


def _find_axes(corners: Floats) -> Floats:
    """Axes of the plate as columns; corners are in its quadrants ++, -+, --, +-."""
    x = corners[0] - corners[1] + corners[3] - corners[2]
    y = corners[0] - corners[3] + corners[1] - corners[2]
    z = np.cross(x, y)
    if not np.linalg.norm(z) > 1e-6:  # of 4 m2: no area
        raise InputError("its corners lie on a line")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    return np.column_stack((x, np.cross(z, x), z))

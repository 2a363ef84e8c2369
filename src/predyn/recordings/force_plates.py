"""Force plates of C3D files, types 2, 3 and 4: forces on the body, and moments about the plate.

A plate's z axis points down. The point of application is always the middle of its surface, with the
whole moment about it: this is equivalent to the force at the centre of pressure, and it stays
defined while the plate is unloaded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.recordings.c3d_file import C3D, Value, find_numbers, join_texts
from predyn.recordings.columns import FORCE, MOMENT, UNITS, Recording
from predyn.recordings.measurements import MeasuredForce
from predyn.recordings.text import Floats

TYPES = {2: 6, 3: 8, 4: 6}  # channels


def take_plates(file: C3D, unit: float, result: Recording) -> None:
    """Add the forces `plate1`, `plate2`, ...; `unit` is the length unit of the file in m."""
    group = file.parameters.get("FORCE_PLATFORM", {})
    used = find_numbers(group, "USED")
    if used is None or not 0.0 < used.flat[0] < 100.0:
        return
    for k in range(int(used.flat[0])):
        name = f"plate{k + 1}"
        try:
            force, moment, centre = _read_plate(file, k, unit, result)
        except InputError as error:
            result.warnings.append(f"force plate {k + 1} skipped: {error}")
            continue
        t = (file.first - 1) / file.rate + np.arange(len(force)) / (file.rate * file.per_frame)
        result.forces[name] = MeasuredForce(t, force, np.tile(centre, (len(force), 1)), moment)
        result.notes.append(f"force {name!r} acts at the middle of the plate, with the moment "
                            "about it")  # fmt: skip


def _read_plate(file: C3D, k: int, unit: float, result: Recording) -> tuple[Floats, Floats, Floats]:
    """Force and moment (N, 3) on the body in the axes of the file, and the middle of the plate."""
    group = file.parameters["FORCE_PLATFORM"]
    kind = (
        int(_find_part(group, "TYPE", k, 1, ())) if find_numbers(group, "TYPE") is not None else 0
    )
    if kind not in TYPES:
        raise InputError(f"type {kind}; expected one of {', '.join(map(str, TYPES))}")
    channels = _find_part(group, "CHANNEL", k, 2, (TYPES[kind],)).astype(np.int64) - 1
    if channels.min() < 0 or channels.max() >= file.analog.shape[1]:
        raise InputError(f"channels {(channels + 1).tolist()}; the file has {file.analog.shape[1]}")
    samples = file.analog[:, channels]
    if not (np.abs(samples) < 1e12).all():
        raise InputError("its samples are not finite numbers")
    corners = _find_part(group, "CORNERS", k, 3, (3, 4)).T * unit
    R = _find_axes(corners)
    centre = corners.mean(axis=0)
    origin = _find_part(group, "ORIGIN", k, 2, (3,)) * unit
    force, moment = _compute_wrench(file, k, kind, samples, channels, origin, unit)
    offset = np.array([0.0, 0.0, origin[2]]) if kind == 3 else origin
    if offset[2] > 0.0:
        offset = -offset
        result.notes.append(f"force plate {k + 1}: sign of ORIGIN reversed, so that it is below "
                            "the surface")  # fmt: skip
    moment = moment + np.cross(force, offset)
    force, moment = force @ R.T, moment @ R.T
    up = -R[:, 2]
    positions = [x for x in result.markers.values() if not np.isnan(x).all()]
    if positions:
        middle = np.nanmedian(np.concatenate(positions), axis=0)
        up = np.copysign(1.0, (middle - centre) @ up) * up
    if force.sum(axis=0) @ up < 0.0:
        force, moment = -force, -moment
        result.notes.append(f"force plate {k + 1} reports the force on the plate: sign reversed")
    return force, moment, centre


def _compute_wrench(
    file: C3D,
    k: int,
    kind: int,
    samples: Floats,
    channels: NDArray[np.int64],
    origin: Floats,
    unit: float,
) -> tuple[Floats, Floats]:
    """Force and moment about the origin of the plate, in its axes."""
    if kind == 3:
        a, b = np.abs(origin[:2])
        x12, x34, y14, y23, z1, z2, z3, z4 = samples.T * _find_scale(file, channels[0], FORCE, 1.0)
        force = np.column_stack((x12 + x34, y14 + y23, z1 + z2 + z3 + z4))
        moment = (
            b * (z1 + z2 - z3 - z4),
            a * (z2 + z3 - z1 - z4),
            b * (x34 - x12) + a * (y14 - y23),
        )
        return force, np.column_stack(moment)
    if kind == 4:
        matrix = _find_part(file.parameters["FORCE_PLATFORM"], "CAL_MATRIX", k, 3, (6, 6))
        samples = np.asarray(samples @ matrix.T)
        return samples[:, :3], samples[:, 3:] * unit
    return (
        samples[:, :3] * _find_scale(file, channels[0], FORCE, 1.0),
        samples[:, 3:] * _find_scale(file, channels[3], MOMENT, unit),
    )


def _find_scale(file: C3D, channel: int, kind: str, default: float) -> float:
    """SI units per unit of a channel; the default if the file does not state the unit."""
    units = join_texts(file.parameters.get("ANALOG", {}), "UNITS")
    unit = UNITS.get(units[channel]) if channel < len(units) else None
    return unit.factor if unit is not None and unit.kind == kind else default


def _find_part(
    group: dict[str, Value], name: str, k: int, ndim: int, shape: tuple[int, ...]
) -> Floats:
    """The part of a parameter that belongs to plate k; its last index counts plates."""
    value = find_numbers(group, name)
    if value is not None and value.ndim == ndim - 1:
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

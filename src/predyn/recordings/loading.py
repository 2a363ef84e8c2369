"""Recordings of motions: a CSV, TRC, C3D, MOT or STO file becomes Measurements."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

from predyn.errors import DataWarning, FileError, InputError
from predyn.recordings.c3d import read_c3d
from predyn.recordings.columns import Recording, read_axes
from predyn.recordings.csv_table import read_csv
from predyn.recordings.measurements import AXES, Measurements
from predyn.recordings.opensim import read_storage
from predyn.recordings.trc import read_trc

READERS: dict[str, Callable[[str], Recording]] = {
    ".csv": read_csv,
    ".trc": read_trc,
    ".c3d": read_c3d,
    ".mot": read_storage,
    ".sto": read_storage,
}


def load_measurements(path: str | os.PathLike[str], *, axes: str = AXES) -> Measurements:
    """Read a recording; its suffix says how: .csv, .trc, .c3d, .mot or .sto.

    `axes` says which axes of the file are x, y and z of the model: "x-zy" takes x as it is, y
    from -z and z from y (a laboratory with y up into a world with z up). It turns markers and
    forces. Everything comes in SI units and radians; `notes` of the result says what was
    converted, assumed or left out, and a DataWarning what should be looked at. Raises FileError
    with the line for everything that is wrong with the file.
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(f"expected the path of a file, got {type(path).__name__}") from None
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in READERS:
        raise FileError(f"{name}: expected a file named {', '.join(READERS)}, got {suffix!r:.40}")
    read_axes(axes)
    recording = READERS[suffix](name)
    try:
        result = recording.finish(axes)
    except InputError as error:
        raise FileError(f"{name}: {error}") from None
    for message in recording.warnings:
        warnings.warn(f"{name}: {message}", DataWarning, stacklevel=2)
    return result

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
    """Read a recording; its suffix gives the format: .csv, .trc, .c3d, .mot or .sto.

    `axes` names the axes of the file that are x, y and z of the model: "x-zy" takes x as it is, y
    from -z and z from y (from a laboratory with y up to a world with z up). It rotates markers and
    forces. All values are in SI units and radians; `notes` of the result lists what was converted,
    assumed or skipped, and a DataWarning what needs attention. Raises a FileError that names the
    line of anything wrong in the file.
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

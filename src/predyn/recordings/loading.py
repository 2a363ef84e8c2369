"""Recordings of motions: a CSV, TRC, C3D, MOT or STO file becomes Measurements."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence

from predyn.errors import DataWarning, FileError, InputError
from predyn.recordings.c3d import read_c3d
from predyn.recordings.columns import Given, Recording, read_axes
from predyn.recordings.csv_table import read_csv
from predyn.recordings.editing import rename_channels, trim_recording
from predyn.recordings.force_cleaning import ForceCleaning, clean_forces
from predyn.recordings.measurements import AXES, Measurements
from predyn.recordings.opensim import read_storage
from predyn.recordings.trc import read_trc

READERS: dict[str, Callable[[str, Given], Recording]] = {
    ".csv": read_csv,
    ".trc": read_trc,
    ".c3d": read_c3d,
    ".mot": read_storage,
    ".sto": read_storage,
}


def load_measurements(
    path: str | os.PathLike[str],
    *,
    axes: str = AXES,
    units: str | Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    start: float | None = None,
    end: float | None = None,
    force_shift: float | None = None,
    force_baseline: str | tuple[float, float] | None = None,
    force_cutoff: float | None = None,
    force_threshold: float | None = None,
) -> Measurements:
    """Read a recording; its suffix gives the format: .csv, .trc, .c3d, .mot or .sto.

    axes       axes of the file that are x, y and z of the model: "x-zy" takes x as it is, y from -z
               and z from y (from a laboratory with y up to a world with z up); it rotates markers
               and forces
    units      units of the file where it states none or the wrong ones, one for each kind of
               quantity: "mm", or ("mm", "deg"); in CSV files, of columns without a unit
    rename     old name -> new name of joints, markers and forces; {"Subject:*": "*"} removes a
               prefix
    start, end  s, the part of the recording to use
    force_shift  s, added to the times of forces
    force_baseline  "auto", or (start, end) in s: subtract the mean force and moment of the time
               when nothing touches the plate
    force_cutoff  Hz, of a zero-lag low-pass of forces and moments
    force_threshold  N, below which force and moment count as zero

    All values are in SI units and radians; `notes` of the result lists what was converted, assumed
    or skipped, and a DataWarning what needs attention. Raises a FileError that names the line of
    anything wrong in the file.
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(f"expected the path of a file, got {type(path).__name__}") from None
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in READERS:
        raise FileError(f"{name}: expected a file named {', '.join(READERS)}, got {suffix!r:.40}")
    read_axes(axes)
    cleaning = ForceCleaning(force_shift, force_baseline, force_cutoff, force_threshold)
    recording = READERS[suffix](name, Given(units))
    try:
        clean_forces(recording, cleaning)
        result = rename_channels(recording.finish(axes), rename)
        result = trim_recording(result, start, end)
    except InputError as error:
        raise FileError(f"{name}: {error}") from None
    for message in recording.warnings:
        warnings.warn(f"{name}: {message}", DataWarning, stacklevel=2)
    return result

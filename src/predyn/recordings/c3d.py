"""C3D files: markers and force plates."""

from __future__ import annotations

import numpy as np

from predyn.recordings.c3d_file import (
    C3D,
    LAST_COUNTED,
    find_numbers,
    join_texts,
    read_c3d_file,
    to_unsigned,
)
from predyn.recordings.columns import LENGTH, UNITS, Recording, list_names
from predyn.recordings.force_plates import take_plates
from predyn.recordings.text import LONGEST_NAME, check_times, fail

COMPUTED = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")  # lists of points in POINT


def read_c3d(path: str) -> Recording:
    """Read the markers and force plates of a C3D file; frame 1 is at time 0.

    Points with a negative residual or at exactly (0, 0, 0) are missing. Points without a name, and
    results of other programs that are stored as points, are skipped.
    """
    file = read_c3d_file(path)
    units = join_texts(file.parameters.get("POINT", {}), "UNITS")
    name = units[0] if units else ""
    unit = UNITS.get(name) or UNITS.get(name.lower())
    if unit is None or unit.kind != LENGTH:
        fail(path, None, f"POINT:UNITS: expected m, cm or mm, got {name!r:.40}; set the unit of "
             "the positions when you export the file")  # fmt: skip
    result = Recording(path, (file.first - 1 + np.arange(len(file.points))) / file.rate)
    check_times(path, result.t)
    result.notes.append(f"positions in {name}")
    if file.first + len(file.points) - 1 > LAST_COUNTED:
        result.notes.append(f"{len(file.points)} frames, more than the header can count")
    stored = find_numbers(file.parameters.get("POINT", {}), "FRAMES")
    if (
        stored is not None
        and stored.size == 1
        and 0 < to_unsigned(float(stored.flat[0])) < LAST_COUNTED
    ):
        count = to_unsigned(float(stored.flat[0]))
        if count != len(file.points):
            result.warnings.append(
                f"the header counts {len(file.points)} frames starting with number {file.first}, "
                f"but POINT:FRAMES is {count:g}; the header was used"
            )
    _take_markers(file, unit.factor, result)
    take_plates(file, unit.factor, result)
    if not result.markers and not result.forces:
        fail(path, None, "no readable markers or force plates; expected a recording of a motion")
    return result


def _take_markers(file: C3D, factor: float, result: Recording) -> None:
    point = file.parameters.get("POINT", {})
    labels = join_texts(point, "LABELS")
    computed = {label for group in COMPUTED for label in join_texts(point, group)}
    unnamed = 0
    skipped: list[str] = []
    for k in range(file.points.shape[1]):
        label = labels[k] if k < len(labels) else ""
        if not label or label.startswith("*"):
            unnamed += 1
        elif label in computed:
            skipped.append(label)
        elif len(label) > LONGEST_NAME or not label.isprintable():
            fail(result.path, None, f"POINT:LABELS: expected the name of a marker, got "
                 f"{label!r:.60}; the file is damaged")  # fmt: skip
        elif label in result.markers:
            fail(result.path, None, f"two markers are named {label!r:.60}; rename one")
        else:
            result.markers[label] = file.points[:, k] * factor
    if unnamed:
        result.notes.append(f"skipped: {unnamed} points without a name")
    if skipped:
        result.notes.append(f"skipped, computed by another program: {list_names(skipped)}")

"""C3D files: markers and force plates."""

from __future__ import annotations

import numpy as np

from predyn.recordings.c3d_file import C3D, LAST_COUNTED, read_c3d_file
from predyn.recordings.c3d_parameters import find_numbers, join_texts, to_unsigned
from predyn.recordings.columns import LENGTH, Given, Recording, list_names
from predyn.recordings.force_plates import take_plates
from predyn.recordings.text import LONGEST_NAME, fail, rename_twins

COMPUTED = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")  # lists of points in POINT


def read_c3d(path: str, given: Given) -> Recording:
    """Read the markers and force plates of a C3D file; frame 1 is at time 0.

    Points with a negative residual or at exactly (0, 0, 0) are missing. Points without a name, and
    results of other programs that are stored as points, are skipped.
    """
    file = read_c3d_file(path)
    point = file.parameters.get("POINT", {})
    result = Recording(path, (file.first - 1 + np.arange(len(file.points))) / file.rate)
    result.warnings += file.warnings
    stated = next(iter(join_texts(point, "UNITS")), "")
    unit = given.choose(LENGTH, stated, result.notes)
    plates = find_numbers(file.parameters.get("FORCE_PLATFORM", {}), "USED")
    if unit is None and (file.points.shape[1] or (plates is not None and plates.flat[0] > 0)):
        fail(path, None, f"POINT:UNITS: expected m, cm or mm, got {stated!r:.40}; state the unit "
             "of the positions: units='mm', or --units mm")  # fmt: skip
    factor = 1.0 if unit is None else unit.factor
    if file.points.shape[1] and LENGTH not in given.names:
        result.notes.append(f"positions in {stated}")
    if file.first + len(file.points) - 1 > LAST_COUNTED:
        result.notes.append(f"{len(file.points)} frames, more than the header can count")
    stored = find_numbers(point, "FRAMES")
    if (
        stored is not None
        and stored.size == 1
        and 0 < to_unsigned(float(stored.flat[0])) < LAST_COUNTED
        and not file.warnings
    ):
        count = to_unsigned(float(stored.flat[0]))
        if count != len(file.points):
            result.warnings.append(
                f"the header counts {len(file.points)} frames starting with number {file.first}, "
                f"but POINT:FRAMES is {count:g}; the header was used"
            )
    _take_markers(file, factor, result)
    take_plates(file, factor, given, result)
    if not result.markers and not result.forces:
        fail(path, None, _describe_nothing(file, result))
    return result


def _take_markers(file: C3D, factor: float, result: Recording) -> None:
    point = file.parameters.get("POINT", {})
    labels = join_texts(point, "LABELS")
    if not labels and file.points.shape[1]:
        labels = [f"point{k + 1}" for k in range(file.points.shape[1])]
        result.notes.append("the file has no names: markers are named point1, point2, ...")
    computed = {label for group in COMPUTED for label in join_texts(point, group)}
    unnamed = 0
    skipped: list[str] = []
    taken: dict[int, str] = {}
    for k in range(file.points.shape[1]):
        label = labels[k] if k < len(labels) else ""
        if not label or label.startswith("*"):
            unnamed += 1
        elif label in computed:
            skipped.append(label)
        elif len(label) > LONGEST_NAME or not label.isprintable():
            fail(result.path, None, f"POINT:LABELS: expected the name of a marker, got "
                 f"{label!r:.60}; the file is damaged")  # fmt: skip
        else:
            taken[k] = label
    names = rename_twins(list(taken.values()), result.notes)
    for k, name in zip(taken, names, strict=True):
        result.markers[name] = file.points[:, k] * factor
    if unnamed:
        result.notes.append(f"skipped: {unnamed} points without a name")
    if skipped:
        result.notes.append(f"skipped, computed by another program: {list_names(skipped)}")


def _describe_nothing(file: C3D, result: Recording) -> str:
    """What a file without markers and force plates has instead."""
    found = [*result.notes, *result.warnings]
    if file.analog.shape[1]:
        labels = join_texts(file.parameters.get("ANALOG", {}), "LABELS")
        found.append(f"{file.analog.shape[1]} analog channels, such as EMG: {list_names(labels)}")
    return (
        "no readable markers or force plates; expected a recording of a motion; the file has: "
        + ("; ".join(found) or "nothing")
    )

"""OpenSim's storage files, MOT and STO: coordinates and ground forces under a header.

Columns: `time`; coordinates by name (`knee`) or by path (`/jointset/leg/knee/value`,
`knee/value`); forces `[NAME_]ground_force_vx ..` (N), `.._px ..` (m, point of application) and
`ground_torque_x ..` (N m, about that point), which become the force `NAME_ground` or `ground`;
letters after `force` are kept (`ground_force_r_vx`: `ground_r`). Speeds, accelerations, efforts
and muscle states are skipped.
inDegrees=yes applies to all coordinates but translations, which end in _tx, _ty or _tz.
"""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from predyn.recordings.columns import DEGREE, Recording, build_force, list_names
from predyn.recordings.measurements import MeasuredForce
from predyn.recordings.text import (
    Floats,
    Table,
    check_names,
    check_times,
    fail,
    read_lines,
    read_numbers,
)

EXPECTED = "a MOT or STO storage file"
LONGEST_HEADER = 1000
FORCE = re.compile(r"(.*?)_?force(?:_?(.*?))_([vp])([xyz])", re.IGNORECASE)
TORQUE = re.compile(r"(.*?)_?torque(?:_?(.*?))_m?([xyz])", re.IGNORECASE)
TRANSLATION = re.compile(r".*_t[xyz]", re.IGNORECASE)
EFFORT = re.compile(r".*_(moment|force|torque)")


def read_storage(path: str) -> Recording:
    """Read the coordinates and ground forces of a storage file."""
    lines = read_lines(path, EXPECTED)
    settings, end = _read_header(path, lines)
    start = next((k for k in range(end, len(lines)) if lines[k].strip()), None)
    if start is None:
        fail(path, len(lines), "expected names of columns after 'endheader': the file is "
             "truncated; export it again")  # fmt: skip
    separator = "\t" if "\t" in lines[start].strip() else None
    names = [name.strip() for name in lines[start].strip().split(separator)]
    check_names(path, start + 1, names)
    if names[0].lower() != "time":
        fail(path, start + 1, f"expected 'time' as the first column, got {names[0]!r:.60}")
    if (kind := settings.get("datatype", "double").lower()) != "double":
        fail(path, None, f"DataType={kind}: expected double; export the table with one number in "
             "each cell")  # fmt: skip

    def split(line: str) -> list[str]:
        cells = line.split(separator)
        while len(cells) > len(names) and not cells[-1].strip():
            cells.pop()
        return cells

    table = read_numbers(path, lines, start + 1, names, split)
    _check_counts(table, settings, start + 1)
    result = Recording(path, table.values[:, 0])
    check_times(path, result.t, table.lines)
    _take_columns(table, settings, start + 1, result)
    return result


def _read_header(path: str, lines: list[str]) -> tuple[dict[str, str], int]:
    """Settings in lower case, and the index of the line after 'endheader'."""
    settings: dict[str, str] = {}
    for k, line in enumerate(lines[:LONGEST_HEADER]):
        if line.strip().lower() == "endheader":
            return settings, k + 1
        key, equals, value = line.partition("=")
        if equals:
            settings[key.strip().lower()] = value.strip()
    fail(path, min(len(lines), LONGEST_HEADER), f"expected {EXPECTED}, found no line 'endheader'; "
         "the file is truncated or does not match its suffix")  # fmt: skip


def _check_counts(table: Table, settings: dict[str, str], line: int) -> None:
    rows, width = table.values.shape
    for keys, got, at in (
        (("nrows", "datarows"), rows, int(table.lines[-1])),
        (("ncolumns", "datacolumns"), width, line),
    ):
        for key in keys:
            given = settings.get(key, str(got))
            if not re.fullmatch(r"[0-9]{1,9}", given):
                fail(table.path, None, f"{key}: expected a whole number, got {given!r:.40}")
            if int(given) != got:
                fail(table.path, at, f"the header announces {key}={given}, got {got}; the file may "
                     "be truncated: export it again, or correct the header")  # fmt: skip


def _take_columns(table: Table, settings: dict[str, str], line: int, result: Recording) -> None:
    joints: dict[str, int] = {}
    skipped: list[str] = []
    parts: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for index, label in enumerate(table.names[1:], start=1):
        if match := FORCE.fullmatch(label):
            name = "_".join(filter(None, (match[1], match[2]))) or "force"
            part = "f" if match[3].lower() == "v" else "p"
            parts[name][part][match[4].lower()] = index
        elif match := TORQUE.fullmatch(label):
            name = "_".join(filter(None, (match[1], match[2]))) or "force"
            parts[name]["m"][match[3].lower()] = index
        elif (joint := _find_joint(label)) is None:
            skipped.append(label)
        elif joint in joints:
            fail(table.path, line, f"columns {table.names[joints[joint]]!r:.60} and {label!r:.60} "
                 f"are both joint {joint!r:.60}; remove one")  # fmt: skip
        else:
            joints[joint] = index
    if not joints and not parts:
        fail(table.path, line, f"no column of a joint or ground force; got {list_names(skipped)}")
    if skipped:
        result.notes.append(f"skipped: {list_names(skipped)}")
    if joints:
        _take_joints(table, settings, joints, result)
    for name, components in parts.items():
        result.forces[name] = _read_force(table, name, components, line, result)


def _find_joint(label: str) -> str | None:
    """The joint whose position this column holds, or None."""
    if "/" in label:
        path, _, what = label.rpartition("/")
        return path.rpartition("/")[2] or None if what == "value" else None
    if label.endswith((".activation", ".fiber_length")) or EFFORT.fullmatch(label):
        return None
    return label


def _take_joints(
    table: Table, settings: dict[str, str], joints: dict[str, int], result: Recording
) -> None:
    degrees = settings.get("indegrees", "").lower()
    if degrees not in ("yes", "no"):
        got = f"{degrees!r:.40}" if degrees else "no such line"
        fail(table.path, None, f"header: expected inDegrees=yes or inDegrees=no, got {got}; state "
             "the unit of the angles")  # fmt: skip
    turned = [name for name in joints if degrees == "yes" and not TRANSLATION.fullmatch(name)]
    for name, index in joints.items():
        factor = DEGREE if name in turned else 1.0
        result.angles[name] = table.values[:, index] * factor
    result.units.update(dict.fromkeys(turned, "rad"))
    if degrees == "yes":
        result.notes.append(f"converted from deg: {list_names(turned) or 'nothing'}")
        if straight := [name for name in joints if name not in turned]:
            result.notes.append(f"translations, in m: {list_names(straight)}")


def _read_force(
    table: Table,
    name: str,
    components: dict[str, dict[str, int]],
    line: int,
    result: Recording,
) -> MeasuredForce:
    values: dict[str, Floats] = {}
    for part, what in (("f", "force"), ("p", "point of application"), ("m", "torque")):
        group = components.get(part, {})
        absent = [axis for axis in "xyz" if axis not in group]
        if absent and (part != "m" or len(absent) < 3):
            fail(table.path, line, f"force {name!r:.60}: expected x, y and z of its {what}, but "
                 f"found no {', '.join(absent)}; add the columns")  # fmt: skip
        values[part] = np.zeros((len(table.values), 3))
        for axis, index in group.items():
            values[part][:, "xyz".index(axis)] = table.values[:, index]
    if "m" not in components:
        result.notes.append(f"force {name!r}: no torque columns, 0 assumed")
    return build_force(table, name, result.t, values, result.notes)

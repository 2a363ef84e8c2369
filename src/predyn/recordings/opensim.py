"""OpenSim's storage files, MOT and STO: coordinates and ground forces under a header.

Columns: `time`; coordinates by name (`knee`) or by path (`/jointset/leg/knee/value`,
`knee/value`); forces `[NAME_]ground_force_vx ..` (N), `.._px ..` (m, point of application) and
`ground_torque_x ..` (N m, about that point), which become the force `NAME_ground` or `ground`;
letters after `force` are kept (`ground_force_r_vx`: `ground_r`). Speeds, accelerations, efforts
and muscle states are skipped; a file of nothing else is refused.
inDegrees=yes applies to all coordinates but translations, which end in _tx, _ty or _tz.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from predyn.recordings.columns import (
    ANGLE,
    DEGREE,
    FORCE,
    LENGTH,
    MOMENT,
    TIME,
    TRANSLATION,
    Given,
    Recording,
    build_force,
    list_names,
)
from predyn.recordings.measurements import MeasuredForce
from predyn.recordings.storage_titles import EFFORT, MUSCLE_STATE, find_other_contents
from predyn.recordings.text import (
    Floats,
    Table,
    check_names,
    fail,
    read_lines,
    read_numbers,
    settle_times,
)

EXPECTED = "a MOT or STO storage file"
LONGEST_HEADER = 1000
FORCE_COLUMN = re.compile(r"(.*?)_?force(?:_?(.*?))_([vp])([xyz])", re.IGNORECASE)
TORQUE_COLUMN = re.compile(r"(.*?)_?torque(?:_?(.*?))_m?([xyz])", re.IGNORECASE)


def read_storage(path: str, given: Given) -> Recording:
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
    result = Recording(path, table.values[:, 0] * (given.factor(TIME) or 1.0))
    _check_counts(table, settings, result)
    table, result.t = settle_times(table, result.t, result.notes)
    title = next((line.strip() for line in lines[: end - 1] if line.strip()), "")
    reader = _Columns(table, settings, start + 1, given, result)
    reader.take("" if "=" in title else title)
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


def _check_counts(table: Table, settings: dict[str, str], result: Recording) -> None:
    """Note counts that differ from the table, which is consistent in itself."""
    rows, width = table.values.shape
    for keys, got, what in (
        (("nrows", "datarows"), rows, "rows"),
        (("ncolumns", "datacolumns"), width, "columns"),
    ):
        for key in keys:
            given = settings.get(key, str(got))
            if given == str(got):
                continue
            message = f"the header announces {key}={given:.40}, but the table has {got} {what}"
            if what == "rows" and re.fullmatch(r"[0-9]{1,9}", given) and int(given) > got:
                result.warnings.append(f"{message}: is the file truncated?")
            else:
                result.notes.append(message)


class _Columns(NamedTuple):
    """The columns of a table, and what they become."""

    table: Table
    settings: dict[str, str]
    line: int  # of the names
    given: Given
    result: Recording

    def take(self, title: str) -> None:
        table, result = self.table, self.result
        joints: dict[str, int] = {}
        skipped: list[str] = []
        parts: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for index, label in enumerate(table.names[1:], start=1):
            if match := FORCE_COLUMN.fullmatch(label):
                name = "_".join(filter(None, (match[1], match[2]))) or "force"
                part = "f" if match[3].lower() == "v" else "p"
                parts[name][part][match[4].lower()] = index
            elif match := TORQUE_COLUMN.fullmatch(label):
                name = "_".join(filter(None, (match[1], match[2]))) or "force"
                parts[name]["m"][match[3].lower()] = index
            elif (joint := _find_joint(label, table.names)) is None:
                skipped.append(label)
            elif joint in joints:
                fail(table.path, self.line, f"columns {table.names[joints[joint]]!r:.60} and "
                     f"{label!r:.60} are both joint {joint!r:.60}; remove one")  # fmt: skip
            else:
                joints[joint] = index
        if not parts and (what := find_other_contents(title, table.names[1:])):
            fail(table.path, self.line, f"expected positions of joints, but this file looks like "
                 f"{what} (title {title!r:.60}, columns {list_names(table.names[1:])}); give the "
                 "file of coordinates, such as the result of inverse kinematics")  # fmt: skip
        if not joints and not parts:
            fail(table.path, self.line, f"no column of a joint or ground force; got "
                 f"{list_names(skipped)}")  # fmt: skip
        if skipped:
            result.notes.append(f"skipped: {list_names(skipped)}")
        if joints:
            self._take_joints(joints)
        for name, components in parts.items():
            result.forces[name] = self._read_force(name, components)

    def _take_joints(self, joints: dict[str, int]) -> None:
        result = self.result
        straight = [name for name in joints if TRANSLATION.fullmatch(name)]
        degrees = self._find_degrees(len(straight) < len(joints))
        turned = [] if degrees is None else [name for name in joints if name not in straight]
        metres = self.given.factor(LENGTH)
        for name, index in joints.items():
            factor = DEGREE if degrees and name in turned else 1.0
            if metres is not None and name in straight:
                factor = metres
            result.angles[name] = self.table.values[:, index] * factor
        if degrees:
            result.units.update(dict.fromkeys(turned, "rad"))
            result.notes.append(f"converted from deg: {list_names(turned) or 'nothing'}")
        if metres is not None and straight:
            result.units.update(dict.fromkeys(straight, "m"))
        if (degrees or metres is not None) and straight:
            unit = self.given.names.get(LENGTH, "m")
            result.notes.append(f"translations, in {unit}: {list_names(straight)}")

    def _find_degrees(self, needed: bool) -> bool | None:
        """Whether angles are in degrees: as the user states, else the header; None if neither."""
        stated = self.settings.get("indegrees", "").lower()
        header = {"yes": True, "no": False, "true": True, "false": False}.get(stated)
        factor = self.given.factor(ANGLE)
        if factor is not None:
            degrees = factor != 1.0
            if degrees != header:
                self.result.notes.append(
                    f"unit of angle as given: {self.given.names[ANGLE]}"
                    + (f" instead of inDegrees={stated:.40}" if stated else "")
                )
            return degrees
        if header is None and (needed or stated):
            got = f"{stated!r:.40}" if stated else "no such line"
            fail(self.table.path, None, f"header: expected inDegrees=yes or inDegrees=no, got "
                 f"{got}; state the unit of the angles: units='deg', or --units deg")  # fmt: skip
        return header

    def _read_force(self, name: str, components: dict[str, dict[str, int]]) -> MeasuredForce:
        table = self.table
        values: dict[str, Floats] = {}
        for part, what, kind in (
            ("f", "force", FORCE),
            ("p", "point of application", LENGTH),
            ("m", "torque", MOMENT),
        ):
            group = components.get(part, {})
            absent = [axis for axis in "xyz" if axis not in group]
            if absent and (part != "m" or len(absent) < 3):
                fail(table.path, self.line, f"force {name!r:.60}: expected x, y and z of its "
                     f"{what}, but found no {', '.join(absent)}; add the columns")  # fmt: skip
            values[part] = np.zeros((len(table.values), 3))
            factor = self.given.factor(kind) or 1.0
            if factor != 1.0 and group:
                unit = self.given.names[kind]
                self.result.notes.append(f"force {name!r}: unit of its {what} as given: {unit}")
            for axis, index in group.items():
                values[part][:, "xyz".index(axis)] = table.values[:, index] * factor
        if "m" not in components:
            self.result.notes.append(f"force {name!r}: no torque columns, 0 assumed")
        return build_force(table, name, self.result.t, values, self.result.notes)


def _find_joint(label: str, names: list[str]) -> str | None:
    """The joint whose position this column holds, or None."""
    if "/" in label:
        path, _, what = label.rpartition("/")
        return path.rpartition("/")[2] or None if what == "value" else None
    if MUSCLE_STATE.fullmatch(label) or EFFORT.fullmatch(label):
        return None
    if label.endswith("_u") and label[:-2] in names:  # a speed beside its coordinate
        return None
    return label

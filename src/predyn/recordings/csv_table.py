"""CSV recordings: a row of names, an optional row of units, then numbers.

Columns: `time` or `t`; NAME_x, NAME_y, NAME_z (or NAME.x, ...; at least two of them) are a marker;
NAME_fx.. with NAME_px.. and optionally NAME_mx.. are a force, its centre of pressure and its moment
about that point (at least two of each; missing components are 0); every other column is a joint.
`q.NAME` is always the joint NAME, whatever its last letters are. Units are given in the second row,
in the name (`knee [deg]`) or at its end (`knee_deg`, `toe_x_mm`). Cells are separated by commas,
semicolons or tabs; empty, NA and NaN are missing.

Velocities, accelerations, efforts and signals are skipped: tables of a Solution can be read.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from predyn.recordings.columns import (
    ANGLE,
    FORCE,
    LENGTH,
    MOMENT,
    RATE,
    SI,
    TIME,
    TRANSLATION,
    UNITS,
    Given,
    Recording,
    build_force,
    list_names,
)
from predyn.recordings.csv_header import SIGNAL, Column, is_number, is_units, read_columns
from predyn.recordings.measurements import AXES
from predyn.recordings.text import (
    Floats,
    Table,
    check_names,
    fail,
    read_lines,
    read_numbers,
    refuse_other_formats,
    settle_times,
)

EXPECTED = "a CSV table"
COMPONENT = re.compile(r"(.+)[_.]([fpm]?)([xyz])", re.IGNORECASE)
SKIPPED = ("phase", "frame", "frame#")
EFFECTS = ("v.", "a.", "tau.")  # in tables of a Solution
MOTION = (ANGLE, LENGTH, None)


class Part(NamedTuple):
    """One of the three vectors of a force."""

    name: str
    kind: str


PARTS = {
    "f": Part("force", FORCE),
    "p": Part("centre of pressure", LENGTH),
    "m": Part("moment", MOMENT),
}


def read_csv(path: str, given: Given) -> Recording:
    """Read a CSV recording."""
    lines = read_lines(path, EXPECTED)
    refuse_other_formats(path, lines, EXPECTED)
    head = next((k for k, line in enumerate(lines) if line.strip()), None)
    if head is None:
        fail(path, None, "the file has only blank lines; expected a row of names")
    separator = max(";\t,", key=lines[head].count)
    names = [name.strip() for name in _make_splitter(path, separator, None)(lines[head])]
    while len(names) > 1 and not names[-1]:
        names.pop()
    if len(names) < 2:
        fail(path, head + 1, f"expected names separated by commas, semicolons or tabs, got one "
             f"name, {names[0]!r:.60}")  # fmt: skip
    check_names(path, head + 1, names)
    if all(is_number(name) for name in names):
        fail(path, head + 1, "expected a row of names, got numbers; name the columns, such as "
             "time, knee [deg], toe_x [mm], toe_y [mm]")  # fmt: skip
    split = _make_splitter(path, separator, len(names))
    start = head + 1
    units: list[str] = [""] * len(names)
    if start < len(lines) and is_units(cells := split(lines[start])):
        if len(cells) != len(names):
            fail(path, start + 1, f"expected {len(names)} units, got {len(cells)}")
        units = [cell.strip() for cell in cells]
        start += 1
    columns = read_columns(path, names, units, head + 1, start)
    table = read_numbers(path, lines, start, names, split)
    return _build_recording(table, columns, head + 1, given)


def _make_splitter(path: str, separator: str, width: int | None) -> Callable[[str], list[str]]:
    """A function that splits a line into cells and drops empty ones beyond the width."""

    def split(line: str) -> list[str]:
        if '"' not in line:
            cells = line.split(separator)
        else:
            try:
                cells = next(csv.reader([line], delimiter=separator, strict=True))
            except csv.Error as error:
                fail(path, None, f"cannot read the quoted cells ({error}): {line!r:.60}")
        while width is not None and len(cells) > width and not cells[-1].strip():
            cells.pop()
        return cells

    return split


def _build_recording(table: Table, columns: list[Column], head: int, given: Given) -> Recording:
    path = table.path
    clocks = [column for column in columns if column.name.lower() in ("time", "t")]
    if len(clocks) != 1:
        got = list_names([column.name for column in clocks or columns])
        fail(path, head, f"expected one column 'time' or 't', got {got}; rename it")
    columns = [column for column in columns if column is not clocks[0]]
    clock = _state_unit(clocks[0], TIME, given)
    t = _convert_column(table, clock, (TIME,), head)
    result = Recording(path, t)
    table, result.t = _drop_phase_ends(table, t, columns, result.notes)
    table, result.t = settle_times(table, result.t, result.notes)

    markers, forces, joints = _group_columns(path, columns, head, result)
    _state_units(markers, forces, joints, given)
    if given.names:
        units = ", ".join(given.names.values())
        result.notes.append(f"units as given, of columns that state none: {units}")
    bare: dict[str, list[str]] = defaultdict(list)
    if clock.unit is None:
        result.notes.append(f"no unit given, s assumed: {clock.name!r:.60}")
    for name, group in markers.items():
        result.markers[name] = _read_vectors(table, group, LENGTH, head, np.nan)
        bare["m"] += [column.name for column in group.values() if column.unit is None]
    for name, parts in forces.items():
        values = _read_force_parts(table, name, parts, head, result.notes)
        result.forces[name] = build_force(table, name, result.t, values, result.notes)
        for part, group in parts.items():
            bare[SI[PARTS[part].kind]] += [c.name for c in group.values() if c.unit is None]
    for name, column in joints.items():
        result.angles[name] = _convert_column(table, column, (ANGLE, LENGTH), head)
        if column.unit is None:
            bare["rad (m for slides)"].append(column.name)
        else:
            result.units[name] = SI[UNITS[column.unit].kind]
    for unit, without in bare.items():
        if without:
            result.warnings.append(f"no units given, {unit} assumed: {list_names(without)}; add a "
                                   "row of units, write 'name [unit]', or give units=")  # fmt: skip
    by_unit: dict[str, list[str]] = defaultdict(list)
    for column in (clock, *columns):
        if column.unit is not None and column.kind != RATE and UNITS[column.unit].factor != 1.0:
            by_unit[column.unit].append(column.name)
    result.notes += [
        f"converted from {unit}: {list_names(names)}" for unit, names in by_unit.items()
    ]
    if not result.angles and not result.markers and not result.forces:
        shown = [f"{x.name} [{x.unit}]" if x.unit else x.name for x in columns]
        fail(
            path,
            head,
            f"no column of a joint (rad, deg, m), marker (m) or force; got {list_names(shown)}",
        )
    return result


def _state_unit(column: Column, kind: str, given: Given) -> Column:
    """The column with the user's unit, if it has none."""
    return column if column.unit is not None else column._replace(unit=given.names.get(kind))


def _state_units(
    markers: dict[str, Components],
    forces: dict[str, dict[str, Components]],
    joints: dict[str, Column],
    given: Given,
) -> None:
    """Give columns without a unit that of the user; joints that end in _tx, _ty, _tz slide."""
    for group in markers.values():
        group |= {axis: _state_unit(column, LENGTH, given) for axis, column in group.items()}
    for parts in forces.values():
        for part, group in parts.items():
            kind = PARTS[part].kind
            group |= {axis: _state_unit(column, kind, given) for axis, column in group.items()}
    for name, column in joints.items():
        kind = LENGTH if TRANSLATION.fullmatch(name) else ANGLE
        joints[name] = _state_unit(column, kind, given)


def _drop_phase_ends(
    table: Table, t: Floats, columns: list[Column], notes: list[str]
) -> tuple[Table, Floats]:
    """Drop the last row of a phase if the next phase starts at the same time."""
    phase = next((c.place for c in columns if c.name == "phase" and c.unit is None), None)
    if phase is None:
        return table, t
    same = (np.diff(t) == 0.0) & (np.diff(table.values[:, phase]) == 1.0)
    if not same.any():
        return table, t
    kept = np.append(~same, True)
    notes.append(f"{same.sum()} rows skipped: ends of phases; the start of the next phase was kept")
    return table._replace(values=table.values[kept], lines=table.lines[kept]), t[kept]


def _is_skipped(column: Column) -> bool:
    """Whether it counts rows or phases, or is a column of a Solution other than its positions."""
    if column.unit is None:
        return column.name.lower() in SKIPPED or column.name.startswith(SIGNAL)
    return column.name.startswith(EFFECTS) and column.kind not in MOTION


Components = dict[str, Column]  # by axis


def _group_columns(
    path: str, columns: list[Column], head: int, result: Recording
) -> tuple[dict[str, Components], dict[str, dict[str, Components]], dict[str, Column]]:
    """Markers, forces (by part) and joints by name; the rest goes into notes or warnings."""
    vectors: dict[str, dict[str, Components]] = defaultdict(lambda: defaultdict(dict))
    joints: dict[str, Column] = {}
    skipped: list[str] = []
    others: list[Column] = []
    for column in columns:
        if column.name.startswith("q.") and len(column.name) > 2:
            joints[column.name[2:]] = column
        elif _is_skipped(column):
            skipped.append(column.name)
        else:
            others.append(column)
            if match := COMPONENT.fullmatch(column.name):
                axes = vectors[match[1]][match[2].lower()]
                if (twin := axes.setdefault(match[3].lower(), column)) is not column:
                    fail(path, head, f"columns {twin.name!r:.60} and {column.name!r:.60} are the "
                         "same component; remove one")  # fmt: skip
    markers = {name: parts[""] for name, parts in vectors.items() if len(parts[""]) >= 2}
    forces = {
        name: {part: parts[part] for part in PARTS if parts[part]}
        for name, parts in vectors.items()
        if len(parts["f"]) >= 2 or any(column.kind == FORCE for column in parts["f"].values())
    }
    groups = [*markers.values(), *(group for parts in forces.values() for group in parts.values())]
    used = {column.place for group in groups for column in group.values()}
    strange: list[str] = []
    for column in others:
        if column.place in used:
            continue
        if column.kind not in MOTION:
            strange.append(f"{column.name} [{column.unit}]")
        elif column.name in joints:
            fail(path, head, f"columns {column.name!r:.60} and 'q.{column.name:.60}' are the same "
                 "joint; remove one")  # fmt: skip
        else:
            joints[column.name] = column
    if skipped:
        result.notes.append(f"skipped: {list_names(skipped)}")
    if strange:
        result.warnings.append(
            f"skipped, neither positions nor part of a force: {list_names(strange)}"
        )
    return markers, forces, joints


def _read_force_parts(
    table: Table, stem: str, parts: dict[str, Components], head: int, notes: list[str]
) -> dict[str, Floats]:
    """Force, point and moment, (M, 3) each."""
    for part in "fp":
        got = [column.name for column in parts.get(part, {}).values()]
        if len(got) < 2:
            needs = ", ".join(f"{stem}_{part}{axis}" for axis in AXES)
            fail(table.path, head, f"force {stem!r:.60}: expected its {PARTS[part].name}, at least "
                 f"two columns of {needs}; got {list_names(got) or 'none'}")  # fmt: skip
    absent = [
        f"{stem}_{part}{axis}" for part in PARTS for axis in AXES if axis not in parts.get(part, {})
    ]
    if absent:
        notes.append(f"force {stem!r}: missing, 0 assumed: {', '.join(absent)}")
    return {
        part: _read_vectors(table, parts.get(part, {}), PARTS[part].kind, head, 0.0)
        for part in PARTS
    }


def _read_vectors(
    table: Table, group: dict[str, Column], kind: str, head: int, absent: float
) -> Floats:
    values = np.full((len(table.values), 3), absent)
    for axis, column in group.items():
        values[:, AXES.index(axis)] = _convert_column(table, column, (kind,), head)
    return values


def _convert_column(table: Table, column: Column, kinds: tuple[str, ...], head: int) -> Floats:
    """The values in SI units; a unit of another kind is an error."""
    values: Floats = table.values[:, column.place]
    if column.unit is None:
        return values
    unit = UNITS[column.unit]
    if unit.kind not in kinds:
        valid = [name for name, known in UNITS.items() if known.kind in kinds]
        hint = ""
        if unit.kind == ANGLE and COMPONENT.fullmatch(column.name):
            hint = (
                f"; columns that end in _x, _y, _z are a marker: for a joint with this name, write "
                f"'q.{column.name}'"
            )
        fail(table.path, head, f"column {column.name!r:.60} has the unit {column.unit!r} "
             f"({unit.kind}); expected one of {', '.join(valid)}{hint}")  # fmt: skip
    return values * unit.factor

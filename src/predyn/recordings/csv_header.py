"""The head of a CSV recording: names and units of its columns."""

from __future__ import annotations

import re
from typing import NamedTuple

from predyn.recordings.columns import UNITS, VALID_UNITS
from predyn.recordings.text import MISSING, fail

BRACKET = re.compile(r"(.*?)\s*[\[(]([^\[\]()]*)[\])]\s*")
SUFFIX = re.compile(r"(.+)_(deg|rad|mm|cm)")
COMPONENT_SUFFIX = re.compile(r"(.+[_.][fpm]?[xyz])_(m|mm|cm|N|Nm|Nmm)", re.IGNORECASE)
SIGNAL = "signal."  # how columns of signals begin in the table of a Solution
TIME_SUFFIX = re.compile(r"(time|t)_(s|ms)", re.IGNORECASE)


class Column(NamedTuple):
    """A column of the table, its name without the unit, and the unit if one is given."""

    place: int
    name: str
    unit: str | None

    @property
    def kind(self) -> str | None:
        return None if self.unit is None else UNITS[self.unit].kind


def read_columns(
    path: str, names: list[str], units: list[str], head: int, unit_line: int
) -> list[Column]:
    """Separate names from units; `head` is the line of the names."""
    columns = [
        _read_column(path, k, name, unit, head, unit_line)
        for k, (name, unit) in enumerate(zip(names, units, strict=True))
    ]
    _refuse_twins(path, head, names, columns)
    return columns


def is_number(cell: str) -> bool:
    """Whether the cell is a number, possibly with a decimal comma."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def is_units(cells: list[str]) -> bool:
    """Whether the row holds text and no number."""
    stripped = [cell.strip() for cell in cells]
    filled = [cell for cell in stripped if cell not in MISSING]
    return bool(filled) and not any(is_number(cell) for cell in filled)


def _read_column(path: str, index: int, name: str, unit: str, head: int, unit_line: int) -> Column:
    """Split the unit off the name; units that are given twice must agree."""
    if name.startswith(SIGNAL):  # any unit is accepted: signals are skipped
        return Column(index, name, None)
    given: list[str] = []
    if unit := unit.strip("[]() "):
        given.append(_find_unit(path, unit_line, name, unit))
    if match := BRACKET.fullmatch(name):
        name = match[1]
        if match[2].strip():
            given.append(_find_unit(path, head, name, match[2].strip()))
    for suffix in (SUFFIX, COMPONENT_SUFFIX, TIME_SUFFIX):
        if match := suffix.fullmatch(name):
            name = match[1]
            given.append(_find_unit(path, head, name, match[2]))
            break
    if len({UNITS[unit] for unit in given}) > 1:
        fail(path, head, f"column {name!r:.60} has the units {given[0]} and {given[1]}; remove one")
    if not name:
        fail(path, head, f"column {index + 1} has a unit but no name; name it")
    return Column(index, name, given[0] if given else None)


def _find_unit(path: str, line: int, name: str, unit: str) -> str:
    found = " ".join(unit.replace("·", " ").replace("*", " ").split())
    if found not in UNITS:
        near = {known.lower(): known for known in UNITS}.get(found.lower())
        if near is None:
            fail(path, line, f"column {name!r:.60}: unknown unit {unit!r:.40}; valid units: "
                 f"{VALID_UNITS}")  # fmt: skip
        found = near
    return found


def _refuse_twins(path: str, line: int, names: list[str], columns: list[Column]) -> None:
    """Refuse columns whose names differ only in their units."""
    seen: dict[str, int] = {}
    for column in columns:
        if column.name in seen:
            twins = f"{names[seen[column.name]]!r:.60} and {names[column.place]!r:.60}"
            fail(path, line, f"columns {twins} are both {column.name!r:.60}; remove one")
        seen[column.name] = column.place

"""TRC files: tab-separated marker positions under a header of five lines; blank = missing."""

from __future__ import annotations

import re

from predyn.recordings.columns import LENGTH, TIME, Given, Recording, list_names
from predyn.recordings.sampling import usual_interval
from predyn.recordings.text import (
    Table,
    check_names,
    fail,
    read_lines,
    read_numbers,
    rename_twins,
    settle_times,
)

EXPECTED = "a TRC table of markers"


def read_trc(path: str, given: Given) -> Recording:
    """Read the markers of a TRC file; any other column is an error."""
    lines = read_lines(path, EXPECTED)
    if not lines[0].strip().startswith("PathFileType"):
        fail(path, 1, f"expected {EXPECTED} that begins with 'PathFileType', got {lines[0]!r:.40}; "
             "the file does not match its suffix")  # fmt: skip
    if len(lines) < 5:
        fail(path, len(lines), f"expected a header of 5 lines, got {len(lines)}: the file is "
             "truncated; export it again")  # fmt: skip
    settings = _read_settings(path, lines)
    notes: list[str] = []
    name = settings.get("Units", "")
    unit = given.choose(LENGTH, name, notes)
    if unit is None:
        fail(path, 3, f"Units: expected m, cm or mm, got {name!r:.40}; write the unit of the "
             "positions under 'Units', or state it: units='mm', or --units mm")  # fmt: skip
    markers = rename_twins(_read_marker_names(path, lines[3], lines[4]), notes)
    _check_count(path, settings, "NumMarkers", len(markers), "names in line 4")
    columns = ["Frame#", "Time", *(f"{marker}.{axis}" for marker in markers for axis in "xyz")]

    def split(line: str) -> list[str]:
        cells = line.split("\t")
        while len(cells) > len(columns) and not cells[-1].strip():
            cells.pop()
        return cells

    table = read_numbers(path, lines, 5, columns, split)
    count = len(table.values)
    rate = _read_rate(settings)
    frames = _read_count(path, settings, "NumFrames")
    if frames is not None and count < frames:
        fail(path, int(table.lines[-1]), f"line 3 announces {frames} frames, got {count}: the file "
             "is truncated; export it again, or correct NumFrames")  # fmt: skip
    seconds = given.factor(TIME) or 1.0
    table, t = settle_times(table, table.values[:, 1] * seconds, notes, rate)
    result = Recording(path, t, notes=notes)
    if frames is not None and count > frames:
        result.notes.append(f"line 3 announces {frames} frames, {count} were read")
    if LENGTH not in given.names:
        result.notes.append(f"positions in {name}")
    _check_rate(rate, result)
    _take_markers(table, markers, unit.factor, result)
    return result


def _read_settings(path: str, lines: list[str]) -> dict[str, str]:
    """Line 2 names the settings, line 3 gives them."""
    keys, values = lines[1].split(), lines[2].split()
    if "Units" not in keys:
        fail(path, 2, f"expected DataRate, NumFrames, NumMarkers, Units, ..., got {lines[1]!r:.60}")
    if len(keys) > len(values):
        cells = [cell.strip() for cell in lines[2].split("\t")]
        values = cells if len(cells) >= len(keys) else values
    return dict(zip(keys, values, strict=False))


def _read_count(path: str, settings: dict[str, str], key: str) -> int | None:
    given = settings.get(key, "")
    if not given:
        return None
    if not re.fullmatch(r"[0-9]{1,9}(\.0*)?", given):
        fail(path, 3, f"{key}: expected a whole number, got {given!r:.40}")
    return int(float(given))


def _check_count(path: str, settings: dict[str, str], key: str, got: int, what: str) -> None:
    announced = _read_count(path, settings, key)
    if announced is not None and announced != got:
        fail(path, 4, f"{key} in line 3 is {announced}, got {got} {what}; correct one of them")


def _read_marker_names(path: str, names: str, axes: str) -> list[str]:
    """The names of line 4, each over three columns."""
    cells = [cell.strip() for cell in names.rstrip().split("\t")]
    if [cell.lower() for cell in cells[:2]] != ["frame#", "time"]:
        fail(path, 4, f"expected 'Frame#', 'Time' and names of markers, separated by tabs, got "
             f"{names!r:.60}")  # fmt: skip
    markers = cells[2::3]
    between = [cell for k, cell in enumerate(cells[2:]) if k % 3 and cell]
    if between:
        fail(path, 4, f"expected three columns for each marker, got {between[0]!r:.60} fewer than "
             "three columns after the previous name; separate names by three tabs")  # fmt: skip
    if not markers:
        fail(path, 4, "expected names of markers after 'Frame#' and 'Time', got none")
    check_names(path, 4, markers, twins=True)
    given = len(axes.split())
    if given != 3 * len(markers):
        fail(path, 5, f"expected X1, Y1, Z1, ... for {len(markers)} markers, got {given} cells")
    return markers


def _read_rate(settings: dict[str, str]) -> float | None:
    try:
        return float(settings.get("DataRate", ""))
    except ValueError:
        return None


def _check_rate(rate: float | None, result: Recording) -> None:
    """Warn if the rate disagrees with the times, which are used."""
    if rate is None or len(result.t) < 2:
        return
    found = 1.0 / usual_interval(result.t)
    if rate > 0.0 and not 0.95 < found / rate < 1.05:
        result.warnings.append(f"line 3: DataRate is {rate:g} Hz, the times have {found:.5g} Hz; "
                               "the times were used")  # fmt: skip


def _take_markers(table: Table, markers: list[str], factor: float, result: Recording) -> None:
    positions = table.values[:, 2:].reshape(len(table.values), len(markers), 3) * factor
    for k, marker in enumerate(markers):
        result.markers[marker] = positions[:, k]
    zero = (positions == 0.0).all(axis=2).any(axis=0)
    if zero.any():
        names = list_names([marker for marker, some in zip(markers, zero, strict=True) if some])
        result.warnings.append(f"markers at exactly (0, 0, 0) in some rows: {names}; leave the "
                               "cells empty if they are gaps")  # fmt: skip

"""Normative curves from a CSV file, which the charts show as bands."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from predyn.analysis.gait import PERCENT, Band
from predyn.errors import FileError, InputError, unknown_name
from predyn.recordings.text import read_lines

PERCENT_COLUMN = "percent"
MEAN, SD = "_mean", "_sd"
FEWEST = 5  # rows


@dataclass(frozen=True, eq=False)
class Norms:
    """Bands by the names in the file, without _mean and _sd."""

    path: str
    bands: Mapping[str, Band]

    def matched(self, curves: Iterable[str]) -> dict[str, Band]:
        """Bands by name of the curve: the same name, or the only curve that begins with it."""
        names = list(curves)
        found: dict[str, Band] = {}
        for column, band in self.bands.items():
            joint, _, quantity = column.rpartition("_")
            alike = [
                name
                for name in names
                if joint and name.startswith(joint) and name.endswith(f"_{quantity}")
            ]
            chosen = [column] if column in names else alike
            if len(chosen) != 1:
                raise FileError(
                    f"{self.path}: {unknown_name('curve of column', column + MEAN, names)}"
                    if not alike
                    else f"{self.path}: column {column + MEAN!r} could be any of "
                    f"{', '.join(map(repr, alike))}; use one of these names"
                )
            if chosen[0] in found:
                raise FileError(
                    f"{self.path}: column {column + MEAN!r}: another column also belongs to the "
                    f"curve {chosen[0]!r}; remove one of them"
                )
            found[chosen[0]] = band
        return found


def load_norms(path: str | os.PathLike[str]) -> Norms:
    """Read normative curves: columns percent, <curve>_mean and <curve>_sd, one row per percent.

    Names of curves are those of `GaitCycles.curves`, such as knee_angle, in their units (degrees,
    N m/kg, W/kg, body weights) and signs. A shorter name counts if one curve alone begins with it:
    hip_angle for hip_flexion_angle. Rows need not be whole percents, but reach from 0 to 100.
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(f"expected the path of a file, got {type(path).__name__}") from None
    rows = _read_rows(name)
    if not rows:
        raise FileError(f"{name}: expected a line with names of columns, got an empty file")
    header = [cell.strip() for cell in rows[0][1]]
    _check_header(name, header)
    table = np.array([_numbers(name, line, header, row) for line, row in rows[1:]])
    if len(table) < FEWEST:
        raise FileError(f"{name}: expected at least {FEWEST} rows of numbers, got {len(table)}")
    columns = dict(zip(header, table.T, strict=True))
    percent = columns[PERCENT_COLUMN]
    if (np.diff(percent) <= 0.0).any() or abs(percent[0]) > 1.0 or abs(percent[-1] - 100.0) > 1.0:
        raise FileError(
            f"{name}: column {PERCENT_COLUMN!r}: expected numbers that grow from 0 to 100, got "
            f"{percent[0]:g} to {percent[-1]:g}"
        )
    bands = {}
    for column in header:
        if column.endswith(MEAN):
            curve = column.removesuffix(MEAN)
            mean, sd = columns[column], columns[curve + SD]
            if (sd < 0.0).any():
                raise FileError(
                    f"{name}: column {curve + SD!r}: expected standard deviations of at least 0, "
                    f"got {sd.min():g}"
                )
            bands[curve] = Band(np.interp(PERCENT, percent, mean), np.interp(PERCENT, percent, sd))
    return Norms(name, bands)


def _read_rows(path: str) -> list[tuple[int, list[str]]]:
    """Number of the line and cells of each row that is not blank."""
    reader = csv.reader(read_lines(path, "a CSV table of normative curves"))
    try:
        return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise FileError(f"{path}, line {reader.line_num}: not a CSV table: {error}") from None


def _check_header(path: str, header: list[str]) -> None:
    if PERCENT_COLUMN not in header:
        raise FileError(
            f"{path}: expected a column {PERCENT_COLUMN!r}, got {', '.join(map(repr, header))}"
        )
    if len(set(header)) < len(header):
        twice = next(x for x in header if header.count(x) > 1)
        raise FileError(f"{path}: column {twice!r} appears twice")
    means = [column for column in header if column.endswith(MEAN)]
    if not means:
        raise FileError(
            f"{path}: expected columns such as knee_angle_mean and knee_angle_sd, got "
            f"{', '.join(map(repr, header))}"
        )
    for column in means:
        if column.removesuffix(MEAN) + SD not in header:
            raise FileError(f"{path}: column {column!r} has no {column.removesuffix(MEAN) + SD!r}")


def _numbers(path: str, line: int, header: list[str], row: list[str]) -> list[float]:
    if len(row) != len(header):
        raise FileError(f"{path}, line {line}: expected {len(header)} cells, got {len(row)}")
    try:
        values = [float(cell) for cell in row]
    except ValueError:
        bad = next(cell for cell in row if not _is_number(cell))
        raise FileError(f"{path}, line {line}: expected a number, got {bad!r:.40}") from None
    if not np.isfinite(values).all():
        raise FileError(f"{path}, line {line}: expected finite numbers")
    return values


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True

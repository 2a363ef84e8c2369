"""Columns of a study as its page stores them, and why cases have no result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.solution import SUCCESS
from predyn.study.study import SET_ASIDE
from predyn.view.numbers import rounded, written_unit

VARIED, COLLECTED, STATUS = "varied", "collected", "status"
SOLVED, FAILED, ASIDE = range(3)
DIGITS = 6
NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?\d+(\.\d+)?([eE][-+]?\d+)?")
OWN = ("case", "status", "message", "solved")  # columns that the page knows by name
NUMBERS = ("number", "whole")  # kinds of columns
TRUTH = ("no", "yes")

Floats = NDArray[np.float64]
Table = Mapping[str, NDArray[Any]]


class PageColumn(NamedTuple):
    """A column of the table.

    kind: number, whole (also a number), text, or flag (true or false).
    role: varied, collected or status.
    """

    name: str
    unit: str = ""
    kind: str = "number"
    role: str = COLLECTED


class Reason(NamedTuple):
    """Cases without a result for the same reason: their status, a message, their rows."""

    status: str
    message: str  # of the first of them
    rows: list[int]


def checked_length(table: Table, columns: Sequence[PageColumn]) -> int:
    """How many cases there are; every column must have as many."""
    missing = [column.name for column in columns if column.name not in table]
    if missing:
        raise InputError(
            f"table of the study: expected a column {missing[0]!r}, got "
            f"{', '.join(table) or 'no column'}"
        )
    lengths = {name: len(values) for name, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"table of the study: expected columns of one length, got {lengths}")
    return next(iter(lengths.values()), 0)


def column_data(table: Table, column: PageColumn) -> dict[str, Any]:
    """Numbers with six digits, or words that are stored once."""
    data: dict[str, Any] = {
        "name": column.name,
        "unit": written_unit(column.unit),
        "role": column.role,
    }
    values = table[column.name]
    if column.kind in NUMBERS:
        if column.kind == "whole" and column.role == STATUS:
            data["cases"] = True  # numbers of other cases, which plots would not explain
            values = np.where(values < 0, np.nan, values)  # -1: none
        return data | {"values": rounded(values, DIGITS)}
    if column.kind == "flag":
        return data | {"words": list(TRUTH), "values": [int(value) for value in values]}
    texts = [_text(value) for value in values.tolist()]
    words = sorted(set(texts) - {""}, key=_natural)
    place = {word: k for k, word in enumerate(words)}
    return data | {"words": words, "values": [place.get(text) for text in texts]}


def states_of(table: Table, count: int) -> list[int]:
    """Solved, failed or set aside, of each case; without a status all are solved."""
    if "status" not in table:
        return [SOLVED] * count
    status = [_text(value) for value in table["status"].tolist()]
    good = table["solved"].tolist() if "solved" in table else [x in SUCCESS for x in status]
    return [
        SOLVED if success else ASIDE if x == SET_ASIDE else FAILED
        for x, success in zip(status, good, strict=True)
    ]


def reasons_of(table: Table, states: Sequence[int]) -> list[Reason]:
    """Why cases have no result, the most frequent reason first; numbers in messages may differ."""
    found: dict[tuple[str, str], Reason] = {}
    for row, state in enumerate(states):
        if state == SOLVED:
            continue
        status = _text(table["status"][row])
        message = _text(table["message"][row]) if "message" in table else ""
        key = (status, NUMBER.sub("#", message))
        found.setdefault(key, Reason(status, message, [])).rows.append(row)
    return sorted(found.values(), key=lambda reason: -len(reason.rows))


def front_rows(x: Floats, y: Floats) -> list[int]:
    """Rows of finite pairs that no other one beats where less is better, along x."""
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    order = rows[np.lexsort((y[rows], x[rows]))]
    before = np.minimum.accumulate(np.concatenate([[np.inf], y[order]]))[: len(order)]
    return [int(row) for row in order[y[order] < before]]


def case_numbers(table: Table, count: int) -> list[int]:
    return [int(case) for case in table["case"]] if "case" in table else list(range(count))


def _text(value: object) -> str:
    """Words; nothing for what is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _natural(word: str) -> list[tuple[int, float, str]]:
    """So that run 9 comes before run 10."""
    parts = re.split(r"(\d+)", word)
    return [(1, float(part), "") if part.isdecimal() else (0, 0.0, part) for part in parts]

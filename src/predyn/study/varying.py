"""Read the entries [[vary]] of a study: what varies, and the values of all cases."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.config.findings import Findings
from predyn.config.joints import is_number
from predyn.config.lines import Path
from predyn.config.model import Folder
from predyn.errors import FileError, InputError, unknown_name
from predyn.storage.reading import read_at_most
from predyn.study.key_paths import parse_key
from predyn.study.sampling import KINDS, Distribution, draw_shares, read_distribution
from predyn.study.study import FUNCTION, KEY, NUMBER, QUANTITY, SEED, TEXT, Column, Knob
from predyn.study.values import check_seeds, no_number, rounded

WHAT = ("key", "quantity", "parameter", "people", "function", "seed")
VALUES = ("values", "from", "csv", *KINDS)
COMMON = ("name", "unit", "group", "count", "to", "log", "column", "whole")
PEOPLE = {"percentile": "%", "height": "m", "mass": "kg", "sex": "", "age": "", "strength": "1"}
RESERVED = (
    "case", "status", "solved", "message", "guess", "objective", "iterations", "seconds",
    "max_violation",
)  # fmt: skip
GOES_WITH = {"to": "from", "count": "from", "log": "from", "column": "csv"}
LONGEST = 200  # characters of a name
WHOLE, JSON = "whole", "json"
MOST_CASES = 1_000_000  # rows that are written down at all
LARGEST = 1e100  # of a grid: differences of its ends are numbers
MOST_BYTES = 50_000_000  # of a CSV file
SAMPLE = "[sample]"  # the group of all sampled entries


class Varied(NamedTuple):
    """One entry: what it changes, and its values or their distribution."""

    column: Column
    knob: Knob
    values: NDArray[Any] | Distribution
    group: str


def read_entry(entry: Any, where: Path, folder: Folder, findings: Findings) -> Varied | None:
    """One table of [[vary]]; None if it has errors, which are added to the findings."""
    if not isinstance(entry, dict):
        findings.add(where, f"expected a table, got {entry!r:.60}")
        return None
    unknown = entry.keys() - {*WHAT, *VALUES, *COMMON}
    for key in unknown:
        findings.unknown_key((*where, key), [*WHAT, *VALUES, *COMMON])
    what = [key for key in WHAT if key in entry]
    if len(what) != 1:
        got = " and ".join(what) or "none"
        findings.add(where, f"expected one of {', '.join(WHAT)}, got {got}")
    if unknown or len(what) != 1:
        return None
    kind, given = what[0], entry[what[0]]
    if kind == "seed" and not any(key in entry for key in VALUES):
        entry = {**entry, "values": _seeds(given)}
    varied = None
    with findings.at((*where, kind) if kind != "seed" else where):
        knob, name = _knob(kind, given)
        _check_options(entry)
        values, form, source = read_values(entry, folder)
        if entry.get("whole"):
            values = values if isinstance(values, Distribution) else rounded(values)
            form = WHOLE
        name = entry.get("name", name)
        unit = entry.get("unit", PEOPLE.get(str(given), "") if kind == "people" else "")
        if name in RESERVED:
            raise InputError(f"{name!r} is a column of every study; give this entry another name")
        column = Column(name, unit, TEXT if form in (TEXT, JSON) else NUMBER)
        group = SAMPLE if isinstance(values, Distribution) else entry.get("group", source)
        if isinstance(values, Distribution) and "group" in entry:
            raise InputError("group: all sampled entries go together; remove the group")
        if form in (TEXT, JSON) and knob.kind in (QUANTITY, SEED):
            raise InputError(f"expected numbers as values, got {no_number(values)!r:.60}")
        if knob.kind == SEED and isinstance(values, np.ndarray):
            check_seeds(values)
        varied = Varied(column, knob._replace(values=form), values, group)
    return varied


def _knob(kind: str, given: Any) -> tuple[Knob, str]:
    """What is changed, and the usual name of its column."""
    if kind == "seed":
        return Knob(SEED, ()), "seed"
    if not isinstance(given, str):
        raise InputError(f"expected text, got {given!r:.60}")
    if kind == "people":
        if given not in PEOPLE:
            raise unknown_name("property of people", given, PEOPLE)
        return Knob(KEY, ("people", given)), given  # the table is known with the task
    if kind == "function":
        file, colon, function = given.rpartition(":")
        if not (file and colon and function):
            raise InputError(f"expected FILE.py:FUNCTION, got {given!r:.60}")
        return Knob(FUNCTION, (file, function)), function
    if kind == "key":
        return Knob(KEY, parse_key(given)), given
    return Knob(QUANTITY, (given,)), given


def _check_options(entry: dict[str, Any]) -> None:
    kinds = {"name": str, "unit": str, "group": str, "whole": bool, "log": bool}
    for key, expected in kinds.items():
        if key in entry and not isinstance(entry[key], expected):
            word = "text" if expected is str else "true or false"
            raise InputError(f"{key}: expected {word}, got {entry[key]!r:.60}")
    if not 1 <= len(entry.get("name", "name").strip()) <= LONGEST:
        raise InputError(f"name: expected 1 to {LONGEST} characters, got {entry['name']!r:.60}")
    given = [key for key in VALUES if key in entry]
    for key, other in GOES_WITH.items():
        if key in entry and given and other not in given:
            raise InputError(f"{key}: goes with {other!r}, not with {given[0]!r}; remove it")


def _seeds(given: Any) -> list[int]:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST_CASES:
        raise InputError(f"seed: expected the number of seeds, got {given!r:.60}")
    return list(range(given))


def read_values(entry: dict[str, Any], folder: Folder) -> tuple[Any, str, str]:
    """Values (n,) or a distribution, the form of the values, and the group of a CSV file."""
    given = [key for key in VALUES if key in entry]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise InputError(f"expected one of {', '.join(VALUES)}, got {got}")
    distribution = read_distribution(entry)
    if distribution is not None:
        return distribution, NUMBER, ""
    if "from" in entry:
        return *_grid(entry), ""
    if "csv" in entry:
        return *_column_of_file(entry, folder), f"csv {entry['csv']}"
    values = entry["values"]
    if not isinstance(values, list) or not values:
        raise InputError(
            f"values: expected a list with at least one value, got {values!r:.60}; without values "
            "there are no cases"
        )
    return *as_array(values), ""


def _grid(entry: dict[str, Any]) -> tuple[NDArray[Any], str]:
    low: Any = entry["from"]
    high: Any = entry.get("to")
    count = entry.get("count")
    for key, value in (("from", low), ("to", high)):
        if not is_number(value) or not math.isfinite(value):
            raise InputError(f"{key}: expected a finite number, got {value!r:.60}")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_CASES:
        raise InputError(
            f"count: expected a whole number from 1 to {MOST_CASES:,}, got {count!r:.60}; there "
            "are so many values from `from` to `to`, both included"
        )
    if entry.get("log", False):
        if not (low > 0.0 and high > 0.0):
            raise InputError(f"log: expected numbers above 0, got {low:g} and {high:g}")
        return np.geomspace(float(low), float(high), count), NUMBER
    if abs(low) > LARGEST or abs(high) > LARGEST:
        raise InputError(f"from and to: expected at most {LARGEST:g}, got {low:g} and {high:g}")
    values = np.linspace(float(low), float(high), count)
    whole = isinstance(low, int) and isinstance(high, int) and bool((values % 1 == 0).all())
    return values, WHOLE if whole else NUMBER


def as_array(values: Sequence[Any]) -> tuple[NDArray[Any], str]:
    """Values of one kind as an array, and how to read them back."""
    if all(map(is_number, values)):
        numbers = np.array([float(x) for x in values])
        if np.isnan(numbers).any():
            raise InputError("values: expected numbers, got nan")
        return numbers, WHOLE if all(isinstance(x, int) for x in values) else NUMBER
    if all(isinstance(x, str) for x in values):
        return np.array(values), TEXT
    try:
        return np.array([json.dumps(x) for x in values]), JSON
    except TypeError:
        raise InputError("values: expected numbers, words, truth values or lists") from None


def _column_of_file(entry: dict[str, Any], folder: Folder) -> tuple[NDArray[Any], str]:
    """The values of a column of a CSV file with a header."""
    name, column = entry["csv"], entry.get("column")
    if not isinstance(name, str) or not isinstance(column, str):
        raise InputError("csv: expected csv = 'FILE.csv' and column = 'NAME', both text")
    path = folder.file(name)
    data = read_at_most(str(path), MOST_BYTES, "use a file with fewer rows")
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path}: not a CSV file: {error}") from None
    start = next((k for k, row in enumerate(rows) if any(cell.strip() for cell in row)), 0)
    header = [cell.strip() for cell in rows[start]] if rows else []
    column = column.strip()
    if header.count(column) != 1:
        if column in header:
            raise FileError(f"{path}: {header.count(column)} columns have the name {column!r}")
        raise FileError(f"{path}: {unknown_name('column', column, header)}")
    at, cells = header.index(column), []
    for line, row in enumerate(rows[start + 1 :], start + 2):
        if not any(cell.strip() for cell in row):
            continue
        if at >= len(row) or not row[at].strip():
            raise FileError(f"{path}, line {line}: column {column!r} is empty")
        cells.append(row[at].strip())
    if not cells:
        raise FileError(f"{path}: no rows below the header, so there are no cases")
    for form in (int, float):
        try:
            numbers = [form(cell) for cell in cells]
        except ValueError:
            continue
        if all(map(is_number, numbers)):
            return as_array(numbers)
    return as_array(cells)


def case_count(entries: Sequence[Varied], samples: int) -> dict[str | int, int]:
    """Number of rows of each group, in the order of the file; raises if members disagree."""
    sizes: dict[str | int, int] = {}  # by name of the group, or number of the entry
    first: dict[str | int, str] = {}
    for k, entry in enumerate(entries):
        group = entry.group or k
        size = samples if isinstance(entry.values, Distribution) else len(entry.values)
        if sizes.setdefault(group, size) != size:
            raise InputError(
                f"group {entry.group!r}: {first[group]!r} has {sizes[group]} values and "
                f"{entry.column.name!r} has {size}; entries of a group go together, row by row"
            )
        first.setdefault(group, entry.column.name)
    total = math.prod(sizes.values())
    if total > MOST_CASES:
        product = " x ".join(f"{size:,}" for size in sizes.values())
        raise InputError(
            f"{total:,} cases ({product}); expected at most {MOST_CASES:,}: use fewer values, or "
            "sample with uniform = [low, high] and [sample] count = ..."
        )
    return sizes


def all_values(
    entries: Sequence[Varied], samples: int, method: str, seed: int
) -> dict[str, NDArray[Any]]:
    """The values of each column in each case; the first group varies slowest."""
    sizes = case_count(entries, samples)
    groups = list(sizes)
    number = np.arange(math.prod(sizes.values()))
    places, rest = {}, number
    for group in reversed(groups):
        places[group] = rest % sizes[group]
        rest = rest // sizes[group]
    sampled = [entry for entry in entries if isinstance(entry.values, Distribution)]
    shares = draw_shares(method, samples, len(sampled), seed) if sampled else None
    values = {}
    for k, entry in enumerate(entries):
        own = entry.values
        if isinstance(own, Distribution):
            assert shares is not None
            own = own.at(shares[:, [x is entry for x in sampled].index(True)])
            own = np.round(own) if entry.knob.values == WHOLE else own
        values[entry.column.name] = own[places[entry.group or k]]
    return values

"""Text tables of recordings: bytes to lines, lines to cells, cells to numbers, errors by line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from predyn.errors import FileError
from predyn.recordings.sampling import undo_rounding
from predyn.storage.reading import read_at_most

Floats = NDArray[np.float64]

MOST_BYTES = 2**29
MOST_COLUMNS = 20_000
LONGEST_NAME = 200
ROWS_AT_ONCE = 10_000  # cells take many times the memory of numbers
MISSING = frozenset(("", "nan", "NaN", "NAN", "NA", "N/A", "na", "n/a"))
NAN = float("nan")
BLANK = " \t,;"
SIGNATURES = (
    (b"PK\x03\x04", "a spreadsheet or zip archive; save the table as CSV"),
    (b"\x89HDF", "an HDF5 file"),
    (b"%PDF", "a PDF file"),
    (b"\x1f\x8b", "compressed; unpack it first"),
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)


class Table(NamedTuple):
    """Numbers under names; `lines[k]` is the line of row k in the file."""

    path: str
    names: list[str]
    values: Floats  # (M, C), NaN = missing
    lines: NDArray[np.int64]


def fail(path: str, line: int | None, message: str) -> NoReturn:
    """Raise a FileError that names the file and the line."""
    where = path if line is None else f"{path}, line {line}"
    raise FileError(f"{where}: {message}")


def read_bytes(path: str, most: int) -> bytes:
    """All bytes of a regular file, which must not be empty or larger than `most`."""
    data = read_at_most(path, most, "split it")
    if not data:
        fail(path, None, "the file is empty; expected a recording; export it again")
    return data


def read_lines(path: str, expected: str) -> list[str]:
    """The lines of a UTF-8 text file without line ends; `expected` names the format."""
    data = read_bytes(path, MOST_BYTES)
    for mark, what in SIGNATURES:
        if data.startswith(mark):
            fail(path, None, f"expected {expected}, this is {what}")
    if len(data) > 1 and data[1] == 0x50 and 0 < data[0] < 32:
        fail(path, None, f"expected {expected}, this looks like a C3D file; name it .c3d")
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        fail(path, line, f"expected {expected}, got binary data; the file does not match its "
             "suffix")  # fmt: skip
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fail(path, line, f"expected {expected}, got bytes that are not UTF-8 text; save the file "
             "as UTF-8")  # fmt: skip
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def refuse_other_formats(path: str, lines: list[str], expected: str) -> None:
    """Raise a FileError if the text has another format; it names the right suffix."""
    first = lines[0].strip()
    if expected != "TRC" and first.startswith("PathFileType"):
        fail(path, 1, f"expected {expected}, this is a TRC file; name it .trc")
    if expected != "MOT or STO" and any(line.strip() == "endheader" for line in lines[:100]):
        fail(path, 1, f"expected {expected}, this is a storage file; name it .mot or .sto")


def check_names(path: str, line: int, names: Sequence[str], twins: bool = False) -> None:
    """Names must be given, of a sane length and, unless `twins` are allowed, distinct."""
    if len(names) > MOST_COLUMNS:
        fail(path, line, f"{len(names)} columns; expected at most {MOST_COLUMNS}")
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if not name:
            fail(path, line, f"column {k + 1} has no name; name it or remove it")
        if len(name) > LONGEST_NAME or not name.isprintable():
            fail(path, line, f"column {k + 1}: expected a name, got {name!r:.60}")
        if name in first and not twins:
            fail(path, line, f"{name!r:.60} is the name of columns {first[name] + 1} and {k + 1}; "
                 "rename or remove one")  # fmt: skip
        first[name] = k


def rename_twins(names: Sequence[str], notes: list[str]) -> list[str]:
    """Distinct names: later markers of the same name get a number, with a note."""
    used = set(names)
    count: dict[str, int] = {}
    out: list[str] = []
    changed: list[str] = []
    for name in names:
        count[name] = count.get(name, 0) + 1
        new = name
        while count[name] > 1 and new in used:
            new = f"{name}_{count[name]}"
            count[name] += new in used
        if new != name:
            changed.append(f"{name!r:.60} to {new!r:.60}")
            used.add(new)
        out.append(new)
    if changed:
        more = f" and {len(changed) - 6} more" if len(changed) > 6 else ""
        notes.append(f"markers with the same name, renamed in the order of the file: "
                     f"{', '.join(changed[:6])}{more}")  # fmt: skip
    return out


def read_numbers(
    path: str, lines: list[str], start: int, names: list[str], split: Callable[[str], list[str]]
) -> Table:
    """The table under `names`, from `lines[start]` on; blank rows are skipped."""
    kept = [k for k in range(start, len(lines)) if lines[k].strip(BLANK)]
    if not kept:
        fail(path, None, "a header without rows; expected rows of numbers; the file may be "
             "truncated")  # fmt: skip
    values = np.empty((len(kept), len(names)))
    for at in range(0, len(kept), ROWS_AT_ONCE):
        some = kept[at : at + ROWS_AT_ONCE]
        cells = [split(lines[k]) for k in some]
        for k, row in zip(some, cells, strict=True):
            if len(row) != len(names):
                _fail_for_cells(path, k + 1, row, len(names), last=k == kept[-1])
        text = "".join(lines[some[0] : some[-1] + 1])
        try:
            if "_" in text or not text.isascii():  # float() accepts 1_000 and digits of any script
                raise ValueError
            values[at : at + len(some)] = [list(map(float, row)) for row in cells]
        except ValueError:
            values[at : at + len(some)] = [
                [_parse_number(path, k + 1, *pair) for pair in zip(names, row, strict=True)]
                for k, row in zip(some, cells, strict=True)
            ]
    if len(infinite := np.argwhere(np.isinf(values))):
        i, j = infinite[0]
        fail(path, kept[i] + 1, f"column {names[j]!r:.60}: not a finite number; leave the cell "
             "empty if the value is missing")  # fmt: skip
    return Table(path, names, values, np.array(kept) + 1)


def _fail_for_cells(path: str, line: int, row: Sequence[str], width: int, last: bool) -> NoReturn:
    if len(row) == 2 * width:
        hint = "decimal commas? use decimal points, and separate the columns by ';' or tabs"
    elif last and len(row) < width:
        hint = "the file may be truncated; export it again"
    else:
        hint = "leave cells of missing values empty, but keep their separators"
    fail(path, line, f"expected {width} cells, got {len(row)}; {hint}")


def _parse_number(path: str, line: int, name: str, cell: str) -> float:
    cell = cell.strip()
    if cell in MISSING:
        return NAN
    if "_" not in cell and cell.isascii():
        with contextlib.suppress(ValueError):
            return float(cell)
    hint = ""
    if "," in cell:
        with contextlib.suppress(ValueError):
            float(cell.replace(",", ".", 1))
            hint = "; decimal commas are not supported, use a point"
    fail(path, line, f"column {name!r:.60}: expected a number, got {cell!r:.40}{hint}; leave the "
         "cell empty if the value is missing")  # fmt: skip


def settle_times(
    table: Table, t: Floats, notes: list[str], rate: float | None = None
) -> tuple[Table, Floats]:
    """The table and its times, checked; a repeated last row and rounding of the times undone."""
    if len(t) > 2 and t[-1] == t[-2] > t[-3]:
        notes.append(f"line {table.lines[-1]} repeats the time {t[-1]:.9g} s of the row before; "
                     "this last row was skipped")  # fmt: skip
        table, t = table._replace(values=table.values[:-1], lines=table.lines[:-1]), t[:-1]
    check_times(table.path, t, table.lines)
    even, found = undo_rounding(t, rate)
    if found is not None:
        notes.append(f"the times are rounded; {found:.6g} samples per second were used")
    return table, even


def check_times(path: str, t: Floats, lines: NDArray[np.int64] | None = None) -> None:
    """Raise a FileError that names the line where a time is missing, repeats or goes backwards."""

    def line(k: int) -> int | None:
        return None if lines is None else int(lines[k])

    if len(gaps := np.flatnonzero(np.isnan(t))):
        fail(path, line(gaps[0]), "the time is missing; every row needs one")
    wrong = np.flatnonzero(np.diff(t) <= 0.0)
    if len(wrong):
        k = int(wrong[0])
        does = "repeats" if t[k + 1] == t[k] else "goes backwards"
        more = f" ({len(wrong)} such rows)" if len(wrong) > 1 else ""
        fail(path, line(k + 1), f"time {does}: {t[k + 1]:.9g} s after {t[k]:.9g} s{more}; expected "
             "increasing times: sort the rows and remove duplicates")  # fmt: skip

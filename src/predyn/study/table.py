"""The table of a study: Parquet parts as they arrive, read together as columns."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import FileError
from predyn.storage.files import write_bytes
from predyn.storage.reading import refuse_irregular
from predyn.study.study import Column

Rows = Sequence[Mapping[str, Any]]
Table = dict[str, NDArray[Any]]

PARTS = "parts"
SUFFIX = ".parquet"
NUMBER, TEXT, WHOLE, FLAG = "number", "text", "whole", "flag"
CASE = Column("case", "", WHOLE)
GUESS, NO_GUESS = Column("guess", "", WHOLE), -1
OUTCOME = (
    Column("status", "", TEXT),
    Column("solved", "", FLAG),
    Column("message", "", TEXT),
    GUESS,
    Column("objective"),
    Column("iterations"),
    Column("seconds", "s"),
    Column("max_violation"),
)
EMPTY: dict[str, Any] = {NUMBER: float("nan"), TEXT: "", WHOLE: -1, FLAG: False}
LARGEST = 2**28  # bytes of a part
FINGERPRINT = b"predyn_study"


class ReadTable(NamedTuple):
    """All parts that can be read, sorted by case, and what is wrong with the others."""

    table: Table
    damaged: dict[Path, str]


def columns_of(varied: Iterable[Column], collected: Iterable[Column]) -> tuple[Column, ...]:
    """The columns of a table: the case, its values, how it ended, what was collected."""
    return (CASE, *varied, *OUTCOME, *collected)


def part_path(folder: Path, number: int) -> Path:
    return folder / PARTS / f"{number:06d}{SUFFIX}"


def write_part(path: Path, columns: Sequence[Column], rows: Rows, fingerprint: str) -> None:
    """Write rows as one file, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(columns, fingerprint)
    arrays = [
        pa.array([_plain(row.get(x.name), x.kind) for row in rows], type=field.type)
        for x, field in zip(columns, schema, strict=True)
    ]
    buffer = io.BytesIO()
    table = pa.Table.from_arrays(arrays, schema=schema)
    pq.write_table(table, buffer, write_page_checksum=True)
    write_bytes(path, buffer.getvalue())


def _plain(value: Any, kind: str) -> Any:
    """The value in its column; NaN or an empty text where there is none."""
    if value is None:
        return EMPTY[kind]
    if kind == NUMBER:
        return float(value)
    if kind == TEXT:  # names in messages may be anything
        return str(value).encode("utf-8", "backslashreplace").decode()
    return bool(value) if kind == FLAG else int(value)


def _schema(columns: Sequence[Column], fingerprint: str) -> Any:
    import pyarrow as pa

    types = {NUMBER: pa.float64(), TEXT: pa.string(), WHOLE: pa.int64(), FLAG: pa.bool_()}
    fields = [
        pa.field(x.name, types[x.kind], nullable=False, metadata={"unit": x.unit}) for x in columns
    ]
    return pa.schema(fields, metadata={FINGERPRINT: fingerprint.encode()})


def part_numbers(folder: Path) -> list[int]:
    """The numbers of all parts in a folder, in order."""
    try:
        names = os.listdir(folder / PARTS)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileError(f"{folder / PARTS}: cannot be read: {error.strerror}") from error
    stems = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    digits = [stem for stem in stems if stem.isascii() and stem.isdigit()]
    return sorted(int(x) for x in digits if x == part_path(folder, int(x)).stem)  # not 1.parquet


def read_parts(folder: Path, columns: Sequence[Column], count: int, fingerprint: str) -> ReadTable:
    """The rows that were written; of a case in several parts, those of the last one."""
    schema = _schema(columns, fingerprint)
    damaged: dict[Path, str] = {}
    tables = []
    for number in part_numbers(folder):
        path = part_path(folder, number)
        try:
            tables.append(_read_part(path, schema, columns, count))
        except FileError as error:
            damaged[path] = str(error)
    return ReadTable(_joined(tables, columns), damaged)


def _read_part(path: Path, schema: Any, columns: Sequence[Column], count: int) -> Table:
    """One part; its columns must be those of the study, and its cases those that exist."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        refuse_irregular(path)
        if path.stat().st_size > LARGEST:
            raise FileError(f"{path}: larger than {LARGEST // 2**20} MB")
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            found = file.schema_arrow
            if (found.metadata or {}).get(FINGERPRINT) != schema.metadata[FINGERPRINT]:
                raise FileError(f"{path}: belongs to another study")
            if not found.equals(schema):
                raise FileError(f"{path}: expected the columns of this study")
            table = file.read()
        made = {x.name: _values(table.column(x.name), x.kind) for x in columns}
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{path}: damaged: {reason:.200}") from None
    for name, least in ((CASE.name, 0), (GUESS.name, NO_GUESS)):
        cases = made[name]
        if len(cases) and not (cases.min() >= least and cases.max() < count):
            raise FileError(f"{path}: damaged: {name} outside {least} to {count - 1}")
    return made


def _values(column: Any, kind: str) -> NDArray[Any]:
    if column.null_count:
        raise ValueError("values are missing")
    if kind == TEXT:
        return np.array([*column.to_pylist(), None], object)[:-1]  # an array also of one text
    return np.asarray(column.to_numpy())


def _joined(tables: Sequence[Table], columns: Sequence[Column]) -> Table:
    kinds: dict[str, Any] = {NUMBER: float, TEXT: object, WHOLE: np.int64, FLAG: bool}
    if not tables:
        return {x.name: np.empty(0, kinds[x.kind]) for x in columns}
    whole = {x.name: np.concatenate([table[x.name] for table in tables]) for x in columns}
    cases = whole[CASE.name]
    # the last row of each case: the first one from behind
    _, first = np.unique(cases[::-1], return_index=True)
    last = len(cases) - 1 - first
    return {name: values[last] for name, values in whole.items()}


def read_table(folder: str | os.PathLike[str]) -> Table:
    """The table of a study in a folder, also of one that is still running: a column by name.

    Texts are arrays of str objects. Raises a FileError if the folder holds no study, or a part is
    damaged; running the study again repairs it.
    """
    from predyn.study.folder import read_description

    place = Path(folder)
    about = read_description(place)
    read = read_parts(place, about.columns, about.cases, about.fingerprint)
    for message in read.damaged.values():
        raise FileError(f"{message}; run the study again with the same --out to repair it")
    return read.table

"""The folder of a study: what it describes itself with, solutions to start from, kept solutions.

    study.json          fingerprint, columns with units, versions, the texts that it was made from
    parts/000001.parquet    rows of cases, in the order in which they ended
    guesses/000123.h5   solutions that cases still to come start from
    solutions/000123.h5 all solutions, if they are kept

A file is written whole or not at all, solutions before the rows of their cases. So whatever is in
the folder when a process is killed is valid, and the rows tell what has been done.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from predyn import __version__
from predyn.errors import FileError
from predyn.storage.files import (
    not_written,
    remove_leftovers,
    writable_folder,
    write_bytes,
    write_text,
)
from predyn.storage.folder_lock import lock_folder
from predyn.storage.reading import read_at_most, refuse_irregular
from predyn.study.study import Column
from predyn.study.table import CASE, FLAG, NUMBER, OUTCOME, PARTS, TEXT, WHOLE

DESCRIPTION = "study.json"
REPORT = "report.html"
GUESSES, SOLUTIONS = "guesses", "solutions"
KIND, FORMAT = "predyn study", 1
LARGEST_SOLUTION = 2**31  # bytes
MOST_CASES = 10_000_000
LARGEST = 2**26  # bytes of study.json
PACKAGES = ("numpy", "numba", "scipy", "pyarrow")


class Description(NamedTuple):
    """What study.json says."""

    name: str
    description: str
    fingerprint: str
    cases: int
    columns: tuple[Column, ...]
    more: Mapping[str, Any]  # everything else


def describe(folder: Path, about: Description, texts: Mapping[str, str]) -> None:
    """Write study.json."""
    roles = {CASE.name: "case"} | {x.name: "outcome" for x in OUTCOME}
    varied = set(about.more.get("varied", ()))
    columns = [
        x._asdict() | {"role": "varied" if x.name in varied else roles.get(x.name, "collected")}
        for x in about.columns
    ]
    tree = {
        "kind": KIND,
        "format": FORMAT,
        "name": about.name,
        "description": about.description,
        "fingerprint": about.fingerprint,
        "cases": about.cases,
        "columns": columns,
        **{key: value for key, value in about.more.items() if key != "varied"},
        "versions": _versions(),
        "provenance": {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "platform": platform.platform(),
            "texts": dict(texts),
        },
    }
    write_text(folder / DESCRIPTION, json.dumps(tree, indent=1, default=str) + "\n")


def _versions() -> dict[str, str]:
    found = {"predyn": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def read_description(folder: Path) -> Description:
    """What study.json says; a FileError if there is none, or it is damaged."""
    path = folder / DESCRIPTION
    if not path.exists():
        raise FileError(f"{folder}: there is no {DESCRIPTION}; expected the folder of a study")
    data = read_at_most(str(path), LARGEST, "expected the description of a study")
    try:
        tree = json.loads(data)
        if tree["kind"] != KIND:
            raise ValueError(f"kind {tree['kind']!r:.60}")
        if not isinstance(tree["format"], int) or tree["format"] > FORMAT:
            raise FileError(f"{path}: format {tree['format']!r:.20}; install a newer predyn")
        columns = tuple(_column(row) for row in tree["columns"])
        names = [x.name for x in columns]
        missing = {x.name for x in (CASE, *OUTCOME) if x not in columns}
        if missing or len(set(names)) < len(names):
            raise ValueError(f"wrong columns: {', '.join(sorted(missing)) or 'two of one name'}")
        if not 1 <= int(tree["cases"]) <= MOST_CASES:
            raise ValueError(f"{tree['cases']!r:.20} cases")
        known = ("kind", "format", "name", "description", "fingerprint", "cases", "columns")
        more = {key: value for key, value in tree.items() if key not in known}
        more["varied"] = [row["name"] for row in tree["columns"] if row.get("role") == "varied"]
        return Description(
            str(tree["name"]), str(tree["description"]), str(tree["fingerprint"]),
            int(tree["cases"]), columns, more,
        )  # fmt: skip
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise FileError(
            f"{path}: damaged ({type(error).__name__}: {error!s:.100}); expected what predyn has "
            "written; remove this file and run the study again, which keeps the parts of its table"
            ", or choose another folder"
        ) from None


def _column(row: Mapping[str, Any]) -> Column:
    kind = row["kind"]
    if kind not in (NUMBER, TEXT, WHOLE, FLAG):
        raise ValueError(f"kind {kind!r:.20}")
    return Column(str(row["name"]), str(row.get("unit", "")), kind)


@contextlib.contextmanager
def study_folder(folder: Path) -> Iterator[None]:
    """Make and lock the folder of a study; a new one that stays empty is removed."""
    made = not os.path.exists(folder)
    writable_folder(folder)
    try:
        with lock_folder(folder):
            for part in ("", PARTS, GUESSES, SOLUTIONS):
                if (folder / part).is_dir():
                    remove_leftovers(folder / part)
            yield
    finally:
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()


class SolutionFiles:
    """The solutions in a folder, by case: those to start from, and all if they are kept."""

    def __init__(self, folder: Path, keep: bool) -> None:
        self._folder, self._keep = folder, keep

    def place(self, case: int) -> Path:
        return self._folder / (SOLUTIONS if self._keep else GUESSES) / f"{case:06d}.h5"

    def write(self, case: int, data: bytes) -> None:
        path = self.place(case)
        if not path.parent.is_dir():
            with _made(path.parent):
                path.parent.mkdir(exist_ok=True)
        write_bytes(path, data)

    def read(self, case: int) -> bytes:
        """The bytes of a file; those that have changed would change the results of others."""
        path = self.place(case)
        again = "run the study again to solve this case again"
        try:
            data = read_at_most(str(path), LARGEST_SOLUTION, again)
            _check_seal(io.BytesIO(data))
        except FileError as error:
            reason = str(error).removeprefix(f"{path}: ").removesuffix(f"; {again}")
            raise FileError(f"{path}: {reason}; {again}") from None
        return data

    def has(self, case: int) -> bool:
        """Whether the file is there and has not been changed."""
        try:
            refuse_irregular(self.place(case))
            with open(self.place(case), "rb") as file:
                _check_seal(file)
        except (OSError, FileError):
            return False
        return True

    def remove(self, case: int) -> None:
        """Remove a solution that is not needed any more."""
        if not self._keep:
            with contextlib.suppress(OSError):
                self.place(case).unlink(missing_ok=True)

    def remove_others(self, needed: set[int]) -> None:
        """Remove what earlier runs left behind, and the folder if nothing is in it."""
        if self._keep:
            return
        folder = self._folder / GUESSES
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                stem = name.removesuffix(".h5")
                if stem.isdigit() and int(stem) not in needed:
                    (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def _check_seal(file: BinaryIO) -> None:
    from predyn.solution.file import KIND as OF_SOLUTION
    from predyn.solution.file import VERSION
    from predyn.storage import hdf5_tree

    hdf5_tree.check_seal(file, OF_SOLUTION, VERSION)


@contextlib.contextmanager
def _made(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise not_written(path, error) from error


def make_parts(folder: Path) -> None:
    with _made(folder / PARTS):
        (folder / PARTS).mkdir(exist_ok=True)


def command_line() -> str:
    """The command that was given, to be given again."""
    import shlex

    name = Path(sys.argv[0]).name
    first = "predyn" if name in ("predyn", "__main__.py") else f"python {shlex.quote(sys.argv[0])}"
    return " ".join([first, *map(shlex.quote, sys.argv[1:])])

"""Folders of results: what belongs together is replaced together or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from predyn.errors import FileError
from predyn.files import writable_folder, write_text
from predyn.solution import Solution

if TYPE_CHECKING:
    from predyn.estimate.result import Estimate

SOLUTION, SUMMARY, REPORT, CHECKPOINT = (
    "solution.h5",
    "summary.json",
    "report.html",
    "checkpoint.h5",
)
ESTIMATE = "result.h5"
LONGEST = 60  # characters of a folder that is named after a task; file systems allow 255 bytes
ASIDE = "not-converged"  # subfolder for a run that must not replace a better result


def folder_name(task: str) -> str:
    """A task's name as that of a folder in the working directory."""
    return re.sub(r"[^\w.-]+", "-", task).strip("-.")[:LONGEST] or "result"


@contextlib.contextmanager
def prepared(folder: Path) -> Iterator[None]:
    """Make sure that the folder can be written to; leave none behind that stayed empty."""
    made = not os.path.exists(folder)
    writable_folder(folder)
    try:
        yield
    finally:
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def refuse_other(folder: Path, other: str) -> None:
    """A folder with a result of the other kind is not taken: summary and report would be lost."""
    if os.path.exists(folder / other):
        raise FileError(f"{folder}: holds another kind of result, {other}; choose another folder")


def latest(folder: Path) -> Path:
    """What a run in this folder can go on from: the newest of its checkpoint and its results."""
    places = [folder / CHECKPOINT, folder / SOLUTION, folder / ASIDE / SOLUTION]
    found = [path for path in places if path.is_file()]
    if not found:
        raise FileError(f"{folder}: nothing to resume from: no {CHECKPOINT} and no {SOLUTION}")
    return max(found, key=lambda path: path.stat().st_mtime)


def write_results(solution: Solution, folder: Path) -> list[Path]:
    """Write solution and summary; returns their paths.

    What did not converge goes to a subfolder if the folder holds a result that did. A report of
    what was there before is removed: it would show another motion.
    """
    if not solution.success and holds_success(folder, SOLUTION):
        folder = writable_folder(folder / ASIDE)
    summary = json.dumps(solution.summary(), indent=2) + "\n"
    writers = {SOLUTION: solution.save, SUMMARY: lambda path: write_text(path, summary)}
    return write_together(folder, writers, stale=(REPORT,))


def write_together(
    folder: Path, writers: Mapping[str, Callable[[Path], None]], stale: Sequence[str] = ()
) -> list[Path]:
    """Let each writer fill a file, then put all in their places; returns their paths.

    If one fails, the folder is as it was. Stale files are removed with what they belonged to.
    """
    for name in (*writers, *stale):
        if (folder / name).is_dir():
            raise FileError(
                f"{folder / name}: cannot be written: it is a folder; move it or choose another one"
            )
    try:
        waiting = Path(tempfile.mkdtemp(prefix=".predyn-", dir=folder))
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror}") from error
    try:
        for name, write in writers.items():
            write(waiting / name)
        _exchange(folder, waiting, writers, stale)
    except FileError as error:
        raise FileError(str(error).replace(str(waiting), str(folder))) from error
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)
    return [folder / name for name in writers]


def _exchange(folder: Path, waiting: Path, new: Iterable[str], stale: Sequence[str]) -> None:
    """Move new files to the folder and remove stale ones; if that fails, put all back."""
    kept = waiting / "before"
    kept.mkdir()
    done: list[str] = []
    try:
        for name in (*new, *stale):
            if os.path.lexists(folder / name):
                _keep(folder / name, kept / name)
            done.append(name)
            if name in stale:
                (folder / name).unlink(missing_ok=True)
            else:
                os.replace(waiting / name, folder / name)
    except BaseException:
        for name in done:
            if os.path.lexists(kept / name):
                os.replace(kept / name, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
        raise


def _keep(path: Path, copy: Path) -> None:
    """A second name of a file, or a copy where there are no second names."""
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, copy, follow_symlinks=False)


def holds_success(folder: Path, result: str) -> bool:
    """Whether there is a result that a failed run must not replace; in doubt there is."""
    if not os.path.exists(folder / result):
        return False
    try:
        return json.loads((folder / SUMMARY).read_text())["success"] is not False
    except (OSError, ValueError, KeyError, TypeError):
        return True


def result_path(path: Path) -> Path:
    """The file of a result; of a folder the solution or the estimate in it."""
    if not path.is_dir():
        return path
    return path / (ESTIMATE if not (path / SOLUTION).is_file() and (path / ESTIMATE).is_file()
                   else SOLUTION)  # fmt: skip


def other_files(path: Path) -> list[Path]:
    """Files that may hold results, of a folder that has none under the usual names."""
    if not path.is_dir() or result_path(path).is_file():
        return []
    return sorted(file for file in path.glob("*.h5") if file.is_file())


def load_result(path: str | os.PathLike[str]) -> Solution | Estimate:
    """The solution or estimate in a file; its first line says which."""
    from predyn.estimate.result_file import KIND, load_estimate
    from predyn.solution_file import load_solution

    with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
        if file.read(len(KIND)) == KIND.encode():
            return load_estimate(path)
    return load_solution(path)

"""Results in folders: the names of their files, and which run may replace which."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from predyn.analysis.lifting import find_lift
from predyn.errors import FileError
from predyn.results.folder import complete, locked, replace_together
from predyn.solution import Solution
from predyn.storage.files import write_text
from predyn.storage.reading import refuse_irregular

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


def refuse_obstacles(folder: Path) -> None:
    """A file where the subfolder for a failed run would be, found before the run."""
    if os.path.lexists(folder / ASIDE) and not (folder / ASIDE).is_dir():
        raise FileError(
            f"{folder / ASIDE}: expected a folder for runs that do not converge, got a file; "
            "move it or choose another folder"
        )


def refuse_other(folder: Path, other: str) -> None:
    """A folder with a result of the other kind is not taken: summary and report would be lost."""
    if os.path.exists(folder / other):
        raise FileError(
            f"{folder}: contains another kind of result, {other}; choose another folder"
        )


def latest(folder: Path) -> Path:
    """What a run in this folder can resume from: the newest of its checkpoint and its results."""
    places = [folder / CHECKPOINT, folder / SOLUTION, folder / ASIDE / SOLUTION]
    files = [path for path in places if path.is_file()]
    if not files:
        raise FileError(f"{folder}: nothing to resume from: expected {CHECKPOINT} or {SOLUTION}")
    return max(files, key=lambda path: path.stat().st_mtime)


def write_results(solution: Solution, folder: Path) -> list[Path]:
    """Write solution and summary, with the loads of a lift; returns their paths.

    A solution that did not converge goes to a subfolder if the folder holds one that did. An old
    report is removed: it would show another motion.
    """
    lift = find_lift(solution)
    summary = solution.summary() | ({} if lift is None else {"lift": lift.summary()})
    text = json.dumps(summary, indent=2) + "\n"
    writers = {SOLUTION: solution.save, SUMMARY: lambda path: write_text(path, text)}
    with folder_for(solution, folder, SOLUTION) as target:
        return replace_together(target, writers, stale=(REPORT,))


@contextlib.contextmanager
def folder_for(result: Solution | Estimate, folder: Path, name: str) -> Iterator[Path]:
    """The folder, or its subfolder for what must not replace the converged result in it."""
    if result.success or not holds_success(folder, name):
        yield folder
    else:
        with locked(folder / ASIDE):
            yield folder / ASIDE


def holds_success(folder: Path, name: str) -> bool:
    """Whether there is a result that a failed run must not replace; assumed if unreadable."""
    if not os.path.exists(folder / name):
        return False
    try:
        return load_result(folder / name).success
    except FileError:
        return True


def result_path(path: Path) -> Path:
    """The file of a result; of a folder the solution or the estimate in it."""
    complete(path if path.is_dir() else path.parent)
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
    from predyn.solution.file import load_solution

    refuse_irregular(path)
    with contextlib.suppress(OSError, ValueError), open(os.fspath(path), "rb") as file:
        if file.read(len(KIND)) == KIND.encode():
            return load_estimate(path)
    return load_solution(path)

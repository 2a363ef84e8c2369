"""The folder of a result: solution and summary are replaced together or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from predyn.errors import FileError
from predyn.files import writable_folder, write_text
from predyn.solution import Solution

SOLUTION, SUMMARY, REPORT, CHECKPOINT = (
    "solution.h5",
    "summary.json",
    "report.html",
    "checkpoint.h5",
)
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
    if not solution.success and _holds_success(folder):
        folder = writable_folder(folder / ASIDE)
    try:
        waiting = Path(tempfile.mkdtemp(prefix=".predyn-", dir=folder))
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror}") from error
    try:
        solution.save(waiting / SOLUTION)
        write_text(waiting / SUMMARY, json.dumps(solution.summary(), indent=2) + "\n")
        for name in (SOLUTION, SUMMARY):
            os.replace(waiting / name, folder / name)
        (folder / REPORT).unlink(missing_ok=True)
    except FileError as error:
        raise FileError(str(error).replace(str(waiting), str(folder))) from error
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)
    return [folder / SOLUTION, folder / SUMMARY]


def _holds_success(folder: Path) -> bool:
    """Whether there is a result that a failed run must not replace; in doubt there is."""
    if not (folder / SOLUTION).exists():
        return False
    try:
        return json.loads((folder / SUMMARY).read_text())["success"] is not False
    except (OSError, ValueError, KeyError, TypeError):
        return True

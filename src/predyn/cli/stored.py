"""Find and load the result that a path on the command line refers to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from predyn import tasks
from predyn.errors import InputError

if TYPE_CHECKING:
    from predyn.estimate.result import Estimate
    from predyn.solution import Solution


LISTED = 10  # files named in a message
STUDY = "study.json"


def is_study_folder(path: Path) -> bool:
    """Whether a folder holds the results of `predyn study` or `predyn pareto`."""
    return (path / STUDY).is_file()


def path_of_result(path: Path, command: str = "check") -> Path:
    """The file itself, or that in a folder; command: suggested if there are other files."""
    from predyn.results.stored import ESTIMATE, SOLUTION, other_files, result_path

    if str(path) in tasks.NAMES and not path.exists():
        raise InputError(
            f"{path} is a built-in task without a result here; solve it first: predyn solve {path}"
        )
    if is_study_folder(path) and not result_path(path).is_file():
        raise InputError(
            f"{path}: contains a study; open its report.html, which `predyn report {path}` writes, "
            f"or name the solution of a case, if they were kept: "
            f"{path / 'solutions' / '000000.h5'}"
        )
    if others := other_files(path):
        names = ", ".join(file.name for file in others[:LISTED])
        names += f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
        raise InputError(
            f"{path}: contains neither {SOLUTION} nor {ESTIMATE}, but {names}; name the file: "
            f"predyn {command} {others[0]}"
        )
    return result_path(path)


def load(path: Path) -> Solution:
    """A solution, by its file or folder."""
    from predyn.solution.file import load_solution

    return load_solution(path_of_result(path))


def load_any(path: Path) -> Solution | Estimate:
    """A solution or an estimate, by its file or folder."""
    from predyn.results.stored import load_result

    return load_result(path_of_result(path))

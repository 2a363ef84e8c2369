"""Results in files: which file is meant, and what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from predyn import tasks
from predyn.errors import InputError

if TYPE_CHECKING:
    from predyn.estimate.result import Estimate
    from predyn.solution import Solution


def path_of_result(path: Path) -> Path:
    """The file itself, or that in a folder."""
    from predyn.results import result_path

    if str(path) in tasks.NAMES and not path.exists():
        raise InputError(f"{path} is a built-in task without a result here: predyn solve {path}")
    return result_path(path)


def load(path: Path) -> Solution:
    """A solution, by its file or folder."""
    from predyn.solution_file import load_solution

    return load_solution(path_of_result(path))


def load_any(path: Path) -> Solution | Estimate:
    """A solution or an estimate, by its file or folder."""
    from predyn.results import load_result

    return load_result(path_of_result(path))

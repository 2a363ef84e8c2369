"""The results of a study in a folder."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import FileError, InputError
from predyn.study.folder import SOLUTIONS, Description, read_description
from predyn.study.study import SET_ASIDE, Column
from predyn.study.table import Table, read_table

if TYPE_CHECKING:
    from predyn.solution import Solution

MOST_MESSAGE = 200  # characters of a message that are printed


class StudyResults:
    """What a study has found so far, read from its folder when it is first asked for.

    Also of a study that is still running, or was interrupted: the table has the cases that ended.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._about = read_description(self.folder)

    @property
    def name(self) -> str:
        return self._about.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """Name, unit and kind of each column."""
        return self._about.columns

    @property
    def description(self) -> Description:
        """What study.json says."""
        return self._about

    def __len__(self) -> int:
        """The number of cases, those that have not ended too."""
        return self._about.cases

    @cached_property
    def table(self) -> Table:
        """Each column by name, (cases,), sorted by case; texts are arrays of str objects."""
        return read_table(self.folder)

    @property
    def failed(self) -> NDArray[np.int64]:
        """Cases without a solution, those that were set aside too."""
        return np.asarray(self.table["case"][~self.table["solved"]])

    @property
    def set_aside(self) -> NDArray[np.int64]:
        """Cases that were given up because their worker died twice."""
        return np.asarray(self.table["case"][self.table["status"] == SET_ASIDE])

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame, with the case as its index."""
        try:
            import pandas
        except ImportError:
            raise InputError(
                'to_pandas: needs pandas; install it with pip install "predyn[tables]"'
            ) from None
        return pandas.DataFrame(self.table).set_index("case")

    def solution(self, case: int) -> Solution:
        """The full solution of a case; only if the study keeps solutions."""
        whole = isinstance(case, int | np.integer) and not isinstance(case, bool)
        if not whole or not 0 <= case < len(self):
            raise InputError(
                f"case: expected a whole number from 0 to {len(self) - 1}, got {case!r:.60}"
            )
        path = self.folder / SOLUTIONS / f"{case:06d}.h5"
        if not path.exists():
            raise FileError(
                f'{path}: no such file; solutions are kept with keep = "all" in the table '
                "[solve] of the study, of the cases that could be built"
            )
        from predyn.solution.file import load_solution

        return load_solution(path)

    def __str__(self) -> str:
        done = len(self.table["case"])
        lines = [
            f"study {self.name!r}: {done} of {len(self)} cases ended, "
            f"{done - len(self.failed)} solved, {len(self.failed)} failed"
        ]
        for status in sorted(set(self.table["status"][~self.table["solved"]].tolist())):
            cases = self.table["case"][self.table["status"] == status].tolist()
            named = ", ".join(map(str, cases[:10])) + (", ..." if len(cases) > 10 else "")
            lines.append(f"  {status}: {len(cases)} (case {named})")
            first = str(self.table["message"][self.table["case"] == cases[0]][0])
            lines.append(f"    case {cases[0]}: {shorten(first, MOST_MESSAGE, placeholder=' ...')}")
        return "\n".join(lines)

"""Studies without solves: cases whose results depend on their values and guesses alone."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from fake_solution import fake_solution
from predyn.solution import Solution
from predyn.study import CaseResult, Column, Study
from predyn.study.case_worker import Setup, Task, begin
from predyn.study.runner import Workers
from predyn.study.study import Source
from predyn.workers.events import Done, Event, Failed, Joined, Lost

COLLECTED = (Column("twice", "m"), Column("word", "", "text"))
SECONDS = "seconds"  # the column that may differ between runs


def fake_study(
    n: int,
    columns: int = 2,
    keep: bool = False,
    warm: bool = True,
    words: tuple[str, ...] = (),
    **behaviour: Any,
) -> Study:
    """n cases. behaviour, by case: poison, raises, invalid, fails (lists); sleep (s)."""
    rng = np.random.default_rng(3)
    values: dict[str, Any] = {f"x{j}": rng.uniform(0.0, 1.0, n) for j in range(columns)}
    varied = [Column(name, "N") for name in values]
    if words:
        values["who"] = np.array([words[k % len(words)] for k in range(n)])
        varied.append(Column("who", "", "text"))
    source = Source("task", json.dumps(behaviour), behaviour, "", "", False, False)
    return Study("fake", "made up", tuple(varied), values, COLLECTED, warm, keep, (), source)


class FakeSolver:
    """Solves a case by adding up its values and a part of its guess's objective."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.base = fake_solution()

    def solve(self, k: int, guess: Solution | None) -> CaseResult:
        behaviour: Mapping[str, Any] = self.study.source.tree
        time.sleep(behaviour.get("sleep", 0.0))
        if k in behaviour.get("poison", ()):
            os.kill(os.getpid(), signal.SIGKILL)
        if k in behaviour.get("raises", ()):
            raise ValueError(f"case {k} raises")
        numbers = sum(
            float(x) for x in self.study.case_values(k).values() if not isinstance(x, str)
        )
        objective = numbers + (0.0 if guess is None else 0.25 * guess.objective)
        row = {"status": "optimal", "message": "", "objective": objective, "iterations": 7.0}
        row |= {"seconds": time.perf_counter(), "max_violation": 0.0}
        row |= {"twice": 2.0 * objective, "word": f"case {k}"}
        if k in behaviour.get("invalid", ()):
            return CaseResult(row | {"status": "invalid", "message": "mass: expected ..."}, None)
        status = "infeasible" if k in behaviour.get("fails", ()) else "optimal"
        row["status"] = status
        solution = replace(self.base, objective=objective, status=status)
        return CaseResult(row, solution, guess is not None)


class Inside:
    """Workers in this process. `dies(task, number)` says whether a job takes its worker along."""

    def __init__(
        self, setup: Setup, count: int = 1, dies: Callable[[Task, int], bool] | None = None
    ) -> None:
        self._setup, self._count, self._dies = setup, count, dies
        self._events: list[Event] = []
        self.tasks: list[Task] = []
        self.seats = 0

    def __enter__(self) -> Self:
        self._run = begin(self._setup)
        for _ in range(self._count):
            self._join()
        return self

    def __exit__(self, *_: object) -> None:
        self._events.clear()

    def _join(self) -> None:
        self.seats += 1
        self._events.append(Joined(self.seats))

    def assign(self, seat: int, job: Task) -> None:
        self.tasks.append(job)
        poison = set(self._setup.study.source.tree.get("poison", ())) & set(job.job.cases)
        if poison or (self._dies is not None and self._dies(job, len(self.tasks))):
            self._events.append(Lost(seat, "was ended by SIGKILL"))
            self._join()
            return
        try:
            self._events.append(Done(seat, self._run(job)))
        except Exception as error:
            self._events.append(Failed(seat, str(error)))

    def wait(self, seconds: float | None = None) -> list[Event]:
        """The last event first: not in the order in which jobs were given out."""
        events = self._events[::-1]
        self._events.clear()
        return events


class Run(NamedTuple):
    table: dict[str, Any]
    workers: list[Inside]
    messages: list[str]


def run_inside(study: Study, folder: Path, count: int = 1, dies: Any = None) -> Run:
    """Run a fake study in this process."""
    from predyn.study.running import run_cases

    made: list[Inside] = []
    messages: list[str] = []

    def start(setup: Setup) -> Workers:
        made.append(Inside(setup, count, dies))
        return made[-1]

    def report(progress: Any) -> None:
        if progress.message:
            messages.append(progress.message)

    results = run_cases(study, folder, FakeSolver, start, report)
    return Run(results.table, made, messages)


def same_tables(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two tables agree in all but times, bit by bit."""
    assert one.keys() == other.keys()
    for name in one.keys() - {SECONDS}:
        numbers = one[name].dtype.kind == "f"
        if not np.array_equal(one[name], other[name], equal_nan=numbers):
            return False
    return True

"""What a worker does with a job: its cases one after another, each from a neighbour's solution."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from predyn.estimate.result import CONVERGED
from predyn.solution import Solution
from predyn.solution.file import bytes_of_solution, solution_of_bytes
from predyn.study.schedule import NONE, Job
from predyn.study.study import Study

REMEMBERED = 16  # guesses that a worker keeps
Row = dict[str, Any]


class CaseSolving(Protocol):
    """What solves the cases of a study (cases.CaseSolver)."""

    def solve(self, k: int, guess: Solution | None) -> Any:
        """A result with `row`, `solution` and `warm`."""


class Setup(NamedTuple):
    """What a worker needs once."""

    study: Study
    make: Callable[[Study], CaseSolving]
    keep: bool  # whether all solutions are returned


class Task(NamedTuple):
    """A job with the solutions that it starts from, as bytes of their files."""

    job: Job
    guesses: dict[int, bytes]


class JobResult(NamedTuple):
    """Rows in the order of the job, and solutions as bytes of their files, by case."""

    rows: list[Row]
    solutions: dict[int, bytes]
    seconds: float


def begin(setup: Setup) -> Callable[[Task], JobResult]:
    """Called once in each worker."""
    return CaseWorker(setup).run


class CaseWorker:
    """Keeps what cases have in common, and the guesses used last."""

    def __init__(self, setup: Setup) -> None:
        self._keep = setup.keep
        self._solver = setup.make(setup.study)
        self._known: OrderedDict[int, Solution] = OrderedDict()

    def run(self, task: Task) -> JobResult:
        began = perf_counter()
        job = task.job
        sources = dict(job.sources)
        solutions: dict[int, Any] = {}
        rows, kept = [], {}
        for k, parent in zip(job.cases, job.parents, strict=True):
            source = sources.get(parent, NONE)
            guess = None
            if source != NONE:
                guess = solutions.get(source) or self._guess(source, task.guesses)
            row, solution, solved = self._solve(k, source, guess)
            rows.append(row)
            sources[k] = k if solved else source
            if solved:
                solutions[k] = solution
            if self._keep and solution is not None:
                kept[k] = bytes_of_solution(solution, f"case {k}")
        for k in {sources[x] for x in job.wanted} & solutions.keys() - kept.keys():
            kept[k] = bytes_of_solution(solutions[k], f"case {k}")
        return JobResult(rows, kept, perf_counter() - began)

    def _solve(self, k: int, source: int, guess: Solution | None) -> tuple[Row, Any, bool]:
        """The row of a case, its solution, and whether it was solved.

        Where a neighbour's solution leads nowhere, the guess of the task is tried.
        """
        result = self._solver.solve(k, guess)
        if result.warm and result.solution is not None and not result.solution.success:
            second = self._solver.solve(k, None)
            if second.solution is not None and second.solution.success:
                second.row["seconds"] += result.row["seconds"]
                result = second
        solved = _solved(result)
        # of a case that failed, `guess` is what its children start from, too
        used = NONE if solved and not result.warm else source
        return {**result.row, "case": k, "solved": solved, "guess": used}, result.solution, solved

    def _guess(self, case: int, given: dict[int, bytes]) -> Solution:
        if case not in self._known:
            self._known[case] = solution_of_bytes(given[case], f"the solution of case {case}")
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(case)
        return self._known[case]


def _solved(result: Any) -> bool:
    """Whether a case has an answer; estimates come without a solution."""
    if result.solution is None:
        return bool(result.row["status"] == CONVERGED)
    return bool(result.solution.success)

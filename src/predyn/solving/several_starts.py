"""The best of several starts, each in a process of its own, or one after another."""

from __future__ import annotations

import os
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from predyn.errors import InputError
from predyn.nlp import Multipliers
from predyn.problem import Problem
from predyn.solution import EXCEEDS, Solution
from predyn.solvers.ipopt_callbacks import Iterate
from predyn.solving.continuation import solve_in_stages
from predyn.solving.single_solve import Output, Report
from predyn.workers import Done, Failed, Joined, LocalWorkers, Lost, NoWorkers, Unsendable

Job = tuple[Problem, Any, int, int, bool, str]
Do = Callable[[list[Job]], Iterator[Solution]]
FIRST, GENERATION = 20, 10  # starts from the guess, then starts from the best so far at a time
_one_process: ContextVar[bool] = ContextVar("_one_process", default=False)


@contextmanager
def starts_in_this_process() -> Iterator[None]:
    """Make starts one after another in this process, with the same results.

    For workers: their number is chosen by the user, and those of Dask may start no processes.
    """
    token = _one_process.set(True)
    try:
        yield
    finally:
        _one_process.reset(token)


def _begin(setup: None) -> Callable[[Job], Solution | Exception]:
    return _start


def _start(job: Job) -> Solution | Exception:
    """One start, in a process of its own; its error as a value, so that it keeps its class."""
    problem, guess, seed, number, near, text = job
    try:
        return solve_in_stages(problem, guess, Output(text), start=(seed, number), near=near)
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        return error


@contextmanager
def _explain_process_errors() -> Iterator[None]:
    """Errors between processes as clear messages."""
    try:
        yield
    except NoWorkers:
        raise InputError(
            "starts: the worker processes exited unexpectedly. A script that uses several starts "
            'must call solve under `if __name__ == "__main__":`; if it does, the machine may have '
            "run out of memory"
        ) from None
    except Unsendable as error:
        raise InputError(
            f"starts: the problem cannot be sent to other processes ({error.cause}); user terms "
            "need functions at module level, not lambdas or inner functions"
        ) from None


@contextmanager
def _starter(count: int) -> Iterator[Do]:
    """What makes a list of starts."""
    if _one_process.get():
        yield _in_turn
        return
    with _explain_process_errors(), LocalWorkers(_begin, None, count) as workers:
        yield _Pool(workers).do


def _in_turn(jobs: list[Job]) -> Iterator[Solution]:
    for job in jobs:
        solution = _start(job)
        if isinstance(solution, Exception):
            raise solution
        yield solution


def best_of_starts(
    problem: Problem,
    guess: Any,
    starts: int,
    seed: int,
    text: str,
    report: Report | None,
) -> Solution:
    """The best of several starts. Each process has one thread: MUMPS is not thread safe.

    The first starts bend the guess at random; of later ones two in three bend the best optimum so
    far, ten at a time, so that the result does not depend on the number of processes.
    """
    began = monotonic()
    solutions: list[Solution] = []
    stopped = False
    count = min(starts, os.cpu_count() or 1)
    with _starter(count) as do:
        try:
            while len(solutions) < starts:
                later = len(solutions) >= FIRST
                stop = min(starts, len(solutions) + (GENERATION if later else FIRST))
                jobs = []
                for k in range(len(solutions), stop):
                    near = later and k % 3 != 0
                    source = _best(solutions) if near else guess
                    jobs.append((problem, source, seed, k, near, text))
                for solution in do(jobs):
                    solutions.append(solution)
                    if (
                        report is not None
                        and report(_ended(solutions, monotonic() - began)) is False
                    ):
                        starts, stopped = len(solutions), True
                        break
        except KeyboardInterrupt:
            if not solutions:
                raise
            stopped = True
    spread = tuple(
        {
            "start": k,
            "status": s.status,
            "objective": s.objective,
            "iterations": s.iterations,
            "max_violation": s.max_violation,
        }
        for k, s in enumerate(solutions)
    )
    best = replace(_best(solutions), starts=spread)
    if stopped:
        note = f"stopped after {len(solutions)} starts; the best of them is {best.status}"
        best = replace(best, status="interrupted", message=note)
    return best


class _Pool:
    """Workers that do lists of jobs."""

    def __init__(self, workers: LocalWorkers) -> None:
        self._workers = workers
        self._idle: list[int] = []

    def do(self, jobs: list[Job]) -> Iterator[Solution]:
        """The results in the order of the jobs. A job whose worker died is done once more."""
        waiting = deque(range(len(jobs)))
        running: dict[int, int] = {}  # seat -> job
        lost: set[int] = set()
        found: dict[int, Solution] = {}
        for k in range(len(jobs)):
            while k not in found:
                while waiting and self._idle:
                    running[self._idle[-1]] = waiting[0]
                    self._workers.assign(self._idle.pop(), jobs[waiting.popleft()])
                for event in self._workers.wait():
                    if isinstance(event, Joined):
                        self._idle.append(event.seat)
                    elif isinstance(event, Done):
                        self._idle.append(event.seat)
                        if isinstance(event.value, Exception):
                            raise event.value
                        found[running.pop(event.seat)] = event.value
                    elif isinstance(event, Failed):  # the job could not be read, for example
                        raise InputError(f"starts: {event.error}")
                    elif isinstance(event, Lost):
                        self._lose(event, running, lost, waiting)
            yield found.pop(k)

    def _lose(
        self, event: Lost, running: dict[int, int], lost: set[int], waiting: deque[int]
    ) -> None:
        if event.seat not in running:
            self._idle.remove(event.seat)
            return
        job = running.pop(event.seat)
        if job in lost:
            raise NoWorkers(event.reason)
        lost.add(job)
        waiting.appendleft(job)


def _ended(solutions: list[Solution], elapsed: float) -> Iterate:
    """The start that ended last, and the best of those so far, as an iterate."""
    best, last = _best(solutions), solutions[-1]
    worst = f"start {len(solutions)}: {last.status}, {last.objective:.6g}"
    none = Multipliers(np.zeros(0), np.zeros(0), np.zeros(0))
    numbers = (best.objective, best.max_violation, worst, 0.0, 0.0, 0.0, elapsed, False, best.x)
    return Iterate(len(solutions), *numbers, none)


def _best(solutions: list[Solution]) -> Solution:
    """The lowest objective of those that succeeded; else the least excess over limits of those
    that converged; else the least violation.
    """

    def rank(solution: Solution) -> tuple[int, float]:
        if solution.success:
            return 0, solution.objective
        if solution.status == EXCEEDS:
            return 1, solution.max_violation_dense
        return 2, solution.max_violation

    return min(solutions, key=rank)

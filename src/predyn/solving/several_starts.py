"""The best of several starts, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
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
from predyn.storage.interrupts import held_back

FIRST, GENERATION = 20, 10  # starts from the guess, then starts from the best so far at a time


def _start(job: tuple[Problem, Any, int, int, bool, str]) -> Solution:
    """One start, in a process of its own."""
    problem, guess, seed, number, near, text = job
    return solve_in_stages(problem, guess, Output(text), start=(seed, number), near=near)


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _explain_process_errors() -> Iterator[None]:
    """Errors between processes as clear messages."""
    try:
        yield
    except BrokenProcessPool:
        raise InputError(
            "starts: the worker processes exited unexpectedly. A script that uses several starts "
            'must call solve under `if __name__ == "__main__":`; if it does, the machine may have '
            "run out of memory"
        ) from None
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if "pickle" not in str(error).lower():
            raise
        raise InputError(
            f"starts: the problem cannot be sent to other processes ({error}); user terms "
            "need functions at module level, not lambdas or inner functions"
        ) from None


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
    workers = min(starts, os.cpu_count() or 1)
    solutions: list[Solution] = []
    futures: list[Future[Solution]] = []
    stopped = False
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with held_back():  # or a semaphore is left behind
        pool = ProcessPoolExecutor(workers, context, _begin_worker)
    with _explain_process_errors():
        try:
            while len(solutions) < starts:
                later = len(solutions) >= FIRST
                stop = min(starts, len(solutions) + (GENERATION if later else FIRST))
                jobs = []
                for k in range(len(solutions), stop):
                    near = later and k % 3 != 0
                    source = _best(solutions) if near else guess
                    jobs.append((problem, source, seed, k, near, text))
                with held_back():
                    futures = [pool.submit(_start, job) for job in jobs]
                for future in futures:
                    solutions.append(future.result())
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
        finally:
            with held_back():
                _end(pool, futures, set(multiprocessing.active_children()) - others)
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


def _end(
    pool: ProcessPoolExecutor, futures: list[Future[Solution]], workers: set[BaseProcess]
) -> None:
    """End the workers, those that still solve too.

    No future is cancelled: the pool would stumble over it when it finds that the workers are gone.
    """
    if not all(future.done() for future in futures):
        for worker in workers:
            worker.terminate()
    pool.shutdown()


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

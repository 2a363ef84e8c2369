"""Run the cases of a study on workers, and write what they return as it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol, Self

from predyn.errors import InputError
from predyn.study.case_tree import CaseTree
from predyn.study.case_worker import JobResult, Row, Task
from predyn.study.folder import SolutionFiles
from predyn.study.schedule import Job, Schedule, to_be_repeated
from predyn.study.study import ERROR, SET_ASIDE, Column
from predyn.study.study_progress import Meter
from predyn.study.table import Table, part_numbers, part_path, write_part
from predyn.workers.events import Done, Event, Failed, Joined, Lost, Refused

LOST = (  # without process numbers: the same in each run
    "its worker process died twice while it ran this case alone; often, that is for want of memory"
)
WAITING = (
    "no worker has joined yet; those of a scheduler are started with `dask worker ADDRESS "
    "--nthreads 1`"
)
PATIENCE = 10.0  # s until that is said
PAUSE = 1.0  # s between looks at the workers, for the progress


class Workers(Protocol):
    """What the runner uses of LocalWorkers and DaskWorkers."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    def assign(self, seat: int, job: Any) -> None: ...
    def wait(self, seconds: float | None = None) -> list[Event]: ...


class Plan(NamedTuple):
    """What is to be run, and where to."""

    folder: Path
    fingerprint: str
    columns: tuple[Column, ...]
    values: Callable[[int], Mapping[str, Any]]  # the varied values of a case
    tree: CaseTree
    keep: bool


def sources_of(table: Table) -> dict[int, int]:
    """What the children of each case in a table start from: its solution, or what it had."""
    columns = (table[name].tolist() for name in ("case", "solved", "guess"))
    return {k: k if solved else guess for k, solved, guess in zip(*columns, strict=True)}


class Runner:
    """One run of a study: hands out jobs until all cases are done."""

    def __init__(self, plan: Plan, meter: Meter) -> None:
        self._plan, self._meter = plan, meter
        self._schedule = Schedule(plan.tree)
        self._files = SolutionFiles(plan.folder, plan.keep)
        self._part = max(part_numbers(plan.folder), default=0)
        self._running: dict[int, Job] = {}
        self._idle: list[int] = []
        self._any_joined = False

    @property
    def finished(self) -> bool:
        return self._schedule.finished

    def begin(self, table: Table) -> None:
        """Continue after the cases in a table, which earlier runs have done."""
        sources = sources_of(table)
        again = to_be_repeated(self._plan.tree, sources, self._files.has)
        if again:
            self._meter.tell(
                f"{len(again)} cases are solved again: others start from their solutions, which "
                "are missing or damaged"
            )
        before = {k: source for k, source in sources.items() if k not in again}
        self._schedule.begin(before.items())
        kept = [k in before for k in table["case"].tolist()]
        failed = int((~table["solved"][kept]).sum())
        aside = int((table["status"][kept] == SET_ASIDE).sum())
        self._files.remove_others(set(self._schedule.needed()))
        self._meter.begin(len(before), failed, aside)

    def run(self, workers: Workers) -> None:
        """Run all cases. An error leaves the folder as it is, to be continued."""
        said = monotonic() + PATIENCE
        with workers:
            while not self._schedule.finished:
                self._hand_out(workers)
                events = workers.wait(PAUSE)
                for event in events:
                    self._heed(event, workers)
                if not events:
                    alone = not self._running and monotonic() > said
                    self._meter.tell(WAITING if alone else "")
                    said = inf if alone else said
        self._files.remove_others(set())

    def _hand_out(self, workers: Workers) -> None:
        """A job for each idle worker, the one that has waited longest first."""
        while self._idle:
            job = self._schedule.next_job(len(self._idle) + len(self._running))
            if job is None:
                return
            seat = self._idle.pop(0)
            self._running[seat] = job
            guesses = {k: self._files.read(k) for k in set(job.sources.values()) if k >= 0}
            workers.assign(seat, Task(job, guesses))

    def _heed(self, event: Event, workers: Workers) -> None:
        if isinstance(event, Joined):
            self._any_joined = True
            self._idle.append(event.seat)
        elif isinstance(event, Done):
            job = self._running.pop(event.seat)
            self._idle.append(event.seat)
            self._hand_out(workers)  # first: the worker does not wait while files are written
            self._finish(job, event.value)
        elif isinstance(event, Failed):
            self._fail(event)
        elif isinstance(event, Lost):
            self._lose(event)
        elif isinstance(event, Refused):
            self._meter.tell(f"worker {event.name} is not used: {event.reason}")

    def _finish(self, job: Job, result: JobResult) -> None:
        for case, data in sorted(result.solutions.items()):
            self._files.write(case, data)
        self._write(result.rows)
        self._schedule.time(result.seconds, len(job.cases))
        self._meter.add(len(result.rows), sum(not row["solved"] for row in result.rows))

    def _fail(self, event: Failed) -> None:
        """A job that raised, by a bug or for want of memory; or a worker that cannot begin."""
        job = self._running.pop(event.seat, None)
        if job is None:
            if not self._any_joined:
                raise InputError(f"a worker could not begin: {event.error}")
            self._meter.tell(f"a worker could not begin and is not used: {event.error}")
            return
        self._idle.append(event.seat)
        if len(job.cases) > 1:
            self._schedule.split(job)
            return
        (k,) = job.cases
        self._give_up(k, ERROR, event.error)
        self._meter.add(1, 1)

    def _lose(self, event: Lost) -> None:
        job = self._running.pop(event.seat, None)
        if event.seat in self._idle:
            self._idle.remove(event.seat)
        if job is None:
            return
        aside = self._schedule.lose(job)
        if aside is None:
            cases = f"case {job.cases[0]}" if len(job.cases) == 1 else f"{len(job.cases)} cases"
            self._meter.tell(f"a worker was lost ({event.reason}); {cases} will be run again")
        else:
            self._give_up(aside, SET_ASIDE, LOST)
            self._meter.tell(f"case {aside} is set aside: {LOST}")
            self._meter.add(1, 1, 1)

    def _give_up(self, k: int, status: str, message: str) -> None:
        guess = self._schedule.source_for(k)
        row = {"case": k, "status": status, "message": message, "solved": False, "guess": guess}
        self._write([row])

    def _write(self, rows: Iterable[Row]) -> None:
        """Write rows as a part; only then do they count as done."""
        full = [{**self._plan.values(row["case"]), **row} for row in rows]
        self._part += 1
        path = part_path(self._plan.folder, self._part)
        write_part(path, self._plan.columns, full, self._plan.fingerprint)
        ended = [(row["case"], row["case"] if row["solved"] else row["guess"]) for row in full]
        for case in self._schedule.finish(ended):
            self._files.remove(case)

"""Which cases go to a worker next, and which solutions are still needed.

Cases go to workers in jobs: runs of cases in the order of the tree. What a case starts from is
fixed by the tree and by whether its ancestors were solved, so how cases are cut into jobs, which
depends on time, does not change any result.

A case that takes its worker down with it is tried twice on its own, then set aside.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from predyn.study.case_tree import CaseTree

MOST = 32  # cases in a job
SECONDS = 1.0  # aimed at for a job: what a killed process has to repeat
TRIALS = 2  # of a case on its own
NONE = -1  # no solution to start from
WAITING, RUNNING, DONE = 0, 1, 2


class Job(NamedTuple):
    """Cases for one worker, each after its parent.

    sources  what the children of each case in it start from, for parents solved before
    wanted   cases whose children are in later jobs
    """

    cases: tuple[int, ...]
    parents: tuple[int, ...]
    sources: dict[int, int]
    wanted: frozenset[int]


class Schedule:
    """Gives out jobs and learns of their ends."""

    def __init__(self, tree: CaseTree) -> None:
        self._parents: list[int] = tree.parents.tolist()
        self._order: list[int] = tree.order.tolist()
        n = len(self._order)
        self._place = np.empty(n, np.int64)
        self._place[tree.order] = np.arange(n)
        self._children: list[list[int]] = [[] for _ in range(n)]
        for k in self._order:
            if self._parents[k] >= 0:
                self._children[self._parents[k]].append(k)
        self._state = bytearray(n)
        self._source = np.full(n, NONE, np.int64)
        self._undone = np.array([len(x) for x in self._children], np.int64)
        self._users: dict[int, int] = {}  # solution -> cases whose children will start from it
        self._ready: list[int] = []  # places of cases whose parents are done
        self._alone: list[int] = []  # cases to be run on their own
        self._last: list[int] = []  # those whose worker has died, when nothing else can run
        self._suspects: set[int] = set()
        self._losses: dict[int, int] = {}
        self._seconds, self._timed = 0.0, 0
        self.done = 0

    def __len__(self) -> int:
        return len(self._order)

    @property
    def finished(self) -> bool:
        return self.done == len(self._order)

    def begin(self, solved: Iterable[tuple[int, int]]) -> None:
        """Start, with cases that were done before and what their children start from."""
        before = dict(solved)
        for k, source in before.items():
            self._state[k], self._source[k] = DONE, source
        self.done = len(before)
        for k in before:
            self._undone[k] = sum(self._state[c] != DONE for c in self._children[k])
        for k in before:
            self._hold(k)
        for k in self._order:
            parent = self._parents[k]
            if self._state[k] == WAITING and (parent < 0 or self._state[parent] == DONE):
                heapq.heappush(self._ready, int(self._place[k]))

    def needed(self) -> Iterator[int]:
        """The solutions that later jobs start from."""
        yield from list(self._users)

    def next_job(self, workers: int) -> Job | None:
        """Cases that can run now; None if all of those are running."""
        while self._alone:
            k = self._alone.pop()
            if self._state[k] == WAITING and k not in self._losses:
                return self._job([k])
        while self._ready:
            place = heapq.heappop(self._ready)
            k = self._order[place]
            if self._state[k] == WAITING and k not in self._suspects:
                return self._job(self._run_from(place, self._most(workers)))
        return self._job([self._last.pop(0)]) if self._last else None  # each is in it once

    def finish(self, results: Iterable[tuple[int, int]]) -> list[int]:
        """Note cases that ended and what their children start from.

        Returns the solutions that nothing will start from any more.
        """
        ended = list(results)
        for k, source in ended:
            self._state[k], self._source[k] = DONE, source
        self.done += len(ended)
        for k, _ in ended:
            self._undone[k] = sum(self._state[c] != DONE for c in self._children[k])
            self._hold(k)
            self._suspects.discard(k)
            for child in self._children[k]:
                self._offer(child)
        unused = []
        inside = {k for k, _ in ended}
        for k, _ in ended:
            parent = self._parents[k]
            if parent >= 0 and parent not in inside:
                self._undone[parent] -= 1
                if self._undone[parent] == 0:
                    unused += self._release(int(self._source[parent]))
        return unused

    def time(self, seconds: float, cases: int) -> None:
        """Learn how long cases take, for the size of jobs."""
        self._seconds = 0.5 * self._seconds + seconds
        self._timed = self._timed // 2 + cases

    def lose(self, job: Job) -> int | None:
        """A worker died with its job; returns the case that is to be set aside, if there is one.

        The cases are run on their own from then on, to find the one that is to blame.
        """
        if len(job.cases) == 1:
            (k,) = job.cases
            self._losses[k] = self._losses.get(k, 0) + 1
            if self._losses[k] >= TRIALS:
                return k
            # Not as the first case of a new worker: that one takes longest, and so is the one that
            # workers that are killed for other reasons take along.
            self._state[k] = WAITING
            self._suspects.add(k)
            self._last.append(k)
            return None
        self._return(job)
        return None

    def split(self, job: Job) -> None:
        """The job raised an error; its cases are run on their own."""
        self._return(job)

    def source_for(self, k: int) -> int:
        """The case whose solution case k starts from, or NONE."""
        parent = self._parents[k]
        return NONE if parent < 0 else int(self._source[parent])

    def _return(self, job: Job) -> None:
        for k in job.cases:
            self._state[k] = WAITING
            self._suspects.add(k)
        for k in job.cases:
            self._offer(k)

    def _offer(self, k: int) -> None:
        """Make a case available if it can run."""
        parent = self._parents[k]
        if self._state[k] != WAITING or (parent >= 0 and self._state[parent] != DONE):
            return
        if k in self._suspects:
            self._alone.append(k)
        else:
            heapq.heappush(self._ready, int(self._place[k]))

    def _hold(self, k: int) -> None:
        source = int(self._source[k])
        if self._undone[k] > 0 and source != NONE:
            self._users[source] = self._users.get(source, 0) + 1

    def _release(self, source: int) -> list[int]:
        if source == NONE:
            return []
        self._users[source] -= 1
        if self._users[source]:
            return []
        del self._users[source]
        return [source]

    def _most(self, workers: int) -> int:
        """Cases in the next job: about a second, and work for all workers until the end."""
        if not self._timed:
            return 1  # the first ones show how long they take
        each = max(self._seconds / self._timed, 1e-9)
        share = max(1, (len(self) - self.done) // (4 * max(workers, 1)))
        return int(max(1, min(MOST, share, SECONDS / each)))

    def _run_from(self, place: int, most: int) -> list[int]:
        """Consecutive cases whose parents are done or in the same run."""
        cases = [self._order[place]]
        inside = set(cases)
        while len(cases) < most and place + 1 < len(self._order):
            place += 1
            k = self._order[place]
            parent = self._parents[k]
            ready = parent < 0 or parent in inside or self._state[parent] == DONE
            if self._state[k] != WAITING or not ready or k in self._suspects:
                break
            cases.append(k)
            inside.add(k)
        return cases

    def _job(self, cases: list[int]) -> Job:
        inside, sources, wanted = set(cases), {}, set()
        for k in cases:
            self._state[k] = RUNNING
            parent = self._parents[k]
            if parent >= 0 and parent not in inside:
                sources[parent] = int(self._source[parent])
            if any(c not in inside and self._state[c] != DONE for c in self._children[k]):
                wanted.add(k)
        parents = tuple(self._parents[k] for k in cases)
        return Job(tuple(cases), parents, sources, frozenset(wanted))


def to_be_repeated(tree: CaseTree, sources: dict[int, int], has: Callable[[int], bool]) -> set[int]:
    """Cases done before that must be solved again: others start from them, and they are lost.

    sources: what the children of each case that was done start from.
    """
    parents = tree.parents.tolist()
    again: set[int] = set()
    checked: dict[int, bool] = {}
    for k in reversed(tree.order.tolist()):  # parents after their children: they may be needed too
        parent = parents[k]
        if (k in sources and k not in again) or parent < 0 or parent in again:
            continue
        source = sources.get(parent, NONE)
        if source == NONE:
            continue
        if source not in checked:
            checked[source] = has(source)
        if not checked[source]:
            while parent not in (
                source,
                NONE,
            ):  # those between have failed; they come after it again
                again.add(parent)
                parent = parents[parent]
            again.add(source)
    return again

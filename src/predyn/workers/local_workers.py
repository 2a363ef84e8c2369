"""Workers as processes on this machine."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from time import monotonic
from types import TracebackType
from typing import Any, Self

from predyn.storage.interrupts import held_back
from predyn.workers import child
from predyn.workers.child import is_importing_main, start_tracker
from predyn.workers.events import GUARD, Done, Event, Failed, Joined, Lost, NoWorkers, pack

# Each worker has one processor, which libraries learn when they are loaded.
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")
ONE_THREAD = dict.fromkeys(
    (f"{library}{'' if '_' in library else '_NUM'}_THREADS" for library in _LIBRARIES), "1"
)
_LOOK = 0.5  # seconds between looks at processes whose connections were inherited by others


@dataclass
class _Worker:
    seat: int
    process: SpawnProcess
    connection: Connection
    joined: bool = False
    busy: bool = False


class LocalWorkers:
    """Processes that call `begin(setup)` once, and the function that it returns for each job.

    Processes are spawned, so that no state of this one leaks into them, and have one thread. They
    ignore Ctrl-C, and die when this process dies. One that dies is replaced. Not thread safe.

    What is sent must be picklable; with `begin` at module level in a script, that script needs the
    usual guard of `__main__`.
    """

    def __init__(self, begin: Callable[[Any], Callable[[Any], Any]], setup: Any, count: int):
        self._parcel = pack("the setup", (begin, setup))
        self._count = count
        self._workers: dict[int, _Worker] = {}
        self._events: deque[Event] = deque()
        self._seats = 0
        self._deaths = 0  # since the last worker joined
        self._any_joined = False
        self._failure = ""

    def __enter__(self) -> Self:
        if is_importing_main():
            raise RuntimeError(f"a worker process started workers while it started. {GUARD}")
        atexit.register(self._close)  # if a Ctrl-C comes before the block of `with`
        with held_back():
            start_tracker()
        try:
            for _ in range(self._count):
                self._start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    @property
    def pids(self) -> dict[int, int]:
        """The process of each seat that lives, those that still prepare too."""
        return {seat: worker.process.pid or 0 for seat, worker in self._workers.items()}

    def assign(self, seat: int, job: Any) -> None:
        """Give a job to a seat without one. If it has died meanwhile, `Lost` follows."""
        worker = self._workers[seat]
        if not worker.joined or worker.busy:
            raise ValueError(f"seat {seat} has a job or is not ready")
        parcel = pack("the job", job)
        worker.busy = True
        # A process that has died is noticed by `wait`
        with held_back(), suppress(OSError):
            worker.connection.send_bytes(parcel)

    def wait(self, seconds: float | None = None) -> list[Event]:
        """What happened, at least one event; nothing after the given time without any.

        At most one event of each seat, so that its next job can be assigned while going through
        them.
        """
        ends = None if seconds is None else monotonic() + seconds
        while not self._events:
            if not self._workers:
                raise NoWorkers(self._failure)
            pause = _LOOK if ends is None else min(_LOOK, max(0.0, ends - monotonic()))
            ready = wait([worker.connection for worker in self._workers.values()], pause)
            with held_back():  # or half a message is left in a connection
                self._look(ready)
            if ends is not None and monotonic() >= ends:
                break
        events = list(self._events)
        self._events.clear()
        return events

    def _look(self, ready: list[Any]) -> None:
        for worker in list(self._workers.values()):
            if worker.seat not in self._workers:  # all were closed
                continue
            if worker.connection in ready:
                try:
                    kind, content = self._receive(worker)
                except (EOFError, OSError):
                    self._bury(worker)
                else:
                    self._heed(worker, kind, content)
            elif not worker.process.is_alive() and not worker.connection.poll():
                self._bury(worker)

    def _receive(self, worker: _Worker) -> tuple[str, Any]:
        message = worker.connection.recv_bytes()
        try:
            kind, content = pickle.loads(message)
        except Exception as error:
            return child.FAILED, (f"its result cannot be read ({error})", "")
        return kind, content

    def _heed(self, worker: _Worker, kind: str, content: Any) -> None:
        seat = worker.seat
        if kind == child.AWAKE:  # only now: nobody reads before, and a pipe holds little
            with suppress(OSError):
                worker.connection.send_bytes(self._parcel)
            return
        worker.busy = False
        if kind == child.READY:
            worker.joined = self._any_joined = True
            self._deaths = 0
            self._events.append(Joined(seat))
        elif kind == child.DONE:
            self._events.append(Done(seat, content))
        else:
            text, trace = content
            self._events.append(Failed(seat, text, trace))
            if not worker.joined:
                self._failure = f"no worker is left: {text}"
                self._remove(worker)

    def _bury(self, worker: _Worker) -> None:
        """Replace a process that died."""
        worker.process.join(1.0)  # its connection closes a little earlier
        self._remove(worker)
        code = worker.process.exitcode
        reason = f"the process {worker.process.pid} {ending(code)}"
        if worker.joined:
            self._events.append(Lost(worker.seat, reason))
        else:
            self._deaths += 1
            # code 1: an error that the process has printed, such as that of a missing guard
            if (code == 1 and not self._any_joined) or self._deaths > most_deaths(self._count):
                self._close()
                self._failure = f"the worker processes exited unexpectedly ({reason}). {GUARD}"
                return
        self._start()

    def _remove(self, worker: _Worker) -> None:
        del self._workers[worker.seat]
        worker.connection.close()
        worker.process.kill()
        worker.process.join()

    def _start(self) -> None:
        with held_back():
            ours, theirs = multiprocessing.get_context("spawn").Pipe()
            try:
                process = spawn(child.serve, theirs)
            except BaseException:
                ours.close()
                raise
            finally:
                theirs.close()  # or the end of the process would not close the connection
            self._seats += 1
            self._workers[self._seats] = _Worker(self._seats, process, ours)

    def _close(self) -> None:
        with held_back():
            atexit.unregister(self._close)
            workers = list(self._workers.values())
            self._workers.clear()
            for worker in workers:
                worker.process.kill()
            for worker in workers:
                worker.connection.close()
                worker.process.join()
                worker.process.close()


def most_deaths(count: int) -> int:
    """How many processes may die while they start, in sequence."""
    return max(20, 10 * count)


def spawn(target: Callable[..., None], *given: Any) -> SpawnProcess:
    """Start a process, with one thread in its libraries."""
    # not a daemon, which could not have workers of its own
    process = multiprocessing.get_context("spawn").Process(target=target, args=given, daemon=False)
    with held_back(), _environment(ONE_THREAD):  # until it ignores Ctrl-C, it must not get one
        try:
            process.start()
        except OSError as error:
            raise NoWorkers(f"a worker process cannot be started ({error})") from None
    return process


def ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was ended by {name}"


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables for processes that are started in the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

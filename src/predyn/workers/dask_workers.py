"""Workers of a Dask cluster: one that is started here, or one that the user has started."""

from __future__ import annotations

import asyncio
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from predyn.errors import InputError
from predyn.storage.interrupts import held_back
from predyn.workers.child import is_importing_main, start_tracker
from predyn.workers.events import GUARD, Done, Event, Failed, Joined, Lost, NoWorkers, pack

if TYPE_CHECKING:
    from predyn.workers.dask_seats import Seats

_PAGE = "127.0.0.1:8787"  # of the dashboard, as Dask's users know it

_CLOSE = 20.0  # seconds; steps of closing have shorter limits


class DaskWorkers:
    """The interface of LocalWorkers on `dask.distributed`.

    count       number of processes on this machine, with a scheduler of their own, which listens
                on the loopback interface only; any process of this machine can connect to it
    scheduler   address of a scheduler instead, such as "tcp://10.0.0.5:8786". Its workers are
                used, also those that join later, one job at a time each. On leaving, a running
                job continues there until it ends
    dashboard   True, or an address such as "127.0.0.1:8787": serve Dask's pages there

    The scheduler's log of a worker that dies is Dask's; a worker on a machine that disappears from
    the network is given up when Dask does (`distributed.scheduler.worker-ttl`).
    """

    def __init__(
        self,
        begin: Callable[[Any], Callable[[Any], Any]],
        setup: Any,
        *,
        count: int | None = None,
        scheduler: str | None = None,
        dashboard: bool | str | None = None,
    ) -> None:
        if (count is None) == (scheduler is None):
            raise InputError("workers: expected either a number of workers or a scheduler")
        if scheduler is not None and dashboard:
            raise InputError("dashboard: the scheduler at an address has its own, if any")
        self._parcel = pack("the setup", (begin, setup))
        self._count, self._scheduler = count or 0, scheduler
        self._page = _PAGE if dashboard is True else dashboard or None
        self._messages: queue.SimpleQueue[Event | BaseException] = queue.SimpleQueue()
        self._later: deque[Event] = deque()
        self._ready: set[int] = set()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="predyn-dask", daemon=True)
        self._started: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], None] = lambda: None
        self._seats: Seats | None = None
        self.dashboard_link: str | None = None

    def __enter__(self) -> Self:
        if is_importing_main():
            raise RuntimeError(f"a worker process started workers while it started. {GUARD}")
        _check_installed(self._page is not None)
        with held_back():
            start_tracker()
        self._thread.start()
        try:
            self._started.result()
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
        """The process of each seat, on its own machine."""
        return {} if self._seats is None else dict(self._seats.pids)

    def assign(self, seat: int, job: Any) -> None:
        """Give a job to a seat without one. If it has died meanwhile, `Lost` follows."""
        if seat not in self._ready:
            raise ValueError(f"seat {seat} has a job or is not ready")
        parcel = pack("the job", job)
        self._ready.discard(seat)
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop has ended: `wait` says why
            self._loop.call_soon_threadsafe(self._give, seat, parcel)

    def _give(self, seat: int, parcel: bytes) -> None:
        if self._seats is not None and seat in self._seats.jobs:
            self._seats.jobs[seat].put_nowait(parcel)

    def wait(self, seconds: float | None = None) -> list[Event]:
        """What happened, at least one event; nothing after the given time without any.

        At most one event of each seat, so that its next job can be assigned while going through
        them.
        """
        ends = None if seconds is None else monotonic() + seconds
        events: list[Event] = []
        while True:
            try:
                left = None if ends is None else max(0.0, ends - monotonic())
                message = self._next(block=not events, seconds=left)
            except queue.Empty:
                break
            if isinstance(message, BaseException):
                self._error = message
                if events:
                    break
                raise message
            if _seat(message) in {_seat(event) for event in events} - {0}:
                self._later.append(message)
                break
            events.append(message)
        for event in events:
            if isinstance(event, Joined | Done | Failed):
                self._ready.add(event.seat)
            elif isinstance(event, Lost):
                self._ready.discard(event.seat)
        return events

    def _next(self, block: bool, seconds: float | None) -> Event | BaseException:
        if self._later:
            return self._later.popleft()
        if self._error is not None:
            return self._error
        return self._messages.get(block, seconds)

    def _run(self) -> None:
        """The thread of Dask."""
        if sys.platform != "win32":  # threads and processes that it starts inherit this
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._started.done():
            self._messages.put(error)
        else:
            self._started.set_exception(error)

    async def _serve(self) -> None:
        from predyn.workers.dask_processes import silence, started
        from predyn.workers.dask_seats import Seats, connected

        serving, stopped = asyncio.current_task(), asyncio.Event()

        def stop() -> None:
            stopped.set()
            if serving is not None and not self._started.done():
                serving.cancel()

        self._stop, self._loop = stop, asyncio.get_running_loop()
        # What goes wrong inside Dask is noticed here as a lost worker or scheduler
        self._loop.set_exception_handler(lambda loop, context: None)
        async with AsyncExitStack() as stack:
            stack.enter_context(silence())
            processes = None
            if self._scheduler is not None:
                address = self._scheduler
            else:
                running = started(self._count, self._page)
                address, self.dashboard_link, processes = await stack.enter_async_context(running)
            client = await stack.enter_async_context(connected(address))
            self._seats = Seats(client, self._parcel, self._messages.put, processes)
            self._started.set_result(None)
            attending = asyncio.create_task(self._seats.attend())
            stopping = asyncio.create_task(stopped.wait())
            await asyncio.wait({attending, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not stopping.done():
                stopping.cancel()
                self._fail(attending.exception() or NoWorkers("no worker is left"))
                await stopped.wait()
            attending.cancel()
            await asyncio.gather(attending, return_exceptions=True)
            if self._scheduler is not None:
                await self._seats.forget()

    def _close(self) -> None:
        with held_back():
            loop = self._loop
            while self._thread.is_alive() and loop is None:  # just started
                self._thread.join(0.01)
                loop = self._loop
            if loop is not None:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self._stop)
            self._thread.join(_CLOSE)


def _seat(event: Event) -> int:
    return getattr(event, "seat", 0)


def _check_installed(page: bool) -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise InputError(
            f'workers of Dask: {error}; install them with `pip install "predyn[cluster]"`'
        ) from None
    if page:
        try:
            import bokeh  # noqa: F401
        except ImportError:
            raise InputError(
                "dashboard: Dask draws it with bokeh; install it with `pip install bokeh`"
            ) from None

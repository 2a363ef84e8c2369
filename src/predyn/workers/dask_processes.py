"""A scheduler of Dask in this process, with workers in processes of this machine.

Not Dask's LocalCluster: its nannies give up workers that die while they start, and leave their
environment behind in this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.context import SpawnProcess
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir
from typing import Any

from predyn.errors import InputError
from predyn.storage.files import remove_leftovers, temporary_name
from predyn.workers.child import prepare_process
from predyn.workers.events import GUARD, NoWorkers
from predyn.workers.local_workers import ending, most_deaths, spawn

HOST = "127.0.0.1"
# Dask looks at the stack of each process every 10 ms, and waits for the interpreter to do so.
_NO_PROFILES: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}
_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.worker-ttl": None,  # jobs may take long
    **_NO_PROFILES,
}
# The pages that scheduler and workers would serve on further ports, without a dashboard.
_NO_PAGES: dict[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


class Processes:
    """The processes of a scheduler's workers; those that die are replaced."""

    def __init__(self, address: str, count: int, folder: str) -> None:
        self._address, self._folder = address, folder
        self._processes: list[SpawnProcess] = []
        self._deaths = 0  # in sequence, of those that had not joined
        self.count = count

    def start_all(self) -> None:
        for _ in range(self.count):
            self._start()

    def _start(self) -> None:
        self._processes.append(spawn(_work, self._address, self._folder))

    def look(self, joined: set[int]) -> None:
        """Replace the dead, given the process ids of all workers that have joined so far."""
        for process in [process for process in self._processes if not process.is_alive()]:
            self._processes.remove(process)
            code, pid = process.exitcode, process.pid
            process.close()
            self._deaths = 0 if pid in joined else self._deaths + 1
            # code 1: an error that the process has printed, such as that of a missing guard
            if (code == 1 and not joined) or self._deaths > most_deaths(self.count):
                raise NoWorkers(
                    f"the worker processes exited unexpectedly (the process {pid} {ending(code)}). "
                    f"{GUARD}"
                )
            self._start()

    def end_all(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
            process.close()
        self._processes.clear()


@asynccontextmanager
async def started(count: int, page: str | None) -> AsyncIterator[tuple[str, str | None, Processes]]:
    """The address of a scheduler, that of its pages, and its workers.

    All listen on the loopback interface, except for pages at another address.
    """
    import dask
    from distributed import Scheduler

    with silence(), _scratch() as folder:
        try:
            own = {"temporary-directory": folder}  # or it is left behind in a common one
            with dask.config.set(_SETTINGS | own | ({} if page else _NO_PAGES)):
                scheduler = Scheduler(
                    host=HOST,
                    port=0,
                    dashboard=page is not None,
                    dashboard_address=page or f"{HOST}:0",
                    allowed_failures=0,
                )
            await scheduler
        except (OSError, ValueError) as error:
            place = HOST if page is None else f"{HOST}, with its dashboard at {page}"
            raise InputError(f"a scheduler cannot listen at {place} ({error})") from None
        processes = Processes(scheduler.address, count, folder)
        host = (page or "").rpartition(":")[0] or HOST
        link = f"http://{host}:{scheduler.services['dashboard'].port}/status"
        try:
            processes.start_all()
            yield scheduler.address, link if page else None, processes
        finally:
            processes.end_all()
            await scheduler.close()


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for what Dask writes. Those that killed processes left behind are removed."""
    try:
        place = Path(gettempdir())
        remove_leftovers(place)
        folder = place / temporary_name()
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise InputError(
            f"no folder for temporary files can be made ({error}); free some space there, or name "
            "another one by the variable TMPDIR"
        ) from None
    try:
        yield str(folder)
    finally:
        rmtree(folder, ignore_errors=True)


def _work(address: str, folder: str) -> None:
    """A worker, in a process of its own."""
    prepare_process()
    import dask
    from distributed import Worker

    async def work() -> None:
        worker = Worker(
            address,
            nthreads=1,
            host=HOST,
            dashboard=False,
            dashboard_address=f"{HOST}:0",
            local_directory=folder,
            memory_limit=None,
        )
        async with worker:
            await worker.finished()

    with silence(), dask.config.set(_NO_PAGES | _NO_PROFILES):
        asyncio.run(work())


@contextmanager
def silence() -> Iterator[None]:
    """Without Dask's log on standard error: the events say what matters."""
    from distributed.utils import silence_logging_cmgr

    with silence_logging_cmgr(logging.CRITICAL):
        yield

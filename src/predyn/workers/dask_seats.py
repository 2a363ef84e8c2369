"""Seats at the workers of a Dask scheduler."""

from __future__ import annotations

import asyncio
import uuid
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import dask
from distributed import Client, KilledWorker
from distributed.versions import VersionMismatchWarning

from predyn.workers import dask_tasks
from predyn.workers.dask_processes import Processes
from predyn.workers.events import Done, Event, Failed, Joined, Lost, NoWorkers, Refused
from predyn.workers.versions import difference, expression, versions

CONNECT = 6.0  # seconds in which a scheduler has to answer
_LOOK = 0.25  # seconds between looks at the scheduler's list of workers
_SILENCE = 15.0  # seconds in which it has to answer later on
_CLOSE = 5.0
_MOST_DEATHS = 20  # in sequence, of workers elsewhere that start

# All sent data is in one message per job: the advice to scatter it does not apply.
_NO_ADVICE = {"distributed.admin.large-graph-warning-threshold": "1 PB"}
Key = tuple[str, str]  # address and folder of a worker: another process has another folder


class Seats:
    """Attends to each worker of a scheduler by a coroutine of its own.

    Each job is tied to the worker of its seat, and never repeated: the scheduler neither moves it
    to another worker nor runs it again where the worker died.
    """

    def __init__(
        self,
        client: Client,
        parcel: bytes,
        tell: Callable[[Event], None],
        processes: Processes | None,
    ) -> None:
        self.jobs: dict[int, asyncio.Queue[bytes]] = {}
        self.pids: dict[int, int] = {}
        self._client = client
        self._parcel = parcel
        self._tell = tell
        self._processes = processes  # None: workers elsewhere
        self._session = uuid.uuid4().hex
        self._known: dict[Key, asyncio.Task[None]] = {}
        self._ours = versions()
        self._seats = 0
        self._tasks = 0
        self._deaths = 0
        self._failures: list[str] = []
        self._joined: set[int] = set()  # process ids

    async def attend(self) -> None:
        """Follow the scheduler's list of workers, until it or all of them are lost."""
        try:
            while True:
                await self._look()
                if self._processes is not None:
                    self._processes.look(self._joined)
                    if len(self._failures) >= self._processes.count:
                        raise NoWorkers(f"no worker is left: {self._failures[-1]}")
                elif self._deaths > _MOST_DEATHS:
                    raise NoWorkers(f"{self._deaths} workers in sequence died while they started")
                await asyncio.sleep(_LOOK)
        finally:
            for task in self._known.values():
                task.cancel()
            await asyncio.gather(*self._known.values(), return_exceptions=True)

    async def _look(self) -> None:
        listed = await _workers(self._client)
        now: dict[Key, Any] = {
            (at, entry["local_directory"]): entry for at, entry in listed.items()
        }
        for key in list(self._known):
            if key not in now:
                self._known.pop(key).cancel()
        for key, entry in now.items():
            if key not in self._known:
                name = key[0] if entry["name"] in key else f"{entry['name']} at {key[0]}"
                self._known[key] = asyncio.create_task(self._seat(key, name))

    async def _seat(self, key: Key, name: str) -> None:
        """One worker, from its start to its end."""
        seat, reason, again = 0, "it has died or left its scheduler", False
        try:
            if not await self._may_work(key[0], name):
                return
            self._seats = seat = self._seats + 1
            await self._client.run(dask_tasks.keep, self._session, self._parcel, workers=[key[0]])
            kind, content = await self._ask(key[0], dask_tasks.begin)
            if kind != dask_tasks.READY:
                self._failures.append(content[0])
                self._tell(Failed(seat, *content))
                return
            await self._work(seat, key[0], content)
        except asyncio.CancelledError:
            again = self._known.get(key) is asyncio.current_task()  # by Dask, not by `_look`
            self._deaths += seat not in self.jobs
        except KilledWorker:
            reason, again = "its process died", True
        except Exception as error:
            reason, again = f"{type(error).__name__}: {error}", True
            if "scheduler-connection-lost" in reason:
                reason = "the connection to its scheduler was lost"
            self._deaths += seat not in self.jobs
        if again:  # the worker may be there all the same; then it gets a new seat
            self._known.pop(key, None)
        if seat in self.jobs:
            del self.jobs[seat]
            self.pids.pop(seat, None)
            self._tell(Lost(seat, f"worker {name}: {reason}"))

    async def _work(self, seat: int, address: str, pid: int) -> None:
        self.jobs[seat] = asyncio.Queue()
        self.pids[seat] = pid
        self._joined.add(pid)
        self._deaths = 0
        self._tell(Joined(seat))
        while True:
            job = await self.jobs[seat].get()
            kind, content = await self._ask(address, dask_tasks.do, job)
            if kind == dask_tasks.FORGOTTEN:
                raise RuntimeError("another process took its place")
            self._tell(Done(seat, content) if kind == dask_tasks.DONE else Failed(seat, *content))

    async def _may_work(self, address: str, name: str) -> bool:
        """Whether the worker has our versions; otherwise it is refused, for good."""
        answers = await self._client.run(eval, expression(), workers=[address], on_error="return")
        theirs = answers[address]
        if isinstance(theirs, OSError):
            raise theirs
        if isinstance(theirs, Exception):
            reason = f"its versions cannot be read ({type(theirs).__name__}: {theirs})"
        else:
            reason = difference(theirs, self._ours)
        if reason:
            self._tell(Refused(name, reason))
        return not reason

    async def _ask(self, address: str, task: Callable[..., bytes], *data: bytes) -> Any:
        self._tasks += 1
        with dask.config.set(_NO_ADVICE):
            future = self._client.submit(
                task,
                self._session,
                *data,
                key=f"predyn-{self._session}-{self._tasks}",
                workers=[address],
                allow_other_workers=False,
                retries=0,
                pure=False,
            )
        try:
            return dask_tasks.read(await future)
        finally:
            future.release()

    async def forget(self) -> None:
        """Free the memory of workers that go on."""
        with suppress(Exception):
            await asyncio.wait_for(
                self._client.run(dask_tasks.forget, self._session, on_error="ignore"), 1.0
            )


async def _workers(client: Client) -> dict[str, Any]:
    try:
        if client.status == "running":
            listed = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), _SILENCE)
            return dict(listed["workers"])
        reason = "the connection has closed"
    except (TimeoutError, OSError) as error:
        reason = f"{type(error).__name__}: {error}"
    raise NoWorkers(f"the scheduler at {client.scheduler.address} is lost ({reason})")


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Client]:
    """A client of a scheduler that the user has started."""
    # our own check names workers; this warning would come first
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
    client = Client(address, asynchronous=True, timeout=CONNECT, set_as_default=False)
    try:
        try:
            await asyncio.wait_for(client, CONNECT + 2)
        except Exception as error:  # what a wrong address raises depends on its protocol
            reason = str(error) or f"no answer within {CONNECT + 2:.0f} s"
            raise NoWorkers(
                f"scheduler: nothing answers as one at {address!r} ({reason}); start one with "
                "`dask scheduler` and workers with `dask worker ADDRESS --nthreads 1`, where "
                "ADDRESS is the one that the scheduler prints, such as tcp://10.0.0.5:8786"
            ) from None
        yield client
    finally:
        with suppress(Exception):
            await asyncio.wait_for(client.close(), _CLOSE)

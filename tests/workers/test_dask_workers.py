"""Workers of Dask: a cluster on this machine, and a scheduler that was started elsewhere."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.workers import Done, Failed, Joined, Lost, NoWorkers, Refused, Unsendable
from predyn.workers.dask_workers import DaskWorkers
from workers.driving import (
    environment,
    next_of,
    run_all,
    script,
    seat_of,
    seats_of,
    wait_until_gone,
)
from workers.jobs import begin, begin_badly
from workers.test_local_workers import PARENT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills processes, looks at /proc")


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskWorkers]:
    before = dict(os.environ)
    with DaskWorkers(begin, 5, count=2) as workers:
        yield workers
    before["PYTEST_CURRENT_TEST"] = os.environ["PYTEST_CURRENT_TEST"]
    assert dict(os.environ) == before


def listeners(pids: list[int]) -> set[str]:
    """The addresses on which processes accept connections, in hexadecimal digits."""
    inodes = set()
    for pid in pids:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            try:
                inodes.add(os.readlink(path))
            except OSError:
                continue
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            listening = words[3] == "0A" or table.startswith("udp")
            if listening and f"socket:[{words[9]}]" in inodes:
                found.add(words[1].split(":")[0])
    return found


def test_jobs_on_a_local_cluster(cluster: DaskWorkers) -> None:
    seats = seats_of(cluster, 2)
    assert set(cluster.pids) == set(seats)
    assert listeners([os.getpid(), *cluster.pids.values()]) == {"0100007F"}  # 127.0.0.1
    seat = seats[0]
    for job, value in (
        (("add", 3), 8),
        (("pid", None), cluster.pids[seat]),
        (("threads", None), "1"),
        (("sleep", 0.0), None),
    ):
        cluster.assign(seat, job)
        assert next_of(cluster, seat) == Done(seat, value)
    for job, text in (
        (("raise", "lift"), "ValueError: cannot lift"),
        (("exit", 3), "SystemExit: 3"),
        (("lambda", 1), "its result cannot be sent to other processes"),
    ):
        cluster.assign(seat, job)
        failed = next_of(cluster, seat)
        assert isinstance(failed, Failed)
        assert text in failed.error
    cluster.assign(seat, ("add", np.zeros(3_000_000)))  # 24 MB, both ways
    done = next_of(cluster, seat)
    assert isinstance(done, Done)
    assert np.all(done.value == 5.0)
    with pytest.raises(Unsendable, match="the job cannot be sent"):
        cluster.assign(seat, ("add", lambda: None))
    os.kill(cluster.pids[seat], signal.SIGINT)  # left to the parent
    assert cluster.wait(0.3) == []
    cluster.assign(seat, ("add", 1))
    with pytest.raises(ValueError, match="has a job or is not ready"):
        cluster.assign(seat, ("add", 1))
    assert next_of(cluster, seat) == Done(seat, 6)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it has died, which is not known yet
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.verify)])
def test_random_kills(kills: int) -> None:
    rng = random.Random(kills)
    moments = set(rng.sample(range(1, 20 * kills), kills))
    jobs = [("sleep", 0.01) if k % 3 else ("array", 100_000) for k in range(20 * kills)]

    with DaskWorkers(begin, 1, count=2) as workers:

        def disturb(done: int) -> None:
            if done in moments and workers.pids:
                kill(rng.choice(list(workers.pids.values())))

        results, idle = run_all(workers, jobs, disturb)
        seat = idle[0] if idle else seat_of(workers)
        if seat in workers.pids:  # else it has died already, and another one will join
            kill(workers.pids[seat])
        workers.assign(seat_of(workers), ("sleep", 600.0))
        pids = list(workers.pids.values())
        began = time.monotonic()
    assert time.monotonic() - began < 20.0
    wait_until_gone(pids)
    assert all(result is None for k, result in enumerate(results) if k % 3)
    assert all(len(result) == 100_000 for result in results[::3])


def test_a_beginning_that_raises() -> None:
    with DaskWorkers(begin_badly, "ape", count=1) as workers:
        (failed,) = workers.wait()
        assert isinstance(failed, Failed)
        assert failed.error == "no model 'ape'"
        for _ in range(2):
            with pytest.raises(NoWorkers, match="no worker is left: no model 'ape'"):
                workers.wait(20)


def test_workers_die_with_their_parent(tmp_path: Path) -> None:
    text = PARENT.format(engine="DaskWorkers", count="count=2", job="sleep")
    parent = script(tmp_path / "parent.py", text)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    wait_until_gone(pids)
    parent.communicate()


def test_ctrl_c_ends_all_quietly(tmp_path: Path) -> None:
    text = PARENT.format(engine="DaskWorkers", count="count=2", job="sleep")
    parent = script(tmp_path / "parent.py", text)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    time.sleep(0.3)
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
    _, stderr = parent.communicate(timeout=20)
    assert stderr.rstrip().endswith("KeyboardInterrupt")
    assert stderr.count("Traceback") == 1, stderr
    assert "distributed" not in stderr.replace("predyn", ""), stderr
    wait_until_gone(pids)


# -- a scheduler that was started by its command line --------------------------------------------


class Commands:
    """Processes of Dask's command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, sites: Path | None = None) -> subprocess.Popen[bytes]:
        given = environment()
        if sites is not None:
            given["PYTHONPATH"] = os.pathsep.join([str(sites), given["PYTHONPATH"]])
        # without a dashboard they serve numbers, elsewhere unless they are given an address too
        own = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        command = [sys.executable, "-m", "dask", *words, *own]
        with (self.folder / f"log{len(self.running)}").open("w") as log:
            process = subprocess.Popen(
                command, env=given, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        self.running.append(process)
        return process

    def worker(self, address: str, name: str, *more: str, sites: Path | None = None) -> None:
        words = ("worker", address, "--nthreads", "1", "--name", name, *more)
        self.start(*words, sites=sites)


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    found = Commands(tmp_path)
    yield found
    for process in found.running:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        process.wait()


def test_workers_of_a_scheduler_elsewhere(commands: Commands, tmp_path: Path) -> None:
    import json

    file = tmp_path / "scheduler.json"
    scheduler = commands.start("scheduler", "--port", "0", "--scheduler-file", str(file))
    while not file.exists():
        assert scheduler.poll() is None
        time.sleep(0.05)
    address = json.loads(file.read_text())["address"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import predyn\npredyn.__version__ = '9.9.9'\n")

    worked = False
    with DaskWorkers(begin, 5, scheduler=address) as workers:
        assert workers.wait(0.0) == []
        commands.worker(address, "early", "--no-nanny")
        commands.worker(address, "older", "--no-nanny", sites=other)
        joined: list[int] = []
        refused: list[Refused] = []
        while not (len(joined) == 2 and refused):
            events = workers.wait(20)
            assert events, "nothing happened for 20 s"
            refused += [event for event in events if isinstance(event, Refused)]
            for event in events:
                if isinstance(event, Joined):
                    joined.append(event.seat)
                    if len(joined) == 1:
                        commands.worker(address, "late")
                        workers.assign(event.seat, ("sleep", 0.2))
                elif isinstance(event, Done):
                    assert event == Done(joined[0], None)
                    worked = True
        early, late = joined
        (one,) = refused
        assert worked or next_of(workers, early) == Done(early, None)
        assert listeners([process.pid for process in commands.running]) == {"0100007F"}
        assert one.name.startswith("older at tcp://127.0.0.1:")
        assert one.reason.startswith("predyn 9.9.9 there and ")

        note = tmp_path / "note"
        workers.assign(late, ("kill and note", str(note)))
        lost = next_of(workers, late)
        assert isinstance(lost, Lost)
        assert lost.reason.startswith("worker late at tcp://127.0.0.1:")
        again = seat_of(workers)  # started by its nanny
        assert again > late
        for seat in (early, again):
            workers.assign(seat, ("add", 1))
            assert next_of(workers, seat) == Done(seat, 6)
        assert note.read_text() == "once\n"  # Dask has not tried again

        workers.assign(early, ("sleep", 600.0))
        scheduler.kill()
        with pytest.raises(NoWorkers, match=rf"the scheduler at {address} is lost"):
            next_of(workers, -1)
        assert listeners([os.getpid()]) <= {"0100007F"}


def test_what_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from predyn.workers import dask_seats

    monkeypatch.setattr(dask_seats, "CONNECT", 0.4)
    for address in (
        "tcp://127.0.0.1:9",
        "127.0.0.1:9",
        "http://x y",
        "tls://127.0.0.1:9",
        "",
    ):
        began = time.monotonic()
        with pytest.raises(InputError, match="start one with `dask scheduler`"):
            DaskWorkers(begin, None, scheduler=address).__enter__()
        assert time.monotonic() - began < 20.0


def test_arguments_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ({}, {"count": 1, "scheduler": "tcp://127.0.0.1:9"}):
        with pytest.raises(InputError, match="either a number of workers or a scheduler"):
            DaskWorkers(begin, None, **given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the scheduler at an address has its own"):
        DaskWorkers(begin, None, scheduler="tcp://127.0.0.1:9", dashboard=True)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(InputError, match="pip install bokeh"):
        DaskWorkers(begin, None, count=1, dashboard=True).__enter__()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r'pip install "predyn\[cluster\]"'):
        DaskWorkers(begin, None, count=1).__enter__()

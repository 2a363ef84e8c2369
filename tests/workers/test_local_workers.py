"""Workers on this machine: what they report, and that killing any of them loses nothing else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from predyn.workers import Done, Failed, LocalWorkers, Lost, NoWorkers, Unsendable
from workers.driving import next_of, run_all, script, seat_of, seats_of, wait_until_gone
from workers.jobs import begin, begin_badly, begin_slowly

linux = pytest.mark.skipif(sys.platform != "linux", reason="kills processes, and looks at /proc")


def has_answered(workers: LocalWorkers, seat: int) -> bool:
    """Wait until an answer of a seat can be read; whether it can."""
    return workers._workers[seat].connection.poll(20)


@pytest.fixture(scope="module")
def one() -> Iterator[tuple[LocalWorkers, int]]:
    with LocalWorkers(begin, 5, 1) as workers:
        yield workers, seat_of(workers)


def test_jobs_errors_and_large_results(one: tuple[LocalWorkers, int]) -> None:
    workers, seat = one
    pid = workers.pids[seat]
    assert pid != os.getpid()
    for job, value in ((("add", 3), 8), (("pid", None), pid), (("threads", None), "1")):
        workers.assign(seat, job)
        assert workers.wait() == [Done(seat, value)]
    for job, text in (
        (("raise", "lift"), "ValueError: cannot lift"),
        (("exit", 3), "SystemExit: 3"),
        (("lambda", 1), "its result cannot be sent to other processes"),
    ):
        workers.assign(seat, job)
        (failed,) = workers.wait()
        assert isinstance(failed, Failed)
        assert text in failed.error
        assert "Traceback" in failed.traceback
    workers.assign(seat, ("array", 5_000_000))
    (done,) = workers.wait()
    assert isinstance(done, Done)
    np.testing.assert_array_equal(done.value, np.arange(5e6))


def test_what_cannot_be_sent(one: tuple[LocalWorkers, int]) -> None:
    workers, seat = one
    with pytest.raises(Unsendable, match=r"the job cannot be sent .* must be at module level"):
        workers.assign(seat, ("add", lambda: None))
    workers.assign(seat, ("add", 1))  # the seat is still free
    with pytest.raises(ValueError, match="has a job or is not ready"):
        workers.assign(seat, ("add", 2))
    assert workers.wait() == [Done(seat, 6)]
    with pytest.raises(Unsendable, match="the setup cannot be sent"):
        LocalWorkers(lambda setup: None, None, 1)  # type: ignore[arg-type, return-value]


def test_waiting_ends_and_ctrl_c_is_ignored(one: tuple[LocalWorkers, int]) -> None:
    workers, seat = one
    began = time.monotonic()
    assert workers.wait(0.05) == []
    assert 0.04 < time.monotonic() - began < 20.0
    workers.assign(seat, ("sleep", 0.1))
    os.kill(workers.pids[seat], signal.SIGINT)
    assert workers.wait() == [Done(seat, None)]


def test_a_beginning_that_raises() -> None:
    with LocalWorkers(begin_badly, "ape", 2) as workers:
        failed = workers.wait()
        failed += workers.wait() if len(failed) == 1 else []
        assert {type(event) for event in failed} == {Failed}
        assert [event.error for event in failed if isinstance(event, Failed)] == [
            "no model 'ape'"
        ] * 2
        with pytest.raises(NoWorkers, match="no worker is left: no model 'ape'"):
            workers.wait()


@linux
def test_killed_while_idle_working_starting_and_sending() -> None:
    with LocalWorkers(begin, 0, 1) as workers:
        os.kill(next(iter(workers.pids.values())), signal.SIGKILL)  # another one takes its place
        first = seat_of(workers)
        os.kill(workers.pids[first], signal.SIGKILL)
        lost = next_of(workers, first)
        assert isinstance(lost, Lost)
        assert "SIGKILL" in lost.reason
        second = seat_of(workers)
        assert second > first
        workers.assign(second, ("kill", None))
        assert isinstance(next_of(workers, second), Lost)
        third = seat_of(workers)
        workers.assign(third, ("array", 2_000_000))
        assert has_answered(workers, third)  # the pipe holds less than the result: it is being sent
        os.kill(workers.pids[third], signal.SIGKILL)
        assert isinstance(next_of(workers, third), Lost)
        os.kill(next(iter(workers.pids.values())), signal.SIGKILL)  # before or while it begins
        fourth = seat_of(workers)
        os.kill(workers.pids[fourth], signal.SIGKILL)
        workers.assign(fourth, ("add", 1))  # not known to be dead yet
        assert isinstance(next_of(workers, fourth), Lost)


@linux
@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.verify)])
def test_random_kills(kills: int) -> None:
    rng = random.Random(kills)
    moments = set(rng.sample(range(1, 20 * kills), kills))
    jobs = [("add", k) if k % 3 else ("array", 100_000) for k in range(20 * kills)]

    with LocalWorkers(begin, 1, 2) as workers:

        def disturb(done: int) -> None:
            if done in moments:
                os.kill(rng.choice(list(workers.pids.values())), signal.SIGKILL)

        results, _ = run_all(workers, jobs, disturb)
    assert all(result == k + 1 for k, result in enumerate(results) if k % 3)
    assert all(len(result) == 100_000 for result in results[::3])


@linux
def test_nothing_is_left_and_leaving_is_quick() -> None:
    with LocalWorkers(begin, None, 1) as workers:
        workers.assign(seat_of(workers), ("hold", None))
        pids = list(workers.pids.values())
        began = time.monotonic()
    assert time.monotonic() - began < 20.0  # the job takes far longer
    wait_until_gone(pids)


@linux
def test_workers_that_die_again_and_again_while_they_start() -> None:
    def kill_all(workers: LocalWorkers) -> None:
        while True:
            for pid in workers.pids.values():
                os.kill(pid, signal.SIGKILL)
            workers.wait(0.02)

    message = r"exited unexpectedly .* was ended by SIGKILL"
    with (
        LocalWorkers(begin_slowly, 60.0, 1) as workers,
        pytest.raises(NoWorkers, match=message),
    ):
        kill_all(workers)


PARENT = """
import sys
from workers.jobs import begin
from predyn.workers import Joined, LocalWorkers
from predyn.workers.dask_workers import DaskWorkers

if __name__ == "__main__":
    with {engine}(begin, None, {count}) as workers:
        seats = []
        while len(seats) < 2:
            seats += [event.seat for event in workers.wait() if isinstance(event, Joined)]
        print(*(workers.pids[seat] for seat in seats), flush=True)
        workers.assign(seats[0], ("{job}", 60.0))
        workers.wait()
"""


@linux
def test_workers_die_with_their_parent(tmp_path: Path) -> None:
    """Also while they hold the interpreter."""
    text = PARENT.format(engine="LocalWorkers", count=2, job="hold")
    parent = script(tmp_path / "parent.py", text)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    time.sleep(0.2)
    parent.kill()
    wait_until_gone(pids)
    parent.communicate()


@pytest.mark.parametrize(
    "engine", ["LocalWorkers(begin, None, 1)", "DaskWorkers(begin, None, count=1)"]
)
def test_a_script_without_a_guard(engine: str, tmp_path: Path) -> None:
    text = f"""
from workers.jobs import begin
from predyn.workers import LocalWorkers, NoWorkers
from predyn.workers.dask_workers import DaskWorkers
try:
    with {engine} as workers:
        workers.wait(20)
except NoWorkers as error:
    print(error)
"""
    process: subprocess.Popen[str] = script(tmp_path / "bare.py", text)
    stdout, stderr = process.communicate(timeout=60)
    assert "the worker processes exited unexpectedly" in stdout, stderr
    assert 'under `if __name__ == "__main__":`' in stdout
    assert "a worker process started workers while it started" in stderr


def test_a_second_event_of_a_seat_comes_later() -> None:
    """Its next job may be assigned while going through the events."""
    with LocalWorkers(begin, 1, 2) as workers:
        seats = seats_of(workers, 2)
        for seat in seats:
            workers.assign(seat, ("add", 1))
        assert all(has_answered(workers, seat) for seat in seats)
        if sys.platform == "linux":
            os.kill(workers.pids[seats[0]], signal.SIGKILL)
            wait_until_gone([workers.pids[seats[0]]])
        assert set(workers.wait()) == {Done(seat, 2) for seat in seats}
        if sys.platform == "linux":
            assert isinstance(next_of(workers, seats[0]), Lost)

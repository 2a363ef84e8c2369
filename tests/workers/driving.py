"""Workers in a loop, and processes to wait for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from predyn.workers import Done, Failed, Joined, Lost

_joined: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()
TESTS = Path(__file__).resolve().parent.parent


def environment() -> dict[str, str]:
    """For processes that are not started by multiprocessing."""
    import predyn

    paths = [str(Path(predyn.__file__).parent.parent), str(TESTS)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run_all(
    workers: Any, jobs: list[Any], disturb: Callable[[int], None] = lambda done: None
) -> tuple[list[Any], list[int]]:
    """The results of all jobs, and the seats that are free then."""
    waiting, idle = deque(range(len(jobs))), list[int]()
    running: dict[int, int] = {}
    results: dict[int, Any] = {}
    while len(results) < len(jobs):
        for event in workers.wait(20) or [None]:
            assert event is not None, "nothing happened for 20 s"
            if isinstance(event, Joined | Done | Failed):
                idle.append(event.seat)
            if isinstance(event, Done):
                results[running.pop(event.seat)] = event.value
                disturb(len(results))
            elif isinstance(event, Failed):
                results[running.pop(event.seat)] = event
            elif isinstance(event, Lost):
                if event.seat in running:
                    waiting.append(running.pop(event.seat))
                else:
                    idle.remove(event.seat)
            while idle and waiting:
                seat = idle.pop()
                running[seat] = waiting.popleft()
                workers.assign(seat, jobs[running[seat]])
    return [results[k] for k in range(len(jobs))], idle


def seats_of(workers: Any, count: int) -> list[int]:
    """Seats that have just joined: so many, or more if several joined at once."""
    seats = _joined.pop(workers, [])
    while len(seats) < count:
        events = workers.wait(20)
        assert events, "nothing happened for 20 s"
        seats += [event.seat for event in events if isinstance(event, Joined)]
    return seats


def seat_of(workers: Any) -> int:
    """One that has just joined."""
    return seats_of(workers, 1)[0]


def next_of(workers: Any, seat: int) -> Any:
    """What happens in a seat next. Seats that join before are left to `seats_of`."""
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        events = {getattr(event, "seat", 0): event for event in workers.wait(1)}
        others = [k for k, event in events.items() if isinstance(event, Joined) and k != seat]
        _joined.setdefault(workers, []).extend(others)
        if seat in events:
            return events[seat]
    raise AssertionError(f"nothing happened in seat {seat}")


def wait_until_gone(pids: list[int]) -> None:
    ends = time.monotonic() + 20
    while any(_lives(pid) for pid in pids):
        assert time.monotonic() < ends, "processes are left"
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def script(path: Path, text: str) -> subprocess.Popen[str]:
    path.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(path)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

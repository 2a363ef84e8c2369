"""How far a study is: done, failed, rate, time left."""

from __future__ import annotations

import shutil
import textwrap
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from predyn.solvers.live_table import LiveTable, chosen_place

TITLES = f"{'done':>15} {'failed':>7} {'set aside':>9} {'per second':>10} {'left':>12}"
WINDOW = 30.0  # s over which the rate is averaged


class StudyProgress(NamedTuple):
    """Cases done (failed ones and those set aside too), and the time left, s; NaN at first."""

    done: int
    total: int
    failed: int
    set_aside: int
    rate: float  # cases per second
    seconds_left: float
    message: str = ""  # that something happened: a worker was lost, a case was set aside

    def __str__(self) -> str:
        return (
            f"{f'{self.done} of {self.total}':>15} {self.failed:7d} {self.set_aside:9d} "
            f"{_rate(self.rate):>10} {_time(self.seconds_left):>12}"
        )


Report = Callable[[StudyProgress], object]


class Meter:
    """Counts cases and calls a report."""

    def __init__(self, total: int, report: Report | None) -> None:
        self._total, self._report = total, report
        self.done = self.failed = self.set_aside = 0
        self._past: deque[tuple[float, int]] = deque()

    def begin(self, done: int, failed: int, set_aside: int) -> None:
        """Cases of earlier runs do not count in the rate."""
        self.done, self.failed, self.set_aside = done, failed, set_aside
        self._past.append((monotonic(), done))
        self.tell()

    def add(self, done: int, failed: int, set_aside: int = 0) -> None:
        self.done += done
        self.failed += failed
        self.set_aside += set_aside
        self.tell()

    def tell(self, message: str = "") -> None:
        now = monotonic()
        self._past.append((now, self.done))
        while len(self._past) > 2 and now - self._past[0][0] > WINDOW:
            self._past.popleft()
        span, cases = now - self._past[0][0], self.done - self._past[0][1]
        rate = cases / span if span > 0.0 and cases else float("nan")
        left = (self._total - self.done) / rate if rate > 0.0 else float("nan")
        if self._report is not None:
            self._report(
                StudyProgress(
                    self.done, self._total, self.failed, self.set_aside, rate, left, message
                )
            )


class ShownProgress:
    """A line on standard error, or in the notebook, that is rewritten; lines in a file."""

    def __init__(self, verbose: bool | None) -> None:
        place = chosen_place(verbose)
        self._table = None if place is None else LiveTable(TITLES, place)
        self._messages = None if place is None else LiveTable("", place)

    def __call__(self, progress: StudyProgress) -> None:
        if self._table is None or self._messages is None:
            return
        if progress.message:
            self._table.close()
            for line in _lines(progress.message):  # each stays; a longer one would be cut
                self._messages.row(line.__str__, at_once=True)
                self._messages.close()
        self._table.row(lambda: str(progress))

    def close(self) -> None:
        if self._table is not None:
            self._table.close()


def _lines(text: str) -> list[str]:
    return textwrap.wrap(text, max(shutil.get_terminal_size().columns - 1, 20))


def _rate(rate: float) -> str:
    return "-" if rate != rate else f"{rate:.3g}"


def _time(seconds: float) -> str:
    if seconds != seconds:
        return "-"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"

"""Show the progress of a solve."""

from __future__ import annotations

import math
import shutil
import sys
from time import monotonic
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from predyn.solvers.ipopt_callbacks import Iterate

_TITLES = f"{'iteration':>9} {'objective':>15} {'violation':>9} {'step':>8} {'seconds':>8}  worst"
_CLEAR = "\r\x1b[K"


class Progress:
    """Pass it to a solver as `report`, and close it, preferably by `with`.

    On a terminal one line is rewritten a few times per second; elsewhere a line is written every
    few seconds. The last iterate is always shown.
    """

    def __init__(self, stream: TextIO | None = None, interval: float | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._interval = (0.2 if self._live else 5.0) if interval is None else interval
        self._due = 0.0
        self._titled = False
        self._last: Iterate | None = None
        self._shown: Iterate | None = None

    def __call__(self, iterate: Iterate) -> None:
        self._last = iterate
        now = monotonic()
        if now >= self._due:
            self._due = now + self._interval
            self._show(iterate)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Show the last iterate and end the line; the next solve starts a new table."""
        if self._last is not None and self._last is not self._shown:
            self._show(self._last)
        if self._shown is not None and self._live:
            self._write("\n")
        self._last = self._shown = None
        self._titled, self._due = False, 0.0

    def _show(self, iterate: Iterate) -> None:
        line = progress_line(iterate)
        if not self._titled:
            self._write(_TITLES + "\n")
            self._titled = True
        if self._live:
            width = shutil.get_terminal_size().columns
            self._write(_CLEAR + line[: width - 1])
        else:
            self._write(line + "\n")
        self._shown = iterate

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except UnicodeEncodeError:  # a name that the terminal cannot show
            self._stream.write(text.encode("ascii", "replace").decode("ascii"))
            self._stream.flush()
        except OSError:  # a full disk or a closed pipe; the solve goes on
            self._due = math.inf


def progress_line(iterate: Iterate) -> str:
    """One row of the table, without an end of line."""
    mark = "r" if iterate.restoration else " "
    worst = "".join(letter if letter.isprintable() else "?" for letter in iterate.worst)
    return (
        f"{iterate.iteration:8d}{mark} {iterate.objective:15.8g} {iterate.violation:9.2e} "
        f"{iterate.step:8.1e} {iterate.elapsed:8.2f}  {worst}"
    ).rstrip()

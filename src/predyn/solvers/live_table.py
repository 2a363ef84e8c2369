"""A table whose last row is rewritten while a computation runs: on a terminal, in a notebook."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable
from time import monotonic
from types import ModuleType
from typing import Any, Protocol, Self, TextIO

import numpy as np

from predyn.errors import InputError

CLEAR = "\r\x1b[K"
LIVE, WRITTEN = 0.2, 5.0  # s between rows that are rewritten, and between lines of a file


class Place(Protocol):
    """Where rows are shown."""

    live: bool  # whether a row replaces the one before

    def begin(self, titles: str) -> None:
        """Start a table."""

    def show(self, row: str) -> None:
        """Show a row; an OSError says that it cannot be shown."""

    def end(self) -> None:
        """End the table."""


class LiveTable:
    """Shows a row now and then, and always the last one. Close it, preferably by `with`."""

    def __init__(self, titles: str, place: Place, interval: float | None = None) -> None:
        self._titles, self._place = _printable(titles), place
        self._interval = (LIVE if place.live else WRITTEN) if interval is None else interval
        self._due = 0.0
        self._begun = False
        self._waiting: Callable[[], str] | None = None

    def row(self, text: Callable[[], str], at_once: bool = False) -> None:
        """The next row; its text is only made if it is shown."""
        self._waiting = text
        now = monotonic()
        if at_once or now >= self._due:
            self._due = now + self._interval
            self._show()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Show the last row and end the table; the next row starts a new one."""
        self._show()
        if self._begun:
            self._guarded(self._place.end)
        self._begun, self._due = False, 0.0

    def _show(self) -> None:
        if self._waiting is None:
            return
        row, self._waiting = self._waiting(), None
        if not self._begun:
            self._guarded(lambda: self._place.begin(self._titles))
            self._begun = True
        self._guarded(lambda: self._place.show(_printable(row)))

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception:  # a full disk, a closed pipe, a broken writer; the computation goes on
            self._due = math.inf


def _printable(text: str) -> str:
    """Without control characters: names may come from untrusted files."""
    return "".join(letter if letter.isprintable() else "?" for letter in text).rstrip()


class StreamPlace:
    """A terminal, or a file that gets a line for each row."""

    def __init__(self, stream: TextIO) -> None:
        # a dumb terminal cannot clear a line
        self._stream, self.live = stream, _is_terminal(stream) and os.getenv("TERM") != "dumb"

    def begin(self, titles: str) -> None:
        if titles:
            self._write(titles + "\n")

    def show(self, row: str) -> None:
        if self.live:
            self._write(CLEAR + row[: shutil.get_terminal_size().columns - 1])
        else:
            self._write(row + "\n")

    def end(self) -> None:
        if self.live:
            self._write("\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:  # a name that the terminal cannot show
            self._stream.write(text.encode("ascii", "replace").decode("ascii"))
        self._stream.flush()


class NotebookPlace:
    """An output of a notebook, as plain text that is updated."""

    live = True

    def __init__(self, ipython: ModuleType) -> None:
        self._display: Any = ipython.display.display
        self._handle: Any = None
        self._titles = ""

    def begin(self, titles: str) -> None:
        self._titles = titles

    def show(self, row: str) -> None:
        text = {"text/plain": f"{self._titles}\n{row}"}
        if self._handle is None:
            self._handle = self._display(text, raw=True, display_id=True)
        else:
            self._handle.update(text, raw=True)

    def end(self) -> None:
        self._handle = None


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, of JupyterLab, Notebook, VS Code or nbclient."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def chosen_place(verbose: bool | None) -> Place | None:
    """Where to show progress. None: in a notebook or on a terminal only; True: in any case."""
    if verbose is not None and not (isinstance(verbose, int | np.bool_) and verbose in (0, 1)):
        raise InputError(f"verbose: expected True, False or None (automatic), got {verbose!r:.60}")
    if verbose is not None and not verbose:
        return None
    if in_notebook():
        return NotebookPlace(sys.modules["IPython"])
    stream = sys.stderr
    if stream is None or getattr(stream, "closed", False) or not (verbose or _is_terminal(stream)):
        return None
    return StreamPlace(stream)


def _is_terminal(stream: TextIO) -> bool:
    """False also for the writers that programs put in the place of standard error."""
    return bool(getattr(stream, "isatty", bool)())

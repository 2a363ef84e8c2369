"""Signals, above all Ctrl-C, held back while something must not be cut in two."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any


@contextmanager
def held_back(every: bool = False) -> Iterator[None]:
    """A Ctrl-C in here takes effect at the end; processes that are started in here see none.

    With `every`, all signals that Python functions handle wait likewise; a signal that comes
    several times is handled once.
    """
    with _blocked(), _noted(signal.valid_signals() if every else (signal.SIGINT,)):
        yield


@contextmanager
def _noted(signals: Iterable[int]) -> Iterator[None]:
    """A mask is not enough: another thread may take the signal, and Python raises in the main one.

    Only the main thread has handlers, and only it is interrupted.
    """
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    came: dict[int, FrameType | None] = {}

    def deliver(number: int) -> None:
        if number in came:
            before[number](number, came[number])

    if threading.current_thread() is threading.main_thread():
        for number in sorted(signals):
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
    try:
        for number in before:
            signal.signal(number, came.__setitem__)
        yield
    finally:
        # Handlers may raise: even so all are put back, and all are called.
        with ExitStack() as stack:
            for number in before:
                stack.callback(deliver, number)
            for number, handler in before.items():
                stack.callback(signal.signal, number, handler)


@contextmanager
def _blocked() -> Iterator[None]:
    """Processes inherit the mask of the thread that starts them."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

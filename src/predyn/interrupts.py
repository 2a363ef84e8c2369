"""Ctrl-C held back while something short must not be cut in two."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_back() -> Iterator[None]:
    """A Ctrl-C in here takes effect at the end; processes that are started in here see none."""
    with _blocked(), _noted():
        yield


@contextmanager
def _noted() -> Iterator[None]:
    """A mask is not enough: another thread may take the signal, and Python raises in the main one.

    Only the main thread has handlers, and only it is interrupted.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(before):
        yield
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(signal.SIGINT, came[0])


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

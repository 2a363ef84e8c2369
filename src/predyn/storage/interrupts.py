"""Delay signals, above all Ctrl-C, during work that must not be interrupted."""

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
    """Delay a Ctrl-C until the end of the block; processes started in the block do not receive it.

    With `every`, all signals handled by Python functions are delayed; a signal that arrives several
    times is handled once.
    """
    with (
        _block_interrupts(),
        _delay_handlers(signal.valid_signals() if every else (signal.SIGINT,)),
    ):
        yield


@contextmanager
def _delay_handlers(signals: Iterable[int]) -> Iterator[None]:
    """Record signals and handle them at the end.

    A mask is not enough: another thread may receive the signal, and Python raises in the main one.
    Only the main thread runs handlers, and only it is interrupted.
    """
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    arrived: dict[int, FrameType | None] = {}

    def deliver(number: int) -> None:
        if number in arrived:
            before[number](number, arrived[number])

    if threading.current_thread() is threading.main_thread():
        for number in sorted(signals):
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
    try:
        for number in before:
            signal.signal(number, arrived.__setitem__)
        yield
    finally:
        # Handlers may raise; even then all are restored, and all are called.
        with ExitStack() as stack:
            for number in before:
                stack.callback(deliver, number)
            for number, handler in before.items():
                stack.callback(signal.signal, number, handler)


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C in this thread: processes inherit the mask of the thread that starts them."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

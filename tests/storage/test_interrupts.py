"""Delayed Ctrl-C and other signals: they arrive at the end, and handlers are restored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from predyn.storage.interrupts import held_back

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")


def state() -> tuple[object, set[signal.Signals]]:
    return signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_interrupt_arrives_at_the_end() -> None:
    before = state()
    done = []
    with pytest.raises(KeyboardInterrupt), held_back():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)  # another thread may take it, when it runs next
        done.append(1)
    assert done
    assert state() == before
    with held_back():
        pass
    assert state() == before


def test_an_interrupt_received_by_another_thread() -> None:
    """The mask of one thread does not keep others from receiving it."""
    ready, end = threading.Event(), threading.Event()

    def wait() -> None:
        ready.set()
        end.wait()

    other = threading.Thread(target=wait)
    other.start()
    ready.wait()
    done = []
    with pytest.raises(KeyboardInterrupt), held_back():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)  # another thread may take it, when it runs next
        done.extend(range(1000))
    end.set()
    other.join()
    assert len(done) == 1000


def test_another_thread_may_delay_it() -> None:
    before = state()
    errors: list[BaseException] = []

    def use() -> None:
        try:
            with held_back():
                pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert not errors
    assert state() == before


def test_processes_started_meanwhile_receive_none() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('on')"
    with held_back():
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (child.returncode, child.stdout) == (0, "on\n")


class Raised(Exception):
    """By the handler of the signal that it names."""


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """Numbers of signals in the order in which they were handled, by handlers that raise."""
    numbers: list[int] = []

    def handler(number: int, _: object) -> None:
        numbers.append(number)
        raise Raised(signal.Signals(number).name)

    before = {number: signal.signal(number, handler) for number in OTHERS}
    yield numbers
    for number, earlier in before.items():
        signal.signal(number, earlier)


OTHERS = (
    (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1, signal.SIGVTALRM)
    if sys.platform != "win32"
    else ()
)


def everything() -> tuple[object, ...]:
    return (*(signal.getsignal(number) for number in OTHERS), state())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_every_signal_arrives_at_the_end(handled: list[int]) -> None:
    before = everything()
    for number in OTHERS:
        done = []
        with pytest.raises(Raised, match=number.name), held_back(every=True):  # noqa: PT012
            for k in range(3):
                os.kill(os.getpid(), number)
                time.sleep(0.01)
                done.append(k)
        assert len(done) == 3
        assert everything() == before
    assert handled == list(OTHERS)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_several_signals_arrive_and_none_is_lost(handled: list[int]) -> None:
    """Each handler raises; that of the lowest number, here Ctrl-C, comes last and is seen."""
    before = everything()
    with pytest.raises(KeyboardInterrupt), held_back(every=True):  # noqa: PT012
        for number in (signal.SIGINT, *OTHERS):
            signal.raise_signal(number)
        time.sleep(0.01)
    assert everything() == before
    assert sorted(handled) == sorted(OTHERS)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("handled")
def test_other_signals_arrive_immediately_by_default() -> None:
    before = everything()
    with pytest.raises(Raised, match="SIGALRM"), held_back():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGALRM)
        time.sleep(5.0)
    assert everything() == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_signals_without_a_python_handler_are_unchanged() -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    with held_back(every=True):
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_alarms_do_not_stop_kernels_from_being_compiled() -> None:
    """An alarm rings whenever a compilation starts; it is heard, and the kernel is compiled."""
    code = """
import signal
from numba.core import event
from predyn.kernels.lanes import entry

class Alarm(Exception):
    pass

def ring(*_):
    raise Alarm

class Clock(event.Listener):
    def on_start(self, _):
        signal.raise_signal(signal.SIGALRM)
    def on_end(self, _):
        pass

def compiled(k):
    @entry
    def times(x):
        return x * k
    return times

signal.signal(signal.SIGALRM, ring)
rings = 0
with event.install_listener("numba:compile", Clock()):
    for k in range(2, 5):
        times, done = compiled(k), False
        while not done:
            try:
                done = times(1.5) == 1.5 * k
            except Alarm:
                rings += 1
            assert rings < 5, "nothing is ever compiled"
print("rings", rings, compiled(7)(1.5))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    word, rings, result = done.stdout.split()
    assert (word, result) == ("rings", "10.5")
    assert int(rings) == 3, "no alarm came while a kernel was compiled"
    assert not done.stderr

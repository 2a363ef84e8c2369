"""Ctrl-C held back: it comes at the end, and all is as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from predyn.interrupts import held_back

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")


def state() -> tuple[object, set[signal.Signals]]:
    return signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_interrupt_comes_at_the_end() -> None:
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


def test_an_interrupt_that_another_thread_takes() -> None:
    """The mask of one thread does not keep the others from taking it."""
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


def test_another_thread_may_hold_it_back() -> None:
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


def test_processes_started_in_here_see_none() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('on')"
    with held_back():
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (child.returncode, child.stdout) == (0, "on\n")

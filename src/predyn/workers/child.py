"""The other end of a local worker: a process that prepares once and then does jobs."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import parent_process
from typing import Any

from predyn.workers.events import describe, pack

AWAKE, READY, DONE, FAILED = "awake", "ready", "done", "failed"


def serve(connection: Connection) -> None:
    """Prepare with what the parent sends, then do its jobs until it closes the connection."""
    prepare_process()
    try:
        connection.send_bytes(pickle.dumps((AWAKE, None)))
        parcel = connection.recv_bytes()
        try:
            begin, setup = pickle.loads(parcel)
            function = begin(setup)
        except BaseException as error:
            connection.send_bytes(pickle.dumps((FAILED, describe(error))))
            return
        connection.send_bytes(pickle.dumps((READY, None)))
        while True:
            connection.send_bytes(answer(function, connection.recv_bytes()))
    except (EOFError, OSError):  # the parent closed its end, or died
        return


def answer(function: Any, job: bytes) -> bytes:
    try:
        return pack("its result", (DONE, function(pickle.loads(job))))
    except BaseException as error:  # SystemExit too: a job does not end its worker
        return pickle.dumps((FAILED, describe(error)))


def prepare_process() -> None:
    """Leave Ctrl-C to the parent, and end at once when it dies, however it dies.

    A thread notices it on all systems, but has to wait while compiled code runs; on Linux the
    system ends this process by a signal.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    if sys.platform == "linux":
        import fcntl

        pipe = parent.sentinel  # closed by the end of the parent, which raises SIGIO
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


def start_tracker() -> None:
    """Start the process with which multiprocessing tracks what must be removed.

    Its start lets signals through that were blocked, so that it must come before they are.
    """
    if sys.platform != "win32":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()


def is_importing_main() -> bool:
    """Whether this process is a new worker that reads the user's script, which has no guard."""
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))

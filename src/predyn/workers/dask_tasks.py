"""What runs inside the workers of Dask: begin once, then one job at a time.

All answers are packed here, so that Dask moves bytes and neither reads nor repeats anything.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

from predyn.workers.child import DONE, FAILED, READY, answer
from predyn.workers.events import describe

FORGOTTEN = "forgotten"
_parcels: dict[str, bytes] = {}  # session -> what to begin with
_functions: dict[str, Any] = {}  # session -> what does its jobs


def keep(session: str, parcel: bytes) -> None:
    _parcels[session] = parcel


def begin(session: str) -> bytes:
    try:
        function, setup = pickle.loads(_parcels.pop(session))
        _functions[session] = function(setup)
    except BaseException as error:  # SystemExit would end the worker of somebody else
        return pickle.dumps((FAILED, describe(error)))
    return pickle.dumps((READY, os.getpid()))


def do(session: str, job: bytes) -> bytes:
    if session not in _functions:  # a process that replaced ours, at the same address
        return pickle.dumps((FORGOTTEN, None))
    return answer(_functions[session], job)


def forget(session: str) -> None:
    _parcels.pop(session, None)
    _functions.pop(session, None)


def read(answer: bytes) -> tuple[str, Any]:
    """The kind and content of an answer, in the process that asked."""
    try:
        kind, content = pickle.loads(answer)
    except Exception as error:
        return FAILED, (f"its result cannot be read ({error})", "")
    return kind, content


__all__ = ["DONE", "FAILED", "FORGOTTEN", "READY", "begin", "do", "forget", "keep", "read"]

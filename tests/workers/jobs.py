"""What the workers of the tests do."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from predyn.errors import InputError


def begin(setup: Any) -> Callable[[Any], Any]:
    def do(job: Any) -> Any:
        kind, value = job
        return KINDS[kind](value, setup)

    return do


def begin_badly(setup: Any) -> Callable[[Any], Any]:
    raise InputError(f"no model {setup!r}")


def begin_slowly(setup: float) -> Callable[[Any], Any]:
    time.sleep(setup)
    return begin(None)


def _kill(value: Any, setup: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise(value: Any, setup: Any) -> None:
    raise ValueError(f"cannot {value}")


def _without_pause(value: Any, setup: Any) -> None:
    """Hold the interpreter for a minute or more, as compiled code may."""
    re.match("(a+)+$", "a" * 40 + "b")


KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda value, setup: value + setup,
    "pid": lambda value, setup: os.getpid(),
    "sleep": lambda value, setup: time.sleep(value),
    "kill": _kill,
    "raise": _raise,
    "exit": lambda value, setup: sys.exit(value),
    "leave": lambda value, setup: os._exit(value),
    "array": lambda value, setup: np.arange(value, dtype=float),
    "lambda": lambda value, setup: lambda: value,
    "hold": _without_pause,
    "threads": lambda value, setup: os.environ.get("OMP_NUM_THREADS"),
}


def _kill_and_note(path: str, setup: Any) -> None:
    with open(path, "a") as file:
        file.write("once\n")
    _kill(None, None)


KINDS["kill and note"] = _kill_and_note

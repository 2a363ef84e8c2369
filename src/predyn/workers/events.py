"""What workers report, and the errors that end all of them.

A seat is one worker process: it takes one job at a time, and its number is never used again. Every
seat that has joined ends with `Lost`, or lasts until the workers are closed.
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any, NamedTuple

from predyn.errors import InputError

GUARD = (
    'A script that uses several processes must do so under `if __name__ == "__main__":`; if it '
    "does, the machine may have run out of memory"
)


class Joined(NamedTuple):
    """A worker is ready for a job."""

    seat: int


class Done(NamedTuple):
    """The job returned; the seat is ready for another one."""

    seat: int
    value: Any


class Failed(NamedTuple):
    """The job raised, and the seat is ready for another one; or, in a seat that has not joined,
    the preparation raised, and the seat never joins.
    """

    seat: int
    error: str
    traceback: str = ""


class Lost(NamedTuple):
    """The process died, and its job with it; another one joins as a new seat."""

    seat: int
    reason: str


class Refused(NamedTuple):
    """A worker that gets no jobs, because its results might differ."""

    name: str
    reason: str


Event = Joined | Done | Failed | Lost | Refused


class NoWorkers(InputError):
    """No worker is left and none will come: the message says why."""


class Unsendable(InputError):
    """Something that cannot be sent to other processes; `cause` is the message of pickle."""

    def __init__(self, what: str, cause: object) -> None:
        super().__init__(
            f"{what} cannot be sent to other processes ({cause}); functions must be at module "
            "level, not lambdas or inner functions"
        )
        self.cause = str(cause)


def pack(what: str, value: Any) -> bytes:
    """A value as bytes for another process of this user."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if "pickle" not in str(error).lower():
            raise
        raise Unsendable(what, error) from None


def describe(error: BaseException) -> tuple[str, str]:
    """An error as its message, with the class unless predyn raised it, and its traceback."""
    name = "" if type(error).__module__.startswith("predyn.") else f"{type(error).__name__}: "
    return f"{name}{error}".removesuffix(": "), "".join(traceback.format_exception(error))

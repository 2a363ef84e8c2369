"""The exceptions of predyn: one small tree, every message says what was got and what to do."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Sequence


class PredynError(Exception):
    """Base of every error that predyn raises on purpose."""


class ModelError(PredynError):
    """A mechanism that cannot be: the message lists every problem, each by link or joint name."""


class InputError(PredynError, ValueError):
    """A bad argument: wrong shape, a number that is not finite, an unknown name, a wrong type."""


class FileError(PredynError):
    """A file that cannot be read or written, or holds something wrong.

    The message starts with the path and, where they are known, the line and the element.
    """


class NotConverged(PredynError):
    """A solve without success: the message has the status, the cause and the worst violations."""


class ModelWarning(UserWarning):
    """A mechanism that can be computed with but is probably not what was meant."""


class ProblemWarning(UserWarning):
    """A task that can be solved but probably does not say what was meant."""


class DataWarning(UserWarning):
    """Measurements that can be used but leave something open; the message names what."""


def unknown_name(what: str, got: object, valid: Iterable[str]) -> InputError:
    """An InputError that says which name is unknown and which valid names are nearest."""
    names = list(valid)
    if not isinstance(got, str):
        return InputError(f"{what}: expected a name (str), got {type(got).__name__} {got!r:.60}")
    searched = {name[:60]: name for name in names[:500]}  # a search takes a while
    near = [searched[x] for x in difflib.get_close_matches(got[:60], searched, n=3, cutoff=0.5)]
    if near:
        hint = f"did you mean {_quoted(near)}? ({len(names)} name{'s' * (len(names) > 1)} in all)"
    elif names:
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        hint = f"valid names: {_quoted(names[:12])}{more}"
    else:
        hint = "there are none"
    return InputError(f"unknown {what} {got!r:.60}: {hint}")


def _quoted(names: list[str]) -> str:
    return ", ".join(f"{name!r:.60}" for name in names)


def warn_of_problem(name: str, message: str) -> None:
    """Give a ProblemWarning at the place of the outermost call of this package."""
    package = __file__.removesuffix("errors.py")
    frame, level, outermost = sys._getframe(), 1, 1
    while frame.f_back is not None:
        frame, level = frame.f_back, level + 1
        if frame.f_code.co_filename.startswith(package):
            outermost = level
    text = f"problem {name!r}: {message}"
    warnings.warn(text, ProblemWarning, stacklevel=outermost + 1)


def listed(names: Sequence[str], most: int) -> str:
    """Names in a message: the first ones, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

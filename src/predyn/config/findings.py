"""Errors in a task file, collected and reported together."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from predyn.config.lines import Path, described, line_numbers, line_of
from predyn.errors import FileError, PredynError

MOST_SHOWN = 20
DEGREES = ("degree", "degrees", "grad", "°")


class Findings:
    """Errors in one file, each with the path of its key."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._text = text
        self._found: list[tuple[Path, str | None, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, where: Path, message: str) -> None:
        self._found.append((where, None, message))

    def unknown_key(self, where: Path, valid: Iterable[str]) -> None:
        """Report that the last part of `where` is not a valid key."""
        key, names = str(where[-1]), list(valid)
        self._found.append((where, f"unknown key {key!r:.60} in", _nearest(key, names)))

    @contextmanager
    def at(self, where: Path) -> Iterator[None]:
        """Record any PredynError raised in the block as an error at this path."""
        try:
            yield
        except PredynError as error:
            self.add(where, str(error))

    def raise_if_any(self) -> None:
        """Raise a FileError that lists all errors, if there are any."""
        if not self._found:
            return
        lines = line_numbers(self._text)
        located = [(line_of(lines, x[0]), *x) for x in self._found]
        located.sort(key=lambda x: x[0] or 0)
        messages = list(dict.fromkeys(_message(*problem) for problem in located))
        if len(messages) == 1:
            raise FileError(f"{self.file}: {messages[0]}")
        shown = "".join(f"\n  {message}" for message in messages[:MOST_SHOWN])
        more = len(messages) - MOST_SHOWN
        shown += f"\n  and {more} more" if more > 0 else ""
        raise FileError(f"{self.file}: {len(messages)} problems{shown}")


def _message(line: int | None, where: Path, before: str | None, message: str) -> str:
    place = described(where if before is None else where[:-1])
    at = "" if line is None else f" (line {line})"
    return f"{before + ' ' if before else ''}{place}{at}: {message}"


def _nearest(key: str, names: list[str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        if key.lower().startswith(f"{name}_") and not name.endswith("_deg"):
            unit = key[len(name) + 1 :].lower()
            if f"{name}_deg" not in names:
                return f"numbers are in SI units (rad, m, s, kg, N, N m): write {name!r}"
            if unit in DEGREES:
                return f"write '{name}_deg' for degrees, or {name!r} for rad"
            return f"write {name!r} (rad or m, SI units), or '{name}_deg' for degrees"
    near = difflib.get_close_matches(key[:60], names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    shown = [name for name in names if not name.endswith("_deg")]
    return f"valid keys: {', '.join(shown)}"

"""Line numbers of all keys, tables and list entries in a TOML text."""

from __future__ import annotations

import re
from bisect import bisect_right

Path = tuple[str | int, ...]  # keys and, inside lists, numbers from 0

SECTIONS = ("model", "limits", "transcription", "solver", "guess")
TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|\#[^\n]*)
      | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5}|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')
      | (?P<newline>\n)
      | (?P<mark>[\[\]{},=.])
      | (?P<bare>[^\s\#\"'\[\]{},=.]+)""",
    re.VERBOSE | re.DOTALL,
)


def line_numbers(text: str) -> dict[Path, int]:
    """Line (from 1) of every table, key and list entry; the text must be valid TOML."""
    return _Scanner(text).lines


def line_of(lines: dict[Path, int], where: Path) -> int | None:
    """Line of a path, or of its nearest parent with a known line."""
    for size in range(len(where), 0, -1):
        if where[:size] in lines:
            return lines[where[:size]]
    return None


def described(where: Path) -> str:
    """A path in the notation of a task file: "[[cost]] 2, weight" or "[limits] effort"."""
    if not where:
        return "the file"
    head, rest = str(where[0]), list(where[1:])
    if head == "systems" and rest:
        head, rest = f"systems.{rest[0]}", rest[1:]
    name = head
    if rest and isinstance(rest[0], int):
        name = f"[[{head}]] {rest[0] + 1}"
        rest = rest[1:]
        if len(rest) > 1 and isinstance(rest[1], int) and rest[0] in ("cost", "constraint"):
            name += f", [[{head}.{rest[0]}]] {rest[1] + 1}"
            rest = rest[2:]
    elif rest or head in SECTIONS or head.startswith("systems."):
        name = f"[{head}]"
    keys = ""
    for part in rest:
        keys += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if keys else part
    if not keys:
        return name
    return f"{name} {keys}" if name.endswith("]") else f"{name}, {keys}"


class _Scanner:
    """Scans the tokens and records the line where each path begins; values are skipped."""

    def __init__(self, text: str) -> None:
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.tokens = [
            (match.lastgroup, match.group(), bisect_right(starts, match.start()))
            for match in TOKEN.finditer(text)
            if match.lastgroup != "skip"
        ]
        self.k = 0
        self.lines: dict[Path, int] = {}
        counts: dict[Path, int] = {}  # number of [[tables]] of each name so far
        here: Path = ()
        while self._after_newlines():
            if self._token() == "[":
                here = self._header(counts)
            else:
                self._pair(here)

    def _token(self) -> str:
        return self.tokens[self.k][1]

    def _after_newlines(self) -> bool:
        while self.k < len(self.tokens) and self.tokens[self.k][0] == "newline":
            self.k += 1
        return self.k < len(self.tokens)

    def _keys(self, until: str) -> list[str]:
        keys = []
        while self._token() != until:
            kind, token, _ = self.tokens[self.k]
            if kind != "mark":
                keys.append(token.strip("\"'"))
            self.k += 1
        self.k += 1
        return keys

    def _header(self, counts: dict[Path, int]) -> Path:
        line = self.tokens[self.k][2]
        self.k += 1
        many = self._token() == "["
        keys = self._keys("]")
        self.k += many
        here: Path = ()
        for k, key in enumerate(keys):
            here += (key,)
            if many and k == len(keys) - 1:
                counts[here] = counts.get(here, 0) + 1
            self.lines.setdefault(here, line)
            if here in counts:
                here += (counts[here] - 1,)
        self.lines.setdefault(here, line)
        return here

    def _pair(self, here: Path) -> None:
        line = self.tokens[self.k][2]
        for key in self._keys("="):
            here += (key,)
            self.lines.setdefault(here, line)
        self._value(here)

    def _value(self, here: Path) -> None:
        closing = {"[": "]", "{": "}"}.get(self._token())
        if closing is None:
            while self.k < len(self.tokens) and self._token() not in ("\n", ",", "]", "}"):
                self.k += 1
            return
        self.k += 1
        entry = 0
        while self._after_newlines() and self._token() != closing:
            if self._token() == ",":
                self.k += 1
            elif closing == "}":
                self._pair(here)
            else:
                self.lines.setdefault((*here, entry), self.tokens[self.k][2])
                self._value((*here, entry))
                entry += 1
        self.k += 1

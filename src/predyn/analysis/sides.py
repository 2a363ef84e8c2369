"""Left and right from names: "hip_flexion_l", "LeftKnee", "RKNE" and their partners.

A name belongs to a pair only if the name with the other side in place of its own exists too, so
that "roll" and "lumbar" are no sides of anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from predyn.errors import InputError, unknown_name

SIDES = LEFT, RIGHT = "left", "right"
# From clear to unclear: words, letters between separators, capitals of "LKnee" and "KneeL", and
# first or last letters.
PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i:left|right)",
        r"(?<![A-Za-z])(?i:lt|rt)(?![A-Za-z])",
        r"(?<![A-Za-z])[lrLR](?![A-Za-z])",
        r"(?<![A-Za-z])[LR](?=[A-Z])|(?<=[a-z0-9])[LR](?![A-Za-z])",
        r"^[lrLR](?=\w)|(?<=\w)[lrLR]$",
    )
)
OTHER = {"left": "right", "lt": "rt", "l": "r"}
OTHER |= {right: left for left, right in OTHER.items()}
OTHER |= {f(name): f(other) for name, other in OTHER.items() for f in (str.title, str.upper)}
SEPARATORS = " _-.:/"
LONGEST = 200  # characters of a name that is searched for sides
ENDINGS = re.compile(r"[_ .-]*(?:angle|joint|coordinate)$", re.IGNORECASE)


class Pair(NamedTuple):
    """What a left and a right name have in common, and both names."""

    name: str
    left: str
    right: str


def find_pairs(names: Iterable[str]) -> list[Pair]:
    """The pairs among names, in the order of their first member."""
    known = list(dict.fromkeys(names))
    pairs: list[Pair] = []
    paired: set[str] = set()
    for name in known:
        if name in paired:
            continue
        for side, common, partner in _readings(name):
            if partner in known and partner not in paired:
                if any(pair.name == common for pair in pairs):
                    common = name
                left, right = (name, partner) if side == LEFT else (partner, name)
                pairs.append(Pair(common, left, right))
                paired |= {name, partner}
                break
    return pairs


def checked_pairs(
    given: Mapping[str, Sequence[str]], names: Sequence[str], what: str
) -> list[Pair]:
    """Pairs that a user gives as {common name: (left, right)}."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"pairs: expected {{name: (left {what}, right {what})}}, got {given!r:.60}"
        )
    pairs = []
    for common, both in given.items():
        if not isinstance(common, str) or not common.strip():
            raise InputError(f"pairs: expected names (str, not empty), got {common!r:.60}")
        if isinstance(both, str) or not isinstance(both, Sequence) or len(both) != 2:
            raise InputError(
                f"pair {common!r:.60}: expected (left {what}, right {what}), got {both!r:.80}"
            )
        for name in both:
            if name not in names:
                raise unknown_name(f"{what} of pair {common!r:.60}", name, names)
        pairs.append(Pair(str(common), *both))
    return pairs


def _readings(name: str) -> Iterator[tuple[str, str, str]]:
    """Each way to read a side in a name: the side, the name without it, the other side's name."""
    if len(name) > LONGEST:
        return
    for pattern in PATTERNS:
        for match in reversed(list(pattern.finditer(name))):
            mark = match.group()
            other = OTHER.get(mark)
            if other is None:  # such as "LeFt"
                continue
            before, after = name[: match.start()], name[match.end() :]
            side = LEFT if mark.lower().startswith("l") else RIGHT
            yield side, _joined(before, after) or name, before + other + after


def _joined(before: str, after: str) -> str:
    """What is left of a name without its side, with one separator where that stood between two."""
    before, after = before.rstrip(SEPARATORS), after.lstrip(SEPARATORS)
    return plain_name(f"{before}_{after}" if before and after else before or after)


def plain_name(name: str) -> str:
    """A name of a joint without "_angle", "_joint" or "_coordinate" at its end."""
    return ENDINGS.sub("", name) or name

"""Which pairs of a Checker a user means: all of them, by names, or by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from predyn.collision.checker import Checker
from predyn.collision.view import Ints
from predyn.errors import InputError, unknown_name


def choose_pairs(checker: Checker, pairs: Sequence[Any] | None) -> Ints:
    """Numbers of the chosen pairs in `checker.pairs`, each once, in increasing order.

    None: all. An entry is the number of a pair; the names of two bodies, in either order; or one
    name, which means all pairs with that body. A body is an obstacle, a part, a link (all of its
    capsules) or a capsule such as "link[0]".
    """
    if pairs is None:
        if not checker.pairs:
            raise InputError("clearance: the scene has no pairs that are checked")
        return np.arange(len(checker.pairs))
    if isinstance(pairs, str) or not isinstance(pairs, Sequence | np.ndarray):
        raise InputError(f"clearance: between: expected a list of pairs, got {pairs!r:.60}")
    names = _names_of_pairs(checker)
    found: set[int] = set()
    for entry in pairs:
        found |= _matching(checker, names, entry)
    if not found:
        raise InputError("clearance: between: expected at least one pair, got none")
    return np.array(sorted(found), np.int64)


def _names_of_pairs(checker: Checker) -> list[tuple[set[str], set[str]]]:
    """All names of both bodies of each pair."""
    of_body = {x.name: {x.name, x.owner, _link(checker, x.link)} for x in checker.bodies}
    return [(of_body[a], of_body.get(b, {b})) for a, b in checker.pairs]


def _link(checker: Checker, link: int) -> str:
    return "world" if link < 0 else checker.model.expanded.link_names[link]


def _matching(checker: Checker, names: list[tuple[set[str], set[str]]], entry: Any) -> set[int]:
    count = len(names)
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        if not 0 <= entry < count:
            raise InputError(
                f"clearance: between: expected a number from 0 to {count - 1}, got {entry}"
            )
        return {int(entry)}
    if isinstance(entry, str):
        _require_known(checker, entry)
        found = {k for k, (a, b) in enumerate(names) if entry in a | b}
        if not found:
            raise InputError(f"clearance: between: no pair with {entry!r:.60} is checked")
        return found
    if not isinstance(entry, Sequence) or len(entry) != 2:
        raise InputError(
            "clearance: between: expected the names of two bodies, one name or a number, "
            f"got {entry!r:.60}"
        )
    one, other = entry
    for name in (one, other):
        _require_known(checker, name)
    found = {
        k
        for k, (a, b) in enumerate(names)
        if (one in a and other in b) or (other in a and one in b)
    }
    if not found:
        raise InputError(
            f"clearance: between: {one!r:.60} and {other!r:.60} {_why(checker, entry)}"
        )
    return found


def _why(checker: Checker, entry: Sequence[str]) -> str:
    """Why a pair of known bodies is not checked."""
    owner = {x.name: x.owner for x in checker.bodies}
    for pair in checker.never_apart:
        if {*entry} <= {*pair, *(owner[name] for name in pair)}:
            return "overlap wherever the joints are; they need smaller capsules"
    if {*entry} in [{*pair} for pair in checker.scene.allowed]:
        return "are allowed to touch"
    return (
        "are not checked against each other: links joined by a joint, and bodies that rest, "
        "are left out"
    )


def _require_known(checker: Checker, name: Any) -> None:
    known = [x.name for x in checker.scene.obstacles]
    known += [x for body in checker.bodies for x in (body.owner, body.name)]
    known += [_link(checker, body.link) for body in checker.bodies]
    if name not in known:
        raise unknown_name("clearance: between: body", name, dict.fromkeys(known))

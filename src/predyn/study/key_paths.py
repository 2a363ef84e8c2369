"""Keys of a task file as text: "forces[0].force[1]", "phases.lift.duration.min"."""

from __future__ import annotations

import re
from typing import Any

from predyn.errors import InputError, unknown_name

Path = tuple[str | int, ...]
PART = re.compile(
    r"""\s*(?:\[(?P<index>[^\]]*)\]|\.?\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>[^.\[\]"]+)))"""
)
LONGEST = 1000  # characters of a key
NAMES = ("name", "term", "link", "joint", "point")  # what entries of a list are called by


def parse_key(text: str) -> Path:
    """A key as a path; numbers in brackets count from 0."""
    path: list[str | int] = []
    place = 0
    while place < len(text) <= LONGEST:
        match = PART.match(text, place)
        if match is None:
            break
        place = match.end()
        index, quoted, bare = match.group("index", "quoted", "bare")
        if index is not None and index.strip().isdecimal():
            path.append(int(index))
        else:
            path.append(quoted if quoted is not None else (bare or index).strip().strip("\"'"))
    if place < len(text) or not path or not isinstance(path[0], str) or "" in path:
        raise InputError(
            f"{text!r:.80} is not a key of a task file; write it as in forces[0].force[1] or "
            "phases.lift.duration.min"
        )
    return tuple(path)


def key_text(path: Path) -> str:
    """A path as it is written."""
    words = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(words).removeprefix(".")


def resolved(tree: dict[str, Any], path: Path) -> Path:
    """The path with the places of entries instead of their names; new keys of tables may be new.

    Raises an InputError for an entry that does not exist, or a key below a number.
    """
    node: Any = tree
    found: list[str | int] = []
    for k, part in enumerate(path):
        in_list = isinstance(path[k + 1], int) if k + 1 < len(path) else False
        if in_list and isinstance(node, dict) and part not in node:
            raise unknown_name("key", part, node)  # an entry of a list that is not there
        if isinstance(node, list):
            part = _place(node, part, tuple(found))
            node = node[part]
        elif isinstance(node, dict):
            if not isinstance(part, str):
                raise InputError(
                    f"{key_text(tuple(found))}: expected a key, got [{part}]; keys: "
                    f"{', '.join(map(str, node))}"
                )
            node = node.get(part, {})
        else:
            raise InputError(
                f"{key_text(tuple(found))} is {node!r:.60}, which has no {part!r:.60}; vary "
                f"{key_text(tuple(found))} itself, or write it as a table or a list in the task"
            )
        found.append(part)
    return tuple(found)


def _place(entries: list[Any], part: str | int, where: Path) -> int:
    """The index of an entry of a list, given by its index or by its name."""
    if isinstance(part, int):
        if part < len(entries):
            return part
        last = len(entries) - 1
        size = f"has {last + 1} entries, [0] to [{last}]" if entries else "is empty"
        raise InputError(f"{key_text(where)} {size}; got [{part}]")
    for key in NAMES:
        names = [entry.get(key) if isinstance(entry, dict) else None for entry in entries]
        if names.count(part) == 1:
            return names.index(part)
        if part in names:
            raise InputError(
                f"{key_text(where)}: {names.count(part)} entries have {key} = {part!r}; give the "
                f"number of one, such as {key_text(where)}[{names.index(part)}]"
            )
    known = [
        name
        for entry in entries
        if isinstance(entry, dict)
        for name in [next((entry[key] for key in NAMES if key in entry), None)]
        if isinstance(name, str)
    ]
    if entries and not known:
        raise InputError(
            f"{key_text(where)}: the file gives its entries no names, so that there is no "
            f"{part!r}; give a number, such as {key_text(where)}[0]"
        )
    raise unknown_name(f"entry of {key_text(where)}", part, known)


def exists(tree: dict[str, Any], path: Path) -> bool:
    """Whether a resolved path leads to a value."""
    node: Any = tree
    for part in path:
        if isinstance(node, dict) and part not in node:
            return False
        node = node[part]
    return True


def with_value(tree: Any, path: Path, value: Any) -> Any:
    """A copy of the tree with another value at a resolved path; other parts are shared."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(tree, list):
        copy: Any = list(tree)
        copy[head] = with_value(tree[head], rest, value)  # type: ignore[index]
        return copy
    return {**tree, head: with_value(tree.get(head, {}), rest, value)}

"""Which files a study reads, so that it is not continued after one of them has changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.study.study import FUNCTION, Knob, Source

NAMES = re.compile(rb"""["'>]([^"'<>\n\r\0]{1,200}\.\w{1,8})["'<]""")
TEXTS = {".urdf", ".osim", ".xml", ".json", ".toml"}  # whose own files are looked for
MOST_TEXT = 20_000_000  # bytes


def digests_of(
    source: Source, knobs: Sequence[Knob], values: Mapping[str, NDArray[Any]]
) -> dict[str, str]:
    """SHA-256 of the files that the texts of the study name, by name.

    Files that only a program of the user or a mesh file names are not found.
    """
    own = Path(source.folder) if source.kind == "recording" else source.place.parent
    named = {*_texts(source.tree)}
    for column in values.values():
        if column.dtype.kind == "U":
            named.update(np.unique(column).tolist()[:10_000])
    found: dict[str, str] = {}
    _add_files(own, sorted(named), found, 3)
    functions = [str(knob.target[0]) for knob in knobs if knob.kind == FUNCTION]
    _add_files(Path(source.folder), functions, found, 1, "function ")
    return found


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree.rpartition(":")[0] if ".py:" in tree else tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from _texts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _texts(value)


def _add_files(
    folder: Path, names: Sequence[str], found: dict[str, str], depth: int, under: str = ""
) -> None:
    """The files of these names, and those that texts among them name.

    under: before the names, since the same one in two folders means two files
    """
    for name in names:
        key = under + name
        if key in found or not 0 < len(name) < 300 or "\0" in name:
            continue
        path = folder / name.removeprefix("package://").removeprefix("file://")
        try:
            if not path.is_file():
                continue
            data = path.read_bytes()
        except OSError:
            continue
        found[key] = hashlib.sha256(data).hexdigest()
        if depth > 1 and path.suffix.lower() in TEXTS and len(data) < MOST_TEXT:
            inside = {match.decode("utf-8", "replace") for match in NAMES.findall(data)}
            _add_files(path.parent, sorted(inside), found, depth - 1, f"{key}: ")

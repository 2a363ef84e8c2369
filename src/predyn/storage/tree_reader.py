"""Checked reading of the trees in files: errors name what is missing or wrong."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from predyn.errors import FileError, PredynError
from predyn.storage import hdf5_tree
from predyn.storage.reading import refuse_irregular

T = TypeVar("T")


def read_file(
    path: str | os.PathLike[str], kind: str, version: int, make: Callable[[TreeReader], T]
) -> T:
    """The object that `make` builds from a file; every error is a FileError with the path."""
    refuse_irregular(path)
    try:
        with open(os.fspath(path), "rb") as file:
            tree = hdf5_tree.decode(file, kind, version)
        return make(TreeReader(tree))
    except PredynError as error:
        raise FileError(f"{path}: {error}") from error
    except (OSError, TypeError, ValueError) as error:  # ValueError: a NUL character
        cause = getattr(error, "strerror", None) or str(error)
        raise FileError(f"{path}: cannot be read: {cause}; expected a .h5 file") from error


def read_bytes(
    data: bytes, name: str, kind: str, version: int, make: Callable[[TreeReader], T]
) -> T:
    """As read_file, of the contents of a file; name: for messages."""
    try:
        return make(TreeReader(hdf5_tree.decode(io.BytesIO(data), kind, version)))
    except PredynError as error:
        raise FileError(f"{name}: {error}") from error
    except (TypeError, ValueError) as error:
        raise FileError(f"{name}: cannot be read: {error}; expected a .h5 file") from error


class TreeReader:
    """Reads checked entries from a tree; a FileError names what is missing or wrong."""

    def __init__(self, tree: Any, where: str = "") -> None:
        self.where = where
        if not isinstance(tree, dict):
            raise FileError(f"{where or 'the file'}: expected a group, got {type(tree).__name__}")
        self.tree = tree

    def value(self, name: str, kind: type | tuple[type, ...]) -> Any:
        if name not in self.tree:
            raise FileError(f"{self.where}{name} is missing; the file is not complete")
        value = self.tree[name]
        if kind is float and type(value) is int:
            value = float(value)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            expected = " or ".join(k.__name__ for k in kinds)
            raise FileError(f"{self.where}{name}: expected {expected}, got {value!r:.60}")
        return value

    def require(self, good: Any, name: str, expected: str) -> None:
        """Raise a FileError unless `good`, which may be an array, is true throughout."""
        if not np.all(good):
            got = self.tree[name]
            shown = "" if isinstance(got, np.ndarray | dict) else f", got {got!r:.60}"
            raise FileError(f"{self.where}{name}: expected {expected}{shown}")

    def choice(self, name: str, choices: Sequence[str]) -> str:
        value: str = self.value(name, str)
        self.require(value in choices, name, f"one of {', '.join(choices)}")
        return value

    def count(self, name: str) -> int:
        value: int = self.value(name, int)
        self.require(value >= 0, name, "a non-negative number")
        return value

    def times(self, name: str) -> Any:
        """Seconds, in order."""
        t = self.array(name, (None,))
        self.require(np.isfinite(t), name, "finite times")
        self.require(np.diff(t) >= 0.0, name, "non-decreasing times")
        return t

    def array(
        self, name: str, shape: tuple[int | None, ...] | None, dtype: Any = np.float64
    ) -> Any:
        """None stands for any shape, or for any length of an axis."""
        array = self.value(name, np.ndarray)
        fits = shape is None or (
            array.ndim == len(shape)
            and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
        )
        if not fits or array.dtype != dtype:
            raise FileError(
                f"{self.where}{name}: expected {np.dtype(dtype)} of shape {shape}, "
                f"got {array.dtype} of shape {array.shape}"
            )
        return array

    def words(self, name: str) -> tuple[str, ...]:
        words: tuple[str, ...] = self.value(name, tuple)
        if not all(isinstance(word, str) for word in words):
            raise FileError(f"{self.where}{name}: expected words, got {words!r:.60}")
        return words

    def group(self, name: str) -> TreeReader:
        return TreeReader(self.value(name, dict), f"{self.where}{name}/")

    def groups(self, name: str) -> list[TreeReader]:
        items = self.value(name, tuple)
        return [TreeReader(item, f"{self.where}{name}/{k}/") for k, item in enumerate(items)]

    def mapping(self, name: str, read: Callable[[TreeReader, str], Any]) -> dict[str, Any]:
        group = self.group(name)
        return {key: read(group, key) for key in group.tree}


@contextmanager
def located(group: TreeReader) -> Iterator[None]:
    """Name the group in errors about its contents."""
    try:
        yield
    except FileError:
        raise
    except (PredynError, TypeError, ValueError) as error:
        raise FileError(f"{group.where.rstrip('/')}: {error}") from error

"""Outputs of kernels: dense arrays, or packed numbers for ancestor pairs that spread into them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.tree import Ints, Tree, ancestor_pairs

_NO_ENTRIES = np.zeros((0, 2), np.int64)


class Field(NamedTuple):
    """An output: its trailing shape, and the dense elements of each packed one."""

    shape: tuple[int, ...]
    packed: int  # elements the core writes
    entries: Ints  # (E, 2): packed index, dense index; none if packed and dense are the same

    @property
    def size(self) -> int:
        """Size of the dense array per sample."""
        return math.prod(self.shape)

    def unpacked(self, values: NDArray) -> NDArray:
        """Dense (B, size) from packed (B, packed), for plain numbers."""
        if not len(self.entries):
            return values[:, : self.size]
        result = np.zeros((len(values), self.size), values.dtype)
        result[:, self.entries[:, 1]] = values[:, self.entries[:, 0]]
        return result


def dense(*shape: int) -> Field:
    """A field of which the core writes every element, in order."""
    return Field(shape, math.prod(shape), _NO_ENTRIES)


def scratch(packed: int) -> Field:
    """Memory that a core writes but that is not returned."""
    return Field((0,), packed, _NO_ENTRIES)


def pairs(tree: Tree) -> Field:
    """An (n, n) matrix of ancestor pairs: two numbers per pair, [j, i] then [i, j], j above i."""
    n, (i, j) = len(tree.parent), ancestor_pairs(tree).T
    upper = np.stack([2 * np.arange(len(i)), j * n + i], axis=1)
    lower = np.stack([2 * np.arange(len(i)) + 1, i * n + j], axis=1)[i != j]
    return Field((n, n), 2 * len(i), np.concatenate([upper, lower]))


def symmetric_pairs(tree: Tree) -> Field:
    """A symmetric (n, n) matrix of ancestor pairs: one number per pair."""
    n, (i, j) = len(tree.parent), ancestor_pairs(tree).T
    upper = np.stack([np.arange(len(i)), j * n + i], axis=1)
    lower = np.stack([np.arange(len(i)), i * n + j], axis=1)[i != j]
    return Field((n, n), len(i), np.concatenate([upper, lower]))


def wrench_pairs(tree: Tree) -> Field:
    """(n, 6, n): six numbers for [i, :, j] and six for [j, :, i] of each pair, j above i."""
    n, pair = len(tree.parent), ancestor_pairs(tree)
    entries = []
    for k, (i, j) in enumerate(pair):
        entries += [(12 * k + r, (6 * i + r) * n + j) for r in range(6)]
        if i != j:
            entries += [(12 * k + 6 + r, (6 * j + r) * n + i) for r in range(6)]
    return Field((n, 6, n), 12 * len(pair), np.array(entries, np.int64).reshape(-1, 2))

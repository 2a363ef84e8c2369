"""Which case starts from the solution of which other one, decided by the values alone.

The cases of a study are points, normalised by the range of each varied column. They are put into
levels that double in size: the case in the middle, then cases far from all before them. The parent
of a case is the nearest one of the levels before. So a few cases are solved first, many others can
follow at once, and no chain is longer than about log2 of the number of cases. Cases that differ in
a word (a task variant, a person) or a seed are no neighbours: each combination has its own tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SPREAD = 1024  # cases of a tree that are spread out; later levels take the others by number
ROWS = 256  # cases whose distances to all earlier ones are in memory at once
DIGITS = 12  # of distances: equal ones in a grid differ by rounding errors


class CaseTree(NamedTuple):
    """The guesses of a study: parents (n,), -1 for a cold start, and an order of all cases.

    In the order, every case comes after its parent, and most descendants of a case come right after
    it: a run of consecutive cases needs few solutions from outside.
    """

    parents: Indices
    order: Indices


def case_tree(numbers: Sequence[Floats], words: Sequence[NDArray[Any]], n: int) -> CaseTree:
    """The tree of n cases out of their columns, each (n,)."""
    points = [_normalised(column) for column in numbers]
    parents = np.full(n, -1, np.int64)
    ranks = np.empty(n, np.int64)
    first = 0
    for members in _groups(words, n):
        own, by_level = _tree([column[members] for column in points], len(members))
        parents[members] = np.where(own < 0, -1, members[own])
        ranks[members[by_level]] = np.arange(first, first + len(members))
        first += len(members)
    return CaseTree(parents, _preorder(parents, ranks))


def cold_tree(n: int) -> CaseTree:
    """No case has a parent."""
    return CaseTree(np.full(n, -1, np.int64), np.arange(n))


def tree_of_values(
    values: Mapping[str, NDArray[Any]], apart: Sequence[str], n: int, warm: bool
) -> CaseTree:
    """The tree of a study with these columns; cases that differ in those of `apart` are apart."""
    if not warm:
        return cold_tree(n)
    numbers = [np.asarray(x, float) for name, x in values.items() if name not in apart]
    return case_tree(numbers, [values[name] for name in apart], n)


def _normalised(column: Floats) -> Floats:
    """From 0 to 1; what is not finite is in the middle."""
    usable = np.isfinite(column)
    if not usable.any():
        return np.full(len(column), 0.5)
    low, high = column[usable].min(), column[usable].max()
    span = high - low
    if not 0.0 < span < np.inf:
        return np.full(len(column), 0.5)
    return np.where(usable, (column - low) / span, 0.5)


def _groups(words: Sequence[NDArray[Any]], n: int) -> list[Indices]:
    """Cases with the same words, by their first case."""
    found: dict[tuple[str, ...], list[int]] = {}
    for k in range(n):
        found.setdefault(tuple(str(column[k]) for column in words), []).append(k)
    return [np.array(members, np.int64) for members in found.values()]


def _tree(points: Sequence[Floats], n: int) -> tuple[Indices, Indices]:
    """Parents by number within the group, and all cases by level."""
    order = _spread_out(points, n)
    parents = np.full(n, -1, np.int64)
    start, stop = 1, 2
    while start < n:
        stop = min(stop, n)
        earlier = order[:start]
        for low in range(start, stop, ROWS):
            some = order[low : min(low + ROWS, stop)]
            distance = _distances(points, some, earlier)
            parents[some] = earlier[np.argmin(distance, axis=1)]
        start, stop = stop, 2 * stop
    return parents, order


def _spread_out(points: Sequence[Floats], n: int) -> Indices:
    """The case in the middle, then always the one farthest from all before, then the others."""
    every = np.arange(n)
    centre = np.zeros(n)
    for column in points:
        centre += (column - 0.5) ** 2
    chosen = [int(np.argmin(np.round(centre, DIGITS)))]
    nearest = np.full(n, np.inf)
    for _ in range(min(n, SPREAD) - 1):
        last = np.array(chosen[-1:])
        nearest = np.minimum(nearest, _distances(points, every, last)[:, 0])
        nearest[chosen[-1]] = -1.0
        chosen.append(int(np.argmax(nearest)))
    left = np.ones(n, bool)
    left[chosen] = False
    # in an order without a pattern, or the next level would be in one corner of a grid
    others = np.random.default_rng(0).permutation(np.flatnonzero(left))
    return np.concatenate((np.array(chosen, np.int64), others))


def _distances(points: Sequence[Floats], some: Indices, others: Indices) -> Floats:
    """Squared distances, rounded; added column by column, so that all machines get the same."""
    total = np.zeros((len(some), len(others)))
    for column in points:
        total += (column[some][:, None] - column[others][None, :]) ** 2
    return np.round(total, DIGITS)


def _preorder(parents: Indices, ranks: Indices) -> Indices:
    """Each case, then its descendants; children by rank."""
    children: list[list[int]] = [[] for _ in parents]
    waiting: list[int] = []
    for k in np.argsort(ranks)[::-1].tolist():  # the last comes first out of a stack
        parent = int(parents[k])
        (waiting if parent < 0 else children[parent]).append(k)
    order = []
    while waiting:
        k = waiting.pop()
        order.append(k)
        waiting += children[k]
    return np.array(order, np.int64)

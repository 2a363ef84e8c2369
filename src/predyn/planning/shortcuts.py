"""Shortcuts: a polyline made shorter by straight lines between points on it, all proved.

Geraerts and Overmars, "Creating high-quality paths for motion planning", IJRR 26(8), 2007: pairs of
random points on the path are joined where a straight line is possible. Then corners that are not
needed are removed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.collision.view import View
from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import jit
from predyn.planning import rrt_connect
from predyn.planning.rrt_connect import Edges, proved_share

Floats = NDArray[np.float64]
TRIES = 100  # pairs of points
DEPTH = 9  # halvings of a line: those that graze an obstacle are not worth their proof
SAME = 1e-9  # rad or m: points this near are one
kept = keeper(__file__, rrt_connect.__file__)


@jit
def _is_free(view, x, y, edges):
    for i in range(x.shape[0]):
        edges.points[0, 0, i], edges.points[0, 1, i] = x[i], y[i]
    return proved_share(view, edges) == 1.0


@jit
def _place(path, lengths, at, x):
    """Fill x with the point at a length along the path; the edge it is on."""
    k = 0
    while k < lengths.shape[0] - 2 and lengths[k + 1] < at:
        k += 1
    step = lengths[k + 1] - lengths[k]
    share = (at - lengths[k]) / step if step > 0.0 else 0.0
    for i in range(x.shape[0]):
        x[i] = path[k, i] + share * (path[k + 1, i] - path[k, i])
    return k


@jit
def _move(path, first, last, to):
    """Move the rows from `first` to before `last`, so that they begin at row `to`."""
    for k in range(last - first):
        row = k if to <= first else last - first - 1 - k
        for i in range(path.shape[1]):
            path[to + row, i] = path[first + row, i]


@jit
def _remove_corners(view, path, count, edges):
    """Remove corners whose neighbours can be joined: the number of points left."""
    k = 0
    while k + 2 < count:
        if _is_free(view, path[k], path[k + 2], edges):
            _move(path, k + 2, count, k + 1)
            count -= 1
            k = max(k - 1, 0)
        else:
            k += 1
    return count


@jit
def _measure(path, count, weight, lengths):
    """Fill the lengths along the path up to each point; the whole length."""
    lengths[0] = 0.0
    for k in range(1, count):
        total = 0.0
        for i in range(path.shape[1]):
            away = weight[i] * (path[k, i] - path[k - 1, i])
            total += away * away
        lengths[k] = lengths[k - 1] + np.sqrt(total)
    return lengths[count - 1]


@kept
def shorten(view, path, count, pairs, lengths, ends, edges):
    """Shorten the first `count` points of a path in place with random pairs (T, 2) from 0 to 1:
    the number of points left. Each pair may add a point."""
    count = _remove_corners(view, path, count, edges)
    x, y = ends[0], ends[1]
    for t in range(pairs.shape[0]):
        if count < 3:
            break
        whole = _measure(path, count, edges.weight, lengths)
        a = _place(path, lengths[:count], whole * min(pairs[t, 0], pairs[t, 1]), x)
        b = _place(path, lengths[:count], whole * max(pairs[t, 0], pairs[t, 1]), y)
        if a == b or not _is_free(view, x, y, edges):
            continue
        _move(path, b + 1, count, a + 3)
        for i in range(path.shape[1]):
            path[a + 1, i], path[a + 2, i] = x[i], y[i]
        count += a + 2 - b
    return _remove_corners(view, path, count, edges)


def shorter(view: View, path: Floats, edges: Edges, seed: int) -> Floats:
    """A shorter path (K, n) between the same ends."""
    room = np.empty((len(path) + TRIES + 1, path.shape[1]))
    room[: len(path)] = path
    pairs = np.random.default_rng([seed, 1]).random((TRIES, 2))
    lengths, ends = np.empty(len(room)), np.empty((2, path.shape[1]))
    edges = edges._replace(depth=DEPTH)
    points = room[: shorten(view, room, len(path), pairs, lengths, ends, edges)]
    new = np.abs(np.diff(points[:-1], axis=0)).max(axis=1, initial=0.0) > SAME
    return np.concatenate([points[:1], points[1:-1][new], points[-1:]])

"""Distances of chosen pairs as rows of programs: in lanes, with exact first and second partials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.collision.checker import Checker
from predyn.collision.clearance_kernels import (
    PAIR_BENDS,
    PAIR_DISTANCES,
    PAIR_SLOPES,
    Columns,
)
from predyn.collision.given_paths import poses_at, twists_at
from predyn.collision.pair_choice import choose_pairs
from predyn.collision.scene import Scene
from predyn.collision.view import Floats, Ints, View
from predyn.kernels.batch import Direct, Kernel, aligned
from predyn.kernels.lanes import WIDTH
from predyn.model import Model
from predyn.samples.surroundings import Pair

KEPT = 4  # numbers of instants with memory of their own


@lru_cache(maxsize=8)
def checker_of(model: Model, scene: Scene) -> Checker:
    """The Checker of a model in a scene, built once: problems with other rows share it."""
    return Checker(model, scene)


class Neighbourhood:
    """A robot in the scene of a problem: what its clearance terms are bound to."""

    def __init__(self, model: Model, scene: Scene, margin: float) -> None:
        self._model, self._scene, self.margin = model, scene, margin

    @cached_property
    def checker(self) -> Checker:
        return checker_of(self._model, self._scene)

    def rows(self, pairs: Sequence[Pair] | None) -> ClearanceRows:
        return ClearanceRows(self.checker, choose_pairs(self.checker, pairs))


class ClearanceRows:
    """Distances of some pairs of a Checker (see samples.surroundings.PairRows)."""

    def __init__(self, checker: Checker, index: Ints) -> None:
        view, count = checker.view, len(checker.view.world)
        world, own = index[index < count], index[index >= count] - count
        # the instants of a program are few and its pairs chosen: only these are looked at
        self._view = view._replace(world=view.world[world], own=view.own[own])
        self.names = tuple(checker.pairs[k] for k in (*world, *(own + count)))
        slots = view.slot[self._view.world[:, 1]]
        self.moving = bool((slots >= 0).any())
        self._columns = _find_columns(self._view)
        self._place, self._factor, self._shift = checker.lines
        self._coupled = bool(checker.model.couplings)
        self._lay_out(checker.model.n)
        self._memory: dict[tuple[str, int], _Sweep] = {}

    def _lay_out(self, n: int) -> None:
        """Entries and curved pairs in coordinates, and the factors of the tree's partials."""
        columns, joints = self._columns, len(self._view.parent)
        place = np.append(self._place, n)
        self._scale = np.append(self._factor, 1.0)
        entries: dict[tuple[int, int], list[int]] = {}
        bends: dict[tuple[int, int], list[tuple[int, float]]] = {}
        known = set()
        for pair in range(len(self.names)):
            own = range(columns.start[pair], columns.start[pair + 1])
            for e in own:
                entries.setdefault((pair, int(place[columns.joint[e]])), []).append(e)
                for f in own[e - own.start :]:
                    known.add(tuple(sorted((int(columns.joint[e]), int(columns.joint[f])))))
        for low, high in sorted(known):
            one, other = sorted((int(place[low]), int(place[high])))
            twice = 2.0 if one == other and low != high else 1.0
            factor = twice * self._scale[low] * self._scale[high]
            bends.setdefault((one, other), []).append((high * (high + 1) // 2 + low, factor))
        self.entries, self.curved = tuple(entries), tuple(bends)
        order = [e for at in entries.values() for e in at]
        self._direct = not self._coupled and order == list(range(len(columns.joint)))
        self._sums = list(entries.values())
        self._bends = list(bends.values())
        self._chosen = np.array([at[0][0] for at in self._bends], np.int64)
        self._triangle = (joints + 1) * (joints + 2) // 2

    def distances(self, q: NDArray, t: NDArray | None, out: NDArray) -> None:
        self._run(PAIR_DISTANCES, len(self.names), q, t).put(out)

    def slopes(self, q: NDArray, t: NDArray | None, out: NDArray) -> None:
        sweep = self._run(PAIR_SLOPES, len(self._columns.joint), q, t)
        if self._direct:
            sweep.put(out)
            return
        found = np.empty((len(self._columns.joint), *out.shape[1:]))
        sweep.put(found)
        for k, at in enumerate(self._sums):
            out[k] = sum(self._scale[self._columns.joint[e]] * found[e] for e in at)

    def bends(self, q: NDArray, t: NDArray | None, weights: NDArray, out: NDArray) -> None:
        sweep = self._run(PAIR_BENDS, self._triangle, q, t, weights)
        if not self._coupled:
            sweep.put(out, self._chosen)
            return
        found = np.empty((self._triangle, *out.shape[1:]))
        sweep.put(found)
        for k, parts in enumerate(self._bends):
            out[k] = sum(factor * found[at] for at, factor in parts)

    def _run(
        self, kernel: Kernel, size: int, q: NDArray, t: NDArray | None, weights: Any = None
    ) -> _Sweep:
        chunks = -(-q[0].size // WIDTH)
        key = (kernel.core.__name__, chunks)
        if key not in self._memory:
            if len(self._memory) >= 3 * KEPT:
                self._memory.clear()
            rows = None if weights is None else len(weights)
            self._memory[key] = _Sweep(kernel, self._view, self._columns, chunks, size, rows)
        sweep = self._memory[key]
        full = q if not self._coupled else self._expand(q)
        inputs = [full] if weights is None else [full, weights]
        sweep.run(inputs, t)
        return sweep

    def _expand(self, q: NDArray) -> NDArray:
        """Positions of all joints, with those that follow others."""
        column = (-1, *(1,) * (q.ndim - 1))
        return q[self._place] * self._factor.reshape(column) + self._shift.reshape(column)


class _Sweep:
    """A kernel with its arrays, for a number of instants that fills some chunks."""

    def __init__(
        self,
        kernel: Kernel,
        view: View,
        columns: Columns,
        chunks: int,
        size: int,
        weights: int | None,
    ) -> None:
        moving = len(view.keys.first) - 1
        self._view, self._chunks = view, chunks
        self._q = aligned(chunks, len(view.parent), WIDTH)
        self._poses, self._twists = (aligned(chunks, k * moving, WIDTH) for k in (12, 6))
        self._out = aligned(chunks, size, WIDTH)
        ins: tuple[Floats, ...] = (self._q, self._poses, self._twists)
        self._given = [self._q]
        if weights is not None:
            self._given.append(aligned(chunks, weights, WIDTH))
            ins = (*ins, self._given[1])
        work = aligned(*kernel.work(view), WIDTH)
        self._again = Direct(kernel.again, view, columns, ins, (self._out,), work)

    def run(self, given: Sequence[NDArray], t: NDArray | None) -> None:
        """Evaluate at rows (k, ...) of each input, and at times (...)."""
        for mine, values in zip(self._given, given, strict=True):
            _put_lanes(mine, values.reshape(len(values), -1))
        if self._poses.shape[1]:
            times = np.zeros(given[0][0].size) if t is None else np.ravel(t)
            for mine, found in ((self._poses, poses_at), (self._twists, twists_at)):
                _put_lanes(mine, found(self._view, times).T)
        self._again.run()

    def put(self, out: NDArray, chosen: Ints | slice = slice(None)) -> None:
        """Write the results, or chosen rows of them, to out (rows, ...)."""
        flat = self._out[:, chosen].transpose(1, 0, 2)
        if out.shape == flat.shape:
            out[:] = flat
        else:
            count = out[0].size if len(out) else 0
            out[:] = flat.reshape(len(flat), -1)[:, :count].reshape(out.shape)


def _put_lanes(lanes: Floats, values: NDArray) -> None:
    """Write values (k, instants) to lanes (chunks, k, WIDTH); the last instant fills the rest."""
    chunks, rows, _ = lanes.shape
    missing = chunks * WIDTH - values.shape[1]
    if missing:
        values = np.concatenate([values, np.repeat(values[:, -1:], missing, axis=1)], axis=1)
    lanes[:] = values.reshape(rows, chunks, WIDTH).transpose(1, 0, 2)


def _find_columns(view: View) -> Columns:
    """The joints that act on each pair, those of a body from its link to the root."""
    start, joint, second = [0], [], []
    for k, o in view.world.tolist():
        own = _chain(view, int(view.row[k]), 0)
        if view.slot[o] >= 0:
            own.append(len(view.parent))
        joint += own
        second += [0] * len(own)
        start.append(len(joint))
    for k, other, *tops in view.own.tolist():
        for side, (body, top) in enumerate(zip((k, other), tops, strict=True)):
            own = _chain(view, int(view.row[body]), top) if top > 0 else []
            joint += own
            second += [side] * len(own)
        start.append(len(joint))
    return Columns(*(np.array(x, np.int64) for x in (start, joint, second)))


def _chain(view: View, row: int, top: int) -> list[int]:
    """Joints from that of a row up to that of row `top` (0: up to the root)."""
    found = []
    while row > 0:
        found.append(row - 1)
        if row == top:
            break
        row = int(view.parent[row - 1])
    return found

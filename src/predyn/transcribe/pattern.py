"""Sparsity patterns of a program, and where each kernel adds its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.lanes import WIDTH
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.layout import PhaseLayout

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Touch(NamedTuple):
    """The control points and durations that act on the groups and rows of a set."""

    control: Ints  # (instants, groups, points) indices among all control points of the phase
    columns: Ints  # their places in x, -1 for none
    by_T: Flags  # (rows,) whether a row changes with T


def touch(points: InstantSet, layout: PhaseLayout) -> Touch:
    chained, components = points.chained, points.components
    orders = chained.orders  # (groups, used)
    active, first = points.windows
    which = chained.groups.component
    signal = components.signal[which]
    acting = active[signal][:, :, : points.orders]  # (groups, instants, orders, points)
    acts: Flags = np.any(acting & orders[:, None, :, None], axis=2).transpose(1, 0, 2)
    number = first[signal].T[:, :, None] + np.arange(components.points)
    control = components.base[which][:, None] + number * components.stride[which][:, None]
    by_T = chained.timed.copy()
    by_T[chained.groups.row[orders[:, 1:].any(axis=1)]] = True
    if points.timed:
        by_T[:] = True
    columns = np.where(acts, layout.places[control], -1)
    return Touch(control, columns, by_T & (layout.T_column >= 0))


def alive(points: InstantSet, layout: PhaseLayout, rows: slice) -> Flags:
    """(instants, rows): whether any free variable acts on a row."""
    found = touch(points, layout)
    some: Flags = np.any(found.columns >= 0, axis=2)
    result = np.zeros((len(points.s), points.chained.explicit.shape[1]), bool)
    for g, r in enumerate(points.chained.groups.row):
        result[:, r] |= some[:, g]
    if layout.T_column >= 0:
        result |= points.chained.timed | paced(points, layout)
    return result[:, rows]


def paced(points: InstantSet, layout: PhaseLayout) -> Flags:
    """(instants, rows): whether T acts on a row even if all control points are fixed."""
    spline, groups = layout.spline, points.chained.groups
    basis, first = points.of_joints(spline)
    n = layout.control.shape[1]
    basis = basis.transpose(1, 0, 2)[1 : points.orders]  # (orders from v on, instants, points)
    control = layout.control[first[:, None] + np.arange(basis.shape[2])]
    states = np.einsum("osk,skj->osj", basis, control)
    still = 1e-12 * np.einsum("osk,skj->osj", abs(basis), abs(control))
    moves = abs(states) > still
    result = np.zeros((len(points.s), points.chained.explicit.shape[1]), bool)
    for g, (r, j) in enumerate(zip(groups.row, groups.component, strict=True)):
        if j < n:
            on = points.chained.orders[g, 1:, None]
            result[:, r] |= np.any(moves[:, :, j] & on, axis=0)
    return result


def lanes(points: InstantSet, values: NDArray) -> NDArray:
    """Rearrange (instants, ...) to (chunks, ..., WIDTH), padded with -1."""
    flat = values.reshape(len(values), -1)
    padded = np.full((points.chunks * WIDTH, flat.shape[1]), -1)
    padded[: len(flat)] = flat
    return np.ascontiguousarray(padded.reshape(points.chunks, WIDTH, -1).transpose(0, 2, 1))


class Places:
    """Collects entries (row, column), then numbers the distinct ones."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._codes: list[Ints] = []

    def add(self, rows: Ints, columns: Ints) -> slice:
        """Add entries; negative ones are skipped. Returns a ticket for place()."""
        code = np.where((rows >= 0) & (columns >= 0), rows * self._columns + columns, -1).ravel()
        start = sum(len(c) for c in self._codes)
        self._codes.append(code.astype(np.int64))
        return slice(start, start + len(code))

    def finish(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows and columns of the distinct entries, in row order."""
        codes = np.concatenate([*self._codes, np.zeros(0, np.int64)])
        distinct, inverse = np.unique(codes, return_inverse=True)
        shift = int(len(distinct) > 0 and distinct[0] < 0)
        self._place = inverse.reshape(-1).astype(np.int64) - shift
        kept = distinct[shift:]
        return (kept // self._columns).astype(np.int32), (kept % self._columns).astype(np.int32)

    def place(self, ticket: slice) -> Ints:
        """The number of each entry of a ticket, -1 for skipped ones."""
        return self._place[ticket]


class HessianEntries(NamedTuple):
    """Rows and columns in the lower triangle, -1 for none."""

    control: tuple[Ints, Ints]  # (cells, blocks, points, points)
    with_T: tuple[Ints, Ints]  # (control points,)
    T: Ints  # (1,) the place of T, if a second derivative in it can differ from zero


def hessian_entries(points: InstantSet, layout: PhaseLayout) -> HessianEntries:
    components, pairs = points.components, points.bends.pairs
    width = components.points
    active, first = points.windows
    active = np.any(active[:, :, : points.orders], axis=2)  # (signals, instants, points)
    cell = points.on_curve[0].cell.reshape(-1)[: len(points.s)]
    count = int(points.on_curve[0].cell.max()) + 1
    start = np.zeros((count, len(first)), np.int64)
    start[cell] = first.T
    both = []
    for side in (0, 1):
        which = pairs[:, side]
        number = start[:, components.signal[which], None] + np.arange(width)
        control = components.base[which][:, None] + number * components.stride[which][:, None]
        both.append(layout.places[control])  # (cells, blocks, points)
    left, right = both[0][..., :, None], both[1][..., None, :]
    nonzero = np.zeros((count, len(pairs), width, width), bool)
    of = [components.signal[pairs[:, side]] for side in (0, 1)]
    for k in np.unique(of[0]):
        for m in np.unique(of[1]):
            together = np.zeros((count, width, width), bool)
            np.logical_or.at(together, cell, active[k][:, :, None] & active[m][:, None, :])
            nonzero[:, (of[0] == k) & (of[1] == m)] = together[:, None]
    nonzero &= (left >= 0) & (right >= 0)
    same = (pairs[:, 0] == pairs[:, 1])[None, :, None, None]
    nonzero &= ~(same & np.triu(np.ones((width, width), bool), 1))
    rows = np.where(nonzero, np.maximum(left, right), -1)
    columns = np.where(nonzero, np.minimum(left, right), -1)

    with_T = np.full(len(layout.places), -1)
    bends_T = False
    if layout.T_column >= 0:
        found, chained = touch(points, layout), points.chained
        moved: Flags = np.any(chained.orders[:, 1:], axis=1)
        bent = np.zeros(
            len(chained.bent), bool
        )  # rows that couple components that depend on T with others
        bent[chained.groups.row[moved]] = True
        moved |= (bent & chained.bent)[chained.groups.row]
        if points.timed or chained.timed.any():
            moved = np.ones_like(moved)
        on = moved[None, :, None] & (found.columns >= 0)
        with_T[found.control[on]] = found.columns[on]
        bends_T = bool(moved.any()) or bool(chained.timed.any())
    # T may come before or after the other variable: the larger index is the row (lower triangle)
    T = np.where(with_T >= 0, layout.T_column, -1)
    mixed = (np.maximum(with_T, T), np.minimum(with_T, T))
    return HessianEntries((rows, columns), mixed, np.array([layout.T_column if bends_T else -1]))

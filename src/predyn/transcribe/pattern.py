"""Which derivatives of a program can differ from zero, and where each kernel puts its share."""

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
    """Places in x of the control points that act on each group of a set, -1 for none."""

    columns: Ints  # (instants, groups, points)
    by_T: Flags  # (rows,) whether a row changes with T


def touch(points: InstantSet, layout: PhaseLayout) -> Touch:
    chained = points.chained
    orders = chained.orders  # (groups, used)
    active = points.active[:, : points.orders]  # (instants, orders, points)
    acts: Flags = np.any(active[:, None] & orders[None, :, :, None], axis=2)
    control = points.first[:, None] + np.arange(acts.shape[2])
    columns = layout.columns[control[:, None, :], chained.groups.joint[None, :, None]]
    by_T = chained.timed.copy()
    by_T[chained.groups.row[orders[:, 1:].any(axis=1)]] = True
    return Touch(np.where(acts, columns, -1), by_T & (layout.T_column >= 0))


def alive(points: InstantSet, layout: PhaseLayout, rows: slice) -> Flags:
    """(instants, rows): whether anything that is free acts on a row."""
    found = touch(points, layout)
    some: Flags = np.any(found.columns >= 0, axis=2)
    result = np.zeros((len(points.s), points.chained.explicit.shape[1]), bool)
    for g, r in enumerate(points.chained.groups.row):
        result[:, r] |= some[:, g]
    if layout.T_column >= 0:
        result |= points.chained.timed | paced(points, layout)
    return result[:, rows]


def paced(points: InstantSet, layout: PhaseLayout) -> Flags:
    """(instants, rows): whether a row moves in states of fixed control points, so that T acts."""
    spline, groups = layout.spline, points.chained.groups
    basis = spline.basis(points.s)[1 : points.orders]  # (orders from v on, instants, points)
    control = layout.control[points.first[:, None] + np.arange(basis.shape[2])]
    states = np.einsum("osk,skj->osj", basis, control)
    still = 1e-12 * np.einsum("osk,skj->osj", abs(basis), abs(control))
    moves = abs(states) > still
    result = np.zeros((len(points.s), points.chained.explicit.shape[1]), bool)
    for g, r in enumerate(groups.row):
        on = points.chained.orders[g, 1:, None]
        result[:, r] |= np.any(moves[:, :, groups.joint[g]] & on, axis=0)
    return result


def lanes(points: InstantSet, values: NDArray) -> NDArray:
    """(instants, ...) to (chunks, ..., WIDTH), padded by -1."""
    flat = values.reshape(len(values), -1)
    padded = np.full((points.chunks * WIDTH, flat.shape[1]), -1)
    padded[: len(flat)] = flat
    return np.ascontiguousarray(padded.reshape(points.chunks, WIDTH, -1).transpose(0, 2, 1))


class Places:
    """Collects entries (row, column), then numbers each distinct one once."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._codes: list[Ints] = []

    def add(self, rows: Ints, columns: Ints) -> slice:
        """Entries of equal shape; negative ones are nowhere. Returns their ticket."""
        code = np.where((rows >= 0) & (columns >= 0), rows * self._columns + columns, -1).ravel()
        start = sum(len(c) for c in self._codes)
        self._codes.append(code.astype(np.int64))
        return slice(start, start + len(code))

    def finish(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows and columns of the distinct entries, by rows."""
        codes = np.concatenate([*self._codes, np.zeros(0, np.int64)])
        distinct, inverse = np.unique(codes, return_inverse=True)
        shift = int(len(distinct) > 0 and distinct[0] < 0)
        self._place = inverse.reshape(-1).astype(np.int64) - shift
        kept = distinct[shift:]
        return (kept // self._columns).astype(np.int32), (kept % self._columns).astype(np.int32)

    def place(self, ticket: slice) -> Ints:
        """Number of each entry of a ticket, -1 for nowhere."""
        return self._place[ticket]


def hessian_entries(
    points: InstantSet, layout: PhaseLayout
) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints], bool]:
    """Entries of control points (first, blocks, points^2), with T (count, n), and whether T, T.

    Rows and columns of each, in the lower triangle, -1 for nothing.
    """
    joints, orders = points.joints, points.orders
    count, n = layout.columns.shape
    active: Flags = np.any(points.active[:, :orders], axis=1)  # (instants, points)
    width = active.shape[1]
    first = points.first
    together = np.zeros((count - width + 1, width, width), bool)
    np.logical_or.at(together, first, active[:, :, None] & active[:, None, :])
    starts = np.arange(len(together))[:, None] + np.arange(width)
    left = layout.columns[starts[:, None, :], joints[None, :, 0, None]][..., :, None]
    right = layout.columns[starts[:, None, :], joints[None, :, 1, None]][..., None, :]
    there = together[:, None] & (left >= 0) & (right >= 0)
    same = (joints[:, 0] == joints[:, 1])[None, :, None, None]
    there &= ~(same & np.triu(np.ones((width, width), bool), 1))
    rows = np.where(there, np.maximum(left, right), -1)
    columns = np.where(there, np.minimum(left, right), -1)

    with_T = np.full((count, n), -1)
    bends_T = False
    if layout.T_column >= 0:
        found = touch(points, layout)
        chained = points.chained
        moved: Flags = np.any(chained.orders[:, 1:], axis=1)
        bent = np.zeros(len(chained.bent), bool)  # rows that couple what T moves with the rest
        bent[chained.groups.row[moved]] = True
        moved |= (bent & chained.bent)[chained.groups.row]
        if points.timed or chained.timed.any():
            moved = np.ones_like(moved)
        for g in np.flatnonzero(moved):
            cells = found.columns[:, g]
            k = first[:, None] + np.arange(width)
            on = cells >= 0
            with_T[k[on], chained.groups.joint[g]] = cells[on]
            bends_T = True
        bends_T = bends_T or bool(chained.timed.any())
    return (rows, columns), (with_T, np.where(with_T >= 0, layout.T_column, -1)), bends_T

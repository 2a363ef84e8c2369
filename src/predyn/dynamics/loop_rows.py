"""Equations of closed loops and their Jacobian inside kernels, and the choice of independent ones.

The equations are those of model/loops.py, their Jacobian that of loop_kinematics.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.dynamics.forward import AXIS, ORIGIN, POSE, column, place, vector, world_row
from predyn.dynamics.loop_rank import RANK, ROUNDING
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import (
    add,
    apply,
    at_point,
    cross,
    dot,
    load3,
    load6,
    load33,
    scale,
    sub,
    unit,
)
from predyn.kernels.tree import Floats, Ints, Tree
from predyn.model import Model
from predyn.model.loops import PRODUCTS


class LoopRows(NamedTuple):
    """Loops in the form the kernels read; the second axis is frame a, frame b."""

    row: Ints  # (L, 2) workspace row of the link, 0 = world
    point: Floats  # (L, 2, 3) origin, joint frame
    axes: Floats  # (L, 2, 3, 3) axes as columns, joint frame
    distance: Floats  # (L,) m, 0 if the origins coincide
    products: Ints  # (L, 3, 2) axes of a and of b whose products vanish
    tilts: Ints  # (L,) how many of them


def pack_loops(model: Model, tree: Tree, world: Floats) -> LoopRows:
    """The loops of a model; world: position (3,) of the tree's origin in the world."""
    size = len(model.loops)
    packed = LoopRows(
        np.zeros((size, 2), np.int64),
        np.zeros((size, 2, 3)),
        np.zeros((size, 2, 3, 3)),
        np.zeros(size),
        np.zeros((size, 3, 2), np.int64),
        np.zeros(size, np.int64),
    )
    for k, loop in enumerate(model.loops):
        for side, name in enumerate((loop.frame_a, loop.frame_b)):
            frame = model.frame(name)
            packed.row[k, side] = frame.link + 1
            turn = tree.link[frame.link] if frame.link >= 0 else np.eye(3)
            moved = world if frame.link < 0 else np.zeros(3)
            packed.point[k, side] = turn @ frame.p - moved
            packed.axes[k, side] = turn @ frame.R
        packed.distance[k] = loop.distance or 0.0
        pairs = PRODUCTS.get(loop.kind, ())
        packed.tilts[k] = len(pairs)
        if pairs:
            packed.products[k, : len(pairs)] = pairs
    return packed


@shared
def evaluate_rows(tree, loops, q, phi, Phi, work):
    """Values (m,) and Jacobian (m, n) of all equations at q (1, n)."""
    n = tree.parent.shape[0]
    world_row(work, tree.gravity)
    for i in range(n):
        place(tree, 0, i, q, work)
    for r in range(Phi.shape[0]):
        for i in range(n):
            Phi[r, i] = 0.0
    first = 0
    for k in range(loops.row.shape[0]):
        a, b = loops.row[k, 0], loops.row[k, 1]
        R_a, R_b = load33(work, a, POSE), load33(work, b, POSE)
        p_a = add(load3(work, a, ORIGIN), apply(R_a, vector(loops.point[k], 0)))
        p_b = add(load3(work, b, ORIGIN), apply(R_b, vector(loops.point[k], 1)))
        apart, d = sub(p_a, p_b), loops.distance[k]
        if d > 0.0:
            phi[first] = (dot(apart, apart) - d * d) / (2.0 * d)
            _add_push(tree, work, Phi, first, a, p_a, scale(1.0 / d, apart))
            _add_push(tree, work, Phi, first, b, p_b, scale(-1.0 / d, apart))
            first += 1
            continue
        for x in range(3):
            phi[first + x] = apart[x]
            _add_push(tree, work, Phi, first + x, a, p_a, unit(x))
            _add_push(tree, work, Phi, first + x, b, p_b, scale(-1.0, unit(x)))
        first += 3
        for x in range(loops.tilts[k]):
            u_a = apply(R_a, column(loops.axes[k], 0, loops.products[k, x, 0]))
            u_b = apply(R_b, column(loops.axes[k], 1, loops.products[k, x, 1]))
            phi[first] = dot(u_a, u_b)
            c = cross(u_a, u_b)
            _add_twist(tree, work, Phi, first, a, c)
            _add_twist(tree, work, Phi, first, b, scale(-1.0, c))
            first += 1


@jit
def _add_push(tree, work, Phi, r, up, point, push):
    """Add what joints do to a point of the link in row `up`, along `push`."""
    while up > 0:
        Phi[r, up - 1] += dot(push, at_point(load6(work, up, AXIS), point))
        up = tree.parent[up - 1]


@jit
def _add_twist(tree, work, Phi, r, up, c):
    """Add how joints turn the link in row `up` about c."""
    while up > 0:
        Phi[r, up - 1] += dot(c, load3(work, up, AXIS))
        up = tree.parent[up - 1]


@jit
def choose_rows(Phi, rank, rows, chosen):
    """Numbers of independent rows of Phi in `chosen`; returns how many.

    The row that is farthest from the span of those before it comes next. At least `rank` of them
    count unless they vanish, so that no equation is lost near a singular pose. rows: room (m, n).
    """
    m, n = Phi.shape
    largest = 0.0
    for r in range(m):
        for i in range(n):
            rows[r, i] = Phi[r, i]
    count = 0
    while count < min(m, n):
        best, most = -1, 0.0
        for r in range(m):
            square = 0.0
            for i in range(n):
                square += rows[r, i] * rows[r, i]
            if square > most:
                best, most = r, square
        size = most**0.5
        largest = max(largest, size)
        least = ROUNDING if count < rank else RANK
        if best < 0 or size <= least * largest:
            break
        for i in range(n):
            rows[best, i] /= size
        for r in range(m):
            if r != best:
                along = 0.0
                for i in range(n):
                    along += rows[r, i] * rows[best, i]
                for i in range(n):
                    rows[r, i] -= along * rows[best, i]
        for i in range(n):
            rows[best, i] = 0.0
        chosen[count] = best
        count += 1
    return count

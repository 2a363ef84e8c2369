"""Places of points on links and their slopes in the joint positions, all in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.expansion import A, expand_states, expansion_of
from predyn.dynamics.forward import AXIS, END, ORIGIN, POSE, place, vector, world_row
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import NO_LOADS
from predyn.kernels.lanes import jit, store
from predyn.kernels.spatial import add, apply, at_point, load3, load6, load33, scale, store3
from predyn.kernels.tree import weightless_tree_of
from predyn.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Point(NamedTuple):
    """A point fixed in a link."""

    link: int
    p: Floats  # (3,) m, link axes


class PointTree(NamedTuple):
    """What the kernel reads of a model, and points on its links."""

    parent: Ints
    kind: Ints
    pitch: Floats
    R: Floats
    p: Floats
    gravity: Floats
    row: Ints  # (K,) workspace rows of the points' links
    point: Floats  # (K, 3) in their joint frames
    factor: Floats  # (n,) of the partials


@jit
def place_points(tree: Any, _: Any, c: Any, ins: Any, outs: Any, work: Any) -> None:
    """Places of the points, m, and their partials in the joints, times the joints' factors."""
    places, partials = outs
    n = tree.parent.shape[0]
    world_row(work, tree.gravity)
    for i in range(n):
        place(tree, c, i, ins[0], work)
    for k in range(tree.row.shape[0]):
        row = tree.row[k]
        x = add(load3(work, row, ORIGIN), apply(load33(work, row, POSE), vector(tree.point, k)))
        store3(places, c, 3 * k, x)
        for i in range(3 * n):
            store(partials, c, 3 * n * k + i, 0.0)
        while row > 0:
            moved = scale(tree.factor[row - 1], at_point(load6(work, row, AXIS), x))
            for i in range(3):
                store(partials, c, n * (3 * k + i) + row - 1, moved[i])
            row = tree.parent[row - 1]


POINTS = Kernel(
    place_points,
    work=lambda tree: (len(tree.parent) + 1, END),
    outputs=lambda tree: (
        dense(len(tree.row), 3),
        dense(len(tree.row), 3, len(tree.parent)),
    ),
)


def point_tree(model: Model, points: Sequence[Point], factor: Floats | None = None) -> PointTree:
    """Inputs of the kernel; slopes are multiplied by the factor of their joint, 1 by default."""
    tree = weightless_tree_of(model.expanded)
    factor = np.ones(model.n) if factor is None else factor
    return PointTree(
        *(tree.parent, tree.kind, tree.pitch, tree.R, tree.p, tree.gravity),
        row=np.array([link for link, _ in points], np.int64) + 1,
        point=np.array([tree.link[link] @ p for link, p in points]).reshape(len(points), 3),
        factor=factor[expansion_of(model).functions.source] if model.couplings else factor,
    )


def find_points(model: Model, view: PointTree, q: Floats) -> tuple[Floats, Floats]:
    """Places (B, K, 3) of points at poses q (B, n), and their slopes (B, K, 3, n)."""
    q = np.ascontiguousarray(q)
    batch, links, count = len(q), len(model.parent), len(view.row)
    places, slopes = np.empty((batch, 3 * count)), np.empty((batch, 3 * count * links))
    if not model.couplings:
        POINTS.run(view, NO_LOADS, (q,), (places, slopes))
        return places.reshape(batch, count, 3), slopes.reshape(batch, count, 3, links)
    rest = np.zeros_like(q)
    joints = expand_states(model, q, rest, rest)
    POINTS.run(view, NO_LOADS, (joints.q,), (places, slopes))
    by_joint = slopes.reshape(batch, count, 3, links) * joints.slopes[A][:, None, None]
    return places.reshape(batch, count, 3), by_joint @ expansion_of(model).select

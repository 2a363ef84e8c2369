"""Signed distances of all pairs at a batch of configurations, with gradients and witness points.

With the witness point x of a capsule's axis, fixed to its link, and the unit normal n,

    d distance / d q_j = n . J_j(x),        J_j(x) = v_j + w_j x x,

which is exact: the witness is optimal, so its own motion does not count. The second partials that
`Checker.curvature` returns hold witness and normal fixed in the axes of the other body,

    n . (w_i x J_j(x)),      i the joint j or above it,

and lack the curvature of the surfaces.
"""

from __future__ import annotations

from typing import NamedTuple

from predyn.collision.pair_distance import (
    fixed_pose,
    own_distance,
    place_capsules,
    work_shape,
    world_distance,
)
from predyn.collision.view import Floats
from predyn.dynamics.forward import AXIS
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense, symmetric_pairs
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import at_point, cross, dot, load3, load6, scale, store3, sub


class Distances(NamedTuple):
    """Distances (..., P) of the pairs in m, their gradients (..., P, n), the nearest points of both
    bodies (..., P, 3) and the unit normals (..., P, 3) from the second body to the first.

    Apart, point_a - point_b is distance times normal.
    """

    distance: Floats
    gradient: Floats
    point_a: Floats
    point_b: Floats
    normal: Floats


@jit
def obstacle_pose(view, o, c, poses, zero):
    """Pose of an obstacle; of a moving one, from its columns of `poses`."""
    R, p = fixed_pose(view, o, zero)
    s = view.slot[o]
    if s >= 0:
        R = (load3(poses, c, 12 * s), load3(poses, c, 12 * s + 3), load3(poses, c, 12 * s + 6))
        p = load3(poses, c, 12 * s + 9)
    return R, p


@jit
def distances_only(view, loads, c, ins, outs, work):
    q, poses = ins
    (distance,) = outs
    place_capsules(view, c, q, work)
    zero = 0.0 * load(work, 0, 0)
    count = view.world.shape[0]
    for pair in range(count):
        k, o = view.world[pair, 0], view.world[pair, 1]
        R, p = obstacle_pose(view, o, c, poses, zero)
        store(distance, c, pair, world_distance(view, k, o, R, p, work)[0])
    for pair in range(view.own.shape[0]):
        d = own_distance(view, view.own[pair, 0], view.own[pair, 1], work)[0]
        store(distance, c, count + pair, d)


@jit
def _store_gradient(view, c, at, row, top, sign, n, x, gradient, work):
    """Store sign times the gradient of n . x for the joints from `row` up to `top`."""
    while row > 0:
        g = dot(n, at_point(load6(work, row, AXIS), x))
        store(gradient, c, at + row - 1, sign * g)
        if row == top:
            break
        row = view.parent[row - 1]


@jit
def _store_points(c, pair, d, n, x, r, outs):
    """Witness points from the point x of the first body's axis."""
    _, _, point_a, point_b, normal = outs
    surface = sub(x, scale(r, n))
    store3(point_a, c, 3 * pair, surface)
    store3(point_b, c, 3 * pair, sub(surface, scale(d, n)))
    store3(normal, c, 3 * pair, n)


@jit
def distances_with_gradients(view, loads, c, ins, outs, work):
    q, poses = ins
    distance, gradient = outs[0], outs[1]
    joints, count = view.parent.shape[0], view.world.shape[0]
    place_capsules(view, c, q, work)
    zero = 0.0 * load(work, 0, 0)
    for pair in range(count):
        k, o = view.world[pair, 0], view.world[pair, 1]
        R, p = obstacle_pose(view, o, c, poses, zero)
        d, n, x = world_distance(view, k, o, R, p, work)
        store(distance, c, pair, d)
        for i in range(joints):
            store(gradient, c, joints * pair + i, zero)
        _store_points(c, pair, d, n, x, view.radius[k], outs)
        _store_gradient(view, c, joints * pair, view.row[k], 0, 1.0, n, x, gradient, work)
    for own in range(view.own.shape[0]):
        i, j, pair = view.own[own, 0], view.own[own, 1], count + own
        d, n, x, y = own_distance(view, i, j, work)
        store(distance, c, pair, d)
        for joint in range(joints):
            store(gradient, c, joints * pair + joint, zero)
        _store_points(c, pair, d, n, x, view.radius[i], outs)
        if view.own[own, 2] > 0:
            top = view.own[own, 2]
            _store_gradient(view, c, joints * pair, view.row[i], top, 1.0, n, x, gradient, work)
        if view.own[own, 3] > 0:
            top = view.own[own, 3]
            _store_gradient(view, c, joints * pair, view.row[j], top, -1.0, n, y, gradient, work)


@jit
def _add_curvature(view, c, row, top, weight, n, x, total, work):
    tree = view.tree
    while row > 0:
        column = at_point(load6(work, row, AXIS), x)
        k, up = tree.pair[row - 1], row
        while up > 0:
            turned = dot(n, cross(load3(work, up, AXIS), column))
            store(total, c, k, load(total, c, k) + weight * turned)
            if up == top:
                break
            k += 1
            up = tree.parent[up - 1]
        if row == top:
            break
        row = tree.parent[row - 1]


@jit
def weighted_curvature(view, loads, c, ins, outs, work):
    q, poses, weights = ins
    (total,) = outs
    place_capsules(view, c, q, work)
    zero = 0.0 * load(work, 0, 0)
    for k in range(view.tree.pair[view.parent.shape[0]]):
        store(total, c, k, zero)
    count = view.world.shape[0]
    for pair in range(count):
        k, o = view.world[pair, 0], view.world[pair, 1]
        R, p = obstacle_pose(view, o, c, poses, zero)
        _, n, x = world_distance(view, k, o, R, p, work)
        _add_curvature(view, c, view.row[k], 0, load(weights, c, pair), n, x, total, work)
    for own in range(view.own.shape[0]):
        i, j = view.own[own, 0], view.own[own, 1]
        weight = load(weights, c, count + own)
        _, n, x, y = own_distance(view, i, j, work)
        if view.own[own, 2] > 0:
            _add_curvature(view, c, view.row[i], view.own[own, 2], weight, n, x, total, work)
        if view.own[own, 3] > 0:
            _add_curvature(view, c, view.row[j], view.own[own, 3], -weight, n, y, total, work)


def _pairs(view):
    return len(view.world) + len(view.own)


def _gradient_fields(view):
    count = _pairs(view)
    return (
        dense(count),
        dense(count, len(view.parent)),
        dense(count, 3),
        dense(count, 3),
        dense(count, 3),
    )


DISTANCES = Kernel(distances_only, work=work_shape, outputs=lambda view: (dense(_pairs(view)),))
GRADIENTS = Kernel(distances_with_gradients, work=work_shape, outputs=_gradient_fields)
CURVATURE = Kernel(
    weighted_curvature, work=work_shape, outputs=lambda view: (symmetric_pairs(view.tree),)
)

"""Distances of chosen pairs with exact first and second partials in the joints and in time.

A distance is the smallest value, over the parameters of the axes, of the distance of two points.
With the relative velocity r_j of these points for joint j and the second derivative H of the point
distance (surface_bends.py),

    d_j  = n . r_j
    d_ij = n . (w_i x r_j) + r_i . H r_j - c_i' M^-1 c_j,       i the joint j or above it,

where the last term is the motion of the nearest points along the axes: E are the directions of
those axes whose nearest point is not an end, M = E' H E and c_j = E' H r_j + n . dE/dq_j. The first
term is missing for joints on different branches. Time acts as a joint above all others that moves
the robot against the obstacle.
"""

from __future__ import annotations

from typing import NamedTuple

from predyn.collision.distances import obstacle_pose
from predyn.collision.pair_distance import (
    ALONG,
    FROM,
    obstacle_distance,
    own_distance_at,
    place_capsules,
    work_shape,
)
from predyn.collision.surface_bends import apply_bend, obstacle_bend, point_bend
from predyn.collision.view import Ints
from predyn.dynamics.forward import AXIS
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.lane_choices import choose
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    at_point,
    cross,
    dot,
    load3,
    load6,
    neg,
    scale,
    store3,
    sub,
)

VELOCITY, BENT, SHIFTS, TURN, COLUMN_END = 0, 3, 6, 8, 11  # of a row for a joint
STRAIGHT = 1e-10  # 1/m; a smaller M is that of parallel lines, along which nothing is nearest
PARALLEL = 1e-9


class Columns(NamedTuple):
    """The joints that act on each pair. The number of joints stands for time."""

    start: Ints  # (P + 1,) where those of each pair start
    joint: Ints  # (E,)
    second: Ints  # (E,) 1 if the joint moves the second body, else 0


@jit
def _world_pair(view, c, pair, poses, work):
    """(distance, normal, point, direction and parameter of the capsule's axis, obstacle's pose)."""
    k, o = view.world[pair, 0], view.world[pair, 1]
    at = view.parent.shape[0] + 1 + k
    x, u = load3(work, at, FROM), load3(work, at, ALONG)
    R, p = obstacle_pose(view, o, c, poses, 0.0 * x[0])
    d, n, t = obstacle_distance(view, o, R, p, x, u)
    return d, n, add(x, scale(t, u)), u, t, R, p


@jit
def _own_pair(view, own, work):
    """(distance of the axes, normal, points, directions, parameters)."""
    return own_distance_at(view, view.own[own, 0], view.own[own, 1], work)


@jit
def _obstacle_motion(view, o, c, twists, x, p):
    """(turn, velocity at x, angular velocity, velocity) of the robot against an obstacle."""
    s = view.slot[o]
    w, v = load3(twists, c, 6 * s), load3(twists, c, 6 * s + 3)
    return neg(w), neg(add(v, cross(w, sub(x, p)))), w, v


@jit
def pair_distances(view, columns, c, ins, outs, work):
    q, poses, _twists = ins
    (distance,) = outs
    place_capsules(view, c, q, work)
    count = view.world.shape[0]
    for pair in range(count):
        d, _, _, _, _, _, _ = _world_pair(view, c, pair, poses, work)
        store(distance, c, pair, d - view.radius[view.world[pair, 0]])
    for own in range(view.own.shape[0]):
        d = _own_pair(view, own, work)[0]
        r = view.radius[view.own[own, 0]] + view.radius[view.own[own, 1]]
        store(distance, c, count + own, d - r)


@jit
def pair_slopes(view, columns, c, ins, outs, work):
    q, poses, twists = ins
    (slope,) = outs
    place_capsules(view, c, q, work)
    joints, count = view.parent.shape[0], view.world.shape[0]
    for pair in range(count):
        _, n, x, _, _, _, p = _world_pair(view, c, pair, poses, work)
        for e in range(columns.start[pair], columns.start[pair + 1]):
            if columns.joint[e] < joints:
                g = at_point(load6(work, columns.joint[e] + 1, AXIS), x)
            else:
                _, g, _, _ = _obstacle_motion(view, view.world[pair, 1], c, twists, x, p)
            store(slope, c, e, dot(n, g))
    for own in range(view.own.shape[0]):
        _, n, x, y, _, _, _, _ = _own_pair(view, own, work)
        for e in range(columns.start[count + own], columns.start[count + own + 1]):
            axis = load6(work, columns.joint[e] + 1, AXIS)
            if columns.second[e] == 0:
                store(slope, c, e, dot(n, at_point(axis, x)))
            else:
                store(slope, c, e, -dot(n, at_point(axis, y)))


@jit
def _within(t):
    """1 where a nearest point is not an end of its axis, else 0."""
    return choose(0.0, t, 1.0, 0.0) * choose(t, 1.0, 1.0, 0.0)


@jit
def _inverse(n, bend, u, v, s, t):
    """Elements ss, st, tt of M^-1 for axes along u and v, 0 for an axis whose point is an end."""
    zero = 0.0 * s
    Hu, Hv = apply_bend(bend, n, u), apply_bend(bend, n, v)
    ss, st, tt = dot(u, Hu), -dot(u, Hv), dot(v, Hv)
    one = _within(s) * choose(STRAIGHT * dot(u, u), ss, 1.0, 0.0)
    other = _within(t) * choose(STRAIGHT * dot(v, v), tt, 1.0, 0.0)
    D = ss * tt - st * st
    both = one * other * choose(PARALLEL * ss * tt, D, 1.0, 0.0)
    alone = choose(0.5, one, zero, choose(0.5, other, 1.0 / tt, zero))
    return (
        choose(0.5, both, tt / D, choose(0.5, one, 1.0 / ss, zero)),
        choose(0.5, both, -(st / D), zero),
        choose(0.5, both, ss / D, alone),
    )


@jit
def _store_column(row, w, r, n, bend, u, v, second, work):
    """Store what the second partials need of a joint that turns by w and moves the points by r."""
    b = apply_bend(bend, n, r)
    store3(work, row, VELOCITY, r)
    store3(work, row, BENT, b)
    first, other = dot(u, b), -dot(v, b)
    if second == 0:
        first = first + dot(n, cross(w, u))
    else:
        other = other - dot(n, cross(w, v))
    store(work, row, SHIFTS, first)
    store(work, row, SHIFTS + 1, other)
    store3(work, row, TURN, w)


@jit
def _add_bends(columns, c, pair, first, weight, n, inverse, total, work):
    """Add the second partials of a pair; the columns start at row `first`."""
    ss, st, tt = inverse
    start, stop = columns.start[pair], columns.start[pair + 1]
    for e in range(start, stop):
        row = first + e - start
        r = load3(work, row, VELOCITY)
        f, g = load(work, row, SHIFTS), load(work, row, SHIFTS + 1)
        F, G = ss * f + st * g, st * f + tt * g
        for up in range(e, stop):
            high = first + up - start
            bend = dot(r, load3(work, high, BENT))
            bend = bend - F * load(work, high, SHIFTS) - G * load(work, high, SHIFTS + 1)
            if columns.second[e] == columns.second[up]:
                bend = bend + dot(n, cross(load3(work, high, TURN), r))
            i, j = columns.joint[e], columns.joint[up]
            k = i * (i + 1) // 2 + j if i > j else j * (j + 1) // 2 + i
            store(total, c, k, load(total, c, k) + weight * bend)


@jit
def _world_bends(view, columns, c, ins, total, work):
    _, poses, twists, weights = ins
    joints = view.parent.shape[0]
    first = joints + 1 + view.row.shape[0]
    for pair in range(view.world.shape[0]):
        o, weight = view.world[pair, 1], load(weights, c, pair)
        d, n, x, u, t, R, p = _world_pair(view, c, pair, poses, work)
        bend = obstacle_bend(view, o, R, p, x, n, d)
        zero = 0.0 * d
        v = (zero, zero, zero)
        start = columns.start[pair]
        for e in range(start, columns.start[pair + 1]):
            j = columns.joint[e]
            if j < joints:
                axis = load6(work, j + 1, AXIS)
                w, r = axis[0], at_point(axis, x)
            else:
                w, r, turn, speed = _obstacle_motion(view, o, c, twists, x, p)
                k = j * (j + 1) // 2 + j
                bent = weight * dot(n, cross(turn, speed))
                store(total, c, k, load(total, c, k) + bent)
            _store_column(first + e - start, w, r, n, bend, u, v, 0, work)
        inverse = _inverse(n, bend, u, v, t, zero)
        _add_bends(columns, c, pair, first, weight, n, inverse, total, work)


@jit
def pair_bends(view, columns, c, ins, outs, work):
    q, weights = ins[0], ins[3]
    (total,) = outs
    place_capsules(view, c, q, work)
    zero = 0.0 * load(work, 0, 0)
    for k in range(total.shape[1]):
        store(total, c, k, zero)
    _world_bends(view, columns, c, ins, total, work)
    first, count = view.parent.shape[0] + 1 + view.row.shape[0], view.world.shape[0]
    for own in range(view.own.shape[0]):
        pair = count + own
        d, n, x, y, u, v, s, t = _own_pair(view, own, work)
        bend = point_bend(zero, d)
        start = columns.start[pair]
        for e in range(start, columns.start[pair + 1]):
            axis = load6(work, columns.joint[e] + 1, AXIS)
            if columns.second[e] == 0:
                _store_column(first + e - start, axis[0], at_point(axis, x), n, bend, u, v, 0, work)
            else:
                r = neg(at_point(axis, y))
                _store_column(first + e - start, axis[0], r, n, bend, u, v, 1, work)
        inverse = _inverse(n, bend, u, v, s, t)
        weight = load(weights, c, pair)
        _add_bends(columns, c, pair, first, weight, n, inverse, total, work)


def _bend_work(view):
    rows, columns = work_shape(view)
    return rows + len(view.parent) + 1, columns


def _pairs(view):
    return len(view.world) + len(view.own)


def _triangle(view):
    joints = len(view.parent) + 1
    return joints * (joints + 1) // 2


PAIR_DISTANCES = Kernel(
    pair_distances, work=work_shape, outputs=lambda view: (dense(_pairs(view)),)
)
PAIR_SLOPES = Kernel(pair_slopes, work=work_shape, outputs=lambda view: ())  # sized by Columns
PAIR_BENDS = Kernel(pair_bends, work=_bend_work, outputs=lambda view: (dense(_triangle(view)),))

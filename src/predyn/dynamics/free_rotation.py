"""Free rotation of a floating base in discrete mechanics: a unit quaternion in place of hinges.

The midpoint rule for a unit quaternion e with a multiplier on |e|^2 = 1 and a Lagrangian that
depends on the direction of e alone needs no multiplier if the rotation of a step is the unknown.
With b = tan(angle/4) times its axis,

    e_m = e_0 (1, b) / |(1, b)|,   e_1 = e_m (1, b) / |(1, b)|,   W = 4 b / h

are the orientation and the angular velocity (base axes) in the middle of a step h. Rotations y_0
and y_1 of the ends, each in base axes there, turn the middle by ((1 - b x) y_0 + (1 + b x) y_1)/2
and change b by (G y_1 - G^T y_0)/4, with G = (1 - b.b) 1 + 2 b x + 2 b b^T. With the momentum
p = dL/dW and the moment N, the angular part of the discrete Euler-Lagrange equations is

    D1 = h/2 (N + b x N) - G p,     D2 = h/2 (N - b x N) + G^T p.

A rotation of the world multiplies all e from the left, which changes neither b nor p: momentum is
conserved. Kernels see three hinges about perpendicular axes at angle zero after the rotation e_m;
their partials are those of a chart, which `to_base_axes` corrects. Angles (x, y, z) of the chart
turn the base by E d(angles), W = E d(angles)/dt, and E is needed up to its second derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predyn.kernels.lanes import jit
from predyn.kernels.tree import Floats, Ints, Tree, placed_tree_of
from predyn.model import PRISMATIC, REVOLUTE, Model
from predyn.model.floating_base import floating_base

HINGE = 3  # the first of the three hinges of the base
_TO_X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # z becomes x
_TO_Y = _TO_X @ _TO_X
_LOCKED = 1e-10  # sine of the angle of gimbal lock, below which the first hinge stays
_PERPENDICULAR, _INDEPENDENT = 1e-9, 1e-6


class FreeBase(NamedTuple):
    """How the model's own hinges represent the orientation of the base."""

    free: Ints  # (1,) 1 if a quaternion takes the place of the hinges
    root: Floats  # (3, 3) joint frame of the first hinge at angle zero
    R: Floats  # (2, 3, 3) of the second and third one, each in the frame before it
    offset: Floats  # (1,) rad: middle hinge at which the outer axes are parallel


NO_BASE = FreeBase(np.zeros(1, np.int64), np.eye(3), np.zeros((2, 3, 3)), np.zeros(1))


def free_base(model: Model, held: Sequence[int] = ()) -> FreeBase:
    """The floating base of a model if a quaternion can replace its hinges; else hinges remain.

    It can if three slides come before three hinges, each perpendicular to the next, and neither
    springs, friction, armature nor loops or forces (on links `held`) act within the base.
    """
    base = None if model.couplings else floating_base(model)
    if base is None or not np.array_equal(base, np.arange(6)):
        return NO_BASE
    if not np.array_equal(model.kind[:6], 3 * [PRISMATIC] + 3 * [REVOLUTE]):
        return NO_BASE
    tree = placed_tree_of(model)
    plain = not tree.loaded[:6].any() and not model.rotor[:6].any()
    on_base = [model.frame(x).link for loop in model.loops for x in (loop.frame_a, loop.frame_b)]
    apart = all(not 0 <= link < 5 for link in (*on_base, *held))
    if not plain or not apart or model.inertia[:5].any():
        return NO_BASE
    if max(abs(tree.R[4, 2, 2]), abs(tree.R[5, 2, 2])) > _PERPENDICULAR:
        return NO_BASE
    frames = np.stack([tree.R[0], tree.R[0] @ tree.R[1], tree.R[0] @ tree.R[1] @ tree.R[2]])
    if abs(np.linalg.det(frames[:, :, 2])) < _INDEPENDENT:
        return NO_BASE
    root = frames[2] @ tree.R[3]
    along = math.atan2(tree.R[4, 2, 1], tree.R[4, 2, 0])
    third = math.atan2(tree.R[5, 1, 2], tree.R[5, 0, 2])
    return FreeBase(np.ones(1, np.int64), root, tree.R[4:6].copy(), np.array([along - third]))


def freed_tree(model: Model) -> Tree:
    """The tree with a base of slides along the world's axes and hinges about the base's own axes,
    which `turn_base` orients."""
    tree = placed_tree_of(model)
    R, p = tree.R.copy(), tree.p.copy()
    R[:3] = _TO_X, _TO_X.T @ _TO_Y, _TO_Y.T
    R[3:6] = R[:3]
    p[:6] = 0.0
    return tree._replace(R=R, p=p)


@jit
def rotation(e):
    """Axes of the orientation e = (w, x, y, z), as columns."""
    w, x, y, z = e[0], e[1], e[2], e[3]
    return (
        (w * w + x * x - y * y - z * z, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z),
    )


@jit
def turn_by(e, b):
    """The unit quaternion e (1, b) / |(1, b)|."""
    w = e[0] - e[1] * b[0] - e[2] * b[1] - e[3] * b[2]
    x = e[1] + e[0] * b[0] + e[2] * b[2] - e[3] * b[1]
    y = e[2] + e[0] * b[1] + e[3] * b[0] - e[1] * b[2]
    z = e[3] + e[0] * b[2] + e[1] * b[1] - e[2] * b[0]
    s = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return (s * w, s * x, s * y, s * z)


@jit
def turn_base(tree, e):
    """Orient the base of a freed tree by the unit quaternion e."""
    X, Y, Z = rotation(e)
    for i in range(3):
        tree.R[HINGE, i, 0] = Y[i]
        tree.R[HINGE, i, 1] = Z[i]
        tree.R[HINGE, i, 2] = X[i]


@jit
def moment_in_base_axes(f, p, v):
    """N from the forces f, momenta p and rates v of the three hinges."""
    return (
        f[0],
        f[1] - p[2] * v[0],
        f[2] - (p[0] * v[1] - p[1] * v[0]),
    )


@jit
def to_base_axes(n, N, p, v, fq, fv, pq, pv):
    """Partials of f and p (n, n) in hinge angles and rates become those in rotations of the base
    and in its angular velocity; rows of f become those of N."""
    x, y, z = p
    a, b = v[0], v[1]
    i, j, k = HINGE, HINGE + 1, HINGE + 2
    for r in range(n):  # rates that keep W: -E'[rotation] W
        fq[r, j] -= a * fv[r, k]
        fq[r, k] -= b * fv[r, i] - a * fv[r, j]
        pq[r, j] -= a * pv[r, k]
        pq[r, k] -= b * pv[r, i] - a * pv[r, j]
    pq[i, j] -= z
    pq[i, k] += y
    pq[j, k] -= x
    for c in range(n):
        fq[j, c] -= a * pq[k, c]
        fv[j, c] -= a * pv[k, c]
        fq[k, c] -= b * pq[i, c] - a * pq[j, c]
        fv[k, c] -= b * pv[i, c] - a * pv[j, c]
    fv[j, i] -= z
    fv[k, i] += y
    fv[k, j] -= x
    fq[i, j] -= N[2]
    fq[i, k] += N[1]
    fq[j, j] += x * a
    fq[j, k] += z * b - N[0]


@jit
def track_hinges(base, e, angles):
    """Angles (3,) of the model's hinges at orientation e, as near as possible to those given.

    At gimbal lock, where the outer axes are parallel, the first hinge stays where it was.
    """
    X, _, Z = rotation(e)
    toward, side = _in_root(base, Z), _in_root(base, X)
    sine = math.sqrt(toward[0] * toward[0] + toward[1] * toward[1])
    middle = math.atan2(sine, toward[2])
    least, best = np.inf, (angles[0], angles[1], angles[2])
    for way in range(2):
        sign = 1.0 - 2.0 * way
        second = _nearest(base.offset[0] + sign * middle, angles[1])
        c, s = math.cos(second), math.sin(second)
        u, w = base.R[1, 0, 2], base.R[1, 1, 2]  # third axis, in the frame of the second hinge
        u, w = c * u - s * w, s * u + c * w
        first = angles[0]
        if sine > _LOCKED:
            along = base.R[0, 0, 0] * u + base.R[0, 0, 1] * w
            across = base.R[0, 1, 0] * u + base.R[0, 1, 1] * w
            first = math.atan2(toward[1], toward[0]) - math.atan2(across, along)
            first = _nearest(first, angles[0])
        third = _nearest(_third_angle(base, first, second, side), angles[2])
        far = (first - angles[0]) ** 2 + (second - angles[1]) ** 2 + (third - angles[2]) ** 2
        if far < least:
            least, best = far, (first, second, third)
    for i in range(3):
        angles[i] = best[i]


@jit
def _in_root(base, x):
    """A world vector in the frame of the first hinge at angle zero."""
    root = base.root
    return (
        root[0, 0] * x[0] + root[1, 0] * x[1] + root[2, 0] * x[2],
        root[0, 1] * x[0] + root[1, 1] * x[1] + root[2, 1] * x[2],
        root[0, 2] * x[0] + root[1, 2] * x[1] + root[2, 2] * x[2],
    )


@jit
def _third_angle(base, first, second, side):
    """The third hinge, from the base's x axis in the frame of the first one."""
    x, y, z = side
    angles = (first, second)
    for k in range(2):
        c, s = math.cos(angles[k]), math.sin(angles[k])
        x, y = c * x + s * y, c * y - s * x
        R = base.R[k]
        x, y, z = (
            R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
            R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
            R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
        )
    return math.atan2(y, x)


@jit
def _nearest(angle, goal):
    """The angle plus the full turns that bring it nearest to the goal."""
    turns = math.floor((goal - angle) / (2.0 * math.pi) + 0.5)
    return angle + 2.0 * math.pi * turns

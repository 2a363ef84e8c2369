"""Pose, velocity and acceleration of a frame, and their exact partials.

For a frame at point p of a link, x[p] the linear part of a spatial motion x at p, j any joint from
the link to the root, w_j the angular part of S_j and (x)_a that of x (composite.py explains psi),

    d p/dq_j = d v/dv_j = d a/da_j = S_j[p]       the frame's axes turn by w_j = d w/dv_j
    d v/dq_j  = psi-dot_j[p] + w_j x v
    d w/dq_j  = (psi-dot_j)_a + w_j x w
    d a/dq_j  = psi-ddot_j[p] + 2 (psi-dot_j)_a x v + w_j x a
    d al/dq_j = (psi-ddot_j)_a + (psi-dot_j)_a x w + w_j x al
    d a/dv_j  = 2 psi-dot_j[p] + 2 w_j x v
    d al/dv_j = 2 (psi-dot_j)_a + w_j x w

where w and al are angular velocity and acceleration. In the partials in q, the last term is the
rotation of the vector with the subtree of j, and the others are further changes; v_j causes no
rotation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_motion
from predyn.dynamics.composite import PSI2
from predyn.dynamics.forward import (
    ACCELERATION,
    AXIS,
    ORIGIN,
    POSE,
    PSI,
    VELOCITY,
    column,
    move,
    place,
    vector,
    world_row,
)
from predyn.kernels.arguments import motion
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import vector as checked_vector
from predyn.kernels.lanes import jit, store
from predyn.kernels.spatial import (
    add,
    add6,
    apply,
    at_point,
    cross,
    cross_motion,
    load3,
    load6,
    load33,
    scale,
    store3,
    store6,
)
from predyn.kernels.tree import Floats, Ints, tree_of, weightless_tree_of
from predyn.model import Model

COLUMNS = PSI2 + 6


class Target(NamedTuple):
    """A frame on a link in the form the kernels read, in place of loads."""

    row: Ints  # (1,) workspace row of the link, 0 = world
    R: Floats  # (1, 3, 3) axes in the joint frame
    p: Floats  # (1, 3) origin in the joint frame


class FrameMotion(NamedTuple):
    """World components; v and a are time derivatives of the position p."""

    R: NDArray  # (..., 3, 3) the frame's axes as columns
    p: NDArray  # (..., 3) m
    w: NDArray  # (..., 3) angular velocity, rad/s
    v: NDArray  # (..., 3) velocity of the origin, m/s
    alpha: NDArray  # (..., 3) angular acceleration, rad/s^2
    a: NDArray  # (..., 3) acceleration of the origin, m/s^2


class FrameDerivatives(NamedTuple):
    """Partials (..., 6, n), angular part first.

    jacobian  of (w, v) in the joint rates, of (alpha, a) in the joint accelerations, and of the
              pose in q: column j is the rotation of the axes and the motion of the origin
    velocity_q, acceleration_q, acceleration_v  of (w, v) and (alpha, a)
    """

    jacobian: NDArray
    velocity_q: NDArray
    acceleration_q: NDArray
    acceleration_v: NDArray


def target_of(model: Model, frame: str, point: ArrayLike) -> Target:
    """The frame (or link) with this name, its origin moved to `point` in it."""
    found = model.frame(frame)
    offset = checked_vector("point", point)
    to_joint = tree_of(model).link[found.link] if found.link >= 0 else np.eye(3)
    p = to_joint @ (found.p + found.R @ offset)
    return Target(np.array([found.link + 1]), (to_joint @ found.R)[None], p[None])


@jit
def is_above(tree, i, row):
    """Whether link i carries or is the link of that workspace row."""
    return i < row and row <= i + tree.size[i]


@jit
def outward_path(tree, target, c, q, v, a, work):
    """Kinematics of the links from the root to the target: its (R, p, w, v, alpha, a)."""
    row = target.row[0]
    world_row(work, tree.gravity)
    for i in range(tree.parent.shape[0]):
        if is_above(tree, i, row):
            _, _, S = place(tree, c, i, q, work)
            _, _, psi = move(tree, c, i, S, v, a, work)
            up = tree.parent[i]
            swept = cross_motion(load6(work, up, ACCELERATION), S)
            psi2 = add6(swept, cross_motion(load6(work, up, VELOCITY), psi))
            store6(work, i + 1, PSI2, psi2)
    P = load33(work, row, POSE)
    R = (
        apply(P, column(target.R, 0, 0)),
        apply(P, column(target.R, 0, 1)),
        apply(P, column(target.R, 0, 2)),
    )
    p = add(load3(work, row, ORIGIN), apply(P, vector(target.p, 0)))
    v_link, a_link = load6(work, row, VELOCITY), load6(work, row, ACCELERATION)
    velocity = at_point(v_link, p)
    acceleration = add(at_point(a_link, p), cross(v_link[0], velocity))
    return R, p, v_link[0], velocity, a_link[0], acceleration


@jit
def frame_motion(tree, target, c, ins, outs, work):
    q, v, a = ins
    R, p, w, velocity, alpha, acceleration = outward_path(tree, target, c, q, v, a, work)
    for k in range(3):  # by rows, as in NumPy
        store3(outs[0], c, 3 * k, (R[0][k], R[1][k], R[2][k]))
    store3(outs[1], c, 0, p)
    store3(outs[2], c, 0, w)
    store3(outs[3], c, 0, velocity)
    store3(outs[4], c, 0, alpha)
    store3(outs[5], c, 0, acceleration)


@jit
def _store_column(out, c, n, i, angular, linear):
    for k in range(3):
        store(out, c, k * n + i, angular[k])
        store(out, c, (k + 3) * n + i, linear[k])


@jit
def frame_derivatives(tree, target, c, ins, outs, work):
    q, v, a = ins
    jacobian, velocity_q, acceleration_q, acceleration_v = outs
    n = tree.parent.shape[0]
    for k in range(6 * n):
        store(jacobian, c, k, 0.0)
        store(velocity_q, c, k, 0.0)
        store(acceleration_q, c, k, 0.0)
        store(acceleration_v, c, k, 0.0)
    _, p, w, velocity, alpha, acceleration = outward_path(tree, target, c, q, v, a, work)
    row = target.row[0]
    while row > 0:
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        w_j, i = S[0], row - 1
        _store_column(jacobian, c, n, i, w_j, at_point(S, p))
        angular = add(psi[0], cross(w_j, w))
        linear = add(at_point(psi, p), cross(w_j, velocity))
        _store_column(velocity_q, c, n, i, angular, linear)
        angular = add(add(psi2[0], cross(psi[0], w)), cross(w_j, alpha))
        linear = add(at_point(psi2, p), scale(2.0, cross(psi[0], velocity)))
        _store_column(acceleration_q, c, n, i, angular, add(linear, cross(w_j, acceleration)))
        angular = add(scale(2.0, psi[0]), cross(w_j, w))
        linear = scale(2.0, add(at_point(psi, p), cross(w_j, velocity)))
        _store_column(acceleration_v, c, n, i, angular, linear)
        row = tree.parent[row - 1]


FRAME_MOTION = Kernel(
    frame_motion,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=lambda tree: (dense(3, 3), *(dense(3) for _ in range(5))),
    view=weightless_tree_of,
)
FRAME_DERIVATIVES = Kernel(
    frame_derivatives,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=lambda tree: tuple(dense(6, len(tree.parent)) for _ in range(4)),
    view=weightless_tree_of,
)


def frame_kinematics(
    model: Model,
    frame: str,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    point: ArrayLike = (0.0, 0.0, 0.0),
    out: tuple[NDArray, ...] | None = None,
) -> FrameMotion:
    """Pose, velocity and acceleration of a frame, or of a point given in it.

    frame: name of a frame or of a link. q, v, a: (..., n); v and a are zero if not given.
    """
    inputs = motion(model, q, v, a)
    if model.couplings:
        return coupled_motion.frame_kinematics(model, frame, q, v, a, point, out)
    target = target_of(model, frame, point)
    return FrameMotion(*FRAME_MOTION(model, inputs, out=out, constants=target))


def frame_kinematics_derivatives(
    model: Model,
    frame: str,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    point: ArrayLike = (0.0, 0.0, 0.0),
    out: tuple[NDArray, ...] | None = None,
) -> FrameDerivatives:
    """Exact partials of a frame's motion in q, v and a; arguments as for frame_kinematics."""
    inputs = motion(model, q, v, a)
    if model.couplings:
        found = coupled_motion.frame_kinematics_derivatives(model, frame, q, v, a, point, out)
        return FrameDerivatives(*found)
    target = target_of(model, frame, point)
    return FrameDerivatives(*FRAME_DERIVATIVES(model, inputs, out=out, constants=target))

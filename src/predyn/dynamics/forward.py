"""The outward sweep that all kernels share: poses, joint axes, velocities, accelerations.

All quantities are in world components about one point, the tree's origin, so no transformation from
link to link is needed. Columns of the workspace that this sweep fills, one row per link (row 0 is
the world):
"""

from __future__ import annotations

from predyn.kernels.lane_functions import sincos
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    add6,
    apply,
    cross,
    cross_motion,
    load3,
    load6,
    load33,
    scale,
    scale6,
    store3,
    store6,
    store33,
    wrench_at,
)
from predyn.model import PRISMATIC

POSE = 0  # axes of the joint frame, 9
ORIGIN = 9  # its origin, 3
AXIS = 12  # S, motion subspace of the joint, 6
VELOCITY = 18  # v, 6
ACCELERATION = 24  # a, 6; gravity enters as an upward acceleration of the world
PSI = 30  # psi-dot = v_parent x S, 6
END = 36


@jit
def column(A, i, k):
    """Column k of the constant matrix A[i]."""
    return (A[i, 0, k], A[i, 1, k], A[i, 2, k])


@jit
def vector(A, i):
    """The constant 3-vector A[i]."""
    return (A[i, 0], A[i, 1], A[i, 2])


@jit
def symmetric(A, i):
    """The constant symmetric matrix A[i]."""
    return (A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5])


@jit
def world_row(work, gravity):
    """Fill row 0: the world at rest, accelerated against gravity."""
    for k in range(END):
        store(work, 0, k, 0.0)
    store(work, 0, POSE, 1.0)
    store(work, 0, POSE + 4, 1.0)
    store(work, 0, POSE + 8, 1.0)
    store(work, 0, ACCELERATION + 3, -gravity[0])
    store(work, 0, ACCELERATION + 4, -gravity[1])
    store(work, 0, ACCELERATION + 5, -gravity[2])


@jit
def place(tree, c, i, q, work):
    """Pose and axis of link i from its parent's: returns (R, origin, S)."""
    up = tree.parent[i]
    P = load33(work, up, POSE)
    X = apply(P, column(tree.R, i, 0))
    Y = apply(P, column(tree.R, i, 1))
    Z = apply(P, column(tree.R, i, 2))
    origin = add(load3(work, up, ORIGIN), apply(P, vector(tree.p, i)))
    x = load(q, c, i)
    if tree.kind[i] == PRISMATIC:
        origin = add(origin, scale(x, Z))
        S = (scale(0.0, Z), Z)
    else:
        sine, cosine = sincos(x)
        X, Y = (
            add(scale(cosine, X), scale(sine, Y)),
            add(scale(-sine, X), scale(cosine, Y)),
        )
        pitch = tree.pitch[i]
        origin = add(origin, scale(pitch * x, Z))
        S = (Z, add(cross(origin, Z), scale(pitch, Z)))
    R = (X, Y, Z)
    store33(work, i + 1, POSE, R)
    store3(work, i + 1, ORIGIN, origin)
    store6(work, i + 1, AXIS, S)
    return R, origin, S


@jit
def carry(tree, c, i, S, v, work):
    """Velocity of link i from its parent's: returns (v, psi-dot)."""
    v_up = load6(work, tree.parent[i], VELOCITY)
    psi = cross_motion(v_up, S)
    v_i = add6(v_up, scale6(load(v, c, i), S))
    store6(work, i + 1, VELOCITY, v_i)
    store6(work, i + 1, PSI, psi)
    return v_i, psi


@jit
def move(tree, c, i, S, v, a, work):
    """Velocity and acceleration of link i from its parent's: returns (v, a, psi-dot)."""
    v_i, psi = carry(tree, c, i, S, v, work)
    a_up = load6(work, tree.parent[i], ACCELERATION)
    a_i = add6(add6(a_up, scale6(load(a, c, i), S)), scale6(load(v, c, i), psi))
    store6(work, i + 1, ACCELERATION, a_i)
    return v_i, a_i, psi


@jit
def center(tree, i, R, origin):
    """World position of the centre of mass of link i."""
    return add(origin, apply(R, vector(tree.com, i)))


@jit
def load_axes(loads, k, work):
    """World axes of the components of external force k."""
    R = load33(work, loads.row[k], POSE)
    if loads.world[k] == 1:
        R = load33(work, 0, POSE)
    return (
        apply(R, column(loads.R, k, 0)),
        apply(R, column(loads.R, k, 1)),
        apply(R, column(loads.R, k, 2)),
    )


@jit
def load_point(loads, k, work):
    """World position of the point where external force k acts."""
    row = loads.row[k]
    return add(load3(work, row, ORIGIN), apply(load33(work, row, POSE), vector(loads.point, k)))


@jit
def load_vectors(loads, c, k, values, work):
    """Point, moment and force of external force k, in world components."""
    axes = load_axes(loads, k, work)
    moment = apply(axes, load3(values, c, 6 * k))
    force = apply(axes, load3(values, c, 6 * k + 3))
    return load_point(loads, k, work), moment, force


@jit
def load_wrench(loads, c, k, values, work):
    """External force k as a spatial force about the world origin."""
    point, moment, force = load_vectors(loads, c, k, values, work)
    return wrench_at(point, moment, force)

"""Articulated bodies: subtrees whose free joints yield when pushed.

Columns of the workspace for the articulated inertia K of each link and the force p that its subtree
needs at zero acceleration, and the outward sweep that initialises them with the link's own.
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.2.
"""

from __future__ import annotations

from predyn.dynamics.forward import (
    END,
    PSI,
    VELOCITY,
    center,
    load_wrench,
    place,
    symmetric,
    world_row,
)
from predyn.kernels.lane_functions import sqrt
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    add6,
    apply,
    apply_inertia,
    apply_symmetric,
    apply_transposed,
    cross_force,
    cross_motion,
    dot,
    load6,
    scale,
    scale6,
    store6,
    store33,
    store_symmetric,
    sub6,
    world_inertia,
)

# The articulated inertia is symmetric 6x6: angular block A, linear block C, coupling B (A|B; B^T|C)
K_A, K_B, K_C = END, END + 6, END + 15  # 6, 9, 6
BIAS = END + 21  # p, 6
PUSH = END + 27  # U, 6
REST = END + 33  # 1 / D and u
COLUMNS = END + 35


SINGULAR = 64 * 2.0**-52  # a pivot this small relative to its terms consists of rounding errors


@jit
def inverse_pivot(D, A, C, S):
    """1 / D of a free joint; NaN if only rounding errors are left of its inertia."""
    size = dot(S[0], S[0]) * (A[0] + A[2] + A[5]) + dot(S[1], S[1]) * (C[0] + C[2] + C[5])
    return 1.0 / D + 0.0 * sqrt(D - SINGULAR * size)


@jit
def apply_articulated(A, B, C, x):
    """K x."""
    return (
        add(apply_symmetric(A, x[0]), apply(B, x[1])),
        add(apply_transposed(B, x[0]), apply_symmetric(C, x[1])),
    )


@jit
def subtract_square(A, u, d):
    """A - d u u^T, symmetric."""
    w = scale(d, u)
    return (
        A[0] - w[0] * u[0],
        A[1] - w[0] * u[1],
        A[2] - w[1] * u[1],
        A[3] - w[0] * u[2],
        A[4] - w[1] * u[2],
        A[5] - w[2] * u[2],
    )


@jit
def subtract_outer(B, u, x, d):
    """B - d u x^T, by columns."""
    w = scale(d, u)
    return (
        (B[0][0] - w[0] * x[0], B[0][1] - w[1] * x[0], B[0][2] - w[2] * x[0]),
        (B[1][0] - w[0] * x[1], B[1][1] - w[1] * x[1], B[1][2] - w[2] * x[1]),
        (B[2][0] - w[0] * x[2], B[2][1] - w[1] * x[2], B[2][2] - w[2] * x[2]),
    )


@jit
def add_to(work, row, first, last, other):
    for k in range(first, last):
        store(work, row, k, load(work, row, k) + load(work, other, k))


@jit
def outward_bodies(tree, loads, c, q, v, values, work):
    """Pose and velocity of each link; its own inertia as K, and v x* I v minus the loads as p."""
    world_row(work, tree.gravity)
    for i in range(tree.parent.shape[0]):
        row = i + 1
        R, origin, S = place(tree, c, i, q, work)
        v_up = load6(work, tree.parent[i], VELOCITY)
        v_i = add6(v_up, scale6(load(v, c, i), S))
        store6(work, row, VELOCITY, v_i)
        store6(work, row, PSI, cross_motion(v_up, S))
        m = tree.mass[i]
        h, I = world_inertia(R, m, center(tree, i, R, origin), symmetric(tree.Ic, i))  # noqa: E741
        store_symmetric(work, row, K_A, I)
        z = scale(0.0, h)[0]
        store33(work, row, K_B, ((z, h[2], -h[1]), (-h[2], z, h[0]), (h[1], -h[0], z)))
        mass = z + m
        store_symmetric(work, row, K_C, (mass, z, mass, z, z, mass))
        store6(work, row, BIAS, cross_force(v_i, apply_inertia(m, h, I, v_i)))
    for k in range(loads.row.shape[0]):
        row = loads.row[k]
        wrench = load_wrench(loads, c, k, values, work)
        store6(work, row, BIAS, sub6(load6(work, row, BIAS), wrench))

"""Inverse dynamics by the recursive Lagrangian formulation on Denavit-Hartenberg matrices.

Y. Xiang, J. S. Arora, K. Abdel-Malek, "Optimization-based motion prediction of mechanical systems:
sensitivity analysis", Structural and Multidisciplinary Optimization (2008): equations 1-20 and
36-38, by their numbers. Symbols are the paper's: T_i takes frame i to the frame before it, A, B, C
are pose, velocity and acceleration of frame i in the world, D, E, F, G gather inertia, gravity,
external forces and external moments inwards. Sensitivities: lagrangian_dh_sensitivity.py.

Where the code departs from the print:
- (12)-(14), (36) start from the pose of the base, A_0 = tree.base. Frame "i - 1" of a branched
  chain is that of the parent (37a).
- (37b) is printed without the children's own T; each child c hands on T_c D_c, T_c E_c, T_c F_c.
- (16), (19) hold one external force. For several, F and f go together as the matrix
  Phi_i = sum over k of (F_i of force k) f_k^T, for which (19) and (37b) hold as for D.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.batch import Kernel, dense
from predyn.dynamics.dh import DHTree, dh_tree_of, pack_dh_forces
from predyn.dynamics.forces import ExternalForce, Loads
from predyn.dynamics.forward import column, joint_force, vector
from predyn.dynamics.homogeneous import (
    add4,
    inertia_times,
    inward,
    load4,
    point_times,
    product,
    rotate,
    scale4,
    store4,
    times_vector,
    trace,
)
from predyn.errors import InputError
from predyn.lanes import jit, load, sincos, store
from predyn.model import PRISMATIC, Model
from predyn.model_parts import frozen
from predyn.spatial import add, apply, dot, load3, scale, store3

# Columns of the workspace; row 0 is the base, row i + 1 is link i.
COL_A = 0  # 12 numbers
COL_B = 12
COL_C = 24
COL_T = 36
COL_DA = 48  # dA_i/dq_i
COL_D = 60
COL_E = 72  # 4 numbers
COL_PHI = 76
COL_G = 88  # 3 numbers: the fourth is zero
END = 91

# -- the joint ----------------------------------------------------------------------------------


@jit
def joint_kind(tree, i):
    """(1, 0) if joint i turns, (0, 1) if it slides."""
    if tree.kind[i] == PRISMATIC:
        return 0.0, 1.0
    return 1.0, 0.0


@jit
def joint_matrix(tree, c, i, q):
    """T_i (1) of q_i (2)."""
    turns, slides = joint_kind(tree, i)
    s, co = sincos(tree.theta[i] + turns * load(q, c, i))
    ca, sa, a = tree.cos_alpha[i], tree.sin_alpha[i], tree.a[i]
    zero = 0.0 * s
    return (
        (co, s, zero),
        (-ca * s, ca * co, sa + zero),
        (sa * s, -sa * co, ca + zero),
        (a * co, a * s, tree.d[i] + slides * load(q, c, i)),
    )


@jit
def derivative(tree, i, T, last):
    """dT_i/dq_i = Q T_i: a quarter turn about z, or the slide along z; d2T = Q dT and so on."""
    turns, slides = joint_kind(tree, i)
    X, Y, Z, p = scale4(turns, T)
    zero = 0.0 * X[0]
    return (
        (-X[1], X[0], zero),
        (-Y[1], Y[0], zero),
        (-Z[1], Z[0], zero),
        (-p[1], p[0], zero + slides * last),
    )


# -- recursions ---------------------------------------------------------------------------------


@jit
def advance(A, B, C, T, dT, ddT, last, v, a):
    """(12), (13), (14) from frame i - 1 to frame i, and A_{i-1} dT_i/dq_i."""
    A_dT = product(A, dT, 0.0)
    A_i = product(A, T, last)
    B_i = add4(product(B, T, last), scale4(v, A_dT))
    C_i = add4(
        add4(product(C, T, last), scale4(2.0 * v, product(B, dT, 0.0))),
        add4(scale4(v * v, product(A, ddT, 0.0)), scale4(a, A_dT)),
    )
    return A_i, B_i, C_i, A_dT


@jit
def forward_kinematics(tree, c, q, v, a, work):
    """A, B, C, T and dA_i/dq_i of all links, into their columns."""
    for k in range(3):
        for col in range(4):
            store(work, 0, COL_A + 3 * col + k, tree.base[k, col])
    for k in range(12):  # (36)
        store(work, 0, COL_B + k, 0.0)
        store(work, 0, COL_C + k, 0.0)
    for i in range(tree.parent.shape[0]):
        row, up = i + 1, tree.parent[i]  # (37a)
        T = joint_matrix(tree, c, i, q)
        dT = derivative(tree, i, T, 1.0)
        ddT = derivative(tree, i, dT, 0.0)
        A, B, C, dA = advance(
            load4(work, up, COL_A), load4(work, up, COL_B), load4(work, up, COL_C),
            T, dT, ddT, 1.0, load(v, c, i), load(a, c, i),
        )  # fmt: skip
        store4(work, row, COL_A, A)
        store4(work, row, COL_B, B)
        store4(work, row, COL_C, C)
        store4(work, row, COL_T, T)
        store4(work, row, COL_DA, dA)  # (21), k = i


@jit
def in_link(loads, c, k, values):
    """Force f and moment h of load k along its own axes: those of the world, or of frame i."""
    axes = (column(loads.R, k, 0), column(loads.R, k, 1), column(loads.R, k, 2))
    return apply(axes, load3(values, c, 6 * k + 3)), apply(axes, load3(values, c, 6 * k))


@jit
def add_load(loads, k, f, h, work, col_phi, col_g):
    """r_f f^T of (19) and h of (20), delta_ik, to the row of the link that load k acts on."""
    row = loads.row[k]
    phi = point_times(vector(loads.point, k), f)
    store4(work, row, col_phi, add4(load4(work, row, col_phi), phi))
    store3(work, row, col_g, add(load3(work, row, col_g), h))


@jit
def backward_dynamics(tree, loads, c, values, work, tau):
    """D, E, Phi, G of all links into their columns, and tau."""
    n = tree.parent.shape[0]
    gravity = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for row in range(n + 1):  # (36)
        for col in range(COL_D, END):
            store(work, row, col, 0.0)
    for k in range(loads.row.shape[0]):
        f, h = in_link(loads, c, k, values)
        if loads.world[k] == 0:
            A = load4(work, loads.row[k], COL_A)
            f, h = rotate(A, f), rotate(A, h)
        add_load(loads, k, f, h, work, COL_PHI, COL_G)
    for i in range(n - 1, -1, -1):
        row, up = i + 1, tree.parent[i]
        # The children have already put T_c D_c, T_c E_c, T_c Phi_c, G_c here: (37b) with their T.
        D = add4(inertia_times(tree.I, i, load4(work, row, COL_C)), load4(work, row, COL_D))  # (17)
        E = add(scale(tree.mass[i], vector(tree.com, i)), load3(work, row, COL_E))  # (18)
        mass = tree.mass[i] + load(work, row, COL_E + 3)  # fourth entry of E
        Phi = load4(work, row, COL_PHI)  # (19)
        G = load3(work, row, COL_G)  # (20)
        dA = load4(work, row, COL_DA)
        axis = load3(work, up, COL_A + 6)  # A_{i-1} z_0 of a joint that turns
        turns, _ = joint_kind(tree, i)
        store(
            tau, c, i,
            trace(dA, D) - dot(gravity, times_vector(dA, E, mass)) - trace(dA, Phi)
            - turns * dot(G, axis),
        )  # (16)  # fmt: skip
        store4(work, row, COL_D, D)
        store3(work, row, COL_E, E)
        store(work, row, COL_E + 3, mass)
        T = load4(work, row, COL_T)
        store4(work, up, COL_D, add4(load4(work, up, COL_D), inward(T, D, 1.0)))
        store3(work, up, COL_E, add(load3(work, up, COL_E), times_vector(T, E, mass)))
        store(work, up, COL_E + 3, load(work, up, COL_E + 3) + mass)
        store4(work, up, COL_PHI, add4(load4(work, up, COL_PHI), inward(T, Phi, 1.0)))
        store3(work, up, COL_G, add(load3(work, up, COL_G), G))


@jit
def lagrangian_dh(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    (tau,) = outs
    forward_kinematics(tree, c, q, v, a, work)
    backward_dynamics(tree, loads, c, values, work, tau)
    for i in range(tree.parent.shape[0]):
        if tree.loaded[i] == 1:
            store(tau, c, i, load(tau, c, i) + joint_force(tree, c, i, q, v, a))


LAGRANGIAN = Kernel(
    lagrangian_dh,
    work=lambda tree: (len(tree.parent) + 1, END),
    outputs=lambda tree: (dense(len(tree.parent)),),
    forces=True,
    view=dh_tree_of,
    pack=pack_dh_forces,
)


def lagrangian_dh_torques(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Joint torques tau (..., n), as predyn.inverse_dynamics, by the recursion (12)-(20).

    For models with a standard DH table (model.dh) and without coupled rotors; others are refused
    with a ModelError. q, v, a: (..., n) in the order of model.joint_names; leading shapes
    broadcast. A joint cut to open a loop (38) is an external force at the end that was cut, with
    lagrangian_dh_point for the condition that closes the loop.
    """
    n = (model.n,)
    return LAGRANGIAN(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]


# -- a point of a link (15) ---------------------------------------------------------------------


@jit
def lagrangian_dh_point_motion(tree, loads, c, ins, outs, work):
    q, v, a, _ = ins
    row, r = loads.row[0], vector(loads.point, 0)
    forward_kinematics(tree, c, q, v, a, work)
    store3(outs[0], c, 0, times_vector(load4(work, row, COL_A), r, 1.0))  # (15), r constant
    store3(outs[1], c, 0, times_vector(load4(work, row, COL_B), r, 1.0))
    store3(outs[2], c, 0, times_vector(load4(work, row, COL_C), r, 1.0))


def pack_point(model: Model, tree: DHTree, place: tuple[str, ArrayLike]) -> tuple[Loads, list]:
    """A link and a point in its DH frame, in the form in which kernels read places of loads."""
    link, point = place
    row = np.array([model.link_index(link) + 1])
    at = np.array(frozen(point, "point", (3,)))[None]
    if not np.isfinite(at).all():
        raise InputError(f"point: expected finite numbers, got {at[0]}")
    return Loads(row, at, np.eye(3)[None], np.ones(1, np.int64)), []


POINT = Kernel(
    lagrangian_dh_point_motion,
    work=lambda tree: (len(tree.parent) + 1, END),
    outputs=lambda tree: (dense(3), dense(3), dense(3)),
    forces=True,
    view=dh_tree_of,
    pack=pack_point,
)


class PointMotion(NamedTuple):
    """Position, velocity and acceleration (..., 3) of a point, in the world."""

    position: NDArray
    velocity: NDArray
    acceleration: NDArray


def lagrangian_dh_point(
    model: Model, link: str, point: ArrayLike, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> PointMotion:
    """Motion (15) of a point (3,) given in the DH frame of a link (the model's frame "<link>_dh").

    With the point at the end of a chain this is what (38) needs of a cut joint: the loop is closed
    where the position is that of the point it was cut from.
    """
    n = (model.n,)
    place: Any = (link, point)
    return PointMotion(*POINT(model, (("q", q, n), ("v", v, n), ("a", a, n)), place))

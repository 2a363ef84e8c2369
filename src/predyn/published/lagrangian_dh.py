"""Inverse dynamics by the recursive Lagrangian formulation on Denavit-Hartenberg matrices.

Y. Xiang, J. S. Arora, K. Abdel-Malek, "Optimization-based motion prediction of mechanical systems:
sensitivity analysis", Structural and Multidisciplinary Optimization (2008): equations 1, 2, 12-20
and 36-38, by their numbers. Symbols are the paper's: T_i transforms frame i to the previous frame,
A, B, C are pose, velocity and acceleration of frame i in the world, D, E, F, G gather inertia,
gravity, external forces and external moments inward. Sensitivities: lagrangian_dh_sensitivity.py.

Differences from the printed equations:
- (12)-(14), (36) start from the pose of the base, A_0 = tree.base. Frame "i - 1" of a branched
  chain is that of the parent (37a).
- (15) is printed with the rates of the local r_j; r_j is constant: B r, C r.
- (16) as printed: g points down, f and h act on the link, along world axes. Loads along link axes,
  springs, friction and armature are added.
- (16), (19) are for one external force. For several, F and f are combined in the matrix
  Phi_i = sum over k of (F_i of force k) f_k^T, for which (19) and (37b) hold as for D.
- (17) does not define I_i: it is the integral of r r^T dm, r = (x, 1), in frame i (dh.py).
- (37b) is printed without the children's own T; each child c passes on T_c D_c, T_c E_c, T_c F_c.
- (38a) is (36); the end forces of (38b) are an ExternalForce.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.forward import column, vector
from predyn.dynamics.joint_forces import joint_force
from predyn.errors import InputError
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce, Loads
from predyn.kernels.lane_functions import sincos
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import add, apply, dot, load3, scale, store3
from predyn.model import PRISMATIC, Model
from predyn.model.parts import frozen
from predyn.published.dh import DHTree, dh_tree_of, pack_dh_forces
from predyn.published.homogeneous import (
    add_inertia,
    add_outer,
    add_product,
    clear,
    pose,
    rotate,
    times,
    trace,
)


class Columns(NamedTuple):
    """Columns of the workspace; row 0 is the base, row i + 1 is link i.

    To the compiler, a field of a tuple is a number; a global would be a separate type, for which
    every function that takes it is compiled again.
    """

    A: int = 0  # poses and their derivatives, 12 numbers each
    B: int = 12
    C: int = 24
    T: int = 36
    dA: int = 48  # dA_i/dq_i
    D: int = 60  # gathered inwards: 12, 12, 4, 3 numbers
    Phi: int = 72
    E: int = 84
    G: int = 88
    end: int = 91


AT = Columns()


@jit
def joint_kind(tree, i):
    """(1, 0) if joint i is revolute, (0, 1) if it is prismatic."""
    if tree.kind[i] == PRISMATIC:
        return 0.0, 1.0
    return 1.0, 0.0


@jit
def store_joint_matrix(tree, c, i, q, work):
    """T_i (1) of q_i (2)."""
    turns, slides = joint_kind(tree, i)
    x = load(q, c, i)
    s, co = sincos(tree.theta[i] + turns * x)
    ca, sa, a = tree.cos_alpha[i], tree.sin_alpha[i], tree.a[i]
    zero = 0.0 * s
    store3(work, i + 1, AT.T, (co, s, zero))
    store3(work, i + 1, AT.T + 3, (-ca * s, ca * co, zero + sa))
    store3(work, i + 1, AT.T + 6, (sa * s, -sa * co, zero + ca))
    store3(work, i + 1, AT.T + 9, (a * co, a * s, tree.d[i] + slides * x))


@jit
def derivative(tree, i, x, last):
    """A column of dT_i/dq_i = Q T_i, from that of T_i: Q rotates by a right angle about z, or moves
    the last entry to z. d2T = Q dT, d3T = Q d2T."""
    turns, slides = joint_kind(tree, i)
    return (-turns * x[1], turns * x[0], 0.0 * x[2] + slides * last)


@jit
def advance(A_up, B_up, C_up, t, dt, ddt, last, v, a):
    """(12), (13), (14) from frame i - 1 to i, and A_{i-1} dT_i/dq_i: one column of each."""
    A_dt = rotate(A_up, dt)
    A_i = times(A_up, t, last)  # (12)
    B_i = add(times(B_up, t, last), scale(v, A_dt))  # (13)
    C_i = add(  # (14)
        add(times(C_up, t, last), scale(2.0 * v, rotate(B_up, dt))),
        add(scale(v * v, rotate(A_up, ddt)), scale(a, A_dt)),
    )
    return A_i, B_i, C_i, A_dt


@jit
def forward_kinematics(tree, c, q, v, a, work):
    """A, B, C, T and dA_i/dq_i of all links."""
    clear(work, 0, AT.A, AT.end)  # (36), (38a)
    for k in range(3):
        for col in range(4):
            store(work, 0, AT.A + 3 * col + k, tree.base[k, col])
    for i in range(tree.parent.shape[0]):
        row, up = i + 1, tree.parent[i]  # (37a)
        store_joint_matrix(tree, c, i, q, work)
        A_up, B_up, C_up = pose(work, up, AT.A), pose(work, up, AT.B), pose(work, up, AT.C)
        for k in range(4):
            last = 1.0 if k == 3 else 0.0
            t = load3(work, row, AT.T + 3 * k)
            dt = derivative(tree, i, t, last)
            ddt = derivative(tree, i, dt, 0.0)
            A_i, B_i, C_i, dA_i = advance(
                A_up, B_up, C_up, t, dt, ddt, last, load(v, c, i), load(a, c, i)
            )
            store3(work, row, AT.A + 3 * k, A_i)
            store3(work, row, AT.B + 3 * k, B_i)
            store3(work, row, AT.C + 3 * k, C_i)
            store3(work, row, AT.dA + 3 * k, dA_i)  # (21), k = i


@jit
def own_axes(loads, c, k, values):
    """Force f and moment h of load k along world axes, or along those of its link's frame."""
    axes = (column(loads.R, k, 0), column(loads.R, k, 1), column(loads.R, k, 2))
    return apply(axes, load3(values, c, 6 * k + 3)), apply(axes, load3(values, c, 6 * k))


@jit
def add_load(loads, k, f, h, work, phi, g):
    """Add r_f f^T of (19) and h of (20) to the row of the link on which load k acts."""
    row = loads.row[k]
    add_outer(vector(loads.point, k), f, work, row, phi)
    store3(work, row, g, add(load3(work, row, g), h))


@jit
def backward_dynamics(tree, loads, c, values, work, tau):
    """D, E, Phi, G of all links, and tau."""
    n = tree.parent.shape[0]
    gravity = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for i in range(n):  # (36), (38a), then the terms of link i itself; (37b) adds its children
        row, mass = i + 1, tree.mass[i]
        clear(work, row, AT.D, AT.end)
        add_inertia(tree.I, i, 1.0, work, row, AT.C, AT.D)  # (17)
        store3(work, row, AT.E, scale(mass, vector(tree.com, i)))  # (18)
        store(work, row, AT.E + 3, mass)
    for k in range(loads.row.shape[0]):  # (19), (20)
        f, h = own_axes(loads, c, k, values)
        if loads.world[k] == 0:
            A_k = pose(work, loads.row[k], AT.A)
            f, h = rotate(A_k, f), rotate(A_k, h)
        add_load(loads, k, f, h, work, AT.Phi, AT.G)
    for i in range(n - 1, -1, -1):
        row, up = i + 1, tree.parent[i]
        turns, _ = joint_kind(tree, i)
        E, mass = load3(work, row, AT.E), load(work, row, AT.E + 3)
        G, axis = load3(work, row, AT.G), load3(work, up, AT.A + 6)  # A_{i-1} z_0, if revolute
        inertia = trace(work, row, AT.dA, AT.D)
        weight = dot(gravity, times(pose(work, row, AT.dA), E, mass))
        force = trace(work, row, AT.dA, AT.Phi)
        moment = turns * dot(G, axis)
        store(tau, c, i, inertia - weight - force - moment)  # (16)
        if up > 0:
            # T_i D_i, T_i Phi_i, T_i E_i of (17)-(19); (37b) corrected: with T_i
            add_product(work, row, AT.T, up, AT.D, AT.G)
            store3(work, up, AT.G, add(load3(work, up, AT.G), G))  # (20)


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
    work=lambda tree: (len(tree.parent) + 1, AT.end),
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
    """Joint torques tau (..., n), like predyn.inverse_dynamics, by the recursion (12)-(20).

    For models with a standard DH table (model.dh) and without coupled rotors; others raise a
    ModelError. q, v, a: (..., n) in the order of model.joint_names; leading shapes broadcast. A
    joint cut to open a loop (38) becomes an external force at the cut end; lagrangian_dh_point
    gives the condition that closes the loop.
    """
    n = joints(model)
    return LAGRANGIAN(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]


# -- a point of a link (15) ---------------------------------------------------------------------


@jit
def lagrangian_dh_point_motion(tree, loads, c, ins, outs, work):
    q, v, a, _ = ins
    row, r = loads.row[0], vector(loads.point, 0)
    forward_kinematics(tree, c, q, v, a, work)
    # (15) corrected: r_j is constant, so B r and C r
    store3(outs[0], c, 0, times(pose(work, row, AT.A), r, 1.0))
    store3(outs[1], c, 0, times(pose(work, row, AT.B), r, 1.0))
    store3(outs[2], c, 0, times(pose(work, row, AT.C), r, 1.0))


def pack_point(model: Model, tree: DHTree, place: tuple[str, ArrayLike]) -> tuple[Loads, list]:
    """A link and a point in its DH frame, in the form in which kernels read the points of loads."""
    link, point = place
    row = np.array([model.link_index(link) + 1])
    at = np.array(frozen(point, "point", (3,)))[None]
    if not np.isfinite(at).all():
        raise InputError(f"point: expected finite numbers, got {at[0]}")
    return Loads(row, at, np.eye(3)[None], np.ones(1, np.int64)), []


POINT = Kernel(
    lagrangian_dh_point_motion,
    work=lambda tree: (len(tree.parent) + 1, AT.end),
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
    model: Model,
    link: str,
    point: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    out: tuple[NDArray, ...] | None = None,
) -> PointMotion:
    """Motion (15) of a point (3,) given in the DH frame of a link (the model's frame "<link>_dh").

    With the point at the end of a chain, this is what (38) needs for a cut joint: the loop is
    closed if the position equals that of the point it was cut from.
    """
    n = joints(model)
    place: Any = (link, point)
    return PointMotion(*POINT(model, (("q", q, n), ("v", v, n), ("a", a, n)), place, out))

"""Sensitivities of the outward steps 2 to 8 of newton_euler_dh.py.

The text writes (.)_i, (.)_i', (.)_i'' for q_i, its rate and its acceleration; here it is `_i` with
the column block Q, V or A. A quantity of link j depends only on joint j and its ancestors, so the
workspace has one row for each such pair (j, i), after the rows of the links, in the order of
`tree.pair`. For i < j the text prints the same right-hand sides for q_i and its rate, and the same
for both kinds of joint up to the terms named here, so each is written once.

R_{j,j}, the derivative of R_j in q_j, is zero for a prismatic joint (3.1). Delta x_{j,i} and
Delta x_{Gj,i} are zero except for a prismatic joint and i = j: R_j^T e_z (3.3, 3.4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.forward import symmetric
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    apply,
    apply_symmetric,
    apply_transposed,
    cross,
    load3,
    load33,
    scale,
    store3,
    store33,
)
from predyn.kernels.tree import Tree, ancestor_pairs
from predyn.model import PRISMATIC, Model
from predyn.published.dh import dh_tree_of
from predyn.published.newton_euler_dh import (
    D_OMEGA,
    DX,
    DX_DOT,
    DX_G,
    DX_G_DOT,
    F_G,
    GLOBAL,
    LINK_COLUMNS,
    LOCAL,
    MOTION,
    OMEGA,
    OMEGA_DOT,
    TAU_G,
    X_DDOT,
    X_DOT,
    X_G,
    X_G_DDOT,
    X_G_DOT,
    H,
    X,
    accumulate,
    base_row,
    clear,
    link_motion,
    link_position,
    local_axis,
)

LOCAL_I = LINK_COLUMNS  # R_{j,j} in the row of link j, 9
Q, V, A = 0, MOTION, 2 * MOTION  # blocks in the row of a pair, each with the columns of a link
GLOBAL_I = 3 * MOTION  # 0R_{j,i}, 9
MOTION_END = GLOBAL_I + 9


@jit
def local_frame_sensitivity(turns, row, work):
    """Step 2 a: R_{j,j} = e_z x R_j, or zero (3.1); turns is 0 for a prismatic joint, else 1."""
    for k in range(0, 9, 3):
        x = load3(work, row, LOCAL + k)
        store3(work, row, LOCAL_I + k, (-turns * x[1], turns * x[0], 0.0 * x[2]))
    return load33(work, row, LOCAL), load33(work, row, LOCAL_I)


@jit
def slide_sensitivity(mass, row, own, work):
    """Steps 3 to 8 for i = j of a prismatic joint: no rotation, all points move alike."""
    z, omega = local_axis(load33(work, row, LOCAL)), load3(work, row, OMEGA)
    clear(work, own, Q, GLOBAL_I)  # 3.7, 3.13, 3.19, 3.22, 3.66, 3.71
    dx_dot_i = cross(omega, z)  # 3.37, 3.43
    # 3.52, i = j, corrected: omega_dot x dx_{j,i} + omega x (omega x dx_{j,i})
    change = add(cross(load3(work, row, OMEGA_DOT), z), cross(omega, dx_dot_i))
    store3(work, own, Q + X_DDOT, change)  # 3.52, 3.55
    store3(work, own, V + X_DDOT, scale(2.0, dx_dot_i))  # 3.52
    store3(work, own, A + X_DDOT, z)  # 3.52
    for at in (Q, V, A):
        x_ddot_i = load3(work, own, at + X_DDOT)
        store3(work, own, at + X_G_DDOT, x_ddot_i)  # 3.58, 3.61
        store3(work, own, at + F_G, scale(mass, x_ddot_i))  # 3.68


@jit
def own_rotation_sensitivity(row, up, own, R, R_i, work):
    """Steps 3, 4, 7 a for i = j of a revolute joint; x_ddot is still that of the parent link."""
    z, d_omega = local_axis(R), load3(work, row, D_OMEGA)
    zero = scale(0.0, z)
    omega_i = apply_transposed(R_i, load3(work, up, OMEGA))  # 3.9, 3.12
    omega_dot_i = apply_transposed(R_i, load3(work, up, OMEGA_DOT))  # 3.15
    store3(work, own, Q + OMEGA, omega_i)
    store3(work, own, Q + OMEGA_DOT, add(omega_dot_i, cross(omega_i, d_omega)))  # 3.18, 3.21
    store3(work, own, Q + X_DDOT, apply_transposed(R_i, load3(work, up, X_DDOT)))  # 3.48
    omega_up = apply_transposed(R, load3(work, up, OMEGA))
    store3(work, own, V + OMEGA, z)  # 3.6, 3.12
    store3(work, own, V + OMEGA_DOT, cross(omega_up, z))  # 3.18 corrected: R_j, no derivative
    store3(work, own, V + X_DDOT, zero)
    store3(work, own, A + OMEGA_DOT, z)  # 3.18, 3.21
    store3(work, own, A + X_DDOT, zero)


@jit
def ancestor_rotation_sensitivity(turns, row, before, pair, R, work):
    """Steps 3, 4, 7 a for i < j; x_ddot is still that of the parent link."""
    for at in (Q, V):
        # 3.9, 3.10, 3.12, 3.13 (3.13 corrected: the rate's is passed on, too); 3.6, 3.7 are zero
        omega_i = apply_transposed(R, load3(work, before, at + OMEGA))
        omega_dot_i = apply_transposed(R, load3(work, before, at + OMEGA_DOT))  # 3.15, 3.16
        if turns == 1.0:  # prismatic: 3.19
            omega_dot_i = add(omega_dot_i, cross(omega_i, load3(work, row, D_OMEGA)))  # 3.18
        store3(work, pair, at + OMEGA, omega_i)
        store3(work, pair, at + OMEGA_DOT, omega_dot_i)  # 3.21, 3.22
    omega_dot_i = apply_transposed(R, load3(work, before, A + OMEGA_DOT))  # 3.15, 3.16
    store3(work, pair, A + OMEGA_DOT, omega_dot_i)  # 3.21, 3.22
    for at in (Q, V, A):
        x_ddot_up_i = apply_transposed(R, load3(work, before, at + X_DDOT))  # 3.48, 3.49
        store3(work, pair, at + X_DDOT, x_ddot_up_i)


@jit
def dx_ddot_i(omega_i, omega_dot_i, omega, dx, u):
    """3.51, 3.57 and, for i < j, 3.52, 3.58: dx does not change.

    u is Delta x-dot, plus d-dot R_j^T e_z if the joint is prismatic.
    """
    dx_dot_i = cross(omega_i, dx)  # 3.36, 3.37, 3.42, 3.43
    return add(add(cross(omega_dot_i, dx), cross(omega_i, u)), cross(omega, dx_dot_i))


@jit
def acceleration_sensitivity(mass, Ic, row, pair, u, u_G, work):
    """Steps 7 b to 8 d from the changes of omega, omega_dot and x_ddot of the parent link."""
    omega, momentum = load3(work, row, OMEGA), load3(work, row, H)
    dx, dx_G = load3(work, row, DX), load3(work, row, DX_G)
    for at in (Q, V):
        omega_i, omega_dot_i = load3(work, pair, at + OMEGA), load3(work, pair, at + OMEGA_DOT)
        x_ddot_up_i = load3(work, pair, at + X_DDOT)
        x_ddot_i = add(x_ddot_up_i, dx_ddot_i(omega_i, omega_dot_i, omega, dx, u))  # 3.54, 3.55
        # 3.60, 3.61 (3.61 corrected: its first line is of the acceleration, too)
        x_G_ddot_i = add(x_ddot_up_i, dx_ddot_i(omega_i, omega_dot_i, omega, dx_G, u_G))
        H_i = apply_symmetric(Ic, omega_i)  # 3.65, 3.66
        tau_G_i = add(apply_symmetric(Ic, omega_dot_i), cross(omega_i, momentum))  # 3.70, 3.71
        store3(work, pair, at + X_DDOT, x_ddot_i)
        store3(work, pair, at + X_G_DDOT, x_G_ddot_i)
        store3(work, pair, at + H, H_i)
        store3(work, pair, at + F_G, scale(mass, x_G_ddot_i))  # 3.68, gravity later
        store3(work, pair, at + TAU_G, add(tau_G_i, cross(omega, H_i)))
    # In the accelerations omega and H do not change (3.51 corrected: omega_dot does).
    omega_dot_i, x_ddot_up_i = load3(work, pair, A + OMEGA_DOT), load3(work, pair, A + X_DDOT)
    x_G_ddot_i = add(x_ddot_up_i, cross(omega_dot_i, dx_G))  # 3.57, 3.58, 3.60, 3.61
    store3(work, pair, A + X_DDOT, add(x_ddot_up_i, cross(omega_dot_i, dx)))  # 3.51, 3.52, 3.54
    store3(work, pair, A + X_G_DDOT, x_G_ddot_i)
    store3(work, pair, A + F_G, scale(mass, x_G_ddot_i))  # 3.68
    store3(work, pair, A + TAU_G, apply_symmetric(Ic, omega_dot_i))  # 3.70, 3.71


@jit
def link_motion_sensitivity(tree, c, j, v, work):
    """Steps 2 to 8 for link j and all i, except the positions and velocities of points."""
    row, up, first = j + 1, tree.parent[j], tree.parent.shape[0] + 1
    own, end = first + tree.pair[j], first + tree.pair[j + 1]
    turns = 0.0 if tree.kind[j] == PRISMATIC else 1.0
    R, R_i = local_frame_sensitivity(turns, row, work)
    slide = scale((1.0 - turns) * load(v, c, j), local_axis(R))
    u, u_G = add(load3(work, row, DX_DOT), slide), add(load3(work, row, DX_G_DOT), slide)
    mass, Ic = tree.mass[j], symmetric(tree.Ic, j)
    weight = (-mass * tree.gravity[0], -mass * tree.gravity[1], -mass * tree.gravity[2])
    if turns == 1.0:
        own_rotation_sensitivity(row, up, own, R, R_i, work)
    else:
        slide_sensitivity(mass, row, own, work)
    R_up = load33(work, up, GLOBAL)
    R_0_i = (apply(R_up, R_i[0]), apply(R_up, R_i[1]), apply(R_up, R_i[2]))  # 3.63, i = j
    store33(work, own, GLOBAL_I, R_0_i)
    for pair in range(own + 1, end):
        before = pair - own - 1 + first + tree.pair[up - 1]
        ancestor_rotation_sensitivity(turns, row, before, pair, R, work)
        R_up_i = load33(work, before, GLOBAL_I)
        R_0_i = (apply(R_up_i, R[0]), apply(R_up_i, R[1]), apply(R_up_i, R[2]))  # 3.63, i < j
        store33(work, pair, GLOBAL_I, R_0_i)
    for pair in range(own if turns == 1.0 else own + 1, end):
        acceleration_sensitivity(mass, Ic, row, pair, u, u_G, work)
        # 3.68, g pointing down; 0R_{j,i} is zero if joint i is prismatic
        weight_i = apply_transposed(load33(work, pair, GLOBAL_I), weight)
        accumulate(work, pair, Q + F_G, weight_i)


@jit
def link_position_sensitivity(tree, j, work):
    """Steps 5 and 6 for link j and all i. After link_motion_sensitivity."""
    up, first = tree.parent[j], tree.parent.shape[0] + 1
    own, end = first + tree.pair[j], first + tree.pair[j + 1]
    R, R_i = load33(work, j + 1, LOCAL), load33(work, j + 1, LOCAL_I)
    dx, dx_G, z = load3(work, j + 1, DX), load3(work, j + 1, DX_G), local_axis(R)
    for row in range(own, end):
        if row == own and tree.kind[j] == PRISMATIC:
            x_dot_i = cross(load3(work, j + 1, OMEGA), z)  # 3.37, 3.43
            store3(work, row, Q + X, z)  # 3.28
            store3(work, row, Q + X_G, z)  # 3.31
            store3(work, row, Q + X_DOT, x_dot_i)  # 3.40
            store3(work, row, Q + X_G_DOT, x_dot_i)  # 3.46
            store3(work, row, V + X_DOT, z)  # 3.37, 3.40
            store3(work, row, V + X_G_DOT, z)  # 3.43, 3.46
        else:
            before = row - own - 1 + first + tree.pair[up - 1]
            if row == own:
                x_i = apply_transposed(R_i, load3(work, up, X))  # 3.24
                x_dot_up_i = apply_transposed(R_i, load3(work, up, X_DOT))  # 3.33
                x_dot_up_v = scale(0.0, z)
            else:
                x_i = apply_transposed(R, load3(work, before, Q + X))  # 3.24, 3.25
                x_dot_up_i = apply_transposed(R, load3(work, before, Q + X_DOT))  # 3.33, 3.34
                x_dot_up_v = apply_transposed(R, load3(work, before, V + X_DOT))
            store3(work, row, Q + X, x_i)  # 3.27, 3.28
            store3(work, row, Q + X_G, x_i)  # 3.30, 3.31
            # 3.36 to 3.40 and 3.42 to 3.46 (3.40 corrected: the rate's, i < j, has Delta x-dot's)
            omega_i, omega_v = load3(work, row, Q + OMEGA), load3(work, row, V + OMEGA)
            store3(work, row, Q + X_DOT, add(x_dot_up_i, cross(omega_i, dx)))
            store3(work, row, Q + X_G_DOT, add(x_dot_up_i, cross(omega_i, dx_G)))
            store3(work, row, V + X_DOT, add(x_dot_up_v, cross(omega_v, dx)))
            store3(work, row, V + X_G_DOT, add(x_dot_up_v, cross(omega_v, dx_G)))


@jit
def link_quantities(tree, loads, c, ins, outs, work):
    q, v, a = ins
    values, dq, dv, da = outs
    n, first = tree.parent.shape[0], tree.parent.shape[0] + 1
    base_row(tree, work)
    for r in range(tree.pair[n]):
        clear(work, first + r, 0, GLOBAL_I)
    for j in range(n):
        link_motion(tree, c, j, q, v, a, work)
        link_position(tree, j, work)
        link_motion_sensitivity(tree, c, j, v, work)
        link_position_sensitivity(tree, j, work)
        for k in range(MOTION):
            store(values, c, MOTION * j + k, load(work, j + 1, k))
    for r in range(tree.pair[n]):
        for k in range(MOTION):
            store(dq, c, MOTION * r + k, load(work, first + r, Q + k))
            store(dv, c, MOTION * r + k, load(work, first + r, V + k))
            store(da, c, MOTION * r + k, load(work, first + r, A + k))


def _by_ancestors(tree: Tree) -> Field:
    """(n, MOTION, n): a quantity of link j in coordinate i, for the pairs (j, i)."""
    n = len(tree.parent)
    j, i = ancestor_pairs(tree).T
    k = np.arange(MOTION)
    dense_index = (j[:, None] * MOTION + k) * n + i[:, None]
    packed = np.arange(dense_index.size)
    return Field((n, MOTION, n), len(packed), np.stack([packed, dense_index.ravel()], axis=1))


LINK_QUANTITIES = Kernel(
    link_quantities,
    work=lambda tree: (len(tree.parent) + 1 + int(tree.pair[-1]), MOTION_END),
    outputs=lambda tree: (dense(len(tree.parent), MOTION), *[_by_ancestors(tree)] * 3),
    view=dh_tree_of,
)


class LinkQuantities(NamedTuple):
    """The quantities of steps 3 to 8, each (..., n, 3) in the axes of frame j of the DH table, or
    (..., n, 3, n) if a sensitivity, the coordinate last."""

    omega: NDArray
    omega_dot: NDArray
    x: NDArray
    x_dot: NDArray
    x_ddot: NDArray
    x_G: NDArray
    x_G_dot: NDArray
    x_G_ddot: NDArray
    H: NDArray
    F_G: NDArray
    tau_G: NDArray


def newton_euler_dh_sensitivities(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[LinkQuantities, LinkQuantities, LinkQuantities, LinkQuantities]:
    """The quantities of steps 3 to 8 and their sensitivities in q, v and a.

    x, x_dot, x_ddot are for the origin of frame j, or with index G for the centre of mass, relative
    to the world's origin; x_ddot is without gravity, F_G with it. Memory grows with 100 n^2 numbers
    per sample: intended for study and tests, not for large batches.
    """
    n = joints(model)
    results = LINK_QUANTITIES(model, (("q", q, n), ("v", v, n), ("a", a, n)))
    tables = []
    for table, axis in zip(results, (-1, -2, -2, -2), strict=True):
        tables.append(LinkQuantities(*np.split(table, MOTION // 3, axis=axis)))
    values, dq, dv, da = tables
    return values, dq, dv, da

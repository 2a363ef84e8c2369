"""Exact partials of f = dT/dq - dV/dq + Q and p = dT/dv (lagrangian.py) in q and v.

With sums over the subtree of joint j, the inertia I, the momentum P, and k above j or k = j,

    U = I S_j      Y = I psi-dot_j + S_j x* P      e = (linear part of U) x g

    dp_k/dv_j = dp_j/dv_k = S_k . U                               the mass matrix
    dp_k/dq_j = df_j/dv_k = S_k . Y     dp_j/dq_k = df_k/dv_j = psi-dot_k . U
    df_k/dq_j = psi-dot_k . Y + S_k . X     df_j/dq_k = psi-dot_k . Y + w_k . x

where w_k is the angular part of S_k. X = (e, 0) and x = e are due to gravity; loads L of the
subtree add S_j x* L - N w_j to X and -N^T S_j to x (composite.py), so without loads fixed in the
world df/dq is symmetric. Springs, ligaments, friction and armature add to diagonals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_energies
from predyn.dynamics.composite import (
    FORCE,
    LOAD_MOMENT,
    MASS,
    MOMENTUM,
    RATE,
    SUMS_END,
    add_loads,
    inertia_times,
    turning_times,
    turning_transposed_times,
)
from predyn.dynamics.forward import AXIS, PSI, carry, center, place, symmetric, world_row
from predyn.dynamics.joint_forces import (
    elastic_force,
    friction_force,
    joint_slope,
    joint_stiffness,
)
from predyn.dynamics.lagrangian import joint_momentum
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store, stream
from predyn.kernels.spatial import (
    add6,
    apply_inertia,
    cross,
    cross_force,
    dot,
    dot6,
    load3,
    load6,
    scale,
    store3,
    store6,
    store_symmetric,
    sub,
    sub6,
    world_inertia,
)
from predyn.kernels.tree import Tree, ancestor_pairs, has_coupled_rotors
from predyn.model import Model


@jit
def outward_momenta(tree, loads, c, q, v, values, work):
    """Kinematics, and the inertia, momentum and loads of each link in the columns of composite.py:
    those without accelerations, FORCE holding minus the loads."""
    n = tree.parent.shape[0]
    world_row(work, tree.gravity)
    for i in range(n):
        row = i + 1
        R, origin, S = place(tree, c, i, q, work)
        v_i, _ = carry(tree, c, i, S, v, work)
        if tree.body[i] == 1:
            m = tree.mass[i]
            h, I = world_inertia(R, m, center(tree, i, R, origin), symmetric(tree.Ic, i))  # noqa: E741
            store(work, row, MASS, m)
            store3(work, row, MASS + 1, h)
            store_symmetric(work, row, MASS + 4, I)
            store6(work, row, MOMENTUM, apply_inertia(m, h, I, v_i))
        else:
            for k in range(MASS, RATE):
                store(work, row, k, 0.0)
            for k in range(MOMENTUM, LOAD_MOMENT):
                store(work, row, k, 0.0)
    if loads.row.shape[0] > 0:
        for row in range(1, n + 1):
            for k in range(FORCE, MASS):
                store(work, row, k, 0.0)
        add_loads(n, loads, c, values, work)


@jit
def add_columns(work, up, row, first, last):
    """Add some columns of a row to those of another one."""
    for k in range(first, last):
        store(work, up, k, load(work, up, k) + load(work, row, k))


@jit
def sum_momenta(tree, loads, i, work):
    """Add the sums of link i to its parent's."""
    up = tree.parent[i]
    if up > 0:
        add_columns(work, up, i + 1, MASS, RATE)
        if loads.row.shape[0] > 0:
            add_columns(work, up, i + 1, FORCE, MASS)
            add_columns(work, up, i + 1, MOMENTUM, SUMS_END)
        else:
            add_columns(work, up, i + 1, MOMENTUM, LOAD_MOMENT)


@jit
def gradients_derivatives(tree, loads, c, ins, outs, work):
    """ins: q, v, values of the loads; outs: f and p (2n), dq, dv as in gradient_fields."""
    q, v, values = ins
    fp, dq, dv = outs
    n = tree.parent.shape[0]
    g = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    outward_momenta(tree, loads, c, q, v, values, work)
    for i in range(n - 1, -1, -1):
        row = i + 1
        S, psi = load6(work, row, AXIS), load6(work, row, PSI)
        P, m, h = load6(work, row, MOMENTUM), load(work, row, MASS), load3(work, row, MASS + 1)
        U = inertia_times(work, row, S)
        Y = add6(inertia_times(work, row, psi), cross_force(S, P))
        f = dot6(psi, P) + dot(S[0], cross(h, g)) + m * dot(S[1], g)
        x = cross(U[1], g)
        X = (x, scale(0.0, x))
        if loads.row.shape[0] > 0:
            F = load6(work, row, FORCE)
            f = f - dot6(S, F)
            X = sub6(X, add6(cross_force(S, F), turning_times(work, row, S[0])))
            x = sub(x, turning_transposed_times(work, row, S))
        _pairs(tree, c, i, U, Y, X, x, dq, dv, work)
        if tree.loaded[i] == 1:
            f = f - elastic_force(tree, c, i, q) - friction_force(tree, c, i, v)
            k = tree.pair[i]
            store(dq, c, 4 * k, load(dq, c, 4 * k) - joint_stiffness(tree, c, i, q))
            store(dv, c, 3 * k, load(dv, c, 3 * k) - joint_slope(tree, c, i, v))
            store(dv, c, 3 * k + 2, load(dv, c, 3 * k + 2) + tree.armature[i])
        store(fp, c, i, f)
        store(fp, c, n + i, joint_momentum(tree, c, i, v, dot6(S, P)))
        sum_momenta(tree, loads, i, work)


@jit
def _pairs(tree, c, i, U, Y, X, x, dq, dv, work):
    """Row and column i, from joint i up to the root."""
    k = tree.pair[i]
    up = i + 1
    while up > 0:
        S, psi = load6(work, up, AXIS), load6(work, up, PSI)
        both, upper, lower = dot6(psi, Y), dot6(S, Y), dot6(psi, U)
        stream(dq, c, 4 * k, both + dot6(S, X))
        stream(dq, c, 4 * k + 1, both + dot(S[0], x))
        stream(dq, c, 4 * k + 2, upper)
        stream(dq, c, 4 * k + 3, lower)
        stream(dv, c, 3 * k, lower)
        stream(dv, c, 3 * k + 1, upper)
        stream(dv, c, 3 * k + 2, dot6(S, U))
        k += 1
        up = tree.parent[up - 1]


def gradient_fields(tree: Tree) -> tuple[Field, Field, Field]:
    """f and p (2n); dq and dv (2n, n), the rows of f first.

    Packed numbers of ancestor pair k (joint i, j above i or j = i):

        dq[4k : 4k + 4]   df_j/dq_i, df_i/dq_j, dp_j/dq_i, dp_i/dq_j
        dv[3k : 3k + 3]   df_j/dv_i, df_i/dv_j, dp_j/dv_i = dp_i/dv_j

    For j = i, the second number of a couple is unused: the first has the terms of the joint itself.
    dp/dv is without rotors that couple joints, which need not be ancestors of each other.
    """
    n, (i, j) = len(tree.parent), ancestor_pairs(tree).T
    k, apart = np.arange(len(i)), i != j
    upper, lower, below = j * n + i, i * n + j, n * n
    dq = _entries(
        (4 * k, upper),
        (4 * k + 2, below + upper),
        (4 * k[apart] + 1, lower[apart]),
        (4 * k[apart] + 3, below + lower[apart]),
    )
    dv = _entries(
        (3 * k, upper),
        (3 * k + 2, below + upper),
        (3 * k[apart] + 1, lower[apart]),
        (3 * k[apart] + 2, below + lower[apart]),
    )
    return dense(2 * n), Field((2 * n, n), 4 * len(k), dq), Field((2 * n, n), 3 * len(k), dv)


def _entries(*columns: tuple[NDArray, NDArray]) -> NDArray:
    return np.concatenate([np.stack(x, axis=1) for x in columns])


ENERGY_GRADIENTS_DERIVATIVES = Kernel(
    gradients_derivatives,
    work=lambda tree: (len(tree.parent) + 1, SUMS_END),
    outputs=gradient_fields,
    forces=True,
)


class EnergyGradientsDerivatives(NamedTuple):
    """f = dT/dq - dV/dq + Q and p = dT/dv (..., n), and their partials (..., n, n).

    [i, k] is d f_i / d q_k and so on. dp_dv is the mass matrix.
    """

    f: NDArray
    p: NDArray
    df_dq: NDArray
    df_dv: NDArray
    dp_dq: NDArray
    dp_dv: NDArray


def energy_gradients_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> EnergyGradientsDerivatives:
    """Generalized force f = dT/dq - dV/dq + Q and momentum p = dT/dv with their exact partials.

    q, v: (..., n). Q holds the model's friction and the given external forces. The results are
    halves of three arrays, (..., 2n) and twice (..., 2n, n), f and its partials first: reuse these
    with out=.
    """
    n = joints(model)
    if model.couplings:
        fp, dq, dv = coupled_energies.derivatives(model, q, v, forces, out)
    else:
        inputs = (("q", q, n), ("v", v, n))
        fp, dq, dv = ENERGY_GRADIENTS_DERIVATIVES(model, inputs, forces, out)
        if has_coupled_rotors(model):
            dv[..., model.n :, :] += model.rotor
    k = model.n
    return EnergyGradientsDerivatives(
        fp[..., :k],
        fp[..., k:],
        dq[..., :k, :],
        dv[..., :k, :],
        dq[..., k:, :],
        dv[..., k:, :],
    )

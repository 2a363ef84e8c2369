"""Exact weighted second derivatives of inverse dynamics: the Hessian of lambda . tau in (q, v, a).

lambda . tau = sum_i W_i . f_i with W_i = W_parent + lambda_i S_i, the velocity that link i would
have if the joint rates were the weights lambda. Seen from a frame that rotates with the subtree of
joint k (composite.py), rotating joint k also changes W by Omega_k = W_parent x S_k. So the second
derivative of each pair of joints j, k (k above j, or k = j) is a few dot products of vectors of
joint k,

    S_k, psi-dot_k, psi-ddot_k, Omega_k,

with sums over the subtree of joint j. Write p = sum I_i W_i, b = sum (2 B_i)^T W_i, and J = the sum
of the rates that W_i would give the inertias. Then with

    U = I S_j,  V = 2 B S_j + 2 I psi-dot_j,  Y = I Omega_j + S_j x* p,  T = S_j x* p - J S_j,
    X = I psi-ddot_j + 2 B psi-dot_j + S_j x* F,
    Z = (2 B)^T Omega_j + S_j x* b + psi-dot_j x* p - J psi-dot_j

    q_k q_j: Omega_k . X + psi-ddot_k . Y + psi-dot_k . Z       v_k v_j: S_k . T
    q_k v_j: Omega_k . V + psi-dot_k . T                        q_k a_j: Omega_k . U
    v_k q_j: 2 psi-dot_k . Y + S_k . Z                          a_k q_j: S_k . Y

Loads fixed in world directions add N w_j to X, and w_k . (N^T Omega_j + E^T w_j) to q_k q_j, where
w_j is the angular part of S_j and E is minus the second derivative of the loads' power in
rotations: loads enter lambda . tau with a minus sign. All other second derivatives are zero. The
same sweep serves joint reactions: there W_i sums weights that are fixed in the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.composite import (
    FORCE,
    MASS,
    PSI2,
    SUMS_END,
    coriolis_times,
    coriolis_transposed_times,
    inertia_times,
    outward_composites,
    sum_into_parent,
    turning_times,
    turning_transposed_times,
)
from predyn.dynamics.force_derivatives import force_hessian
from predyn.dynamics.forward import AXIS, PSI, load_vectors
from predyn.dynamics.joint_forces import joint_second_partials
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, pairs, symmetric_pairs
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store, stream
from predyn.kernels.spatial import (
    add,
    add6,
    apply_inertia,
    apply_transposed,
    at_point,
    cross,
    cross_force,
    cross_motion,
    dot,
    dot6,
    inertia_rate,
    load3,
    load6,
    load33,
    load_symmetric,
    scale,
    scale6,
    store3,
    store6,
    store33,
    store_symmetric,
    sub6,
)
from predyn.kernels.tree import Tree
from predyn.model import Model

WEIGHT = SUMS_END  # own weight, then W, 6
OMEGA = SUMS_END + 6  # Omega, 6
P = SUMS_END + 12  # p, 6; from here on sums over the subtree
BETA = SUMS_END + 18  # b, which has no linear part, 3
W_MOMENT = SUMS_END + 21  # J: rate of h, 3
W_RATE = SUMS_END + 24  # J: rate of I, 6
LOAD_POWER = SUMS_END + 30  # E, 9
COLUMNS = SUMS_END + 39


@jit
def weigh(tree, loads, c, values, work):
    """W and Omega of each link from its own weight in column WEIGHT, and its terms with W."""
    for k in range(6):
        store(work, 0, WEIGHT + k, 0.0)
    for i in range(tree.parent.shape[0]):
        row = i + 1
        W_up = load6(work, tree.parent[i], WEIGHT)
        W = add6(W_up, load6(work, row, WEIGHT))
        store6(work, row, WEIGHT, W)
        store6(work, row, OMEGA, cross_motion(W_up, load6(work, row, AXIS)))
        if tree.body[i] == 1:
            m, h = tree.mass[i], load3(work, row, MASS + 1)
            I = load_symmetric(work, row, MASS + 4)  # noqa: E741
            store6(work, row, P, apply_inertia(m, h, I, W))
            store3(work, row, BETA, coriolis_transposed_times(work, row, W))
            turned, rate = inertia_rate(h, I, W)
            store3(work, row, W_MOMENT, add(turned, scale(m, W[1])))
            store_symmetric(work, row, W_RATE, rate)
        else:
            for k in range(P, LOAD_POWER):
                store(work, row, k, 0.0)
    if loads.row.shape[0] > 0:
        weigh_loads(tree, loads, c, values, work)


@jit
def weigh_loads(tree, loads, c, values, work):
    """E = -f u^T + (u . f) 1 - m W_a^T + (W_a . m) 1 of world-fixed loads, u = W at the point."""
    for row in range(1, tree.parent.shape[0] + 1):
        for k in range(LOAD_POWER, COLUMNS):
            store(work, row, k, 0.0)
    for k in range(loads.row.shape[0]):
        if loads.world[k] == 1:
            row = loads.row[k]
            point, m, f = load_vectors(loads, c, k, values, work)
            W = load6(work, row, WEIGHT)
            u = at_point(W, point)
            E = load33(work, row, LOAD_POWER)
            store33(work, row, LOAD_POWER, _add_power(E, u, f, W[0], m))


@jit
def _add_power(E, u, f, w, m):
    power = dot(u, f) + dot(w, m)
    x = add(scale(u[0], f), scale(w[0], m))
    y = add(scale(u[1], f), scale(w[1], m))
    z = add(scale(u[2], f), scale(w[2], m))
    return (
        add(E[0], (power - x[0], -x[1], -x[2])),
        add(E[1], (-y[0], power - y[1], -y[2])),
        add(E[2], (-z[0], -z[1], power - z[2])),
    )


@jit
def rate_times(work, row, x):
    """J x."""
    h, I = load3(work, row, W_MOMENT), load_symmetric(work, row, W_RATE)  # noqa: E741
    return apply_inertia(0.0, h, I, x)


@jit
def second_partials(tree, loads, c, outs, work):
    """Inward sweep over all pairs; weigh() must have filled the terms."""
    qq, qv, vv, qa = outs
    has_loads = loads.row.shape[0] > 0
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        row = i + 1
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        Om, p = load6(work, row, OMEGA), load6(work, row, P)
        b = load3(work, row, BETA)
        U = inertia_times(work, row, S)
        V = add6(coriolis_times(work, row, S), scale6(2.0, inertia_times(work, row, psi)))
        X = add6(inertia_times(work, row, psi2), coriolis_times(work, row, psi))
        X = add6(X, cross_force(S, load6(work, row, FORCE)))
        Y = add6(inertia_times(work, row, Om), cross_force(S, p))
        T = sub6(cross_force(S, p), rate_times(work, row, S))
        Z = sub6(cross_force(psi, p), rate_times(work, row, psi))
        Z = (add(add(Z[0], coriolis_transposed_times(work, row, Om)), cross(S[0], b)), Z[1])
        if has_loads:
            X = add6(X, turning_times(work, row, S[0]))
            E = load33(work, row, LOAD_POWER)
            turned = add(turning_transposed_times(work, row, Om), apply_transposed(E, S[0]))
            _pairs(tree, c, i, U, V, X, Y, Z, T, qq, qv, vv, qa, work)
            _load_pairs(tree, c, i, turned, qq, work)
        else:
            _pairs(tree, c, i, U, V, X, Y, Z, T, qq, qv, vv, qa, work)
        sum_into_parent(tree, loads, i, work)
        up = tree.parent[i]
        if up > 0:
            last = COLUMNS if has_loads else LOAD_POWER
            for k in range(P, last):
                store(work, up, k, load(work, up, k) + load(work, row, k))


@jit
def _pairs(tree, c, i, U, V, X, Y, Z, T, qq, qv, vv, qa, work):
    k = tree.pair[i]
    up = i + 1
    while up > 0:
        S, psi, psi2 = load6(work, up, AXIS), load6(work, up, PSI), load6(work, up, PSI2)
        Om = load6(work, up, OMEGA)
        stream(qq, c, k, dot6(Om, X) + dot6(psi2, Y) + dot6(psi, Z))
        stream(qv, c, 2 * k, dot6(Om, V) + dot6(psi, T))
        stream(qv, c, 2 * k + 1, 2.0 * dot6(psi, Y) + dot6(S, Z))
        stream(vv, c, k, dot6(S, T))
        stream(qa, c, 2 * k, dot6(Om, U))
        stream(qa, c, 2 * k + 1, dot6(S, Y))
        k += 1
        up = tree.parent[up - 1]


@jit
def _load_pairs(tree, c, i, turned, qq, work):
    k = tree.pair[i]
    up = i + 1
    while up > 0:
        store(qq, c, k, load(qq, c, k) + dot(load3(work, up, AXIS), turned))
        k += 1
        up = tree.parent[up - 1]


@jit
def rnea_hessian(tree, loads, c, ins, outs, work):
    q, v, a, w, values = ins
    outward_composites(tree, loads, c, q, v, a, values, work)
    for i in range(tree.parent.shape[0]):
        store6(work, i + 1, WEIGHT, scale6(load(w, c, i), load6(work, i + 1, AXIS)))
    weigh(tree, loads, c, values, work)
    second_partials(tree, loads, c, outs, work)
    qq, _, vv, _ = outs
    for i in range(tree.parent.shape[0]):
        joint_second_partials(tree, c, i, q, v, load(w, c, i), qq, vv)


def second_fields(tree: Tree) -> tuple[Field, ...]:
    """The blocks qq, qv, vv, qa of a weighted Hessian."""
    return symmetric_pairs(tree), pairs(tree), symmetric_pairs(tree), pairs(tree)


RNEA_HESSIAN = Kernel(
    rnea_hessian,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=second_fields,
    forces=True,
)


class Hessian(NamedTuple):
    """Second derivatives of a weighted sum, by blocks; aa and va are zero.

    qq, vv  (..., n, n) symmetric
    qv, qa  (..., n, n), [i, k] = d2/(dq_i dv_k) and d2/(dq_i da_k)
    qf      one (..., n, 6) per external force: d2/(dq_i d(moment, force)_k)
    """

    qq: NDArray
    qv: NDArray
    vv: NDArray
    qa: NDArray
    qf: tuple[NDArray, ...] = ()


def inverse_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> Hessian:
    """Exact second derivatives of sum_i weights_i tau_i in (q, v, a) and in the external forces.

    weights: (..., n). Second derivatives in (v, a) and (a, a) are zero, and so are those in the
    forces except together with q. out: arrays for qq, qv, vv, qa.
    """
    n = joints(model)
    if model.couplings:
        blocks = coupled.inverse_dynamics_hessian(model, q, v, a, weights, forces, out)
    else:
        inputs = (("q", q, n), ("v", v, n), ("a", a, n), ("weights", weights, n))
        blocks = RNEA_HESSIAN(model, inputs, forces, out)
    qq, qv, vv, qa = blocks
    qf = force_hessian(model, q, weights, forces)
    shape = (*qq.shape[:-1], 6)
    return Hessian(qq, qv, vv, qa, tuple(np.array(np.broadcast_to(x, shape)) for x in qf))

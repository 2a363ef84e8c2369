"""Exact second partials of a weighted sum of f = dT/dq - dV/dq + Q and p = dT/dv in q and v.

The weighted sum wf . (dT/dq - dV/dq) + wp . p is the derivative of the Lagrangian T - V along
dq = wf, dv = wp, so its Hessian is the derivative of the Hessian of T - V along the same direction:
of the mass matrix M (v v), of dp/dq (q v) and of df/dq (q q) in lagrangian_derivatives.py. All
vectors there are differentiated (D in the code), with W_i = W_parent + wf_i S_i:

    dS = W_parent x S      dv = dv_parent + wp S + (rate) dS      dI = W x* I - I W x
    d(psi-dot) = dv_parent x S + v_parent x dS                    dP = sum dI v + I dv

    dU = dI S + I dS       dY = dI psi-dot + I d(psi-dot) + dS x* P + S x* dP

    q_k q_j: d(psi-dot_k) . Y + psi-dot_k . dY + dS_k . X + w_k . x
    q_k v_j: d(psi-dot_k) . U + psi-dot_k . dU
    q_j v_k: dS_k . Y + S_k . dY
    v_k v_j: dS_k . U + S_k . dU

X is that of lagrangian_derivatives.py, and x = (linear part of dU) x g - N^T dS_j - E^T w_j with N
and E of the loads as in rnea_hessian.py: eight dot products a pair, and gravity and loads. dS is
Omega there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_energies
from predyn.dynamics.composite import (
    FORCE,
    MASS,
    MOMENTUM,
    inertia_times,
    turning_times,
    turning_transposed_times,
)
from predyn.dynamics.forward import AXIS, PSI, VELOCITY
from predyn.dynamics.joint_forces import joint_second_partials
from predyn.dynamics.lagrangian_derivatives import add_columns, outward_momenta, sum_momenta
from predyn.dynamics.rnea_hessian import COLUMNS as _BEFORE
from predyn.dynamics.rnea_hessian import (
    LOAD_POWER,
    OMEGA,
    W_MOMENT,
    WEIGHT,
    rate_times,
    weigh_loads,
)
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
    store_symmetric,
    sub,
    sub6,
)
from predyn.kernels.tree import Tree
from predyn.model import Model

D_VELOCITY = _BEFORE  # dv, 6
D_PSI = _BEFORE + 6  # d(psi-dot), 6
D_MOMENTUM = _BEFORE + 12  # dP, 6, summed over the subtree
COLUMNS = _BEFORE + 18


@jit
def outward_directions(tree, loads, c, v, w, values, work):
    """W, dS, dv and d(psi-dot) of each link, and the terms dI and dP of its own body."""
    n = tree.parent.shape[0]
    for k in range(6):
        store(work, 0, WEIGHT + k, 0.0)
        store(work, 0, D_VELOCITY + k, 0.0)
    for i in range(n):
        row, up = i + 1, tree.parent[i]
        S, W_up, v_up = load6(work, row, AXIS), load6(work, up, WEIGHT), load6(work, up, VELOCITY)
        dv_up = load6(work, up, D_VELOCITY)
        dS = cross_motion(W_up, S)
        W = add6(W_up, scale6(load(w, c, i), S))
        dv = add6(add6(dv_up, scale6(load(w, c, n + i), S)), scale6(load(v, c, i), dS))
        store6(work, row, WEIGHT, W)
        store6(work, row, OMEGA, dS)
        store6(work, row, D_VELOCITY, dv)
        store6(work, row, D_PSI, add6(cross_motion(dv_up, S), cross_motion(v_up, dS)))
        if tree.body[i] == 1:
            m, h = tree.mass[i], load3(work, row, MASS + 1)
            I = load_symmetric(work, row, MASS + 4)  # noqa: E741
            turned, rate = inertia_rate(h, I, W)
            dh = add(turned, scale(m, W[1]))
            store3(work, row, W_MOMENT, dh)
            store_symmetric(work, row, W_MOMENT + 3, rate)
            dP = apply_inertia(0.0, dh, rate, load6(work, row, VELOCITY))
            store6(work, row, D_MOMENTUM, add6(dP, apply_inertia(m, h, I, dv)))
        else:
            for k in range(W_MOMENT, LOAD_POWER):
                store(work, row, k, 0.0)
            for k in range(D_MOMENTUM, COLUMNS):
                store(work, row, k, 0.0)
    if loads.row.shape[0] > 0:
        weigh_loads(tree, loads, c, values, work)


@jit
def gradients_hessian(tree, loads, c, ins, outs, work):
    """ins: q, v, weights of f (n) and p (n) in one array, values of the loads; outs: qq, qv, vv."""
    q, v, w, values = ins
    qq, qv, vv = outs
    has_loads = loads.row.shape[0] > 0
    g = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    outward_momenta(tree, loads, c, q, v, values, work)
    outward_directions(tree, loads, c, v, w, values, work)
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        row, up = i + 1, tree.parent[i]
        S, psi, dS = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, OMEGA)
        P, dP = load6(work, row, MOMENTUM), load6(work, row, D_MOMENTUM)
        U = inertia_times(work, row, S)
        Y = add6(inertia_times(work, row, psi), cross_force(S, P))
        dU = add6(rate_times(work, row, S), inertia_times(work, row, dS))
        turned = add6(cross_force(dS, P), cross_force(S, dP))
        dY = add6(rate_times(work, row, psi), inertia_times(work, row, load6(work, row, D_PSI)))
        dY = add6(dY, turned)
        e, x = cross(U[1], g), cross(dU[1], g)
        X = (e, scale(0.0, e))
        if has_loads:
            F = load6(work, row, FORCE)
            X = sub6(X, add6(cross_force(S, F), turning_times(work, row, S[0])))
            E = load33(work, row, LOAD_POWER)
            x = sub(x, add(turning_transposed_times(work, row, dS), apply_transposed(E, S[0])))
        _pairs(tree, c, i, U, Y, dU, dY, X, x, qq, qv, vv, work)
        joint_second_partials(tree, c, i, q, v, -load(w, c, i), qq, vv)
        sum_momenta(tree, loads, i, work)
        if up > 0:
            add_columns(work, up, row, W_MOMENT, LOAD_POWER)
            add_columns(work, up, row, D_MOMENTUM, COLUMNS)
            if has_loads:
                add_columns(work, up, row, LOAD_POWER, LOAD_POWER + 9)


@jit
def _pairs(tree, c, i, U, Y, dU, dY, X, x, qq, qv, vv, work):
    k = tree.pair[i]
    up = i + 1
    while up > 0:
        S, psi = load6(work, up, AXIS), load6(work, up, PSI)
        dS, dpsi = load6(work, up, OMEGA), load6(work, up, D_PSI)
        stream(qq, c, k, dot6(dpsi, Y) + dot6(psi, dY) + dot6(dS, X) + dot(S[0], x))
        stream(qv, c, 2 * k, dot6(dpsi, U) + dot6(psi, dU))
        stream(qv, c, 2 * k + 1, dot6(dS, Y) + dot6(S, dY))
        stream(vv, c, k, dot6(dS, U) + dot6(S, dU))
        k += 1
        up = tree.parent[up - 1]


def curvature_fields(tree: Tree) -> tuple[Field, Field, Field]:
    """The blocks qq, qv, vv, packed as those of inverse dynamics.

    Ancestor pair k (joint i, j above i or j = i) has d2/(dq_i dq_j) at qq[k], d2/(dv_i dv_j) at
    vv[k], and d2/(dq_j dv_i), d2/(dq_i dv_j) at qv[2k : 2k + 2]; for j = i only the first of these
    counts.
    """
    return symmetric_pairs(tree), pairs(tree), symmetric_pairs(tree)


ENERGY_GRADIENTS_HESSIAN = Kernel(
    gradients_hessian,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=curvature_fields,
    forces=True,
)


class EnergyGradientsHessian(NamedTuple):
    """Second partials of a weighted sum of f and p, by blocks (..., n, n); qq, vv are symmetric.

    qv[i, k] = d2/(dq_i dv_k).
    """

    qq: NDArray
    qv: NDArray
    vv: NDArray


def energy_gradients_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    weights: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> EnergyGradientsHessian:
    """Exact second partials of sum_i weights_i f_i + weights_(n+i) p_i in (q, v).

    f = dT/dq - dV/dq + Q and p = dT/dv as in energy_gradients_derivatives; weights: (..., 2n),
    those of f first. out: arrays for qq, qv, vv.
    """
    n = joints(model)
    if model.couplings:
        return EnergyGradientsHessian(*coupled_energies.hessian(model, q, v, weights, forces, out))
    inputs = (("q", q, n), ("v", v, n), ("weights", weights, (2 * model.n,)))
    return EnergyGradientsHessian(*ENERGY_GRADIENTS_HESSIAN(model, inputs, forces, out))

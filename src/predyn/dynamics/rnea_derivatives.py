"""Exact partials of inverse dynamics with respect to q, v and a.

With the subtree sums of composite.py and k an ancestor of i or i itself,

    d tau_k/d q_i = S_k . F_q       F_q = I psi-ddot_i + 2 B psi-dot_i + S_i x* F + N w_i
    d tau_k/d v_i = S_k . F_v       F_v = 2 B S_i + 2 I psi-dot_i
    d tau_k/d a_i = S_k . F_a       F_a = I S_i
    d tau_i/d q_k = psi-ddot_k . F_a + psi-dot_k . (2 B)^T S_i + w_k . N^T S_i
    d tau_i/d v_k = 2 psi-dot_k . F_a + S_k . (2 B)^T S_i

(Q, V, U in the code), where w is the angular part of S. Partials between joints on different
branches are zero: the work grows with the number of ancestor pairs.
Reference: Singh, Russell and Wensing, IEEE RA-L 7(2), 2022.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.composite import (
    FORCE,
    PSI2,
    SUMS_END,
    coriolis_times,
    coriolis_transposed_times,
    inertia_times,
    joint_torque,
    outward_composites,
    sum_into_parent,
    turning_times,
    turning_transposed_times,
)
from predyn.dynamics.forward import AXIS, PSI
from predyn.dynamics.joint_forces import joint_partials, rotor_force
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense, pairs, symmetric_pairs
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store, stream
from predyn.kernels.spatial import add6, cross_force, dot, dot6, load3, load6, scale6
from predyn.kernels.tree import has_coupled_rotors
from predyn.model import Model


@jit
def rnea_derivatives(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    tau, dq, dv, da = outs
    n = tree.parent.shape[0]
    has_loads = loads.row.shape[0] > 0
    outward_composites(tree, loads, c, q, v, a, values, work)
    for i in range(n - 1, -1, -1):
        row = i + 1
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        F = load6(work, row, FORCE)
        U = inertia_times(work, row, S)
        V = add6(coriolis_times(work, row, S), scale6(2.0, inertia_times(work, row, psi)))
        Q = add6(inertia_times(work, row, psi2), coriolis_times(work, row, psi))
        Q = add6(Q, cross_force(S, F))
        B = coriolis_transposed_times(work, row, S)
        k = tree.pair[i]
        if has_loads:
            Q = add6(Q, turning_times(work, row, S[0]))
            N = turning_transposed_times(work, row, S)
            _pairs(tree, c, i, Q, V, U, B, dq, dv, da, work)
            up = tree.parent[i]
            while up > 0:
                k += 1
                turned = dot(load3(work, up, AXIS), N)
                store(dq, c, 2 * k + 1, load(dq, c, 2 * k + 1) + turned)
                up = tree.parent[up - 1]
        else:
            _pairs(tree, c, i, Q, V, U, B, dq, dv, da, work)
        store(tau, c, i, joint_torque(tree, c, i, dot6(S, F), q, v, a))
        if tree.loaded[i] == 1:
            joint_partials(tree, c, i, q, v, dq, dv, da)
        sum_into_parent(tree, loads, i, work)
    for i in range(tree.rotor.shape[0]):
        store(tau, c, i, load(tau, c, i) + rotor_force(tree, c, i, a))


@jit
def _pairs(tree, c, i, Q, V, U, B, dq, dv, da, work):
    """Row and column i, from joint i up to the root."""
    k = tree.pair[i]
    up = i + 1
    while up > 0:
        S, psi, psi2 = load6(work, up, AXIS), load6(work, up, PSI), load6(work, up, PSI2)
        stream(dq, c, 2 * k, dot6(S, Q))
        stream(dv, c, 2 * k, dot6(S, V))
        stream(da, c, k, dot6(S, U))
        stream(dq, c, 2 * k + 1, dot(psi[0], B) + dot6(psi2, U))
        stream(dv, c, 2 * k + 1, dot(S[0], B) + 2.0 * dot6(psi, U))
        k += 1
        up = tree.parent[up - 1]


RNEA_DERIVATIVES = Kernel(
    rnea_derivatives,
    work=lambda tree: (len(tree.parent) + 1, SUMS_END),
    outputs=lambda tree: (
        dense(len(tree.parent)),
        pairs(tree),
        pairs(tree),
        symmetric_pairs(tree),
    ),
    forces=True,
)


def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Torques and their exact partials: tau (..., n), dtau_dq, dtau_dv, dtau_da (..., n, n).

    [i, k] is d tau_i / d q_k and so on. dtau_da is the mass matrix. For large batches, reuse the
    arrays with out=(tau, dtau_dq, dtau_dv, dtau_da): new memory costs more than the computation.
    """
    n = joints(model)
    if model.couplings:
        found = coupled.inverse_dynamics_derivatives(model, q, v, a, forces, out)
        return found[0], found[1], found[2], found[3]
    inputs = (("q", q, n), ("v", v, n), ("a", a, n))
    tau, dq, dv, da = RNEA_DERIVATIVES(model, inputs, forces, out)
    if has_coupled_rotors(model):
        da += model.rotor
    return tau, dq, dv, da

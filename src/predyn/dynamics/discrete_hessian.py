"""Exact second partials of a weighted sum of the torques of discrete inverse dynamics.

Interval r (sign s = -1, 1) adds the sum phi of f and p with weights -w/2 and s w/h to w . tau. It
depends on its own two nodes and h only. With the blocks qq, qv, vv of phi (lagrangian_hessian.py),

    start start, end end   qq/4 -or+ (qv + qv^T)/(2h) + vv/h^2
    start end              qq/4 + (qv - qv^T)/(2h) - vv/h^2

The kinetic part of phi, of gradient (g_q, g_v), is a function of the nodes over h^2: its partial in
h and a node is -2/h (g_q/2 -or+ g_v/h), and 6/h^2 times itself in h twice. As the derivative of T
along (-w/2, s w/h) it has g_q = d(psi-dot) . P + psi-dot . dP and g_v = dS . P + S . dP.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_discrete
from predyn.dynamics.composite import MOMENTUM
from predyn.dynamics.discrete import discrete_inputs, midpoint_scratch, to_midpoint
from predyn.dynamics.forward import AXIS, PSI
from predyn.dynamics.joint_forces import friction_bend, joint_slope
from predyn.dynamics.lagrangian import joint_momentum
from predyn.dynamics.lagrangian_hessian import (
    COLUMNS,
    D_MOMENTUM,
    D_PSI,
    curvature_fields,
    gradients_hessian,
)
from predyn.dynamics.rnea_hessian import OMEGA
from predyn.kernels.arguments import Input, joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense, pairs, scratch, symmetric_pairs
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import dot6, load6
from predyn.kernels.tree import Tree
from predyn.model import Model


@jit
def discrete_hessian(tree, loads, c, ins, outs, work):
    """ins: q0, q1, q2, h, weights, values of the loads in both intervals; outs: as in _fields."""
    q0, q1, q2, h, w, first, second = ins
    s00, s01, s11, s12, s22, h0, h1, h2, hh, m, v, both, rate, qq, qv, vv = outs
    n = tree.parent.shape[0]
    nodes, values, mixed = (q0, q1, q2), (first, second), (h0, h1, h2)
    inverse = 1.0 / load(h, c, 0)
    store(hh, c, 0, 0.0)
    for i in range(n):
        store(h0, c, i, 0.0)
        store(h1, c, i, 0.0)
        store(h2, c, i, 0.0)
    for r in range(2):
        to_midpoint(n, c, nodes[r], nodes[r + 1], h, m, v)
        for i in range(n):
            weight = load(w, c, i)
            store(both, c, i, -0.5 * weight)
            store(rate, c, i, ((2.0 * r - 1.0) * inverse) * weight)
            store(both, c, n + i, load(rate, c, i))
        gradients_hessian(tree, loads, c, (m, v, both, values[r]), (qq, qv, vv), work)
        _step_partials(tree, c, inverse, w, v, rate, mixed[r], mixed[r + 1], hh, work)
        for k in range(tree.pair[n]):
            q_q, v_v = 0.25 * load(qq, c, k), (inverse * inverse) * load(vv, c, k)
            upper, lower = load(qv, c, 2 * k), load(qv, c, 2 * k + 1)
            even, odd = (0.5 * inverse) * (upper + lower), (0.5 * inverse) * (upper - lower)
            start, end, across = q_q - even + v_v, q_q + even + v_v, q_q - v_v
            if r == 0:
                store(s00, c, k, start)
                store(s11, c, k, end)
                store(s01, c, 2 * k, across + odd)
                store(s01, c, 2 * k + 1, across - odd)
            else:
                store(s11, c, k, load(s11, c, k) + start)
                store(s22, c, k, end)
                store(s12, c, 2 * k, across + odd)
                store(s12, c, 2 * k + 1, across - odd)


@jit
def _step_partials(tree, c, inverse, w, v, rate, at_start, at_end, hh, work):
    """Add an interval's second partials in h; the sweep of its Hessian has filled the workspace."""
    for i in range(tree.parent.shape[0]):
        row = i + 1
        S, psi = load6(work, row, AXIS), load6(work, row, PSI)
        dS, dpsi = load6(work, row, OMEGA), load6(work, row, D_PSI)
        P, dP = load6(work, row, MOMENTUM), load6(work, row, D_MOMENTUM)
        g_q = dot6(dpsi, P) + dot6(psi, dP)
        g_v = joint_momentum(tree, c, i, rate, dot6(dS, P) + dot6(S, dP))
        p = joint_momentum(tree, c, i, v, dot6(S, P))
        kinetic = load(rate, c, i) * p - (0.5 * load(w, c, i)) * dot6(psi, P)
        in_q, in_v, twice = -inverse * g_q, -2.0 * inverse * g_v, 6.0 * kinetic
        if tree.loaded[i] == 1:
            slope = joint_slope(tree, c, i, v)
            bent = friction_bend(tree, c, i, v) * load(v, c, i)
            weight = 0.5 * load(w, c, i)
            in_v = in_v - (weight * inverse) * (slope + bent)
            twice = twice + weight * (load(v, c, i) * (bent + 2.0 * slope))
        store(at_start, c, i, load(at_start, c, i) + (in_q - inverse * in_v))
        store(at_end, c, i, load(at_end, c, i) + (in_q + inverse * in_v))
        store(hh, c, 0, load(hh, c, 0) + (inverse * inverse) * twice)


def _fields(tree: Tree) -> tuple[Field, ...]:
    n = len(tree.parent)
    own, across = symmetric_pairs(tree), pairs(tree)
    room = (scratch(2 * n), scratch(n), *(scratch(x.packed) for x in curvature_fields(tree)))
    by_h = (dense(n), dense(n), dense(n), dense())
    return own, across, own, across, own, *by_h, *midpoint_scratch(tree), *room


DISCRETE_HESSIAN = Kernel(
    discrete_hessian, work=lambda tree: (len(tree.parent) + 1, COLUMNS), outputs=_fields
)


class DiscreteHessian(NamedTuple):
    """Second partials of a weighted sum of torques, by blocks; those in (q0, q2) are zero.

    q0q1[i, k] = d2/(dq0_i dq1_k), (..., n, n), and so on; q0h, q1h, q2h (..., n); hh (...).
    """

    q0q0: NDArray
    q0q1: NDArray
    q1q1: NDArray
    q1q2: NDArray
    q2q2: NDArray
    q0h: NDArray
    q1h: NDArray
    q2h: NDArray
    hh: NDArray


def discrete_inverse_dynamics_hessian(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    q2: ArrayLike,
    h: ArrayLike,
    weights: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> DiscreteHessian:
    """Exact second partials of sum_i weights_i tau_i of discrete_inverse_dynamics.

    weights: (..., n). out: arrays in the order returned.
    """
    n = joints(model)
    if model.couplings:
        found = coupled_discrete.hessian(model, (q0, q1, q2), h, weights, forces, out)
        return DiscreteHessian(*found)
    weighing: list[Input] = [("weights", weights, n)]
    inputs, loads = discrete_inputs(model, (q0, q1, q2), h, forces, weighing)
    return DiscreteHessian(*DISCRETE_HESSIAN(model, inputs, out=out, constants=loads))

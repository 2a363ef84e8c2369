"""Exact partials of the recursive Lagrangian formulation in q, v and a.

Equations 21-35 of the paper named in lagrangian_dh.py, by their numbers. The paper loops over links
i and inside over coordinates k; here the loop over k is outside, so that only the partials in one
coordinate are kept: outwards over the subtree of joint k (21-26), inwards over it (27-35, k <= i),
then along the way from k to the base (27-35, k > i). "k <= i" reads: joint k is joint i or on its
way to the base; "k > i": joint i is on the way of k; all other pairs are zero.

Where the code departs from the print:
- Rows k < i of (21), (22), (24) are (12)-(14) with the partials of A, B, C in the place of A, B, C;
  rows k = i are (12)-(14) with every T differentiated once more. `advance` serves all.
- (23) row k = i is printed with dT_i/dq'_k, (26) with dT_i/dq''_k, which are zero; both mean
  dT_i/dq_i. Then (23) and (26) are (21), and (25) is twice (22), and nothing is left to compute.
- (33) needs d2A_i/dq_i dq_k, which is not printed: dA_{i-1}/dq_k dT_i/dq_i for k < i and
  A_{i-1} d2T_i/dq_i^2 for k = i.
- (31), (33) with the matrix Phi of lagrangian_dh.py in the place of F and f.
- Loads along link axes are not in the paper. They turn with their link, so Phi and G then depend on
  q_k for k <= i as well: d(f)/dq_k = dA/dq_k f, and (32) is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.batch import Kernel, dense, pairs, symmetric_pairs
from predyn.dynamics.dh import dh_tree_of, pack_dh_forces
from predyn.dynamics.forces import ExternalForce
from predyn.dynamics.forward import joint_force, vector
from predyn.dynamics.homogeneous import (
    add4,
    inertia_times,
    inward,
    load4,
    rotate,
    scale4,
    store4,
    times_vector,
    trace,
)
from predyn.dynamics.lagrangian_dh import (
    COL_A,
    COL_B,
    COL_C,
    COL_D,
    COL_DA,
    COL_E,
    COL_G,
    COL_PHI,
    COL_T,
    END,
    add_load,
    advance,
    backward_dynamics,
    derivative,
    forward_kinematics,
    in_link,
    joint_kind,
    pack_point,
)
from predyn.lanes import jit, load, store, tanh
from predyn.model import Model
from predyn.spatial import add, dot, load3, store3

# Columns of the workspace after those of lagrangian_dh.py: partials in the coordinates of joint k.
A_Q = END  # dA_i/dq_k = dB_i/dq'_k = dC_i/dq''_k, 12 numbers
B_Q = END + 12  # dB_i/dq_k = 1/2 dC_i/dq'_k
C_Q = END + 24
A_QQ = END + 36  # d2A_i/dq_i dq_k
D_Q = END + 48
D_V = END + 60  # dD_i/dq'_k
D_A = END + 72  # dD_i/dq''_k
PHI_Q = END + 84
G_Q = END + 96  # 3 numbers
E_Q = END + 99  # 3 numbers: the fourth is zero
SENSITIVITY_END = END + 102


@jit
def kinematic_partials(tree, c, k, v, a, work):
    """(21), (22), (24) in q_k, and d2A_i/dq_i dq_k, of the links i that joint k moves."""
    for i in range(k, k + tree.size[k]):
        row, up = i + 1, tree.parent[i]
        T = load4(work, row, COL_T)
        dT = derivative(tree, i, T, 1.0)
        ddT = derivative(tree, i, dT, 0.0)
        if i == k:
            A, B, C = load4(work, up, COL_A), load4(work, up, COL_B), load4(work, up, COL_C)
            T, dT, ddT, last = dT, ddT, derivative(tree, i, ddT, 0.0), 0.0
        else:
            A, B, C = load4(work, up, A_Q), load4(work, up, B_Q), load4(work, up, C_Q)
            last = 1.0
        dA, dB, dC, ddA = advance(A, B, C, T, dT, ddT, last, load(v, c, i), load(a, c, i))
        store4(work, row, A_Q, dA)
        store4(work, row, B_Q, dB)
        store4(work, row, C_Q, dC)
        store4(work, row, A_QQ, ddA)


@jit
def turning_loads(loads, c, k, size, values, work):
    """dPhi_i/dq_k and dG_i/dq_k of the loads along link axes, for the links i that k moves."""
    for load_k in range(loads.row.shape[0]):
        row = loads.row[load_k]
        if loads.world[load_k] == 0 and k < row <= k + size:
            f, h = in_link(loads, c, load_k, values)
            dA = load4(work, row, A_Q)
            add_load(loads, load_k, rotate(dA, f), rotate(dA, h), work, PHI_Q, G_Q)


@jit
def torque_partials(tree, c, i, at_q, at_a, dq, dv, da, work):
    """The part of (33)-(35) that holds for all i and k: tr[dA_i/dq_i dD_i/dx_k] and its like."""
    row, up = i + 1, tree.parent[i]
    gravity = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    dA = load4(work, row, COL_DA)
    turns, _ = joint_kind(tree, i)
    axis = load3(work, up, COL_A + 6)  # A_{i-1} z_0
    store(
        dq, c, at_q,
        trace(dA, load4(work, row, D_Q)) - dot(gravity, rotate(dA, load3(work, row, E_Q)))
        - trace(dA, load4(work, row, PHI_Q)) - turns * dot(load3(work, row, G_Q), axis),
    )  # (33)  # fmt: skip
    store(dv, c, at_q, trace(dA, load4(work, row, D_V)))  # (34)
    store(da, c, at_a, trace(dA, load4(work, row, D_A)))  # (35)


@jit
def within_subtree(tree, loads, c, k, values, dq, dv, da, work):
    """(27)-(35) for k <= i, from the tips of the subtree of joint k to joint k."""
    size = tree.size[k]
    gravity = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for row in range(k + 1, k + size + 1):
        for col in range(D_Q, SENSITIVITY_END):
            store(work, row, col, 0.0)
    turning_loads(loads, c, k, size, values, work)
    depth = tree.pair[k + 1] - tree.pair[k]
    for i in range(k + size - 1, k - 1, -1):
        row, up = i + 1, tree.parent[i]
        # The children have already put T_c dD_c/dx_k here; dE_i/dq_k = 0 (30).
        D_q = add4(inertia_times(tree.I, i, load4(work, row, C_Q)), load4(work, row, D_Q))  # (27)
        dC_v = scale4(2.0, load4(work, row, B_Q))  # (25)
        D_v = add4(inertia_times(tree.I, i, dC_v), load4(work, row, D_V))  # (28)
        dC_a = load4(work, row, A_Q)  # (26)
        D_a = add4(inertia_times(tree.I, i, dC_a), load4(work, row, D_A))  # (29)
        store4(work, row, D_Q, D_q)
        store4(work, row, D_V, D_v)
        store4(work, row, D_A, D_a)
        pair = tree.pair[i + 1] - depth  # of i with k
        torque_partials(tree, c, i, 2 * pair + 1, pair, dq, dv, da, work)
        ddA = load4(work, row, A_QQ)
        E, mass = load3(work, row, COL_E), load(work, row, COL_E + 3)
        rest = (
            trace(ddA, load4(work, row, COL_D))
            - dot(gravity, times_vector(ddA, E, mass))
            - trace(ddA, load4(work, row, COL_PHI))
        )  # the other part of (33) for k <= i
        if i > k:
            turns, _ = joint_kind(tree, i)
            axis_q = load3(work, up, A_Q + 6)  # dA_{i-1}/dq_k z_0, zero for k = i
            rest = rest - turns * dot(load3(work, row, COL_G), axis_q)
            T = load4(work, row, COL_T)
            store4(work, up, D_Q, add4(load4(work, up, D_Q), inward(T, D_q, 1.0)))
            store4(work, up, D_V, add4(load4(work, up, D_V), inward(T, D_v, 1.0)))
            store4(work, up, D_A, add4(load4(work, up, D_A), inward(T, D_a, 1.0)))
            phi = inward(T, load4(work, row, PHI_Q), 1.0)
            store4(work, up, PHI_Q, add4(load4(work, up, PHI_Q), phi))
            store3(work, up, G_Q, add(load3(work, up, G_Q), load3(work, row, G_Q)))
        store(dq, c, 2 * pair + 1, load(dq, c, 2 * pair + 1) + rest)
    own = 2 * tree.pair[k]  # the diagonal has two places
    store(dq, c, own, load(dq, c, own + 1))
    store(dv, c, own, load(dv, c, own + 1))


@jit
def towards_base(tree, c, k, dq, dv, da, work):
    """(27)-(35) for k > i, from the link before joint k to the base."""
    row, pair = k + 1, tree.pair[k]
    up = tree.parent[k]
    while up > 0:
        pair += 1
        T = load4(work, row, COL_T)
        D_q = inward(T, load4(work, row, D_Q), 1.0)  # (27), k > i + 1
        E_q = rotate(T, load3(work, row, E_Q))  # (30)
        Phi_q = inward(T, load4(work, row, PHI_Q), 1.0)  # (31)
        if row == k + 1:  # k = i + 1
            dT = derivative(tree, k, T, 1.0)
            D_q = add4(D_q, inward(dT, load4(work, row, COL_D), 0.0))
            E = times_vector(dT, load3(work, row, COL_E), load(work, row, COL_E + 3))
            E_q = add(E_q, E)
            Phi_q = add4(Phi_q, inward(dT, load4(work, row, COL_PHI), 0.0))
        store4(work, up, D_Q, D_q)
        store4(work, up, D_V, inward(T, load4(work, row, D_V), 1.0))  # (28)
        store4(work, up, D_A, inward(T, load4(work, row, D_A), 1.0))  # (29)
        store3(work, up, E_Q, E_q)
        store4(work, up, PHI_Q, Phi_q)
        store3(work, up, G_Q, load3(work, row, G_Q))  # (32)
        torque_partials(tree, c, up - 1, 2 * pair, pair, dq, dv, da, work)
        row, up = up, tree.parent[up - 1]


@jit
def joint_partials(tree, c, i, v, dq, dv, da):
    """Spring, friction and armature act on their own joint alone."""
    own = tree.pair[i]
    store(dq, c, 2 * own, load(dq, c, 2 * own) + tree.stiffness[i])
    store(da, c, own, load(da, c, own) + tree.armature[i])
    slope = load(dv, c, 2 * own) + tree.damping[i]
    if tree.coulomb[i] != 0.0:
        t = tanh(load(v, c, i) * (1.0 / tree.coulomb_speed[i]))
        slope = slope + (tree.coulomb[i] / tree.coulomb_speed[i]) * (1.0 - t * t)
    store(dv, c, 2 * own, slope)


@jit
def lagrangian_dh_sensitivity(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    tau, dq, dv, da = outs
    forward_kinematics(tree, c, q, v, a, work)
    backward_dynamics(tree, loads, c, values, work, tau)
    for k in range(tree.parent.shape[0]):
        kinematic_partials(tree, c, k, v, a, work)
        within_subtree(tree, loads, c, k, values, dq, dv, da, work)
        towards_base(tree, c, k, dq, dv, da, work)
        if tree.loaded[k] == 1:
            store(tau, c, k, load(tau, c, k) + joint_force(tree, c, k, q, v, a))
            joint_partials(tree, c, k, v, dq, dv, da)


SENSITIVITY = Kernel(
    lagrangian_dh_sensitivity,
    work=lambda tree: (len(tree.parent) + 1, SENSITIVITY_END),
    outputs=lambda tree: (
        dense(len(tree.parent)),
        pairs(tree),
        pairs(tree),
        symmetric_pairs(tree),
    ),
    forces=True,
    view=dh_tree_of,
    pack=pack_dh_forces,
)


def lagrangian_dh_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Torques and their exact partials: tau (..., n), dtau_dq, dtau_dv, dtau_da (..., n, n).

    As predyn.inverse_dynamics_derivatives, by (21)-(35), for the models that
    lagrangian_dh_torques takes; [i, k] is d tau_i / d q_k and so on.
    """
    n = (model.n,)
    inputs = (("q", q, n), ("v", v, n), ("a", a, n))
    tau, dq, dv, da = SENSITIVITY(model, inputs, forces, out)
    return tau, dq, dv, da


# -- a point of a link --------------------------------------------------------------------------


@jit
def lagrangian_dh_point_partials(tree, loads, c, ins, outs, work):
    q, v, a, _ = ins
    row, r, n = loads.row[0], vector(loads.point, 0), tree.parent.shape[0]
    for k in range(3):
        for col in range(3 * n):
            store(outs[k], c, col, 0.0)
    forward_kinematics(tree, c, q, v, a, work)
    for k in range(n):
        if k < row <= k + tree.size[k]:
            kinematic_partials(tree, c, k, v, a, work)
            for kind in range(3):  # (15) with (21), (22), (24)
                x = times_vector(load4(work, row, A_Q + 12 * kind), r, 1.0)
                for axis in range(3):
                    store(outs[kind], c, axis * n + k, x[axis])


POINT_PARTIALS = Kernel(
    lagrangian_dh_point_partials,
    work=lambda tree: (len(tree.parent) + 1, SENSITIVITY_END),
    outputs=lambda tree: (dense(3, len(tree.parent)),) * 3,
    forces=True,
    view=dh_tree_of,
    pack=pack_point,
)


class PointPartials(NamedTuple):
    """Partials (..., 3, n) in q of a point's position r, velocity r' and acceleration r''.

    Those in v and a follow: dr'/dv = dr''/da = position, dr''/dv = 2 velocity, as (23), (26) equal
    (21) and (25) is twice (22).
    """

    position: NDArray
    velocity: NDArray
    acceleration: NDArray


def lagrangian_dh_point_derivatives(
    model: Model, link: str, point: ArrayLike, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> PointPartials:
    """Partials (21)-(26) of lagrangian_dh_point: [..., :, k] is the partial in q_k."""
    n = (model.n,)
    place: Any = (link, point)
    return PointPartials(*POINT_PARTIALS(model, (("q", q, n), ("v", v, n), ("a", a, n)), place))

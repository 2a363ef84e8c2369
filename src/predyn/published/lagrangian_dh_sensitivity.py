"""Exact partials of the recursive Lagrangian formulation in q, v and a.

Equations 21-35 of the paper cited in lagrangian_dh.py, by their numbers. The paper loops over links
i and, inside, over coordinates k; here the loop over k is outside, so that only the partials in one
coordinate are stored: outward over the subtree of joint k (21-26), inward over it (27-35, k <= i),
then along the path from k to the base (27-35, k > i). "k <= i" means that joint k is joint i or on
its path to the base; "k > i" that joint i is on the path of k; all other pairs are zero.

Differences from the printed equations:
- Rows k < i of (21), (22), (24) are (12)-(14) with A, B, C replaced by their partials; rows k = i
  are (12)-(14) with every T differentiated once more. `advance` serves all.
- (23) row k = i is printed with dT_i/dq'_k, (26) with dT_i/dq''_k, which are zero; both mean
  dT_i/dq_i. Then (23) and (26) equal (21), and (25) is twice (22), so they need no computation.
- (33) needs d2A_i/dq_i dq_k, which is not printed: dA_{i-1}/dq_k dT_i/dq_i for k < i and
  A_{i-1} d2T_i/dq_i^2 for k = i.
- (31), (33) have the matrix Phi of lagrangian_dh.py in place of F and f.
- Loads along link axes are not in the paper. They rotate with their link, so Phi and G also depend
  on q_k for k <= i: d(f)/dq_k = dA/dq_k f, and (32) is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.forward import vector
from predyn.dynamics.joint_forces import joint_force, joint_partials
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense, pairs, symmetric_pairs
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import add, dot, load3, store3
from predyn.model import Model
from predyn.published.dh import dh_tree_of, pack_dh_forces
from predyn.published.homogeneous import add_inertia, add_product, clear, pose, rotate, times, trace
from predyn.published.lagrangian_dh import (
    AT,
    add_load,
    advance,
    backward_dynamics,
    derivative,
    forward_kinematics,
    joint_kind,
    own_axes,
    pack_point,
)


class Partials(NamedTuple):
    """Columns of the workspace after those of lagrangian_dh.py: partials in one joint's q, v, a."""

    A_q: int = AT.end  # dA_i/dq_k = dB_i/dq'_k = dC_i/dq''_k, 12 numbers
    B_q: int = AT.end + 12  # dB_i/dq_k = 1/2 dC_i/dq'_k
    C_q: int = AT.end + 24
    A_qq: int = AT.end + 36  # d2A_i/dq_i dq_k
    D_q: int = AT.end + 48  # gathered inwards: 12 numbers each
    D_v: int = AT.end + 60  # dD_i/dq'_k
    D_a: int = AT.end + 72  # dD_i/dq''_k
    Phi_q: int = AT.end + 84
    E_q: int = AT.end + 96  # 4 numbers
    G_q: int = AT.end + 100  # 3 numbers
    end: int = AT.end + 103


PART = Partials()


@jit
def kinematic_partials(tree, c, k, v, a, work):
    """dA (21), dB (22), dC (24) in q_k, and d2A_i/dq_i dq_k, of the links i that joint k moves.

    k < i: (A, B, C)_{i-1} replaced by their partials, T_i as in (12)-(14). k = i: (A, B, C)_{i-1}
    as they are, T, dT, d2T replaced by dT, d2T, d3T. The fourth result of `advance` is
    d2A_i/dq_i dq_k in both cases.
    """
    for i in range(k, k + tree.size[k]):
        row, up = i + 1, tree.parent[i]
        source = AT.A if i == k else PART.A_q  # A, B, C lie one after another in both
        A_up, B_up, C_up = (
            pose(work, up, source),
            pose(work, up, source + 12),
            pose(work, up, source + 24),
        )
        for col in range(4):
            last = 1.0 if col == 3 else 0.0
            t = load3(work, row, AT.T + 3 * col)
            dt = derivative(tree, i, t, last)
            ddt = derivative(tree, i, dt, 0.0)
            if i == k:
                t, dt, ddt, last = dt, ddt, derivative(tree, i, ddt, 0.0), 0.0
            dA, dB, dC, ddA = advance(
                A_up, B_up, C_up, t, dt, ddt, last, load(v, c, i), load(a, c, i)
            )
            store3(work, row, PART.A_q + 3 * col, dA)  # (21); (23), (26) corrected are the same
            store3(work, row, PART.B_q + 3 * col, dB)  # (22); half of (25)
            store3(work, row, PART.C_q + 3 * col, dC)  # (24)
            store3(work, row, PART.A_qq + 3 * col, ddA)  # d2A_i/dq_i dq_k of (33), not printed


@jit
def turning_loads(loads, c, k, size, values, work):
    """dPhi_i/dq_k and dG_i/dq_k of the loads along link axes, for the links i that k moves."""
    for m in range(loads.row.shape[0]):
        row = loads.row[m]
        if loads.world[m] == 0 and k < row <= k + size:
            f, h = own_axes(loads, c, m, values)
            dA = pose(work, row, PART.A_q)
            add_load(loads, m, rotate(dA, f), rotate(dA, h), work, PART.Phi_q, PART.G_q)


@jit
def torque_partials(tree, c, i, at, pair, dq, dv, da, work):
    """The part of (33)-(35) that holds for all i and k: tr[dA_i/dq_i dD_i/dx_k] and the like."""
    row, up = i + 1, tree.parent[i]
    gravity = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    turns, _ = joint_kind(tree, i)
    axis = load3(work, up, AT.A + 6)  # A_{i-1} z_0, if revolute
    inertia = trace(work, row, AT.dA, PART.D_q)
    weight = dot(gravity, rotate(pose(work, row, AT.dA), load3(work, row, PART.E_q)))
    force = trace(work, row, AT.dA, PART.Phi_q)
    # (32): zero unless a load is along link axes
    moment = turns * dot(load3(work, row, PART.G_q), axis)
    store(dq, c, at, inertia - weight - force - moment)  # (33)
    store(dv, c, at, trace(work, row, AT.dA, PART.D_v))  # (34)
    store(da, c, pair, trace(work, row, AT.dA, PART.D_a))  # (35)


@jit
def within_subtree(tree, loads, c, k, values, dq, dv, da, work):
    """(27)-(35) for k <= i, from the tips of the subtree of joint k to joint k."""
    size, depth = tree.size[k], tree.pair[k + 1] - tree.pair[k]
    gravity = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for i in range(k, k + size):
        row = i + 1
        clear(work, row, PART.D_q, PART.end)
        add_inertia(tree.I, i, 1.0, work, row, PART.C_q, PART.D_q)  # (27)
        add_inertia(tree.I, i, 2.0, work, row, PART.B_q, PART.D_v)  # (28), (25)
        add_inertia(tree.I, i, 1.0, work, row, PART.A_q, PART.D_a)  # (29), (26)
    turning_loads(loads, c, k, size, values, work)
    for i in range(k + size - 1, k - 1, -1):
        row, up, pair = i + 1, tree.parent[i], tree.pair[i + 1] - depth  # the pair of i and k
        torque_partials(tree, c, i, 2 * pair + 1, pair, dq, dv, da, work)
        E, mass = load3(work, row, AT.E), load(work, row, AT.E + 3)
        inertia = trace(work, row, PART.A_qq, AT.D)
        weight = dot(gravity, times(pose(work, row, PART.A_qq), E, mass))
        force = trace(work, row, PART.A_qq, AT.Phi)
        rest = inertia - weight - force  # the other part of (33), k <= i
        if i > k:
            turns, _ = joint_kind(tree, i)
            axis = load3(work, up, PART.A_q + 6)  # dA_{i-1}/dq_k z_0, zero for k = i
            rest = rest - turns * dot(load3(work, row, AT.G), axis)
            # (27)-(29), (31); (30) is zero; (37b) corrected: with T_i
            add_product(work, row, AT.T, up, PART.D_q, PART.E_q)
            # (32): zero unless a load is along link axes
            store3(work, up, PART.G_q, add(load3(work, up, PART.G_q), load3(work, row, PART.G_q)))
        store(dq, c, 2 * pair + 1, load(dq, c, 2 * pair + 1) + rest)
    own = 2 * tree.pair[k]  # the diagonal has two places
    store(dq, c, own, load(dq, c, own + 1))
    store(dv, c, own, load(dv, c, own + 1))


@jit
def towards_base(tree, c, k, dq, dv, da, work):
    """(27)-(35) for k > i, from the parent link of joint k to the base."""
    row, up, pair = k + 1, tree.parent[k], tree.pair[k]
    if up > 0:
        clear(work, up, PART.D_q, PART.end)
        T_k = pose(work, row, AT.T)
        for m in range(7):  # dT_k D_k, dT_k Phi_k, dT_k E_k of (27), (31), (30), k = i + 1
            last = load(work, row, AT.D + 4 * m + 3)
            x = times(T_k, load3(work, row, AT.D + 4 * m), last)
            target = PART.D_q if m < 3 else PART.Phi_q - 12
            store3(work, up, target + 4 * m, derivative(tree, k, x, last))
    while up > 0:
        pair += 1
        add_product(work, row, AT.T, up, PART.D_q, PART.G_q)  # (27)-(31), T_i as in (37b) corrected
        store3(work, up, PART.G_q, load3(work, row, PART.G_q))  # (32)
        torque_partials(tree, c, up - 1, 2 * pair, pair, dq, dv, da, work)
        row, up = up, tree.parent[up - 1]
        if up > 0:
            clear(work, up, PART.D_q, PART.end)


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
            joint_partials(tree, c, k, q, v, dq, dv, da)


SENSITIVITY = Kernel(
    lagrangian_dh_sensitivity,
    work=lambda tree: (len(tree.parent) + 1, PART.end),
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

    Like predyn.inverse_dynamics_derivatives, by (21)-(35), for the models that
    lagrangian_dh_torques accepts; [i, k] is d tau_i / d q_k and so on.
    """
    n = joints(model)
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
            for kind in range(3):  # (15) corrected, with (21), (22), (24)
                x = times(pose(work, row, PART.A_q + 12 * kind), r, 1.0)
                store(outs[kind], c, k, x[0])
                store(outs[kind], c, n + k, x[1])
                store(outs[kind], c, 2 * n + k, x[2])


POINT_PARTIALS = Kernel(
    lagrangian_dh_point_partials,
    work=lambda tree: (len(tree.parent) + 1, PART.end),
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
    model: Model,
    link: str,
    point: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    out: tuple[NDArray, ...] | None = None,
) -> PointPartials:
    """Partials (21)-(26) of lagrangian_dh_point: [..., :, k] is the partial in q_k."""
    n = joints(model)
    place: Any = (link, point)
    inputs = (("q", q, n), ("v", v, n), ("a", a, n))
    return PointPartials(*POINT_PARTIALS(model, inputs, place, out))

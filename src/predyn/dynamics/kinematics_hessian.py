"""Weighted second partials of a frame's pose, velocity and acceleration.

phi = w_R : R + w_p . p + (m_v . w + w_v . v) + (m_a . alpha + w_a . a) has the gradient

    d phi/dq_j = S_j . G0 + psi-dot_j . G1 + psi-ddot_j . G2
    d phi/dv_j = S_j . G1 + 2 psi-dot_j . G2            d phi/da_j = S_j . G2

with forces about the world origin
    G0 = (p x w_p + sum_c R_c x w_Rc + v x w_v + w x m_v + a x w_a + alpha x m_a, w_p)
    G1 = (p x w_v + m_v + 2 v x w_a + w x m_a, w_v)     G2 = (p x w_a + m_a, w_a).

In the frame that rotates with joint k (above j, or j itself) S_j is constant, psi-dot_j changes by
psi-dot_k x S_j, psi-ddot_j by psi-ddot_k x S_j + 2 psi-dot_k x psi-dot_j, and the weights, fixed in
the world, rotate backwards. With v_k, psi-dot_j changes by S_k x S_j and psi-ddot_j by
2 psi-dot_k x S_j + 2 S_k x psi-dot_j; with a_k, psi-ddot_j by S_k x S_j. Let d_q, d_v, d_a be the
changes of G in that frame. Then with the vectors of joint k

    A0 = d_q G0 - psi-dot_k x* G1 - psi-ddot_k x* G2    C0 = d_v G0 - S_k x* G1 - 2 psi-dot_k x* G2
    A1 = d_q G1 - 2 psi-dot_k x* G2                     C1 = d_v G1 - 2 S_k x* G2
    A2 = d_q G2                                         D  = d_a G0 - S_k x* G2

    q_j q_k: S_j . A0 + psi-dot_j . A1 + psi-ddot_j . A2    v_j q_k: S_j . A1 + 2 psi-dot_j . A2
    a_j q_k: S_j . A2       q_j v_k: S_j . C0 + psi-dot_j . C1
    v_j v_k: S_j . C1       q_j a_k: S_j . D
"""

from __future__ import annotations

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_motion
from predyn.dynamics.composite import PSI2
from predyn.dynamics.forward import AXIS, PSI
from predyn.dynamics.kinematics import COLUMNS, FrameMotion, outward_path, target_of
from predyn.dynamics.rnea_hessian import Hessian, second_fields
from predyn.errors import InputError
from predyn.kernels.arguments import Input, joints
from predyn.kernels.batch import Kernel
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    at_point,
    cross,
    cross_force,
    dot6,
    load3,
    load6,
    neg,
    scale,
    scale6,
    store6,
    sub,
    sub6,
    wrench_at,
)
from predyn.kernels.tree import weightless_tree_of
from predyn.model import Model

A0, A1, A2, C0, C1, D = (COLUMNS + 6 * k for k in range(6))
ALL_COLUMNS = COLUMNS + 36


@jit
def _moment(x0, y0, x1, y1):
    return add(cross(x0, y0), cross(x1, y1))


@jit
def _column(R, c, k):
    """Column k of a matrix stored by rows."""
    return (load(R, c, k), load(R, c, 3 + k), load(R, c, 6 + k))


@jit
def frame_hessian(tree, target, c, ins, outs, work):
    q, v, a, R_weights, p_weights, w_weights, v_weights, alpha_weights, a_weights = ins
    qq, qv, vv, qa = outs
    R, p, w, u, alpha, acc = outward_path(tree, target, c, q, v, a, work)
    w_R = (_column(R_weights, c, 0), _column(R_weights, c, 1), _column(R_weights, c, 2))
    w_p, m_v, w_v = load3(p_weights, c, 0), load3(w_weights, c, 0), load3(v_weights, c, 0)
    m_a, w_a = load3(alpha_weights, c, 0), load3(a_weights, c, 0)
    bend = add(m_v, add(scale(2.0, cross(u, w_a)), cross(w, m_a)))
    G1, G2 = wrench_at(p, bend, w_v), wrench_at(p, m_a, w_a)
    row = target.row[0]
    while row > 0:
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        w_k = S[0]
        # rates of the weights as they rotate backwards
        r_R = (cross(w_R[0], w_k), cross(w_R[1], w_k), cross(w_R[2], w_k))
        r_p, r_mv, r_wv = cross(w_p, w_k), cross(m_v, w_k), cross(w_v, w_k)
        r_ma, r_wa = cross(m_a, w_k), cross(w_a, w_k)
        # changes of velocity and acceleration with q_k, v_k, a_k, besides rotation
        u_q, w_q = at_point(psi, p), psi[0]
        acc_q = add(at_point(psi2, p), scale(2.0, cross(psi[0], u)))
        alpha_q = add(psi2[0], cross(psi[0], w))
        u_v = at_point(S, p)
        acc_v = scale(2.0, add(at_point(psi, p), cross(w_k, u)))
        alpha_v = add(scale(2.0, psi[0]), cross(w_k, w))
        # q_k
        turn = add(_moment(R[0], r_R[0], R[1], r_R[1]), cross(R[2], r_R[2]))
        turn = add(turn, add(_moment(u, r_wv, w, r_mv), _moment(acc, r_wa, alpha, r_ma)))
        turn = add(turn, add(_moment(u_q, w_v, w_q, m_v), _moment(acc_q, w_a, alpha_q, m_a)))
        dG0 = wrench_at(p, turn, r_p)
        turn = add(r_mv, add(scale(2.0, _moment(u, r_wa, u_q, w_a)), _moment(w, r_ma, w_q, m_a)))
        dG1 = wrench_at(p, turn, r_wv)
        moved = sub6(sub6(dG0, cross_force(psi, G1)), cross_force(psi2, G2))
        store6(work, row, A0, moved)
        store6(work, row, A1, sub6(dG1, scale6(2.0, cross_force(psi, G2))))
        store6(work, row, A2, wrench_at(p, r_ma, r_wa))
        # v_k
        turn = add(_moment(u_v, w_v, w_k, m_v), _moment(acc_v, w_a, alpha_v, m_a))
        swept = cross_force(S, G1)
        twice = scale6(2.0, cross_force(psi, G2))
        store6(work, row, C0, (sub(sub(turn, swept[0]), twice[0]), neg(add(swept[1], twice[1]))))
        turn = add(scale(2.0, cross(u_v, w_a)), cross(w_k, m_a))
        swept = scale6(2.0, cross_force(S, G2))
        store6(work, row, C1, (sub(turn, swept[0]), neg(swept[1])))
        # a_k
        turn = _moment(u_v, w_a, w_k, m_a)
        swept = cross_force(S, G2)
        store6(work, row, D, (sub(turn, swept[0]), neg(swept[1])))
        row = tree.parent[row - 1]
    _pairs(tree, target, c, qq, qv, vv, qa, work)


@jit
def _pairs(tree, target, c, qq, qv, vv, qa, work):
    for k in range(tree.pair[tree.parent.shape[0]]):
        store(qq, c, k, 0.0)
        store(vv, c, k, 0.0)
        for x in range(2):
            store(qv, c, 2 * k + x, 0.0)
            store(qa, c, 2 * k + x, 0.0)
    row = target.row[0]
    while row > 0:
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        k = tree.pair[row - 1]
        up = row
        while up > 0:
            a0, a1, a2 = load6(work, up, A0), load6(work, up, A1), load6(work, up, A2)
            c1 = load6(work, up, C1)
            store(qq, c, k, dot6(S, a0) + dot6(psi, a1) + dot6(psi2, a2))
            store(qv, c, 2 * k, dot6(S, a1) + 2.0 * dot6(psi, a2))
            store(qv, c, 2 * k + 1, dot6(S, load6(work, up, C0)) + dot6(psi, c1))
            store(vv, c, k, dot6(S, c1))
            store(qa, c, 2 * k, dot6(S, a2))
            store(qa, c, 2 * k + 1, dot6(S, load6(work, up, D)))
            k += 1
            up = tree.parent[up - 1]
        row = tree.parent[row - 1]


FRAME_HESSIAN = Kernel(
    frame_hessian,
    work=lambda tree: (len(tree.parent) + 1, ALL_COLUMNS),
    outputs=second_fields,
    view=weightless_tree_of,
)


def frame_kinematics_hessian(
    model: Model,
    frame: str,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: FrameMotion,
    *,
    point: ArrayLike = (0.0, 0.0, 0.0),
    out: tuple[NDArray, ...] | None = None,
) -> Hessian:
    """Second partials in (q, v, a) of the sum of a frame's motion times weights.

    weights: a FrameMotion of the same shapes; zeros(3) where a part has no weight.
    out: arrays for qq, qv, vv, qa.
    """
    n = joints(model)
    if not isinstance(weights, FrameMotion):
        raise InputError(f"weights: expected a FrameMotion, got {type(weights).__name__}")
    if model.couplings:
        qq, qv, vv, qa = coupled_motion.frame_kinematics_hessian(
            model, frame, (q, v, a), weights, point, out
        )
        return Hessian(qq, qv, vv, qa)
    shapes = ((3, 3), *((3,) for _ in range(5)))
    parts = zip(FrameMotion._fields, weights, shapes, strict=True)
    inputs: list[Input] = [("q", q, n), ("v", v, n), ("a", a, n)]
    inputs += [(f"weights.{name}", x, shape) for name, x, shape in parts]
    target = target_of(model, frame, point)
    qq, qv, vv, qa = FRAME_HESSIAN(model, inputs, out=out, constants=target)
    return Hessian(qq, qv, vv, qa)

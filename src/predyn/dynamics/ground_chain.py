"""Torques of a mechanism that stands on one foot: the chain rule through the resultant, in lanes.

The joints between the base and the foot (own) carry the resultant W of step 1; S_j are their axes
about the world origin. channels/ground.py explains the quantities:

    value    n torques tau_j - S_j . W (tau_j for joints that do not carry the foot, 0 for the
             base), then S_j . (e x F, 0) of the own joints for e = x and e = y, then W
    bends    second partials of a weighted sum, for all pairs of joints
"""

from __future__ import annotations

from typing import NamedTuple

from predyn.kernels.batch import Kernel
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    add6,
    cross,
    cross_motion,
    dot6,
    load3,
    load6,
    scale6,
    store6,
    sub6,
)
from predyn.kernels.tree import Ints


class Site(NamedTuple):
    """Where a mechanism stands; in place of loads."""

    chain: Ints  # joints from the root to the foot: first those of the base
    base: Ints  # number of joints of the base, (1,)
    pairs: Ints  # (pairs, 2) of the packed torques: joint below, joint above


@jit
def _shifted(force, k):
    """(e x F, 0) for e = x (k = 1), y (k = 2)."""
    zero = 0.0 * force[0]
    if k == 1:
        return ((zero, -force[2], force[1]), (zero, zero, zero))
    return ((force[2], zero, -force[0]), (zero, zero, zero))


@jit
def _column(partials, c, first, n, j):
    """The change of the resultant with joint j: column j of the six rows from `first` on."""
    return (
        (
            load(partials, c, first + j),
            load(partials, c, first + n + j),
            load(partials, c, first + 2 * n + j),
        ),
        (
            load(partials, c, first + 3 * n + j),
            load(partials, c, first + 4 * n + j),
            load(partials, c, first + 5 * n + j),
        ),
    )


@jit
def ground_axes(tree, site, c, ins, outs, work):
    """Axes about the world origin, six numbers per joint of the chain, from a Jacobian at p."""
    p, jacobian = ins
    (axes,) = outs
    n, origin = tree.parent.shape[0], load3(p, c, 0)
    for k in range(site.chain.shape[0]):
        S = _column(jacobian, c, 0, n, site.chain[k])
        store6(axes, c, 6 * k, (S[0], add(S[1], cross(origin, S[0]))))


@jit
def ground_value(tree, site, c, ins, outs, work):
    tau, wrench, axes = ins
    (value,) = outs
    n, base, size = tree.parent.shape[0], site.base[0], site.chain.shape[0]
    own = size - base
    W = load6(wrench, c, 0)
    for j in range(n):
        store(value, c, j, load(tau, c, j))
    for k in range(base):
        store(value, c, site.chain[k], 0.0)
    for k in range(base, size):
        S, j = load6(axes, c, 6 * k), site.chain[k]
        store(value, c, j, load(tau, c, j) - dot6(S, W))
        store(value, c, n + k - base, dot6(S, _shifted(W[1], 1)))
        store(value, c, n + own + k - base, dot6(S, _shifted(W[1], 2)))
    store6(value, c, n + 2 * own, W)


@jit
def _own_rows(site, c, n, W, axes, change, moves, out):
    """Rows of the own joints in one of dq, dv, da; moves: whether the axes change too."""
    base, size = site.base[0], site.chain.shape[0]
    own = size - base
    for k in range(base, size):
        S, j = load6(axes, c, 6 * k), site.chain[k]
        for i in range(n):
            d = _column(change, c, 0, n, i)
            store(out, c, j * n + i, load(out, c, j * n + i) - dot6(S, d))
            store(out, c, (n + k - base) * n + i, dot6(S, _shifted(d[1], 1)))
            store(out, c, (n + own + k - base) * n + i, dot6(S, _shifted(d[1], 2)))
        if moves:
            for above in range(k):
                turned, i = cross_motion(load6(axes, c, 6 * above), S), site.chain[above]
                at = j * n + i
                store(out, c, at, load(out, c, at) - dot6(turned, W))
                at = (n + k - base) * n + i
                store(out, c, at, load(out, c, at) + dot6(turned, _shifted(W[1], 1)))
                at = (n + own + k - base) * n + i
                store(out, c, at, load(out, c, at) + dot6(turned, _shifted(W[1], 2)))
    first = (n + 2 * own) * n
    for i in range(6 * n):
        store(out, c, first + i, load(change, c, i))


@jit
def ground_partials(tree, site, c, ins, outs, work):
    """Rows of n partials each; from those of the torques (by pairs) and of the resultant."""
    tau_q, tau_v, tau_a, wrench, wrench_q, wrench_v, wrench_a, axes = ins
    dq, dv, da = outs
    n = tree.parent.shape[0]
    for k in range(n * n):
        store(dq, c, k, 0.0)
        store(dv, c, k, 0.0)
        store(da, c, k, 0.0)
    for k in range(site.pairs.shape[0]):
        i, j = site.pairs[k, 0], site.pairs[k, 1]
        store(dq, c, j * n + i, load(tau_q, c, 2 * k))
        store(dv, c, j * n + i, load(tau_v, c, 2 * k))
        store(da, c, j * n + i, load(tau_a, c, k))
        if i != j:
            store(dq, c, i * n + j, load(tau_q, c, 2 * k + 1))
            store(dv, c, i * n + j, load(tau_v, c, 2 * k + 1))
            store(da, c, i * n + j, load(tau_a, c, k))
    for k in range(site.base[0]):
        for i in range(n):
            at = site.chain[k] * n + i
            store(dq, c, at, 0.0)
            store(dv, c, at, 0.0)
            store(da, c, at, 0.0)
    W = load6(wrench, c, 0)
    _own_rows(site, c, n, W, axes, wrench_q, True, dq)
    _own_rows(site, c, n, W, axes, wrench_v, False, dv)
    _own_rows(site, c, n, W, axes, wrench_a, False, da)


@jit
def _pair(i, j):
    """Number of a pair of joints in the lower triangle."""
    if i >= j:
        return i * (i + 1) // 2 + j
    return j * (j + 1) // 2 + i


@jit
def _add(out, c, k, x):
    store(out, c, k, load(out, c, k) + x)


@jit
def ground_bends(tree, site, c, ins, outs, work):
    """Second partials: those of the torques, plus products of the axes and the resultant.

    factors: three numbers per joint of the chain, those of the axes in U_0, U_x, U_y.
    """
    tau_qq, tau_qv, tau_vv, tau_qa, wrench, wrench_q, wrench_v, wrench_a, axes, factors = ins
    qq, qv, vv, qa = outs
    n, size = tree.parent.shape[0], site.chain.shape[0]
    for k in range(n * (n + 1) // 2):
        store(qq, c, k, 0.0)
        store(vv, c, k, 0.0)
        for x in range(2):
            store(qv, c, 2 * k + x, 0.0)
            store(qa, c, 2 * k + x, 0.0)
    for k in range(site.pairs.shape[0]):
        at = _pair(site.pairs[k, 0], site.pairs[k, 1])
        store(qq, c, at, load(tau_qq, c, k))
        store(vv, c, at, load(tau_vv, c, k))
        store(qv, c, 2 * at, load(tau_qv, c, 2 * k))
        store(qa, c, 2 * at, load(tau_qa, c, 2 * k))
        if site.pairs[k, 0] != site.pairs[k, 1]:
            store(qv, c, 2 * at + 1, load(tau_qv, c, 2 * k + 1))
            store(qa, c, 2 * at + 1, load(tau_qa, c, 2 * k + 1))
    W = load6(wrench, c, 0)
    W_x, W_y = _shifted(W[1], 1), _shifted(W[1], 2)
    nothing = sub6(W, W)
    below, below_x, below_y = nothing, nothing, nothing
    for k in range(size - 1, -1, -1):
        S, j = load6(axes, c, 6 * k), site.chain[k]
        turned = cross_motion(S, below)
        turned_x, turned_y = cross_motion(S, below_x), cross_motion(S, below_y)
        # products with the change of the resultant; that by e x F is K^T times the motion
        rate = add6(turned, add6(_moved_x(turned_x), _moved_y(turned_y)))
        for i in range(n):
            at = _pair(i, j)
            x = dot6(rate, _column(wrench_q, c, 0, n, i))
            _add(qq, c, at, x)
            if i == j:
                _add(qq, c, at, x)
            later = 1 if j > i else 0  # q of the joint below comes second
            _add(qv, c, 2 * at + later, dot6(rate, _column(wrench_v, c, 0, n, i)))
            _add(qa, c, 2 * at + later, dot6(rate, _column(wrench_a, c, 0, n, i)))
        for above in range(k + 1):
            S_up = load6(axes, c, 6 * above)
            x = dot6(cross_motion(S_up, turned), W)
            x = x + dot6(cross_motion(S_up, turned_x), W_x)
            x = x + dot6(cross_motion(S_up, turned_y), W_y)
            _add(qq, c, _pair(j, site.chain[above]), x)
        below = add6(below, scale6(load(factors, c, 3 * k), S))
        below_x = add6(below_x, scale6(load(factors, c, 3 * k + 1), S))
        below_y = add6(below_y, scale6(load(factors, c, 3 * k + 2), S))


@jit
def _moved_x(m):
    """The motion whose product with W is that of m with (x x F, 0): F . (w x e_x)."""
    w, zero = m[0], 0.0 * m[0][0]
    return ((zero, zero, zero), (zero, w[2], -w[1]))


@jit
def _moved_y(m):
    w, zero = m[0], 0.0 * m[0][0]
    return ((zero, zero, zero), (-w[2], zero, w[0]))


def _nothing(tree: object) -> tuple[int, int]:
    return 1, 1


GROUND_AXES = Kernel(ground_axes, work=_nothing, outputs=lambda tree: ())
GROUND_VALUE = Kernel(ground_value, work=_nothing, outputs=lambda tree: ())
GROUND_PARTIALS = Kernel(ground_partials, work=_nothing, outputs=lambda tree: ())
GROUND_BENDS = Kernel(ground_bends, work=_nothing, outputs=lambda tree: ())

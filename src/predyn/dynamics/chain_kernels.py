"""Partials in the joints of a tree become partials in coordinates, in lanes: compiled.

channels/coupled.py has the formulas. Tables have one row of numbers for each product that is added.
"""

from __future__ import annotations

from predyn.dynamics.expansion import F2, F3, A, B, C, D, E
from predyn.kernels.kernel_cache import keeper

kept = keeper(__file__)
AHEAD, BEHIND, SAME, OWN = range(4)  # first of a pair: of joint i, of j, both the same, i = j


@kept
def add_forces(source, slopes, inner, out):
    """out (chunks, n, WIDTH) = sums of A tau over the joints that follow each coordinate."""
    out[:] = 0.0
    for c in range(out.shape[0]):
        for k in range(source.shape[0]):
            for b in range(out.shape[2]):
                out[c, source[k], b] += slopes[A, c, k, b] * inner[c, k, b]


@kept
def chain_first(table, own, slopes, inner, outer):
    """First partials; table: factor, joint, columns of dq, dv, da in the tree, and here."""
    value, dq, dv, da = inner
    out_q, out_v, out_a = outer
    out_q[:] = 0.0
    out_v[:] = 0.0
    out_a[:] = 0.0
    for c in range(value.shape[0]):
        for e in range(table.shape[0]):
            k, j = table[e, 0], table[e, 1]
            q, v, a = table[e, 2], table[e, 3], table[e, 4]
            for b in range(value.shape[2]):
                factor = slopes[A, c, k, b] if k >= 0 else 1.0
                by_q = dq[c, q, b] if q >= 0 else 0.0
                by_v = dv[c, v, b] if v >= 0 else 0.0
                by_a = da[c, a, b] if a >= 0 else 0.0
                s, t, u = slopes[A, c, j, b], slopes[B, c, j, b], slopes[C, c, j, b]
                if table[e, 5] >= 0:
                    out_q[c, table[e, 5], b] += factor * (s * by_q + t * by_v + u * by_a)
                if table[e, 6] >= 0:
                    out_v[c, table[e, 6], b] += factor * (s * by_v + 2.0 * t * by_a)
                if table[e, 7] >= 0:
                    out_a[c, table[e, 7], b] += factor * s * by_a
        for e in range(own.shape[0]):
            k = own[e, 0]
            for b in range(value.shape[2]):
                out_q[c, own[e, 1], b] += slopes[F2, c, k, b] * value[c, k, b]


@kept
def chain_second(table, slopes, inner, outer):
    """Second partials without those of the functions; table: joints i and j, pair, form."""
    qq, qv, vv, qa = inner
    out_qq, out_qv, out_vv, out_qa = outer
    out_qq[:] = 0.0
    out_qv[:] = 0.0
    out_vv[:] = 0.0
    out_qa[:] = 0.0
    for c in range(out_qq.shape[0]):
        for e in range(table.shape[0]):
            i, j, pair, form = table[e, 0], table[e, 1], table[e, 2], table[e, 3]
            high = 2 * e if form == OWN else 2 * e + 1
            for b in range(out_qq.shape[2]):
                Ai, Bi, Ci = slopes[A, c, i, b], slopes[B, c, i, b], slopes[C, c, i, b]
                Aj, Bj, Cj = slopes[A, c, j, b], slopes[B, c, j, b], slopes[C, c, j, b]
                v_q, q_v = qv[c, 2 * e, b], qv[c, high, b]
                a_q, q_a = qa[c, 2 * e, b], qa[c, high, b]
                both_v = vv[c, e, b]
                in_q = Ai * Aj * qq[c, e, b] + Bi * Bj * both_v
                in_q += Ai * (Bj * q_v + Cj * q_a) + Aj * (Bi * v_q + Ci * a_q)
                by_qv = Ai * (Aj * q_v + 2.0 * Bj * q_a) + Bi * Aj * both_v
                by_vq = Aj * (Ai * v_q + 2.0 * Bi * a_q) + Ai * Bj * both_v
                by_vv, by_qa, by_aq = Ai * Aj * both_v, Ai * Aj * q_a, Ai * Aj * a_q
                if form == SAME:
                    in_q, by_vv = 2.0 * in_q, 2.0 * by_vv
                    by_vq, by_aq = by_vq + by_qv, by_aq + by_qa
                elif form == BEHIND:
                    by_vq, by_qv, by_aq, by_qa = by_qv, by_vq, by_qa, by_aq
                out_qq[c, pair, b] += in_q
                out_vv[c, pair, b] += by_vv
                out_qv[c, 2 * pair, b] += by_vq
                out_qa[c, 2 * pair, b] += by_aq
                if form in (AHEAD, BEHIND):
                    out_qv[c, 2 * pair + 1, b] += by_qv
                    out_qa[c, 2 * pair + 1, b] += by_qa


@kept
def add_bends(table, slopes, weights, partials, outer):
    """Second partials of the functions; table: component, joint, columns of dq, dv, da, pair."""
    dq, dv, da = partials
    qq, qv, vv, qa = outer
    for c in range(qq.shape[0]):
        for e in range(table.shape[0]):
            k, j, q, v, a = table[e, 0], table[e, 1], table[e, 2], table[e, 3], table[e, 4]
            pair = table[e, 5]
            for b in range(qq.shape[2]):
                w = weights[c, k, b]
                by_q = w * dq[c, q, b] if q >= 0 else 0.0
                by_v = w * dv[c, v, b] if v >= 0 else 0.0
                by_a = w * da[c, a, b] if a >= 0 else 0.0
                f2, d, e_ = slopes[F2, c, j, b], slopes[D, c, j, b], slopes[E, c, j, b]
                qq[c, pair, b] += by_q * f2 + by_v * d + by_a * e_
                qv[c, 2 * pair, b] += by_v * f2 + 2.0 * by_a * d
                vv[c, pair, b] += 2.0 * by_a * f2
                qa[c, 2 * pair, b] += by_a * f2


@kept
def add_turns(tables, slopes, given, partials, outer):
    """Second partials of the factors A of forces; table: component, joint, columns, pair, form."""
    table, thirds, source = tables
    weights, value = given
    dq, dv, da = partials
    qq, qv, _, qa = outer
    for c in range(qq.shape[0]):
        for e in range(table.shape[0]):
            k, j, q, v, a = table[e, 0], table[e, 1], table[e, 2], table[e, 3], table[e, 4]
            pair, form = table[e, 5], table[e, 6]
            at = 2 * pair + 1 if form == AHEAD else 2 * pair
            for b in range(qq.shape[2]):
                w = weights[c, source[k], b] * slopes[F2, c, k, b]
                by_q = dq[c, q, b] if q >= 0 else 0.0
                by_v = dv[c, v, b] if v >= 0 else 0.0
                by_a = da[c, a, b] if a >= 0 else 0.0
                s, t, u = slopes[A, c, j, b], slopes[B, c, j, b], slopes[C, c, j, b]
                twice = 2.0 if form in (SAME, OWN) else 1.0
                qq[c, pair, b] += twice * w * (s * by_q + t * by_v + u * by_a)
                qv[c, at, b] += w * (s * by_v + 2.0 * t * by_a)
                qa[c, at, b] += w * s * by_a
        for e in range(thirds.shape[0]):
            k, pair = thirds[e, 0], thirds[e, 1]
            for b in range(qq.shape[2]):
                w = weights[c, source[k], b] * slopes[F3, c, k, b]
                qq[c, pair, b] += w * value[c, k, b]

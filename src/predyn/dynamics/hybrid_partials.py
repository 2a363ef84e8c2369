"""Partials of hybrid dynamics from those of inverse dynamics, in lanes.

Let f be the unknowns, tau at active joints and a at passive ones, and u the given values, a at
active joints and tau at passive ones. tau = ID(q, v, a) holds for all joints; hence, with all
partials of ID evaluated at the complete a, M = dID/da, and rows and columns by kind of joint,

    f_q = -M_pp^-1 ID_q[p]            f_u[p, p] =  M_pp^-1       at passive rows,
    f_v = -M_pp^-1 ID_v[p]            f_u[p, a] = -M_pp^-1 M_pa

    f_q = ID_q[a] + M_ap f_q[p]       f_u[a, p] = M_ap f_u[p, p]           at active rows.
    f_v = ID_v[a] + M_ap f_v[p]       f_u[a, a] = M_aa + M_ap f_u[p, a]

M_pp is factored on the ancestor pairs of passive joints (tree_factor.py). Four columns of each
matrix at a time go through the whole tree in a panel that stays in the cache: inward, where they
spread from the rows below and above their own joints to all ancestors, and outward to every row.
"""

from __future__ import annotations

from predyn.dynamics.rnea_derivatives import rnea_derivatives
from predyn.dynamics.tree_factor import factor_pairs
from predyn.kernels.lanes import jit, load, store

COLUMNS = 4  # of each matrix in the panel
PANEL = 3 * COLUMNS  # numbers per row of the panel


@jit
def hybrid_partials(view, loads, c, ins, outs, work):
    """ins: q, v, the complete a, values of the loads.

    outs    tau, then f_q, f_v, f_u as (n n) each; the others are scratch for dID/dq, dID/dv and M
            on the pairs of the tree, M on the coupled pairs, the factor of M_pp, and the panel
    """
    tau, f_q, f_v, f_u, dq, dv, M, mass, L, panel = outs
    tree = view.tree
    rnea_derivatives(tree, loads, c, ins, (tau, dq, dv, M), work)
    _couple(tree, view, c, M, mass)
    _factor(view, c, mass, L)
    for t in range(view.trees.shape[0]):
        first, last = view.trees[t, 0], view.trees[t, 1]
        top, end = view.trees[t, 2], view.trees[t, 3]
        symmetric = end - top == last - first  # then f_u is symmetric, and half of it is enough
        for col in range(first, last, COLUMNS):
            stop = min(col + COLUMNS, last)
            middle = view.rank[stop]
            for k in range(first * PANEL, last * PANEL):
                store(panel, c, k, 0.0)
            reach = 0
            for k in range(col, stop):
                _right_sides(tree, view, c, k, k - col, dq, dv, mass, panel)
                reach = max(reach, view.reach[k])
            for k in range(end - 1, top - 1, -1):
                i = view.joint[k]
                if i < reach and view.reach[i] > col:
                    _inward(view, c, k, L, panel, k < middle or not symmetric)
            for k in range(top, end):
                i = view.joint[k]
                wide = k < middle or not symmetric
                _outward(view, c, k, L, panel, wide)
                _write(c, i, view.parent.shape[0], col, stop, panel, f_q, f_v, f_u, wide)
                if symmetric and i < col:
                    for r in range(stop - col):
                        mirrored = load(panel, c, i * PANEL + 2 * COLUMNS + r)
                        store(f_u, c, (col + r) * view.parent.shape[0] + i, mirrored)
            if not symmetric:
                for i in range(first, last):
                    if view.active[i] == 1:
                        _add_passive(view, c, i, mass, panel)
                        _write(c, i, view.parent.shape[0], col, stop, panel, f_q, f_v, f_u, True)
        _clear_others(view, c, first, last, f_q, f_v, f_u)


@jit
def _couple(tree, view, c, M, mass):
    """The mass matrix on the coupled pairs: that of the bodies plus the rotor matrix."""
    if tree.rotor.shape[0] == 0:
        for k in range(tree.pair[tree.parent.shape[0]]):
            store(mass, c, k, load(M, c, k))
    for i in range(tree.rotor.shape[0]):
        first = view.pair[i]
        for j in range(i + 1):
            store(mass, c, first + i - j, tree.rotor[i, j])
        k, j = tree.pair[i], i + 1
        while j > 0:
            at = first + i - (j - 1)
            store(mass, c, at, load(mass, c, at) + load(M, c, k))
            k, j = k + 1, tree.parent[j - 1]


@jit
def _factor(view, c, mass, L):
    """M_pp = L^T D L, with 1 / D in the place of D."""
    for k in range(view.source.shape[0]):
        store(L, c, k, load(mass, c, view.source[k]))
    factor_pairs(view.passive, c, L)
    for k in range(view.joint.shape[0]):
        at = view.passive.pair[k]
        store(L, c, at, 1.0 / load(L, c, at))


@jit
def _put(view, c, panel, row, column, value):
    """Store the right side in a passive joint's row, or an active joint's own part in its row."""
    if view.active[row] == 1:
        store(panel, c, row * PANEL + column, value)
    else:
        store(panel, c, row * PANEL + column, -value)


@jit
def _right_sides(tree, view, c, k, slot, dq, dv, mass, panel):
    """Columns k of ID_q, ID_v and M: rows of joint k and above, then of those below."""
    depth = tree.pair[k + 1] - tree.pair[k]
    e, up = tree.pair[k], k + 1
    while up > 0:
        _put(view, c, panel, up - 1, slot, load(dq, c, 2 * e))
        _put(view, c, panel, up - 1, COLUMNS + slot, load(dv, c, 2 * e))
        e, up = e + 1, tree.parent[up - 1]
    for i in range(k + 1, k + tree.size[k]):
        e = tree.pair[i + 1] - depth
        _put(view, c, panel, i, slot, load(dq, c, 2 * e + 1))
        _put(view, c, panel, i, COLUMNS + slot, load(dv, c, 2 * e + 1))
    if view.active[k] == 0:
        store(panel, c, k * PANEL + 2 * COLUMNS + slot, 1.0)
    else:
        depth = view.pair[k + 1] - view.pair[k]
        e, up = view.pair[k], k + 1
        while up > 0:
            _put(view, c, panel, up - 1, 2 * COLUMNS + slot, load(mass, c, e))
            e, up = e + 1, view.above[up - 1]
        for i in range(k + 1, view.reach[k]):
            _put(view, c, panel, i, 2 * COLUMNS + slot, load(mass, c, view.pair[i + 1] - depth))


@jit
def _load4(x, c, k):
    return (load(x, c, k), load(x, c, k + 1), load(x, c, k + 2), load(x, c, k + 3))


@jit
def _store4(x, c, k, y):
    store(x, c, k, y[0])
    store(x, c, k + 1, y[1])
    store(x, c, k + 2, y[2])
    store(x, c, k + 3, y[3])


@jit
def _scale4(d, x):
    return (d * x[0], d * x[1], d * x[2], d * x[3])


@jit
def _add4(x, m, y):
    """x + m y."""
    return (x[0] + m * y[0], x[1] + m * y[1], x[2] + m * y[2], x[3] + m * y[3])


@jit
def _inward(view, c, k, L, panel, wide):
    """Row k of L^T x = right sides: subtract its part from the rows above."""
    own, start, stop = view.joint[k] * PANEL, view.passive.pair[k] + 1, view.passive.pair[k + 1]
    s, t = _load4(panel, c, own), _load4(panel, c, own + 4)
    for p in range(start, stop):
        m, at = -load(L, c, p), view.upper[p] * PANEL
        _store4(panel, c, at, _add4(_load4(panel, c, at), m, s))
        _store4(panel, c, at + 4, _add4(_load4(panel, c, at + 4), m, t))
    if wide:
        w = _load4(panel, c, own + 8)
        for p in range(start, stop):
            m, at = -load(L, c, p), view.upper[p] * PANEL + 8
            _store4(panel, c, at, _add4(_load4(panel, c, at), m, w))


@jit
def _outward(view, c, k, L, panel, wide):
    """Row k of D L y = x."""
    own, start, stop = view.joint[k] * PANEL, view.passive.pair[k], view.passive.pair[k + 1]
    d = load(L, c, start)
    s, t = _scale4(d, _load4(panel, c, own)), _scale4(d, _load4(panel, c, own + 4))
    if wide:
        w = _scale4(d, _load4(panel, c, own + 8))
        for p in range(start + 1, stop):
            m, at = -load(L, c, p), view.upper[p] * PANEL
            s, t = _add4(s, m, _load4(panel, c, at)), _add4(t, m, _load4(panel, c, at + 4))
            w = _add4(w, m, _load4(panel, c, at + 8))
        _store4(panel, c, own + 8, w)
    else:
        for p in range(start + 1, stop):
            m, at = -load(L, c, p), view.upper[p] * PANEL
            s, t = _add4(s, m, _load4(panel, c, at)), _add4(t, m, _load4(panel, c, at + 4))
    _store4(panel, c, own, s)
    _store4(panel, c, own + 4, t)


@jit
def _add_passive(view, c, i, mass, panel):
    """Row of the active joint i: its own part and M_ap times the passive rows."""
    own = i * PANEL
    s, t, w = _load4(panel, c, own), _load4(panel, c, own + 4), _load4(panel, c, own + 8)
    for e in range(view.near[i], view.near[i + 1]):
        m, at = load(mass, c, view.near_source[e]), view.near_joint[e] * PANEL
        s, t = _add4(s, m, _load4(panel, c, at)), _add4(t, m, _load4(panel, c, at + 4))
        w = _add4(w, m, _load4(panel, c, at + 8))
    _store4(panel, c, own, s)
    _store4(panel, c, own + 4, t)
    _store4(panel, c, own + 8, w)


@jit
def _write(c, i, n, col, stop, panel, f_q, f_v, f_u, wide):
    """Copy row i of the panel to its place in the results."""
    own, to = i * PANEL, i * n + col
    if stop - col == COLUMNS:
        _store4(f_q, c, to, _load4(panel, c, own))
        _store4(f_v, c, to, _load4(panel, c, own + 4))
        if wide:
            _store4(f_u, c, to, _load4(panel, c, own + 8))
    else:
        for r in range(stop - col):
            store(f_q, c, to + r, load(panel, c, own + r))
            store(f_v, c, to + r, load(panel, c, own + 4 + r))
            if wide:
                store(f_u, c, to + r, load(panel, c, own + 8 + r))


@jit
def _clear_others(view, c, first, last, f_q, f_v, f_u):
    """Set the rows of one tree to zero in the columns of the others."""
    n = view.parent.shape[0]
    for i in range(first, last):
        for k in range(i * n, i * n + first):
            store(f_q, c, k, 0.0)
            store(f_v, c, k, 0.0)
            store(f_u, c, k, 0.0)
        for k in range(i * n + last, i * n + n):
            store(f_q, c, k, 0.0)
            store(f_v, c, k, 0.0)
            store(f_u, c, k, 0.0)

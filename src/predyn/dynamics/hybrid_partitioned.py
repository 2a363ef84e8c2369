"""Hybrid dynamics by the partitioned mass matrix, for rotors that couple joints.

With a = 0 at passive joints, inverse dynamics gives the torques for the active accelerations alone;
the remainder of the passive torques moves the passive joints:

    M_pp a_p = tau_p - ID_p(q, v, a_a),      tau_a = ID_a(q, v, a_a) + M_ap a_p.

M_pp is factored as a dense L D L^T, because a rotor matrix has no tree structure.
"""

from __future__ import annotations

from predyn.dynamics.forward import AXIS, ORIGIN, POSE, center, symmetric
from predyn.dynamics.rnea import COLUMNS as INERTIA  # m, h, I of the subtree, 10
from predyn.dynamics.rnea import rnea
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    apply_inertia,
    dot6,
    load3,
    load6,
    load33,
    load_symmetric,
    store3,
    store_symmetric,
    world_inertia,
)
from predyn.kernels.tree import Tree

GIVEN = INERTIA + 10  # tau as given
COLUMNS = INERTIA + 11


def partitioned_work(tree: Tree) -> tuple[int, int]:
    """Rows of the links as usual, then the rows of the mass matrix."""
    n = len(tree.parent)
    return 2 * n + 1, max(COLUMNS, n)


@jit
def hybrid_partitioned(tree, loads, active, c, ins, outs, work):
    """Like `hybrid` of hybrid.py, with a workspace of the size partitioned_work(tree)."""
    q, v, a_in, tau_in, values = ins
    a, tau = outs
    n = tree.parent.shape[0]
    for i in range(n):
        store(work, i + 1, GIVEN, load(tau_in, c, i))
        if active[i] == 1:
            store(a, c, i, load(a_in, c, i))
        else:
            store(a, c, i, 0.0)
    rnea(tree, loads, c, (q, v, a, values), (tau,), work)
    dense_mass_matrix(tree, n + 1, work)
    complete(active, n + 1, c, a, tau, work)


@jit
def complete(active, first, c, a, tau, work):
    """Fill in a at passive joints and tau everywhere, from tau for a = 0 at passive joints.

    The mass matrix is in the rows of work from `first` on, the given torques in GIVEN.
    """
    n = active.shape[0]
    for i in range(n):
        if active[i] == 0:
            store(a, c, i, load(work, i + 1, GIVEN) - load(tau, c, i))
            store(tau, c, i, load(work, i + 1, GIVEN))
    factor_passive(active, first, work)
    solve_passive(active, first, work, c, a, 0, 1)
    for i in range(n):
        if active[i] == 1:
            total = load(tau, c, i)
            for k in range(n):
                if active[k] == 0:
                    total = total + load(work, first + i, k) * load(a, c, k)
            store(tau, c, i, total)


@jit
def dense_mass_matrix(tree, first, work):
    """The whole mass matrix, in the rows of work from `first` on; needs the poses in work."""
    n = tree.parent.shape[0]
    for i in range(n):
        R, origin = load33(work, i + 1, POSE), load3(work, i + 1, ORIGIN)
        m = tree.mass[i]
        h, I = world_inertia(R, m, center(tree, i, R, origin), symmetric(tree.Ic, i))  # noqa: E741
        store(work, i + 1, INERTIA, m)
        store3(work, i + 1, INERTIA + 1, h)
        store_symmetric(work, i + 1, INERTIA + 4, I)
        for k in range(n):
            store(work, first + i, k, 0.0)
    for i in range(n - 1, -1, -1):
        row, up = i + 1, tree.parent[i]
        m, h = load(work, row, INERTIA), load3(work, row, INERTIA + 1)
        U = apply_inertia(m, h, load_symmetric(work, row, INERTIA + 4), load6(work, row, AXIS))
        above = row
        while above > 0:
            entry = dot6(load6(work, above, AXIS), U)
            store(work, first + i, above - 1, entry)
            store(work, first + above - 1, i, entry)
            above = tree.parent[above - 1]
        store(work, first + i, i, load(work, first + i, i) + tree.armature[i])
        if up > 0:
            for k in range(INERTIA, INERTIA + 10):
                store(work, up, k, load(work, up, k) + load(work, row, k))
    for i in range(tree.rotor.shape[0]):
        for k in range(n):
            store(work, first + i, k, load(work, first + i, k) + tree.rotor[i, k])


@jit
def factor_passive(active, first, work):
    """M_pp = L D L^T in the lower triangle of its own rows: D on the diagonal, L below."""
    n = active.shape[0]
    for k in range(n):
        if active[k] == 0:
            d = 1.0 / load(work, first + k, k)
            for i in range(k + 1, n):
                if active[i] == 0:
                    ratio = load(work, first + i, k) * d
                    for j in range(k + 1, i + 1):
                        if active[j] == 0:
                            less = ratio * load(work, first + k, j)
                            store(work, first + i, j, load(work, first + i, j) - less)
                            if j < i:
                                store(work, first + j, i, load(work, first + i, j))
                    store(work, first + i, k, ratio)


@jit
def solve_passive(active, first, work, c, x, start, step):
    """Overwrite the passive part of x[start + step * i] with the solution of M_pp y = x."""
    n = active.shape[0]
    for i in range(n):
        if active[i] == 0:
            y = load(x, c, start + step * i)
            for k in range(i):
                if active[k] == 0:
                    y = y - load(work, first + i, k) * load(x, c, start + step * k)
            store(x, c, start + step * i, y)
    for i in range(n - 1, -1, -1):
        if active[i] == 0:
            y = load(x, c, start + step * i) / load(work, first + i, i)
            for k in range(i + 1, n):
                if active[k] == 0:
                    y = y - load(work, first + k, i) * load(x, c, start + step * k)
            store(x, c, start + step * i, y)

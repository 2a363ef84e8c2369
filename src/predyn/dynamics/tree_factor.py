"""M = L^T D L of a mass matrix kept as ancestor pairs: no fill-in, no work outside the pairs.

L is unit lower triangular and has an entry for joint i and each ancestor. In place: the pair (i, i)
becomes D_i, the pair (i, j) becomes L_ij.
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5.
"""

from __future__ import annotations

from predyn.kernels.lanes import jit, load, store


@jit
def factor_pairs(tree, c, M):
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        own = tree.pair[k]
        d = 1.0 / load(M, c, own)
        ki, i = own + 1, tree.parent[k]
        while i > 0:
            ratio = load(M, c, ki) * d
            kj, ij, j = ki, tree.pair[i - 1], i
            while j > 0:
                store(M, c, ij, load(M, c, ij) - ratio * load(M, c, kj))
                kj, ij, j = kj + 1, ij + 1, tree.parent[j - 1]
            store(M, c, ki, ratio)
            ki, i = ki + 1, tree.parent[i - 1]

"""Joint-space mass matrix by the composite-rigid-body algorithm.

M[k, i] = S_k . I_i S_i with I_i the inertia of the subtree of joint i, k above i or i itself.
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2.
"""

from __future__ import annotations

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.forward import AXIS, END, center, place, symmetric, world_row
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import symmetric_pairs
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    apply_inertia,
    dot6,
    load3,
    load6,
    load_symmetric,
    store3,
    store_symmetric,
    world_inertia,
)
from predyn.kernels.tree import has_coupled_rotors
from predyn.model import Model

INERTIA = END  # m, h, I of the subtree, 10
COLUMNS = END + 10


@jit
def crba(tree, loads, c, ins, outs, work):
    (q,) = ins
    (M,) = outs
    n = tree.parent.shape[0]
    world_row(work, tree.gravity)
    for i in range(n):
        R, origin, _ = place(tree, c, i, q, work)
        m = tree.mass[i]
        h, I = world_inertia(R, m, center(tree, i, R, origin), symmetric(tree.Ic, i))  # noqa: E741
        store(work, i + 1, INERTIA, m)
        store3(work, i + 1, INERTIA + 1, h)
        store_symmetric(work, i + 1, INERTIA + 4, I)
    for i in range(n - 1, -1, -1):
        m, h = load(work, i + 1, INERTIA), load3(work, i + 1, INERTIA + 1)
        I = load_symmetric(work, i + 1, INERTIA + 4)  # noqa: E741
        U = apply_inertia(m, h, I, load6(work, i + 1, AXIS))
        k = tree.pair[i]
        up = i + 1
        while up > 0:
            store(M, c, k, dot6(load6(work, up, AXIS), U))
            k += 1
            up = tree.parent[up - 1]
        if tree.loaded[i] == 1:
            k = tree.pair[i]
            store(M, c, k, load(M, c, k) + tree.armature[i])
        up = tree.parent[i]
        if up > 0:
            for k in range(INERTIA, COLUMNS):
                store(work, up, k, load(work, up, k) + load(work, i + 1, k))


CRBA = Kernel(
    crba,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=lambda tree: (symmetric_pairs(tree),),
)


def mass_matrix(model: Model, q: ArrayLike, *, out: NDArray | None = None) -> NDArray:
    """M(q), (..., n, n), with armature and rotor inertia: tau = M a + tau at a = 0."""
    n = joints(model)
    if model.couplings:
        return coupled.mass_matrix(model, q, out)
    (M,) = CRBA(model, (("q", q, n),), out=out)
    if has_coupled_rotors(model):
        M += model.rotor
    return M

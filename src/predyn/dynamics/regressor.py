"""The torque regressor: tau is linear in the inertial parameters.

tau = Y pi + joint forces - external forces. pi holds ten numbers per link, in the order of
model.inertia (m, m c, I about the link's origin). In link axes, with al, w and the acceleration A
of the origin (gravity as an upward acceleration), the link needs the force m A + al x h +
w x (w x h) and the moment h x A + I al + w x I w at its origin.
Y is also the exact sensitivity of tau to mass, first moments and inertia.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.forward import AXIS, END, move, place, world_row
from predyn.dynamics.reactions import link_axes
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field
from predyn.kernels.lanes import jit, store
from predyn.kernels.spatial import add, apply_transposed, at_point, cross, dot, load6, store3
from predyn.kernels.tree import Tree, ancestor_pairs
from predyn.model import Model


@jit
def regressor(tree, loads, c, ins, outs, work):
    q, v, a = ins
    (Y,) = outs
    world_row(work, tree.gravity)
    for i in range(tree.parent.shape[0]):
        _, origin, S = place(tree, c, i, q, work)
        v_i, a_i, _ = move(tree, c, i, S, v, a, work)
        axes = link_axes(tree, i + 1, work)
        w, al = apply_transposed(axes, v_i[0]), apply_transposed(axes, a_i[0])
        A = add(at_point(a_i, origin), cross(v_i[0], at_point(v_i, origin)))
        A = apply_transposed(axes, A)
        k = 10 * tree.pair[i]
        up = i + 1
        while up > 0:
            S = load6(work, up, AXIS)
            s, x = apply_transposed(axes, S[0]), apply_transposed(axes, at_point(S, origin))
            t = cross(s, w)
            h = add(add(cross(x, al), cross(cross(x, w), w)), cross(A, s))
            store(Y, c, k, dot(x, A))
            store3(Y, c, k + 1, h)
            store(Y, c, k + 4, s[0] * al[0] + t[0] * w[0])
            store(Y, c, k + 5, s[0] * al[1] + s[1] * al[0] + t[0] * w[1] + t[1] * w[0])
            store(Y, c, k + 6, s[1] * al[1] + t[1] * w[1])
            store(Y, c, k + 7, s[0] * al[2] + s[2] * al[0] + t[0] * w[2] + t[2] * w[0])
            store(Y, c, k + 8, s[1] * al[2] + s[2] * al[1] + t[1] * w[2] + t[2] * w[1])
            store(Y, c, k + 9, s[2] * al[2] + t[2] * w[2])
            k += 10
            up = tree.parent[up - 1]


def _field(tree: Tree) -> Field:
    """(n, 10 n): ten numbers per pair, joint j above link i."""
    n, pair = len(tree.parent), ancestor_pairs(tree)
    dense_index = (pair[:, 1] * 10 * n + pair[:, 0] * 10)[:, None] + np.arange(10)
    entries = np.stack([np.arange(10 * len(pair)), dense_index.reshape(-1)], axis=1)
    return Field((n, 10 * n), 10 * len(pair), entries)


REGRESSOR = Kernel(
    regressor,
    work=lambda tree: (len(tree.parent) + 1, END),
    outputs=lambda tree: (_field(tree),),
)


def torque_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: NDArray | None = None
) -> NDArray:
    """Y (..., n, 10 n) with tau = Y @ model.inertia.reshape(-1) for a model without joint forces.

    Springs, ligaments, friction, armature, rotors and external forces are not included.
    """
    n = joints(model)
    if model.couplings:
        return coupled.torque_regressor(model, q, v, a, out)
    return REGRESSOR(model, (("q", q, n), ("v", v, n), ("a", a, n)), out=out)[0]

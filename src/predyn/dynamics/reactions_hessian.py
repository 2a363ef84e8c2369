"""Weighted second partials of the joint reactions.

The sum of weights times wrenches is sum_i W_i . f_i, where W_i is the sum of the weights of link i
and of all links above, each fixed in its link and treated as a motion: the sweep of
rnea_hessian.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_motion
from predyn.dynamics.composite import outward_composites
from predyn.dynamics.forward import ORIGIN
from predyn.dynamics.load_reactions import reaction_force_hessian
from predyn.dynamics.reactions import link_axes
from predyn.dynamics.rnea_hessian import (
    COLUMNS,
    WEIGHT,
    Hessian,
    second_fields,
    second_partials,
    weigh,
)
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit
from predyn.kernels.spatial import add, apply, cross, load3, store6
from predyn.model import Model


@jit
def reactions_hessian(tree, loads, c, ins, outs, work):
    q, v, a, weights, values = ins
    outward_composites(tree, loads, c, q, v, a, values, work)
    for i in range(tree.parent.shape[0]):
        axes = link_axes(tree, i + 1, work)
        moment = apply(axes, load3(weights, c, 6 * i))
        force = apply(axes, load3(weights, c, 6 * i + 3))
        origin = load3(work, i + 1, ORIGIN)
        store6(work, i + 1, WEIGHT, (moment, add(force, cross(origin, moment))))
    weigh(tree, loads, c, values, work)
    second_partials(tree, loads, c, outs, work)


REACTIONS_HESSIAN = Kernel(
    reactions_hessian,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=second_fields,
    forces=True,
)


def joint_reactions_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> Hessian:
    """Exact second partials in (q, v, a) and the forces of weights (..., n, 6) times wrenches."""
    n = joints(model)
    if model.couplings:
        blocks, with_forces = coupled_motion.joint_reactions_hessian(
            model, (q, v, a), weights, forces, out
        )
        qq, qv, vv, qa = blocks
        return Hessian(qq, qv, vv, qa, with_forces)
    inputs = (("q", q, n), ("v", v, n), ("a", a, n), ("weights", weights, (model.n, 6)))
    qq, qv, vv, qa = REACTIONS_HESSIAN(model, inputs, forces, out)
    qf = reaction_force_hessian(model, q, weights, forces)
    shape = (*qq.shape[:-1], 6)
    return Hessian(qq, qv, vv, qa, tuple(np.array(np.broadcast_to(x, shape)) for x in qf))

"""Exact partials of discrete inverse dynamics in the three nodes and in the step.

Interval r (sign s = -1 before the node, 1 after it) adds s p/h - f/2 to tau, and its ends act on
m = (start + end)/2 and v = (end - start)/h:

    d/d(end or start) = s/(2h) dp/dq - 1/4 df/dq  +or-  (s/h^2 dp/dv - 1/(2h) df/dv)

The kinetic part of tau is a function of q0, q1, q2 divided by h^2, so its partial in h is -2/h
times itself; gravity, springs and loads do not depend on h, and friction depends on it by v only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_discrete
from predyn.dynamics.composite import MOMENTUM, SUMS_END
from predyn.dynamics.discrete import discrete_inputs, midpoint_scratch, to_midpoint
from predyn.dynamics.forward import PSI
from predyn.dynamics.joint_forces import joint_slope
from predyn.dynamics.lagrangian_derivatives import gradient_fields, gradients_derivatives
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense, pairs, scratch
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import dot6, load6
from predyn.kernels.tree import Tree, has_coupled_rotors
from predyn.model import Model


@jit
def discrete_partials(tree, loads, c, ins, outs, work):
    """ins: as of discrete; outs: tau, partials in q0, q1, q2, h, and scratch."""
    q0, q1, q2, h, first, second = ins
    tau, d0, d1, d2, dh, m, v, fp, dq, dv = outs
    n = tree.parent.shape[0]
    nodes, values = (q0, q1, q2), (first, second)
    inverse = 1.0 / load(h, c, 0)
    for i in range(n):
        store(tau, c, i, 0.0)
        store(dh, c, i, 0.0)
    for r in range(2):
        sign = 2.0 * r - 1.0
        to_midpoint(n, c, nodes[r], nodes[r + 1], h, m, v)
        gradients_derivatives(tree, loads, c, (m, v, values[r]), (fp, dq, dv), work)
        for i in range(n):
            kept = (sign * inverse) * load(fp, c, n + i)
            store(tau, c, i, load(tau, c, i) + kept - 0.5 * load(fp, c, i))
            turned = dot6(load6(work, i + 1, PSI), load6(work, i + 1, MOMENTUM))
            change = turned - 2.0 * kept
            if tree.loaded[i] == 1:
                change = change - 0.5 * (joint_slope(tree, c, i, v) * load(v, c, i))
            store(dh, c, i, load(dh, c, i) + inverse * change)
        for k in range(tree.pair[n]):
            for side in range(2):
                by_q = (0.5 * sign * inverse) * load(dq, c, 4 * k + 2 + side) - (
                    0.25 * load(dq, c, 4 * k + side)
                )
                by_v = (sign * inverse) * load(dv, c, 3 * k + 2) - 0.5 * load(dv, c, 3 * k + side)
                by_v = inverse * by_v
                at = 2 * k + side
                if r == 0:
                    store(d0, c, at, by_q - by_v)
                    store(d1, c, at, by_q + by_v)
                else:
                    store(d1, c, at, load(d1, c, at) + (by_q - by_v))
                    store(d2, c, at, by_q + by_v)


def _fields(tree: Tree) -> tuple[Field, ...]:
    n = len(tree.parent)
    room = (scratch(field.packed) for field in gradient_fields(tree))
    partials = (pairs(tree), pairs(tree), pairs(tree))
    return dense(n), *partials, dense(n), *midpoint_scratch(tree), *room


DISCRETE_DERIVATIVES = Kernel(
    discrete_partials, work=lambda tree: (len(tree.parent) + 1, SUMS_END), outputs=_fields
)


class DiscreteDerivatives(NamedTuple):
    """Torques at the middle node and their partials; [i, k] = d tau_i / d q0_k and so on."""

    tau: NDArray  # (..., n)
    dq0: NDArray  # (..., n, n)
    dq1: NDArray  # (..., n, n)
    dq2: NDArray  # (..., n, n)
    dh: NDArray  # (..., n)


def discrete_inverse_dynamics_derivatives(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    q2: ArrayLike,
    h: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> DiscreteDerivatives:
    """Torques of discrete_inverse_dynamics and their exact partials in q0, q1, q2 and h.

    out: arrays for tau, dq0, dq1, dq2, dh.
    """
    joints(model)
    if model.couplings:
        found = coupled_discrete.derivatives(model, (q0, q1, q2), h, forces, out)
        return DiscreteDerivatives(*found)
    inputs, loads = discrete_inputs(model, (q0, q1, q2), h, forces)
    result = DiscreteDerivatives(*DISCRETE_DERIVATIVES(model, inputs, out=out, constants=loads))
    if has_coupled_rotors(model):
        rotors = model.rotor / np.asarray(h, float)[..., None, None] ** 2
        for x, factor in ((result.dq0, 1.0), (result.dq1, -2.0), (result.dq2, 1.0)):
            x += factor * rotors
    return result

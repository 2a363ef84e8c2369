"""Partials of the joint reactions in the external forces.

Reactions are linear in the forces: the reactions to unit loads, in a mechanism at rest and without
gravity, are the partials themselves, and their partials in q are the mixed second derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.reactions import REACTIONS, REACTIONS_DERIVATIVES
from predyn.kernels.arguments import finite, joints, real
from predyn.kernels.batch import Kernel
from predyn.kernels.forces import ExternalForce, placed_forces
from predyn.kernels.tree import weightless_tree_of
from predyn.model import Model


def _remove_weight(kernel: Kernel) -> Kernel:
    return Kernel(kernel.core, kernel.work, kernel.outputs, forces=True, view=weightless_tree_of)


LOAD_REACTIONS = _remove_weight(REACTIONS)
LOAD_REACTIONS_DERIVATIVES = _remove_weight(REACTIONS_DERIVATIVES)
_UNITS = np.eye(6)


def _apply_unit_loads(kernel: Kernel, model: Model, q: ArrayLike, f: ExternalForce) -> tuple:
    """The kernel's results with a sixth axis before the last ones: unit moments, then forces."""
    n = joints(model)
    if model.couplings:
        return _apply_unit_loads(kernel, model.expanded, Chain(model, q).joints.q, f)
    state = finite("q", real(model, "q", q, n))[..., None, :]
    unit = replace(f, moment=_UNITS[:, :3], force=_UNITS[:, 3:])
    rest = np.zeros(model.n)
    return kernel(model, (("q", state, n), ("v", rest, n), ("a", rest, n)), [unit])


def joint_reactions_force_derivatives(
    model: Model, q: ArrayLike, forces: Sequence[ExternalForce]
) -> tuple[NDArray, ...]:
    """One (..., n, 6, 6) array per force: d wrench_j / d (moment, force) along the axes f.frame."""
    placed = placed_forces(model, forces)
    results = (_apply_unit_loads(LOAD_REACTIONS, model, q, f)[0] for f, _, _ in placed)
    return tuple(np.moveaxis(x, -3, -1) for x in results)


def reaction_force_hessian(
    model: Model, q: ArrayLike, weights: ArrayLike, forces: Sequence[ExternalForce]
) -> tuple[NDArray, ...]:
    """One (..., n, 6) array per force: d2 (weights times wrenches) / (dq_i d(moment, force)_k)."""
    w = np.asarray(weights, dtype=np.float64)
    placed = placed_forces(model, forces)
    results = (_apply_unit_loads(LOAD_REACTIONS_DERIVATIVES, model, q, f)[1] for f, _, _ in placed)
    found = (np.einsum("...kjxi,...jx->...ik", dq, w) for dq in results)
    if model.couplings:
        chain = Chain(model, q)
        return tuple(chain.rows(x) for x in found)
    return tuple(found)

"""Partials of inverse dynamics in the external forces.

tau is linear in the forces: d tau_j/d(moment, force) is minus the motion of the force's point when
joint j moves, (w_j, S_j[p]), in the axes of the components. Hence the second derivative of
lambda . tau in q and a force is minus the partial in q of the velocity that the point would have at
joint rates lambda.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.kernels.forces import ExternalForce, placed_forces
from predyn.model import Model


def inverse_dynamics_force_derivatives(
    model: Model, q: ArrayLike, forces: Sequence[ExternalForce]
) -> tuple[NDArray, ...]:
    """One (..., n, 6) array per force: d tau_i / d (moment, force)_k, along the axes f.frame."""
    result = []
    for f, _, _ in placed_forces(model, forces):
        jacobian = frame_kinematics_derivatives(model, f.link, q, point=f.point).jacobian
        if f.frame == "link":
            R = frame_kinematics(model, f.link, q).R
            jacobian = _along(R, jacobian)
        result.append(-np.swapaxes(jacobian, -1, -2))
    return tuple(result)


def force_hessian(
    model: Model, q: ArrayLike, weights: ArrayLike, forces: Sequence[ExternalForce]
) -> tuple[NDArray, ...]:
    """One (..., n, 6) array per force: d2 (weights . tau) / (d q_i d (moment, force)_k)."""
    result = []
    for f, _, _ in placed_forces(model, forces):
        partials = frame_kinematics_derivatives(model, f.link, q, weights, point=f.point)
        change = partials.velocity_q
        if f.frame == "link":
            # in axes that rotate with w_i as well: R^T (d u/dq_i - w_i x u)
            motion = frame_kinematics(model, f.link, q, weights, point=f.point)
            w = np.swapaxes(partials.jacobian[..., :3, :], -1, -2)
            turned = [np.cross(w, u[..., None, :]) for u in (motion.w, motion.v)]
            change = change - np.swapaxes(np.concatenate(turned, axis=-1), -1, -2)
            change = _along(motion.R, change)
        result.append(-np.swapaxes(change, -1, -2))
    return tuple(result)


def _along(R: NDArray, x: NDArray) -> NDArray:
    """Components of (..., 6, n) along the axes R, angular and linear part each."""
    Rt = np.swapaxes(R, -1, -2)
    return np.concatenate([Rt @ x[..., :3, :], Rt @ x[..., 3:, :]], axis=-2)

"""Torques along a path: affine in the squared speed b and the acceleration b'/2 of the path.

With q(u), v = q' sqrt(b) and a = q' b'/2 + q'' b the equations of motion become (Bobrow, Dubowsky
and Gibson, Time-optimal control of robotic manipulators along specified paths, International
Journal of Robotics Research 4, 1985)

    tau = m(u) b'/2 + c(u) b + g(u) + coulomb sign(q') + damping q' sqrt(b)

m = M q', c = M q'' + C(q, q') q', g: gravity, springs and ligaments at rest. Three calls of inverse
dynamics for all places at once give the coefficients: the model without friction is exactly
quadratic in the velocity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.rnea import inverse_dynamics
from predyn.errors import ModelError
from predyn.model import Model

Floats = NDArray[np.float64]
TURNING = 1e-6  # of the largest q' of a joint: below, it turns round


@dataclass(frozen=True, eq=False)
class PathTorques:
    """Coefficients at K places: arrays (K, n)."""

    m: Floats
    c: Floats
    g: Floats
    direction: Floats  # sign of q'
    viscous: Floats  # damping q'


def without_friction(model: Model) -> Model:
    """The same mechanism without Coulomb and viscous friction.

    Closed loops and friction at joints that follow others are refused.
    """
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops)
        raise ModelError(
            f"retime: model {model.name!r} has closed loops ({names}); only trees can be retimed"
        )
    if model.tree is not None:
        followers = [coupling.joint for coupling in model.couplings]
        rubbing = (model.tree.damping != 0.0) | (model.tree.coulomb != 0.0)
        for name, friction in zip(model.tree.joint_names, rubbing, strict=True):
            if friction and name in followers:
                raise ModelError(
                    f"retime: joint {name!r} of model {model.name!r} follows another joint and has "
                    "friction, which is not supported; give the friction to the joint it follows, "
                    "or fix that joint with model.lock"
                )
    if not model.damping.any() and not model.coulomb.any():
        return model
    none = np.zeros(model.n)
    return replace(model, damping=none, coulomb=none)


def path_torques(model: Model, frictionless: Model, states: tuple[Floats, ...]) -> PathTorques:
    """Coefficients at places where the path has q, q' and q'' (K, n)."""
    q, slope, bend = states
    still = np.zeros_like(q)
    v, a = np.stack([still, still, slope]), np.stack([still, slope, bend])
    g, m, c = inverse_dynamics(frictionless, np.broadcast_to(q, v.shape), v, a)
    return PathTorques(m - g, c - g, g, directions(slope), model.damping * slope)


def directions(slope: Floats) -> Floats:
    """Sign of q' (..., n): none where a joint turns round, or rests up to rounding."""
    size = np.abs(slope)
    joint = size.reshape(-1, size.shape[-1]).max(axis=0, initial=0.0)
    least = np.maximum(TURNING * joint, 1e-12 * joint.max(initial=0.0))
    return np.where(size > least, np.sign(slope), 0.0)

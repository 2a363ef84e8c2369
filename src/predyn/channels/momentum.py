"""Channel `momentum`: generalized momentum p = M(q) v of each joint.

p equals the inverse dynamics for accelerations v at rest, without gravity, springs and ligaments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels.derived import Derived, Floats, States
from predyn.channels.torques import Torques
from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.rnea import inverse_dynamics
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.model.coupled import changed

PER_JOINT = True  # components are momenta of the joints


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, n) for q, v, a (instants, n)."""
    q, v, _ = states
    if model.couplings:
        chain = Chain(model, q, v)
        still = np.zeros_like(chain.joints.v)
        tree = weightless(chain.tree)
        return chain.forces(inverse_dynamics(tree, chain.joints.q, still, chain.joints.v))
    return inverse_dynamics(weightless(model), q, np.zeros_like(v), v)


def in_lanes(
    model: Model, member: str, states: States, forces: Sequence[ExternalForce]
) -> Momentum:
    """The channel in lanes, for a program."""
    return Momentum(model, states)


def weightless(model: Model) -> Model:
    """The model without gravity, springs and ligaments."""
    still = {"stiffness": np.zeros(model.n), "ligaments": np.zeros_like(model.ligaments)}
    return changed(model, gravity=np.zeros(3), **still)


class Momentum(Derived):
    def __init__(self, model: Model, states: States) -> None:
        q, v, _ = states
        inner = self._inner = Torques(weightless(model), (q, np.zeros_like(v), v), ())
        unused = np.zeros(model.n)  # springs do not act on it
        near, placed, light = (x._replace(stiffness=unused) for x in inner.trees)
        self.trees = (near, placed, light)
        self.value, self.weights, self.pairs = inner.value, inner.weights, inner.pairs
        self.dq, self.dv, self.da = inner.dq, inner.da, inner.dv
        self.depends = [[(j, in_q, in_a, -1) for j, in_q, _, in_a in x] for x in inner.depends]
        qq, qv, vv, qa = inner.curvature
        self.curvature = (qq, qa, np.zeros_like(vv), np.zeros_like(qv))

    def evaluate(self) -> None:
        self._inner.evaluate()

    def derive(self) -> None:
        self._inner.derive()

    def curve(self) -> None:
        self._inner.curve()

"""Channel `holding`: joint torques that balance the unknown external forces at rest, -J^T F.

In discrete mechanics unknown forces act at nodes, where a motion has a position but no velocity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels.derived import Derived, Floats, States
from predyn.channels.momentum import weightless
from predyn.channels.torques import Torques
from predyn.dynamics.rnea import inverse_dynamics
from predyn.kernels.forces import ExternalForce, UnknownForce
from predyn.model import Model

PER_JOINT = True  # components are forces of the joints


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, n) for q (instants, n)."""
    q, rest = states[0], np.zeros_like(states[0])
    return inverse_dynamics(weightless(model), q, rest, rest, forces=forces)


def in_lanes(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Holding:
    """The channel in lanes, for a program."""
    return Holding(model, states, [x for x in forces if isinstance(x, UnknownForce)])


class Holding(Derived):
    def __init__(self, model: Model, states: States, forces: Sequence[ExternalForce]) -> None:
        rest = np.zeros_like(states[0])
        inner = self._inner = Torques(weightless(model), (states[0], rest, rest), forces)
        self.value, self.weights, self.pairs = inner.value, inner.weights, inner.pairs
        self.dq, self.dv, self.da = inner.dq, inner.dv, inner.da
        self.depends = [[(j, in_q, -1, -1) for j, in_q, _, _ in x] for x in inner.depends]
        qq, *others = inner.curvature
        self.curvature = (qq, *(np.zeros_like(x) for x in others))

    def evaluate(self) -> None:
        self._inner.evaluate()

    def derive(self) -> None:
        self._inner.derive()

    def curve(self) -> None:
        self._inner.curve()

"""Channel `generalized_force`: the forces f = dT/dq - dV/dq + Q of the channel `lagrangian` alone.

They and the momenta are forces of the joints each, so that both can be summed up over joints that
follow others by a constant ratio.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels import lagrangian
from predyn.channels.derived import Derived, Floats, States
from predyn.kernels.batch import aligned
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import WIDTH
from predyn.model import Model

PER_JOINT = True  # components are forces of the joints


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, n) for q, v (instants, n)."""
    return lagrangian.values(model, member, states, forces)[..., : model.n]


def in_lanes(
    model: Model, member: str, states: States, forces: Sequence[ExternalForce]
) -> GeneralizedForce:
    """The channel in lanes, for a program."""
    return GeneralizedForce(model, member, states, forces)


class GeneralizedForce(Derived):
    def __init__(
        self, model: Model, member: str, states: States, forces: Sequence[ExternalForce]
    ) -> None:
        inner = self._inner = lagrangian.in_lanes(model, member, states, forces)
        chunks, n = len(states[0]), model.n
        self.value, self.weights = (aligned(chunks, n, WIDTH) for _ in range(2))
        self.dq, self.dv, self.da = inner.dq, inner.dv, inner.da
        self.depends, self.pairs = inner.depends[:n], inner.pairs
        self.curvature = inner.curvature
        inner.weights[:] = np.zeros_like(inner.weights)  # those of the momenta stay zero

    def evaluate(self) -> None:
        self._inner.evaluate()
        self.value[:] = self._inner.value[:, : self.value.shape[1]]

    def derive(self) -> None:
        self._inner.derive()
        self.value[:] = self._inner.value[:, : self.value.shape[1]]

    def curve(self) -> None:
        self._inner.weights[:, : self.weights.shape[1]] = self.weights
        self._inner.curve()

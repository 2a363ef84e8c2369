"""Channel `lagrangian`: generalized forces f = dT/dq - dV/dq + Q, then momenta p = dT/dv.

The equations of motion are tau = dp/dt - f (dynamics/lagrangian.py). Q holds friction and given
external forces; unknown ones belong to the channel `holding`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels.derived import DynamicsChannel, Floats, States
from predyn.dynamics.lagrangian import ENERGY_GRADIENTS, energy_gradients
from predyn.dynamics.lagrangian_derivatives import ENERGY_GRADIENTS_DERIVATIVES
from predyn.dynamics.lagrangian_hessian import ENERGY_GRADIENTS_HESSIAN
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.forces import ExternalForce, UnknownForce
from predyn.kernels.lanes import WIDTH
from predyn.model import Model

KERNELS = (ENERGY_GRADIENTS, ENERGY_GRADIENTS_DERIVATIVES, ENERGY_GRADIENTS_HESSIAN)


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, 2n) for q, v (instants, n)."""
    q, v, _ = states
    found = energy_gradients(model, q, v, forces=forces)
    return np.concatenate([found.dT_dq - found.dV_dq + found.Q, found.p], axis=-1)


def in_lanes(
    model: Model, member: str, states: States, forces: Sequence[ExternalForce]
) -> Lagrangian:
    """The channel in lanes, for a program."""
    return Lagrangian(model, states, [x for x in forces if not isinstance(x, UnknownForce)])


class Lagrangian(DynamicsChannel):
    orders = 2

    def __init__(self, model: Model, states: States, forces: Sequence[ExternalForce]) -> None:
        super().__init__(model, KERNELS, states, forces)
        n = model.n
        self.depends = [[] for _ in range(2 * n)]
        for k, (i, j) in enumerate(self.pairs.tolist()):  # layout: gradient_fields
            self.depends[j].append((i, 4 * k, 3 * k, -1))
            self.depends[n + j].append((i, 4 * k + 2, 3 * k + 2, -1))
            if i != j:
                self.depends[i].append((j, 4 * k + 1, 3 * k + 1, -1))
                self.depends[n + i].append((j, 4 * k + 3, 3 * k + 2, -1))
        self._rotor = np.zeros(0)
        rotor = self._tree.rotor
        if len(rotor):
            below, above = self.pairs.T
            self._rotor = rotor[below, above]
            inside = np.zeros((n, n), bool)
            inside[below, above] = inside[above, below] = True
            if np.any(rotor[~inside]):
                raise InputError(
                    f"model {model.name!r}: its rotor matrix couples joints on different branches; "
                    "predictions support only rotors that couple joints of one chain"
                )

    def _bind(self, states: States) -> None:
        chunks, pairs = len(self.weights), self.curvature[0].shape[1]
        self.curvature = self.curvature[:3]
        super()._bind(states)
        unused = aligned(chunks, 2 * pairs, WIDTH)
        unused[:] = 0.0
        self.curvature = (*self.curvature, unused)

    def derive(self) -> None:
        super().derive()
        if len(self._rotor):
            self.dv[:, 2::3] += self._rotor[:, None]

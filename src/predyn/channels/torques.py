"""Channel `tau`: joint torques or forces by inverse dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels.derived import DynamicsChannel, Floats, States
from predyn.dynamics.rnea import RNEA, inverse_dynamics
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES
from predyn.dynamics.rnea_hessian import RNEA_HESSIAN
from predyn.errors import InputError
from predyn.kernels.forces import ExternalForce, UnknownForce
from predyn.model import Model

PER_JOINT = True  # components are forces of the joints


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, n) for q, v, a (instants, n)."""
    return inverse_dynamics(model, *states, forces=forces)


def in_lanes(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Torques:
    """The channel in lanes, for a program."""
    return Torques(model, states, forces)


class Torques(DynamicsChannel):
    def __init__(
        self,
        model: Model,
        states: tuple[Floats, Floats, Floats],
        forces: Sequence[ExternalForce],
    ) -> None:
        super().__init__(model, (RNEA, RNEA_DERIVATIVES, RNEA_HESSIAN), states, forces)
        self.depends = [[] for _ in range(model.n)]
        for k, (i, j) in enumerate(self.pairs.tolist()):
            self.depends[j].append((i, 2 * k, 2 * k, k))
            if i != j:
                self.depends[i].append((j, 2 * k + 1, 2 * k + 1, k))
        unknown = [force for force in forces if isinstance(force, UnknownForce)]
        if unknown:  # few problems have them
            from predyn.channels.unknown_forces import PointMotion

            self.add_unknown([PointMotion(model, states, self.weights, f) for f in unknown], states)
        rotor = self._tree.rotor
        self._rotor = np.zeros(0)
        if len(rotor):
            below, above = self.pairs.T
            self._rotor = rotor[below, above]
            inside = np.zeros((model.n, model.n), bool)
            inside[below, above] = inside[above, below] = True
            if np.any(rotor[~inside]):
                raise InputError(
                    f"model {model.name!r}: its rotor matrix couples joints on different branches; "
                    "predictions support only rotors that couple joints of one chain"
                )

    def derive(self) -> None:
        super().derive()
        if len(self._rotor):
            self.da += self._rotor[:, None]

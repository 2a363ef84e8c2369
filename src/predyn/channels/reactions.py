"""Channel `reactions`: the wrench through each joint, moment and force, in link axes."""

from __future__ import annotations

from collections.abc import Sequence

from predyn.channels.derived import DynamicsChannel, Floats, States
from predyn.dynamics.reactions import REACTIONS, REACTIONS_DERIVATIVES, joint_reactions
from predyn.dynamics.reactions_hessian import REACTIONS_HESSIAN
from predyn.kernels.forces import ExternalForce, UnknownForce
from predyn.model import Model

PER_JOINT = False  # components belong to links, not to coordinates


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, 6 n) for q, v, a (instants, n)."""
    wrenches = joint_reactions(model, *states, forces=forces)
    return wrenches.reshape(len(wrenches), -1)


def in_lanes(
    model: Model, member: str, states: States, forces: Sequence[ExternalForce]
) -> Reactions:
    """The channel in lanes, for a program."""
    return Reactions(model, states, forces)


class Reactions(DynamicsChannel):
    def __init__(
        self,
        model: Model,
        states: tuple[Floats, Floats, Floats],
        forces: Sequence[ExternalForce],
    ) -> None:
        kernels = (REACTIONS, REACTIONS_DERIVATIVES, REACTIONS_HESSIAN)
        super().__init__(model, kernels, states, forces)
        self.depends = [[] for _ in range(6 * model.n)]
        for k, (i, j) in enumerate(self.pairs.tolist()):
            for r in range(6):
                at = 12 * k + r
                self.depends[6 * i + r].append((j, at, at, at))
                if i != j:
                    self.depends[6 * j + r].append((i, at + 6, at + 6, at + 6))
        unknown = [force for force in forces if isinstance(force, UnknownForce)]
        if unknown:
            from predyn.channels.unknown_forces import LoadReactions

            loads = [LoadReactions(model, states, self.weights, f) for f in unknown]
            self.add_unknown(loads, states)

"""Channel `tau`: joint torques or forces by inverse dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels.derived import DynamicsChannel, Floats, States
from predyn.channels.unknown_forces import point_motions
from predyn.dynamics.rnea import RNEA, inverse_dynamics
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES
from predyn.dynamics.rnea_hessian import RNEA_HESSIAN
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import WIDTH
from predyn.model import Model


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, n) for q, v, a (instants, n)."""
    return inverse_dynamics(model, *states, forces=forces)


def in_lanes(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Torques:
    """The channel for a program."""
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
        self._add_unknown_forces(model, states, forces)
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
                    "predictions take rotors that couple joints of one chain only"
                )

    def _add_unknown_forces(
        self, model: Model, states: States, forces: Sequence[ExternalForce]
    ) -> None:
        """Columns of dq and pairs of second partials for forces that are unknowns."""
        self._points = point_motions(model, states, self.weights, forces)
        self._columns, self._pairs = self.dq.shape[1], len(self.pairs)
        columns, pairs = self._columns, [self.pairs]
        for point in self._points:
            for _, components in point.parts:
                for component in components:
                    for k, j in enumerate(point.joints):
                        self.depends[j].append((component, columns + k, -1, -1))
                    columns += len(point.joints)
                    both = np.stack([np.full_like(point.joints, component), point.joints], axis=1)
                    pairs.append(both)
        if not self._points:
            return
        self.pairs = np.concatenate(pairs)
        more, chunks = len(self.pairs), len(self.dq)
        sizes = (more, 2 * more, more, 2 * more)
        self.dq = aligned(chunks, columns, WIDTH)
        self.curvature = tuple(aligned(chunks, size, WIDTH) for size in sizes)
        for x in (self.dq, *self.curvature):
            x[:] = 0.0
        self._bind(states)

    def derive(self) -> None:
        super().derive()
        first = self._columns
        for point in self._points:
            slopes = point.slopes()
            for rows, _ in point.parts:
                for row in rows:
                    last = first + len(point.joints)
                    np.negative(slopes[:, row, point.joints], out=self.dq[:, first:last])
                    first = last
        if len(self._rotor):
            self.da += self._rotor[:, None]

    def curve(self) -> None:
        super().curve()
        first = self._pairs
        for point in self._points:
            bends = point.bends()
            for rows, _ in point.parts:
                for row in rows:
                    last = first + len(point.joints)
                    np.negative(bends[:, row, point.joints], out=self.curvature[0][:, first:last])
                    first = last

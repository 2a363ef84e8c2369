"""The torques of a motion, interval by interval, with their slopes; known forces act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.dynamics.rnea import inverse_dynamics
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES, inverse_dynamics_derivatives
from predyn.estimate.spline_grid import Floats, Grid
from predyn.kernels.forces import NO_LOADS, ExternalForce
from predyn.kernels.tree import has_coupled_rotors, tree_of
from predyn.model import Model
from predyn.recordings.measurements import MeasuredForce


class Push(NamedTuple):
    """A known force on a link at some times; world axes."""

    link: str
    force: Floats  # (K, 3)
    point: Floats  # (K, 3), where it acts
    moment: Floats  # (K, 3) about that point


def push(t: Floats, link: str, measured: MeasuredForce) -> Push:
    """A measured force at other times, by straight lines; none before and after its samples."""

    def at(values: Floats, outside: float | None = None) -> Floats:
        columns = [np.interp(t, measured.t, column, outside, outside) for column in values.T]
        return np.stack(columns, axis=1)

    return Push(link, at(measured.force, 0.0), at(measured.point), at(measured.moment, 0.0))


def acting(model: Model, pushes: list[Push], q: Floats) -> list[ExternalForce]:
    """The known forces as they act on links at poses q (K, n).

    A force keeps its place in the world while the link moves below it: about the link's origin
    p(q) its moment is m + (x - p) x f, which changes with q.
    """
    out = []
    for push in pushes:
        arm = push.point - frame_kinematics(model, push.link, q).p
        out.append(ExternalForce(push.link, push.force, push.moment + np.cross(arm, push.force)))
    return out


class Driving:
    """Torques (K, n) by inverse dynamics in the middles of the intervals."""

    def __init__(
        self,
        model: Model,
        grid: Grid,
        forces: Mapping[str, MeasuredForce],
        links: Mapping[str, str],
    ) -> None:
        self.model, self.grid = model, grid
        self._coupled = has_coupled_rotors(model)
        self._partials = tuple(np.empty((grid.K, grid.n, grid.n)) for _ in range(3))
        self.pushes = [push(grid.middles, link, forces[name]) for name, link in links.items()]

    def torques(self, c: Floats) -> Floats:
        q, v, a = self.grid.middle(c)
        return inverse_dynamics(self.model, q, v, a, forces=acting(self.model, self.pushes, q))

    def slopes(self, c: Floats) -> tuple[Floats, Floats]:
        """Torques, and their partials (K, n, 3 n) in the three blocks of each interval."""
        q, v, a = self.grid.middle(c)
        dq, dv, da = self._partials
        if self.pushes or self.model.couplings:
            forces, out = acting(self.model, self.pushes, q), (np.empty_like(q), dq, dv, da)
            tau, *_ = inverse_dynamics_derivatives(self.model, q, v, a, forces=forces, out=out)
        else:
            tau, flat = np.empty_like(q), (x.reshape(len(q), -1) for x in self._partials)
            none = np.empty((len(q), 0))
            RNEA_DERIVATIVES.run(tree_of(self.model), NO_LOADS, (q, v, a, none), (tau, *flat))
            if self._coupled:
                da += self.model.rotor
        for push in self.pushes:
            J = frame_kinematics_derivatives(self.model, push.link, q).jacobian
            turning = np.cross(push.force[:, None, :], J[:, 3:].swapaxes(1, 2))  # f x dp, (K, n, 3)
            dq = dq - np.einsum("kai,kja->kij", J[:, :3], turning)
        return tau, self.grid.middle_slopes(dq, dv, da)

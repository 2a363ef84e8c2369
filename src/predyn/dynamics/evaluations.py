"""A kernel bound to a model and its loads, for callers that evaluate it thousands of times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from predyn.dynamics.aba import ABA, forward_dynamics
from predyn.dynamics.closed_dynamics import accelerations_of
from predyn.dynamics.expansion import A, expand_states, expansion_of
from predyn.errors import ModelError
from predyn.kernels.batch import Kernel
from predyn.kernels.forces import ExternalForce, pack_forces
from predyn.kernels.tree import Floats, has_coupled_rotors
from predyn.model import Model


class Evaluation:
    """The single output (B, n) of a kernel at flat contiguous float64 states (B, n).

    Inputs are not checked: numbers that are not finite give results that are not. Forces broadcast
    with (B,). Of a coupled model, states are q, v, a and outputs forces.
    """

    def __init__(self, kernel: Kernel, model: Model, forces: Sequence[ExternalForce]) -> None:
        self._kernel, self._tree = kernel, kernel.view(model.expanded)
        self._coupled = model if model.couplings else None
        self._loads, self._wrenches = pack_forces(model, self._tree, forces)
        self._values = np.zeros((0, 0))

    def load(self, forces: Sequence[ExternalForce]) -> None:
        """Other numbers for the same forces: links, points and axes stay as they were."""
        self._wrenches = [np.asarray(x, float) for f in forces for x in (f.moment, f.force)]
        self._values = np.zeros((0, 0))

    def __call__(self, *states: Floats) -> Floats:
        if self._coupled is not None:
            joints = expand_states(self._coupled, *states)
            tau = self._run(joints.q, joints.v, joints.a) * joints.slopes[A]
            return np.asarray(tau @ expansion_of(self._coupled).select)
        return self._run(*states)

    def _run(self, *states: Floats) -> Floats:
        batch = len(states[0])
        if len(self._values) != batch:
            self._values = np.empty((batch, 3 * len(self._wrenches)))
            for k, wrench in enumerate(self._wrenches):
                self._values[:, 3 * k : 3 * k + 3] = wrench
        out = np.empty(states[0].shape)
        self._kernel.run(self._tree, self._loads, (*states, self._values), (out,))
        return out


class Accelerations:
    """Joint accelerations (B, n) of flat states (B, n), NaN if they are not determined.

    Those of a model with loops keep the loops closed; `rank` is then the number of independent
    equations, if it is known.
    """

    rank: int | None = None

    def __init__(self, model: Model, forces: Sequence[ExternalForce]) -> None:
        self._model, self._forces = model, forces
        dense = bool(model.couplings or model.loops) or has_coupled_rotors(model)
        self._recursion = None if dense else Evaluation(ABA, model, forces)

    def load(self, forces: Sequence[ExternalForce]) -> None:
        """Other numbers for the same forces: links, points and axes stay as they were."""
        self._forces = forces
        if self._recursion is not None:
            self._recursion.load(forces)

    def __call__(self, q: Floats, v: Floats, tau: Floats) -> Floats:
        if self._recursion is not None:
            return self._recursion(q, v, tau)
        a = np.full(q.shape, np.nan)
        known = np.isfinite([q, v, tau]).all(axis=(0, 2))
        if known.all():
            try:
                if self._model.loops:
                    return accelerations_of(self._model, q, v, tau, self._forces, self.rank)
                return forward_dynamics(self._model, q, v, tau, forces=self._forces)
            except (ModelError, np.linalg.LinAlgError):
                if len(q) == 1:
                    return a
        for row in np.flatnonzero(known).tolist():
            at = slice(row, row + 1)
            forces = [select_force(force, row) for force in self._forces]
            alone = Accelerations(self._model, forces)
            alone.rank = self.rank
            a[at] = alone(q[at], v[at], tau[at])
        return a


def select_force(force: ExternalForce, row: int) -> ExternalForce:
    """The force for one state of a flat batch."""
    moment, vector = (np.asarray(x, np.float64) for x in (force.moment, force.force))
    return replace(
        force,
        moment=moment if moment.ndim == 1 else moment[row],
        force=vector if vector.ndim == 1 else vector[row],
    )

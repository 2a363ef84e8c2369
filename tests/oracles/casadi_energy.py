"""Energies and generalized forces of a Model in CasADi, without spatial algebra.

Each link has a 4x4 matrix X of its pose and one of its rate, and the 4x4 matrix J of its mass: the
kinetic energy is half the trace of (dX/dt) J (dX/dt)^T. Forces of the coordinates follow from the
power of friction and loads. All derivatives are CasADi's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from oracles.casadi_oracle import _constant, _inertia, _joint
from predyn.dynamics import ExternalForce
from predyn.model import Model


class Energies(NamedTuple):
    """Symbols q, v (n) and loads (6 a force: moment, force); T, V and Q (n)."""

    q: ca.SX
    v: ca.SX
    loads: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    Q: ca.SX

    @property
    def f_and_p(self) -> ca.SX:
        """(2n,): f = dT/dq - dV/dq + Q, then p = dT/dv."""
        f = ca.gradient(self.kinetic - self.potential, self.q) + self.Q
        return ca.vertcat(f, ca.gradient(self.kinetic, self.v))


def _homogeneous(R: ca.SX, p: ca.SX) -> ca.SX:
    return ca.vertcat(ca.horzcat(R, p), ca.horzcat(ca.SX(1, 3), ca.SX(1)))


def energies(model: Model, forces: Sequence[ExternalForce] = ()) -> Energies:
    n = model.n
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    loads = ca.SX.sym("loads", 6 * len(forces))
    pose, rate = [], []
    kinetic = ca.dot(v, _constant(model.rotor + np.diag(model.armature)) @ v) / 2
    potential = ca.SX(0)
    for j in range(n):
        A = _homogeneous(*_joint(model, j, q[j]))
        slope = ca.reshape(ca.jacobian(ca.vec(A), q[j]), 4, 4)
        up = int(model.parent[j])
        X_up, dX_up = (pose[up], rate[up]) if up >= 0 else (ca.SX.eye(4), ca.SX(4, 4))
        pose.append(X_up @ A)
        rate.append(dX_up @ A + X_up @ slope * v[j])
        m, h, I = _inertia(model, j)  # noqa: E741
        spread = ca.SX.eye(3) * (ca.trace(I) / 2) - I
        J = ca.vertcat(ca.horzcat(spread, h), ca.horzcat(h.T, ca.SX(m)))
        kinetic += ca.sum1(ca.sum2((rate[j] @ J) * rate[j])) / 2
        potential -= ca.dot(_constant(model.gravity), (pose[j] @ J)[:3, 3])
        potential += model.stiffness[j] / 2 * (q[j] - model.rest[j]) ** 2
        for side, (moment, steep, angle) in zip((-1, 1), model.ligaments[j], strict=True):
            if moment:
                potential += moment / steep * ca.exp(side * steep * (q[j] - angle))
    power = ca.SX(0)
    for k, force in enumerate(forces):
        frame = model.frame(force.link)
        X, dX = pose[frame.link], rate[frame.link]
        place = _constant(np.append(frame.p + frame.R @ np.asarray(force.point, float), 1.0))
        spin = dX[:3, :3] @ X[:3, :3].T
        turning = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
        axes = ca.SX.eye(3) if force.frame == "world" else X[:3, :3] @ _constant(frame.R)
        power += ca.dot(axes @ loads[6 * k : 6 * k + 3], turning)
        power += ca.dot(axes @ loads[6 * k + 3 : 6 * k + 6], (dX @ place)[:3])
    Q = ca.gradient(power, v)
    for j in range(n):
        Q[j] -= model.damping[j] * v[j]
        if model.coulomb[j]:
            Q[j] -= model.coulomb[j] * ca.tanh(v[j] / model.coulomb_speed[j])
    return Energies(q, v, loads, kinetic, potential, Q)


class Discrete(NamedTuple):
    """Symbols of three nodes and the step, of the loads in both intervals, and the torques."""

    nodes: list[ca.SX]  # q0, q1, q2, h
    loads: list[ca.SX]
    tau: ca.SX


def discrete_torques(model: Model, forces: Sequence[ExternalForce] = ()) -> Discrete:
    """The discrete Euler-Lagrange equations of the midpoint rule at q1, solved for tau."""
    e = energies(model, forces)
    q = [ca.SX.sym(f"q{k}", model.n) for k in range(3)]
    h = ca.SX.sym("h")
    loads = [ca.SX.sym(f"loads{k}", e.loads.numel()) for k in range(2)]
    action, push = ca.SX(0), ca.SX(model.n, 1)
    for k in range(2):
        old = ca.vertcat(e.q, e.v, e.loads)
        new = ca.vertcat((q[k] + q[k + 1]) / 2, (q[k + 1] - q[k]) / h, loads[k])
        L, Q = ca.substitute([e.kinetic - e.potential, e.Q], [old], [new])
        action += h * L
        push += h / 2 * Q
    tau = -(ca.gradient(action, q[1]) + push) / h
    return Discrete([*q, h], loads, tau)

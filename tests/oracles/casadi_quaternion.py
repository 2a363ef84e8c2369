"""Discrete Euler-Lagrange equations with a unit quaternion for the base, in CasADi.

Coordinates are positions, a quaternion e = (w, x, y, z) of any length, and the other joints. The
energies are those of the model with hinges about z, y, x at the angles that e means; e occurs only
by its direction. A multiplier on |e|^2 = 1 adds a multiple of e, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from oracles.casadi_energy import energies
from predyn.dynamics import ExternalForce
from predyn.model import Model


def quaternion_residual(model: Model, forces: Sequence[ExternalForce] = ()) -> ca.Function:
    """(three nodes (n + 1), step, two torques (n - 6), loads) -> what must vanish, but for e.

    Nodes: x (3), e (4), other joints; torques: those of the arm in both steps.
    """
    n = model.n
    x, v = ca.SX.sym("x", n + 1), ca.SX.sym("v", n + 1)
    w, i, j, k = (x[3 + m] for m in range(4))
    angles = ca.vertcat(
        ca.atan2(2 * (w * k + i * j), w * w + i * i - j * j - k * k),
        ca.asin(2 * (w * j - k * i) / ca.sumsqr(x[3:7])),
        ca.atan2(2 * (w * i + j * k), w * w - i * i - j * j + k * k),
    )
    q = ca.vertcat(x[:3], angles, x[7:])
    rates = ca.jtimes(q, x, v)
    e = energies(model, forces)
    old, new = ca.vertcat(e.q, e.v), ca.vertcat(q, rates)
    T, V, Q = ca.substitute([e.kinetic, e.potential, e.Q], [old], [new])
    Q = ca.jtimes(q, x, Q, True)
    h, loads = ca.SX.sym("h"), e.loads
    nodes = [ca.SX.sym(f"x{m}", n + 1) for m in range(3)]
    tau = [ca.SX.sym(f"tau{m}", n - 6) for m in range(2)]
    action, push = ca.SX(0), ca.SX(n + 1, 1)
    for m in range(2):
        middle = ca.vertcat((nodes[m] + nodes[m + 1]) / 2, (nodes[m + 1] - nodes[m]) / h)
        L, force = ca.substitute([T - V, Q], [ca.vertcat(x, v)], [middle])
        action += h * L
        push += h / 2 * (force + ca.vertcat(ca.SX(7, 1), tau[m]))
    residual = ca.gradient(action, nodes[1]) + push
    return ca.Function("residual", [*nodes, h, *tau, loads], [residual])

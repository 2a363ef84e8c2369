"""Discrete Euler-Lagrange equations in CasADi: derivatives of the action of a piecewise polynomial.

The action is a sum over steps of the Lagrangian of casadi_energy.py at the instants of a quadrature
rule; its derivatives in the nodes are CasADi's. Everything is a function of the variables of a
program, whose places are read from its layout.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from oracles.casadi_energy import energies
from predyn.dynamics import ExternalForce
from predyn.kernels.forces import signal_of
from predyn.transcribe.discrete.dmoc import DmocProgram

RULES = {1: ((0.5, 1.0),), 2: ((0.0, 1 / 6), (0.5, 2 / 3), (1.0, 1 / 6))}
AT_NODES = {1: (0.5, 0.5), 2: (1 / 6, 2 / 3, 1 / 6)}


def equations_of_motion(program: DmocProgram, p: int) -> ca.Function:
    """x -> rows of all nodes of a phase, (nodes * joints)."""
    x = ca.SX.sym("x", program.n)
    layout, system = program.phases[p], program._arrangement.systems[p]
    model, degree, steps = system.model, layout.spline.degree, layout.spline.steps
    curves = {c.channel.partition(":")[2]: c for c in layout.curves}
    q = ca.SX.sym("q", model.n, degree * steps + 1)
    T = ca.SX.sym("T")
    given = [
        f for f in system.forces if not isinstance(f.force, str) and not isinstance(f.moment, str)
    ]
    unknown = [f for f in system.forces if f not in given]
    e = energies(model, given)
    numbers = np.concatenate([np.zeros(0), *(np.r_[f.moment, f.force] for f in given)])
    L = ca.Function("L", [e.q, e.v], [e.kinetic - e.potential])
    Q = ca.Function("Q", [e.q, e.v, e.loads], [e.Q])
    p_of = ca.Function("p", [e.q, e.v], [ca.gradient(e.kinetic, e.v)])
    tau = _values(curves["tau"], x)
    h, action, push = T / steps, ca.SX(0), ca.SX(*q.shape)
    for k in range(steps):
        nodes = q[:, degree * k : degree * (k + 1) + 1]
        for at, weight in RULES[degree]:
            N, dN = _lagrange(degree, at)
            here, rate = nodes @ ca.DM(N), nodes @ ca.DM(dN) / h
            action += weight * h * L(here, rate)
            force = Q(here, rate, numbers)
            if degree == 1:
                force += tau[:, k]
            for a in range(degree + 1):
                push[:, degree * k + a] += weight * h * N[a] * force
    held = _held(model, unknown, curves, x, q)
    for k in range(steps):
        for a, weight in enumerate(AT_NODES[degree]):
            node = degree * k + a
            push[:, node] += weight * h * (held[:, node] + (tau[:, node] if degree == 2 else 0))
    rows = ca.reshape(ca.gradient(action, ca.vec(q)), q.shape) + push
    control = _filled(layout.control, layout.columns, x)
    duration = x[layout.T_column] if layout.T_column >= 0 else ca.SX(layout.T)
    rows = ca.substitute(
        rows, ca.vertcat(ca.vec(q), T), ca.vertcat(ca.vec(control[:, 1:-1]), duration)
    )
    rows[:, 0] += p_of(control[:, 1], control[:, 0] / duration)
    rows[:, -1] -= p_of(control[:, -2], control[:, -1] / duration)
    return ca.Function("rows", [x], [ca.vec(rows)])


def _lagrange(degree: int, at: float) -> tuple[np.ndarray, np.ndarray]:
    """Polynomials that are one at one node of a step, and their slopes, at a point of it."""
    nodes = np.arange(degree + 1) / degree
    made = [
        np.polynomial.Polynomial.fit(nodes, row, degree).convert() for row in np.eye(degree + 1)
    ]
    return np.array([f(at) for f in made]), np.array([f.deriv()(at) for f in made])


def _filled(control: np.ndarray, columns: np.ndarray, x: ca.SX) -> ca.SX:
    """(components, count): numbers where they are given, otherwise variables."""
    found = ca.SX(control.T)
    for k, j in np.argwhere(columns >= 0):
        found[int(j), int(k)] = x[int(columns[k, j])]
    return found


def _values(curve: object, x: ca.SX) -> ca.SX:
    return _filled(curve.control, curve.columns, x)


def _held(
    model: object, forces: Sequence[ExternalForce], curves: dict, x: ca.SX, q: ca.SX
) -> ca.SX:
    """(joints, nodes): generalized forces of the signals that act as forces at the nodes."""
    found = ca.SX(*q.shape)
    if not forces:
        return found
    e = energies(model, forces)
    Q = ca.Function("Q", [e.q, e.v, e.loads], [e.Q])
    for node in range(q.shape[1]):
        loads = []
        for f in forces:
            for part in (f.moment, f.force):
                if isinstance(part, str):
                    name, sign = signal_of(part)
                    loads.append(sign * _values(curves[name], x)[:, node])
                else:
                    loads.append(ca.DM(np.asarray(part, float)))
        found[:, node] = Q(q[:, node], np.zeros(model.n), ca.vertcat(*loads))
    return found

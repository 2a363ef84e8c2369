"""Coupled models in CasADi: an explicit reduction, whose derivatives are all CasADi's.

Positions of all joints are functions of the coordinates; velocities and accelerations are their
time derivatives, and forces of the coordinates follow from virtual work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from oracles.casadi_oracle import Expression, frame_expression, link_frame_expression
from oracles.casadi_terms import FRAME, Symbols
from oracles.casadi_unknowns import SymbolicMotion
from predyn.dynamics import ExternalForce
from predyn.model import Model
from predyn.model.coupled import changed
from predyn.model.couplings import PiecewisePolynomial
from predyn.problem import system_of


def function_expression(f: PiecewisePolynomial, x: ca.SX) -> ca.SX:
    """f(x), for x within the breaks."""

    def polynomial(row: np.ndarray, y: ca.SX) -> ca.SX:
        return sum((float(c) * y**k for k, c in enumerate(row)), ca.SX(0.0))

    if not len(f.breaks):
        return polynomial(f.coefficients[0], x)
    value = polynomial(f.coefficients[0], x - f.breaks[0])
    for row, start in zip(f.coefficients[1:], f.breaks[1:], strict=False):
        value = ca.if_else(x >= start, polynomial(row, x - start), value)
    return value


def joint_states(model: Model) -> tuple[tuple[ca.SX, ...], tuple[ca.SX, ...]]:
    """Symbols q, v, a of the coordinates, and the states of all joints."""
    q, v, a = (ca.SX.sym(name, model.n) for name in "qva")
    place = {name: q[k] for k, name in enumerate(model.joint_names)}
    place |= {x.joint: function_expression(x.function, place[x.source]) for x in model.couplings}
    full = ca.vertcat(*(place[name] for name in model.expanded.joint_names))
    rate = ca.jtimes(full, q, v)
    return (q, v, a), (full, rate, ca.jtimes(rate, q, v) + ca.jtimes(rate, v, a))


def reduced_expression(model: Model, forces: Sequence[ExternalForce] = ()) -> Expression:
    """Torques of the coordinates and wrenches of all links."""
    symbols, full = joint_states(model)
    e = link_frame_expression(model.expanded, forces)
    old, new = ca.vertcat(e.q, e.v, e.a), ca.vertcat(*full)
    tau, wrench = ca.substitute([e.tau, e.wrench], [old], [new])
    return Expression(*symbols, e.loads, ca.jacobian(full[0], symbols[0]).T @ tau, wrench)


def reduced_frame(model: Model, frame: str, point: Sequence[float]) -> tuple[Any, list[ca.SX]]:
    """Symbols q, v, a and R, p, w, v, alpha, a of a frame's point."""
    symbols, full = joint_states(model)
    *old, parts = frame_expression(model.expanded, frame, point)
    return symbols, ca.substitute(parts, [ca.vertcat(*old)], [ca.vertcat(*full)])


class CoupledSymbols(Symbols):
    """What a residual of a coupled model may be made of; reactions are those of all links."""

    def __init__(self, model: Model, forces: Sequence[ExternalForce] = ()) -> None:
        self.model = model
        self._take(reduced_expression(model, forces), forces)

    def reaction(self, joint: str) -> ca.SX:
        k = self.model.expanded.joint_index(joint)
        return self.wrench[6 * k : 6 * k + 6]

    def frame(self, name: str) -> dict[str, ca.SX]:
        symbols, parts = reduced_frame(self.model, name, (0.0, 0.0, 0.0))
        found = ca.substitute(parts, list(symbols), [self.q, self.v, self.a])
        return dict(zip(FRAME, found, strict=True))


class CoupledMotion(SymbolicMotion):
    """The motion of a program of a coupled model."""

    def _put(self, p: int, s: float, symbols: Sequence[ca.SX], x: ca.SX, v_as_a: bool = False):
        q, v, a = (self.state(p, s, d) for d in range(3))
        values = (q, ca.SX(v.shape[0], 1), v) if v_as_a else (q, v, a)
        return ca.substitute(x, ca.vertcat(*symbols), ca.densify(ca.vertcat(*values)))

    def _dynamics(self, p: int, s: float) -> tuple[ca.SX, ca.SX]:
        system = system_of(self.program.problem, p)
        e = reduced_expression(system.model, system.forces)
        parts = [part for force in system.forces for part in (force.moment, force.force)]
        loads = [self.signal(p, x, s) if isinstance(x, str) else ca.DM(x) for x in parts]
        tau, wrench = e.tau, e.wrench
        if loads:
            tau, wrench = ca.substitute([tau, wrench], [e.loads], [ca.vertcat(*loads)])
        return self._put(p, s, e[:3], tau), self._put(p, s, e[:3], wrench)

    def momentum(self, p: int, s: float) -> ca.SX:
        """Inertia times velocities: the torques that accelerations v need at rest."""
        model = system_of(self.program.problem, p).model
        links = len(model.parent)
        free = {"stiffness": np.zeros(links), "ligaments": np.zeros((links, 2, 3))}
        still = changed(model.expanded, gravity=np.zeros(3), **free)
        e = reduced_expression(changed(model, tree=still))
        return self._put(p, s, e[:3], e.tau, v_as_a=True)

    def frame(self, p: int, name: str, s: float) -> list[ca.SX]:
        """R, p, w, v, alpha, a of a frame."""
        model = system_of(self.program.problem, p).model
        symbols, parts = reduced_frame(model, name, (0.0, 0.0, 0.0))
        return [self._put(p, s, symbols, x) for x in parts]

"""Motions with further unknowns in CasADi: signals, parameters, systems of several phases.

An independent formulation: bases from SciPy, torques and frames from `casadi_oracle`, derivatives
by CasADi. From the program under test come the order of the decision variables, knots, control
points that boundary values fix and the loaded model of a phase; all of these have tests of their
own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline

from oracles.casadi_oracle import link_frame_expression
from predyn.dynamics import ExternalForce
from predyn.model import Model
from predyn.problem import system_of
from predyn.transcribe.spline import SplineProgram


def spline_row(degree: int, knots: np.ndarray, s: float, derivative: int) -> np.ndarray:
    """(control points,): basis functions at s."""
    count = len(knots) - degree - 1
    s = min(s, 1.0 - 1e-15) if degree == 0 else s
    return np.array(
        [float(np.nan_to_num(BSpline(knots, e, degree)(s, nu=derivative))) for e in np.eye(count)]
    )


class SymbolicMotion:
    """The motion of a program as expressions of its decision variables x."""

    def __init__(self, program: SplineProgram) -> None:
        self.program, self.x = program, ca.SX.sym("x", program.n)
        self._functions: dict[int, Callable] = {}

    def _entries(self, control: np.ndarray, columns: np.ndarray) -> ca.SX:
        """Control points (count, components): variables, or numbers where they are fixed."""
        result = ca.SX(*control.shape)
        for i, j in np.ndindex(control.shape):
            here = columns[i, j]
            result[i, j] = self.x[int(here)] if here >= 0 else float(control[i, j])
        return result

    def T(self, p: int) -> Any:
        layout = self.program.phases[p]
        return self.x[layout.T_column] if layout.T_column >= 0 else layout.T

    def state(self, p: int, s: float, derivative: int) -> ca.SX:
        """(n,) of the joints."""
        layout = self.program.phases[p]
        row = spline_row(layout.spline.degree, layout.spline.knots, s, derivative)
        return (ca.DM(row).T @ self._entries(layout.control, layout.columns)).T / self.T(
            p
        ) ** derivative

    def signal(self, p: int, name: str, s: float, derivative: int = 0) -> ca.SX:
        (own,) = (c for c in self.program.phases[p].curves if c.channel == f"signal:{name}")
        row = spline_row(own.spline.degree, own.spline.knots, s, derivative)
        return (ca.DM(row).T @ self._entries(own.control, own.columns)).T / self.T(p) ** derivative

    def parameter(self, name: str) -> ca.SX:
        curves = self.program.phases[0].curves
        (own,) = (c for c in curves if c.channel == f"parameter:{name}")
        return self.x[int(own.columns[0, 0])]

    def tau(self, p: int, s: float) -> ca.SX:
        """(n,) with what the phase carries and what acts on it."""
        return self._dynamics(p, s)[0]

    def wrench(self, p: int, s: float) -> ca.SX:
        """(6 n,): moment and force on each link through its joint."""
        return self._dynamics(p, s)[1]

    def _dynamics(self, p: int, s: float) -> tuple[ca.SX, ca.SX]:
        system = system_of(self.program.problem, p)
        if p not in self._functions:
            self._functions[p] = dynamics(system.model, system.forces)
        loads = []
        for force in system.forces:
            for part in (force.moment, force.force):
                if isinstance(part, str):
                    loads.append(self.signal(p, part, s))
                elif hasattr(part, "at"):
                    at = s if part.over == "phase" else s * self.program.phases[p].T
                    loads.append(ca.SX(ca.DM(part.at(at))))
                else:
                    loads.append(ca.SX(ca.DM(np.asarray(part, float))))
        states = (self.state(p, s, d) for d in range(3))
        return self._functions[p](*states, ca.vertcat(*loads))

    def gauss(self, p: int, per_segment: int) -> list[tuple[float, float]]:
        """Instants and weights that add up to 1, in the pieces between the knots of all curves."""
        layout = self.program.phases[p]
        knots = [layout.spline.knots, *(curve.spline.knots for curve in layout.curves)]
        breaks = np.unique(np.concatenate(knots))
        nodes, weights = np.polynomial.legendre.leggauss(per_segment)
        width = np.diff(breaks)[:, None]
        s = breaks[:-1, None] + width * (nodes + 1) / 2
        return list(zip(s.ravel(), (width * weights / 2).ravel(), strict=True))

    def compare(
        self, f: Any, g: Any, x: np.ndarray, ours: Any, sigma: float, lam: Any, alone: Any = ()
    ) -> None:
        """Value, gradient, Jacobian and Hessian are equal to 1e-8 of their largest element.

        alone: variables whose derivatives are equal to 1e-8 of their own largest element.
        """
        f, g = ca.SX(f), ca.vertcat(*g)
        L = sigma * f + ca.dot(ca.DM(lam), g)
        wanted = [f, ca.gradient(f, self.x), g, ca.jacobian(g, self.x), ca.hessian(L, self.x)[0]]
        theirs = ca.Function("all", [self.x], [ca.densify(e) for e in wanted])(x)
        shapes = ((), (len(x),), (g.numel(),), (g.numel(), len(x)), (len(x), len(x)))
        for name, a, b, shape in zip(ours._fields, ours, theirs, shapes, strict=True):
            b = np.asarray(b).reshape(shape)
            assert np.shape(a) == shape, name
            bound = 1e-8 * max(np.abs(b).max(initial=0.0), 1e-6)
            assert np.abs(a - b).max(initial=0.0) <= bound, name
            for k in alone if np.ndim(b) else ():
                if b.shape[-1] == len(x):
                    wrong, size = np.abs(a - b)[..., k].max(), np.abs(b[..., k]).max()
                    assert wrong <= max(1e-8 * size, 1e-5 * bound), (name, k)


def dynamics(model: Model, forces: tuple[ExternalForce, ...]) -> Callable:
    """(q, v, a, loads) -> tau, wrenches."""
    e = link_frame_expression(model, forces)
    return ca.Function("dynamics", [e.q, e.v, e.a, e.loads], [e.tau, e.wrench], {"cse": True})

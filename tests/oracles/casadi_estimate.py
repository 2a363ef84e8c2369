"""The estimator's least squares, rewritten: SciPy's B-splines, CasADi's dynamics, dense algebra.

Positions, speeds and accelerations come from the design matrices of scipy.interpolate.BSpline, the
torques and markers from CasADi's formulation of the mechanism (casadi_oracle), all derivatives from
CasADi. The minimum is found by Gauss-Newton with dense QR, or by IPOPT.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline, interp1d

from oracles.casadi_oracle import frame_expression, link_frame_expression
from predyn.dynamics import ExternalForce
from predyn.model import Model
from predyn.recordings.measurements import MeasuredForce

Array = np.ndarray


@dataclass(frozen=True)
class Task:
    """The measurements, and the prior of the torques."""

    model: Model
    first: float
    h: float
    K: int
    t: Array
    angles: Mapping[str, Array]
    markers: Mapping[str, Array]
    noise: Mapping[str, float]
    combination: Array  # (m, n)
    order: int
    scale: Array  # (m,)
    usual: Array  # (n,)
    unactuated: tuple[int, ...] = ()
    forces: Mapping[str, MeasuredForce] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    accelerations: Array | None = None  # (n,) sizes, if these are what changes independently

    @property
    def starts(self) -> list[Array]:
        """Sizes of the first torques and their first changes: 3 Hz may be usual."""
        size = self.usual if self.accelerations is None else self.accelerations
        usual = np.abs(self.combination) @ size
        return [usual * min(1.0, 6 * np.pi * self.h) ** k for k in range(self.order)]

    def spline(self, t: Array, derivative: int = 0) -> Array:
        """(len(t), K + 2): values or derivatives of the B-splines."""
        knots = self.first + self.h * np.arange(-2, self.K + 3)
        inside = np.clip(t, self.first, self.first + self.K * self.h)
        return BSpline(knots, np.eye(self.K + 2), 2)(inside, nu=derivative)

    @property
    def middles(self) -> Array:
        return self.first + self.h * (np.arange(self.K) + 0.5)

    @property
    def nodes(self) -> Array:
        """The last one a hair inside: derivatives are those of the last interval."""
        t = self.first + self.h * np.arange(self.K + 1)
        t[-1] -= 1e-9 * self.h
        return t


class Dense(NamedTuple):
    """The weighted residuals and their Jacobian at some motion."""

    r: Array
    J: Array


class Oracle:
    """Expressions of a task in the coefficients c (K + 2 blocks of n)."""

    def __init__(self, task: Task, expand: bool = True) -> None:
        began = time.perf_counter()
        self.task, n = task, task.model.n
        kind = ca.SX if expand else ca.MX
        self.c = kind.sym("c", (task.K + 2) * n)
        C = ca.reshape(self.c, n, task.K + 2)
        self.tau = self._torques(C)  # (n, K)
        self.misfits = self._misfits(C)  # by channel, fitted - measured
        look = self.tau
        if task.accelerations is not None:
            look = C @ ca.sparsify(ca.DM(task.spline(task.middles, 2).T), 1e-12)
        look = ca.DM(task.combination) @ look
        self.start = []
        for _ in range(task.order):
            self.start.append(look[:, 0])
            look = look[:, 1:] - look[:, :-1]
        self.changes = look  # (m, K - order)
        noise = [task.noise[name] for name in self.names]
        self.data = ca.vertcat(*(r / sd for r, sd in zip(self.misfits, noise, strict=True)))
        starts = [x / ca.DM(s) for x, s in zip(self.start, task.starts, strict=True)]
        self.starts = ca.vertcat(*starts) if starts else kind(0, 1)
        weighted = ca.vec(look / ca.repmat(ca.DM(task.scale), 1, look.shape[1]))
        self.residuals = ca.vertcat(self.data, weighted, self.starts)
        self.free = ca.vec(self.tau[list(task.unactuated), :])  # must be zero
        self.build_seconds = time.perf_counter() - began

    @property
    def names(self) -> list[str]:
        return [*self.task.angles, *self.task.markers]

    def _torques(self, C: ca.SX) -> ca.SX:
        task, model = self.task, self.task.model
        acting = [ExternalForce(link) for link in task.links.values()]
        e = link_frame_expression(model, acting)
        loads, given = [], []
        for link in task.links.values():
            f, x, m = (ca.SX.sym(name, 3) for name in "fxm")
            q, _, _, (_, p, *_) = frame_expression(model, link, (0.0, 0.0, 0.0))
            arm = x - ca.substitute(p, q, e.q)
            loads += [m + ca.cross(arm, f), f]
            given += [f, x, m]
        tau = ca.substitute(e.tau, e.loads, ca.vertcat(*loads)) if loads else e.tau
        torque = ca.Function("torque", [e.q, e.v, e.a, ca.vertcat(*given)], [tau])
        if isinstance(C, ca.MX):
            torque = torque.map(task.K)
        moving = [C @ ca.sparsify(ca.DM(task.spline(task.middles, k).T), 1e-12) for k in range(3)]
        return torque(*moving, ca.DM(self._forces().T))

    def _forces(self) -> Array:
        """(K, 9 a force): force, point, moment in the middles."""
        columns = []
        for name in self.task.links:
            force = self.task.forces[name]
            for values, outside in ((force.force, 0.0), (force.point, None), (force.moment, 0.0)):
                ends = (values[0], values[-1]) if outside is None else outside
                line = interp1d(force.t, values, axis=0, bounds_error=False, fill_value=ends)
                columns.append(line(self.task.middles))
        return np.concatenate(columns, axis=1) if columns else np.zeros((self.task.K, 0))

    def _misfits(self, C: ca.SX) -> list[ca.SX]:
        task, model = self.task, self.task.model
        q = C @ ca.sparsify(ca.DM(task.spline(task.t).T), 1e-14)
        out = []
        for name, values in task.angles.items():
            there = np.flatnonzero(np.isfinite(values)).tolist()
            out.append(q[model.joint_names.index(name), there].T - ca.DM(values[there]))
        for name, values in task.markers.items():
            symbol, _, _, (_, p, *_) = frame_expression(model, name, (0.0, 0.0, 0.0))
            place = ca.Function("place", [symbol], [p])
            if isinstance(C, ca.MX):
                place = place.map(len(task.t))
            seen = place(q).T  # (M, 3)
            parts = []
            for axis in range(3):
                there = np.flatnonzero(np.isfinite(values[:, axis])).tolist()
                parts.append(seen[there, axis] - ca.DM(values[there, axis]))
            out.append(ca.vertcat(*parts))
        return out

    @cached_property
    def _dense(self) -> ca.Function:
        J = ca.jacobian(self.residuals, self.c)
        return ca.Function("dense", [self.c], [self.residuals, J])

    @cached_property
    def _held(self) -> ca.Function:
        return ca.Function("held", [self.c], [self.free, ca.jacobian(self.free, self.c)])

    @cached_property
    def _torque(self) -> ca.Function:
        tau = ca.vec(self.tau)
        return ca.Function("torque", [self.c], [tau, ca.jacobian(tau, self.c)])

    def dense(self, c: Array) -> Dense:
        r, J = self._dense(c)
        return Dense(r.full().ravel(), J.full())

    def held(self, c: Array) -> Dense:
        """Torques of unactuated joints, in the order of time."""
        r, J = self._held(c)
        return Dense(r.full().ravel(), J.full())

    def torques(self, c: Array) -> Dense:
        """(K n,) in the order of time, and their Jacobian."""
        tau, J = self._torque(c)
        return Dense(tau.full().ravel(), J.full())

    def value(self, expression: ca.SX, c: Array) -> Array:
        return ca.Function("value", [self.c], [expression])(c).full()

    def slopes(self, expression: ca.SX, c: Array) -> Array:
        J = ca.jacobian(ca.vec(expression), self.c)
        return ca.Function("slopes", [self.c], [J])(c).full()

    def gauss_newton(self, c: Array, most: int = 60) -> Array:
        """The minimum by dense QR steps, halved while they do not help, until they end."""
        for _ in range(most):
            at = self.dense(c)
            Q, R = np.linalg.qr(at.J)
            step = -np.linalg.solve(R, Q.T @ at.r)
            length = 1.0
            while length > 1e-3:
                after = self.dense(c + length * step).r
                if after @ after <= (at.r @ at.r) * (1 + 1e-12):
                    break
                length /= 2
            c = c + length * step
            if np.abs(step).max() < 1e-11 * np.abs(c).max():
                break
        return c

    def covariance(self, c: Array) -> Array:
        """Inverse of J'J, on the motions that leave unactuated joints without torque."""
        J, Z = self.dense(c).J, np.eye(len(c))
        if self.task.unactuated:
            G = self.held(c).J
            Z = np.linalg.qr(G.T, mode="complete")[0][:, len(G) :]
        R = np.linalg.qr(J @ Z, mode="r")
        half = np.linalg.solve(R.T, Z.T)
        return half.T @ half

    def ipopt(
        self, tolerance: float = 1e-9, gauss_newton: bool = False, mean: Array | None = None
    ) -> Ipopt:
        """Of the sum of squares; with `mean`, sqrt(change^2 + (corner mean)^2) / mean instead."""
        f, corner = 0.5 * ca.sumsqr(self.residuals), type(self.c).sym("corner")
        if mean is not None:
            wide = ca.repmat(ca.DM(mean), 1, self.changes.shape[1])
            switching = ca.sqrt((self.changes / wide) ** 2 + corner**2)
            f = 0.5 * ca.sumsqr(self.data) + 0.5 * ca.sumsqr(self.starts)
            f += ca.sum1(ca.vec(switching))
        return Ipopt(self, f, corner, tolerance, gauss_newton)


class Ipopt:
    """IPOPT on an oracle's task, torques of unactuated joints as equations."""

    def __init__(
        self, oracle: Oracle, f: ca.SX, corner: ca.SX, tolerance: float, gauss_newton: bool
    ) -> None:
        began = time.perf_counter()
        options = {
            "print_time": False,
            "ipopt": {
                "tol": tolerance,
                "acceptable_iter": 0,
                "nlp_scaling_method": "none",
                "print_level": 0,
                "sb": "yes",
                "max_iter": 300,
            },
        }
        if gauss_newton:
            J = ca.jacobian(oracle.residuals, oracle.c)
            sigma = type(oracle.c).sym("sigma")
            given = [oracle.c, corner, sigma, type(oracle.c).sym("multipliers", 0)]
            options["hess_lag"] = ca.Function("hess_lag", given, [ca.triu(sigma * (J.T @ J))])
        parts = {"x": oracle.c, "f": f, "g": oracle.free, "p": corner}
        self.solver = ca.nlpsol("estimate", "ipopt", parts, options)
        self.build_seconds = oracle.build_seconds + time.perf_counter() - began

    def __call__(self, c: Array, corner: float = 0.0) -> tuple[Array, str, int]:
        """The minimum, IPOPT's word for it, and the number of iterations."""
        found = self.solver(x0=c, p=corner, lbg=0.0, ubg=0.0)
        stats = self.solver.stats()
        return found["x"].full().ravel(), stats["return_status"], stats["iter_count"]

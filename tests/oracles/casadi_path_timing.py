"""The timing along a path stated in CasADi and solved by IPOPT: shares no code with planning/.

Torques come from Pinocchio-free pieces of the test: a function tau(q, v, a) evaluated at the ends
and middles of the intervals. Viscous friction enters as it is, without tangents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline

Torques = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Statement(NamedTuple):
    """A path with its limits; limits are (n, 2), infinite for none."""

    path: BSpline
    u: np.ndarray  # nodes
    torques: Torques  # without friction
    coulomb: np.ndarray
    damping: np.ndarray
    effort: np.ndarray
    acceleration: np.ndarray
    upper: np.ndarray  # of b at the nodes
    first: float
    last: float
    weight: float


class Optimum(NamedTuple):
    objective: float
    duration: float
    b: np.ndarray
    success: bool


def solve_statement(given: Statement, guess: np.ndarray) -> Optimum:
    """The optimum by IPOPT; b is scaled by the largest one of the guess."""
    h, scale = np.diff(given.u), float(guess.max())
    B = ca.MX.sym("b", len(h) + 1)
    b = scale * B
    rate = (b[1:] - b[:-1]) / (2.0 * h)
    S = ca.sqrt(b[:-1]) + ca.sqrt(b[1:])
    rows, low, high = [], [], []
    for end in (0, 1):
        at = given.u[end : len(h) + end]
        here = b[end : len(h) + end]
        q1, q2 = given.path.derivative(1)(at), given.path.derivative(2)(at)
        tau = _torques(given, at, rate, here, ca.sqrt(here), _way(given, end))
        for j in range(q1.shape[1]):
            rows += [tau[j], q1[:, j] * rate + q2[:, j] * here]
            low += [np.full(len(h), given.effort[j, 0]), np.full(len(h), given.acceleration[j, 0])]
            high += [np.full(len(h), given.effort[j, 1]), np.full(len(h), given.acceleration[j, 1])]
    middle = 0.5 * (given.u[:-1] + given.u[1:])
    way = np.sign(given.path.derivative(1)(middle))
    tau = _torques(given, middle, rate, 0.5 * (b[:-1] + b[1:]), 0.5 * S, way)
    size = np.abs(given.effort).max(axis=1)
    squares = sum((tau[j] / size[j]) ** 2 for j in range(len(tau))) if given.weight else 0.0
    cost = ca.sum1(2.0 * h / S * (1.0 + given.weight * squares))
    low, high, g = np.concatenate(low), np.concatenate(high), ca.vertcat(*rows)
    keep = np.flatnonzero(np.isfinite(low) | np.isfinite(high)).tolist()
    options = {"print_time": False, "ipopt": {"tol": 1e-10, "print_level": 0, "sb": "yes",
               "max_iter": 1000, "bound_relax_factor": 0.0}}  # fmt: skip
    # ends are fixed by bounds, slightly above zero: IPOPT differentiates the roots there
    lower = np.full(len(B.shape) and len(h) + 1, 1e-12)
    upper = given.upper / scale
    lower[0] = upper[0] = max(given.first / scale, 1e-14)
    lower[-1] = upper[-1] = max(given.last / scale, 1e-14)
    solver = ca.nlpsol("timing", "ipopt", {"x": B, "f": cost, "g": g[keep]}, options)
    found = solver(x0=guess / scale, lbx=lower, ubx=upper, lbg=low[keep], ubg=high[keep])
    x = scale * np.array(found["x"]).ravel()
    duration = float(np.sum(2.0 * h / (np.sqrt(x[:-1]) + np.sqrt(x[1:]))))
    return Optimum(float(found["f"]), duration, x, bool(solver.stats()["success"]))


def _way(given: Statement, end: int) -> np.ndarray:
    """Direction of each joint just inside the interval; paths in the tests do not turn round."""
    inside = (0.001, 0.999)[end]
    return np.sign(given.path.derivative(1)(given.u[:-1] + inside * np.diff(given.u)))


def _torques(given: Statement, u: np.ndarray, rate: ca.MX, b: ca.MX, root: ca.MX,
             way: np.ndarray) -> list[ca.MX]:  # fmt: skip
    """One vector for each joint, by probing tau(q, v, a) where it is needed."""
    q, q1, q2 = (given.path.derivative(d)(u) if d else given.path(u) for d in range(3))
    still = np.zeros_like(q)
    g = given.torques(q, still, still)
    m = given.torques(q, still, q1) - g
    c = given.torques(q, q1, q2) - g
    friction, drag = given.coulomb * way, given.damping * q1
    return [
        m[:, j] * rate + c[:, j] * b + (g + friction)[:, j] + drag[:, j] * root
        for j in range(q.shape[1])
    ]

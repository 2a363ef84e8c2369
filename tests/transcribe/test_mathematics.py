"""One pendulum on two cubic segments, written out by hand; the basis in rational numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from predyn.models import pendulum_chain
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.terms import (
    Effort,
    FrameStep,
    JointTorque,
    MechanicalEnergy,
    Periodic,
    TotalTime,
    TrackJoints,
)
from predyn.transcribe.spline import transcribe
from transcribe.program_values import values

ROUNDING = 1e-12  # a few hundred operations
WIDTH = 0.7
TIMES, TRACK = (0.0, 0.5, 1.0, 3.0), (0.1, -0.4, 0.3, 1.0)
KNOTS = (0, 0, 0, 0, Fraction(1, 2), 1, 1, 1, 1)
CONTROL = np.array([0.3, -0.5, 1.1, 0.8, -0.2])
T = 1.37


def _problem(hessian: str = "exact") -> Problem:
    cube = np.polynomial.polynomial.Polynomial.fit(TIMES, TRACK, 3)
    track = TrackJoints(TIMES, cube(np.array(TIMES))[:, None])
    return Problem(
        pendulum_chain(1),
        (Phase(Duration(0.5, 3.0, 1.0), State(v=[0.4])),),
        costs=(
            Cost(TotalTime(), 0.3),
            Cost(Effort(), 0.7),
            Cost(MechanicalEnergy(form="abs", width=WIDTH), 1.1),
            Cost(track, 2.0),
            Cost(MechanicalEnergy(form="net"), 0.2, at=(0.25,), loss="square"),
        ),
        constraints=(
            Constraint(JointTorque(), -90.0, 90.0),
            Constraint(MechanicalEnergy(form="net"), -50.0, 50.0, integral=True),
            Constraint(Periodic(("q", "v", "tau"), offset=0.2)),
            Constraint(FrameStep("tip", "y", 0.1)),
        ),
        transcription=Spline(segments=2, limit_points=1, gauss_points=2),
        solver=SolverOptions(hessian=hessian),
    )


def _states(c: ca.SX, T: ca.SX, s: float) -> list[ca.SX]:
    """q, v, a, t of the two cubics, in their Bernstein form.

    Control points of the spline with the knot 1/2 doubled and tripled are means of neighbours.
    """
    left, right = (c[1] + c[2]) / 2, (c[2] + c[3]) / 2
    middle = (left + right) / 2
    points = [c[0], c[1], left, middle] if s < 0.5 else [middle, right, c[3], c[4]]
    x = 2 * s if s < 0.5 else 2 * s - 1
    a, b, d, e = points
    q = a * (1 - x) ** 3 + 3 * b * x * (1 - x) ** 2 + 3 * d * x**2 * (1 - x) + e * x**3
    v = 3 * ((b - a) * (1 - x) ** 2 + 2 * (d - b) * x * (1 - x) + (e - d) * x**2)
    w = 6 * ((d - 2 * b + a) * (1 - x) + (e - 2 * d + b) * x)
    return [q, v * 2 / T, w * 4 / T**2, s * T]


def _lagrangian(gauss_newton: bool) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """x, objective, constraints, and the point about which Gauss-Newton takes residuals as linear.

    Linear in q, v, a, t, that is: what these are in x, the losses and the factor T stay curved.
    """
    c, T_, at = ca.SX.sym("c", 5), ca.SX.sym("T"), ca.SX.sym("at", 6)

    def lay(residual: Callable[..., ca.SX], s: float) -> ca.SX:
        z = ca.vertcat(*_states(c, T_, s))
        if not gauss_newton:
            return residual(*ca.vertsplit(z))
        z0 = ca.substitute(z, ca.vertcat(T_, c), at)
        u = ca.SX.sym("u", 4)
        r = residual(*ca.vertsplit(u))
        value, slope = (ca.substitute(y, u, z0) for y in (r, ca.jacobian(r, u)))
        return value + slope @ (z - z0)

    def tau(q: ca.SX, v: ca.SX, a: ca.SX, t: ca.SX) -> ca.SX:
        return a / 3 + 0.5 * 9.81 * ca.cos(q)

    def power(q: ca.SX, v: ca.SX, a: ca.SX, t: ca.SX) -> ca.SX:
        return tau(q, v, a, t) * v

    cube = np.polynomial.polynomial.Polynomial.fit(TIMES, TRACK, 3).convert().coef

    def track(q: ca.SX, v: ca.SX, a: ca.SX, t: ca.SX) -> ca.SX:
        return q - sum(k * t**i for i, k in enumerate(cube))

    def height(q: ca.SX, v: ca.SX, a: ca.SX, t: ca.SX) -> ca.SX:
        return ca.sin(q)

    f, work = 0.3 * T_ + 0.2 * lay(power, 0.25) ** 2, 0.0
    for s in (0.25 + side * 0.25 / np.sqrt(3.0) + half for half in (0.0, 0.5) for side in (-1, 1)):
        p = lay(power, s)
        cost = 0.7 * lay(tau, s) ** 2 + 2.0 * lay(track, s) ** 2
        cost += 1.1 * (ca.sqrt(p**2 + WIDTH**2) - WIDTH)
        f, work = f + T_ * cost / 4, work + T_ * p / 4
    start, end = _states(c, T_, 0.0), _states(c, T_, 1.0)
    g = [start[1], *(lay(tau, s) for s in (0.0, 0.5, 1.0))]
    g += [end[0] - start[0] - 0.2, end[1] - start[1], lay(tau, 1.0) - lay(tau, 0.0)]
    g += [lay(height, 1.0) - lay(height, 0.0) - 0.1, work]
    x = ca.vertcat(T_, c)
    return x, f, ca.vertcat(*g), at


@pytest.mark.parametrize("hessian", ["exact", "gauss_newton"])
def test_pendulum_by_hand(hessian: str) -> None:
    program = transcribe(_problem(hessian))
    point = np.concatenate([[T], CONTROL])
    rng = np.random.default_rng(3)
    multipliers, sigma = rng.standard_normal(program.m), 0.8
    ours = values(program, point, sigma, multipliers)

    x, f, g, at = _lagrangian(hessian == "gauss_newton")
    L = sigma * f + ca.dot(multipliers, g)
    outputs = [f, ca.gradient(f, x), g, ca.jacobian(g, x), ca.hessian(L, x)[0]]
    theirs = ca.Function("hand", [x, at], outputs)(point, point)
    order = [program.g_name(k) for k in range(program.m)]
    assert [name.split()[0] for name in order] == [
        "start", "torque", "torque", "torque", "periodic", "periodic", "periodic", "frame_step",
        "integral",
    ], order  # fmt: skip
    for got, expected in zip(ours, theirs, strict=True):
        wanted = np.asarray(expected).reshape(np.shape(got))
        assert np.abs(got - wanted).max() <= ROUNDING * np.abs(wanted).max()

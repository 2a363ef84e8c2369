"""Programs small enough to derive by hand, and properties of optima."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from predyn.config import read_task
from predyn.models import pendulum_chain
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.samples import Samples
from predyn.solving import solve
from predyn.terms import (
    Effort,
    FrameStep,
    JointTorque,
    MechanicalEnergy,
    Periodic,
    TotalTime,
    TrackJoints,
    UserTerm,
)
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import motion_of
from predyn.transcribe.recheck import residual_values
from transcribe.problem_cases import problem_cases
from transcribe.program_values import values

ROUNDING = 1e-12  # a few hundred operations
WIDTH = 0.7
TIMES, TRACK = (0.0, 0.5, 1.0, 3.0), (0.1, -0.4, 0.3, 1.0)
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


def _sum(s: Samples) -> np.ndarray:
    return s["q"][0] + s["v"][1]


def test_duration_acts_on_positions_through_the_loss() -> None:
    """(q1 + v2)^2 at the end: v2 = 9 (c_5 - c_4) / T on three cubic segments."""
    term = UserTerm(_sum, ("q", "v"), depends={"q": (0,), "v": (1,)})
    phase = Phase(Duration(0.5, 3.0, 1.0))
    spline = Spline(segments=3, limit_points=1)
    program = transcribe(
        Problem(pendulum_chain(2), (phase,), (Cost(term, at="end"),), transcription=spline)
    )
    rng = np.random.default_rng(1)
    x = np.concatenate([[T], rng.standard_normal(12)])
    v = 9.0 * (x[12] - x[10]) / T
    slope, bend = np.zeros(13), np.zeros((13, 13))
    slope[[0, 10, 11, 12]] = -v / T, -9.0 / T, 1.0, 9.0 / T
    bend[0, 0], bend[0, [10, 12]] = 2.0 * v / T**2, (9.0 / T**2, -9.0 / T**2)
    bend[[10, 12], 0] = bend[0, [10, 12]]
    expected = 2.0 * (np.outer(slope, slope) + (x[11] + v) * bend)
    got = values(program, x, 1.0, np.zeros(program.m)).hessian
    # second partials of user terms are differences of complex steps
    assert np.abs(got - expected).max() <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("limit", [5.0, 20.0])
def test_limits_hold_where_only_the_duration_is_free(limit: float) -> None:
    """One cubic from rest to rest: tau = 2 (1 - 2 s) way / T^2 for a rod of 1/3 kg m^2."""
    rod = replace(pendulum_chain(1), gravity=np.zeros(3)).with_limits(effort=limit)
    way = 0.8
    phase = Phase(Duration(0.01, 3.0, 1.0), State([0.1], [0.0]), State([0.1 + way], [0.0]))
    solution = solve(Problem(rod, (phase,), (Cost(TotalTime()),), transcription=Spline(segments=1)))
    assert solution.status == "optimal"
    assert np.isclose(solution.duration, np.sqrt(2.0 * way / limit), rtol=1e-7)


def test_multipliers_are_slopes_of_the_optimum() -> None:
    """A wider limit lowers the optimum by the sum of its multipliers, an integral's by its own."""
    lifting = read_task("two-link-lifting").problem
    assert lifting.limits is not None
    options = replace(lifting.solver, tolerance=1e-11)
    step = 1e-3

    def limited(scale: float) -> Problem:
        limits = lifting.limits._replace(effort=scale * lifting.limits.effort)
        return replace(lifting, limits=limits, solver=options)

    def bounded(scale: float) -> Problem:
        bound = Constraint(Effort(), upper=30.0 * scale, integral=True, name="bound")
        return replace(lifting, costs=(Cost(TotalTime()),), constraints=(bound,), solver=options)

    for problem, name, size in ((limited, "effort", 10.0), (bounded, "bound", 30.0)):
        wide, narrow = (solve(problem(1.0 + sign * step)).objective for sign in (1, -1))
        multipliers = solve(problem(1.0)).multipliers[name]
        expected = (wide - narrow) / (2.0 * step * size)
        assert np.isclose(-np.abs(multipliers).sum(), expected, rtol=1e-4)


def test_recheck_agrees_with_the_rows_of_the_solver() -> None:
    """Dense checks use the public dynamics, programs use pooled kernels."""
    problem = problem_cases()["every term on a tree"]
    program = transcribe(problem)
    x = 0.2 * np.random.default_rng(0).standard_normal(program.n)
    for phase in program.phases:
        if phase.T_column >= 0:
            x[phase.T_column] = 1.4
    program.move(x)
    program.constraints(np.empty(program.m))
    motion = motion_of(program, x)
    for rows in (rows for rows in program.rows if rows.pointwise):
        points, block = rows.parts[0].points, rows.parts[0].block
        samples = motion.samples(points.phase, points.s, block.residual.channels)
        expected = residual_values(block.residual, samples, len(points.s)).T
        assert np.allclose(points.values.of(block), expected, rtol=1e-10, atol=1e-10)


def test_friction_acts_near_standstill_only() -> None:
    """tau = a / 3 + c tanh(v / v0), v0 = 0.001: away from v = 0 its slope in v is zero."""
    friction = 0.3
    rod = replace(
        pendulum_chain(1),
        gravity=np.zeros(3),
        coulomb=np.array([friction]),
        coulomb_speed=np.array([1e-3]),
    )
    spline = Spline(segments=1, limit_points=1)
    program = transcribe(
        Problem(
            rod,
            (Phase(1.0),),
            constraints=(Constraint(JointTorque(), -9.0, 9.0, at="end"),),
            transcription=spline,
        )
    )
    x = 1e-4 * np.array([0.0, 1.0, 2.0, 4.0])
    speed, slope_v = 3.0 * (x[3] - x[2]), np.array([0.0, 0.0, -3.0, 3.0])
    slope_a = np.array([0.0, 6.0, -12.0, 6.0])
    y = np.tanh(speed / 1e-3)
    share = (1.0 - y**2) / 1e-3
    expected = slope_a / 3.0 + friction * share * slope_v
    got = values(program, x, 0.0, np.ones(1))
    assert np.allclose(got.g, slope_a @ x / 3.0 + friction * y, rtol=1e-12)
    assert np.allclose(got.jacobian[0], expected, rtol=1e-12)
    bend = -2.0 * friction * y * share / 1e-3
    assert np.allclose(got.hessian, bend * np.outer(slope_v, slope_v), rtol=1e-11)


def test_a_point_may_be_any_array_of_numbers() -> None:
    nlp = transcribe(_problem())
    x = np.arange(1.0, nlp.n + 1.0)
    results = []
    for same in (x, np.repeat(x, 2)[::2], x.astype(np.int64)):
        nlp.move(same)
        results.append(nlp.objective())
    assert results == [results[0]] * 3

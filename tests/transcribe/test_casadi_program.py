"""The CasADi formulation itself: it reproduces the known optima, and its conventions hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

import predyn
from oracles.casadi_ipopt import solve_casadi
from oracles.casadi_program import casadi_program
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.terms import Effort, JointPosition, MechanicalEnergy, TotalTime
from reference_tasks import REFERENCE, reference_task

CASES = [(case["task"], case["limit_points"]) for case in REFERENCE["optima"]]
FREE = Duration(0.2, 2.0, 0.8)


def reference(task: str, limit_points: int) -> dict:
    return REFERENCE["optima"][CASES.index((task, limit_points))]


@pytest.mark.parametrize(("task", "limit_points"), CASES)
def test_known_optimum(task: str, limit_points: int) -> None:
    known = reference(task, limit_points)
    program = casadi_program(reference_task(task, limit_points))
    free_time = program.x_names[0] == "T"
    # at the optimum as it was written down, with 12 digits
    control = np.array(known["control"]).T.ravel()
    x = np.append(known["duration"], control) if free_time else control
    functions = program.functions
    assert float(functions.f(x)) == pytest.approx(known["objective"], rel=1e-9)
    g = np.asarray(functions.g(x)).ravel()
    assert np.all(g >= program.g_lower - 1e-6)
    assert np.all(g <= program.g_upper + 1e-6)
    # from the line
    found = solve_casadi(program, program.guess, tolerance=1e-8)
    assert found.status == "Solve_Succeeded"
    assert found.f == pytest.approx(known["objective"], rel=1e-7)


@pytest.mark.parametrize(
    ("task", "continuous", "off"),
    [("manutec-min-time", 0.4951887, 1e-2), ("manutec-min-energy", 20.404247, 2e-3)],
)
def test_manutec_on_the_default_grid(task: str, continuous: float, off: float) -> None:
    program = casadi_program(reference_task(task))
    found = solve_casadi(program, program.guess, tolerance=1e-8)
    assert found.status == "Solve_Succeeded"
    assert continuous < found.f < continuous * (1 + off)


def several() -> Problem:
    """Two phases, a start that moves, an end without position, points, an integral."""
    model = predyn.models.two_link()
    limits = model.limits._replace(velocity=np.array([[-5.0, 5.0], [-np.inf, np.inf]]))
    return Problem(
        model,
        (
            Phase(FREE, State((0.1, 0.2), (0.3, 0.0), (0.0, 0.0)), segments=4),
            Phase(0.7, end=State((np.nan, 1.0), (0.0, 0.0)), segments=5),
        ),
        costs=(Cost(TotalTime()), Cost(Effort(joints=("joint2",)), 0.1), Cost(
            JointPosition(target=(0.5, 0.6)), 3.0, at=(0.25, 1.0)
        )),
        constraints=(Constraint(MechanicalEnergy(width=1e-3), -np.inf, 50.0, integral=True),),
        limits=limits,
        jerk_limit=400.0,
        transcription=Spline(degree=4, limit_points=2, gauss_points=4),
    )  # fmt: skip


def motion(x: np.ndarray, T: float, segments: int, s: np.ndarray) -> list[np.ndarray]:
    knots = np.concatenate((np.zeros(4), np.linspace(0, 1, segments + 1), np.ones(4)))
    curve = BSpline(knots, x.reshape(-1, 2), 4)
    return [curve(s, nu=d) / T**d for d in range(4)]


def test_layout_of_variables() -> None:
    program = casadi_program(several())
    n_first, n_second = 1 + 2 * 8, 2 * 9
    assert len(program.x_names) == n_first + n_second
    assert program.x_names[:3] == ["T", "joint1 c0", "joint2 c0"]
    fixed = np.setdiff1d(np.arange(n_first + n_second), program.free)
    # joint1 moves at the start: q alone; joint2 rests without acceleration: three points.
    # At the end joint2 rests at 1: two points; joint1 has no position, hence a row
    names = [program.x_names[i] for i in fixed]
    first, second = names[:4], names[4:]
    assert first == ["joint1 c0", "joint2 c0", "joint2 c1", "joint2 c2"]
    assert second == ["joint2 c7", "joint2 c8"]
    assert program.guess[fixed] == pytest.approx([0.1, 0.2, 0.2, 0.2, 1.0, 1.0], abs=1e-15)


def test_a_moving_start_is_fixed_where_the_duration_is() -> None:
    model = predyn.models.two_link()
    start = State((0.1, 0.2), (0.3, -0.4), (1.0, np.nan))
    program = casadi_program(Problem(model, (Phase(0.7, start),)))
    fixed = np.setdiff1d(np.arange(len(program.x_names)), program.free)
    assert [program.x_names[i] for i in fixed] == [
        *("joint1 c0", "joint2 c0", "joint1 c1", "joint2 c1", "joint1 c2")
    ]
    knots = np.concatenate((np.zeros(3), np.linspace(0, 1, 21), np.ones(3)))
    curve = BSpline(knots, program.guess.reshape(-1, 2), 3)
    q, v, a = (curve(0.0, nu=d) / 0.7**d for d in range(3))
    assert np.append(q, v) == pytest.approx([0.1, 0.2, 0.3, -0.4], abs=1e-13)
    assert a[0] == pytest.approx(1.0, abs=1e-11)
    assert {row.kind for row in program.rows} == {"effort"}


def test_rows_and_costs_are_those_of_the_motion() -> None:
    problem = several()
    program = casadi_program(problem)
    x = np.random.default_rng(3).standard_normal(len(program.x_names))
    x[0] = 0.9
    s = np.arange(9) / 8
    rows = []
    first = motion(x[1:17], 0.9, 4, s)
    second = motion(x[17:], 0.7, 5, np.arange(11) / 10)
    for phase, (q, v, a, jerk) in enumerate((first, second)):
        tau = predyn.inverse_dynamics(problem.model, q, v, a)
        rows += [("velocity", phase, v[:, :1]), ("jerk", phase, jerk), ("effort", phase, tau)]
    rows += [("start v", 0, first[1][:1, :1]), ("start a", 0, first[2][:1, :1])]
    rows += [("end v", 1, second[1][-1:, :1])]
    rows += [(f"continuity {d}", 0, second[d][:1] - first[d][-1:]) for d in range(3)]
    g = np.asarray(program.functions.g(x)).ravel()
    for kind, phase, expected in rows:
        at = [k for k, r in enumerate(program.rows) if (r.kind, r.phase) == (kind, phase)]
        scale = max(1.0, np.abs(expected).max())
        assert np.abs(g[at] - expected.ravel()).max() < 1e-12 * scale
        instants = [program.rows[k].instant for k in at]
        assert instants == sorted(instants)
    assert len(program.rows) == sum(r[2].size for r in rows) + 2  # and the two integrals
    assert program.rows[-7].kind == "energy"  # then continuity: 3 times 2
    assert program.row_names[0] == "velocity joint1 @ 0"

    total, energies = 0.0, []
    points, weights = np.polynomial.legendre.leggauss(4)
    for c, T, segments in ((x[1:17], 0.9, 4), (x[17:], 0.7, 5)):
        at = ((np.arange(segments)[:, None] + (points + 1) / 2) / segments).ravel()
        w = np.tile(weights / 2 / segments, segments) * T
        q, v, a, _ = motion(c, T, segments, at)
        tau = predyn.inverse_dynamics(problem.model, q, v, a)
        total += T + 0.1 * w @ tau[:, 1] ** 2
        energies.append(w @ (np.sqrt((tau * v) ** 2 + 1e-6) - 1e-3).sum(axis=1))
        q = motion(c, T, segments, np.array([0.25, 1.0]))[0]
        total += 3.0 * ((q - (0.5, 0.6)) ** 2).sum()
    assert float(program.functions.f(x)) == pytest.approx(total, rel=1e-13)
    found = [g[k] for k, r in enumerate(program.rows) if r.kind == "energy"]
    assert found == pytest.approx(energies, rel=1e-13)


def test_derivatives_are_those_of_its_own_values() -> None:
    program = casadi_program(several())
    rng = np.random.default_rng(4)
    x, weights = rng.standard_normal(len(program.x_names)), rng.standard_normal(len(program.rows))
    x[0], direction, step = 0.9, rng.standard_normal(len(x)), 1e-6
    fun = program.functions

    def slope(function, *more):
        ends = [np.asarray(function(x + k * step * direction, *more)) for k in (1, -1)]
        return (ends[0] - ends[1]).ravel() / (2 * step)

    def close(a, b):
        assert np.abs(a - b).max() < 1e-6 * max(1.0, np.abs(b).max())

    close(np.asarray(fun.gradient(x)).ravel() @ direction, slope(fun.f))
    close(fun.jacobian(x).full() @ direction, slope(fun.g))
    lower = fun.hessian(x, 0.7, weights).full()
    assert np.all(np.triu(lower, 1) == 0.0)
    ends = [fun.jacobian(x + k * step * direction).full().T @ weights for k in (1, -1)]
    expected = 0.7 * slope(fun.gradient) + (ends[0] - ends[1]) / (2 * step)
    close((lower + np.tril(lower, -1).T) @ direction, expected)

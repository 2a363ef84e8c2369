"""Motions of mechanisms with an undriven joint, against known optima."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predyn.errors import ProblemWarning
from predyn.problem import Hybrid, Problem, Spline, State
from predyn.solution import Solution
from predyn.solving import solve
from predyn.transcribe.methods import transcribe
from swing_ups import KNOWN, fine_guess, hybrid, known_point, swing_up

NAMES = ("acrobot", "branched_acrobot")


@cache
def from_fine(name: str, method: str, segments: int) -> Solution:
    transcription = Spline(segments=segments) if method == "spline" else hybrid(segments)
    return converged(swing_up(name, transcription, guess=fine_guess(name)))


def converged(problem: Problem) -> Solution:
    """Cubic splines have the right objective, but need torques at the passive joint in between."""
    found = solve(problem)
    if isinstance(problem.transcription, Hybrid):
        return found.check()
    assert found.status == "exceeds_limits"
    assert "passive torque joint1" in found.message
    return found


@pytest.mark.parametrize("steps", [10, 40])
@pytest.mark.parametrize("name", NAMES)
def test_cost_at_known_control_points(name: str, steps: int) -> None:
    program = transcribe(swing_up(name, hybrid(20, steps, shooting="single")))
    program.move(known_point(name, program))
    known = KNOWN[name]["objective"][str(steps)]
    assert program.objective() == pytest.approx(known, rel=1e-10)  # digits of the control points


@pytest.mark.parametrize("name", NAMES)
def test_gradient_vanishes_at_known_optimum(name: str) -> None:
    program = transcribe(swing_up(name, hybrid(20, shooting="single")))
    program.move(known_point(name, program))
    gradient = np.empty(program.n)
    program.gradient(gradient)
    assert np.abs(gradient).max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_end_of_known_motion(name: str) -> None:
    known = KNOWN[name]["end"]
    program = transcribe(swing_up(name, hybrid(20, known["steps"], shooting="single")))
    (curve,) = program.curves(known_point(name, program))
    assert curve.control[-1, 0] - np.pi / 2 == pytest.approx(known["error"], rel=1e-8)


@pytest.mark.parametrize("segments", [20, 40, 80, 160])
def test_costs_of_finer_grids(segments: int) -> None:
    known = KNOWN["acrobot"]["refined"][str(segments)]
    assert from_fine("acrobot", "hybrid", segments).objective == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_methods_converge_to_each_other(name: str) -> None:
    by_spline, by_hybrid = (from_fine(name, m, 160).objective for m in ("spline", "hybrid"))
    assert by_spline == pytest.approx(by_hybrid, rel=0.01)
    assert by_hybrid == pytest.approx(KNOWN[name]["continuous"], rel=0.01)
    assert by_hybrid > KNOWN[name]["continuous"]


@pytest.mark.parametrize("name", NAMES)
def test_replay_of_the_default_grid(name: str) -> None:
    replay = predyn.replay(from_fine(name, "hybrid", 40))
    assert replay.status == "finished"
    assert replay.end_position_error < 0.02
    assert replay.end_velocity_error < 0.05


@pytest.mark.parametrize("name", NAMES)
def test_replay_improves_at_the_order_of_the_method(name: str) -> None:
    errors = []
    solution = from_fine(name, "hybrid", 40)
    for steps in (5, 10, 20):
        problem = swing_up(name, hybrid(40, steps))
        solution = solve(problem, guess=solution).check()
        errors.append(predyn.replay(solution).end_position_error)
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((orders > 3.5) & (orders < 4.7)), orders


@pytest.mark.parametrize("method", ["spline", "hybrid"])
def test_upright_as_a_constraint(method: str) -> None:
    transcription = Spline(segments=40) if method == "spline" else hybrid(40)
    problem = swing_up("acrobot", transcription, hard=True, guess=fine_guess("acrobot"))
    found = converged(problem)
    assert found.q[-1] == pytest.approx([np.pi / 2, 0.0], abs=1e-7)
    assert found.v[-1] == pytest.approx([0.0, 0.0], abs=1e-6)
    penalised = from_fine("acrobot", method, 40)  # it could end there too, at this price
    assert penalised.objective < found.objective < 1.5 * penalised.objective


def test_single_shooting_finds_the_same() -> None:
    problem = swing_up("acrobot", hybrid(20, shooting="single"), guess=fine_guess("acrobot"))
    assert solve(problem).check().objective == pytest.approx(
        from_fine("acrobot", "hybrid", 20).objective, rel=1e-8
    )


def test_single_shooting_reaches_the_given_end() -> None:
    method = hybrid(20, shooting="single")
    problem = swing_up("acrobot", method, hard=True, guess=fine_guess("acrobot"))
    single = solve(problem).check()
    many = solve(swing_up("acrobot", hybrid(20), hard=True, guess=fine_guess("acrobot"))).check()
    assert single.q[-1, 0] == pytest.approx(np.pi / 2, abs=1e-7)
    assert single.objective == pytest.approx(many.objective, rel=1e-6)


@pytest.mark.parametrize("shooting", ["multiple", "single"])
def test_an_end_out_of_reach_is_reported(shooting: str) -> None:
    problem = swing_up("acrobot", hybrid(10, 4, shooting=shooting), hard=True)
    weak = problem.model.with_limits(effort=(0.0, 0.1))
    found = solve(replace(problem, model=weak))
    assert found.status == "infeasible"
    assert "end q joint1 = 1.571" in found.message
    assert "more time or torque" in found.message


@pytest.mark.parametrize("shooting", ["multiple", "single"])
def test_integrations_that_overflow_are_reported(shooting: str) -> None:
    problem = swing_up("acrobot", hybrid(6, 4, shooting=shooting))
    stiff = replace(problem.model, stiffness=np.array([1e12, 0.0]))
    with pytest.warns(ProblemWarning, match="has a mode of .* 1/s at the guess"):
        found = solve(replace(problem, model=stiff))
    assert found.status == "evaluation_error"
    assert "more steps or segments" in found.message
    assert np.isfinite(found.q).all()


def test_starts_report_their_spread() -> None:
    problem = swing_up("acrobot", hybrid(20, 5))
    found = solve(problem, starts=4).check()
    objectives = [s["objective"] for s in found.starts if s["status"] == "optimal"]
    assert len(found.starts) == 4
    assert found.objective == min(objectives)


# -- passive joints as splines --------------------------------------------------------------------


def passive_end(degree: int, segments: int) -> float:
    """Where joint1 of an acrobot ends if its elbow moves along a cubic; Newton on tau_1 = 0."""
    program = transcribe(_open_end(Spline(degree=degree, segments=segments)))
    (phase,) = program.phases
    x = np.zeros(program.n)
    free = phase.columns >= 0
    elbow = phase.spline.fit(np.linspace(0, 1, 200), _elbow(np.linspace(0, 1, 200))[:, None])
    control = np.column_stack([np.full(len(elbow), -1.0), elbow[:, 0]])
    x[phase.columns[free]] = control[free]
    own = phase.columns[free[:, 0], 0]
    g, values = np.empty(program.m), np.empty(len(program.jacobian_pattern[0]))
    rows, columns = program.jacobian_pattern
    assert program.m == len(own)  # as many points as free control points
    for _ in range(30):
        program.move(x)
        program.constraints(g)
        program.jacobian(values)
        J = np.zeros((program.m, program.n))
        J[rows, columns] = values
        step = np.linalg.solve(J[:, own], g)
        x[own] -= step
        if np.abs(step).max() < 1e-12:
            break
    (curve,) = program.curves(x)
    return float(curve.control[-1, 0])


def _open_end(method: Spline) -> Problem:
    problem = swing_up("acrobot", method)
    return replace(problem, phases=(replace(problem.phases[0], end=State()),))


def _elbow(s: np.ndarray) -> np.ndarray:
    return s**2 * (1 - s) * 8.0


def integrated_end() -> float:
    """The same by many steps of RK4."""
    program = transcribe(_open_end(hybrid(4, 400, shooting="single")))
    (phase,) = program.phases
    elbow = phase.spline.fit(np.linspace(0, 1, 200), _elbow(np.linspace(0, 1, 200))[:, None])
    x = np.zeros(program.n)
    free = phase.columns[:, 1] >= 0
    x[phase.columns[free, 1]] = elbow[free, 0]
    (curve,) = program.curves(x)
    return float(curve.control[-1, 0])


@pytest.mark.parametrize(("degree", "order"), [(3, 2), (4, 4), (5, 4)])
def test_collocated_passive_joints_converge_at_their_order(degree: int, order: int) -> None:
    exact = integrated_end()
    counts = (20, 40, 80)
    errors = [abs(passive_end(degree, segments) - exact) for segments in counts]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - order) < 0.5), (orders, errors)


# -- long checks ----------------------------------------------------------------------------------


@pytest.mark.verify
def test_many_starts_find_a_good_swing_up() -> None:
    found = solve(swing_up("acrobot", hybrid(40)), starts=200)
    assert found.objective <= 12.0

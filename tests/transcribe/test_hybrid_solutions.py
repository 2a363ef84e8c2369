"""Solutions of the hybrid method: their curves, files, and use as guesses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.curves.bspline import BSpline
from predyn.models import acrobot
from predyn.nlp import SolverOptions
from predyn.problem import Hybrid, Problem, Spline
from predyn.solution import Curve, Solution
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.shooting.hermite import hermite_curve
from transcribe.hybrid_cases import swing_up

SEGMENTS, STEPS = 16, 6
SWINGS = np.array([[0.0, -0.5, 0.0, -0.6], [0.0, 1.0, 0.0, -1.0]])


def problem(method: Spline, **changes: object) -> Problem:
    """From a guess that swings back and forth on the way up."""
    s = np.linspace(0.0, 1.0, 61)
    guess = np.sin(np.pi * np.outer(s, np.arange(1, 5))) @ SWINGS.T
    guess[:, 0] += -1.0 + s * (np.pi / 2 + 1.0)
    options = SolverOptions(tolerance=1e-8, hessian="exact")
    made = replace(swing_up(acrobot(), Hybrid()), guess=(s, guess), solver=options)
    return replace(made, transcription=method, **changes)  # type: ignore[arg-type]


@cache
def solved() -> Solution:
    return predyn.solve(problem(Hybrid(segments=SEGMENTS, steps=STEPS))).check()


@cache
def by_splines() -> Solution:
    """A rough motion: on so few segments the passive joint needs a torque between the points."""
    return predyn.solve(problem(Spline(segments=SEGMENTS)), guess=solved())


def states(curve: Curve, s: np.ndarray, derivatives: int = 2) -> np.ndarray:
    spline = BSpline(curve.degree, curve.knots)
    found = spline.evaluate(curve.control, s, curve.duration, derivatives=derivatives)
    return np.asarray(found[: derivatives + 1])


# -- the curve through states -------------------------------------------------------------------


def test_hermite_curve_passes_through_all_values() -> None:
    rng = np.random.default_rng(0)
    s = np.array([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.8, 0.95, 1.0])
    q, v, a = rng.standard_normal((3, 9, 2))
    curve = hermite_curve(s, q, v, a, 1.7)
    narrow = np.diff(s).min() * 1.7
    for order, (found, given) in enumerate(zip(states(curve, s), (q, v, a), strict=True)):
        assert found == pytest.approx(given, abs=1e-14 / narrow**order)
    before = states(curve, s[1:] - 1e-9)[2]  # the piece before has it too
    assert before == pytest.approx(a[1:], abs=1e-9 * 1e3 / narrow**3)


@pytest.mark.parametrize("degree", [3, 4, 5])
def test_hermite_curve_holds_splines(degree: int) -> None:
    rng = np.random.default_rng(degree)
    spline = BSpline.clamped(degree, breaks=np.array([0.0, 0.2, 0.5, 0.6, 1.0]))
    given = Curve(degree, spline.knots, rng.standard_normal((spline.n_control, 3)), 2.5)
    s = spline.limit_points(3)
    curve = hermite_curve(s, *states(given, s), 2.5)
    between = np.linspace(0.0, 1.0, 201)
    for found, wanted in zip(states(curve, between), states(given, between), strict=True):
        assert found == pytest.approx(wanted, abs=1e-12 * np.abs(wanted).max())


# -- what a solution says -----------------------------------------------------------------------


def integrated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and states of joint1 at all steps: RK4 once more, by inverse dynamics alone."""
    program = transcribe(problem(Hybrid(segments=SEGMENTS, steps=STEPS)))
    program.move(x)
    (phase,), model = program.phases, program.model
    at, T = np.linspace(0.0, 1.0, SEGMENTS * STEPS + 1), phase.T

    def rate(s: float, y: np.ndarray) -> np.ndarray:
        q, v, a = phase.spline.evaluate(phase.control, np.array([s]), T, derivatives=2)
        q[0, 0], v[0, 0] = y
        a[0, 0] = 0.0
        rest = predyn.inverse_dynamics(model, q[0], v[0], a[0])[0]
        a[0, 0] = 1.0
        mass = predyn.inverse_dynamics(model, q[0], v[0], a[0])[0] - rest
        return np.array([y[1], -rest / mass])

    y, h, found = np.array([-1.0, 0.0]), np.diff(at)[0], [np.array([-1.0, 0.0])]
    for s in at[:-1]:
        k1 = rate(s, y)
        k2 = rate(s + h / 2, y + h / 2 * T * k1)
        k3 = rate(s + h / 2, y + h / 2 * T * k2)
        k4 = rate(min(s + h, 1.0), y + h * T * k3)
        y = y + h * T * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        found.append(y)
    return at * T, np.array(found)


def test_states_at_steps_are_the_integrated_ones() -> None:
    solution = solved()
    t, wanted = integrated(solution.x)
    sample = solution.at(t)
    # the gaps between segments are within the solver's tolerance, and grow along the motion
    assert sample.q[:, 0] == pytest.approx(wanted[:, 0], abs=1e-6)
    assert sample.v[:, 0] == pytest.approx(wanted[:, 1], abs=1e-5)
    assert np.abs(sample.tau[:, 0]).max() < 1e-9 * np.abs(sample.tau[:, 1]).max()


def test_solution_contents() -> None:
    solution = solved()
    assert solution.passive == ("joint1",)
    assert "Hybrid" in solution.provenance["transcription"]
    assert sum(solution.costs.values()) == pytest.approx(solution.objective, rel=1e-12)
    (curve,) = solution.curves
    assert curve.degree == 5
    assert len(np.unique(curve.knots)) == SEGMENTS * STEPS + 1


def test_save_and_load(tmp_path: Path) -> None:
    solution = solved()
    solution.save(tmp_path / "swing.h5")
    again = predyn.load_solution(tmp_path / "swing.h5")
    assert again.passive == solution.passive
    assert again.objective == solution.objective
    for mine, other in zip(solution.curves[0], again.curves[0], strict=True):
        assert np.array_equal(mine, other)
    t = np.linspace(0.0, 3.0, 50)
    assert all(np.array_equal(x, y) for x, y in zip(solution.at(t), again.at(t), strict=True))


@pytest.mark.parametrize("shooting", ["multiple", "single"])
def test_resume(tmp_path: Path, shooting: str) -> None:
    made = problem(Hybrid(segments=SEGMENTS, steps=STEPS, shooting=shooting))  # type: ignore
    solution = solved() if shooting == "multiple" else predyn.solve(made, guess=solved()).check()
    solution.save(tmp_path / "swing.h5")
    again = predyn.solve(made, resume=tmp_path / "swing.h5").check()
    assert again.iterations <= 3
    assert again.objective == pytest.approx(solution.objective, rel=1e-6)


def test_single_shooting_finds_the_same() -> None:
    """Start from its solution; the states between segments follow by integration."""
    method = Hybrid(segments=SEGMENTS, steps=STEPS, shooting="single")
    found = predyn.solve(problem(method), guess=solved()).check()
    assert found.objective == pytest.approx(solved().objective, rel=1e-6)
    t = np.linspace(0.0, 3.0, 100)
    assert found.at(t).q == pytest.approx(solved().at(t).q, abs=1e-4)


# -- as a guess ---------------------------------------------------------------------------------


def test_solution_reproduces_itself_as_guess() -> None:
    """Control points are found again by a fit of a curve that the spline holds."""
    program = transcribe(problem(Hybrid(segments=SEGMENTS, steps=STEPS)))
    assert first_guess(program, solved()) == pytest.approx(solved().x, abs=1e-9)


def test_a_guess_for_splines() -> None:
    program = transcribe(problem(Spline(segments=SEGMENTS)))
    (curve,) = program.curves(first_guess(program, solved()))
    s = np.linspace(0.0, 1.0, 200)
    near, wanted = states(curve, s, 0)[0], solved().at(3.0 * s).q
    assert near[:, 1] == pytest.approx(wanted[:, 1], abs=1e-9)  # the same spline
    assert near[:, 0] == pytest.approx(wanted[:, 0], abs=0.05)  # as near as 15 numbers can be
    assert by_splines().status == "exceeds_limits"
    assert by_splines().max_violation < 1e-7  # at the points all is well
    assert "passive torque joint1" in by_splines().message


def test_a_guess_from_splines() -> None:
    program = transcribe(problem(Hybrid(segments=SEGMENTS, steps=STEPS)))
    x = first_guess(program, by_splines())
    program.move(x)
    (phase,) = program.phases
    q, v, _ = states(by_splines().curves[0], phase.spline.breaks)
    assert phase.nodes == pytest.approx(np.stack([q[:, 0], v[:, 0]], axis=1), abs=1e-9)
    assert phase.control[:, 1] == pytest.approx(by_splines().curves[0].control[:, 1], abs=1e-9)

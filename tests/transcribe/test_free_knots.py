"""Free knots find better motions, and the joined curve is the same motion."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.nlp import check_derivatives
from predyn.terms import Effort, Periodic
from predyn.transcribe.free_knots import split
from predyn.transcribe.guess import first_guess


def task(name: str, knots: str, segments: int = 10) -> predyn.Problem:
    problem = predyn.load_task(name)
    spline = replace(problem.transcription, knots=knots, segments=segments)
    return replace(problem, transcription=spline)


@pytest.mark.parametrize(
    ("name", "best"),
    [("two-link-time-optimal", 0.3918545), ("arm-2r-min-effort", 71.70298)],
)
def test_free_knots_approach_the_continuous_optimum(name: str, best: float) -> None:
    fixed, free = (predyn.solve(task(name, knots)).check() for knots in ("clamped", "free"))
    assert best < free.objective < fixed.objective
    assert free.objective - best < 0.6 * (fixed.objective - best)


def test_the_pieces_are_one_smooth_curve() -> None:
    problem = task("arm-2r-min-effort", "free", 6)
    solution = predyn.solve(problem).check()
    (curve,) = solution.curves
    assert solution.duration == pytest.approx(2.0, abs=1e-9)
    assert (np.diff(solution.t) > 0.0).all()
    assert np.unique(curve.knots).size == 7
    shares = np.diff(np.unique(curve.knots))
    assert shares.std() > 0.01  # they did move
    inner = solution.duration * np.unique(curve.knots)[1:-1]
    left, right = solution.at(inner - 1e-9), solution.at(inner + 1e-9)
    for x, y in ((left.q, right.q), (left.v, right.v), (left.a, right.a)):
        # 2e-9 s times the next derivative, which is below 1e4 here
        assert np.abs(x - y).max() < 1e-4
    at = solution.at(solution.t)
    tau = predyn.inverse_dynamics(solution.model, at.q, at.v, at.a)
    assert tau == pytest.approx(solution.tau, abs=1e-6 * np.abs(tau).max())


def test_derivatives() -> None:
    program = split(task("two-link-lifting", "free", 3), 0.52)
    rng = np.random.default_rng(3)
    x = first_guess(program) + 0.02 * rng.standard_normal(program.n)
    assert check_derivatives(program, np.clip(x, program.x_lower, program.x_upper)).ok


def test_a_fixed_duration_is_kept_and_a_free_one_stays_in_bounds(tmp_path: Path) -> None:
    problem = task("two-link-time-optimal", "free", 5)
    (phase,) = problem.phases
    slow = replace(problem, phases=(replace(phase, duration=predyn.Duration(0.6, 3.0, 1.0)),))
    solution = predyn.solve(slow).check()
    assert solution.duration == pytest.approx(0.6, abs=1e-6)
    solution.save(tmp_path / "free.h5")
    assert len(predyn.load_solution(tmp_path / "free.h5").systems) in (0, 1)


def test_unsupported_free_knots_are_refused() -> None:
    problem = task("two-link-lifting", "free")
    two = replace(problem, phases=problem.phases * 2)
    assert any("single phase" in text for text in two.validate())
    periodic = replace(problem, constraints=(predyn.Constraint(Periodic()),))
    assert any("'free' cannot be combined with" in text for text in periodic.validate())
    bounded = predyn.Constraint(Effort(), upper=50.0, integral=True)
    assert replace(problem, constraints=(bounded,)).validate()

"""Solutions as guesses: the same program, neighbours, other programs; attempts after failures."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import predyn
from predyn import InputError, tasks
from predyn.nlp import Multipliers
from predyn.problem import Problem
from predyn.solution import Solution
from predyn.solving.retrying import run_with_retries
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.unpack import multipliers_of

QUICK = (
    "arm6-pick",
    "manutec-min-time",
    "two-link-pick-place",
    "two-link-time-optimal",
    "cart-pole-swingup",
)


@cache
def problem(name: str) -> Problem:
    return predyn.load_task(tasks.path_of(name))


@cache
def cold(name: str) -> Solution:
    return predyn.solve(problem(name)).check()


def neighbours(task: Problem) -> list[Problem]:
    """Goals and masses that differ by 1 %."""
    found = []
    for factor in (0.99, 1.01):
        phase, model = task.phases[-1], task.model
        if phase.end.q is not None:
            end = replace(phase.end, q=factor * np.asarray(phase.end.q, float))
            found.append(replace(task, phases=(*task.phases[:-1], replace(phase, end=end))))
        heaviest = int(np.argmax(model.inertia[:, 0]))
        mass = factor * model.inertia[heaviest, 0]
        found.append(replace(task, model=model.with_mass(model.link_names[heaviest], mass)))
    return found


LONG = ("human-walk", "human-walk-published")  # many seconds; the former starts on coarser segments


# test_among_obstacles.py has guesses of motions among obstacles, which take several programs
SINGLE = [x for x in tasks.NAMES if x not in LONG and not x.startswith("robot-")]


@pytest.mark.parametrize("name", SINGLE)
def test_the_same_program_again(name: str) -> None:
    known = cold(name)
    again = predyn.solve(problem(name), guess=known)
    assert again.success
    assert again.iterations <= 3 < known.iterations
    assert again.objective == pytest.approx(known.objective, rel=1e-6)


def test_neighbours_take_at_most_half_of_the_iterations() -> None:
    shares = []
    for name in QUICK:
        for other in neighbours(problem(name)):
            afresh = predyn.solve(other).check()
            warm = predyn.solve(other, guess=cold(name)).check()
            assert warm.objective <= afresh.objective * (1.0 + 1e-6)
            shares.append(warm.iterations / afresh.iterations)
    assert len(shares) >= 18
    assert np.median(shares) <= 0.5


def test_the_guess_meets_other_ends_smoothly() -> None:
    """Goals that differ by 1 % change speeds by about as much, and not by a step at the end."""
    name = "manutec-min-time"
    (other, *_) = neighbours(problem(name))
    program = transcribe(other)
    (curve,) = program.curves(first_guess(program, cold(name)))
    before, spline = cold(name).curves[0], predyn.curves.bspline.BSpline(curve.degree, curve.knots)
    s = np.linspace(0.0, 1.0, 200)
    speed, known = (
        spline.evaluate(c.control, s, c.duration, derivatives=1)[1] for c in (curve, before)
    )
    goal = np.abs(np.asarray(other.phases[-1].end.q) - before.control[-1]).max()
    assert np.abs(speed - known).max() < 3.0 * goal / before.duration


def test_multipliers_are_matched_by_name() -> None:
    name = "two-link-time-optimal"
    known = cold(name)
    task = problem(name)
    slower = replace(
        task,
        constraints=(*task.constraints, predyn.Constraint(predyn.terms.JointVelocity(), -9, 9)),
    )
    program = transcribe(slower)
    found = multipliers_of(program, known)
    assert found is not None
    for key, part in program.g_blocks():
        wanted = known.multipliers.get(key)
        if wanted is None:
            assert not found.g[part].any()
        else:
            assert found.g[part].tolist() == wanted.tolist()
    finer = replace(task, transcription=replace(task.transcription, segments=40))
    assert multipliers_of(transcribe(finer), known) is None


def test_options_of_a_solve_stay_out_of_programs_and_solutions() -> None:
    """A barrier parameter to resume with is that of one solve."""
    task = problem("two-link-time-optimal")
    program = transcribe(task)
    found = predyn.solve(program, resume=cold(task.name)).check()
    assert program.problem.solver == task.solver
    assert found.problem is not None
    assert found.problem.solver == task.solver


def test_resume_accepts_a_solution() -> None:
    name = "two-link-time-optimal"
    stopped = predyn.solve(problem(name), report=lambda iterate: iterate.iteration < 12)
    assert stopped.status == "interrupted"
    on = predyn.solve(problem(name), resume=stopped).check()
    assert on.objective == pytest.approx(cold(name).objective, rel=1e-7)
    assert on.iterations < cold(name).iterations
    with pytest.raises(InputError, match="resume: expected the path of a file or a Solution"):
        predyn.solve(problem(name), resume=3)  # type: ignore[arg-type]


# -- further attempts ---------------------------------------------------------------------------


def attempts(statuses: list[str], multipliers: bool, **solver: Any) -> tuple[Solution, list[Any]]:
    """Run a program whose attempts end with given statuses."""
    task = problem("two-link-time-optimal")
    program = transcribe(replace(task, solver=replace(task.solver, **solver)))
    x0 = first_guess(program)
    zero = Multipliers(np.zeros(program.m), np.zeros(program.n), np.zeros(program.n))
    calls: list[Any] = []

    def run(program: Any, x: Any, start: Any) -> Solution:
        calls.append((program.problem.solver, program.f_scale, x, start is not None))
        status = statuses[len(calls) - 1]
        timings = {"solve": 1.0, "evaluate": 0.1, "transcribe": 0.0, "check": 0.0}
        return replace(cold(task.name), status=status, iterations=7, timings=timings, message="x")

    return run_with_retries(run, program, x0, zero if multipliers else None), calls


def test_a_failed_warm_start_is_repeated_without_multipliers() -> None:
    found, calls = attempts(["infeasible", "optimal"], multipliers=True)
    assert [call[3] for call in calls] == [True, False]
    assert (found.status, found.iterations, found.solve_seconds) == ("optimal", 14, 2.0)
    assert "found without the multipliers of the guess" in found.message
    assert "the first attempt ended with infeasible" in found.message


def test_other_paths_where_the_optimality_conditions_contradict() -> None:
    found, calls = attempts(["diverged"] * 4, multipliers=False)
    assert found.status == "diverged"
    assert "also tried with a smaller scaled objective and" in found.message
    assert [call[0].hessian for call in calls] == ["exact", "exact", "gauss_newton", "exact"]
    assert calls[1][1] == 100.0 * calls[0][1] == 100.0 * calls[2][1]
    moved = np.abs(calls[3][2] - calls[0][2]).max()
    assert 0.0 < moved < 0.5
    found, calls = attempts(["diverged", "diverged", "optimal"], multipliers=False)
    assert found.status == "optimal"
    assert "found with Gauss-Newton second derivatives" in found.message
    found, _ = attempts(["diverged", "iteration_limit"], multipliers=False)
    assert found.status == "diverged"
    assert found.message == "x; also tried with a smaller scaled objective"


def test_no_attempt_after_a_stop_or_without_time() -> None:
    for status in ("interrupted", "time_limit", "iteration_limit", "optimal"):
        found, calls = attempts([status], multipliers=True)
        assert len(calls) == 1
        assert found.message == "x"
    _, calls = attempts(["diverged"] * 4, multipliers=False, max_seconds=2.5)
    assert [call[0].max_seconds for call in calls] == [2.5, 1.5, 0.5]

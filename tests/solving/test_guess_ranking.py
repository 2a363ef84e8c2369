"""The branch on which a solve starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from predyn.models import two_link
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.solvers.ipopt import solve_nlp
from predyn.solving import guess_ranking, solve
from predyn.solving.guess_ranking import best_branch, coarse_problem, starting_point
from predyn.terms import Effort, FramePosition, TotalTime
from predyn.transcribe.branches import routes
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe

ELBOW = 0.3  # m, least height of the elbow


def above_the_floor(task: Problem) -> Problem:
    """The six-axis arm starts with a bend whose nearest branch has the elbow below the floor."""
    start = State(np.radians([-35.0, 60.0, -60.0, -20.0, -90.0, 0.0]), np.zeros(6), np.zeros(6))
    heights = [
        Constraint(FramePosition(frame, (None, None, 0.0)), lower=height, name=f"floor {frame}")
        for frame, height in (("forearm", ELBOW), ("wrist1", 0.1), ("tool", 0.1))
    ]
    phase = replace(task.phases[0], start=start)
    return replace(task, phases=(phase,), constraints=(*task.constraints, *heights))


def between_the_elbows() -> Problem:
    """Straight lines to both branches of a planar arm go below its floors, and the nearest one
    cannot be bent to stay above them.
    """
    heights = [
        Constraint(FramePosition(frame, (None, 0.0, None)), lower=low, name=f"floor {frame}")
        for frame, low in (("tip", 0.01), ("link2", 0.08))
    ]
    goal = Constraint(FramePosition("tip", (0.188, 0.02, 0.0)), at="end")
    return Problem(
        two_link(),
        (Phase(Duration(0.2, 3.0, 0.9), State((0.982, 0.723), (0, 0)), State(v=(0, 0))),),
        costs=(Cost(TotalTime()), Cost(Effort(), 0.01)),
        constraints=(goal, *heights),
        transcription=Spline(segments=12),
        guess="inverse_kinematics",
    )


@pytest.mark.parametrize("guess", ["auto", "inverse_kinematics"])
def test_an_elbow_below_the_floor_is_avoided(guess: str) -> None:
    problem = replace(above_the_floor(predyn.load_task("arm6-pick")), guess=guess)
    program = transcribe(problem)
    nearest = solve_nlp(program, first_guess(program), problem.solver)
    assert nearest.status == "infeasible"  # the branch that other ones replace
    found = solve(problem).check()
    elbow = found.channel("frame:forearm", np.linspace(0.0, found.duration, 401))[:, 11]
    assert elbow.min() > ELBOW - 1e-3


def test_a_clear_guess_is_kept_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    program = transcribe(predyn.load_task("arm6-pick"))

    def unexpected(*_: object) -> None:
        raise AssertionError("a search that was not needed")

    monkeypatch.setattr(guess_ranking, "routes", unexpected)
    monkeypatch.setattr(guess_ranking, "solve_nlp", unexpected)
    assert np.array_equal(starting_point(program, (0, 0), False, None), first_guess(program))


def test_coarse_programs_decide_where_no_line_is_clear() -> None:
    problem = between_the_elbows()
    program = transcribe(problem)
    assert not any(route.clear for route in routes(program))
    nearest = solve_nlp(program, first_guess(program), problem.solver)
    assert nearest.status == "infeasible"
    found = solve(problem).check()
    assert found.max_violation_dense < 1e-6
    assert np.array_equal(best_branch(program), best_branch(transcribe(problem)))


def test_the_coarse_problem_keeps_given_break_points() -> None:
    problem = between_the_elbows()
    coarse = coarse_problem(problem)
    assert (coarse.transcription.segments, coarse.transcription.limit_points) == (8, 2)
    assert coarse.solver.tolerance > problem.solver.tolerance
    own = replace(problem, transcription=Spline(knots=tuple(np.linspace(0.0, 1.0, 13) ** 1.1)))
    assert coarse_problem(own).transcription.knots == own.transcription.knots


def test_starts_find_other_branches() -> None:
    problem = above_the_floor(predyn.load_task("arm6-pick"))
    problem = replace(problem, transcription=Spline(segments=10))
    ends = []
    for number in range(4):
        program = transcribe(problem)
        x = starting_point(program, (0, number), False, None)
        ends.append(program.curves(x)[0].control[-1])
    away = [np.abs(a - b).max() for i, a in enumerate(ends) for b in ends[:i]]
    assert min(away) > 0.2

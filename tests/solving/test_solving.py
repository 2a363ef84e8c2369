"""Solving: repeatable, stopped, limited, resumed, started from many guesses."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep

import numpy as np
import pytest

import predyn
from predyn.config import read_task
from predyn.errors import InputError, NotConverged
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.samples import Samples
from predyn.solution import Solution
from predyn.solvers.ipopt_callbacks import Iterate
from predyn.solving import single_solve, solve
from predyn.solving.several_starts import best_of_starts
from predyn.solving.single_solve import evaluate_all
from predyn.terms import Effort, TotalTime, UserTerm
from predyn.transcribe.program import Program

TASK = "two-link-lifting"
DIGEST = """
import sys
import numpy as np
from predyn.solving import solve
s = solve(sys.argv[1])
print(s.iterations, s.x.tobytes().hex(), np.float64(s.objective).tobytes().hex())
"""


def lifting(**solver: object) -> Problem:
    problem = read_task(TASK).problem
    return replace(problem, solver=replace(problem.solver, **solver))


@pytest.fixture(scope="module")
def optimum() -> Solution:
    return solve(TASK).check()


def digest(solution: Solution) -> str:
    f = np.float64(solution.objective).tobytes().hex()
    return f"{solution.iterations} {solution.x.tobytes().hex()} {f}"


# -- the same input ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [TASK, "manutec-min-time"])
def test_equal_input_gives_equal_output(name: str) -> None:
    """Bit for bit: twice here, with another solve in between, and in a separate process."""
    first = digest(solve(name))
    solve("prismatic-revolute")
    assert digest(solve(name)) == first
    run = subprocess.run(
        [sys.executable, "-c", DIGEST, name], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == first


def test_all_fields_of_a_solution_are_the_same(optimum: Solution) -> None:
    again = solve(TASK)
    for name in ("t", "q", "v", "a", "tau", "reactions"):
        assert np.array_equal(getattr(again, name), getattr(optimum, name))
    for name, values in optimum.multipliers.items():
        assert np.array_equal(again.multipliers[name], values)
    assert again.costs == optimum.costs
    assert again.violations == optimum.violations
    assert again.dense_violations == optimum.dense_violations
    assert np.array_equal(again.history["objective"], optimum.history["objective"])


def test_a_problem_by_name_by_path_and_as_an_object(tmp_path: Path, optimum: Solution) -> None:
    text = (Path(predyn.__file__).parent / "tasks" / f"{TASK}.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text)
    for problem in (path, str(path), read_task(TASK).problem):
        assert digest(solve(problem)) == digest(optimum)
    assert solve(path).provenance["task"] == text
    with pytest.raises(predyn.PredynError, match="two-link-lifting"):
        solve("two-link-liftin")


# -- several starts ----------------------------------------------------------------------------


def test_several_starts_give_the_best_and_the_spread() -> None:
    problem = read_task("arm-2r-min-effort").problem
    found = solve(problem, starts=4, seed=3)
    assert [row["start"] for row in found.starts] == [0, 1, 2, 3]
    objectives = [row["objective"] for row in found.starts]
    assert objectives[0] == solve(problem).objective  # the guess itself comes first
    assert found.objective == min(objectives)
    assert max(objectives) > 1.01 * min(objectives)  # there are several local optima
    again = solve(problem, starts=4, seed=3)
    assert again.starts == found.starts
    assert digest(again) == digest(found)


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process")
def test_a_start_whose_process_was_killed_is_repeated() -> None:
    problem = read_task("arm-2r-min-effort").problem

    def kill_one(iterate: Iterate) -> None:
        for process in multiprocessing.active_children()[: iterate.iteration == 1]:
            process.kill()

    undisturbed = solve(problem, starts=3)
    disturbed = solve(problem, starts=3, report=kill_one)
    assert disturbed.starts == undisturbed.starts
    assert digest(disturbed) == digest(undisturbed)


def test_starts_that_cannot_be_sent() -> None:
    problem = read_task(TASK).problem
    with pytest.raises(InputError, match=r"starts: the problem cannot be sent to other processes"):
        best_of_starts(problem, lambda: None, 2, 0, "", None)


@pytest.mark.parametrize("starts", [0, -1, 1.5, "2"])
def test_a_wrong_number_of_starts(starts: object) -> None:
    with pytest.raises(InputError, match="starts: expected a whole number from 1"):
        solve(TASK, starts=starts)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="refine: expected True, False or None, got 'no'"):
        solve(TASK, refine="no")  # type: ignore[arg-type]


# -- stopping and going on ---------------------------------------------------------------------


def test_iteration_limit_and_resuming_from_it(tmp_path: Path, optimum: Solution) -> None:
    path = tmp_path / "there.h5"
    limited = solve(lifting(max_iterations=15), checkpoint=path, checkpoint_seconds=0.0)
    assert limited.status == "iteration_limit"
    assert not limited.success
    kept = predyn.load_solution(path)
    assert kept.status == "interrupted"
    assert kept.iterations == 15
    assert [entry.name for entry in tmp_path.iterdir()] == ["there.h5"]  # no half-written file
    on = solve(TASK, resume=path).check()
    assert on.objective == pytest.approx(optimum.objective, rel=1e-8)
    assert on.iterations < 0.6 * optimum.iterations


def test_resuming_from_the_optimum_takes_a_few_iterations(
    tmp_path: Path, optimum: Solution
) -> None:
    path = tmp_path / "optimum.h5"
    optimum.save(path)
    on = solve(TASK, resume=path).check()
    assert on.iterations <= 7
    assert on.objective == pytest.approx(optimum.objective, rel=1e-8)


def test_resuming_on_another_grid(tmp_path: Path, optimum: Solution) -> None:
    path = tmp_path / "optimum.h5"
    optimum.save(path)
    problem = read_task(TASK).problem
    finer = replace(problem, transcription=replace(problem.transcription, segments=40))
    on = solve(finer, resume=path).check()
    assert on.objective == pytest.approx(solve(finer).objective, rel=1e-7)


def test_a_checkpoint_every_so_many_iterations(tmp_path: Path) -> None:
    path = tmp_path / "every.h5"
    options = {"checkpoint": path, "checkpoint_seconds": 3600.0}
    limited = solve(lifting(max_iterations=12), **options, checkpoint_iterations=5)
    assert limited.status == "iteration_limit"
    assert predyn.load_solution(path).iterations == 9  # the tenth, counted from 0


def test_a_checkpoint_that_is_not_due_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "later.h5"
    solve(TASK, checkpoint=path, checkpoint_seconds=3600.0)
    assert not path.exists()


def test_compiling_does_not_make_a_checkpoint_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(program: Program) -> None:
        evaluate_all(program)
        sleep(1.0)

    monkeypatch.setattr(single_solve, "evaluate_all", slow)
    path = tmp_path / "later.h5"
    solve(TASK, checkpoint=path, checkpoint_seconds=0.9)
    assert not path.exists()


@pytest.mark.parametrize("seconds", [1e-6, 2e-3])
def test_time_limit(seconds: float) -> None:
    """It may end before the first iteration: then the guess is returned."""
    found = solve(lifting(max_seconds=seconds))
    assert found.status == "time_limit"
    assert found.iterations < 15
    assert np.isfinite(found.q).all()
    assert found.message


def test_a_report_sees_every_iterate_and_may_stop(optimum: Solution) -> None:
    seen: list[Iterate] = []
    solve(TASK, report=seen.append)  # type: ignore[arg-type]
    assert [iterate.iteration for iterate in seen] == list(range(optimum.iterations + 1))
    assert seen[-1].objective == pytest.approx(optimum.objective, rel=1e-8)
    named = [iterate.worst for iterate in seen if iterate.violation > 1e-3]
    assert named
    assert all(name.startswith("effort joint") for name in named)
    stopped = solve(TASK, report=lambda iterate: iterate.iteration < 6)
    assert stopped.status == "interrupted"
    assert stopped.iterations == 6
    with pytest.raises(NotConverged, match="interrupted"):
        stopped.check()


def test_an_interrupt_gives_the_best_iterate() -> None:
    def interrupt(iterate: Iterate) -> None:
        if iterate.iteration == 8:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    found = solve(TASK, report=interrupt)
    assert found.status == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
    assert found.iterations < 12
    motion = found.at(0.5 * found.duration)
    assert np.isfinite(motion.tau).all()
    assert found.costs.keys() == {"time", "effort"}
    assert sum(found.costs.values()) == pytest.approx(found.objective, rel=1e-12)
    assert solve(TASK, guess=found).success  # it can be gone on from


def test_an_interrupt_during_the_re_check_keeps_the_solve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    done = solve(TASK)
    with monkeypatch.context() as patched:
        patched.setattr("predyn.transcribe.unpack.dense_violations", interrupt)
        found = solve(TASK)
    assert found.status == "interrupted"
    assert "interrupted during the re-check after the solve: converged" in found.message
    np.testing.assert_array_equal(found.x, done.x)
    assert found.objective == done.objective
    assert np.isnan(found.max_violation_dense)
    found.save(tmp_path / "found.h5")
    again = solve(TASK, resume=tmp_path / "found.h5")
    assert again.status == "optimal"
    assert again.iterations < done.iterations


def test_a_keyboard_interrupt_raised_in_a_report() -> None:
    def interrupt(iterate: Iterate) -> None:
        if iterate.iteration == 5:
            raise KeyboardInterrupt

    try:
        found = solve(TASK, report=interrupt)
    except KeyboardInterrupt:
        return  # raised by the caller's own code, it may go to the caller
    assert found.status == "interrupted"


def test_an_exception_of_a_report_propagates() -> None:
    class Own(Exception):
        pass

    def broken(iterate: Iterate) -> None:
        raise Own("mine")

    with pytest.raises(Own, match="mine"):
        solve(TASK, report=broken)
    assert solve(TASK).success


# -- what cannot be solved ---------------------------------------------------------------------


def test_too_tight_limits_are_infeasible_by_name() -> None:
    """Gravity and load alone need more than 10 N m somewhere on the way, 4 N m are too few."""
    problem = read_task(TASK).problem
    limits = (problem.limits or problem.model.limits)._replace(
        effort=np.array([[-4.0, 4.0], [-1.0, 1.0]])
    )
    found = solve(replace(problem, limits=limits))
    assert found.status == "infeasible"
    assert not found.success
    assert found.max_violation > 1e-3
    assert found.violations[0].name.startswith("effort joint")
    assert found.violations[0].excess > 0.0
    assert "effort joint" in found.message
    with pytest.raises(NotConverged, match="effort joint"):
        found.check()


def user_problem(function: object, weight: float = 1.0) -> Problem:
    problem = read_task(TASK).problem
    term = UserTerm(function, ("q",), name="mine")  # type: ignore[arg-type]
    return replace(problem, costs=(*problem.costs, Cost(term, weight, loss="linear")))


def test_a_user_term_takes_part(optimum: Solution) -> None:
    def level(s: Samples) -> np.ndarray:
        return np.asarray(0.1 * np.cos(s["q"][0]) ** 2)

    found = solve(user_problem(level)).check()
    assert found.costs.keys() == {"time", "effort", "mine"}
    assert found.objective < optimum.objective + 0.1 * found.duration
    assert sum(found.costs.values()) == pytest.approx(found.objective, rel=1e-12)


def test_a_user_term_that_is_not_finite() -> None:
    """NaN at the guess or later: the term is named, in an exception or in a status."""

    def root(s: Samples) -> np.ndarray:
        return np.asarray(np.sqrt(s["q"][0] - 2.0))

    try:
        found = solve(user_problem(root))
    except InputError as error:
        message = str(error)
    else:
        assert found.status == "evaluation_error"
        message = found.message
    assert "mine" in message
    assert "not finite" in message


def test_an_exception_of_a_user_term_propagates() -> None:
    calls = []

    def failing(s: Samples) -> np.ndarray:
        calls.append(1)
        if len(calls) > 30:
            raise ZeroDivisionError("in the term")
        return np.asarray(s["q"][0] ** 2)

    with pytest.raises(ZeroDivisionError, match="in the term") as caught:
        solve(user_problem(failing))
    assert any("mine" in note for note in caught.value.__notes__)


def test_a_wrong_problem_is_refused_before_anything_is_computed() -> None:
    problem = read_task(TASK).problem
    wrong = replace(problem, phases=(replace(problem.phases[0], duration=-1.0),), continuity=7)
    with pytest.raises(InputError) as caught:
        solve(wrong)
    assert "duration" in str(caught.value)
    assert "continuity" in str(caught.value)


# -- Hessians ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hessian"),
    [(TASK, "limited_memory"), (TASK, "gauss_newton"), ("manutec-min-energy", "gauss_newton"),
     ("prismatic-revolute", "gauss_newton")],
)  # fmt: skip
def test_hessians_reach_the_same_optimum(name: str, hessian: str) -> None:
    problem = read_task(name).problem
    exact = solve(problem).check()
    options = replace(problem.solver, hessian=hessian, tolerance=1e-6, max_iterations=3000)
    other = solve(replace(problem, solver=options)).check()
    assert other.objective == pytest.approx(exact.objective, rel=1e-5)


def test_a_linear_least_squares_problem_takes_one_step() -> None:
    """Squares of accelerations are quadratic in the control points: Newton needs one step."""
    problem = Problem(
        predyn.models.two_link(),
        (Phase(1.0, State((0.0, 0.0), (0.0, 0.0)), State((1.0, 2.0), (0.0, 0.0))),),
        costs=(Cost(predyn.terms.JointAcceleration()),),
        limits=predyn.models.two_link().limits._replace(effort=np.tile([-np.inf, np.inf], (2, 1))),
        transcription=Spline(segments=6),
    )
    for hessian in ("exact", "gauss_newton"):
        found = solve(replace(problem, solver=SolverOptions(hessian=hessian))).check()
        assert found.iterations <= 1
        # the cubic from rest to rest: 12 d^2 / T^3, in the spline's space
        assert found.objective == pytest.approx(12.0 * (1.0 + 4.0), rel=1e-10)


def test_bounds_that_hold_for_the_duration() -> None:
    """The fastest motion is faster than the duration allows: it ends at its bound."""
    start, end = State((0.0, -0.5), (0.0, 0.0)), State((0.3, -0.4), (0.0, 0.0))
    problem = Problem(
        predyn.models.two_link(),
        (Phase(Duration(0.9, 2.0, 1.5), start, end),),
        costs=(Cost(TotalTime()), Cost(Effort(), 1e-6)),
        constraints=(Constraint(Effort(), upper=400.0, integral=True),),
    )
    found = solve(problem).check()
    assert found.duration == pytest.approx(0.9, abs=1e-6)
    assert found.multipliers["x_lower"].max() > 0.5

"""Refined: close to the continuous optimum, and hardly outside a limit anywhere."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import BSpline

import predyn.solving.refinement
import predyn.solving.single_solve
import predyn.tasks
from predyn.config import read_task
from predyn.models import prismatic_revolute
from predyn.solution import Solution
from predyn.solvers.ipopt_callbacks import Iterate
from predyn.solving import solve
from predyn.solving.refinement import halved

BUILT_IN = sorted(path.stem for path in Path(predyn.tasks.__file__).parent.glob("*.toml"))
# acrobots have no limits; tests/movements solves the steps and lifts of people, and motions among
# obstacles, which are not refined, are in test_robot_cells.py
ELSEWHERE = ("human-walk", "human-lift", "robot-")
LIMITED = [x for x in BUILT_IN if "acrobot" not in x and not x.startswith(ELSEWHERE)]
CONTINUOUS = {  # objective, relative distance
    "two-link-time-optimal": (0.3918545, 1e-3),
    "two-link-lifting": (0.8448780, 1e-4),
    "prismatic-revolute": (0.8530628, 1e-4),
    "arm-2r-min-effort": (71.70298, 1e-4),
    "manutec-min-time": (0.4951887, 1e-3),
    "manutec-min-energy": (20.404247, 2e-4),
}


@cache
def refined(name: str) -> Solution:
    return solve(name, refine=True).check()


def dense(solution: Solution, count: int = 7919) -> np.ndarray:
    """Instants that lie on no grid."""
    return np.linspace(0.0, solution.duration, count)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_close_to_the_continuous_optimum(name: str) -> None:
    wanted, off = CONTINUOUS[name]
    found = refined(name)
    assert found.objective == pytest.approx(wanted, rel=off)
    if name == "two-link-time-optimal":
        assert found.duration == pytest.approx(0.3918545, rel=1e-3)


def test_the_other_interpretation_of_the_slide() -> None:
    task = read_task("prismatic-revolute").problem
    found = solve(replace(task, model=prismatic_revolute(0.0)), refine=True)
    assert found.objective == pytest.approx(0.7732348, rel=1e-4)
    assert found.duration == pytest.approx(0.5857839, rel=1e-4)


@pytest.mark.parametrize("name", LIMITED)
def test_limits_are_hardly_exceeded_anywhere(name: str) -> None:
    """Less than 0.1 % of the limit, both as reported and as measured here."""
    found = refined(name)
    assert found.max_violation_dense < 1e-3
    motion = found.at(dense(found))
    for kind, values in zip(
        ("position", "velocity", "acceleration", "effort"),
        (motion.q, motion.v, motion.a, motion.tau),
        strict=True,
    ):
        lower, upper = getattr(found.limits, kind).T
        with np.errstate(invalid="ignore", divide="ignore"):
            over = np.maximum((values - upper) / np.abs(upper), (lower - values) / np.abs(lower))
        over = np.where(np.isfinite(over), over, 0.0)
        assert over.max() < 1.05e-3


def test_time_optimal_torques_are_bang_bang() -> None:
    found = refined("two-link-time-optimal")
    torque = found.at(dense(found)[1:-1]).tau
    at_bound = (np.abs(torque) >= 0.98 * 10.0).any(axis=1)
    assert at_bound.mean() >= 0.95
    # joint 1 switches at half time, joint 2 at 0.04571 and 0.23530 s, to the width of two segments
    t = dense(found)
    width = 2 * found.duration / (len(found.curves[0].control) - 3)
    tau = found.at(t).tau
    for joint, switches in ((0, [0.5 * found.duration]), (1, [0.04571, 0.23530])):
        changes = t[1:][np.diff(np.sign(tau[:, joint])) != 0]
        assert len(changes) == len(switches)
        assert np.abs(changes - switches).max() < width


def test_halving_keeps_the_spline_and_the_phases() -> None:
    task = read_task("two-link-lifting").problem
    knots = (0.0, 0.2, 0.7, 1.0)
    given = replace(
        task,
        phases=(replace(task.phases[0], segments=None),),
        transcription=replace(task.transcription, knots=knots),
    )
    assert halved(given).transcription.knots == pytest.approx((0, 0.1, 0.2, 0.45, 0.7, 0.85, 1))
    own = replace(task, phases=(replace(task.phases[0], segments=7),))
    assert halved(own).phases[0].segments == 14
    assert halved(own).transcription.segments == 2 * task.transcription.segments


def test_refinement_stops_at_its_limits() -> None:
    task = read_task("two-link-time-optimal").problem
    once = replace(task, transcription=replace(task.transcription, max_refinements=1))
    tight = replace(once.transcription, refine_tolerance=1e-9)
    found = solve(replace(once, transcription=tight), refine=True)
    assert len(found.curves[0].control) == 43  # halved once, however much is left
    assert found.success
    none = replace(once.transcription, max_refinements=0)
    found = solve(replace(once, transcription=none), refine=True)
    assert len(found.curves[0].control) == 23


def test_a_task_may_ask_for_refinement() -> None:
    task = read_task("manutec-min-time").problem
    asked = replace(task, transcription=replace(task.transcription, refine=True))
    assert len(solve(asked).curves[0].control) > 23
    assert len(solve(asked, refine=False).curves[0].control) == 23


def test_a_refined_solution_keeps_all_timings() -> None:
    found = refined("manutec-min-time")
    assert set(found.timings) >= {"transcribe", "solve", "evaluate", "check"}
    assert found.solve_seconds == found.timings["solve"]
    curve = found.curves[0]
    assert BSpline(curve.knots, curve.control, curve.degree)(0.0) == pytest.approx(found.q[0])


@pytest.mark.parametrize("where", ["transcribe", "fit", "solve", "report"])
def test_an_interrupt_keeps_the_level_that_converged(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in any part of the second level, or a report that stops it."""
    coarse = solve("two-link-time-optimal")
    functions = {"transcribe": "transcribe", "fit": "starting_point", "solve": "solve_nlp"}
    calls = [0]

    def stop_the_second(*args: object, **options: object) -> object:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt
        return original(*args, **options)

    if where != "report":
        original = getattr(predyn.solving.single_solve, functions[where])
        monkeypatch.setattr(predyn.solving.single_solve, functions[where], stop_the_second)

    def report(iterate: Iterate) -> bool:
        calls[0] += where == "report" and iterate.iteration == 0
        return not (where == "report" and calls[0] == 2 and iterate.iteration == 3)

    found = solve("two-link-time-optimal", refine=True, report=report)
    assert calls[0] == 2
    assert found.status == "interrupted"
    assert "interrupted during refinement; this is the last converged motion" in found.message
    assert found.objective == coarse.objective
    assert np.array_equal(found.curves[0].control, coarse.curves[0].control)


@pytest.mark.parametrize("where", ["split", "first_guess", "run_program", "joined"])
def test_an_interrupt_while_knots_are_freed_keeps_equal_segments(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = read_task("arm-2r-min-effort").problem
    equal = solve(task)

    def stop(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(predyn.solving.refinement, where, stop)
    free = replace(task, transcription=replace(task.transcription, knots="free"))
    found = solve(free)
    assert found.status == "interrupted"
    assert "interrupted during the solve with free knots" in found.message
    assert found.objective == equal.objective

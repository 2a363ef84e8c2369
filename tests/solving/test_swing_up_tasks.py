"""The built-in tasks with passive joints: optima as in their files, replays, either method."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predyn.config import read_task, task_names
from predyn.problem import Hybrid, Spline
from predyn.solution import Solution
from predyn.solving import solve

OPTIMA = {  # of the guess in the file
    "acrobot-swingup": 10.6595,
    "acrobot-swingup-far": 10.932,
    "branched-acrobot-swingup": 15.1116,
    "cart-pole-swingup": 57.956,
    "gymnast-swing": 0.56028,
}


@cache
def solved(name: str) -> Solution:
    return solve(name).check()


def test_the_list_of_swing_up_tasks_is_complete() -> None:
    found = {name: read_task(name).problem for name in task_names()}
    passive = [name for name, x in found.items() if x.passive and not x.phases[0].contacts]
    assert sorted(passive) == sorted(OPTIMA)


@pytest.mark.parametrize("name", OPTIMA)
def test_optimum_equals_that_of_the_file(name: str) -> None:
    found = solved(name)
    assert found.objective == pytest.approx(OPTIMA[name], rel=1e-4)
    assert re.search(rf"\b{re.escape(f'{OPTIMA[name]:.5g}')}", read_task(name).text)
    assert found.passive == read_task(name).problem.passive
    assert "Hybrid" in found.provenance["transcription"]


@pytest.mark.parametrize("name", OPTIMA)
def test_torques_reproduce_the_motion(name: str) -> None:
    run = predyn.replay(solved(name))
    assert run.status == "finished"
    assert run.end_position_error < 0.02  # rad, m
    assert run.end_velocity_error < 0.05
    assert run.max_energy_error < 1e-6 * np.ptp(run.energy)


@pytest.mark.parametrize("name", OPTIMA)
def test_one_setting_switches_to_splines(name: str) -> None:
    objectives = []
    for method, kind in (("spline", Spline), ("hybrid", Hybrid)):
        problem = read_task(name, method=method).problem
        assert type(problem.transcription) is kind
        finer = replace(problem.transcription, segments=160)
        found = solve(replace(problem, transcription=finer))
        if kind is Spline and not found.success:  # cubic: the objective converges, torques do not
            assert found.status == "exceeds_limits"
            assert "passive torque" in found.message
        else:
            found.check()
        objectives.append(found.objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=0.01)


def test_swing_ups_match_the_published_ones() -> None:
    for name, start in (("acrobot-swingup", -1.0), ("acrobot-swingup-far", -1.3),
                        ("branched-acrobot-swingup", -1.0)):  # fmt: skip
        problem = read_task(name).problem
        (phase,) = problem.phases
        assert phase.duration == 3.0
        legs = problem.model.n - 1
        np.testing.assert_array_equal(phase.start.q, [start, *[0.0] * legs])
        np.testing.assert_array_equal(phase.end.q, [np.nan, *[0.0] * legs])
        np.testing.assert_array_equal(phase.end.v, [np.nan, *[0.0] * legs])
        assert not np.any(phase.start.v)
        position, speed, effort = problem.costs
        assert (position.term.kind, position.at, position.weight) == ("position", "end", 1000.0)
        assert position.term.target == pytest.approx(np.pi / 2, rel=1e-15)
        assert (speed.term.kind, speed.at, speed.weight) == ("velocity", "end", 1000.0)
        assert list(position.term.joints) == list(speed.term.joints) == ["joint1"]
        assert (effort.weight, len(effort.term.joints)) == (0.5, legs)


def test_gymnast_keeps_to_body_and_bar() -> None:
    found = solved("gymnast-swing")
    assert found.max_violation_dense < 0.01
    hips = predyn.dynamics.frame_kinematics(found.model, "thighs", found.q).p
    assert np.linalg.norm(hips, axis=1).min() > 0.5  # m: the body stays away from the bar

"""Charts of what costs and constraints look at: the right numbers, with the right bounds."""

from dataclasses import replace

import numpy as np
import pytest

from fake_solution import fake_solution
from predyn.config import load_task, task_names
from predyn.problem import Constraint, Cost, Phase, Problem
from predyn.terms import (
    Effort,
    FramePosition,
    FrameVelocity,
    JointJerk,
    JointPosition,
    MechanicalEnergy,
    Periodic,
    TotalTime,
)
from predyn.view.sheets import Times
from predyn.view.term_charts import term_charts

LENGTH = 0.4  # m, of both links


def charted(constraints=(), costs=(), phases=({}, {})):
    """Charts by title, and the lists of times, of a motion in two phases."""
    solution = fake_solution(phases=2)
    parts = tuple(Phase(0.6, **part) for part in phases)
    problem = Problem(solution.model, parts, costs=costs, constraints=constraints)
    times = Times()
    charts = term_charts(replace(solution, problem=problem), times)
    return solution, {spec["title"]: spec for spec in charts}, times.lists


def values(spec, name, lists):
    """Times and values of a curve where it has some."""
    (line,) = (line for line in spec["series"] if line["name"] == name)
    pairs = zip(lists[line["x"]], line["y"], strict=True)
    return np.array([pair for pair in pairs if pair[1] is not None]).T


def test_a_frame_is_drawn_where_it_is_and_not_relative_to_its_goal():
    goal = Constraint(FramePosition("tip", (0.3, None, None)), at="end", name="reach")
    solution, charts, lists = charted(phases=({}, {"constraints": (goal,)}))
    spec = charts["Reach"]
    t, x = values(spec, "tip x", lists)
    q = solution.at(np.clip(t, 0.0, 1.2)).q
    # closed form: each link is 0.4 m long
    assert x == pytest.approx(
        LENGTH * (np.cos(q[:, 0]) + np.cos(q.sum(axis=1))), rel=1e-4, abs=1e-6
    )
    assert (t[0], t[-1]) == pytest.approx((0.6, 1.2))  # in the second phase only
    ((mark, at),) = [(mark["y"], mark["x"]) for mark in spec["marks"]]
    assert (mark, at) == pytest.approx((0.3, 1.2))


def test_bounds_of_all_phases_are_limits_and_those_of_one_are_drawn_there():
    slow = Constraint(FrameVelocity("tip", (0.0, None, None)), -0.5, 0.7, name="slow")
    _, charts, _ = charted(constraints=(slow,))
    assert [line["limits"] for line in charts["Slow"]["series"]] == [[-0.5, 0.7]]
    _, charts, lists = charted(phases=({}, {"constraints": (slow,)}))
    curve, *bounds = charts["Slow"]["series"]
    assert "limits" not in curve
    assert [line["y"] for line in bounds] == [[-0.5, -0.5], [0.7, 0.7]]
    assert lists[bounds[0]["x"]] == pytest.approx([0.6, 1.2])


def test_power_and_jerk_are_drawn_and_what_has_a_chart_already_is_not():
    costs = (Cost(Effort()), Cost(TotalTime()), Cost(MechanicalEnergy()), Cost(JointJerk()))
    pair = Constraint(Periodic())
    solution, charts, lists = charted(constraints=(pair,), costs=costs)
    assert set(charts) == {"Energy", "Jerk"}
    assert charts["Energy"]["unit"] == "W"
    t, power = values(charts["Energy"], "joint2", lists)
    first = t < 0.6 - 1e-6
    sample = solution.at(t[first])
    assert power[first] == pytest.approx(sample.tau[:, 1] * sample.v[:, 1], rel=1e-3, abs=1e-3)


def test_angles_are_in_degrees():
    bent = Constraint(JointPosition(joints=("joint2",)), -2.5, -0.5)
    solution, charts, lists = charted(constraints=(bent,))
    (spec,) = charts.values()
    assert spec["unit"] == "°"
    t, angle = values(spec, "joint2", lists)
    assert angle == pytest.approx(np.degrees(solution.at(np.clip(t, 0, 1.2)).q[:, 1]), rel=1e-4)
    assert spec["series"][0]["limits"] == pytest.approx(np.degrees([-2.5, -0.5]), rel=1e-4)


def test_a_stored_solution_has_no_problem_and_no_such_charts():
    assert term_charts(fake_solution(), Times()) == []


def test_all_packaged_tasks_can_be_charted():
    for name in task_names():
        problem = load_task(name)
        model, count = problem.model, len(problem.phases)
        solution = replace(fake_solution(phases=count, model=model), problem=problem)
        for spec in term_charts(solution, Times()):
            assert spec["series"]

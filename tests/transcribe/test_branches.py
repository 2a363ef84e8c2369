"""Branches of inverse kinematics and the routes over them, against closed forms and Pinocchio."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pinocchio as pin
import pytest

import predyn
from oracles.pinocchio_oracle import pinocchio_model, placement_of
from predyn.model.orientations import rotation_of
from predyn.models import two_link
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.terms import Effort, FrameOrientation, FramePosition, JointVelocity, TotalTime
from predyn.transcribe.branches import nearest_route, routes
from predyn.transcribe.guess import first_guess, random_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.posture_rows import PostureRows
from predyn.transcribe.way_points import way_points

LENGTH = 0.4  # of both links
REST = (0.0, 0.0)
FREE = Duration(0.2, 2.0, 0.9)


def reach(*phases: Phase, constraints: tuple = (), **more: object) -> Problem:
    return Problem(
        two_link(),
        phases,
        costs=(Cost(TotalTime()), Cost(Effort(), 0.01)),
        constraints=constraints,
        transcription=Spline(segments=6),
        guess="inverse_kinematics",
        **more,  # type: ignore[arg-type]
    )


def to_goals(*constraints: Constraint) -> Problem:
    """From a given posture to a free one."""
    return reach(Phase(FREE, State((0.3, 0.4), REST), State(v=REST)), constraints=constraints)


def goal(*target: float, at: object = "end") -> Constraint:
    return Constraint(FramePosition("tip", target), at=at)  # type: ignore[arg-type]


def both_branches(x: float, y: float) -> list[np.ndarray]:
    """Law of cosines."""
    bend = np.arccos((x**2 + y**2 - 2 * LENGTH**2) / (2 * LENGTH**2))
    return [np.array([np.arctan2(y, x) - s * bend / 2, s * bend]) for s in (1.0, -1.0)]


def tip(q: np.ndarray) -> np.ndarray:
    q1, q12 = q[..., 0], q[..., 0] + q[..., 1]
    return LENGTH * np.stack((np.cos(q1) + np.cos(q12), np.sin(q1) + np.sin(q12)), axis=-1)


def same_turn(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs((a - b + np.pi) % (2 * np.pi) - np.pi).max())


def test_a_planar_arm_has_two_branches() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        q = rng.uniform((-2.0, 0.5), (2.0, 2.5))
        x, y = tip(q)
        asked = to_goals(goal(x, y, 0))
        found = [route.points[-1] for route in routes(transcribe(asked))]
        assert len(found) == 2
        for wanted in both_branches(x, y):
            # positions to 1e-8 m; bent by at least 0.5 rad the condition number is below 10
            assert min(same_turn(wanted, mine) for mine in found) < 1e-6


def test_branches_of_a_six_axis_arm_reach_the_pose() -> None:
    task = predyn.load_task("arm6-pick")
    found = routes(transcribe(task))
    assert len(found) >= 6
    term = task.constraints[0].term
    link, placement = placement_of(task.model, "tool", (0.0, 0.0, 0.0))
    other = pinocchio_model(task.model)
    data = other.createData()
    low, high = task.model.limits.position.T
    for k, route in enumerate(found):
        q = route.points[-1]
        assert np.all((q >= low) & (q <= high))
        pin.forwardKinematics(other, data, q)
        pose = data.oMi[link] * placement
        assert pose.translation == pytest.approx(np.array(term.position), abs=1e-7)
        assert np.abs(pose.rotation - rotation_of(term.orientation, "")).max() < 1e-7
        assert all(same_turn(q, x.points[-1]) > 0.2 for x in found[:k])


def test_the_shortest_route_over_two_goals() -> None:
    """Without bounds on postures: the least sum of the legs over all branches, by enumeration."""
    targets = ((0.3, 0.4), (-0.2, 0.5))
    first = Phase(FREE, State((0.3, -1.4), REST), constraints=(goal(*targets[0], 0.0),))
    second = Phase(FREE, end=State(v=REST), constraints=(goal(*targets[1], 0.0),))
    found = routes(transcribe(reach(first, second)))
    assert [route.excess for route in found] == pytest.approx([0.0] * len(found), abs=1e-6)
    start, turns = np.array([0.3, -1.4]), (-2 * np.pi, 0.0, 2 * np.pi)
    lengths = []
    for a, b in product(*(both_branches(*x) for x in targets)):
        legs = []
        for q, near in ((a, start), (b, a)):
            steps = [min(abs(x + t - y) for t in turns) for x, y in zip(q, near, strict=True)]
            legs.append(max(steps))
        lengths.append(sum(legs))
    assert [route.length for route in found[:4]] == pytest.approx(sorted(lengths), abs=1e-5)


def test_the_excess_is_that_of_the_heights() -> None:
    floor = Constraint(FramePosition("link2", (None, 0.0, None)), lower=0.1)
    fast = Constraint(JointVelocity(), -1e-3, 1e-3)  # not of postures
    asked = reach(
        Phase(FREE, State((0.6, 0.4), REST), State(v=REST)),
        constraints=(floor, fast, goal(0.3, 0.3, 0.0)),
    )
    rows = PostureRows(transcribe(asked))
    q = np.random.default_rng(1).uniform(-3.0, 3.0, (50, 2))
    low = np.maximum(0.1 - LENGTH * np.sin(q[:, 0]), 0.0) / 0.1
    assert rows.excess(0, q) == pytest.approx(low, abs=1e-13)
    away = np.abs(tip(q) - 0.3).sum(axis=1)
    assert rows.excess(0, q, 1.0) == pytest.approx(low + away, abs=1e-13)


def test_goals_within_a_phase_are_passed() -> None:
    asked = reach(
        Phase(FREE, State((0.3, 0.4), REST), State((1.6, 0.4), REST)),
        constraints=(goal(0.2, 0.3, 0.0, at=(0.5,)),),
    )
    asked = replace(asked, transcription=Spline(segments=40))
    program = transcribe(asked)
    points = nearest_route(asked, search=True)
    assert [point.s for point in way_points(asked, search=True)] == [0.0, 0.5, 1.0]
    assert tip(points[1]) == pytest.approx([0.2, 0.3], abs=1e-7)
    curve = program.curves(first_guess(program))[0]
    middle = predyn.curves.bspline.BSpline(curve.degree, curve.knots).evaluate(
        curve.control, np.array([0.5]), 1.0
    )[0][0]
    # a cubic spline cuts the corner by a sixth of the bend over a segment
    bend = np.abs(points[0] - 2 * points[1] + points[2]) / 0.5 / 40
    assert np.all(np.abs(middle - points[1]) <= bend / 6 + 1e-12)


def test_bounds_shift_a_goal_and_one_sided_ones_are_none() -> None:
    both = Constraint(FramePosition("tip"), (0.2, 0.3, -0.1), (0.3, 0.4, 0.1), at="end")
    above = Constraint(FramePosition("tip", (None, 0.0, None)), lower=0.1, at="end")
    asked = to_goals(both, above)
    assert tip(nearest_route(asked, search=True)[1]) == pytest.approx([0.25, 0.35], abs=1e-7)


def test_the_goal_that_determines_more_counts() -> None:
    turned = Constraint(FrameOrientation("link1", (0.0, 0.0, 0.5)), at="end")
    along = Constraint(FrameOrientation("tip", (0.0, 0.0, 1.2)), at="end")
    place = goal(
        LENGTH * np.cos(0.5) + LENGTH * np.cos(1.2), LENGTH * (np.sin(0.5) + np.sin(1.2)), 0
    )
    asked = reach(
        Phase(FREE, State((0.3, 0.4), REST), State(v=REST)), constraints=(place, along, turned)
    )
    assert nearest_route(asked, search=True)[1] == pytest.approx([0.5, 0.7], abs=1e-6)


def test_auto_takes_goals_in_reach_and_the_line_otherwise() -> None:
    near, far = to_goals(goal(0.3, 0.4, 0.0)), to_goals(goal(3.0, 0.4, 0.0))
    height = to_goals(Constraint(FramePosition("tip", (None, 0.5, None)), at="end"))
    search = "inverse_kinematics"
    for asked, like in ((near, search), (height, search), (far, "linear")):
        program = transcribe(replace(asked, guess="auto"))
        assert np.array_equal(first_guess(program), first_guess(program, like))
        assert np.isfinite(random_guess(program, 0, 1)).all()
    assert Problem(two_link(), ()).guess == "auto"


def test_given_joints_stay_where_they_are() -> None:
    q = np.array([0.9, 0.8])
    asked = reach(
        Phase(FREE, State((0.3, 0.4), REST), State((np.nan, 0.8), REST)),
        constraints=(goal(*tip(q), 0.0),),
    )
    assert nearest_route(asked, search=True)[1] == pytest.approx(q, abs=1e-6)


def test_starts_vary_branches_way_points_and_durations() -> None:
    first = Phase(FREE, State((0.3, 1.4), REST), State(v=(0.5, np.nan)))
    second = Phase(FREE, end=State(v=REST), constraints=(goal(-0.2, 0.5, 0.0),))
    program = transcribe(reach(first, second))
    found = [random_guess(program, 4, k) for k in range(5)]
    again = [random_guess(program, 4, k) for k in (3, 1, 4, 2, 0)]
    for x, k in zip(again, (3, 1, 4, 2, 0), strict=True):
        assert np.array_equal(x, found[k])
    ends = [program.curves(x)[1].control[-1] for x in found]
    bends = [both_branches(-0.2, 0.5)[k][1] for k in (0, 1)]
    met = {int(np.argmin([abs(end[1] - bend) for bend in bends])) for end in ends}
    assert met == {0, 1}
    between = np.array([program.curves(x)[0].control[-1] for x in found])
    joined = np.array([program.curves(x)[1].control[0] for x in found])
    assert between == pytest.approx(joined, abs=1e-12)
    assert np.ptp(between, axis=0).min() > 0.05
    assert len({program.curves(x)[0].duration for x in found}) == 5

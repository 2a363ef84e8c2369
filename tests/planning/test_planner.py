"""Planned paths: proved, within limits, deterministic; and what happens where there is none."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import predyn
from oracles.mujoco_contacts import MujocoContacts
from planning.shared_problems import load_problem, problem_files
from predyn import Capsule, InputError, Model, ModelBuilder, NotConverged, Obstacle, PoseGoal, Scene
from predyn.collision import Checker, JointPath, certify
from predyn.curves.bspline import BSpline
from predyn.planning import path_search, shortcuts
from predyn.planning.polyline_spline import spline_along
from predyn.planning.sampling import sampling_for

SHARED = os.environ.get("PREDYN_SHARED")
SCENES = Path(SHARED or "") / "data" / "scenes"
STEP = 1e-3  # rad between the samples of a check
LINK = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "com": (0.5, 0.0, 0.0)}


def planar_arm(joints: int = 2, radius: float = 0.05, limit: float = 3.0) -> Model:
    """An arm in the x-y plane; links of 1 m along x, each a capsule."""
    builder = ModelBuilder("arm")
    parent = "world"
    for k in range(joints):
        origin = (1.0, 0.0, 0.0) if k else (0.0, 0.0, 0.0)
        builder.add_link(f"link{k}", parent, f"joint{k}", origin=origin, position=limit, **LINK)
        parent = f"link{k}"
    builder.add_frame("tip", parent, (1.0, 0.0, 0.0))
    return builder.build().with_capsules(
        [Capsule(f"link{k}", (0, 0, 0), (1, 0, 0), radius) for k in range(joints)]
    )


def slider(limit: float = 1.0) -> Model:
    """A small ball that slides along x and y."""
    builder = ModelBuilder("slider")
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "kind": "prismatic", "position": limit}
    builder.add_link("carriage", "world", "x", axis=(1, 0, 0), **solid)
    builder.add_link("ball", "carriage", "y", axis=(0, 1, 0), **solid)
    return builder.build().with_capsules([Capsule("ball", (0, 0, 0), (0, 0, 0), 0.05)])


BOX = Scene((Obstacle("box", "box", (0.3, 0.3, 1.0), (1.5, 0.0, 0.0)),))
LEFT, RIGHT = np.array([0.6, 0.0]), np.array([-0.6, 0.0])


def box(name: str, size: tuple[float, float], at: tuple[float, float]) -> Obstacle:
    return Obstacle(name, "box", (*size, 1.0), (*at, 0.0))


def sampled(points: np.ndarray) -> np.ndarray:
    """Points of a polyline at most STEP apart."""
    rows = [points[:1]]
    for a, b in pairwise(points):
        count = int(np.ceil(np.linalg.norm(b - a) / STEP))
        rows.append(a + (b - a) * np.arange(1, count + 1)[:, None] / count)
    return np.concatenate(rows)


def on_curve(plan: predyn.Plan) -> np.ndarray:
    """Points of the curve at most STEP apart: their speed is at most that of control points."""
    curve = plan.curve
    spline = BSpline(curve.degree, curve.knots)
    apart = np.linalg.norm(np.diff(curve.control, axis=0), axis=1).max()
    speed = curve.degree * apart / np.diff(spline.breaks).min()
    count = int(np.ceil(speed / STEP)) + 1
    (q,) = spline.evaluate(curve.control, np.linspace(0.0, 1.0, count), 1.0, 0)
    return q


def check_plan(
    plan: predyn.Plan, checker: Checker, start: np.ndarray, goal: np.ndarray, every: int = 1
) -> None:
    """What a successful plan must satisfy. Distances of samples share nothing with the proof but
    the distance functions, which other tests compare with coal and MuJoCo."""
    plan.check()
    assert plan.certificate.status == "certified"
    assert certify(plan, checker, margin=plan.margin).status == "certified"
    assert (
        certify(JointPath(plan.path, "linear"), checker, margin=plan.margin).status == "certified"
    )
    low, high = plan.model.limits.position.T
    for points in (on_curve(plan), sampled(plan.path)):
        assert not checker.pairs or checker.distances(points[::every]).min() > plan.margin
        assert (points >= low).all()
        assert (points <= high).all()
        np.testing.assert_allclose(points[[0, -1]], [start, goal], rtol=0, atol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.02])
def test_arm_around_a_box(margin: float) -> None:
    model = planar_arm()
    checker = Checker(model, BOX)
    assert checker.edges(LEFT, RIGHT)[0] == 0
    plan = predyn.plan(model, BOX, LEFT, RIGHT, margin=margin)
    check_plan(plan, checker, LEFT, RIGHT)
    assert plan.certificate.guaranteed > margin
    assert plan.iterations > 0
    assert plan.edges > 0
    assert plan.gap == 0.0
    assert set(plan.seconds) == {"goals", "search", "shortcut", "spline"}


def test_free_line_is_the_path() -> None:
    model = planar_arm()
    plan = predyn.plan(model, BOX, LEFT, [1.5, 0.5])
    np.testing.assert_array_equal(plan.path, [LEFT, [1.5, 0.5]])
    assert plan.length == pytest.approx(np.linalg.norm(np.array([1.5, 0.5]) - LEFT))
    check_plan(plan, Checker(model, BOX), LEFT, np.array([1.5, 0.5]))


def test_path_without_anything_to_touch() -> None:
    builder = ModelBuilder("one")
    builder.add_link("rod", "world", "hinge", position=2.0, **LINK)
    model = builder.build().with_capsules([Capsule("rod", (0, 0, 0), (1, 0, 0), 0.1)])
    plan = predyn.plan(model, Scene(), [-1.0], [1.0])
    check_plan(plan, Checker(model), np.array([-1.0]), np.array([1.0]))


@pytest.mark.parametrize("seed", range(5))
def test_narrow_passage(seed: int) -> None:
    """A ball of 100 mm through a gap of 104 mm."""
    scene = Scene((box("low", (0.2, 2.0), (0.0, -1.052)), box("high", (0.2, 2.0), (0.0, 1.052))))
    model = slider()
    ends = np.array([-0.8, 0.5]), np.array([0.8, -0.5])
    plan = predyn.plan(model, scene, *ends, seed=seed)
    check_plan(plan, Checker(model, scene), *ends)
    inside = np.abs(sampled(plan.path)[:, 0]) < 0.1
    assert np.abs(sampled(plan.path)[inside, 1]).max() < 0.002


def test_shortcuts_come_near_the_shortest_path() -> None:
    """Around a square: the shortest path touches two corners of the square grown by a disc."""
    model, scene = slider(), Scene((box("square", (0.8, 0.8), (0.0, 0.0)),))
    plan = predyn.plan(model, scene, [-0.7, 0.0], [0.7, 0.0])
    # by hand: two tangents to the round corners (radius r at (0.4, 0.4)), arcs, and a straight line
    r, reach = 0.05, np.hypot(0.3, 0.4)
    turn = np.arctan2(0.4, 0.3) + np.arcsin(r / reach)
    shortest = 2.0 * np.sqrt(reach**2 - r**2) + 2.0 * r * turn + 0.8
    assert shortest < plan.length < 1.1 * shortest


def test_blocked() -> None:
    model = slider()
    wall = Scene((box("wall", (0.1, 4.0), (0.0, 0.0)),))
    plan = predyn.plan(model, wall, [-0.5, 0.0], [0.5, 0.0], max_seconds=0.3)
    assert plan.status == "time_limit"
    assert not plan.success
    assert [plan.path, plan.curve, plan.certificate] == [None] * 3
    assert 0.2 < plan.gap < 1.0  # the wall and the ball are 200 mm wide
    assert plan.iterations > 0
    assert "no path in 0.3 s" in plan.message
    with pytest.raises(NotConverged, match="time_limit"):
        plan.check()
    with pytest.raises(NotConverged, match="time_limit"):
        certify(plan, wall)


def test_small_trees_grow_as_large_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    large = predyn.plan(planar_arm(), BOX, LEFT, RIGHT)
    monkeypatch.setattr(path_search, "CAPACITY", 2)
    small = predyn.plan(planar_arm(), BOX, LEFT, RIGHT)
    np.testing.assert_array_equal(small.goals, large.goals)
    assert small.success
    assert small.certificate.status == "certified"


@pytest.mark.parametrize("place", ["start", "goal"])
def test_in_collision(place: str) -> None:
    model, inside = planar_arm(), [0.0, 0.0]
    ends = (inside, LEFT) if place == "start" else (LEFT, inside)
    plan = predyn.plan(model, BOX, *ends)
    assert plan.status == f"{place}_in_collision"
    assert plan.pair == ("link1", "box")
    # the arm lies along x through the middle of the box: half a box and a radius deep
    assert plan.distance == pytest.approx(-0.2, abs=1e-12)
    assert f"{place}: 'link1' and 'box' overlap by 200 mm" in plan.message


def test_within_the_margin() -> None:
    model = planar_arm()
    near = [0.45, 0.0]
    distance = float(Checker(model, BOX).distances(near).min())
    assert distance > 0.0
    plan = predyn.plan(model, BOX, near, RIGHT, margin=distance + 0.01)
    assert plan.status == "start_in_collision"
    assert plan.distance == pytest.approx(distance)
    assert "mm apart, and the margin is" in plan.message


def test_equal_seeds_give_equal_paths() -> None:
    model = planar_arm(3)
    ends = [0.6, 0.1, 0.1], [-0.6, -0.1, -0.1]
    one, same, other = (predyn.plan(model, BOX, *ends, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.path, same.path)
    np.testing.assert_array_equal(one.curve.control, same.curve.control)
    assert (one.iterations, one.edges) == (same.iterations, same.edges)
    assert one.path.shape != other.path.shape or (one.path != other.path).any()


def test_several_goals() -> None:
    """One goal is in collision, one behind a wall, and one can be reached."""
    scene = Scene((box("wall", (0.1, 4.0), (0.3, 0.0)), box("block", (0.2, 0.2), (-0.5, 0.5))))
    goals = np.array([[-0.5, 0.5], [0.8, 0.0], [-0.5, 0.8]])
    start = np.array([-0.5, -0.5])
    plan = predyn.plan(slider(), scene, start, goals)
    check_plan(plan, Checker(plan.model, scene), start, goals[2])
    assert len(plan.goals) == 2


def test_all_goals_in_collision() -> None:
    plan = predyn.plan(planar_arm(), BOX, LEFT, [[0.0, 0.0], [0.05, 0.0]])
    assert plan.status == "goal_in_collision"
    assert "all 2 are in collision" in plan.message


def test_pose_goal_takes_the_free_branch() -> None:
    """Two branches reach the tip's goal; the elbow of one of them is in an obstacle."""
    model = planar_arm()
    elbows = [np.array([-0.3, 1.2]), np.array([0.9, -1.2])]  # the same tip: q0 + q1/2 is 0.3
    blocked = np.array([np.cos(-0.3), np.sin(-0.3)])
    scene = Scene((Obstacle("ball", "sphere", (0.1,), (*blocked, 0.0)),))
    tip = [np.cos(-0.3) + np.cos(0.9), np.sin(-0.3) + np.sin(0.9), 0.0]
    start = np.array([2.0, -1.0])
    plan = predyn.plan(model, scene, start, PoseGoal("tip", tip))
    assert len(plan.goals) == 1
    check_plan(plan, Checker(model, scene), start, plan.goals[0])
    np.testing.assert_allclose(plan.path[-1], elbows[1], atol=1e-6)
    free = predyn.plan(model, Scene(), start, PoseGoal("tip", tip))
    assert len(free.goals) == 2
    np.testing.assert_allclose(np.sort(free.goals, axis=0), np.sort(elbows, axis=0), atol=1e-6)


def test_pose_out_of_reach() -> None:
    plan = predyn.plan(planar_arm(), BOX, LEFT, PoseGoal("tip", (0.0, 3.0, 0.0)))
    assert plan.status == "goal_out_of_reach"
    assert "1 m and 0 rad off" in plan.message
    assert len(plan.goals) == 0


def test_a_way_through_more_than_one_turn() -> None:
    """A crank that must turn by more than a whole turn, since its goal is one turn away."""
    builder = ModelBuilder("crank")
    builder.add_link("rod", "world", "hinge", position=7.0, **LINK)
    model = builder.build().with_capsules([Capsule("rod", (0, 0, 0), (1, 0, 0), 0.1)])
    ends = np.array([-3.5]), np.array([6.9])
    check_plan(predyn.plan(model, Scene(), *ends), Checker(model), *ends)


def test_joints_that_follow_others() -> None:
    builder = ModelBuilder("gripper")
    for k, side in enumerate((1.0, -1.0)):
        builder.add_link(f"finger{k}", "world", f"slide{k}", kind="prismatic", axis=(0, side, 0),
                         origin=(0.0, 0.2 * side, 0.0), position=(0.0, 1.0), mass=1.0,
                         inertia=(0.1, 0.1, 0.1))  # fmt: skip
    builder.add_link("lift", "finger0", "up", kind="prismatic", axis=(0, 0, 1), position=1.0,
                     mass=1.0, inertia=(0.1, 0.1, 0.1))  # fmt: skip
    builder.couple("slide1", "slide0", (0.0, 1.0))
    model = builder.build().with_capsules(
        [
            Capsule("lift", (0, 0, 0), (0, 0, 0), 0.05),
            Capsule("finger1", (0, 0, 0), (0, 0, 0), 0.05),
        ]
    )
    # the second finger must not stay out while the first rises: a bar above finger 0 only
    scene = Scene((Obstacle("bar", "box", (1.0, 0.2, 0.1), (0.0, 0.6, 0.4)),))
    start, goal = np.array([0.4, 0.0]), np.array([0.4, 0.8])
    plan = predyn.plan(model, scene, start, goal)
    check_plan(plan, Checker(model, scene), start, goal)
    assert plan.path.shape[1] == model.n == 2


def test_plan_can_be_retimed() -> None:
    model = planar_arm().with_limits(velocity=2.0, effort=100.0)
    plan = predyn.plan(model, BOX, LEFT, RIGHT).check()
    retimed = predyn.retime(model, plan.curve).check()
    np.testing.assert_allclose(retimed.q[[0, -1]], [LEFT, RIGHT], atol=1e-9)
    assert Checker(model, BOX).distances(retimed.q).min() > 0.0


BAD = {
    "start shape": (dict(start=[0.0]), "start: expected shape"),
    "start rows": (dict(start=[[0.6, 0.0], [0.6, 0.0]]), "start: expected shape"),
    "start nan": (dict(start=[np.nan, 0.0]), "start: expected finite"),
    "start limit": (dict(start=[3.5, 0.0]), "start: joint 'joint0' is 3.5, outside its position"),
    "goal limit": (dict(goal=[[0.0, 1.0], [0.0, -3.5]]), "goal: joint 'joint1' is -3.5"),
    "goal shape": (dict(goal=np.zeros((1, 2, 2))), r"goal: expected shape .* or \(G, 2\)"),
    "no goals": (dict(goal=np.zeros((0, 2))), "goal: expected shape"),
    "goal text": (dict(goal="tip"), "goal: expected real numbers"),
    "same": (dict(goal=LEFT), "goal: the same as start"),
    "margin": (dict(margin=-1.0), "margin: expected a distance of at least 0 m"),
    "seed": (dict(seed=1.5), "seed: expected a whole number"),
    "seconds": (dict(max_seconds=np.inf), "max_seconds: expected a finite number"),
    "scene": (dict(scene="box"), "scene: expected a predyn.Scene"),
    "model": (dict(model=None), "model: expected a predyn.Model"),
    "frame": (dict(goal=PoseGoal("top", (0, 0, 0))), "top"),
    "checker": (dict(scene=Checker(planar_arm(3), BOX)), "the checker has another model"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case: str) -> None:
    given, message = BAD[case]
    arguments = {"model": planar_arm(), "scene": BOX, "start": LEFT, "goal": RIGHT} | given
    with pytest.raises(InputError, match=message):
        predyn.plan(**arguments)


def test_moving_obstacles_are_refused() -> None:
    path = predyn.collision.Path([0.0, 1.0], [[2.0, 2.0, 0.0], [3.0, 2.0, 0.0]])
    scene = Scene((Obstacle("cart", "sphere", (0.1,), path=path),))
    with pytest.raises(InputError, match="an obstacle moves"):
        predyn.plan(planar_arm(), scene, LEFT, RIGHT)


@pytest.mark.parametrize("seed", range(3))
def test_every_stage_is_proved(seed: int) -> None:
    """The path of the search, before and after shortcuts, edge by edge."""
    model = planar_arm(3)
    checker = Checker(model, BOX)
    start, goal = np.array([0.6, 0.1, 0.1]), np.array([-0.6, -0.1, -0.1])
    sampling = sampling_for(checker, start, goal[None])
    edges = path_search.edges_for(checker, sampling, 1e-7)
    found = path_search.find_path(
        checker, start, goal[None], edges, sampling, seed=seed, max_seconds=10.0
    ).path
    shorter = shortcuts.shorter(checker.view, found, edges, seed)
    for path in (found, shorter):
        np.testing.assert_array_equal(path[[0, -1]], [start, goal])
        assert (checker.edges(path[:-1], path[1:]) == 1).all()
    lengths = [np.linalg.norm(np.diff(x, axis=0) * edges.weight, axis=1) for x in (found, shorter)]
    assert lengths[0].max() <= edges.longest * (1.0 + 1e-12)
    assert lengths[1].sum() < lengths[0].sum()


def test_curve_comes_nearer_to_a_corner_that_needs_it() -> None:
    """A square 10 mm inside a corner of the path, and one far inside: only the first needs more
    control points."""
    path = np.array([[-0.8, 0.0], [0.0, 0.0], [0.0, 0.8]])
    counts = []
    for gap in (0.3, 0.01):
        middle = 0.05 + gap + 0.1  # radius of the ball, gap, half a square
        checker = Checker(slider(), Scene((box("square", (0.2, 0.2), (-middle, middle)),)))
        curve = spline_along(checker, path, 0.0)
        counts.append(len(curve.control))
        for x in curve.control:  # on the path
            assert x[0] == 0.0 or x[1] == 0.0
    assert counts[0] == 5 < counts[1] < 40


def test_no_curve_without_room() -> None:
    checker = Checker(slider(), Scene((box("square", (0.2, 0.2), (-0.3, 0.0)),)))
    assert spline_along(checker, np.array([[-0.8, 0.0], [0.0, 0.0], [0.0, 0.8]]), 0.0) is None


@pytest.mark.skipif(SHARED is None, reason="PREDYN_SHARED is not set: no scenes")
@pytest.mark.parametrize(
    ("every", "seeds"), [(10, 1), pytest.param(1, 20, marks=pytest.mark.verify)]
)
def test_shared_problems(every: int, seeds: int) -> None:
    """Panda and UR5 with grippers among shelves, boxes, cages and tables: all are planned, and
    MuJoCo finds no contact on the curves."""
    files = problem_files(SCENES)
    assert len(files) == 70
    for file in files[::every]:
        problem = load_problem(file)
        checker = Checker(problem.model, problem.scene)
        names = [body.name for body in checker.bodies]
        contacts = MujocoContacts(problem.model, problem.scene, names, checker.pairs)
        for seed in range(seeds):
            plan = predyn.plan(problem.model, checker, problem.start, problem.goal, seed=seed)
            assert plan.success, (problem.name, seed, plan.message)
            check_plan(plan, checker, problem.start, problem.goal, every=1 if seed == 0 else 10)
            assert np.isinf(contacts.depths(on_curve(plan)[:: 1 if seed == 0 else 10])).all()
        middle = on_curve(plan)[::50] + np.random.default_rng(0).normal(size=len(problem.start))
        ours = checker.distances(middle).min(axis=1)
        np.testing.assert_array_equal(np.isfinite(contacts.depths(middle)), ours < 0.0)

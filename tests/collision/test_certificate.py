"""Certificates against dense checks: no false ones, witnesses that touch, wrong bounds found."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pytest
from scipy.interpolate import BSpline as Reference
from scipy.interpolate import CubicSpline

from collision.robots import random_robot, random_scene, robot, shared_scene
from fake_solution import fake_solution
from predyn import Capsule, InputError, JointPath, Model, ModelBuilder, Obstacle, Scene, certify
from predyn.collision import Checker, Path
from predyn.collision.certificate import certify_spans
from predyn.collision.motions import Spans, spans_of
from predyn.curves.bezier import bezier_spans
from predyn.curves.bspline import BSpline
from predyn.model.orientations import rotation_of
from predyn.model.parts import Triangles

SHARED = os.environ.get("PREDYN_SHARED")
RESOLUTION = 1e-3  # rad or m, between the configurations of a dense check


def dense_times(path: JointPath) -> np.ndarray:
    """Times between which the joints move at most RESOLUTION, up to a few percent."""
    t = np.linspace(path.times[0], path.times[-1], 400)
    step = np.linalg.norm(np.diff(curve(path)(t), axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(step + 1e-6)])
    return np.interp(np.arange(0.0, way[-1], RESOLUTION), way, t)


def curve(path: JointPath):
    if path.interpolation == "cubic":
        return CubicSpline(path.times, path.positions)
    return lambda t: np.stack([np.interp(t, path.times, x) for x in path.positions.T], axis=-1)


def dense_clearance(checker: Checker, path: JointPath) -> float:
    t = dense_times(path)
    return float(checker.distances(curve(path)(t), t).min())


def random_path(rng, start: np.ndarray, scale: float, points: int = 5) -> JointPath:
    q = start + scale * np.cumsum(rng.normal(size=(points, len(start))), axis=0)
    q[0] = start
    times = np.cumsum(rng.uniform(0.2, 1.0, points))
    return JointPath(q, str(rng.choice(["linear", "cubic"])), times)


def judge(checker: Checker, path: JointPath, margin: float, counts: dict[str, int]) -> None:
    """Compare a certificate with the dense check."""
    certificate = certify(path, checker, margin=margin)
    counts[certificate.status] = counts.get(certificate.status, 0) + 1
    if certificate.status == "collision":
        at = checker.pairs.index(certificate.pair)
        d = checker.distances(curve(path)(certificate.time), certificate.time)[at]
        assert d == pytest.approx(certificate.distance, abs=1e-9)
        assert d <= margin + 1e-9
        return
    least = dense_clearance(checker, path)
    if certificate.status == "certified":
        assert least > margin
        assert margin < certificate.guaranteed <= least + 1e-9
        assert certificate.clearance >= certificate.guaranteed
    else:
        assert least < margin + 1e-4  # only what is this close stays undecided


def exact_scene(seed: int) -> Scene:
    """Without meshes: their distances are lower bounds, and those of balls may be above them."""
    scene = random_scene(seed)
    return Scene(tuple(x for x in scene.obstacles if x.kind != "mesh"))


def moving_scene(seed: int) -> Scene:
    """Half of the obstacles move and turn."""
    rng = np.random.default_rng([seed, 30])
    scene = exact_scene(seed)
    obstacles = []
    for k, x in enumerate(scene.obstacles):
        if k % 2 and x.kind != "half_space":
            positions = np.asarray(x.position) + np.cumsum(0.1 * rng.normal(size=(3, 3)), axis=0)
            turns = np.array([rotation_of(v, "R") for v in rng.uniform(-0.5, 0.5, (3, 3))])
            x = replace(x, position=None, path=Path([0.3, 1.0, 2.5], positions, turns))
        obstacles.append(x)
    return Scene(tuple(obstacles))


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.verify)])
def test_random_robots_have_no_false_certificate(moving: bool, count: int) -> None:
    """All joint kinds, all obstacles with exact distances, linear and cubic paths."""
    counts: dict[str, int] = {}
    for seed in range(max(count // 20, 4)):
        model = random_robot(4, seed)
        checker = Checker(model, moving_scene(seed) if moving else exact_scene(seed))
        rng = np.random.default_rng([seed, 31])
        q = rng.uniform(-2.0, 2.0, (400, model.n))
        least = checker.distances(q, np.zeros(400)).min(axis=1)
        if least.max() <= 0.0:
            continue  # this robot cannot avoid itself
        for _ in range(count // max(count // 20, 4)):
            start = q[rng.choice(np.flatnonzero(least > 0.2 * least.max()))]
            scale = float(rng.choice([0.02, 0.3, 0.8]))
            judge(checker, random_path(rng, start, scale), float(rng.choice([0.0, 0.005])), counts)
    assert counts["certified"] > 0.1 * count
    assert counts["collision"] > 0.1 * count


@pytest.mark.skipif(SHARED is None, reason="PREDYN_SHARED is not set: no scenes")
@pytest.mark.parametrize("count", [140, pytest.param(5600, marks=pytest.mark.verify)])
def test_shared_scenes_have_no_false_certificate(count: int) -> None:
    """Panda and UR5 with grippers among shelves, boxes, cages and tables."""
    folder = FilePath(SHARED or "") / "data" / "scenes"
    robots = {name: robot(name, folder) for name in ("panda", "ur5")}
    counts: dict[str, int] = {}
    files = sorted(x for x in folder.glob("*.json") if x.name.startswith(("panda_", "ur5_")))
    assert len(files) == 70
    for k, file in enumerate(files):
        rng = np.random.default_rng([k, 32])
        scene, start, goal = shared_scene(file)
        checker = Checker(robots[file.name.partition("_")[0]], scene)
        world = len(checker.view.world)
        for q, name in ((start, "start"), (goal, "goal")):
            stated = scene.extra[f"{name}_clearance"]
            assert checker.distances(q)[:world].min() == pytest.approx(stated, abs=2e-5)
        for _ in range(count // len(files)):
            q = start if rng.random() < 0.5 else goal
            scale = float(rng.choice([0.003, 0.02, 0.1, 0.3]))
            judge(checker, random_path(rng, q, scale, 6), 0.0, counts)
    assert counts["certified"] > 0.2 * count
    assert counts["collision"] > 0.2 * count


def test_meshes_are_certified_as_the_boxes_that_they_are() -> None:
    corners = np.array(np.meshgrid(*[(-0.1, 0.1), (-0.15, 0.15), (-0.2, 0.2)])).reshape(3, -1).T
    place = {"position": (0.4, 0.5, 0.1), "rotation": (0.3, 0.2, 0.1)}
    mesh = Triangles(corners, np.zeros((0, 3), int))
    solid = Checker(rod(), Scene((Obstacle("solid", "mesh", (), **place, triangles=mesh),)))
    box = Checker(rod(), Scene((Obstacle("solid", "box", (0.2, 0.3, 0.4), **place),)))
    rng, counts = np.random.default_rng(35), {}
    for _ in range(100):
        path = JointPath(rng.uniform(-1.5, 2.5) + np.array([[0.0], [rng.uniform(-1, 1)]]), "linear")
        status, truth = certify(path, solid).status, certify(path, box).status
        counts[status, truth] = counts.get((status, truth), 0) + 1
        assert status in (truth, "undecided")
    assert counts["certified", "certified"] > 20
    assert counts["collision", "collision"] > 20
    assert ("undecided", "undecided") not in counts


def line_checker(seed: int = 2) -> tuple[Checker, list[JointPath]]:
    model = random_robot(4, seed)
    checker = Checker(model, random_scene(seed))
    rng = np.random.default_rng(33)
    q = rng.uniform(-2.0, 2.0, (300, model.n))
    free = q[checker.distances(q).min(axis=1) > 0.01]
    assert len(free) > 20
    ends = free[rng.integers(len(free), size=60)] + 0.3 * rng.normal(size=(60, model.n))
    starts = free[rng.integers(len(free), size=60)]
    return checker, [JointPath([a, b], "linear") for a, b in zip(starts, ends, strict=True)]


def test_a_bound_that_is_too_small_gives_false_certificates_that_are_found() -> None:
    """With the control points drawn towards the middle, D and with it every bound is too small."""
    checker, paths = line_checker()
    false = 0
    for path in paths:
        (spans,) = spans_of(path, checker.model.n)
        middle = spans.control.mean(axis=1, keepdims=True)
        small = Spans(middle + 0.2 * (spans.control - middle), spans.times)
        wrong = certify_spans(checker, [small]).status == "certified"
        false += wrong and dense_clearance(checker, path) <= 0.0
        judge(checker, path, 0.0, {})
    assert false > 0


def test_an_obstacle_whose_way_is_left_out_gives_false_certificates_that_are_found() -> None:
    scene = Scene(
        (Obstacle("ball", "sphere", (0.1,), path=Path([0.0, 1.0], [[0.5, -2, 0], [0.5, 1, 0]])),)
    )
    model = rod()
    checker = Checker(model, scene)
    path = JointPath([[0.0], [0.0]], "linear")
    assert certify(path, checker).status == "collision"
    checker = Checker(model, scene)
    keys = checker.view.keys
    checker.view = checker.view._replace(keys=keys._replace(travel=0.0 * keys.travel))
    assert certify(path, checker).status == "certified"
    assert dense_clearance_at(checker, np.linspace(0.0, 1.0, 1001)) < 0.0


def dense_clearance_at(checker: Checker, t: np.ndarray) -> float:
    return float(checker.distances(np.zeros((len(t), checker.model.n)), t).min())


def rod(kind: str = "revolute", pitch: float = 0.0) -> Model:
    builder = ModelBuilder("rod")
    builder.add_link("rod", joint="j", kind=kind, pitch=pitch, mass=1.0, inertia=(1, 1, 1))
    return builder.build().with_capsules([Capsule("rod", (0.2, 0, 0), (1.0, 0, 0), 0.05)])


def test_a_rod_that_turns_towards_a_wall() -> None:
    """Closed form: the tip is within the wall x > 0.9 while 1.0 cos q + 0.05 >= 0.9."""
    wall = Obstacle("wall", "half_space", (), (0.9, 0.0, 0.0), (0.0, -np.pi / 2, 0.0))
    touch = np.arccos(0.85)
    for end, margin, status in (
        (touch + 1e-4, 0.0, "certified"), (touch - 1e-4, 0.0, "collision"),
        (touch + 0.05, 0.02, "certified"), (touch + 0.02, 0.02, "collision"),
    ):  # fmt: skip
        found = certify(JointPath([[2.0], [end]], "linear"), Scene((wall,)), rod(), margin=margin)
        assert found.status == status
        assert found.pair == ("rod", "wall")
    assert found.points is not None
    assert found.points[1, 0] == pytest.approx(0.9, abs=1e-12)
    assert found.distance == pytest.approx(0.85 - np.cos(2.0 + found.time * (end - 2.0)), abs=1e-12)
    assert found.distance <= 0.02


@pytest.mark.parametrize(("kind", "pitch"), [("prismatic", 0.0), ("screw", 0.1)])
def test_slides_and_screws(kind: str, pitch: float) -> None:
    """A rod that rises along z below a ceiling."""
    rate = 1.0 if kind == "prismatic" else pitch
    ceiling = Obstacle("ceiling", "half_space", (), (0.0, 0.0, 0.5), (np.pi, 0.0, 0.0))
    top = (0.45 - 1e-4) / rate
    path = JointPath([[0.0], [top]], "linear")
    found = certify(path, Scene((ceiling,)), rod(kind, pitch))
    assert found.status == "certified"
    assert 0.0 < found.guaranteed <= 1e-4 + 1e-12
    over = JointPath([[0.0], [(0.45 + 1e-4) / rate]], "linear")
    assert certify(over, Scene((ceiling,)), rod(kind, pitch)).status == "collision"


def test_touching_within_the_depth_is_undecided() -> None:
    wall = Obstacle("wall", "half_space", (), (0.9, 0.0, 0.0), (0.0, -np.pi / 2, 0.0))
    path = JointPath([[2.0], [np.arccos(0.85) + 1e-13]], "linear")
    found = certify(path, Scene((wall,)), rod(), depth=5)
    assert found.status == "undecided"
    assert found.guaranteed == -np.inf
    assert found.pair == ("rod", "wall")
    with pytest.raises(TypeError, match="compare its status"):
        bool(found)
    assert str(found).startswith("undecided, margin 0 mm, ")


def test_edges_agree_with_certificates() -> None:
    checker, paths = line_checker()
    ends = np.array([path.positions for path in paths])
    verdicts = checker.edges(ends[:, 0], ends[:, 1], margin=0.002)
    names = {1: "certified", 0: "collision", -1: "undecided"}
    for path, verdict in zip(paths, verdicts, strict=True):
        assert certify(path, checker, margin=0.002, depth=14).status == names[int(verdict)]
    assert len(set(verdicts.tolist())) > 1


def test_bezier_points_are_those_of_the_curve() -> None:
    rng = np.random.default_rng(34)
    for degree in range(1, 6):
        spline = BSpline.clamped(degree, breaks=[0.0, 0.1, 0.5, 0.55, 1.0])
        uniform = BSpline.uniform(degree, 4)
        for basis in (spline, uniform):
            control = rng.normal(size=(basis.n_control, 2))
            breaks, points = bezier_spans(basis, control)
            theirs = Reference(basis.knots, control, degree)
            for k in range(len(breaks) - 1):
                x = np.linspace(0.0, 1.0, 7)
                row = points[k][None].repeat(7, axis=0)
                while row.shape[1] > 1:
                    row = (1 - x)[:, None, None] * row[:, :-1] + x[:, None, None] * row[:, 1:]
                at = breaks[k] + x * (breaks[k + 1] - breaks[k])
                np.testing.assert_allclose(row[:, 0], theirs(at), atol=1e-13)


def test_a_solution_is_certified_in_all_its_phases() -> None:
    solution = fake_solution(phases=2)
    model = solution.model.with_capsules(
        [Capsule(name, (0.0, 0, 0), (0.2, 0, 0), 0.02) for name in solution.model.link_names]
    )
    far = Scene((Obstacle("ball", "sphere", (0.1,), (0.0, 0.0, 5.0)),))
    found = certify(solution, far, model)
    assert found.status == "certified"
    assert found.pair is None
    t = np.linspace(0.0, solution.duration, 500)
    checker = Checker(model, Scene((Obstacle("ball", "sphere", (0.05,), (0.1, 0.1, 0.0)),)))
    least = checker.distances(solution.at(t).q).min()
    near = certify(solution, checker)
    assert near.status == ("collision" if least <= 0.0 else "certified")


def test_bad_arguments() -> None:
    scene, path = Scene(), JointPath([[0.0], [1.0]], "linear")
    with pytest.raises(InputError, match=r"interpolation: expected one of \('linear', 'cubic'\)"):
        JointPath([[0.0], [1.0]], "nearest")
    with pytest.raises(InputError, match="times: expected 2 increasing numbers"):
        JointPath([[0.0], [1.0]], "linear", [1.0, 1.0])
    with pytest.raises(InputError, match=r"positions: expected finite numbers \(K, n\)"):
        JointPath([[0.0], [np.nan]], "linear")
    with pytest.raises(InputError, match=r"model: expected a predyn\.Model"):
        certify(path, scene)
    with pytest.raises(InputError, match=r"motion: expected a Solution or a predyn\.JointPath"):
        certify([[0.0], [1.0]], scene, rod())
    with pytest.raises(InputError, match="motion: expected 1 joints"):
        certify(JointPath([[0.0, 1.0], [1.0, 2.0]], "linear"), scene, rod())
    for margin in (float("nan"), -0.01, "wide"):
        with pytest.raises(InputError, match="margin: expected a distance of at least 0 m"):
            certify(path, scene, rod(), margin=margin)
    with pytest.raises(InputError, match="depth: expected a whole number from 0 to 50"):
        certify(path, scene, rod(), depth=51)
    with pytest.raises(InputError, match="the checker has another model"):
        certify(path, Checker(rod(), scene), rod())


TURNING_ARM = ModelBuilder("arm").add_link("bar", "world", "hinge", mass=1.0, armature=1.0).build()
TURNING_ARM = TURNING_ARM.with_capsules([Capsule("bar", (0, 0, 0), (0.5, 0, 0), 0.05)])


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize(
    ("positions", "times", "message"),
    [
        ([[0], [1], [2]], (0, 5e-324, 1), "times: the step from 0 to 4.9.* is too short"),
        ([[0], [1], [2]], (0, 1, 1e300), r"times: expected at most 1e\+09 s"),
        ([[0], [1], [2]], (0, True, 2), "times: expected 3 increasing numbers"),
        ([[0], [1.7e308], [2]], None, "positions: expected at most 10000 rad or m"),
        ([[0], [10**400]], None, r"positions: expected finite numbers \(K, n\)"),
        ([[0], [1j]], None, r"positions: expected finite numbers \(K, n\)"),
        ([[0], [True]], None, r"positions: expected finite numbers \(K, n\)"),
    ],
)
def test_paths_beyond_sense_are_refused(interpolation, positions, times, message) -> None:
    with pytest.raises(InputError, match=message):
        certify(JointPath(positions, interpolation, times), Scene(), TURNING_ARM)


def test_a_spline_may_overshoot_the_bound() -> None:
    path = JointPath([[0], [1e4], [-1e4], [1e4]], "cubic")
    with pytest.raises(InputError, match="the cubic spline through them: expected at most 10000"):
        certify(path, Scene(), TURNING_ARM)


@pytest.mark.parametrize("margin", [10**400, True, 1e308, "1", None])
def test_a_margin_is_a_distance(margin) -> None:
    path = JointPath([[0.0], [1.0]], "linear")
    with pytest.raises(InputError, match="margin: expected a distance of at least 0 m, at most"):
        certify(path, Scene(), TURNING_ARM, margin=margin)


def test_no_scene_is_not_an_empty_scene() -> None:
    path = JointPath([[0.0], [1.0]], "linear")
    with pytest.raises(InputError, match=r"predyn\.Scene\(\) has no obstacles"):
        certify(path, None, TURNING_ARM)


@pytest.mark.parametrize("name", ["world", "bar", "bar[0]"])
def test_names_mean_one_thing(name: str) -> None:
    scene = Scene((Obstacle(name, "sphere", (0.1,), (2.0, 0.0, 0.0)),))
    with pytest.raises(InputError, match=r"is named like .* choose another name"):
        Checker(TURNING_ARM, scene)


def test_edges_must_pair_up() -> None:
    checker = Checker(TURNING_ARM, Scene((Obstacle("o", "sphere", (0.1,), (2.0, 0.0, 0.0)),)))
    with pytest.raises(InputError, match=r"edges: .*start \(2, 1\) and end \(3, 1\)"):
        checker.edges(np.zeros((2, 1)), np.zeros((3, 1)))
    with pytest.raises(InputError, match="edges: end: expected at most 10000"):
        checker.edges([0.0], [1e300])

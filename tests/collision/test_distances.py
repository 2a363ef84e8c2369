"""Distances of robots: against Pinocchio and coal, gradients and curvature by differences."""

from __future__ import annotations

import coal
import numpy as np
import pytest

from collision.robots import random_robot, random_scene
from predyn import Capsule, InputError, ModelBuilder, Obstacle, PiecewisePolynomial, Scene
from predyn.collision import Checker, Part, Path
from predyn.dynamics import frame_kinematics
from predyn.model.capsules import rotation_to
from predyn.model.orientations import rotation_of

STEP = 1e-6


def placed(model, body, q):
    """Ends of a capsule in the world, from kinematics that share nothing with the checker."""
    if body.link < 0:
        return body.a, body.b
    found = frame_kinematics(model, model.link_names[body.link], q)
    return tuple(found.R @ x + found.p for x in (body.a, body.b))


def as_coal(a, b, radius):
    length = float(np.linalg.norm(b - a))
    pose = coal.Transform3s(rotation_to(b - a), 0.5 * (a + b))
    return (coal.Capsule(radius, length) if length else coal.Sphere(radius)), pose


def solid_of(obstacle: Obstacle):
    size = obstacle.size
    shapes = {"box": lambda: coal.Box(*size), "sphere": lambda: coal.Sphere(*size),
              "cylinder": lambda: coal.Cylinder(*size), "capsule": lambda: coal.Capsule(*size),
              "half_space": lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)}  # fmt: skip
    return shapes[obstacle.kind](), coal.Transform3s(obstacle.rotation, obstacle.position)


@pytest.mark.parametrize("seed", range(3))
def test_all_pairs_agree_with_coal(seed: int) -> None:
    model, scene = random_robot(5, seed), random_scene(seed)
    scene = Scene(tuple(x for x in scene.obstacles if x.kind != "mesh"))
    checker = Checker(model, scene)
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, (4, model.n))
    ours = checker.distances(q)
    bodies, solids = {x.name: x for x in checker.bodies}, {x.name: x for x in scene.obstacles}
    request = coal.DistanceRequest()
    request.gjk_tolerance = 1e-12
    request.gjk_max_iterations = 10_000
    compared = 0
    for row, x in zip(ours, q, strict=True):
        ends = {name: placed(model, body, x) for name, body in bodies.items()}
        for d, (one, other) in zip(row, checker.pairs, strict=True):
            if d < 1e-3:
                continue  # coal's depth of overlap has its own tests
            first = as_coal(*ends[one], bodies[one].radius)
            second = (
                solid_of(solids[other]) if other in solids
                else as_coal(*ends[other], bodies[other].radius)
            )  # fmt: skip
            theirs = coal.distance(*first, *second, request, coal.DistanceResult())
            assert d == pytest.approx(theirs, abs=1e-6), (one, other)
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("seed", range(4))
def test_gradients_are_differences_of_distances(seed: int) -> None:
    model = random_robot(6, seed)
    checker = Checker(model, random_scene(seed))
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, (60, model.n))
    found = checker.gradients(q)
    np.testing.assert_array_equal(found.distance, checker.distances(q))
    error = np.empty((model.n, *found.distance.shape))
    for k, e in enumerate(STEP * np.eye(model.n)):
        rate = (checker.distances(q + e) - checker.distances(q - e)) / (2.0 * STEP)
        error[k] = np.abs(rate - found.gradient[..., k])
    worst = error.max(axis=0)
    # kinks lie within a step of a few configurations in a thousand
    assert np.quantile(worst, 0.99) < 1e-4
    assert np.median(worst) < 1e-8
    apart = found.distance > 0.0
    across = found.point_a - found.point_b - found.distance[..., None] * found.normal
    assert np.abs(across[apart]).max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=-1), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_curvature_of_a_plane_is_exact(seed: int) -> None:
    """The distance of a sphere to a half-space has a fixed witness and normal."""
    model = random_robot(5, seed)
    rng = np.random.default_rng(seed)
    model = model.with_capsules([Capsule(x, p, p, 0.02) for x in model.link_names
                                 for p in rng.normal(size=(1, 3))])  # fmt: skip
    floor = Obstacle("floor", "half_space", (), rng.normal(size=3), rng.normal(size=3))
    allowed = [(a, b) for a in model.link_names for b in model.link_names if a < b]
    checker = Checker(model, Scene((floor,), allowed=tuple(allowed)))
    q, weights = rng.uniform(-2.0, 2.0, (5, model.n)), rng.normal(size=(5, len(checker.pairs)))
    exact = checker.curvature(q, weights)
    for k, e in enumerate(1e-5 * np.eye(model.n)):
        rate = (checker.gradients(q + e).gradient - checker.gradients(q - e).gradient) / 2e-5
        np.testing.assert_allclose(
            np.einsum("bp,bpn->bn", weights, rate), exact[:, k], atol=1e-8, rtol=0.0
        )


def test_curvature_of_own_pairs_ignores_joints_that_move_both() -> None:
    model = random_robot(5, 0)
    checker = Checker(model)
    assert len(checker.pairs) > 2
    q = np.random.default_rng(0).normal(size=(1, model.n))
    gradient = checker.gradients(q).gradient[0]
    for k in range(len(checker.pairs)):
        total = checker.curvature(q, np.eye(len(checker.pairs))[k : k + 1])[0]
        still = gradient[k] == 0.0
        assert (total[still] == 0.0).all()
        np.testing.assert_array_equal(total, total.T)


def test_moving_obstacles_are_where_their_path_is() -> None:
    model = random_robot(3, 1)
    box = (0.3, 0.2, 0.1)
    turns = np.array([rotation_of(x, "R") for x in ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.4, 0, 1))])
    path = Path([1.0, 2.0, 4.0], [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], turns)
    moving = Checker(model, Scene((Obstacle("cart", "box", box, path=path),)))
    q = np.random.default_rng(1).normal(size=(5, model.n))
    when = (0.0, 1.5, 2.0, 3.0, 9.0)
    half = (0.5, 0.0, 1.0)
    R3 = turns[1] @ half_turn(turns[1].T @ turns[2])
    where = [((0, 0, 1), turns[0]), (half, rotation_of((0, 0, 0.5), "R")), ((1, 0, 1), turns[1]),
             ((1.0, 0.5, 0.5), R3), ((1, 1, 0), turns[2])]  # fmt: skip
    ours = moving.distances(q, when)
    names = [pair for pair in moving.pairs if pair[1] == "cart" and not pair[0].startswith("world")]
    for k, (p, R) in enumerate(where):
        fixed = Checker(model, Scene((Obstacle("cart", "box", box, p, R),)))
        theirs = dict(zip(fixed.pairs, fixed.distances(q[k]), strict=True))
        for pair in names:
            mine = ours[k, moving.pairs.index(pair)]
            assert mine == pytest.approx(theirs[pair], abs=1e-12)
    with pytest.raises(InputError, match="expected times"):
        moving.distances(q)
    with pytest.raises(InputError, match="obstacle of the scene moves"):
        moving.edges(q[0], q[1])


def half_turn(R):
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(0.5 * Rotation.from_matrix(R).as_rotvec()).as_matrix()


def arm(couple: bool = False):
    builder = ModelBuilder("arm")
    for k in range(3):
        parent = f"l{k - 1}" if k else "world"
        builder.add_link(f"l{k}", parent, f"j{k}", axis=(0, 0, 1), mass=1.0, inertia=(1, 1, 1),
                         origin=(0.4 if k else 0.0, 0, 0), position=3.0)  # fmt: skip
    if couple:
        builder.couple("j2", "j1", PiecewisePolynomial.linear(-0.5, 0.2))
    model = builder.build()
    return model.with_capsules([Capsule(f"l{k}", (0, 0, 0), (0.4, 0, 0), 0.03) for k in range(3)])


def test_parts_are_capsules_on_their_link_and_allowed_pairs_are_left_out() -> None:
    ball = Obstacle("ball", "sphere", (0.1,), (1.5, 0.0, 0.0))
    tool = Part("tool", "l2", "box", (0.2, 0.02, 0.02), (0.5, 0.0, 0.0))
    checker = Checker(arm(), Scene((ball,), (tool,)))
    found = dict(zip(checker.pairs, checker.distances(np.zeros(3)), strict=True))
    # from x = 0.8 + 0.6 to the ball at 1.5 - 0.1: the capsule around the box is a bit larger
    assert -0.05 < found["tool", "ball"] < 0.0
    assert found["l2", "ball"] == pytest.approx(1.5 - 0.1 - 1.2 - 0.03, abs=1e-12)
    assert ("l0", "tool") in checker.pairs
    assert ("l2", "tool") not in checker.pairs
    less = Checker(arm(), Scene((ball,), (tool,), (("ball", "tool"), ("l0", "ball"))))
    assert set(checker.pairs) - set(less.pairs) == {("tool", "ball"), ("l0", "ball")}
    with pytest.raises(InputError, match=r"unknown scene: allowed.*'tools'.*did you mean 'tool'"):
        Checker(arm(), Scene((ball,), (tool,), (("tools", "ball"),)))


def test_coupled_joints_count_in_gradients() -> None:
    model = arm(couple=True)
    checker = Checker(model, Scene((Obstacle("ball", "sphere", (0.1,), (0.3, 0.6, 0.2)),)))
    q = np.random.default_rng(2).uniform(-1, 1, (10, 2))
    free = Checker(arm(), checker.scene)
    full = np.column_stack([q, 0.2 - 0.5 * q[:, 1]])
    np.testing.assert_allclose(checker.distances(q), free.distances(full), atol=1e-14)
    gradient = checker.gradients(q).gradient
    for k, e in enumerate(STEP * np.eye(2)):
        rate = (checker.distances(q + e) - checker.distances(q - e)) / (2 * STEP)
        np.testing.assert_allclose(rate, gradient[..., k], atol=1e-7)


def test_capsules_that_always_overlap_are_reported() -> None:
    model = arm().with_capsules(
        [Capsule("l0", (0, 0, 0), (0.4, 0, 0), 0.03), Capsule("l1", (0, 0, 0), (0.4, 0, 0), 0.03),
         Capsule("l2", (0, 0, 0), (0.1, 0, 0), 0.5)]
    )  # fmt: skip
    checker = Checker(model)
    assert checker.never_apart == (("l0", "l2"),)
    assert checker.pairs == ()
    assert Checker(arm()).never_apart == ()


def test_a_robot_needs_capsules() -> None:
    bare = arm().with_capsules([])
    with pytest.raises(
        InputError, match=r"no collision shapes; add some with model\.with_capsules"
    ):
        Checker(bare)
    with pytest.raises(InputError, match=r"capsules\[0\] on 'l0': expected finite ends and a pos"):
        arm().with_capsules([Capsule("l0", (0, 0, 0), (0, 0, 1), -1.0)])
    with pytest.raises(InputError, match=r"scene: expected a predyn\.Scene, got list"):
        Checker(arm(), [])
    with pytest.raises(InputError, match=r"q: expected shape \(..., 3\)"):
        Checker(arm()).distances(np.zeros(4))

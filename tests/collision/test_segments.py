"""Signed distances of segments against coal, MuJoCo and sampled optima, apart and inside."""

from __future__ import annotations

import coal
import mujoco
import numpy as np
import pytest

from collision.segments import boxes, capsules, cylinders, half_spaces, meshes, run
from predyn.collision.solids import planes_of
from predyn.model.capsules import rotation_to
from predyn.model.parts import Triangles

RADIUS = 0.05
COAL = 1e-9  # what coal reaches with the tolerances below, m
FAILED = 0.02  # share of pairs that coal may fail on, with an absurd or worse distance


def random_segments(count: int, seed: int, degenerate: bool = True):
    """Segments near and in obstacles of sizes (count, 3); one in eight is special."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.02, 0.4, (count, 3))
    a, u = rng.uniform(-0.6, 0.6, (2, count, 3))
    if degenerate:
        k = count // 32
        u[:k] = 0.0  # points
        u[k : 2 * k, :2] = 0.0  # along an axis
        u[2 * k : 3 * k, rng.integers(3)] = 0.0  # in a plane of the axes
        a[3 * k : 4 * k] *= 0.1  # deep inside
    return size, a, u


def request() -> coal.DistanceRequest:
    wanted = coal.DistanceRequest()
    wanted.enable_signed_distance = True
    wanted.gjk_tolerance = wanted.epa_tolerance = 1e-12
    wanted.gjk_max_iterations, wanted.epa_max_iterations = 10_000, 1_000
    return wanted


def by_coal(shape, a, u) -> float:
    """Signed distance of the capsule about a + t u, RADIUS added."""
    pose = coal.Transform3s(rotation_to(u), a + 0.5 * u)
    length = float(np.linalg.norm(u))
    body = coal.Capsule(RADIUS, length) if length > 0.0 else coal.Sphere(RADIUS)
    found = coal.DistanceResult()
    return coal.distance(body, pose, shape, coal.Transform3s(), request(), found) + RADIUS


def compare(function, shape_of, count: int, seed: int, inside: bool) -> None:
    """Agreement with coal apart; also inside, where coal's EPA does not fail on cylinders."""
    size, a, u = random_segments(count, seed)
    distance, normal, t = run(function, a, u, size)
    theirs = np.array([by_coal(shape_of(*x), y, z) for x, y, z in zip(size, a, u, strict=True)])
    assert (distance < 0.0).sum() > 0.05 * count
    gap = np.abs(theirs - distance)[(distance > 0.0) | inside]
    assert (gap < COAL).mean() > 1.0 - FAILED
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    assert (t >= 0.0).all()
    assert (t <= 1.0).all()


def box_of(x, y, z):
    return coal.Box(2 * x, 2 * y, 2 * z)


def cylinder_of(x, y, z):
    return coal.Cylinder(x, 2 * z)


@pytest.mark.parametrize("count", [1500, pytest.param(100_000, marks=pytest.mark.verify)])
def test_boxes_agree_with_coal(count: int) -> None:
    compare(boxes, box_of, count, 1, inside=True)


@pytest.mark.parametrize("count", [1500, pytest.param(100_000, marks=pytest.mark.verify)])
def test_cylinders_agree_with_coal_and_are_never_above(count: int) -> None:
    compare(cylinders, cylinder_of, count, 2, inside=False)
    size, a, u = random_segments(count, 2)
    best, ours = least_along(lambda x: to_cylinder(x, size), a, u), run(cylinders, a, u, size)[0]
    assert np.max(ours - best) < 1e-12
    assert np.max((best - ours)[ours > 0.0]) < 1e-8  # flat minima stop the ternary search


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.verify)])
def test_depth_in_cylinders_is_a_separation_and_nearly_the_largest(count: int) -> None:
    """The signed distance is the largest separation along a direction; ours belongs to one, so it
    is never above it. Directions all over the sphere find none that is much larger."""
    size, a, u = random_segments(4 * count, 9)
    distance, normal, _ = run(cylinders, a, u, size)
    chosen = np.flatnonzero(distance < 0.0)[:count]
    k = np.arange(4000)
    z = 1.0 - (2.0 * k + 1.0) / len(k)
    phi = k * np.pi * (3.0 - np.sqrt(5.0))
    sphere = np.stack([np.sqrt(1 - z * z) * np.cos(phi), np.sqrt(1 - z * z) * np.sin(phi), z], 1)
    for i in chosen:
        own = separation(normal[i : i + 1], a[i], u[i], size[i])[0]
        assert abs(own - distance[i]) < 1e-12
        assert separation(sphere, a[i], u[i], size[i]).max() < distance[i] + 1e-3


def separation(n, a, u, size):
    """Along unit vectors n (K, 3), between a segment and a cylinder about z."""
    reach = size[0] * np.hypot(n[:, 0], n[:, 1]) + size[2] * np.abs(n[:, 2])
    return np.minimum(n @ a, n @ (a + u)) - reach


@pytest.mark.parametrize("count", [1500, pytest.param(100_000, marks=pytest.mark.verify)])
def test_capsules_agree_with_sampled_optima(count: int) -> None:
    """Coal's capsule distance is off by 1e-7 for nearly parallel axes; a convex search is not."""
    rng = np.random.default_rng(3)
    size, a, u = random_segments(count, 3)
    near = rng.random(count) < 0.3
    tilt = 10.0 ** rng.uniform(-14, -2, (count, 1)) * rng.normal(size=(count, 3))
    u[near] = (np.array([0.0, 0.0, 0.5]) + tilt)[near]
    distance, normal, t = run(capsules, a, u, size)
    best = least_along(lambda x: to_axis(x, size[:, 2]), a, u)
    assert np.max(distance - best) < 1e-9
    assert np.max(best - distance) < 1e-8  # flat minima stop the ternary search
    apart = distance > 1e-6
    x = a + t[:, None] * u
    y = x - distance[:, None] * normal
    assert np.abs(y[apart, :2]).max() < 1e-9
    assert (np.abs(y[apart, 2]) <= size[apart, 2] + 1e-9).all()


def least_along(distance, a, u):
    """Least value of a convex function along each segment, by ternary search: an upper bound."""
    low, high = np.zeros((2, len(a), 1))
    high += 1.0
    best = np.minimum(distance(a), distance(a + u))
    for _ in range(100):
        s, t = low + (high - low) / 3.0, high - (high - low) / 3.0
        left, right = distance(a + s * u), distance(a + t * u)
        best = np.minimum(best, np.minimum(left, right))
        lower = (left < right)[:, None]
        low, high = np.where(lower, low, s), np.where(lower, t, high)
    return best


def to_cylinder(x, size):
    """Distance of points outside."""
    beside = np.maximum(np.hypot(x[:, 0], x[:, 1]) - size[:, 0], 0.0)
    return np.hypot(beside, np.maximum(np.abs(x[:, 2]) - size[:, 2], 0.0))


def to_axis(x, half):
    """Distance of points from the segment about z."""
    z = x[:, 2] - np.clip(x[:, 2], -half, half)
    return np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + z**2)


def test_lanes_and_plain_numbers_agree() -> None:
    size, a, u = random_segments(500, 4)
    for function in (boxes, cylinders, capsules, half_spaces):
        in_lanes, plain = run(function, a, u, size), run(function, a, u, size, lanes=False)
        np.testing.assert_allclose(in_lanes[0], plain[0], rtol=0.0, atol=2e-12)
        np.testing.assert_allclose(in_lanes[1], plain[1], rtol=0.0, atol=1e-5)  # of a search


def test_half_space_has_the_lower_end() -> None:
    size, a, u = random_segments(500, 5)
    distance, normal, t = run(half_spaces, a, u, size)
    np.testing.assert_array_equal(distance, np.minimum(a[:, 2], a[:, 2] + u[:, 2]))
    np.testing.assert_array_equal(normal, np.broadcast_to([0.0, 0.0, 1.0], (500, 3)))
    np.testing.assert_allclose((a + t[:, None] * u)[:, 2], distance, atol=1e-15)


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.verify)])
def test_meshes_are_never_above_coal(count: int) -> None:
    rng = np.random.default_rng(6)
    points = rng.normal(size=(12, 3)) * 0.15
    planes = planes_of("mesh", Triangles(points, np.zeros((0, 3), int)))
    solid = coal.StdVec_Vec3s()
    solid.extend(list(points))
    hull = coal.Convex.convexHull(solid, True, "Qt")
    size, a, u = random_segments(count, 7, degenerate=False)
    distance, _, _ = run(meshes, a, u, size, planes)
    theirs = np.array([by_coal(hull, x, y) for x, y in zip(a, u, strict=True)])
    sane = np.abs(theirs) < 10.0
    assert (~sane).sum() <= FAILED * count
    gap = (theirs - distance)[sane]
    assert gap.min() > -COAL
    assert (gap < 1e-6).mean() > 0.05  # above faces it is exact
    # a box as a mesh is exact where the nearest feature is a face, and inside along faces
    corners = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T * [0.1, 0.2, 0.3]
    planes = planes_of("box", Triangles(corners, np.zeros((0, 3), int)))
    assert len(planes) == 6
    box = np.broadcast_to([0.1, 0.2, 0.3], (count, 3)).copy()
    exact, bound = run(boxes, a, u, box)[0], run(meshes, a, u, box, planes)[0]
    assert (bound <= exact + 1e-12).all()
    above = np.abs(run(boxes, a, u, box)[1]).max(axis=1) > 1.0 - 1e-12
    assert above.sum() > 0.1 * count
    np.testing.assert_allclose(bound[above & (exact > 0)], exact[above & (exact > 0)], atol=1e-12)


def test_mujoco_agrees() -> None:
    """mj_geomDistance of a capsule and a box, a cylinder, a sphere and a capsule, apart."""
    spec = mujoco.MjSpec()
    spec.option.ccd_tolerance, spec.option.ccd_iterations = 1e-9, 500
    geom = mujoco.mjtGeom
    moved = spec.worldbody.add_body(name="moved", mocap=True)
    moved.add_geom(name="capsule", type=geom.mjGEOM_CAPSULE, size=[RADIUS, 0.2, 0.0])
    solids = {
        "box": (geom.mjGEOM_BOX, [0.1, 0.2, 0.3], boxes, 0.0),
        "cylinder": (geom.mjGEOM_CYLINDER, [0.1, 0.3, 0.0], cylinders, 0.0),
        "sphere": (geom.mjGEOM_SPHERE, [0.15, 0.0, 0.0], capsules, 0.15),
        "rod": (geom.mjGEOM_CAPSULE, [0.1, 0.3, 0.0], capsules, 0.1),
    }
    for name, (kind, size, _, _) in solids.items():
        spec.worldbody.add_geom(name=name, type=kind, size=size)
    model = spec.compile()
    data = mujoco.MjData(model)
    rng = np.random.default_rng(8)
    worst = dict.fromkeys(solids, 0.0)
    for _ in range(150):
        p, direction = rng.uniform(-0.8, 0.8, 3), rng.normal(size=3)
        R = rotation_to(direction)
        mujoco.mju_mat2Quat(data.mocap_quat[0], R.ravel())
        data.mocap_pos[0] = p
        mujoco.mj_forward(model, data)
        a, u = (p - 0.2 * R[:, 2])[None], (0.4 * R[:, 2])[None]
        for name, (_, size, function, radius) in solids.items():
            half = {"box": size, "cylinder": [0.1, 0.0, 0.3], "sphere": [0.0] * 3,
                    "rod": [0.0, 0.0, 0.3]}[name]  # fmt: skip
            ours = run(function, a, u, np.array([half]))[0][0] - RADIUS - radius
            one, other = (mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, x)
                          for x in ("capsule", name))  # fmt: skip
            theirs = mujoco.mj_geomDistance(model, data, one, other, 5.0, np.empty(6))
            if ours > 1e-3:
                worst[name] = max(worst[name], abs(ours - theirs))
    assert max(worst.values()) < 1e-6, worst

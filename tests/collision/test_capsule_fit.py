"""Capsules around shapes: every triangle is inside, and the volume is near the known one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from predyn import InputError, Model
from predyn.collision import Checker, fit_capsules
from predyn.collision.capsule_fit import capsule_around, cover, divided
from predyn.collision.solids import covering_capsule
from predyn.model import Shape
from predyn.model.orientations import rotation_of
from predyn.model.parts import Triangles
from predyn.models import two_link


def distances(points, a, b):
    u = b - a
    t = np.clip((points - a) @ u / max(u @ u, 1e-300), 0.0, 1.0)
    return np.linalg.norm(points - a - t[..., None] * u, axis=-1)


@pytest.mark.parametrize("seed", range(2))
def test_every_triangle_is_inside_one_capsule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 3)) * rng.uniform(0.02, 0.3, 3)
    triangles = trimesh.convex.convex_hull(points).triangles.view(np.ndarray)
    for most in (1, 3):
        capsules = cover(triangles, most)
        assert len(capsules) <= most
        pieces = divided(triangles, 0.02)
        inside = [(distances(pieces, a, b) <= r).all(axis=1) for a, b, r in capsules]
        # pieces that `cover` cut elsewhere may be shared by two capsules: look at their corners
        corners = [(distances(pieces, a, b) <= r) for a, b, r in capsules]
        assert np.any(corners, axis=0).all()
        assert np.any(inside, axis=0).mean() > 0.9


def test_a_known_capsule_is_found() -> None:
    R = rotation_of((0.3, -0.5, 0.8), "R")
    solid = trimesh.creation.capsule(height=0.4, radius=0.08, count=[24, 24])
    points = np.asarray(solid.vertices) @ R.T + [1.0, 2.0, 3.0]
    a, b, radius = capsule_around(points)
    assert radius == pytest.approx(0.08, rel=0.02)
    assert np.linalg.norm(b - a) == pytest.approx(0.4, rel=0.03)
    assert (distances(points, a, b) <= radius).all()


def test_dividing_keeps_the_area() -> None:
    triangles = np.random.default_rng(0).normal(size=(10, 3, 3))
    pieces = divided(triangles, 0.3)

    def area(x):
        return np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum() / 2

    assert area(pieces) == pytest.approx(area(triangles), rel=1e-12)
    assert np.linalg.norm(pieces[:, (1, 2, 0)] - pieces, axis=2).max() <= 0.3


@pytest.mark.parametrize(
    ("kind", "size"), [("box", (0.3, 0.1, 0.2)), ("cylinder", (0.1, 0.5)), ("cylinder", (0.3, 0.1)),
                       ("sphere", (0.2,)), ("capsule", (0.1, 0.4))],
)  # fmt: skip
def test_one_capsule_covers_a_solid(kind, size) -> None:
    make = trimesh.creation
    solid = {"box": lambda: make.box(size), "cylinder": lambda: make.cylinder(*size),
             "sphere": lambda: make.icosphere(radius=size[0]),
             "capsule": lambda: make.capsule(size[1], size[0])}[kind]()  # fmt: skip
    half, radius = covering_capsule(kind, size)
    points = np.asarray(solid.vertices)
    if kind == "capsule":
        points = points - points.mean(axis=0)
    assert distances(points, -half, half).max() <= radius + 1e-9


def with_mesh() -> Model:
    model = two_link()
    box = trimesh.creation.box((0.4, 0.05, 0.05))
    mesh = Triangles(np.asarray(box.vertices), np.asarray(box.faces))
    shape = Shape(1, "mesh", np.eye(3), (0.2, 0.0, 0.0), (1.0, 1.0, 1.0), "box.stl", "collision",
                  triangles=mesh)  # fmt: skip
    ball = Shape(0, "sphere", np.eye(3), (0.1, 0.0, 0.0), (0.05,), role="collision")
    return replace(model, shapes=(shape, ball))


def test_meshes_of_a_model_become_capsules() -> None:
    model = with_mesh()
    with pytest.raises(InputError, match="has a collision mesh; replace the meshes by capsules"):
        Checker(model)
    capsules = fit_capsules(model)
    names = [capsule.link for capsule in capsules]
    assert set(names) == set(model.link_names)
    fitted = model.with_capsules(capsules)
    checker = Checker(fitted)
    corners = np.asarray(model.shapes[0].triangles.points) + [0.2, 0.0, 0.0]
    own = [body for body in checker.bodies if body.owner == model.link_names[1]]
    assert (np.min([distances(corners, x.a, x.b) - x.radius for x in own], axis=0) <= 1e-9).all()
    (ball,) = [body for body in checker.bodies if body.owner == model.link_names[0]]
    np.testing.assert_allclose(ball.a, (0.1, 0.0, 0.0))
    assert ball.radius == 0.05
    lost = replace(model, shapes=(replace(model.shapes[0], triangles=None),))
    with pytest.raises(InputError, match=r"its mesh 'box.stl' was not found"):
        fit_capsules(lost)

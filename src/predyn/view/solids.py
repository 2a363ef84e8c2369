"""Solids that the animation draws: their shapes, and how far they reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.model.parts import Triangles

Floats = NDArray[np.float64]

SIDES = 16  # points on a circle where reach is measured
LATTICE = 60  # points on each sphere of a hull


class Solid(NamedTuple):
    """A body fixed to a link (link -1: to the world), with the pose (R, p) there.

    kind and size (m): box (x, y, z); sphere (radius,); cylinder and capsule (radius, length along
    z); limb (radius at -z, radius at +z, length along z between the centres of its round ends);
    mesh (), with its triangles.
    role: body, hub, base, payload, tool or obstacle.
    """

    link: int
    kind: str
    size: tuple[float, ...]
    R: Floats
    p: Floats
    role: str
    triangles: Triangles | None = None
    shown: tuple[float, float] | None = None  # s: when it is there; None: always

    @property
    def outline(self) -> tuple[Floats, float]:
        """Points in link axes and a radius: balls around the points fill the solid's hull."""
        size, radius = self.size, 0.0
        if self.triangles is not None:
            points = np.asarray(self.triangles.points, float)
        elif self.kind == "box":
            corners = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3), axis=-1).reshape(-1, 3)
            points = corners * size
        elif self.kind == "cylinder":
            angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
            ring = np.column_stack((np.cos(angle), np.sin(angle))) * size[0]
            points = np.vstack([
                np.column_stack((ring, np.full(SIDES, z))) for z in (-0.5 * size[1], 0.5 * size[1])
            ])  # fmt: skip
        else:
            length = 0.0 if self.kind == "sphere" else size[-1]
            points = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
            radius = max(size[:-1], default=0.0) if len(size) > 1 else size[0]
        return points @ self.R.T + self.p, radius


def limb(
    link: int, start: Floats, end: Floats, radii: tuple[float, float], role: str = "body"
) -> Solid:
    """A round bar from point to point, with a radius at each."""
    along = end - start
    length = float(np.linalg.norm(along))
    return Solid(
        link, "limb", (*radii, length), axes_along(along / length), 0.5 * (start + end), role
    )


def hull(link: int, centres: Floats, radius: float) -> tuple[Solid, float]:
    """The convex hull of equal balls, and its volume (m^3)."""
    from scipy.spatial import ConvexHull

    ball = sphere_points(LATTICE)
    points = (centres[:, None] + radius * ball).reshape(-1, 3)
    found = ConvexHull(points)
    # rows of `simplices` have no common orientation: turn those whose normal points inward
    a, b, c = (points[found.simplices[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0.0
    faces = np.where(inward[:, None], found.simplices[:, ::-1], found.simplices)
    used, renumbered = np.unique(faces, return_inverse=True)
    triangles = Triangles(points[used], renumbered.reshape(-1, 3))
    body = Solid(link, "mesh", (), np.eye(3), np.zeros(3), "body", triangles)
    return body, float(found.volume)


def sphere_points(count: int) -> Floats:
    """Unit vectors (count, 3) along a spiral: nearly even on the sphere."""
    k = np.arange(count) + 0.5
    polar, around = np.arccos(1.0 - 2.0 * k / count), np.pi * (1.0 + np.sqrt(5.0)) * k
    level = np.sin(polar)
    return np.column_stack((level * np.cos(around), level * np.sin(around), np.cos(polar)))


def axes_along(axis: Floats) -> Floats:
    """A rotation matrix whose third column is this unit vector."""
    x = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(axis, x), axis]).T


def equal_box(mass: float, inertia: Floats) -> tuple[Floats, Floats]:
    """Edges (3,) and axes (3, 3) of the uniform box with this mass and inertia about its centre."""
    moments, axes = np.linalg.eigh(inertia)
    squares = 6.0 * (moments.sum() - 2.0 * moments) / mass
    if np.linalg.det(axes) < 0.0:
        axes = -axes
    return np.sqrt(np.maximum(squares, 0.0)), axes

"""Kinds of solids: what their sizes mean, their bounding balls, capsules around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from predyn.collision.arguments import LARGEST, lengths
from predyn.errors import InputError
from predyn.model.numbers import real_numbers, shown
from predyn.model.parts import Array, Triangles

KINDS = ("box", "sphere", "cylinder", "capsule", "half_space", "mesh")
SIZES = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "half_space": (),
    "mesh": (),
}
MOST_PLANES = 2_000


def check_solid(
    what: str, kind: str, size: object, triangles: Triangles | None
) -> tuple[float, ...]:
    """The size as numbers; raises an InputError if it does not fit the kind."""
    names = SIZES[kind]
    expected = f"({', '.join(names)}) in m, each up to {LARGEST:g}" if names else "none"
    array = real_numbers(size, f"{what}: size of a {kind}", expected)
    if array.shape != (len(names),) or not ((array >= 0.0) & (array <= LARGEST)).all():
        raise InputError(f"{what}: size of a {kind}: expected {expected}, got {shown(size)}")
    zeros = [name for name, x in zip(names, array, strict=True) if x == 0.0 and name != "length"]
    if zeros:
        raise InputError(f"{what}: {zeros[0]} of a {kind}: expected a positive number, got 0")
    if (kind == "mesh") != (triangles is not None):
        got = "none" if triangles is None else "some"
        raise InputError(f"{what}: triangles belong to a mesh, and only to it; got {got}")
    if triangles is not None:
        given: Any = triangles
        if not isinstance(given, Triangles):
            got = type(given).__name__
            raise InputError(f"{what}: expected Triangles (points, faces), got {got}")
        count = len(triangles.points) if np.ndim(triangles.points) else 0
        hull_of(what, lengths(triangles.points, f"{what}: points of the mesh", (count, 3)))
    return tuple(float(x) for x in array)


def hull_of(what: str, points: object) -> ConvexHull:
    """Convex hull of points (N, 3)."""
    array = np.asarray(points, float)
    if array.ndim != 2 or array.shape[1] != 3 or not np.isfinite(array).all():
        raise InputError(f"{what}: expected finite points (N, 3), got shape {array.shape}")
    try:
        return ConvexHull(array)
    except (QhullError, ValueError):
        raise InputError(
            f"{what}: the points of the mesh lie in a plane, or there are fewer than 4"
        ) from None


def planes_of(what: str, triangles: Triangles) -> Array:
    """(F, 4): unit normals and offsets of the convex hull, n . x <= offset inside."""
    hull = hull_of(what, triangles.points)
    planes = np.unique(np.round(hull.equations, 12), axis=0)  # one of two coplanar triangles
    if len(planes) > MOST_PLANES:
        raise InputError(
            f"{what}: the convex hull has {len(planes)} faces, more than {MOST_PLANES}; simplify it"
        )
    normals = planes[:, :3] / np.linalg.norm(planes[:, :3], axis=1)[:, None]
    # rounded normals: the offset is set so that every point is inside
    offsets = (normals @ np.asarray(triangles.points, float).T).max(axis=1)
    return np.column_stack([normals, offsets])


def ball_radius(kind: str, size: tuple[float, ...], triangles: Triangles | None) -> float:
    """Radius of a ball about the frame's origin that contains the solid; inf for a half-space."""
    if kind == "box":
        return 0.5 * float(np.linalg.norm(size))
    if kind == "sphere":
        return size[0]
    if kind == "cylinder":
        return float(np.hypot(size[0], 0.5 * size[1]))
    if kind == "capsule":
        return size[0] + 0.5 * size[1]
    if triangles is not None:
        return float(np.linalg.norm(np.asarray(triangles.points, float), axis=1).max())
    return float("inf")


def covering_capsule(kind: str, size: tuple[float, ...]) -> tuple[Array, float]:
    """Half axis (3,) and radius of a capsule about a box, sphere, cylinder or capsule.

    A sphere or capsule is covered exactly; of a box or cylinder, it is the smallest in volume
    whose axis is the longest axis of symmetry.
    """
    if kind == "sphere":
        return np.zeros(3), size[0]
    if kind == "capsule":
        return np.array([0.0, 0.0, 0.5 * size[1]]), size[0]
    axis, across, half = 2, size[0], 0.5 * size[-1]
    if kind == "box":
        axis = int(np.argmax(size))
        half = 0.5 * size[axis]
        across = 0.5 * float(np.linalg.norm(np.delete(size, axis)))
    e = np.linspace(0.0, half, 201)
    radius = np.hypot(across, half - e)
    best = int(np.argmin(2.0 * radius**2 * e + 4.0 / 3.0 * radius**3))
    return np.eye(3)[axis] * e[best], float(radius[best])

"""Capsules around meshes: every triangle lies within one of them.

A capsule is convex, so it contains a triangle if it contains its corners. About a given line, the
smallest radius is the largest distance of a point to the line, and a larger radius allows a shorter
axis: a point at the height z and the distance rho needs an end of the axis at z - sqrt(R^2 - rho^2)
or above. The line and the radius are improved by Nelder-Mead steps that reduce the volume.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from predyn.collision.solids import covering_capsule, hull_of
from predyn.errors import InputError
from predyn.model import Model, Shape
from predyn.model.capsules import Capsule
from predyn.model.parts import Array

WORTHWHILE = 0.85  # of the volume: another capsule is used only if it saves more
PIECE = 0.15  # of the extent: larger triangles are divided before they are shared out


def fit_capsules(model: Model, counts: int | Mapping[str, int] = 3) -> list[Capsule]:
    """Capsules that contain the collision shapes of a model, for `Model.with_capsules`.

    counts  the most capsules for one shape, also by the name of a link; fewer are used where more
            would not reduce the volume by 15 %

    Meshes of files are read here. Spheres and capsules stay what they are; a box or a cylinder gets
    one capsule around it. The result is not the smallest possible, but it contains every triangle.
    """
    from predyn.load.meshes import read_mesh

    capsules = []
    for shape in model.shapes:
        if shape.role != "collision":
            continue
        link = "world" if shape.link < 0 else model.link_names[shape.link]
        if shape.kind != "mesh":
            half, radius = covering_capsule(shape.kind, shape.size)
            capsules.append(_placed(link, shape, -half, half, radius))
            continue
        if shape.triangles is None and shape.file is None:
            raise InputError(
                f"link {link!r:.60}: its mesh {shape.mesh!r:.80} was not found; see model.notes"
            )
        mesh = shape.triangles if shape.triangles is not None else read_mesh(str(shape.file))
        points = np.asarray(mesh.points, float) * np.asarray(shape.size)
        most = counts.get(link, 3) if isinstance(counts, Mapping) else counts
        for a, b, radius in cover(points[np.asarray(mesh.faces)], most):
            capsules.append(_placed(link, shape, a, b, radius))
    return capsules


def _placed(link: str, shape: Shape, a: Array, b: Array, radius: float) -> Capsule:
    ends = [shape.R @ x + shape.p for x in (a, b)]
    return Capsule(link, ends[0], ends[1], radius)


def cover(triangles: Array, most: int) -> list[tuple[Array, Array, float]]:
    """Up to `most` capsules (a, b, radius) that contain triangles (T, 3, 3)."""
    best = [capsule_around(triangles.reshape(-1, 3))]
    pieces = divided(triangles, PIECE * float(np.ptp(triangles.reshape(-1, 3), axis=0).max()))
    centres = pieces.mean(axis=1)
    for count in range(2, most + 1):
        options = []
        for axis in range(3):
            cuts = np.linspace(centres[:, axis].min(), centres[:, axis].max(), count + 1)[1:-1]
            slab = np.searchsorted(cuts, centres[:, axis])
            parts = [pieces[slab == k].reshape(-1, 3) for k in range(count)]
            options.append([capsule_around(part) for part in parts if len(part)])
        found = min(options, key=lambda capsules: sum(map(_volume, capsules)))
        if sum(map(_volume, found)) < WORTHWHILE * sum(map(_volume, best)):
            best = found
    return best


def _volume(capsule: tuple[Array, Array, float]) -> float:
    a, b, radius = capsule
    return float(np.pi * radius**2 * (np.linalg.norm(b - a) + 4.0 / 3.0 * radius))


def divided(triangles: Array, longest: float) -> Array:
    """The same triangles, halved until no edge is longer than `longest`."""
    done = []
    while len(triangles):
        edges = triangles[:, (1, 2, 0)] - triangles
        length = np.linalg.norm(edges, axis=2)
        small = length.max(axis=1) <= longest
        done.append(triangles[small])
        triangles, at = triangles[~small], length[~small].argmax(axis=1)
        rows = np.arange(len(triangles))
        a, b, c = (triangles[rows, (at + k) % 3] for k in range(3))
        middle = 0.5 * (a + b)
        triangles = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
    return np.concatenate(done)


def capsule_around(points: Array) -> tuple[Array, Array, float]:
    """A capsule (a, b, radius) of small volume that contains points (N, 3)."""
    from scipy.optimize import minimize

    try:
        points = points[hull_of("mesh", points).vertices]
    except InputError:  # flat: all points are on the boundary
        points = np.unique(points, axis=0)
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    size = max(float(np.ptp(points, axis=0).max()), 1e-9)
    local = (points - centre) / size
    axes = np.linalg.svd(local - local.mean(axis=0), full_matrices=False)[2]

    def volume(x: Array) -> float:
        return _volume(_about(local, x))

    starts = [np.concatenate([np.zeros(3), axis, [0.0]]) for axis in axes]
    options = {"maxiter": 600, "xatol": 1e-5, "fatol": 1e-8}
    best = minimize(volume, min(starts, key=volume), method="Nelder-Mead", options=options)
    a, b, _ = _about(local, best.x)
    a, b = centre + size * a, centre + size * b
    return a, b, _radius_about(points, a, b)


def _about(points: Array, x: Array) -> tuple[Array, Array, float]:
    """The shortest capsule about the line (point, direction) with a relative excess of radius."""
    axis = x[3:6] / max(float(np.linalg.norm(x[3:6])), 1e-12)
    away = points - x[:3]
    z = away @ axis
    rho = np.linalg.norm(away - z[:, None] * axis, axis=1)
    radius = float(rho.max()) * (1.0 + abs(float(x[6]))) + 1e-9
    reach = np.sqrt(np.maximum(radius**2 - rho**2, 0.0))
    low, high = float((z + reach).min()), float((z - reach).max())
    if low > high:
        low = high = 0.5 * (low + high)
    return x[:3] + low * axis, x[:3] + high * axis, radius


def _radius_about(points: Array, a: Array, b: Array) -> float:
    """The radius within which all points are of the segment, with an allowance for rounding."""
    u = b - a
    t = np.clip((points - a) @ u / max(float(u @ u), 1e-300), 0.0, 1.0)
    away = points - (a + t[:, None] * u)
    return float(np.linalg.norm(away, axis=1).max()) * (1.0 + 1e-12) + 1e-12

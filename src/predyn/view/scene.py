"""The scene of the page's animation as plain data: solids, poses, paths, forces, grid, camera."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.model import PRISMATIC
from predyn.view.numbers import rounded
from predyn.view.stage import Bar, Floats, Stage, bodies_of

THIN, THICK, SLENDER = 0.006, 0.022, 0.12  # radius of a bar over the scene's, and over its length


def scene_data(stage: Stage) -> dict[str, Any]:
    """What scene.js draws; lengths in m, poses as position and quaternion (w, x, y, z)."""
    view = stage.view
    digits = 5 - int(np.floor(np.log10(view.radius)))
    poses = np.concatenate([stage.p, _quaternions(stage.R)], axis=2)
    return {
        "times": rounded(stage.times, 6),
        "poses": [np.round(pose.ravel(), digits).tolist() for pose in poses],
        "solids": _solids(stage),
        "axes": [
            {"link": j, "p": [0.0, 0.0, 0.0], "axis": rounded(stage.model.axis[j], 5)}
            for j in range(stage.model.n)
        ],
        "paths": [
            {"name": end.name, "link": end.link, "points": np.round(path, digits).tolist()}
            for end, path in zip(stage.ends, stage.paths, strict=True)
        ],
        "forces": [
            {
                "label": arrow.label,
                "link": arrow.link,
                "p": rounded(arrow.point, 6),
                "vector": rounded(arrow.vector, 6),
                "world": arrow.world,
            }
            for arrow in stage.arrows
        ],
        "loads": [
            {
                "feet": points_or_none(arrow.feet, arrow.seen),
                "tips": points_or_none(arrow.tips, arrow.seen),
                "labels": arrow.labels,
            }
            for arrow in stage.moving
        ],
        "grid": _grid(stage),
        "camera": {
            "up": view.up.tolist(),
            "east": view.east.tolist(),
            "north": view.north.tolist(),
            "azimuth": view.azimuth,
            "elevation": view.elevation,
            "centre": view.centre.tolist(),
            "radius": view.radius,
            "half": view.half.tolist(),
        },
    }


def points_or_none(points: Floats, seen: NDArray[np.bool_]) -> list[list[float] | None]:
    return [np.round(x, 6).tolist() if ok else None for x, ok in zip(points, seen, strict=True)]


def _solids(stage: Stage) -> list[dict[str, Any]]:
    """Shapes where a link has them, else bars; joints of links without shapes as hubs."""
    model, radius = stage.model, stage.view.radius
    shapes = bodies_of(model)
    shaped = {shape.link for shape in shapes}
    solids = [_solid(s.link, s.kind, list(s.size), s.R, s.p, "body") for s in shapes]
    thickest = {j: THIN * radius for j in range(-1, model.n)}
    for bar in stage.bars:
        if bar.link in shaped and not bar.rail:
            continue
        length = float(np.linalg.norm(bar.end - bar.start))
        r = max(THIN * radius, min(THICK * radius, SLENDER * length))
        if bar.rail:
            r *= 0.6
        else:
            thickest[bar.link] = max(thickest[bar.link], r)
        solids.append(_capsule(bar, r, length))
    for j in range(model.n):
        if j in shaped:
            continue
        r = 1.4 * max(thickest[j], thickest[int(model.parent[j])])
        kind, size, role = "cylinder", [r, 2.2 * r], "hub"
        if model.kind[j] == PRISMATIC:
            r = max(r, THICK * radius)
            kind, size, role = "box", [2.6 * r, 2.6 * r, 4.5 * r], "body"
        solids.append(_solid(j, kind, size, _along(model.axis[j]), np.zeros(3), role))
    if -1 not in shaped:
        for j in np.flatnonzero(model.parent < 0).tolist():
            r = 2.2 * max(thickest[j], 0.6 * THICK * radius)
            R = np.array([stage.view.east, stage.view.north, stage.view.up]).T
            base = model.p[j] - 1.0 * r * stage.view.up
            solids.append(_solid(-1, "box", [2.4 * r, 2.4 * r, 0.7 * r], R, base, "base"))
    return solids


def _solid(
    link: int, kind: str, size: list[float], R: Floats, p: Floats, role: str
) -> dict[str, Any]:
    return {
        "link": link,
        "kind": kind,
        "size": rounded(np.array(size), 5),
        "R": rounded(R.ravel(), 6),
        "p": rounded(p, 6),
        "role": role,
    }


def _capsule(bar: Bar, r: float, length: float) -> dict[str, Any]:
    R = _along((bar.end - bar.start) / length)
    return _solid(bar.link, "capsule", [r, length], R, 0.5 * (bar.start + bar.end), "body")


def _along(axis: Floats) -> Floats:
    """A rotation whose z is along the unit vector."""
    x = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(axis, x), axis]).T


def _quaternions(R: Floats) -> Floats:
    """(..., 4) unit quaternions w, x, y, z; neighbours along axis 1 have the nearer sign.

    Bar-Itzhack's method without the eigenvalue problem: the column of the outer product q q^T with
    the largest diagonal element.
    """
    m = R
    trace = np.trace(m, axis1=-2, axis2=-1)
    K = np.empty((*R.shape[:-2], 4, 4))
    K[..., 0, 0] = trace
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        K[..., 0, i + 1] = K[..., i + 1, 0] = m[..., k, j] - m[..., j, k]
        K[..., i + 1, i + 1] = 2.0 * m[..., i, i] - trace
        K[..., i + 1, j + 1] = K[..., j + 1, i + 1] = m[..., i, j] + m[..., j, i]
    outer = 0.25 * (K + np.eye(4))
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(outer, best[..., None, None], axis=-1)[..., 0]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    flips = np.where(np.sum(q[:, 1:] * q[:, :-1], axis=-1) < 0.0, -1.0, 1.0)
    q[:, 1:] *= np.cumprod(flips, axis=1)[..., None]
    return q


def _grid(stage: Stage) -> dict[str, Any]:
    """Lines of a plane: that of a planar motion, else the ground below the mechanism."""
    view = stage.view
    step = nice_step(view.radius / 4.0)
    if view.planar:
        a, b = view.right, np.cross(view.toward, view.right)
        level = view.centre - (view.centre @ a) * a - (view.centre @ b) * b
    else:
        a, b = view.east, view.north
        points = np.concatenate([stage.p.reshape(-1, 3), *stage.paths])
        level = min(0.0, float((points @ view.up).min())) * view.up
    around = [step * round(float(view.centre @ axis) / step) for axis in (a, b)]
    return {
        "origin": rounded(level + around[0] * a + around[1] * b, 6),
        "a": rounded(a, 6),
        "b": rounded(b, 6),
        "step": step,
        "lines": int(np.ceil(1.6 * view.radius / step)),
    }


def nice_step(rough: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above `rough`."""
    power = 10.0 ** np.floor(np.log10(rough))
    return float(max(factor for factor in (1.0, 2.0, 5.0) if factor * power <= rough * 1.0001)
                 * power)  # fmt: skip

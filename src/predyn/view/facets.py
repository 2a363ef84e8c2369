"""Solids as flat four-sided facets, in link axes; a triangle repeats its last corner."""

from __future__ import annotations

import numpy as np

from predyn.model.parts import Triangles
from predyn.view.solids import Floats, Solid

AROUND, ALONG, ROUND = 28, 6, 6  # facets around an axis, along a bar, from a pole to the equator
EDGE = 4  # facets along the edge of a box
MOST = 4000  # triangles of a mesh that are drawn; the smallest of more are left out


def facets_of(solid: Solid) -> Floats:
    """Corners (F, 4, 3), counter-clockwise from outside."""
    if solid.triangles is not None:
        corners = _mesh(solid.triangles)
    elif solid.kind == "box":
        corners = _box(np.asarray(solid.size))
    else:
        corners = _turned(_profile(solid.kind, solid.size))
    return np.asarray(corners @ solid.R.T + solid.p)


def _box(size: Floats) -> Floats:
    ends = np.linspace(-0.5, 0.5, EDGE + 1)
    u, v = (x.ravel() for x in np.meshgrid(ends[:-1], ends[:-1], indexing="ij"))
    d = 1.0 / EDGE
    square = np.stack(
        [
            np.column_stack((x, y, np.full_like(x, 0.5)))
            for x, y in ((u, v), (u + d, v), (u + d, v + d), (u, v + d))
        ],
        axis=1,
    )
    sides = [np.roll(square, shift, axis=2) for shift in range(3)]  # cyclic: orientation stays
    sides += [-side[:, ::-1] for side in sides]
    return np.concatenate(sides) * size


def _profile(kind: str, size: tuple[float, ...]) -> Floats:
    """Points (K, 2) of (radius, height) from the lower pole to the upper one."""
    if kind == "cylinder":
        radius, length = size
        z = np.linspace(-0.5, 0.5, ALONG + 1) * length
        side = np.column_stack((np.full_like(z, radius), z))
        caps = np.array([[0.0, z[0]], [0.5 * radius, z[0]]])
        return np.concatenate([caps, side, caps[::-1] * (1.0, -1.0)])
    if kind == "sphere":
        low = high = size[0]
        length = 0.0
    elif kind == "capsule":
        (low, length), high = size, size[0]
    else:  # a limb
        low, high, length = size
    # where the cone touches the balls at its ends
    lean = float(np.arcsin(np.clip((low - high) / length, -1.0, 1.0))) if length > 0.0 else 0.0
    below = np.linspace(-0.5 * np.pi, lean, ROUND + 1)
    above = np.linspace(lean, 0.5 * np.pi, ROUND + 1)
    ends = [
        np.column_stack((r * np.cos(angle), z + r * np.sin(angle)))
        for r, z, angle in ((low, -0.5 * length, below), (high, 0.5 * length, above))
    ]
    if length == 0.0:
        return np.concatenate([ends[0], ends[1][1:]])
    share = np.linspace(0.0, 1.0, ALONG + 1)[1:-1, None]
    return np.concatenate([ends[0], (1.0 - share) * ends[0][-1] + share * ends[1][0], ends[1]])


def _turned(profile: Floats) -> Floats:
    """The surface that a profile sweeps around z."""
    angle = 2.0 * np.pi * np.arange(AROUND + 1) / AROUND
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    flat = circle[:, None] * profile[:, None, :1].transpose(1, 0, 2)
    points = np.concatenate([flat, np.broadcast_to(profile[:, 1:], (*flat.shape[:2], 1))], axis=2)
    corners = (points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:])
    return np.stack([x.reshape(-1, 3) for x in corners], axis=1)


def _mesh(surface: Triangles) -> Floats:
    corners = np.asarray(surface.points, np.float64)[surface.faces]
    if len(corners) > MOST:
        a, b, c = corners.transpose(1, 0, 2)
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        corners = corners[np.argsort(-area)[:MOST]]
    return np.concatenate([corners, corners[:, -1:]], axis=1)

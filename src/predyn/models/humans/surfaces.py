"""Smooth closed surfaces through oval cross-sections, for drawing bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predyn.model.parts import Array, Triangles

AROUND = 16  # points of a cross-section
BETWEEN = 2  # cross-sections from one given section to the next
ROUND = (0.5, 0.8, 0.95)  # sizes of the sections that close an end, from its tip on
Z_TO_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # local x points down
Z_TO_Y = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # local x points up


class Section(NamedTuple):
    """A cross-section: its place along z, half its size in x and y, its centre in x and y (m)."""

    z: float
    x_radius: float
    y_radius: float
    x: float = 0.0
    y: float = 0.0


def surface(sections: Sequence[Section], square: float = 2.0, blunt: float = 0.4) -> Triangles:
    """The surface through the sections, in order of z, with rounded ends beyond the first and last.

    square: 2 is an ellipse, more is nearer to a rectangle. blunt: how far an end reaches beyond its
    last section, as a fraction of that section's smaller radius.
    """
    rows = _smooth(np.array(sections, dtype=float))
    first, last = _end(rows[0], -blunt), _end(rows[-1], blunt)[::-1]
    rows = np.concatenate([first, rows, last])
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    c, s = np.cos(angle), np.sin(angle)
    norm = (np.abs(c) ** square + np.abs(s) ** square) ** (-1.0 / square)
    z, rx, ry, x, y = (rows[:, k, None] for k in range(5))
    rings = np.stack(
        [x + rx * norm * c, y + ry * norm * s, np.broadcast_to(z, (len(rows), AROUND))], axis=-1
    )
    tips = [_tip(rows[0], rows[1]), _tip(rows[-1], rows[-2])]
    points = np.concatenate([rings.reshape(-1, 3), np.array(tips)])
    return Triangles(points.astype(np.float32), _faces(len(rows)).astype(np.uint16))


def _smooth(rows: Array) -> Array:
    """Sections in between, on cubics with the slopes of parabolas through neighbours."""
    if len(rows) < 3:
        return rows
    slope = np.gradient(rows, axis=0)
    u = np.arange(BETWEEN)[:, None, None] / BETWEEN
    low, high = rows[:-1], rows[1:]
    fine = (
        low * (1.0 + 2.0 * u) * (1.0 - u) ** 2
        + high * (3.0 - 2.0 * u) * u**2
        + slope[:-1] * u * (1.0 - u) ** 2
        - slope[1:] * u**2 * (1.0 - u)
    )
    return np.concatenate([fine.swapaxes(0, 1).reshape(-1, rows.shape[1]), rows[-1:]])


def _end(row: Array, blunt: float) -> Array:
    """Sections that close an end, from the tip on."""
    size = np.array(ROUND)
    rows = np.tile(row, (len(size), 1))
    rows[:, 0] += blunt * min(row[1], row[2]) * np.sqrt(1.0 - size**2)
    rows[:, 1:3] *= size[:, None]
    return rows


def _tip(outer: Array, inner: Array) -> Array:
    return np.array([outer[3], outer[4], outer[0] + 0.3 * (outer[0] - inner[0])])


def _faces(rings: int) -> Array:
    """Faces between rings and at both tips, counter-clockwise from outside."""
    k = np.arange(AROUND)
    after = (k + 1) % AROUND
    faces = []
    for ring in range(rings - 1):
        a, b = ring * AROUND, (ring + 1) * AROUND
        faces.append(np.stack([a + k, a + after, b + after], axis=1))
        faces.append(np.stack([a + k, b + after, b + k], axis=1))
    bottom, top, last = rings * AROUND, rings * AROUND + 1, (rings - 1) * AROUND
    faces.append(np.stack([np.full(AROUND, bottom), after, k], axis=1))
    faces.append(np.stack([np.full(AROUND, top), last + k, last + after], axis=1))
    return np.concatenate(faces)

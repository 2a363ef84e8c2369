"""From which side the ends of a robot can be seen among obstacles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.view.solids import Floats, Solid

TURNS = np.deg2rad((0.0, -64.0, 90.0, -90.0, 116.0, -154.0, 180.0, 26.0))  # the first is preferred
BETTER = 0.1  # share of the motion that must become visible for a turn to be worth it


def turn_to_see(toward: Sequence[Floats], points: Floats, solids: Sequence[Solid]) -> int:
    """Which of the directions to the eye, unit vectors, shows points (P, 3) best; early ones win
    unless others show clearly more."""
    boxes = [_box(x) for x in solids if x.link < 0 and x.role == "obstacle"]
    if not boxes or not len(points):
        return 0
    hidden = [_hidden(eye, points, boxes) for eye in toward]
    least = min(hidden)
    return next(k for k, share in enumerate(hidden) if share <= least + BETTER)


def _box(solid: Solid) -> tuple[Floats, Floats, Floats]:
    """Axes, and lowest and highest corner along them, of a box around a solid of the world."""
    points, radius = solid.outline
    local = points @ solid.R
    return solid.R, local.min(axis=0) - radius, local.max(axis=0) + radius


def _hidden(eye: Floats, points: Floats, boxes: Sequence[tuple[Floats, Floats, Floats]]) -> float:
    """Share of the points from which a ray to the eye meets a box."""
    blocked = np.zeros(len(points), dtype=bool)
    for R, low, high in boxes:
        start, along = points @ R, eye @ R
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        near, far = (low - start) / along, (high - start) / along
        entry, leave = np.minimum(near, far).max(axis=1), np.maximum(near, far).min(axis=1)
        blocked |= (entry <= leave) & (entry > 0.0)
    return float(blocked.mean())

"""A camera for still pictures: world points to pixels, with perspective."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predyn.view.solids import Floats
from predyn.view.stage import View

FAR = 4.5  # distance of the eye, in radii of the motion
FILLED = 0.88  # share of the picture that the motion fills


class Camera:
    """Pixels x to the right and y upward; depth grows away from the eye."""

    def __init__(
        self, view: View, size: tuple[int, int], angles: tuple[float, float] | None, fit: Floats
    ) -> None:
        """angles: azimuth and elevation, degrees, or None for those of the view; fit (K, 3): the
        points that the picture must hold.
        """
        if angles is not None:
            azimuth, elevation = np.deg2rad(angles)
            view = replace(view, azimuth=float(azimuth), elevation=float(elevation))
        self.toward, self.right = view.toward, view.right
        self.axes = np.array([view.right, np.cross(view.toward, view.right), view.toward])
        self._centre, self._distance = view.centre, FAR * view.radius
        self._scale, self._middle = 1.0, np.zeros(2)
        flat, _ = self.project(fit)
        low, high = flat.min(axis=0), flat.max(axis=0)
        extent = np.maximum(high - low, 0.2 * view.radius)
        self._scale = float((FILLED * np.array(size) / extent).min())
        self._middle = 0.5 * np.array(size) - 0.5 * self._scale * (low + high)

    def project(self, points: Floats) -> tuple[Floats, Floats]:
        """Pixels (..., 2) and depth (...) of world points (..., 3)."""
        seen = (points - self._centre) @ self.axes.T
        nearness = self._distance / (self._distance - seen[..., 2])
        return self._scale * seen[..., :2] * nearness[..., None] + self._middle, -seen[..., 2]

"""Height of a point above a ground with steps, which are smoothed towards their lower side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import FRAME_PARTS, Samples
from predyn.terms.selection import frame_channel, read_numbers, read_positive, read_real
from predyn.terms.term import Residual, Term

X, Z = FRAME_PARTS["p"].start, FRAME_PARTS["p"].start + 2


@dataclass(frozen=True, eq=False)
class HeightAboveSteps(Term):
    """Height of a frame above a ground that changes its height at edges across x, in m.

    height  of the ground before the first edge, m
    steps   ((x, height), ...): from x on, the ground has this height; x increases
    ramp    m; the ground rises or falls over this distance, on the lower side of each edge, so that
            the true step is never above the smooth one
    """

    frame: str
    height: float = 0.0
    steps: Sequence[tuple[float, float]] = ()
    ramp: float = 0.05

    kind = "height_above_steps"

    def bind(self, model: Model) -> Residual:
        channel = frame_channel(model, self.frame, self.kind)
        steps = read_real(self.steps, f"{self.kind}: steps")
        height = float(read_numbers(self.height, f"{self.kind}: height", ("height",))[0])
        if steps.size and (steps.ndim != 2 or steps.shape[1] != 2):
            raise InputError(
                f"{self.kind}: steps: expected pairs (x, height), got {self.steps!r:.60}"
            )
        steps = steps.reshape(-1, 2)
        ramp = float(read_positive(self.ramp, f"{self.kind}: ramp", ("ramp",))[0])
        if not np.isfinite(steps).all() or (np.diff(steps[:, 0]) <= 0.0).any():
            raise InputError(
                f"{self.kind}: steps: expected ((x, height), ...) with increasing x in m, got "
                f"{self.steps!r:.60}"
            )
        heights = [height, *steps[:, 1].tolist()]
        rises = np.array([b - a for a, b in pairwise(heights)])
        # a ramp ends at an edge that rises and begins at one that falls
        begins = np.where(rises > 0.0, steps[:, 0] - ramp, steps[:, 0])
        return _Height(self.frame, channel, heights[0], rises, begins, ramp)


class _Height(Residual):
    """z - height - sum rise s((x - begin) / ramp), s a polynomial with s', s'' = 0 at its ends."""

    def __init__(
        self,
        frame: str,
        channel: str,
        height: float,
        rises: NDArray[np.float64],
        begins: NDArray[np.float64],
        ramp: float,
    ) -> None:
        self.rows, self.units, self.scale = (f"{frame} height",), ("m",), np.ones(1)
        self.entries = ((0, channel, X), (0, channel, Z))
        self.curved = ((channel, X, channel, X),)
        self.lower, self.upper = np.zeros(1), np.full(1, np.inf)
        self._channel, self._height, self._ramp = channel, height, ramp
        self._steps = list(zip(rises.tolist(), begins.tolist(), strict=True))

    def _share(self, s: Samples, begin: float) -> NDArray:
        share: NDArray = np.clip((s[self._channel][X] - begin) / self._ramp, 0.0, 1.0)
        return share

    def value(self, s: Samples, out: NDArray) -> None:
        out[0] = s[self._channel][Z] - self._height
        for rise, begin in self._steps:
            u = self._share(s, begin)
            out[0] -= rise * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)

    def partials(self, s: Samples, out: NDArray) -> None:
        out[0], out[1] = 0.0, 1.0
        for rise, begin in self._steps:
            u = self._share(s, begin)
            out[0] -= rise / self._ramp * 30.0 * u**2 * (1.0 - u) ** 2

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        out[0] = 0.0
        for rise, begin in self._steps:
            u = self._share(s, begin)
            bend = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)
            out[0] -= weights[0] * rise / self._ramp**2 * bend

"""A cubic spline through given points, evaluated at any instants together with its derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.terms.selection import Floats, read_real


class Curve:
    """The C2 cubic spline through values (K, m) at times (K,).

    Its third derivative is continuous at the second and the second-last time ("not a knot"), so
    that cubics are reproduced; 2 points give a line and 3 a parabola. Before the first and after
    the last time, the end pieces continue.
    """

    def __init__(
        self, times: ArrayLike, values: ArrayLike, names: Sequence[str], what: str
    ) -> None:
        t, y = read_real(times, f"{what}: times"), read_real(values, f"{what}: values")
        if t.ndim != 1 or len(t) < 2 or not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0.0):
            raise InputError(
                f"{what}: times: expected at least 2 finite, increasing numbers (s), "
                f"got {t.tolist()!r:.80}"
            )
        if y.shape != (len(t), len(names)) or not np.all(np.isfinite(y)):
            fault = "numbers that are not finite" if y.shape == (len(t), len(names)) else y.shape
            raise InputError(
                f"{what}: values: expected finite numbers, shape ({len(t)}, {len(names)}): one row "
                f"per time, columns {', '.join(names)}; got {fault}"
            )
        step = np.diff(t)[:, None]
        slope = np.diff(y, axis=0) / step
        d = _knot_slopes(step, slope)
        bend = (3.0 * slope - 2.0 * d[:-1] - d[1:]) / step
        twist = (d[:-1] + d[1:] - 2.0 * slope) / step**2
        self._times = t
        self._inner = t[1:-1]
        self._pieces = np.stack((y[:-1], d[:-1], bend, twist)).transpose(0, 2, 1).copy()

    def _at(self, t: NDArray) -> tuple[NDArray, NDArray]:
        """Coefficients (4, m, ...) and time since the start of the piece, for t (...)."""
        k = np.searchsorted(self._inner, t.real, side="right")
        return self._pieces[:, :, k], t - self._times[k]

    def value(self, t: NDArray) -> NDArray:
        """(m, ...)"""
        (y, d, bend, twist), x = self._at(t)
        return np.asarray(y + x * (d + x * (bend + x * twist)))

    def slope(self, t: NDArray) -> NDArray:
        """Time derivative (m, ...)."""
        (_, d, bend, twist), x = self._at(t)
        return np.asarray(d + x * (2.0 * bend + (3.0 * x) * twist))

    def bend(self, t: NDArray) -> NDArray:
        """Second time derivative (m, ...)."""
        (_, _, bend, twist), x = self._at(t)
        return np.asarray(2.0 * bend + (6.0 * x) * twist)


def _knot_slopes(h: Floats, slope: Floats) -> Floats:
    """Slopes (K, m) at the points from steps (K - 1, 1) and mean slopes (K - 1, m).

    Continuity of the second derivative at inner points, and of the third next to the ends, gives a
    tridiagonal system (de Boor, A Practical Guide to Splines, chapter IV).
    """
    K = len(h) + 1
    if K == 2:
        return np.repeat(slope, 2, axis=0)
    if K == 3:
        middle = (h[1] * slope[0] + h[0] * slope[1]) / (h[0] + h[1])
        return np.stack((2.0 * slope[0] - middle, middle, 2.0 * slope[1] - middle))
    below, diagonal, above = np.zeros((K, 1)), np.zeros((K, 1)), np.zeros((K, 1))
    right = np.zeros((K, slope.shape[1]))
    below[1:-1], above[1:-1] = h[1:], h[:-1]
    diagonal[1:-1] = 2.0 * (h[:-1] + h[1:])
    right[1:-1] = 3.0 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    diagonal[0], above[0] = h[1], h[0] + h[1]
    right[0] = ((3.0 * h[0] + 2.0 * h[1]) * h[1] * slope[0] + h[0] ** 2 * slope[1]) / above[0]
    diagonal[-1], below[-1] = h[-2], h[-1] + h[-2]
    right[-1] = (3.0 * h[-1] + 2.0 * h[-2]) * h[-2] * slope[-1] + h[-1] ** 2 * slope[-2]
    right[-1] /= below[-1]
    for k in range(1, K):
        share = below[k] / diagonal[k - 1]
        diagonal[k] -= share * above[k - 1]
        right[k] -= share * right[k - 1]
    out = right / diagonal
    for k in range(K - 2, -1, -1):
        out[k] -= above[k] / diagonal[k] * out[k + 1]
    return out

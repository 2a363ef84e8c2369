"""Bézier form: the control points of each polynomial piece of a curve, whose hull contains it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.curves.bspline import BSpline

Floats = NDArray[np.float64]


def bezier_spans(spline: BSpline, control: ArrayLike) -> tuple[Floats, Floats]:
    """Breaks (S + 1,) and Bézier control points (S, degree + 1, m) of the pieces between them.

    Point j of a piece from a to b is the blossom of the curve at a (degree - j times) and b (j
    times), by de Boor's recursion (Ramshaw 1987).
    """
    p, t, breaks = spline.degree, spline.knots, spline.breaks
    c = np.asarray(control, float)
    start, end = breaks[:-1], breaks[1:]
    first = np.searchsorted(t, start, side="right") - 1  # the knot at the start of each piece
    points = np.empty((len(start), p + 1, *c.shape[1:]))
    local = c[first[:, None] + np.arange(-p, 1)]
    for j in range(p + 1):
        d = local.copy()
        for r in range(1, p + 1):
            at = start if r <= p - j else end
            for i in range(p, r - 1, -1):
                low, high = t[first - p + i], t[first + 1 + i - r]
                x = ((at - low) / (high - low)).reshape(-1, *[1] * (c.ndim - 1))
                d[:, i] = (1.0 - x) * d[:, i - 1] + x * d[:, i]
        points[:, j] = d[:, p]
    return breaks, points

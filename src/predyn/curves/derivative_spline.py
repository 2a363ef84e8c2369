"""Derivatives of a B-spline as B-splines of lower degree.

The k-th derivative of a spline of degree p is a spline of degree p - k on the same knots without
the outer k at each end. Its control points are divided differences of those of the curve (de Boor,
A Practical Guide to Splines, chapter X):

    d_i = (p - k + 1) (c_{i+1} - c_i) / (t_{i+p+1} - t_{i+k})      for one more derivative

The curve of a derivative lies within the range of its control points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline

Floats = NDArray[np.float64]


class DerivativeSpline(NamedTuple):
    """A derivative in normalised time. Inner knots may be degree + 1 fold: there it jumps."""

    degree: int
    knots: Floats
    control: Floats  # (control points, ...)

    @property
    def greville(self) -> Floats:
        """Where each control point acts most, within [0, 1]."""
        if self.degree == 0:
            middle = 0.5 * (self.knots[:-1] + self.knots[1:])
        else:
            windows = np.lib.stride_tricks.sliding_window_view(self.knots[1:-1], self.degree)
            middle = windows.mean(axis=1)
        return np.asarray(np.clip(middle, 0.0, 1.0))


def derivative_spline(spline: BSpline, control: Floats, order: int) -> DerivativeSpline:
    """The derivative of an order up to the degree, in normalised time; order 0 is the curve.

    A control point without a support, at a knot where the derivative jumps, is zero.
    """
    p, knots = spline.degree, spline.knots
    points = np.asarray(control, float)
    for rate in spline.difference_rates[:order]:
        points = rate.reshape(-1, *(1,) * (points.ndim - 1)) * (points[1:] - points[:-1])
    return DerivativeSpline(p - order, knots[order : len(knots) - order], points)

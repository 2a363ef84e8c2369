"""A spline and its first three time derivatives at many instants, compiled.

A derivative is a spline of lower degree whose control points are divided differences of those of
the curve (curves/derivative_spline.py). Only those that act at the instant are formed, once for
instants in a row between the same knots; the basis is that of Cox and de Boor, whose recursion
passes through all lower degrees. An instant within a few roundings of a knot counts as the knot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import SNAP
from predyn.kernels.kernel_cache import keeper
from predyn.solution import Curve

Floats = NDArray[np.float64]
ORDERS = 4

kept = keeper(__file__)


def curve_states(curve: Curve, s: Floats, orders: int = ORDERS) -> Floats:
    """The first of q, v, a, jerk: (orders, instants, columns) at normalised times in [0, 1]."""
    p, columns = curve.degree, curve.control.shape[1]
    out = np.empty((orders, len(s), columns))
    room = np.empty((p + 1, p + 1)), np.empty((orders, p + 1, columns))
    # copies: Numba would compile again for arrays that are read-only or not contiguous
    given = np.array(curve.knots), np.array(curve.control, order="C"), float(curve.duration)
    _states(p, *given, np.array(s), SNAP, *room, out)
    return out


@kept
def _states(p, knots, control, T, s, snap, basis, points, out):
    """basis (p + 1, p + 1) and points (ORDERS, p + 1, columns) are room."""
    last, columns, i = control.shape[0] - 1, control.shape[1], -1
    for k in range(len(s)):
        if i < 0 or not knots[i] <= s[k] + snap < knots[i + 1]:
            i = min(max(np.searchsorted(knots, s[k] + snap, side="right") - 1, p), last)
            _differences(p, knots, control, T, i, points)
        _functions(p, knots, i, knots[i] if abs(s[k] - knots[i]) <= snap else s[k], basis)
        for order in range(out.shape[0]):
            degree = p - order  # of the derivative
            for c in range(columns):
                out[order, k, c] = 0.0
            for j in range(degree + 1):
                for c in range(columns):
                    out[order, k, c] += basis[degree, j] * points[order, j, c]


@kept
def _differences(p, knots, control, T, i, out):
    """The control points of all derivatives that act between knots i and i + 1."""
    for j in range(p + 1):
        for c in range(control.shape[1]):
            out[0, j, c] = control[i - p + j, c]
    for order in range(1, min(out.shape[0], p + 1)):
        degree = p - order
        for j in range(degree + 1):
            low = i - degree + j
            rate = (degree + 1) / ((knots[low + degree + 1] - knots[low]) * T)
            for c in range(control.shape[1]):
                out[order, j, c] = rate * (out[order - 1, j + 1, c] - out[order - 1, j, c])


@kept
def _functions(p, knots, i, x, out):
    """The functions of all degrees up to p that act between knots i and i + 1, at x: a row each."""
    out[0, 0] = 1.0
    for r in range(1, p + 1):
        carried = 0.0
        for j in range(r):
            low, high = knots[i + 1 - r + j], knots[i + 1 + j]
            share = out[r - 1, j] / (high - low)
            out[r, j] = carried + (high - x) * share
            carried = (x - low) * share
        out[r, r] = carried

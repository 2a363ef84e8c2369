"""The exact maximum of a spline: Bernstein coefficients, the convex hull, subdivision; compiled.

On each segment the spline is a polynomial in Bernstein form. It lies below its largest coefficient
and attains the first and the last one, at the ends of the segment. So a segment whose largest
coefficient is below a value that is attained elsewhere cannot hold the maximum; the others are
halved (de Casteljau) until nothing is left. The distance of the hull from the curve shrinks by four
with each halving, so thirty of them reach the rounding error (Lane and Riesenfeld 1981).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.curves.derivative_spline import DerivativeSpline
from predyn.kernels.kernel_cache import keeper

Floats = NDArray[np.float64]
ROUNDING = 4 * float(np.finfo(float).eps)  # relative to the largest coefficient
DEPTH = 40  # halvings; each leaves one half to be looked at later

kept = keeper(__file__)


def farthest(spline: DerivativeSpline, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """The value (m,) of each column of control points (K, m) that is farthest outside its bounds,
    and where it is attained.

    The value is attained by the curve, and short of the farthest one by no more than rounding.
    Where the spline jumps, the values of both sides count. NaN where control points are not finite.
    A curve within its bounds is not searched: the value is one of its own.
    """
    p, (count, m) = spline.degree, spline.control.shape
    value, at = np.empty(m), np.empty(m)
    room = np.empty((DEPTH + 2, p + 3)), np.empty(p + 1), np.empty((count, 2)), np.empty((3, 2))
    # copies in C order, because Numba would compile again for other arrays
    given = np.array(spline.knots), np.array(spline.control, order="C"), np.array([lower, upper])
    _farthest(p, *given, ROUNDING, *room, value, at)
    return value, at


@kept
def _farthest(p, knots, control, bounds, rounding, room, points, both, three, value, at):
    """both (control points, 2) and three (3, 2) are room; for the others see `_maxima`."""
    floor, best, where = three[0], three[1], three[2]
    for c in range(control.shape[1]):
        for k in range(control.shape[0]):  # the least value is the largest of the opposite
            both[k, 0], both[k, 1] = control[k, c], -control[k, c]
        lower, upper = bounds[0, c], bounds[1, c]
        floor[0], floor[1] = upper, -lower
        _maxima(p, knots, both, floor, rounding, room, points, best, where)
        side = 1 if best[1] + lower > best[0] - upper else 0
        value[c], at[c] = best[0] if side == 0 else -best[1], where[side]


@kept
def _maxima(p, knots, control, floor, rounding, room, points, best, at):
    """The largest values of all columns; one below its floor is not searched for.

    room (DEPTH + 2, p + 3): pieces to be looked at, with their coefficients, start and width.
    """
    for c in range(control.shape[1]):
        size, known = 0.0, True
        for k in range(control.shape[0]):
            size = max(size, abs(control[k, c]))
            known &= np.isfinite(control[k, c])
        at[c] = 0.0
        best[c] = -np.inf if known else np.nan
        if not known:
            continue
        for i in range(p, control.shape[0]):
            width = knots[i + 1] - knots[i]
            if width <= 0.0:
                continue
            hull = -np.inf
            for k in range(i - p, i + 1):
                hull = max(hull, control[k, c])
            if best[c] > -np.inf and hull <= max(best[c], floor[c]) + rounding * size:
                continue
            bernstein(p, knots, control, c, i, points, room[0])
            room[0, p + 1], room[0, p + 2] = knots[i], width
            waiting = 1
            while waiting > 0:
                waiting -= 1
                _raise(p, room[waiting], c, best, at)
                top = room[waiting, 0]
                for j in range(1, p + 1):
                    top = max(top, room[waiting, j])
                goal = max(best[c], floor[c]) + rounding * size
                if top > goal and waiting < room.shape[0] - 2:
                    _halve(p, room[waiting], room[waiting + 1])
                    waiting += 2
        at[c] = min(max(at[c], 0.0), 1.0)


@kept
def bernstein(p, knots, control, column, i, points, out):
    """Bernstein coefficients of a column of control points between knots i and i + 1.

    Coefficient j is the blossom with the left end in p - j of its arguments and the right end in
    the others; one step of de Boor's algorithm inserts one argument. points (p + 1,) is room.
    """
    for j in range(p + 1):
        for k in range(p + 1):
            points[k] = control[i - p + k, column]
        for level in range(1, p + 1):
            s = knots[i + 1] if level <= j else knots[i]
            for k in range(p + 1 - level):
                low = i - p + level + k
                share = (s - knots[low]) / (knots[low + p + 1 - level] - knots[low])
                points[k] = (1.0 - share) * points[k] + share * points[k + 1]
        out[j] = points[0]


@kept
def _raise(p, piece, c, best, at):
    """Take the larger value at an end of a piece, if it is above the best."""
    for j in (0, p):
        if piece[j] > best[c]:
            best[c] = piece[j]
            at[c] = piece[p + 1] + (piece[p + 2] if j > 0 else 0.0)


@kept
def _halve(p, piece, other):
    """Replace a piece by its left half, with its right half in `other` (de Casteljau)."""
    for level in range(p + 1):
        other[p - level] = piece[p]
        for k in range(p, level, -1):
            piece[k] = 0.5 * (piece[k - 1] + piece[k])
    piece[p + 2] *= 0.5
    other[p + 2] = piece[p + 2]
    other[p + 1] = piece[p + 1] + piece[p + 2]

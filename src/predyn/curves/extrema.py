"""The exact maximum of a spline: Bernstein coefficients, the convex hull, and subdivision.

On each segment the spline is a polynomial in Bernstein form. It lies below its largest coefficient
and attains the first and the last one, at the ends of the segment. So a segment whose largest
coefficient is below a value that is attained elsewhere cannot hold the maximum; the others are
divided into eight (de Casteljau) until nothing is left. The distance of the hull from the curve
shrinks by 64 with each division, so nine of them reach the rounding error (Lane and Riesenfeld
1981).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from predyn.curves.derivative_spline import DerivativeSpline

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROUNDING = 4 * float(np.finfo(float).eps)  # relative to the largest coefficient
HALVINGS = 3  # in one division
MOST_DIVISIONS = 10


def bernstein(spline: DerivativeSpline, interval: Ints, column: Ints) -> Floats:
    """Bernstein coefficients (pieces, degree + 1) of columns of control points (K, m).

    interval: the number of the knot at the start of each piece, which the next knot ends.
    Coefficient j is the blossom with the left end in degree - j of its arguments and the right end
    in the others; one step of de Boor's algorithm inserts one argument.
    """
    p, knots = spline.degree, spline.knots
    low, high = knots[interval, None], knots[interval + 1, None]
    acting = spline.control[interval[:, None] + np.arange(-p, 1), column[:, None]]
    shares = []  # of the right one of two neighbours, at the left and the right end of the piece
    for level in range(1, p + 1):
        i = interval[:, None] + np.arange(level - p, 1)
        width = knots[i + p + 1 - level] - knots[i]
        shares.append(((low - knots[i]) / width, (high - knots[i]) / width))
    result: Floats = np.empty_like(acting)
    for j in range(p + 1):
        points = acting
        for level, both in enumerate(shares):
            share = both[int(level < j)]
            points = (1.0 - share) * points[:, :-1] + share * points[:, 1:]
        result[:, j] = points[:, 0]
    return result


def maxima(spline: DerivativeSpline, floor: Floats | float = -np.inf) -> tuple[Floats, Floats]:
    """The largest value (m,) of each column of control points (K, m), and where it is attained.

    The value is attained by the curve and is below the maximum by no more than rounding. Where the
    spline jumps, the values of both sides count. NaN where control points are not finite.
    floor: maxima below it are not sought; a smaller value is returned for them.
    """
    p, knots, control = spline.degree, spline.knots, spline.control
    interval = np.flatnonzero(np.diff(knots) > 0.0)
    interval = interval[(interval >= p) & (interval < len(control))]
    hull = control[interval[:, None] + np.arange(-p, 1)].max(axis=1)
    open_ = hull > floor
    open_[0] = True  # a value for every column
    which, column = np.nonzero(open_)
    pieces = bernstein(spline, interval[which], column)
    begin = knots[interval[which]]
    width = knots[interval[which] + 1] - begin
    rounding = ROUNDING * np.abs(control).max(axis=0, initial=0.0)
    known = np.isfinite(control).all(axis=0)
    best, at = np.where(known, -np.inf, np.nan), np.zeros(control.shape[1])
    parts = 2**HALVINGS
    for _ in range(MOST_DIVISIONS):
        ends = (np.concatenate([x, y]) for x, y in (
            (column, column), (pieces[:, 0], pieces[:, -1]), (begin, begin + width)
        ))  # fmt: skip
        _raise(best, at, *ends)
        kept = pieces.max(axis=1) > (np.maximum(best, floor) + rounding)[column]
        if not kept.any():
            break
        pieces = (pieces[kept] @ _division(p)).reshape(-1, p + 1)
        column, width = np.repeat(column[kept], parts), np.repeat(width[kept] / parts, parts)
        begin = np.repeat(begin[kept], parts) + np.tile(np.arange(parts), kept.sum()) * width
    return best, np.clip(at, 0.0, 1.0)


def _raise(best: Floats, at: Floats, column: Ints, value: Floats, s: Floats) -> None:
    """Replace the best value of each column, and where it is, by a larger one."""
    order = np.argsort(value, kind="stable")
    largest = np.full(len(best), -1)
    largest[column[order]] = order  # the last of equal indices stays: the largest value
    there = largest[largest >= 0]
    better = there[value[there] > best[column[there]]]
    best[column[better]], at[column[better]] = value[better], s[better]


@cache
def _division(degree: int) -> Floats:
    """(degree + 1, parts * (degree + 1)): coefficients of all equal parts from those of a piece."""
    pieces = np.eye(degree + 1)[None]  # (parts, coefficients of the part, those of the piece)
    for _ in range(HALVINGS):
        left, right, points = np.empty_like(pieces), np.empty_like(pieces), pieces
        for k in range(degree + 1):
            left[:, k], right[:, degree - k] = points[:, 0], points[:, -1]
            points = 0.5 * (points[:, :-1] + points[:, 1:])
        pieces = np.stack([left, right], axis=1).reshape(-1, degree + 1, degree + 1)
    return np.ascontiguousarray(pieces.reshape(-1, degree + 1).T)

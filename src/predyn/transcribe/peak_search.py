"""The largest values of functions of time: samples, then zooming into the candidates.

Every function is sampled within each smooth piece of the motion. A sample that is not below its
neighbours may hide a higher peak beside it; how much higher is estimated from the differences of
the samples. The brackets of all candidates that may hold the largest value are sampled again, all
at once, evenly and closely around the top of the parabola through the best three samples, until
none can gain more. The end of a piece towards which a function rises steadily is its own peak. A
peak narrower than the samples is not found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.kernel_cache import keeper

Floats = NDArray[np.float64]
Values = Callable[[Floats], Floats]
EVENLY, CLOSE = 7, 5  # instants of a bracket, and around the top of the parabola
INSIDE = EVENLY + CLOSE
CLOSENESS = 1 / 64  # distance of the latter, relative to the bracket
ROUNDS = 8
END = 1e-10  # distance of the last instant from the end of its piece, relative to the piece
NEAREST = 32 * float(np.finfo(float).eps)  # but far enough to belong to it


kept = keeper(__file__)


def instants_within(breaks: Floats, per_piece: int) -> Floats:
    """(pieces, per_piece + 1) evenly spaced instants from the start of each piece to just before
    its end, so that the values of both sides count where a function jumps.
    """
    begin, width = breaks[:-1, None], np.diff(breaks)[:, None]
    s = begin + width * (np.arange(per_piece + 1.0) / per_piece)
    before = breaks[1:-1]
    s[:-1, -1] = before - np.maximum(END * width[:-1, 0], NEAREST * before)
    s[-1, -1] = breaks[-1]
    return s


def highest(
    values: Values, lower: Floats, upper: Floats, s: Floats, sampled: Floats, worth: Floats
) -> tuple[Floats, Floats]:
    """The value (rows,) of each function where it is farthest above `upper` or below `lower`, or
    nearest to them, and where that is.

    values   (rows, K) at instants (K,)
    s        (pieces, m) instants, increasing within each smooth piece
    sampled  (rows, pieces, m) values there
    worth    (rows,) an excess that matters; the search ends at smaller gains
    Rows that stay within their bounds are not searched: the highest of their samples is returned.
    """
    bounds = np.array(lower), np.array(upper), worth  # copies: Numba compiled for writable arrays
    found = best, value, at = np.empty(len(sampled)), np.empty(len(sampled)), np.empty(len(sampled))
    x, row, inside = (
        np.empty(s.shape),
        np.empty(sampled.size, int),
        np.empty((sampled.size, INSIDE)),
    )
    count = _survey(s, sampled, *bounds, x, *found, row, inside)
    for _ in range(ROUNDS):
        if count == 0:
            break
        row, inside = row[:count], inside[:count]
        there = values(inside.ravel()).reshape(len(best), *inside.shape)
        count = _zoom(there, *bounds, np.empty_like(inside), best.copy(), *found, row, inside)
    return value, at


@kept
def _survey(s, sampled, lower, upper, worth, x, best, value, at, row, inside):
    """Fill the highest excess of each row, the value and the instant; the row of each interval that
    may hold a higher one, and increasing instants within it. Returns the number of intervals.

    x (pieces, m) is room.
    """
    count, (pieces, m) = 0, s.shape
    for r in range(len(sampled)):
        first = True
        for g in range(pieces):
            for k in range(m):
                x[g, k] = _excess(sampled[r, g, k], lower[r], upper[r])
                if first or _higher(x[g, k], best[r]):
                    best[r], value[r], at[r] = x[g, k], sampled[r, g, k], s[g, k]
                    first = False
        goal = _goal(best[r], worth[r])
        for g in range(pieces):
            for k in range(m):
                higher = _bracket(s[g], x[g], k, goal, inside[count])
                if higher and not ((k == 0 or k == m - 1) and _rises(x[g], k)):
                    row[count] = r
                    count += 1
    return count


@kept
def _zoom(sampled, lower, upper, worth, x, before, best, value, at, row, inside):
    """Improve the highest excesses, which were `before`, by samples at the instants inside, and
    replace the intervals by narrower ones around the highest sample of each. Returns their number.

    x (intervals, INSIDE) is room.
    """
    for g in range(len(row)):
        r, top = row[g], 0
        for k in range(INSIDE):
            x[g, k] = _excess(sampled[r, g, k], lower[r], upper[r])
            if _higher(x[g, k], x[g, top]):
                top = k
        if x[g, top] > before[r] and x[g, top] >= best[r]:
            best[r], value[r], at[r] = x[g, top], sampled[r, g, top], inside[g, top]
    count = 0
    for g in range(len(row)):
        goal = _goal(best[row[g]], worth[row[g]])
        if _bracket(inside[g], x[g], x[g].argmax(), goal, inside[count]):
            row[count] = row[g]
            count += 1
    return count


@kept
def _excess(value, lower, upper):
    """How far a value is outside its bounds, negative inside; NaN if it is NaN."""
    below, above = lower - value, value - upper
    return below if below >= above or below != below else above


@kept
def _higher(x, y):
    """Whether x is above y; NaN is above all numbers."""
    return x > y or (x != x and y == y)


@kept
def _goal(best, worth):
    """The height to be exceeded; NaN if the best is NaN."""
    return (0.0 if best <= 0.0 else best) + worth


@kept
def _bracket(s, x, k, goal, inside):
    """Whether sample k of x (m,) at s is not below its neighbours and may have a value above the
    goal beside it; if so, fills the increasing instants to be looked at, possibly in place of s.
    """
    last, top = len(x) - 1, x[k]
    before, after = max(k - 1, 0), min(k + 1, last)
    if not (top >= x[before] and top >= x[after]):
        return False
    middle = min(max(k, 1), last - 1)
    left, right = s[middle] - s[middle - 1], s[middle + 1] - s[middle]
    bend, guess = 0.0, s[middle]  # of the parabola through three samples, and its top
    if left > 0.0 and right > 0.0:
        rise = (x[middle] - x[middle - 1]) / left
        fall = (x[middle + 1] - x[middle]) / right
        if rise != fall and np.isfinite(rise) and np.isfinite(fall):
            guess += (rise * right + fall * left) / (2.0 * (rise - fall))
            bend = abs(rise - fall) * (left + right) / 2.0
    drop = top - min(x[before], x[after])
    # a parabola's peak is higher by at most an eighth of the bend or a quarter of the drop
    if not top + 0.5 * max(bend, drop) > goal:
        return False
    low, width = s[before], s[after] - s[before]
    for j in range(EVENLY):
        inside[j] = low + width * j / (EVENLY - 1)
    for j in range(CLOSE):
        near = guess + width * CLOSENESS * (j - (CLOSE - 1) // 2)
        inside[EVENLY + j] = min(max(near, low), low + width)
    for j in range(1, INSIDE):
        moved, i = inside[j], j
        while i > 0 and inside[i - 1] > moved:
            inside[i] = inside[i - 1]
            i -= 1
        inside[i] = moved
    return True


@kept
def _rises(x, end):
    """Whether a function with evenly spaced samples x rises up to this end of them.

    The slope of the cubic through the last four samples differs from the mean slope of the last
    interval by at most half of the second and a third of the third difference. The slope must be
    positive with twice as much, to allow for differences of higher order.
    """
    if len(x) < 4:
        return False
    step = 1 if end == 0 else -1
    a, b, c, d = x[end], x[end + step], x[end + 2 * step], x[end + 3 * step]
    return a - b > abs(a - 2.0 * b + c) + abs(a - 3.0 * b + 3.0 * c - d)

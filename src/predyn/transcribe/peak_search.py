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
Ints = NDArray[np.int64]
Values = Callable[[Floats], Floats]
Height = Callable[[Floats], Floats]
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
    values: Values, height: Height, s: Floats, sampled: Floats, worth: Floats
) -> tuple[Floats, Floats]:
    """The value (rows,) of each function where its height is largest, and where that is.

    values   (rows, K) at instants (K,)
    height   of values (rows, ...), the same shape
    s        (pieces, m) instants, increasing within each smooth piece
    sampled  (rows, pieces, m) values there
    worth    (rows,) a gain of height that matters; the search ends at smaller ones
    Rows whose height stays below zero are not searched: the highest of their samples is returned.
    """
    heights = height(sampled)
    flat = heights.reshape(len(sampled), -1)
    rows, k = np.arange(len(flat)), flat.argmax(axis=1)
    best, value, at = flat[rows, k], sampled.reshape(flat.shape)[rows, k], s.ravel()[k]
    of_row, goal = np.repeat(rows, len(s)), np.maximum(best, 0.0) + worth
    samples = np.tile(s, (len(rows), 1)), heights.reshape(-1, s.shape[1])
    row, inside = _brackets(*samples, of_row, goal, every=True)
    for _ in range(ROUNDS):
        if not len(row):
            break
        own = (row, np.arange(len(row)))
        there = values(inside.ravel()).reshape(len(best), *inside.shape)
        x, there = height(there)[own], there[own]  # (brackets, instants)
        k = x.argmax(axis=1)
        top = x[own[1], k]
        order = np.argsort(top, kind="stable")
        order = order[top[order] > best[row[order]]]
        raised, k = row[order], k[order]
        # the last of equal rows stays: the highest
        best[raised], value[raised], at[raised] = top[order], there[order, k], inside[order, k]
        row, inside = _brackets(inside, x, row, np.maximum(best, 0.0) + worth, every=False)
    return value, at


def _brackets(s: Floats, x: Floats, row: Ints, goal: Floats, every: bool) -> tuple[Ints, Floats]:
    """Intervals around samples x (groups, m) at s that may hold a value above the goal of their
    row: the row of each, and increasing instants (brackets, INSIDE) within it.

    every: around all samples that are not below their neighbours, or around the highest.
    """
    most = x.size if every else len(x)
    rows, inside = np.empty(most, np.int64), np.empty((most, INSIDE))
    count = _find(s, np.ascontiguousarray(x), row, goal, every, rows, inside)
    return rows[:count], np.sort(inside[:count], axis=1)


@kept
def _find(s, x, row, goal, every, rows, inside):
    """Fill rows and instants, in any order; returns the number of brackets."""
    count, last = 0, x.shape[1] - 1
    for g in range(x.shape[0]):
        first = 0 if every else x[g].argmax()
        for k in range(first, last + 1 if every else first + 1):
            before, after = max(k - 1, 0), min(k + 1, last)
            top = x[g, k]
            if not (top >= x[g, before] and top >= x[g, after]):
                continue
            if every and (before == k or after == k) and _rises(x[g], k):
                continue
            middle = min(max(k, 1), last - 1)
            left, right = s[g, middle] - s[g, middle - 1], s[g, middle + 1] - s[g, middle]
            bend, guess = 0.0, s[g, middle]  # of the parabola through three samples, and its top
            if left > 0.0 and right > 0.0:
                rise = (x[g, middle] - x[g, middle - 1]) / left
                fall = (x[g, middle + 1] - x[g, middle]) / right
                if rise != fall and np.isfinite(rise) and np.isfinite(fall):
                    guess += (rise * right + fall * left) / (2.0 * (rise - fall))
                    bend = abs(rise - fall) * (left + right) / 2.0
            drop = top - min(x[g, before], x[g, after])
            # a parabola's peak is higher by at most an eighth of the bend or a quarter of the drop
            if top + 0.5 * max(bend, drop) > goal[row[g]]:
                rows[count] = row[g]
                low, width = s[g, before], s[g, after] - s[g, before]
                for j in range(EVENLY):
                    inside[count, j] = low + width * j / (EVENLY - 1)
                for j in range(CLOSE):
                    near = guess + width * CLOSENESS * (j - (CLOSE - 1) // 2)
                    inside[count, EVENLY + j] = min(max(near, low), low + width)
                count += 1
    return count


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

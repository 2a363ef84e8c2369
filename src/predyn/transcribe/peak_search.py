"""The largest values of functions of time: samples, then zooming into the candidates.

Every function is sampled within each smooth piece of the motion. A sample that is not below its
neighbours may hide a higher peak beside it; how much higher is estimated from the differences of
the samples. The brackets of all candidates that may hold the largest value are sampled again, all
at once, evenly and closely around the top of the parabola through the best three samples, until
none can gain more. A peak narrower than the samples is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.kernel_cache import keeper

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Values = Callable[[Floats], Floats]
Height = Callable[[Floats], Floats]
EVENLY = np.arange(7.0) / 6  # instants of a bracket
CLOSE = np.array([-1.0, 0.0, 1.0]) / 32  # around the top of the parabola, relative to the bracket
ROUNDS = 8
END = 1e-10  # distance of the last instant from the end of its piece, relative to the piece
NEAREST = 32 * float(np.finfo(float).eps)  # but far enough to belong to it


kept = keeper(__file__)


class Brackets(NamedTuple):
    """Intervals with a sample inside that is not below those at the ends."""

    row: Ints
    low: Floats
    high: Floats
    guess: Floats  # where the parabola through the best three samples has its top


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
    every, of_row = heights.reshape(-1, s.shape[1]), np.repeat(rows, len(s))
    goal = np.maximum(best, 0.0) + worth
    found = _brackets(np.tile(s, (len(rows), 1)), every, of_row, goal, every=True)
    for _ in range(ROUNDS):
        if not len(found.row):
            break
        low, high, guess = (x[:, None] for x in (found.low, found.high, found.guess))
        inside = np.hstack([low + (high - low) * EVENLY, guess + (high - low) * CLOSE])
        inside = np.sort(np.clip(inside, low, high), axis=1)
        there = values(inside.ravel()).reshape(len(best), *inside.shape)
        own = (found.row, np.arange(len(found.row)))
        there, x = there[own], height(there)[own]  # (brackets, instants)
        k = x.argmax(axis=1)
        top = x[own[1], k]
        order = np.argsort(top, kind="stable")
        order = order[top[order] > best[found.row[order]]]
        row, k = found.row[order], k[order]
        # the last of equal rows stays: the highest
        best[row], value[row], at[row] = top[order], there[order, k], inside[order, k]
        found = _brackets(inside, x, found.row, np.maximum(best, 0.0) + worth, every=False)
    return value, at


def _brackets(s: Floats, x: Floats, row: Ints, goal: Floats, every: bool) -> Brackets:
    """Brackets of samples x (groups, m) at s that may hold a value above the goal of their row.

    every: around all samples that are not below their neighbours, or around the highest.
    """
    most = x.size if every else len(x)
    found, rows = np.empty((3, most)), np.empty(most, np.int64)
    count = _find(s, np.ascontiguousarray(x), row, goal, every, found, rows)
    return Brackets(rows[:count], *found[:, :count])


@kept
def _find(s, x, row, goal, every, found, rows):
    """Fill low, high, guess and the row of each bracket; returns their number."""
    count, last = 0, x.shape[1] - 1
    for g in range(x.shape[0]):
        highest = 0 if every else x[g].argmax()
        for k in range(highest, last + 1 if every else highest + 1):
            before, after = max(k - 1, 0), min(k + 1, last)
            top = x[g, k]
            if not (top >= x[g, before] and top >= x[g, after]):
                continue
            middle = min(max(k, 1), last - 1)
            left, right = s[g, middle] - s[g, middle - 1], s[g, middle + 1] - s[g, middle]
            bend, guess = 0.0, s[g, middle]
            if left > 0.0 and right > 0.0:
                rise = (x[g, middle] - x[g, middle - 1]) / left
                fall = (x[g, middle + 1] - x[g, middle]) / right
                if rise != fall and np.isfinite(rise) and np.isfinite(fall):
                    guess += (rise * right + fall * left) / (2.0 * (rise - fall))
                    bend = abs(rise - fall) * (left + right) / 2.0
            drop = top - min(x[g, before], x[g, after])
            # for a parabola the peak is higher by at most an eighth of the bend, a quarter of the
            # drop
            if top + 0.5 * max(bend, drop) > goal[row[g]]:
                found[0, count], found[1, count] = s[g, before], s[g, after]
                found[2, count] = guess
                rows[count] = row[g]
                count += 1
    return count

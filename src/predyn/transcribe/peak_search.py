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

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Values = Callable[[Floats], Floats]
Height = Callable[[Floats], Floats]
EVENLY = np.arange(7.0) / 6  # instants of a bracket
CLOSE = np.array([-1.0, 0.0, 1.0]) / 32  # around the top of the parabola, relative to the bracket
ROUNDS = 8
END = 1e-10  # distance of the last instant from the end of its piece, relative to the piece
NEAREST = 32 * float(np.finfo(float).eps)  # but far enough to belong to it


class Brackets(NamedTuple):
    """Intervals with a sample inside that is not below those at the ends."""

    row: Ints
    low: Floats
    high: Floats
    top: Floats  # the largest sample
    guess: Floats  # where the parabola has its top
    room: Floats  # how much higher the peak may be

    def some(self, which: NDArray[np.bool_]) -> Brackets:
        row, *others = self
        return Brackets(row[which], *(x[which] for x in others))


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
    found = _candidates(s, heights)
    for _ in range(ROUNDS):
        goal = np.maximum(best, 0.0) + worth
        found = found.some(found.top + found.room > goal[found.row])
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
        found = _narrowed(found.row, inside, x)
    return value, at


def _candidates(s: Floats, sampled: Floats) -> Brackets:
    """Brackets around all samples that are not below their neighbours in the same piece."""
    rows, pieces, m = sampled.shape
    row = np.repeat(np.arange(rows), pieces)
    return _narrowed(row, np.tile(s, (rows, 1)), sampled.reshape(-1, m), every=True)


def _narrowed(row: Ints, s: Floats, x: Floats, every: bool = False) -> Brackets:
    """Brackets around the peaks of samples x (groups, m) at s; every: of all, or of the highest."""
    last = x.shape[1] - 1
    if every:
        low = np.full((len(x), 1), -np.inf)
        peak = (x >= np.hstack([low, x[:, :-1]])) & (x >= np.hstack([x[:, 1:], low]))
        group, k = np.nonzero(peak)
    else:
        group, k = np.arange(len(x)), x.argmax(axis=1)
    before, after = np.maximum(k - 1, 0), np.minimum(k + 1, last)
    top, middle = x[group, k], np.clip(k, 1, last - 1)
    guess, bend = _parabola(
        *(s[group, middle + d] for d in (-1, 0, 1)), *(x[group, middle + d] for d in (-1, 0, 1))
    )
    drop = top - np.minimum(x[group, before], x[group, after])
    # for a parabola the peak is higher by at most an eighth of the bend, a quarter of the drop
    room = 0.5 * np.maximum(bend, drop)
    return Brackets(row[group], s[group, before], s[group, after], top, guess, room)


def _parabola(
    s0: Floats, s1: Floats, s2: Floats, x0: Floats, x1: Floats, x2: Floats
) -> tuple[Floats, Floats]:
    """Where the parabola through three samples has its top, and the size of its bend over them."""
    left, right = s1 - s0, s2 - s1
    with np.errstate(all="ignore"):
        rise, fall = (x1 - x0) / left, (x2 - x1) / right
        top = s1 + (rise * right + fall * left) / (2.0 * (rise - fall))
        bend = np.abs(rise - fall) * (left + right) / 2.0
    return np.where(np.isfinite(top), top, s1), np.where(np.isfinite(bend), bend, 0.0)

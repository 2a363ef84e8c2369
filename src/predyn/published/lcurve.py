"""The L-curve, misfit of the data against size of the torques, and its corner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEWEST = 5  # points needed to find a corner
SPREAD = 0.06  # of the curve's length: distance over which points are smoothed
SAMPLES = 400
SHARP = 3.0  # least curvature at a corner times the curve's length; a circle's is its angle
EQUAL = 1e-8  # relative accuracy of the minima of a sum
FLAT, TINY = 0.05, 1e-300  # least extent of an L, as a factor's logarithm


class LCurve(NamedTuple):
    """Misfit and size of the torques for a series of weights; `corner` is an index or -1."""

    weights: Floats  # factors of the size in the minimised sum
    misfit: Floats
    size: Floats
    corner: int


def corner(misfit: ArrayLike, size: ArrayLike) -> int:
    """Index of the corner of an L-curve, or -1 if it has none.

    misfit, size (m,), in the order of increasing weights. The corner is where the curve
    (log misfit, log size), smoothed along its length and with both logarithms scaled to the same
    range, bends most in the direction of an L. Points that are not finite and positive are skipped.
    There is no corner if the curve does not bend clearly that way, bends only at its ends, or
    hardly changes at all.
    """
    given = [np.asarray(x, float) for x in (misfit, size)]
    if given[0].ndim != 1 or given[0].shape != given[1].shape:
        raise InputError(f"misfit and size: expected (m,) each, got {[x.shape for x in given]}")
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(np.stack(given) > TINY, np.stack(given), np.nan))
    use = np.flatnonzero(np.isfinite(logs).all(axis=0))
    if len(use) < FEWEST:
        return -1
    x, y = logs[:, use]
    if min(np.ptp(x), np.ptp(y)) < FLAT:
        return -1
    x, y = (x - x.min()) / np.ptp(x), (y - y.min()) / np.ptp(y)
    s = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    distinct = np.concatenate([[True], np.diff(s) > 1e-9 * s[-1]])
    at = np.linspace(0.0, s[-1], SAMPLES)
    smooth = [_smooth(at, np.interp(at, s[distinct], w[distinct])) for w in (x, y)]
    curvature = _curvature(at, *smooth)
    margin = SPREAD * s[-1]
    curvature[(at < margin) | (at > s[-1] - margin)] = -np.inf
    best = int(np.argmax(curvature))
    if curvature[best] * s[-1] < SHARP:
        return -1
    return int(use[np.argmin(np.abs(s - at[best]))])


def lowest(weights: ArrayLike, misfit: ArrayLike, size: ArrayLike) -> Ints:
    """For each weight, the index of the point with the smallest sum misfit + weight size: its own
    point, if that is on the curve.

    A point that is beaten by another for its own weight is no minimum of the sum. Of two points
    that are not, the one of the larger weight has the smaller size and the larger misfit.
    """
    B, m, s = (np.asarray(x, float) for x in (weights, misfit, size))
    sums = m + B[:, None] * s
    sums[~np.isfinite(sums)] = np.inf
    own = np.arange(len(B))
    best = np.argmin(sums, axis=1) if len(B) else own
    return np.where(sums[own, best] < (1 - EQUAL) * sums[own, own], best, own)


def _smooth(at: Floats, w: Floats) -> Floats:
    """Local straight lines by least squares, with bell-shaped weights of width SPREAD."""
    apart = (at[:, None] - at[None, :]) / (SPREAD * at[-1])
    bell = np.exp(-0.5 * apart**2)
    m0, m1, m2 = (np.sum(bell * apart**k, axis=1) for k in range(3))
    weights = bell * (m2[:, None] - m1[:, None] * apart)
    return np.asarray((weights @ w) / (m0 * m2 - m1**2))


def _curvature(at: Floats, x: Floats, y: Floats) -> Floats:
    """Curvature, positive to the left for a curve that comes from the upper left."""
    dx, dy = np.gradient(x, at), np.gradient(y, at)
    turn = dx * np.gradient(dy, at) - dy * np.gradient(dx, at)
    return np.asarray(turn / np.hypot(dx, dy) ** 3)

"""A motion known by positions, velocities and accelerations at instants, as one B-spline curve.

Between two instants it is the polynomial of degree 5 that has all six values. A spline of degree 5
whose inner knots are threefold holds these pieces: each control point is a blossom with an instant
t in three of its five places and x, y in the others, and the polynomials on both sides of t give it

    q + v ((x - t) + (y - t)) / 5 + a (x - t) (y - t) / 20.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.solution import Curve

Floats = NDArray[np.float64]


def hermite_curve(s: Floats, q: Floats, v: Floats, a: Floats, T: float) -> Curve:
    """s (K,) from 0 to 1; q, v, a (K, n) in time, T the duration."""
    before = np.concatenate([s[:1], s[:-1]]) - s
    after = np.concatenate([s[1:], s[-1:]]) - s
    pairs = ((before, before), (before, after), (after, after))
    control = np.stack(
        [q + T * v * (x + y)[:, None] / 5 + T**2 * a * (x * y)[:, None] / 20 for x, y in pairs],
        axis=1,
    )
    times = np.full(len(s), 3)
    times[[0, -1]] = 6
    return Curve(5, np.repeat(s, times), control.reshape(-1, q.shape[1]), T)

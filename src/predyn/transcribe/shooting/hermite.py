"""A B-spline curve through positions, velocities and accelerations at given instants.

Between two instants it is the polynomial of degree 5 with these six values. A spline of degree 5
with threefold inner knots represents these pieces: each control point is a blossom with an instant
t in three of its five arguments and x, y in the others; the polynomials on either side of t give it

    q + v ((x - t) + (y - t)) / 5 + a (x - t) (y - t) / 20.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.solution import Curve

Floats = NDArray[np.float64]


def hermite_curve(s: Floats, q: Floats, v: Floats, a: Floats, T: float) -> Curve:
    """The curve with q, v, a (K, n) at s (K,) from 0 to 1; v and a are per second, T: duration."""
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

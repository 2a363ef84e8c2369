"""The unknown motion: a quadratic B-spline, its acceleration constant on each of equal intervals.

Blocks of n coefficients c_0 .. c_{K+1}; interval i, s from 0 to 1 along it, sees three of them:

    q = (1-s)^2/2 c_i + (1/2 + s - s^2) c_{i+1} + s^2/2 c_{i+2}
    v = [(s-1) c_i + (1-2s) c_{i+1} + s c_{i+2}] / h
    a = (c_i - 2 c_{i+1} + c_{i+2}) / h^2

Any start is possible: the spline has 2 n numbers more than there are accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from predyn.estimate import grid_kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOUCHED = 3  # blocks that an interval sees


@dataclass(frozen=True, eq=False)
class Grid:
    """K intervals of h seconds from `first` on; n joints."""

    first: float
    h: float
    K: int
    n: int

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return (self.K + 2) * self.n

    @property
    def nodes(self) -> Floats:
        return np.asarray(self.first + self.h * np.arange(self.K + 1))

    @property
    def middles(self) -> Floats:
        return np.asarray(self.first + self.h * (np.arange(self.K) + 0.5))

    def place(self, t: Floats) -> tuple[Ints, Floats]:
        """Interval of each time and the weights (M, 3) of its three blocks in q."""
        along = (t - self.first) / self.h
        interval = np.clip(np.floor(along + 1e-9), 0, self.K - 1).astype(np.int64)
        s = along - interval
        return interval, np.stack((0.5 * (1 - s) ** 2, 0.5 + s - s * s, 0.5 * s * s), axis=1)

    def at(self, c: Floats, interval: Ints, basis: Floats) -> Floats:
        """Positions (M, n) where `place` was asked for."""
        out = np.empty((len(interval), self.n))
        grid_kernels.positions(c.reshape(-1, self.n), interval, basis, out)
        return out

    def middle(self, c: Floats) -> tuple[Floats, Floats, Floats]:
        """q, v, a (K, n) in the middles of the intervals."""
        q, v, a = np.empty((3, self.K, self.n))
        grid_kernels.middles(c.reshape(-1, self.n), self.h, q, v, a)
        return q, v, a

    def middle_slopes(self, dq: Floats, dv: Floats, da: Floats) -> Floats:
        """Partials (K, m, 3 n) in the three blocks from those in q, v, a at the middles."""
        U = np.empty((*dq.shape[:2], TOUCHED * self.n))
        grid_kernels.middle_slopes(dq, dv, da, self.h, U)
        return U

    @cached_property
    def of_acceleration(self) -> Floats:
        """Partials (K, n, 3 n) of a in the three blocks."""
        zero, one = np.zeros((self.K, self.n, self.n)), np.tile(np.eye(self.n), (self.K, 1, 1))
        return self.middle_slopes(zero, zero, one)

    def at_nodes(self, c: Floats) -> tuple[Floats, Floats]:
        """q and v (K + 1, n) at the nodes."""
        C = c.reshape(-1, self.n)
        return 0.5 * (C[:-1] + C[1:]), (C[1:] - C[:-1]) / self.h

    def through(self, q: Floats) -> Floats:
        """Coefficients of a motion near positions q (K + 1, n) at the nodes, to start from."""
        middle = 0.5 * (q[:-1] + q[1:])
        return np.concatenate((2 * q[:1] - middle[:1], middle, 2 * q[-1:] - middle[-1:])).ravel()

"""The null-space method for optimality (KKT) systems

    [ W   A^T ] [ dx ]   [ r ]
    [ A    0  ] [ dy ] = [ b ]

(Nocedal and Wright 2006, section 16.2). It also reveals rows of A that depend on each other,
directions in which W is zero, and directions of negative curvature. Matrices are dense.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
DEPENDENT = 1e-9  # pivots of rows of length 1 below this count as zero


class NullSpace:
    """Factors of the KKT matrix, for W (n, n) and active slopes A (k, n) of length 1.

    independent    numbers of rows of A that the others are combinations of
    related        (k,) whether a row takes part in a dependency
    flat           (n, F) directions in which A and W are zero: curvature up to `least`
    is_indefinite  whether the curvature is negative in some direction
    """

    def __init__(self, W: Floats, A: Floats, least: float) -> None:
        from scipy.linalg import qr

        self._W, n = W, len(W)
        Q, R, order = qr(A.T, pivoting=True)  # A[order].T = Q R
        pivots = np.abs(np.diag(R))
        rank = int(np.sum(pivots > DEPENDENT * pivots.max(initial=0.0)))
        self.independent: Ints = order[:rank]
        self._Y, self._Z, self._R = Q[:, :rank], Q[:, rank:n], R[:rank, :rank]
        Z = self._Z
        shares = np.linalg.solve(self._R, R[:rank, rank:]) if rank else np.zeros((0, len(A)))
        related = np.abs(shares).max(axis=1, initial=0.0) > DEPENDENT
        self.related = np.ones(len(A), bool)
        self.related[self.independent] = related
        curvature, V = np.linalg.eigh(Z.T @ W @ Z)
        self.is_indefinite = bool((curvature < -least).any())
        flat = np.abs(curvature) <= least
        self._curved, self._curvature = (Z @ V)[:, ~flat], curvature[~flat]
        self.flat = (Z @ V)[:, flat]

    def spans(self, slopes: Floats) -> Flags:
        """Whether slopes (k, n) of length 1 are combinations of those in A."""
        return np.asarray(np.linalg.norm(slopes @ self._Z, axis=1) <= DEPENDENT)

    def solve(self, r: Floats, b: Floats) -> tuple[Floats, Floats]:
        """dx (n, ...) without its part along flat directions, and dy of the independent rows."""
        W, Y, R = self._W, self._Y, self._R
        dx = Y @ np.linalg.solve(R.T, b[self.independent])
        reduced = self._curved.T @ (r - W @ dx)
        dx = dx + self._curved @ (reduced.T / self._curvature).T
        return dx, np.linalg.solve(R, Y.T @ (r - W @ dx))

"""Least squares whose rows touch few neighbouring blocks: normal equations in a band, compiled.

Row r is J[r] @ x[first[r] : first[r] + width] + value[r], with weight[r]. Unknowns are eliminated
in the order of time, so that each step is one of dynamic programming: the Cholesky factor's column
j holds the best x_j as a function of the unknowns that follow, and what the past costs is carried
on in the band (the Riccati recursion). Back substitution is the second pass. Covariances within the
band come from a third, again one unknown at a time (Takahashi, Fagan, Chen 1973). The work of all
three grows linearly with time.

Lower bands are stored by columns: H[j, k] is row j + k of column j.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numba import config
from numpy.typing import NDArray
from scipy.linalg import lapack

from predyn.dynamics.kernel_cache import KernelCache
from predyn.lanes import entry

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]


def _kept(function: Any) -> Any:
    """Compiled when first called, and kept on disk."""
    compiled = entry(function)
    if not config.DISABLE_JIT:
        compiled._cache = KernelCache(f"{_VERSION}.{function.__name__}")
    return compiled


@_kept
def add_rows(first, J, value, weight, H, g):
    """H += J' W J and g += J' W value."""
    width = J.shape[1]
    for r in range(J.shape[0]):
        at = first[r]
        for a in range(width):
            x = weight[r] * J[r, a]
            if x != 0.0:
                g[at + a] += x * value[r]
                for b in range(width - a):
                    H[at + a, b] += x * J[r, a + b]


@_kept
def rows_times(first, J, x, out):
    """out = J x."""
    for r in range(J.shape[0]):
        at = first[r]
        total = 0.0
        for a in range(J.shape[1]):
            total += J[r, a] * x[at + a]
        out[r] = total


@_kept
def add_transposed(first, J, z, g):
    """g += J' z."""
    for r in range(J.shape[0]):
        at = first[r]
        for a in range(J.shape[1]):
            g[at + a] += z[r] * J[r, a]


@_kept
def _covariances(L, C, y):
    """C[j, band + k] = covariance of unknowns j and j + k, |k| <= band; y (band,) is room."""
    size, band = L.shape[0], L.shape[1] - 1
    for j in range(size - 1, -1, -1):
        later = min(band, size - 1 - j)
        share = 1.0 / L[j, 0]
        for i in range(later):
            y[i] = 0.0
        for k in range(later):
            x = -share * L[j, k + 1]
            start = band - k
            for i in range(later):
                y[i] += x * C[j + 1 + k, start + i]
        own = share * share
        for i in range(later):
            C[j, band + 1 + i] = y[i]
            C[j + 1 + i, band - 1 - i] = y[i]
            own -= share * L[j, i + 1] * y[i]
        C[j, band] = own


@_kept
def _variances(first, J, C, y, out):
    """out[r] = J[r] Cov J[r]'; y (width,) is room."""
    width, band = J.shape[1], (C.shape[1] - 1) // 2
    for r in range(J.shape[0]):
        at = first[r]
        for b in range(width):
            y[b] = 0.0
        for a in range(width):
            x = J[r, a]
            if x != 0.0:
                for b in range(width):
                    y[b] += x * C[at + a, band - a + b]
        total = 0.0
        for a in range(width):
            total += J[r, a] * y[a]
        out[r] = total


def factored(H: Floats) -> Floats | None:
    """The lower Cholesky factor of H in the same storage; None if H is not positive definite."""
    L, failed = lapack.dpbtrf(H.T, lower=1)
    return None if failed else np.ascontiguousarray(L.T)


def solved(L: Floats, g: Floats) -> Floats:
    """x of H x = g."""
    x, _ = lapack.dpbtrs(L.T, g[:, None], lower=1)
    return np.asarray(x[:, 0])


def covariances(L: Floats) -> Floats:
    """Covariances (size, 2 band + 1) of neighbouring unknowns."""
    size, width = L.shape
    C = np.zeros((size, 2 * width - 1))
    _covariances(L, C, np.empty(width - 1))
    return C


def variances(first: Ints, J: Floats, C: Floats) -> Floats:
    """Variance (R,) of each row's value."""
    out = np.empty(len(J))
    _variances(first, J, C, np.empty(J.shape[1]), out)
    return out


def product(first: Ints, J: Floats, x: Floats) -> Floats:
    """J x, (R,)."""
    out = np.empty(len(J))
    rows_times(first, J, x, out)
    return out

"""Least squares whose rows touch few neighbouring blocks: normal equations in a band, compiled.

Row r is J[r] @ x[first[r] : first[r] + width] + value[r], with weight[r]. Unknowns are eliminated
in the order of time, so that each step is one of dynamic programming: the Cholesky factor's column
j holds the best x_j as a function of the unknowns that follow, and what the past costs is carried
on in the band (the Riccati recursion). Back substitution is the second pass. Covariances within the
band come from a third, again one unknown at a time (Takahashi, Fagan, Chen 1973). The work of all
three grows linearly with time.

Lower bands are stored by columns: H[j, k] is row j + k of column j. Multipliers may be among the
unknowns (zero_torques.py): of each `block` of them the first `own` have positive pivots, the others
negative ones, and H = L S L' with their signs S.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.kernel_cache import keeper

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

kept = keeper(__file__)


@kept
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


@kept
def add_samples(interval, basis, start, J, value, weight, H, g, A, b):
    """The same for rows of samples, J in the n positions at their times; A (n, n), b (n,) are room.

    Those of a sample are summed up first, then spread over its three blocks.
    """
    n = J.shape[1]
    for s in range(len(interval)):
        if start[s] == start[s + 1]:
            continue
        for i in range(n):
            b[i] = 0.0
            for k in range(n):
                A[i, k] = 0.0
        for r in range(start[s], start[s + 1]):
            for i in range(n):
                x = weight[r] * J[r, i]
                if x != 0.0:
                    b[i] += x * value[r]
                    for k in range(n):
                        A[i, k] += x * J[r, k]
        for left in range(3):
            for i in range(n):
                at = (interval[s] + left) * n + i
                g[at] += basis[s, left] * b[i]
                share = basis[s, left] * basis[s, left]
                for k in range(i, n):
                    H[at, k - i] += share * A[i, k]
                for right in range(left + 1, 3):
                    share = basis[s, left] * basis[s, right]
                    away = (right - left) * n - i
                    for k in range(n):
                        H[at, away + k] += share * A[i, k]


@kept
def samples_times(interval, basis, start, J, x, y, out):
    """out = J times the positions that x makes; y (n,) is room."""
    n = J.shape[1]
    for s in range(len(interval)):
        for i in range(n):
            y[i] = 0.0
            for left in range(3):
                y[i] += basis[s, left] * x[(interval[s] + left) * n + i]
        for r in range(start[s], start[s + 1]):
            total = 0.0
            for i in range(n):
                total += J[r, i] * y[i]
            out[r] = total


@kept
def rows_times(first, J, x, out):
    """out = J x."""
    for r in range(J.shape[0]):
        at = first[r]
        total = 0.0
        for a in range(J.shape[1]):
            total += J[r, a] * x[at + a]
        out[r] = total


@kept
def add_transposed(first, J, z, g):
    """g += J' z."""
    for r in range(J.shape[0]):
        at = first[r]
        for a in range(J.shape[1]):
            g[at + a] += z[r] * J[r, a]


@kept
def _factor(H, block, own):
    """H becomes its lower factor L; returns the unknown that fails, or -1.

    Two unknowns are eliminated at a time, which moves half as much memory.
    """
    size, band = H.shape[0], H.shape[1] - 1
    for j in range(0, size, 2):
        sign = 1.0 if j % block < own else -1.0
        if not sign * H[j, 0] > 0.0:
            return j
        root = math.sqrt(sign * H[j, 0])
        H[j, 0] = root
        share = sign / root
        for k in range(1, band + 1):
            H[j, k] *= share
        if j + 1 == size:
            return -1
        x = sign * H[j, 1]
        for k in range(band):
            H[j + 1, k] -= x * H[j, k + 1]
        other = 1.0 if (j + 1) % block < own else -1.0
        if not other * H[j + 1, 0] > 0.0:
            return j + 1
        root = math.sqrt(other * H[j + 1, 0])
        H[j + 1, 0] = root
        share = other / root
        for k in range(1, band + 1):
            H[j + 1, k] *= share
        for i in range(1, min(band, size - 2 - j) + 1):
            y = other * H[j + 1, i]
            if i < band:
                x = sign * H[j, i + 1]
                for k in range(band - i):
                    H[j + 1 + i, k] -= x * H[j, i + 1 + k] + y * H[j + 1, i + k]
            H[j + 1 + i, band - i] -= y * H[j + 1, band]
    return -1


@kept
def _substitute(L, block, own, x):
    """x becomes the solution for the right side x."""
    size, band = L.shape[0], L.shape[1] - 1
    for j in range(size):
        x[j] /= L[j, 0]
        for k in range(1, min(band, size - 1 - j) + 1):
            x[j + k] -= L[j, k] * x[j]
    for j in range(size - 1, -1, -1):
        total = x[j] if j % block < own else -x[j]
        for k in range(1, min(band, size - 1 - j) + 1):
            total -= L[j, k] * x[j + k]
        x[j] = total / L[j, 0]


@kept
def _covariances(L, block, own, C, y):
    """C[j, band + k] = covariance of unknowns j and j + k, |k| <= band; y (band,) is room."""
    size, band = L.shape[0], L.shape[1] - 1
    for j in range(size - 1, -1, -1):
        later = min(band, size - 1 - j)
        share = 1.0 / L[j, 0]
        for i in range(later):
            y[i] = 0.0
        for k in range(0, later - 3, 4):  # four at a time: y is loaded and stored less often
            w, x = -share * L[j, k + 1], -share * L[j, k + 2]
            u, v = -share * L[j, k + 3], -share * L[j, k + 4]
            at, row = band - k, j + 1 + k
            for i in range(later):
                y[i] += (w * C[row, at + i] + x * C[row + 1, at - 1 + i]) + (
                    u * C[row + 2, at - 2 + i] + v * C[row + 3, at - 3 + i]
                )
        for k in range(later - later % 4, later):
            x = -share * L[j, k + 1]
            for i in range(later):
                y[i] += x * C[j + 1 + k, band - k + i]
        total = share * share if j % block < own else -share * share
        for i in range(later):
            C[j, band + 1 + i] = y[i]
            C[j + 1 + i, band - 1 - i] = y[i]
            total -= share * L[j, i + 1] * y[i]
        C[j, band] = total


@kept
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


@kept
def sample_variances(interval, basis, start, J, C, S, y, out):
    """The same for rows of samples: S (n, n), the covariance of positions, and y (n,) are room."""
    n, band = J.shape[1], (C.shape[1] - 1) // 2
    for s in range(len(interval)):
        if start[s] == start[s + 1]:
            continue
        for i in range(n):
            for k in range(n):
                S[i, k] = 0.0
            for left in range(3):
                at = (interval[s] + left) * n + i
                for right in range(3):
                    share = basis[s, left] * basis[s, right]
                    away = band + (right - left) * n - i
                    for k in range(n):
                        S[i, k] += share * C[at, away + k]
        for r in range(start[s], start[s + 1]):
            for k in range(n):
                y[k] = 0.0
            for i in range(n):
                x = J[r, i]
                if x != 0.0:
                    for k in range(n):
                        y[k] += x * S[i, k]
            total = 0.0
            for k in range(n):
                total += J[r, k] * y[k]
            out[r] = total


@kept
def summed_covariance(interval, basis, C, S):
    """S (n, n) += the covariances of the positions at all samples."""
    n, band = S.shape[0], (C.shape[1] - 1) // 2
    for s in range(len(interval)):
        for i in range(n):
            for left in range(3):
                at = (interval[s] + left) * n + i
                for right in range(3):
                    share = basis[s, left] * basis[s, right]
                    away = band + (right - left) * n - i
                    for k in range(n):
                        S[i, k] += share * C[at, away + k]


def factored(H: Floats, block: int = 1, own: int = 1) -> Floats | None:
    """The lower factor of H in the same storage; None if a pivot has not its sign."""
    L = H.copy()
    return L if _factor(L, block, own) < 0 else None


def solved(L: Floats, g: Floats, block: int = 1, own: int = 1) -> Floats:
    """x of H x = g."""
    x = g.copy()
    _substitute(L, block, own, x)
    return x


def covariances(L: Floats, block: int = 1, own: int = 1) -> Floats:
    """The inverse of H (size, 2 band + 1), as far as the band goes."""
    size, width = L.shape
    C = np.zeros((size, 2 * width - 1))
    _covariances(L, block, own, C, np.empty(width - 1))
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

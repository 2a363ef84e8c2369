"""Torques that are zero, those of unactuated joints, in least squares in a band.

To minimise x'Hx/2 + g'x where G x + free = 0, multipliers y join the unknowns:

    [H  G'] [x]   [ -g  ]
    [G  0 ] [y] = [-free]

Those of an interval follow the first block of unknowns that it touches. The matrix stays a band;
eliminated in the order of time, unknowns have positive pivots and multipliers negative ones if H is
positive definite. To eliminate a multiplier is to tell what the past says of one block as what it
says of the next ones. The upper left part of the inverse is the covariance of the motions without
such torques.

A motion that dies away was the larger the earlier, and what the past says of it grows without
bounds. So the factor is that with -SLACK in the place of 0: rows vary by sqrt(SLACK), which bounds
it, and changes covariances by about SLACK. A row as large as a stiff penalty it does not make. The
step is improved until rows are zero by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.dynamics.kernel_cache import keeper
from predyn.estimate import band
from predyn.estimate.spline_grid import TOUCHED, Floats

kept = keeper(__file__)
SLACK = 1e-11  # variance of a row that is zero; less of it bounds nothing, more blurs fast changes
IMPROVEMENTS = 2


class Solution(NamedTuple):
    """The minimum, and the factor that it comes from."""

    L: Floats
    step: Floats  # (size,)
    multipliers: Floats  # (K, u)


@kept
def _border(H, G, n, slack, out):
    """out: H with the rows of G (K, u, 3 n) put in; blocks without any have -1 on the diagonal."""
    count, zeros = G.shape[0], G.shape[1]
    block, width = n + zeros, H.shape[1]
    for j in range(H.shape[0]):
        k, i = j // n, j % n
        for b in range(min(width, H.shape[0] - j)):
            away = (i + b) // n * block + (i + b) % n - i
            out[k * block + i, away] = H[j, b]
    for k in range(H.shape[0] // n):
        for a in range(zeros):
            at = k * block + n + a
            out[at, 0] = -slack if k < count else -1.0
            if k >= count:
                continue
            for i in range(n):
                out[k * block + i, n + a - i] = G[k, a, i]
            for b in range(n, G.shape[2]):
                out[at, b // n * block + b % n - n - a] = G[k, a, b]


@kept
def _times(H, x, out):
    """out = H x, H symmetric in a band."""
    size, width = H.shape
    for j in range(size):
        out[j] = 0.0
    for j in range(size):
        out[j] += H[j, 0] * x[j]
        for k in range(1, min(width, size - j)):
            out[j] += H[j, k] * x[j + k]
            out[j + k] += H[j, k] * x[j]


@kept
def _unborder(C, n, zeros, out):
    """out: the covariances in C without those of multipliers."""
    block, wide, middle = n + zeros, out.shape[1], out.shape[1] // 2
    far = C.shape[1] // 2
    for j in range(out.shape[0]):
        k, i = j // n, j % n
        for b in range(max(0, middle - j), min(wide, middle + out.shape[0] - j)):
            to = j + b - middle
            away = (to // n - k) * block + to % n - i
            out[j, b] = C[k * block + i, far + away]


def solution(H: Floats, g: Floats, G: Floats, free: Floats) -> Solution | None:
    """The minimum where G x + free = 0, G (K, u, 3 n) by interval; None if there is not one."""
    zeros, n = G.shape[1], G.shape[2] // TOUCHED
    if not zeros:
        L = band.factored(H)
        return None if L is None else Solution(L, band.solved(L, -g), free)
    blocks, block = len(H) // n, n + zeros
    whole = np.zeros((blocks * block, H.shape[1] // n * block))
    _border(H, G, n, SLACK, whole)
    L = band.factored(whole, block, n)
    if L is None:
        return None
    right = np.zeros((blocks, block))
    right[:, :n] = -g.reshape(-1, n)
    right[: len(G), n:] = -free
    x = band.solved(L, right.ravel(), block, n).reshape(blocks, block)
    product = np.empty(x.size)
    for _ in range(IMPROVEMENTS):
        _times(whole, x.ravel(), product)
        left = right - product.reshape(blocks, block)
        left[: len(G), n:] -= SLACK * x[: len(G), n:]
        x += band.solved(L, left.ravel(), block, n).reshape(blocks, block)
    return Solution(L, np.ascontiguousarray(x[:, :n]).ravel(), x[: len(G), n:].copy())


def covariances(L: Floats, n: int, zeros: int) -> Floats:
    """Covariances (size, 2 band + 1) of neighbouring unknowns, from the factor of a solution."""
    if not zeros:
        return band.covariances(L)
    block = n + zeros
    out = np.zeros((len(L) // block * n, 2 * (L.shape[1] // block * n) - 1))
    _unborder(band.covariances(L, block, n), n, zeros, out)
    return out

"""Torques that are zero, those of unactuated joints, in least squares in a band.

To minimise x'Hx/2 + g'x where G x + free = 0, multipliers y join the unknowns:

    [H  G'] [x]   [ -g  ]
    [G  0 ] [y] = [-free]

Those of an interval follow the first block of unknowns that it touches. The matrix stays a band;
eliminated in the order of time, unknowns have positive pivots and multipliers negative ones if H is
positive definite. To eliminate a multiplier is to tell what the past says of one block as what it
says of the next ones. The upper left part of the inverse is the covariance of the motions without
such torques.

A motion that dies away was the larger the earlier, and what the past says of it may grow beyond
all numbers. Where a solution from the factor cannot be improved to one, the factor is that with
-slack in the place of 0: rows may vary by its root, which bounds what the past says, and changes
covariances by about as much. The step is improved until rows are zero by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.estimate import band
from predyn.estimate.spline_grid import TOUCHED, Floats
from predyn.kernels.kernel_cache import keeper

kept = keeper(__file__)
SLACKS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10)  # variances of a row that is zero, until one is enough
SURE = 1e-9  # what an improved solution may lack, in sizes of terms, if the factor is one
IMPROVEMENTS, TINY = 2, 1e-300


class Solution(NamedTuple):
    """The minimum, and the factor that it comes from."""

    L: Floats
    step: Floats  # (size,)
    multipliers: Floats  # (K, u)


@kept
def _border(H, G, n, out):
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
            if k >= count:
                out[at, 0] = -1.0
                continue
            for i in range(n):
                out[k * block + i, n + a - i] = G[k, a, i]
            for b in range(n, G.shape[2]):
                out[at, b // n * block + b % n - n - a] = G[k, a, b]


@kept
def _times(H, x, out, size):
    """out = H x, H symmetric in a band; size: the same of absolute values."""
    count, width = H.shape
    for j in range(count):
        out[j], size[j] = 0.0, 0.0
    for j in range(count):
        out[j] += H[j, 0] * x[j]
        size[j] += abs(H[j, 0] * x[j])
        for k in range(1, min(width, count - j)):
            right, below = H[j, k] * x[j + k], H[j, k] * x[j]
            out[j] += right
            out[j + k] += below
            size[j] += abs(right)
            size[j + k] += abs(below)


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
    _border(H, G, n, whole)
    right = np.zeros((blocks, block))
    right[:, :n] = -g.reshape(-1, n)
    right[: len(G), n:] = -free
    zero = np.zeros((blocks, block), np.bool_)
    zero[: len(G), n:] = True
    for slack in SLACKS:
        whole[zero.ravel(), 0] = -slack
        L = band.factored(whole, block, n)
        if L is None:
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # then it lacks NaN
            x, lack = _improved(whole, L, right.ravel(), zero.ravel() * slack, block, n)
        if lack < SURE:
            x = x.reshape(blocks, block)
            return Solution(L, np.ascontiguousarray(x[:, :n]).ravel(), x[: len(G), n:].copy())
    return None


def _improved(
    H: Floats, L: Floats, right: Floats, slack: Floats, block: int, own: int
) -> tuple[Floats, float]:
    """The solution without slack, and what it still lacks, in sizes of terms."""
    x = band.solved(L, right, block, own)
    product, size = np.empty(len(x)), np.empty(len(x))
    for k in range(1 + IMPROVEMENTS):
        _times(H, x, product, size)
        left = right - product - slack * x
        if k < IMPROVEMENTS:
            x = x + band.solved(L, left, block, own)
    return x, _share(left, size + np.abs(right), block, own)


def _share(left: Floats, size: Floats, block: int, own: int) -> float:
    """The largest of what is left over the largest size, of unknowns and of rows."""
    left, size = np.abs(left).reshape(-1, block), size.reshape(-1, block)
    parts = (left[:, :own].max() / (size[:, :own].max() + TINY),
             left[:, own:].max() / (size[:, own:].max() + TINY))  # fmt: skip
    return float(np.max(parts))


def covariances(L: Floats, n: int, zeros: int) -> Floats:
    """Covariances (size, 2 band + 1) of neighbouring unknowns, from the factor of a solution."""
    if not zeros:
        return band.covariances(L)
    block = n + zeros
    out = np.zeros((len(L) // block * n, 2 * (L.shape[1] // block * n) - 1))
    _unborder(band.covariances(L, block, n), n, zeros, out)
    return out

"""Noise that is correlated from sample to sample, such as skin that moves over bone.

The residuals e_k of a channel are a stationary process of order m with one root for all,

    sqrt(gamma_0) (1 - rho B)^m e_k ~ N(0, noise^2),    rho = exp(-2 pi f_n h_s),

h_s the interval of samples: `noise` is then the standard deviation of e itself. Its first rows, and
those after a gap, are those of shorter predictions (stationary_prior.py). Rows touch the blocks of
m + 1 samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from predyn.estimate import band
from predyn.estimate.autoregression import Filter
from predyn.estimate.grid_kernels import serial_moments, serial_rows
from predyn.estimate.observations import Observations, Seen
from predyn.estimate.spline_grid import TOUCHED, Floats, Ints

GAP = 1.5  # times the usual interval: samples farther apart are not neighbours
WIDEST = 8  # blocks that a row may touch


class WideSeen(NamedTuple):
    """Rows of measurements that touch the blocks of several samples, as `Seen` elsewhere."""

    first: Ints  # (R,)
    J: Floats  # (R, width)
    value: Floats  # (R,)

    def add(self, weight: Floats, H: Floats, g: Floats) -> None:
        band.add_rows(self.first, self.J, self.value, weight, H, g)

    def after(self, step: Floats) -> Floats:
        return np.asarray(self.value + band.product(self.first, self.J, step))

    def variances(self, C: Floats) -> Floats:
        return band.variances(self.first, self.J, C)


class Chains(NamedTuple):
    """Which rows are neighbours in time."""

    before: Ints  # (m + 1, R) the row i samples before; -1 if there is none
    depth: Ints  # (R,) how many there are, at most m
    blocks: int  # that m + 1 samples touch


def neighbours(observations: Observations, order: int) -> Chains:
    """The rows before each row, as far as an order needs them."""
    o = observations
    usual = float(np.median(np.diff(o.t)))
    series = o.thing * (3 * len(o.observed) + o.model.n) + o.column
    rank = np.lexsort((o.sample, series))
    near = (np.diff(series[rank]) == 0) & (np.diff(o.t[o.sample[rank]]) < GAP * usual)
    before = np.full((order + 1, len(rank)), -1, np.int64)
    before[0] = np.arange(len(rank))
    before[1, rank[1:][near]] = rank[:-1][near]
    for k in range(2, order + 1):
        last = before[k - 1]
        before[k] = np.where(last >= 0, before[1, last], -1)
    depth = (before[1:] >= 0).sum(axis=0)
    last = before[depth, np.arange(len(rank))]
    at = o.interval[o.sample]
    return Chains(before, depth, TOUCHED + int((at - at[last]).max(initial=0)))


class SerialNoise:
    """The rows of observations for one order and root."""

    def __init__(self, observations: Observations, chains: Chains, rows: Filter) -> None:
        self.bare, self.chains, self.filter = observations, chains, rows
        self.blocks, self.log_volume = chains.blocks, float(log_volume(chains, rows))
        size = np.exp(0.5 * rows.log_variance)
        self._factors = size * rows.steady, size * rows.start

    def seen(self, bare: Seen) -> WideSeen:
        o, n = self.bare, self.bare.grid.n
        count, width = len(bare.value), self.blocks * n
        first, J, value = np.empty(count, np.int64), np.zeros((count, width)), np.zeros(count)
        last = o.grid.K + 2 - self.blocks
        serial_rows(
            bare.J, bare.value, o.interval[o.sample], o.basis[o.sample], self.chains.before,
            self.chains.depth, *self._factors, last, n, first, J, value,
        )  # fmt: skip
        return WideSeen(first, J, value)


def moments(
    observations: Observations, chains: Chains, bare: Seen, after: Floats, C: Floats
) -> Floats:
    """E[e_r e_q] (m + 1, R) of each row and those before it, from covariances in the band."""
    o, n = observations, observations.grid.n
    out = np.zeros(chains.before.shape)
    serial_moments(
        bare.J, after, o.interval[o.sample], o.basis[o.sample], chains.before, C, n,
        np.empty(n), out,
    )  # fmt: skip
    return out


def expected_squares(chains: Chains, lagged: Floats, rows: Filter) -> Any:
    """E[row^2] (R,) for the rows of a filter, complex ones too."""
    order, (before, depth, _) = len(rows.start), chains
    total = np.zeros(before.shape[1], rows.steady.dtype)
    for d in range(order + 1):
        at = np.flatnonzero(depth == d)
        factor = rows.steady if d == order else rows.start[d, d::-1]
        for i in range(d + 1):
            for j in range(i, d + 1):
                share = factor[i] * factor[j] * (1.0 if i == j else 2.0)
                total[at] += share * lagged[j - i, before[i, at]]
    return total * np.exp(rows.log_variance)


def log_volume(chains: Chains, rows: Filter) -> Any:
    """Sum over rows of the logarithm of the factor of their own residual."""
    order = len(rows.start)
    counts = np.bincount(chains.depth, minlength=order + 1)
    own = np.append(np.log(np.diagonal(rows.start)), 0.0)
    return counts @ own + 0.5 * counts.sum() * rows.log_variance

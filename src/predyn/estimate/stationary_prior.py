"""Torques or accelerations as a stationary process with a corner frequency, correlated at will.

With x_k (m,) what is assumed of interval k, the accelerations of links or the torques on them over
their sizes, and B the back shift,

    W (1 - phi B)^p x_k ~ N(0, I),    phi = exp(-2 pi f_c h),

W lower triangular. Below the corner frequency f_c the spectrum is flat, above it falls by 2 p
powers; phi = 1 would be differences of order p, phi = 0 white noise. Rows touch 3 + p blocks of
unknowns, and the first p rows make the process stationary from its first interval on
(autoregression.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from predyn.estimate.autoregression import Filter, autoregression
from predyn.estimate.driving import Driving
from predyn.estimate.grid_kernels import filtered_rows
from predyn.estimate.observations import Angle, Observations
from predyn.estimate.regularisation import Changes, Rows
from predyn.estimate.smoother import Levels, Small, Smoother
from predyn.estimate.spline_grid import TOUCHED, Floats, Ints


class StationarySmoother(Smoother):
    """A smoother whose prior is such a process: `assume` sets W and the corner frequency."""

    def __init__(
        self,
        observations: Observations,
        driving: Driving,
        base: Floats,
        order: int,
        usual: Floats,
        unactuated: Ints,
        of_motion: bool,
        volume: float,
        units: Floats,
        small: Small | None = None,
    ) -> None:
        """base (m, n) makes x of the torques, or of the accelerations if `of_motion`; units (m,)
        are the torques, N m or N, that x = 1 stands for."""
        sizes = np.ones(len(usual)) if of_motion else None
        super().__init__(
            observations, driving, base, order, usual, unactuated, sizes, volume, small
        )
        self.base, self.base_volume, self.units = base, volume, units
        self.sizes = [np.ones(len(base))]  # x has unit size
        self._constant = base @ self.grid.of_acceleration[:1] if of_motion else None
        self.assume(np.eye(len(base)), 1.0)

    @property
    def linear(self) -> bool:
        """Whether all rows are linear in the motion, so that one step leads to the minimum."""
        angles = all(isinstance(x, Angle) for x in self.observations.observed)
        return self.of_motion and angles and self.small is None and not len(self.unactuated)

    def assume(self, W: Floats, corner: float) -> None:
        """The process with innovations W^-1 and a corner frequency in Hz."""
        phi = np.exp(-2.0 * np.pi * corner * self.grid.h)
        self.W, self.corner, self.filter = W, corner, autoregression(self.order, float(phi))
        logs = float(np.log(np.abs(np.diagonal(W))).sum())
        starts = len(W) * float(self.filter.log_start)
        self.volume = self.base_volume + self.grid.K * logs + starts
        self.A = W @ self.base
        self._recent = []

    def signals(self, c: Floats, tau: Floats, U: Floats) -> tuple[Floats, Floats]:
        """x (K, m) and its slopes (K, m, 3 n), from torques and their slopes."""
        if self._constant is not None:
            a = self.grid.middle(c)[2]
            shape = (self.grid.K, *self._constant.shape[1:])
            return a @ self.base.T, np.broadcast_to(self._constant, shape)
        return tau @ self.base.T, self.base @ U

    def changes_about(self, c: Floats, tau: Floats, U: Floats) -> Changes:
        value, J = self.signals(c, tau, U)
        if self._constant is not None:
            J = np.broadcast_to(self.W @ self._constant, J.shape)
        else:
            J = self.W @ J
        K, m, n = self.grid.K, len(self.W), self.grid.n
        rows, wide = np.empty((K, m)), np.zeros((K, m, (TOUCHED + self.order) * n))
        filtered_rows(
            np.ascontiguousarray(value @ self.W.T), J, self.filter.steady, self.filter.start,
            rows, wide,
        )  # fmt: skip
        first = np.repeat(np.maximum(np.arange(K) - self.order, 0) * n, m)
        return Changes(Rows(first, wide.reshape(K * m, -1), rows.ravel()), ())

    def usual_sizes(self, levels: Levels) -> Floats:
        """Standard deviations of x in this process."""
        variance = (np.linalg.inv(self.W) ** 2).sum(axis=1) * np.exp(self.filter.log_variance)
        return np.asarray(self.units * np.sqrt(variance))


class Moments:
    """E[x_k x'_{k-l}] (p + 1, K, m, m), summed as the filter needs them."""

    def __init__(self, lagged: Floats) -> None:
        order, K = len(lagged) - 1, lagged.shape[1]
        self.steady, self.start = {}, {}
        for i in range(order + 1):
            for j in range(i, order + 1):
                self.steady[i, j] = lagged[j - i, order - i : K - i].sum(axis=0)
        for i in range(order):
            for j in range(i + 1):
                self.start[i, j] = lagged[i - j, i]

    def innovations(self, rows: Filter) -> Any:
        """S for the rows of a filter, complex ones too."""
        total = sum(
            rows.steady[i] * rows.steady[j] * (x + x.T if i != j else x)
            for (i, j), x in self.steady.items()
        )
        weight = rows.start.T @ rows.start
        return total + sum(
            weight[i, j] * (x + x.T if i != j else x) for (i, j), x in self.start.items()
        )

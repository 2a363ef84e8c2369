"""How the noise of measurements is correlated: not at all, between joints, or in time.

Each model makes rows of observations that are independent, with the noise levels as their standard
deviations, for some numbers N of its own; and knows the slope of the evidence in N (Fisher's
identity, as in covariance_search.py).

Between joints: U e_k of sample k has independent components, U = 1 + strictly lower triangular,
with entries N_ij noise_i / noise_j (levels as they were at first). With S = sum E[e_k e_k'],

    d/dU = -diag(1 / noise^2) U S,

and a prior -nu/2 |N|^2 as if nu samples without correlation had been seen. In time: see
serial_noise.py; N is the logarithm of the frequency f_n up to which noise is correlated.
"""

from __future__ import annotations

import numpy as np

from predyn.estimate import band
from predyn.estimate.autoregression import Filter, autoregression
from predyn.estimate.observations import Observations
from predyn.estimate.serial_noise import (
    SerialNoise,
    expected_squares,
    log_volume,
    moments,
    neighbours,
)
from predyn.estimate.smoother import Posterior
from predyn.estimate.spline_grid import Floats

SHRINKAGE = 5.0  # samples that the prior of correlations between joints is worth
SOFT_TISSUE, SLOWEST, FASTEST = 3.0, 0.05, 2.0  # f_n: Hz to start from and at least; over the rate
TRIED = 24  # frequencies f_n to start from
TINY = 1e-30  # a complex step
LIMIT = 60.0


class WhiteNoise:
    """Independent noise; the base of the others."""

    def __init__(self, observations: Observations) -> None:
        self.bare = observations

    def start(self, noise: Floats) -> Floats:
        """N to begin with, for levels near the right ones."""
        return np.zeros(0)

    def observations(self, N: Floats) -> Observations:
        return self.bare

    def log_prior(self, N: Floats) -> float:
        return 0.0

    def limits(self) -> tuple[float, float]:
        """Of each number in N."""
        return -LIMIT, LIMIT

    def squares(self, c: Floats, posterior: Posterior, N: Floats) -> Floats:
        """E[row^2] (R,) after the step."""
        seen = posterior.linear.about.seen
        return np.asarray(seen.after(posterior.step) ** 2 + seen.variances(posterior.C))

    def slope(self, c: Floats, posterior: Posterior, noise: Floats, N: Floats) -> Floats:
        """d (evidence and log_prior) / dN."""
        return np.zeros(0)


class JointNoise(WhiteNoise):
    """Correlated between joints, which every sample must have all of."""

    def __init__(self, observations: Observations) -> None:
        super().__init__(observations)
        self._below = np.tril_indices(len(observations.observed), -1)
        self._units = np.ones(len(self._below[0]))

    def start(self, noise: Floats) -> Floats:
        self._units = noise[self._below[0]] / noise[self._below[1]]
        return np.zeros(len(self._units))

    def mixing(self, N: Floats) -> Floats:
        U = np.eye(len(self.bare.observed))
        U[self._below] = N * self._units
        return U

    def taken_apart(self, S: Floats) -> tuple[Floats, Floats]:
        """Noise levels and N for a covariance S of the residuals."""
        L = np.linalg.cholesky(S)
        noise = np.diagonal(L).copy()
        return noise, (noise[:, None] * np.linalg.inv(L))[self._below] / self._units

    def observations(self, N: Floats) -> Observations:
        return self.bare.correlated(self.mixing(N))

    def log_prior(self, N: Floats) -> float:
        return -0.5 * SHRINKAGE * float(N @ N)

    def slope(self, c: Floats, posterior: Posterior, noise: Floats, N: Floats) -> Floats:
        S = residual_moments(self.bare, c, posterior)
        slope = -self.mixing(N) @ S / noise[:, None] ** 2
        return np.asarray(slope[self._below] * self._units - SHRINKAGE * N)


class TimeNoise(WhiteNoise):
    """Correlated from sample to sample, as a process of order 1 or 2."""

    def __init__(self, observations: Observations, order: int) -> None:
        super().__init__(observations)
        self.order, self.chains = order, neighbours(observations, order)
        self._step = float(np.median(np.diff(observations.t)))

    def start(self, noise: Floats) -> Floats:
        return np.log([SOFT_TISSUE])

    def taken_apart(self, c: Floats, posterior: Posterior) -> tuple[Floats, Floats]:
        """Noise levels and N that suit the residuals of a motion best."""
        left, before = self.bare.bare_rows(c).after(posterior.step), self.chains.before
        lagged = np.where(before >= 0, left * left[before], 0.0)
        found: tuple[float, Floats, Floats] | None = None
        for N in np.linspace(*self.limits(), TRIED):
            rows = self._filter(float(N))
            squares = expected_squares(self.chains, lagged, rows)
            levels = np.sqrt(np.bincount(self.bare.thing, squares) / self.bare.counts)
            value = log_volume(self.chains, rows) - self.bare.counts @ np.log(levels)
            if found is None or value > found[0]:
                found = value, levels, np.array([N])
        assert found is not None
        return found[1], found[2]

    def observations(self, N: Floats) -> Observations:
        return self.bare.in_time(SerialNoise(self.bare, self.chains, self._filter(float(N[0]))))

    def limits(self) -> tuple[float, float]:
        return float(np.log(SLOWEST)), float(np.log(FASTEST / self._step))

    def squares(self, c: Floats, posterior: Posterior, N: Floats) -> Floats:
        lagged = self._moments(c, posterior)
        return np.asarray(expected_squares(self.chains, lagged, self._filter(float(N[0]))))

    def slope(self, c: Floats, posterior: Posterior, noise: Floats, N: Floats) -> Floats:
        rows = self._filter(N[0] + 1j * TINY)
        squares = expected_squares(self.chains, self._moments(c, posterior), rows)
        total = -0.5 * (noise[self.bare.thing] ** -2.0 @ squares) + log_volume(self.chains, rows)
        return np.array([total.imag / TINY])

    def _filter(self, log_frequency: complex) -> Filter:
        rho = np.exp(-2.0 * np.pi * self._step * np.exp(log_frequency))
        return autoregression(self.order, complex(rho) if np.iscomplexobj(rho) else float(rho))

    def _moments(self, c: Floats, posterior: Posterior) -> Floats:
        bare = self.bare.bare_rows(c)
        return moments(self.bare, self.chains, bare, bare.after(posterior.step), posterior.C)


def residual_moments(observations: Observations, c: Floats, posterior: Posterior) -> Floats:
    """Sum over samples of E[e e'] of the residuals of joints, all of which every sample has."""
    seen = observations.bare_rows(c)
    left = seen.after(posterior.step).reshape(len(observations.t), -1)
    S = np.zeros((observations.grid.n, observations.grid.n))
    band.summed_covariance(seen.interval, seen.basis, posterior.C, S)
    joints = observations.column[: left.shape[1]]
    return np.asarray(left.T @ left + S[np.ix_(joints, joints)])

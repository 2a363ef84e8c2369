"""Evidence of stationary priors and of correlated noise against dense normal distributions.

Slides are linear: measurements are normal, with the covariance of the noise and of what the process
does to them, written down here with NumPy from autocovariances (the spline, and torques as linear
functions of it, come from the oracle). The start is uniform, so that the probability is that of
what is left when any start is taken out. Its difference to the smoother's value knows nothing of
levels, covariance, corner, order and noise.
"""

from __future__ import annotations

from copy import copy
from functools import cache

import numpy as np
import pytest
from scipy.linalg import block_diag, toeplitz

from estimate.smoother_cases import guess_of, levels_of, slides, smoother_of, task
from oracles.casadi_estimate import Oracle, Task
from predyn.estimate.autoregression import autoregression
from predyn.estimate.covariance_search import CovarianceSearch, Point
from predyn.estimate.noise_models import TRIED, JointNoise, TimeNoise, WhiteNoise
from predyn.estimate.noise_pooling import Pool, pool_of
from predyn.estimate.regularisation import combination, inertias
from predyn.estimate.stationary_prior import Moments, StationarySmoother
from predyn.model.builder import ModelBuilder

SEED, n = 3, 4
PHI = (0.1, 0.6, 0.93)


def autocovariance(order: int, phi: float, count: int) -> np.ndarray:
    """Of (1 - phi B)^-order white noise, by its moving average."""
    psi = np.zeros(4000)
    psi[0] = 1.0
    for _ in range(order):
        for k in range(1, len(psi)):
            psi[k] += phi * psi[k - 1]
    return np.array([psi[: len(psi) - lag] @ psi[lag:] for lag in range(count)])


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("phi", PHI)
def test_rows_make_the_process_white(order: int, phi: float) -> None:
    rows, K = autoregression(order, phi), 12
    T = np.zeros((K, K))
    T[:order, :order] = rows.start
    for k in range(order, K):
        T[k, k - order : k + 1] = rows.steady[::-1]
    gamma = autocovariance(order, phi, K)
    # rounding grows with the condition of the covariance
    loss = 1e-14 * np.linalg.cond(toeplitz(gamma))
    assert np.abs(T @ toeplitz(gamma) @ T.T - np.eye(K)).max() < loss
    assert np.exp(rows.log_variance) == pytest.approx(gamma[0], rel=1e-10)
    assert rows.log_start == pytest.approx(np.log(np.diagonal(rows.start)).sum())


@cache
def given(missing: float) -> Task:
    return task(slides(), SEED, angles=(0, 1, 2, 3), K=14, missing=missing, noise=0.01)


class Case:
    """A prior, a noise model and numbers for both."""

    def __init__(self, of_motion: bool, order: int, noise: str, missing: float = 0.0) -> None:
        self.task, self.of_motion, self.order = given(missing), of_motion, order
        rng = np.random.default_rng([order, len(noise), 5])
        plain = smoother_of(self.task)
        self.observations, self.grid = plain.observations, plain.grid
        active = np.ones(n, bool)
        links = combination(self.task.model, active, "links")
        base, volume = links, 0.0
        if of_motion:
            base = np.linalg.inv(links).T
            _, U = plain.driving.slopes(guess_of(self.task, SEED))
            volume = inertias(active, U, self.grid.h)[2]
        size = rng.uniform(0.5, 2.0, n) * (1.0 if of_motion else 3.0)
        self.base, volume = base / size[:, None], volume - self.grid.K * float(np.log(size).sum())
        self.smoother = StationarySmoother(
            self.observations, plain.driving, self.base, order, self.task.usual,
            np.zeros(0, np.int64), of_motion, volume, size,
        )  # fmt: skip
        models = {"white": WhiteNoise, "joints": JointNoise}
        self.model = (
            TimeNoise(self.observations, int(noise[-1])) if noise[:4] == "time"
            else models[noise](self.observations)
        )  # fmt: skip
        self.levels = levels_of(self.task).noise * np.exp(rng.uniform(-0.5, 0.5, n))
        N = self.model.start(levels_of(self.task).noise)
        self.N = N + 0.3 * rng.standard_normal(len(N))
        self.W = np.tril(rng.standard_normal((n, n)), -1) + np.diag(rng.uniform(0.5, 2.0, n))
        self.corner = float(rng.uniform(0.5, 3.0))
        bounds = 1e-9 * np.ones(n), 1e9 * np.ones(n)
        self.search = CovarianceSearch(
            self.smoother, np.ones(n, bool), bounds, True, Pool(np.zeros(n)), self.model
        )

    def point(self, **other: object) -> Point:
        """The smoother's value, with some numbers changed."""
        x = {"noise": self.levels, "N": self.N, "W": self.W, "corner": self.corner} | other
        found = self.search.at(x["noise"], x["N"], x["W"], x["corner"], guess_of(self.task, SEED))
        assert found is not None
        return found

    def process(self) -> np.ndarray:
        """Covariance (K n, K n) of accelerations or torques."""
        phi = np.exp(-2.0 * np.pi * self.corner * self.grid.h)
        back = np.linalg.inv(self.base)
        V = back @ np.linalg.inv(self.W.T @ self.W) @ back.T
        return np.kron(toeplitz(autocovariance(self.order, phi, self.grid.K)), V)

    def noise(self) -> np.ndarray:
        """Covariance of the measurements' noise, by channel and then time."""
        values = list(self.task.angles.values())
        if isinstance(self.model, JointNoise):
            back = np.linalg.inv(self.model.mixing(self.N))
            return np.kron(back @ np.diag(self.levels**2) @ back.T, np.eye(len(self.task.t)))
        blocks = []
        for x, level in zip(values, self.levels, strict=True):
            there = np.flatnonzero(np.isfinite(x))
            C = np.eye(len(there))
            if isinstance(self.model, TimeNoise):
                rho = np.exp(-2 * np.pi * self.grid.h * np.exp(self.N[0]))  # samples at the nodes
                gamma = autocovariance(self.model.order, rho, len(x))
                run = np.cumsum(np.diff(there, prepend=there[0]) > 1)  # what a gap separates
                C = toeplitz(gamma / gamma[0])[np.ix_(there, there)] * (run[:, None] == run)
            blocks.append(level**2 * C)
        return block_diag(*blocks)

    def dense(self) -> float:
        """log p(y), but for a constant."""
        K, size, zero = self.grid.K, self.grid.size, np.zeros(self.grid.size)
        if self.of_motion:
            value = np.zeros(K * n)
            U = np.kron(self.task.spline(self.task.middles, 2), np.eye(n))
        else:
            torques = Oracle(self.task).torques(zero)
            value, U = torques.r, torques.J
        back = np.linalg.inv(np.concatenate((np.eye(2 * n, size), U)))
        B, rows, y = self.task.spline(self.task.t, 0), [], []
        for j, x in enumerate(self.task.angles.values()):
            there = np.isfinite(x)
            rows.append(np.kron(B[there], np.eye(n)[j]))
            y.append(x[there])
        start, driven = np.split(np.concatenate(rows) @ back, [2 * n], axis=1)
        left = np.concatenate(y) + driven @ value  # less that of none
        L = np.linalg.cholesky(driven @ self.process() @ driven.T + self.noise())
        Q, R = np.linalg.qr(np.linalg.solve(L, start))
        left = np.linalg.solve(L, left)
        left -= Q @ (Q.T @ left)
        logs = np.log(np.diagonal(L)).sum() + np.log(np.abs(np.diagonal(R))).sum()
        return float(-0.5 * left @ left - logs)


@cache
def case(of_motion: bool, order: int, noise: str, missing: float) -> Case:
    return Case(of_motion, order, noise, missing)


KINDS = [
    (True, 1, "white", 0.0), (True, 2, "white", 0.0), (True, 3, "white", 0.0),
    (False, 1, "white", 0.0), (False, 3, "white", 0.0), (True, 2, "joints", 0.0),
    (False, 1, "joints", 0.0), (True, 3, "time 1", 0.0), (True, 1, "time 2", 0.0),
]  # fmt: skip
GAPS = [(True, 1, "white", 0.2), (True, 2, "time 1", 0.2), (True, 3, "time 2", 0.2)]


@pytest.mark.parametrize("kinds", [KINDS, GAPS], ids=["complete", "gaps"])
def test_evidence_is_the_probability_of_the_measurements(kinds: list) -> None:
    away = [case(*kind).point().log_evidence - case(*kind).dense() for kind in kinds]
    # determinants of 60 numbers, conditions up to 1e8
    assert np.ptp(away) < 1e-4


@pytest.mark.parametrize("kind", [*KINDS[::2], *GAPS[1:]], ids=str)
def test_slopes_are_those_of_the_value(kind: tuple) -> None:
    """Central differences err by h^2 / 6 of third derivatives, some hundred, and rounding / h."""
    this, h = case(*kind), 1e-4
    search, point = this.search, this.point()
    lagged = search.moments(point)
    slope_W = search.covariance_slope(point, Moments(lagged))
    slope_corner = search.corner_slope(point, Moments(lagged))
    slope_noise = search.noise_slope(point)
    slope_N = this.model.slope(point.c, point.posterior, point.noise, point.N)

    def difference(**ways: object) -> float:
        up, down = ({k: f(s) for k, f in ways.items()} for s in (h, -h))
        return (this.point(**up).value - this.point(**down).value) / (2 * h)

    unit = np.eye(n)
    for j in range(n):
        numeric = difference(noise=lambda s, j=j: this.levels * np.exp(s * unit[j]))
        assert slope_noise[j] == pytest.approx(numeric, abs=1e-3, rel=1e-4)
    for i, j in ((0, 0), (2, 1), (3, 3), (3, 0)):
        numeric = difference(W=lambda s, i=i, j=j: this.W + s * np.outer(unit[i], unit[j]))
        assert slope_W[i, j] == pytest.approx(numeric, abs=1e-3, rel=1e-4)
    assert slope_corner == pytest.approx(
        difference(corner=lambda s: this.corner * np.exp(s)), abs=1e-3, rel=1e-4
    )
    for k in range(min(len(this.N), 3)):
        numeric = difference(N=lambda s, k=k: this.N + s * np.eye(len(this.N))[k])
        assert slope_N[k] == pytest.approx(numeric, abs=1e-3, rel=1e-4)


@pytest.mark.parametrize("kind", GAPS[1:], ids=str)
def test_noise_in_time_starts_from_the_most_likely_residuals(kind: tuple) -> None:
    """Against their dense covariance, for other levels and frequencies."""
    this = copy(case(*kind))
    point, observed = this.point(), this.observations
    residuals = observed.bare_rows(point.c).after(point.posterior.step)
    residuals = residuals[np.lexsort((observed.sample, observed.thing))]
    levels, N = this.model.taken_apart(point.c, point.posterior)

    def likely(levels: np.ndarray, N: np.ndarray) -> float:
        this.levels, this.N = levels, N
        C = this.noise()
        return float(-0.5 * (residuals @ np.linalg.solve(C, residuals) + np.linalg.slogdet(C)[1]))

    least, most = this.model.limits()
    best, step = likely(levels, N), (most - least) / (TRIED - 1)
    for other in (N - step, N + step, N - 3 * step, N + 3 * step):
        if least <= other[0] <= most:
            assert likely(levels, other) <= best
    for j in range(n):
        for factor in (0.99, 1.01):
            assert likely(levels * np.where(np.arange(n) == j, factor, 1.0), N) < best


def test_the_search_ends_where_the_evidence_is_stationary() -> None:
    this = Case(True, 2, "white")
    trial = this.search.run(this.levels, guess_of(this.task, SEED))
    best = this.search.best
    assert trial.settled
    assert best is not None
    assert best.value > this.point().value
    lagged = this.search.moments(this.search.at(best.noise, best.N, best.W, best.corner, best.c))
    slope = this.search.covariance_slope(best, Moments(lagged))
    # 14 intervals: evidence within a fraction of a nat of its top
    assert np.abs(np.tril(slope @ best.W.T)).max() < 2.0
    assert np.abs(this.search.noise_slope(best)).max() < 2.0


def test_pooled_levels() -> None:
    """The prior's slope, and that its fixed point is where it and the likelihood balance."""
    rng = np.random.default_rng(1)
    counts = np.array([300, 200, 150, 400])
    pool = pool_of(counts, np.array([True, True, False, True]))
    noise, h = rng.uniform(0.5, 3.0, 4), 1e-6
    numeric = [
        (pool.log_prior(noise * np.exp(h * x)) - pool.log_prior(noise * np.exp(-h * x))) / (2 * h)
        for x in np.eye(4)
    ]
    assert pool.slope(noise) == pytest.approx(numeric, abs=1e-5)
    squares = counts * np.array([1.0, 1e-6, 2.0, 9.0])
    for _ in range(200):
        noise = pool.estimated(squares, counts.astype(float), noise)
    slope = squares / noise**2 - counts + pool.slope(noise)
    assert np.abs(slope).max() < 1e-6
    assert noise[2] == pytest.approx(np.sqrt(2.0))  # by itself
    assert noise[1] > 0.4  # does not collapse
    assert pool_of(counts, np.array([True, False, False, False])).log_prior(noise) == 0.0


def test_one_joint() -> None:
    """One joint has no correlations; the search still runs."""
    builder = ModelBuilder("one")
    builder.add_link("a", "world", "a", "prismatic", mass=1.0, inertia=(0.1, 0.1, 0.1))
    lone = task(builder.build(), SEED, angles=(0,), K=30)
    plain = smoother_of(lone)
    smoother = StationarySmoother(
        plain.observations, plain.driving, np.eye(1), 3, lone.usual, np.zeros(0, np.int64), True,
        0.0, np.ones(1),
    )  # fmt: skip
    bounds = np.array([1e-9]), np.array([1e9])
    search = CovarianceSearch(
        smoother, np.ones(1, bool), bounds, True, Pool(np.zeros(1)), WhiteNoise(plain.observations)
    )
    trial = search.run(levels_of(lone).noise, guess_of(lone, SEED))
    assert np.isfinite(trial.log_evidence)

"""Noise, covariance and corner frequency of a stationary prior, where the evidence is largest.

The value that is maximised over noise levels, W and f_c (stationary_prior.py) is

    log evidence + nu log|W| - nu/2 (tr W W' / gamma_0 + m log gamma_0) - (log f_c / 4 Hz)^2 / 8,

the log evidence with a weak prior: covariances as if nu intervals had been seen in which x had unit
size and no correlation, and corner frequencies of some Hz. About the best motion the problem is
nearly linear, and with S = sum E[e_k e_k'], e_k = (1 - phi B)^p x_k, the expectation over motions
given the measurements,

    d/dW = (K + nu) W^-T - W (S + nu / gamma_0),
    d/d log noise = sum E[r^2] / noise^2 - count,
    d/dphi = -1/2 tr W S'(phi) W' + m d log|T_0| / dphi + that of the prior

(Fisher's identity). S follows for every phi from the moments E[x_k x'_{k-l}], l = 0 .. p, which the
covariances in the band have, and S'(phi) from a complex step of the filter. The search begins where
the expectation, not the evidence, is largest (one step of EM, all of it closed but for f_c), and
goes on by L-BFGS in W = diag(e^-s) (1 + N) W_0, N strictly lower triangular, which makes the
problem nearly round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from predyn.errors import InputError
from predyn.estimate import band, zero_torques
from predyn.estimate.autoregression import Filter, autoregression
from predyn.estimate.evidence import MARGIN, Trial, log_evidence
from predyn.estimate.grid_kernels import lag_moments
from predyn.estimate.noise_models import JointNoise, TimeNoise, WhiteNoise, residual_moments
from predyn.estimate.noise_pooling import Pool
from predyn.estimate.smoother import Levels, Posterior
from predyn.estimate.spline_grid import Floats
from predyn.estimate.stationary_prior import Moments, StationarySmoother
from predyn.storage.interrupts import held_back

SHRINKAGE = 2.0  # intervals that the prior of W is worth
USUAL_CORNER, SPREAD = 4.0, 2.0  # Hz, and its standard deviation in logarithms
SLOWEST, FASTEST = 0.05, 0.45  # corner frequencies: Hz, and over the rate of intervals
TINY = 1e-30  # a complex step
GAIN, MOST_STEPS = 1e-2, 12  # nats that a step of the motion may still gain
FAILED = 1e9
DIGITS = 3  # of logarithms, to which the best place is rounded
MOST = 80  # iterations
FLAT, ENOUGH = 4, 0.2  # iterations that together gain so little are the last ones
PATIENCE = 8  # iterations, after which a search ends if so many more like the last do not suffice
LIMIT = 60.0  # of logarithms and of N


class Point(NamedTuple):
    """Levels, prior, motion and value at one place of the search."""

    noise: Floats
    N: Floats  # numbers of the noise model
    W: Floats
    corner: float
    c: Floats
    posterior: Posterior
    log_evidence: float
    value: float


@dataclass
class CovarianceSearch:
    """The search for one smoother; full: W has correlations."""

    smoother: StationarySmoother
    free_noise: NDArray[np.bool_]
    noise_bounds: tuple[Floats, Floats]
    full: bool
    pool: Pool
    noise_model: WhiteNoise
    report: Callable[[float, float], None] | None = None
    nu: float = SHRINKAGE
    best: Point | None = None
    evaluations: int = 0
    _lower: tuple[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        m = len(self.smoother.base)
        none = np.zeros(0, np.int64)
        self._lower = np.tril_indices(m, -1) if self.full else (none, none)

    # ---- one place

    def at(self, noise: Floats, N: Floats, W: Floats, corner: float, c: Floats) -> Point | None:
        """The best motion for given levels; None if there is not one."""
        smoother, levels = self.smoother, Levels(noise, np.ones(len(W)))
        self.evaluations += 1
        smoother.observations = self.noise_model.observations(N)
        smoother.assume(W, corner)
        try:
            posterior = smoother.posterior(c, levels, covariances=False)
            for _ in range(0 if smoother.linear else MOST_STEPS):
                if posterior.damping or posterior.gain < GAIN:
                    break
                c, length = smoother.moved(c, levels, posterior)
                posterior = smoother.posterior(c, levels, covariances=False)
                if not length:
                    break
        except InputError:  # singular
            return None
        if posterior.damping:
            return None
        evidence = log_evidence(smoother, c, levels, posterior) + self.pool.log_prior(noise)
        if not np.isfinite(evidence):
            return None
        C = zero_torques.covariances(posterior.L, smoother.grid.n, len(smoother.unactuated))
        value = evidence + self.log_prior(W, smoother.filter, corner)
        value += self.noise_model.log_prior(N)
        return Point(noise, N, W, corner, c, posterior._replace(C=C), evidence, value)

    def log_prior(self, W: Floats, rows: Filter, corner: float) -> float:
        logs = float(np.log(np.abs(np.diagonal(W))).sum())
        size = float((W**2).sum()) / np.exp(rows.log_variance) + len(W) * rows.log_variance
        return float(self.nu * (logs - 0.5 * size)) - 0.5 * _corner_excess(corner) ** 2

    def moments(self, point: Point) -> Floats:
        """E[x_k x'_{k-l}] (p + 1, K, m, m) at a point, after its step."""
        smoother, about = self.smoother, point.posterior.linear.about
        value, J = smoother.signals(point.c, about.tau, about.U)
        K, m, width = J.shape
        first = np.repeat(np.arange(K) * smoother.grid.n, m)
        flat = np.ascontiguousarray(J).reshape(K * m, width)
        value = value + band.product(first, flat, point.posterior.step).reshape(K, m)
        lagged = np.zeros((smoother.order + 1, K, m, m))
        lag_moments(value, J, point.posterior.C, smoother.grid.n, np.empty((m, width)), lagged)
        return lagged

    def noise_slope(self, point: Point) -> Floats:
        """d value / d log noise."""
        squares = self.noise_model.squares(point.c, point.posterior, point.N)
        total = np.bincount(self.smoother.observations.thing, squares, len(point.noise))
        slope = total / point.noise**2 - self.smoother.observations.counts
        return np.asarray(slope + self.pool.slope(point.noise))

    def covariance_slope(self, point: Point, moments: Moments) -> Floats:
        """d value / d W (m, m)."""
        rows, K, W = self.smoother.filter, self.smoother.grid.K, point.W
        S = moments.innovations(rows) + self._unseen(rows, len(W))
        return np.asarray((K + self.nu) * np.linalg.inv(W).T - W @ S)

    def corner_slope(self, point: Point, moments: Moments) -> float:
        """d value / d log f_c."""
        smoother, W = self.smoother, point.W
        log_phi = -2.0 * np.pi * point.corner * smoother.grid.h
        rows = autoregression(smoother.order, np.exp(log_phi) * (1.0 + 1j * TINY))
        S = moments.innovations(rows) + self._unseen(rows, len(W))
        total = -0.5 * np.trace(W @ S @ W.T) + len(W) * (
            rows.log_start - 0.5 * self.nu * rows.log_variance
        )
        return float(total.imag / TINY * log_phi) - _corner_excess(point.corner) / SPREAD

    def _unseen(self, rows: Filter, m: int) -> Any:
        """What the prior of W adds to S."""
        return self.nu * np.eye(m) * np.exp(-rows.log_variance)

    # ---- the way to the best

    def expected(self, moments: Moments) -> tuple[Floats, float]:
        """W and corner that are best if the motions were those that are expected now."""
        smoother = self.smoother
        K, h, m = smoother.grid.K, smoother.grid.h, len(smoother.base)
        found: tuple[float, Floats, float] | None = None
        for corner in np.geomspace(2.0 * SLOWEST, 0.9 * FASTEST / h, 24):
            rows = autoregression(smoother.order, float(np.exp(-2.0 * np.pi * corner * h)))
            S = moments.innovations(rows) + self._unseen(rows, m)
            W = _root(S / (K + self.nu), self.full)
            value = (K + self.nu) * float(np.log(np.diagonal(W)).sum())
            value += m * float(rows.log_start - 0.5 * self.nu * rows.log_variance)
            value -= 0.5 * _corner_excess(corner) ** 2
            if found is None or value > found[0]:
                found = value, W, float(corner)
        assert found is not None
        return found[1], found[2]

    def run(
        self,
        noise: Floats,
        c: Floats,
        higher: CovarianceSearch | None = None,
        goal: float = -np.inf,
        most: int = MOST,
    ) -> Trial:
        """From levels and a motion near the best to the best, or until `goal` is out of reach.

        higher  a search of a higher order that has ended, to start from
        """
        interrupted = settled = False
        try:
            with np.errstate(all="ignore"):  # of motions beyond all sense
                with held_back():
                    self._begin(noise, c, higher)
                if self.best is not None:
                    settled = self._climb(most, goal)
        except KeyboardInterrupt:
            interrupted = True
        return self._trial(noise, c, settled, interrupted)

    def _begin(self, noise: Floats, c: Floats, higher: CovarianceSearch | None) -> None:
        smoother, m = self.smoother, len(self.smoother.base)
        N = self.noise_model.start(noise)
        if higher is not None and higher.best is not None:
            lagged = higher.moments(higher.best)[: smoother.order + 1]
            noise, c = higher.best.noise, higher.best.c
            if higher.noise_model is self.noise_model:
                N = higher.best.N
            elif isinstance(self.noise_model, TimeNoise):
                noise, N = self.noise_model.taken_apart(c, higher.best.posterior)
                noise = np.clip(noise, *self.noise_bounds)
            elif isinstance(self.noise_model, JointNoise):
                S = residual_moments(self.noise_model.bare, c, higher.best.posterior)
                noise, N = self.noise_model.taken_apart(S / len(self.noise_model.bare.t))
                noise = np.clip(noise, *self.noise_bounds)
            self.best = self.at(noise, N, *self.expected(Moments(lagged)), c)
            return
        phi = float(np.exp(-2.0 * np.pi * USUAL_CORNER * smoother.grid.h))
        size = np.exp(0.5 * autoregression(smoother.order, phi).log_variance)
        self.best = self.at(noise, N, np.eye(m) * size, USUAL_CORNER, c)
        for _ in range(2):
            if self.best is None:
                return
            moments = Moments(self.moments(self.best))
            nearer = self.at(noise, N, *self.expected(moments), self.best.c)
            if nearer is None or nearer.value < self.best.value:
                return
            self.best = nearer

    def _climb(self, most: int, goal: float) -> bool:
        assert self.best is not None
        W0, free, m = self.best.W, self.free_noise, len(self.best.W)
        sizes = (int(free.sum()), len(self.best.N), m, len(self._lower[0]), 1)
        ends = np.cumsum(sizes)[:-1]

        def unpacked(x: Floats) -> tuple[Floats, Floats, Floats, float]:
            logs, N, s, below, corner = np.split(x, ends)
            noise, U = start.noise.copy(), np.eye(m)
            noise[free], U[self._lower] = np.exp(logs), below
            return noise, N, np.exp(-s)[:, None] * U @ W0, float(np.exp(corner[0]))

        unit = np.sqrt(2.0 * self.smoother.grid.K)  # about the root of the curvature in x

        def negative(y: Floats) -> tuple[float, Floats]:
            x = y / unit
            with held_back():
                noise, N, W, corner = unpacked(x)
                assert self.best is not None
                point = self.at(noise, N, W, corner, self.best.c)
                if point is None:
                    return FAILED, np.zeros(len(x))
                moments = Moments(self.moments(point))
                G = self.covariance_slope(point, moments)
                slope = np.concatenate((
                    self.noise_slope(point)[free],
                    self.noise_model.slope(point.c, point.posterior, noise, N),
                    -(G * W).sum(axis=1),
                    (np.exp(-np.split(x, ends)[2])[:, None] * (G @ W0.T))[self._lower],
                    [self.corner_slope(point, moments)],
                ))  # fmt: skip
                if point.value > self.best.value:
                    self.best, reached[:] = point, x
            if self.report is not None:
                self.report(point.log_evidence, float(np.abs(point.posterior.step).max()))
            return -point.value, -slope / unit

        values, reached = [self.best.value], np.zeros(int(sum(sizes)))

        def stop_early(x: Floats) -> None:
            """Where the evidence is flat, and where a goal is out of reach."""
            assert self.best is not None
            values.append(self.best.value)
            flat = len(values) > FLAT and values[-1] - values[-1 - FLAT] < ENOUGH
            rest = PATIENCE * (values[-1] - values[-2])
            late = len(values) > PATIENCE and self.best.log_evidence + rest < goal - MARGIN
            if flat or late:
                raise StopIteration

        start = self.best
        rest = np.zeros(m + sizes[3])
        x = np.concatenate((np.log(start.noise[free]), start.N, rest, [np.log(start.corner)]))
        least, largest = (np.log(x[free]) for x in self.noise_bounds)
        fastest = np.log(FASTEST / self.smoother.grid.h)
        limits = [
            *zip(least, largest, strict=True),
            *[self.noise_model.limits()] * sizes[1],
            *[(-LIMIT, LIMIT)] * (m + sizes[3]),
            (np.log(SLOWEST), fastest),
        ]
        limits = [(unit * low, unit * high) for low, high in limits]
        options = {"maxiter": most, "maxfun": 2 * most, "gtol": 1e-2, "ftol": 1e-7, "maxcor": 20}
        found = minimize(
            negative,
            unit * x,
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            options=options,
            callback=stop_early,
        )
        if self.best is not start:  # rounded: the last digits of the data shall not show
            with held_back():
                rounded = self.at(*unpacked(np.round(reached, DIGITS)), self.best.c)
                self.best = rounded or self.best
        # at the limit of iterations the evidence is somewhat short of its top; half as many again
        # raised it by at most 2.4 and changed errors of torques by 2 % (23 joints)
        return bool(found.status in (0, 1)) or len(values) > 1

    def _trial(self, noise: Floats, c: Floats, settled: bool, interrupted: bool) -> Trial:
        point, m = self.best, len(self.smoother.base)
        levels = Levels(noise, np.ones(m))
        if point is None:
            return Trial(
                self.smoother, c, levels, -np.inf, np.zeros(m), self.evaluations, False, interrupted
            )
        self.smoother.observations = self.noise_model.observations(point.N)
        self.smoother.assume(point.W, point.corner)
        rows = point.posterior.linear.about.changes.rows
        spread = band.variances(rows.first, rows.J, point.posterior.C).reshape(-1, m).sum(axis=0)
        return Trial(
            self.smoother,
            point.c,
            levels._replace(noise=point.noise),
            point.log_evidence,
            self.smoother.grid.K - spread,
            self.evaluations,
            settled,
            interrupted,
        )


def _corner_excess(corner: float) -> float:
    return float(np.log(corner / USUAL_CORNER) / SPREAD)


def _root(S: Floats, full: bool) -> Floats:
    """Lower triangular W with W' W = S^-1, or the diagonal one for S's diagonal."""
    if not full:
        return np.diag(1.0 / np.sqrt(np.diagonal(S)))
    return np.asarray(np.linalg.inv(np.linalg.cholesky(S)))

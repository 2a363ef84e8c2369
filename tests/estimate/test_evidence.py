"""Evidence against the probability of the measurements written down directly.

Slides are linear: measurements y are normal, with the covariance of noise and of what torques with
their prior do to them; the start is uniform, so that the probability is that of what is left of y
when any start is taken out. That differs from the smoother's value by a constant which knows
nothing of levels, order, and of which torques change independently.

Tolerances. The value comes from a Cholesky factor of H, the reference from one of S: logarithms of
determinants and squares of N numbers err by up to N eps times the condition of H and of S, each
scaled to a unit diagonal.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from estimate.smoother_cases import guess_of, levels_of, slides, smoother_of, task
from oracles.casadi_estimate import Oracle, Task
from predyn.dynamics import frame_kinematics
from predyn.estimate import evidence
from predyn.estimate.driving import Driving
from predyn.estimate.evidence import SETTLED, Trial, fit_levels, log_evidence
from predyn.estimate.observations import Observations, angle, marker
from predyn.estimate.regularisation import inertias
from predyn.estimate.result import INDEPENDENT
from predyn.estimate.smoother import Levels, Smoother
from predyn.estimate.spline_grid import Grid
from predyn.models import trujillo_two_link

SEED = 3
EPS = float(np.finfo(float).eps)
STEP = 1e-3  # of the logarithm of a level


@cache
def linear(
    order: int = 1, of: str = "joints", free: tuple[int, ...] = (), noise: float = 0.001
) -> Task:
    return task(slides(), SEED, angles=(0, 1, 2, 3), order=order, of=of, K=14, samples=28,
                missing=0.1, unactuated=free, noise=noise)  # fmt: skip


class Marginal:
    """log p(y | levels) of a linear task, dense."""

    def __init__(self, given: Task) -> None:
        oracle = Oracle(replace(given, noise=dict.fromkeys(given.noise, 1.0)))
        n, K = given.model.n, given.K
        zero = np.zeros((K + 2) * n)
        data, slopes = oracle.value(oracle.data, zero).ravel(), oracle.slopes(oracle.data, zero)
        likely = oracle.torques(zero)
        value, U = likely.r.reshape(K, n), likely.J.reshape(K, n, -1)
        active = [j for j in range(n) if j not in given.unactuated]
        if given.accelerations is not None:  # of active joints, beside the torques of the others
            bending = np.kron(given.spline(given.middles, 2), np.eye(n)).reshape(K, n, -1)
            value[:, active], U[:, active] = 0.0, bending[:, active]
        start = np.eye(2 * n, len(zero))  # the first two blocks
        back = np.linalg.inv(np.concatenate((start, U.reshape(K * n, -1))))
        self.given, self.active = given, active
        self.of_start, self.of_likely = np.split(slopes @ back, [2 * n], axis=1)
        self.y = -data + self.of_likely @ value.ravel()  # less that of none
        self.counts = [int(np.isfinite(x).sum()) for x in given.angles.values()]

    def likely(self, scale: np.ndarray) -> np.ndarray:
        """Covariance (K n, K n) of torques, or of active accelerations and of no torques."""
        given = self.given
        n, K, m = given.model.n, given.K, len(scale)
        D = np.eye(K)
        change = np.eye(K) - np.eye(K, k=-1)
        for k in range(given.order):
            D = np.block([[np.eye(k), np.zeros((k, K - k))],
                          [np.zeros((K - k, k)), change[: K - k, : K - k]]]) @ D  # fmt: skip
        sd = np.array([*given.starts, *([scale] * (K - given.order))])  # (K, m)
        of_links = np.zeros((n, m))
        of_links[self.active] = np.linalg.inv(given.combination[:, self.active])
        half = np.kron(np.linalg.inv(D), of_links) * sd.ravel()
        return half @ half.T

    def __call__(self, noise: np.ndarray, scale: np.ndarray) -> float:
        P, F = self.likely(scale), self.of_start
        S = self.of_likely @ P @ self.of_likely.T
        S += np.diag(np.repeat(np.asarray(noise) ** 2, self.counts))
        L = np.linalg.cholesky(S)
        f, y = np.linalg.solve(L, F), np.linalg.solve(L, self.y)
        Q, R = np.linalg.qr(f)
        left = y - Q @ (Q.T @ y)
        logs = np.log(np.diagonal(L)).sum() + np.log(np.abs(np.diagonal(R))).sum()
        scaled = S / np.sqrt(np.outer(np.diagonal(S), np.diagonal(S)))
        self.rounding = len(S) * EPS * float(np.linalg.cond(scaled))
        return float(-0.5 * left @ left - logs)


def by_smoother(given: Task, levels: Levels) -> tuple[float, float]:
    """The smoother's value at its minimum, and what of it may be rounding."""
    smoother = smoother_of(given)
    if given.accelerations is not None:
        active = ~np.isin(np.arange(given.model.n), given.unactuated)
        _, U = smoother.driving.slopes(guess_of(given, SEED))
        smoother.volume = inertias(active, U, given.h)[1]
    c, reached = smoother.minimum(guess_of(given, SEED), levels)
    assert reached
    posterior = smoother.posterior(c, levels)
    H, size = posterior.linear.H, smoother.grid.size
    dense = np.zeros((size, size))
    for k in range(H.shape[1]):
        i = np.arange(size - k)
        dense[i + k, i] = dense[i, i + k] = H[: size - k, k]
    dense /= np.sqrt(np.outer(H[:, 0], H[:, 0]))
    return log_evidence(smoother, c, levels, posterior), size * EPS * float(np.linalg.cond(dense))


def drawn(given: Task, seed: int) -> Levels:
    """Levels up to a factor of e from those of the task."""
    rng = np.random.default_rng(seed)
    return Levels(*(x * np.exp(rng.uniform(-1.0, 1.0, len(x))) for x in levels_of(given)))


@pytest.mark.parametrize("free", [(), (1,), (0, 3)], ids=["", "one free", "two free"])
def test_evidence_is_the_probability_of_the_measurements(free: tuple[int, ...]) -> None:
    found, loss = [], []
    for order in (0, 1, 2):
        for of in INDEPENDENT:
            given = linear(order, of, free)
            exact = Marginal(given)
            for seed in range(2):
                levels = drawn(given, seed)
                value, rounding = by_smoother(given, levels)
                found.append(value - exact(*levels))
                loss.append(rounding + exact.rounding)
    assert np.ptp(found) < 1e-3
    assert max(loss) < 0.5
    assert np.all(np.abs(np.array(found) - found[0]) <= np.array(loss) + loss[0])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_iteration_follows_the_slope_of_the_evidence(
    order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise' the level of the next iteration and N - used the numbers left to determine it,
    d log evidence / d log noise = (N - used) (noise'^2 / noise^2 - 1), and so for the scales."""
    monkeypatch.setattr(evidence, "LONGEST", 50.0)
    given = linear(order, "links")
    exact, levels = Marginal(given), drawn(given, 5)
    smoother = smoother_of(given)
    c, _ = smoother.minimum(guess_of(given, SEED), levels)
    posterior = smoother.posterior(c, levels)
    free = [np.ones(len(x), bool) for x in levels]
    thing = smoother.observations.thing
    new, measured = evidence._updated(levels, posterior, thing, *free, wide(levels))
    used = np.bincount(thing, posterior.linear.about.seen.variances(posterior.C))
    counts = smoother.observations.counts - used / levels.noise**2
    found = np.concatenate((counts, measured)) * (
        (np.concatenate(new) / np.concatenate(levels)) ** 2 - 1.0
    )
    wanted = slope(exact, levels)
    # third derivatives of r^2 / level^2 are 8 of it; h^2/6 of them, and rounding over h
    loss = 2 * STEP**2 * (len(exact.y) + np.abs(wanted).max()) + exact.rounding / STEP
    assert np.abs(found - wanted).max() < loss
    # and the counts, by the dense inverse
    oracle = Oracle(replace(given, noise=dict(zip(given.noise, levels.noise, strict=True)),
                            scale=levels.scale))  # fmt: skip
    J, C = oracle.dense(c).J, oracle.covariance(c)
    used = np.einsum("ri,ij,rj->r", J, C, J)
    ends = np.cumsum([0, *exact.counts])
    rows = [np.arange(a, b) for a, b in pairwise(ends)]
    m, many = len(levels.scale), (given.K - order) * len(levels.scale)
    rows += [ends[-1] + np.arange(k, many, m) for k in range(m)]
    exactly = [len(at) - used[at].sum() for at in rows]
    assert np.concatenate((counts, measured)) == pytest.approx(exactly, abs=1e-6)


def slope(exact: Marginal, levels: Levels) -> np.ndarray:
    """Of log p in the logarithms of noise levels and scales, by central differences."""
    logs = np.log(np.concatenate(levels))
    count = len(levels.noise)

    def value(x: np.ndarray) -> float:
        return exact(*np.split(np.exp(x), [count]))

    steps = STEP * np.eye(len(logs))
    return np.array([(value(logs + h) - value(logs - h)) / (2 * STEP) for h in steps])


def wide(levels: Levels) -> tuple[Levels, Levels]:
    """Bounds that hardly matter."""
    return tuple(Levels(x * levels.noise, x * levels.scale) for x in (1e-4, 1e4))


def fitted(smoother: Smoother, c: np.ndarray, levels: Levels, best: float = -np.inf) -> Trial:
    free = [np.ones(len(x), bool) for x in levels]
    return fit_levels(smoother, c, levels, *free, wide(levels), best)


def far_off(given: Task, smoother: Smoother) -> Levels:
    return Levels(3.0 * levels_of(given).noise, smoother.sizes[-1])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_levels_end_where_the_evidence_is_stationary(order: int) -> None:
    """A level that moves by less than SETTLED has a slope below its count times twice that."""
    given = linear(order)
    smoother = smoother_of(given)
    trial = fitted(smoother, guess_of(given, SEED), far_off(given, smoother))
    assert trial.settled
    exact = Marginal(given)
    most = np.concatenate((exact.counts, trial.measured)) * np.expm1(2 * SETTLED)
    assert np.all(np.abs(slope(exact, trial.levels)) < most + exact.rounding / STEP)
    away = slope(exact, far_off(given, smoother))
    assert np.abs(away).max() > 10.0  # where it began
    constant = by_smoother(given, trial.levels)[0] - exact(*trial.levels)
    assert trial.log_evidence == pytest.approx(exact(*trial.levels) + constant, abs=1e-6)


class TwoLink:
    """Torques drawn from the prior of order 1 drive the mechanism; a noisy angle and a marker."""

    def __init__(self, seed: int, K: int = 200, h: float = 0.01) -> None:
        model, rng = trujillo_two_link(), np.random.default_rng(seed)
        self.true = Levels(np.array([0.004, 0.002]), np.array([0.15, 0.06]))
        noise, scale = self.true
        grid, short = Grid(0.0, h, K, 2), Driving(model, Grid(0.0, h, 1, 2), {}, {})
        tau = np.cumsum(scale * rng.standard_normal((K, 2)), axis=0)
        blocks = [np.array([-1.4, 0.3]), np.array([-1.38, 0.31])]
        for wanted in tau:  # each interval's torque gives the next block
            three = np.concatenate((*blocks[-2:], 2 * blocks[-1] - blocks[-2]))
            for _ in range(4):
                found, U = short.slopes(three)
                three[4:] += np.linalg.solve(U[0][:, 4:], wanted - found[0])
            blocks.append(three[4:].copy())
        self.c = np.concatenate(blocks)
        driving = Driving(model, grid, {}, {})
        assert np.abs(driving.torques(self.c) - tau).max() < 1e-9
        t = np.sort(rng.uniform(0.0, K * h, 2 * K))
        q = grid.at(self.c, *grid.place(t))
        end = frame_kinematics(model, "end2", q).p + noise[1] * rng.standard_normal((len(t), 3))
        end[:, 2] = np.nan
        first = q[:, 0] + noise[0] * rng.standard_normal(len(t))
        seen = Observations(model, grid, t, [angle("joint1", 0, first), marker("end2", end)])
        usual = np.sqrt(np.mean(tau**2, axis=0))
        self.smoother = Smoother(seen, driving, np.eye(2), 1, usual, np.zeros(0, np.int64))
        began = Levels(5.0 * noise, 0.2 * scale)
        self.trial = fitted(self.smoother, self.c, began)

    @property
    def logs(self) -> np.ndarray:
        return np.log(np.concatenate(self.trial.levels))

    def value(self, logs: np.ndarray) -> float:
        """Log evidence for levels, at the motion that is best for them."""
        levels = Levels(*np.split(np.exp(logs), [2]))
        c, reached = self.smoother.minimum(self.trial.c, levels)
        assert reached
        return log_evidence(self.smoother, c, levels, self.smoother.posterior(c, levels))

    def curvature(self, step: float = 0.05) -> np.ndarray:
        """Second derivatives of the evidence in the logarithms, with the sign turned."""
        ways = step * np.eye(4)
        return np.array([
            [(self.value(self.logs + a - b) + self.value(self.logs - a + b)
              - self.value(self.logs + a + b) - self.value(self.logs - a - b)) / (4 * step**2)
             for a in ways] for b in ways
        ])  # fmt: skip


@cache
def moved(seed: int) -> TwoLink:
    return TwoLink(seed)


def test_noise_and_scales_are_recovered() -> None:
    """Within the sampling error that the curvature of the evidence tells.

    The squares of 24 standard normal numbers have a mean of 1 with a standard deviation of 0.29.
    """
    errors = []
    for seed in range(6):
        case = moved(seed)
        assert case.trial.settled
        sd = np.sqrt(np.diagonal(np.linalg.inv(case.curvature())))
        assert np.all(sd < [0.06, 0.04, 0.3, 0.3])
        errors.append((case.logs - np.log(np.concatenate(case.true))) / sd)
    assert np.abs(errors).max() < 4.0
    assert 0.3 < np.mean(np.square(errors)) < 2.2


def test_levels_of_a_rotating_mechanism_are_nearly_stationary() -> None:
    """The iteration takes the problem as linear about its motion."""
    case, step = moved(0), 0.02
    trial = case.trial
    slopes = [(case.value(case.logs + a) - case.value(case.logs - a)) / (2 * step)
              for a in step * np.eye(4)]  # fmt: skip
    counts = np.concatenate((case.smoother.observations.counts, trial.measured))
    assert np.all(np.abs(slopes) < counts * np.expm1(2 * SETTLED))
    # so that the levels are those of the largest evidence but for little of their sampling error
    away = np.linalg.solve(case.curvature(), slopes)
    assert np.all(np.abs(away) < 0.05 * np.sqrt(np.diagonal(np.linalg.inv(case.curvature()))))
    assert case.value(case.logs) == pytest.approx(trial.log_evidence, abs=1e-3)


def test_trials_that_fall_behind_end_early_and_never_win() -> None:
    def run(order: int, best: float = -np.inf) -> Trial:
        smoother = smoother_of(linear(order))
        return fitted(
            smoother, guess_of(linear(order), SEED), far_off(linear(order), smoother), best
        )

    full = {order: run(order) for order in (0, 1, 2)}
    best = max(full, key=lambda order: full[order].log_evidence)
    top = full[best].log_evidence
    for order, whole in full.items():
        trial = run(order, top)
        assert trial.log_evidence <= top
        if whole.log_evidence > top - evidence.MARGIN:
            assert trial.settled == whole.settled
            assert trial.log_evidence == whole.log_evidence
        hopeless = run(order, top + 1e6)
        assert hopeless.iterations <= 4
    assert run(0, top).iterations < full[0].iterations


def test_given_levels_are_kept() -> None:
    given = linear()
    smoother = smoother_of(given)
    levels = far_off(given, smoother)
    c, every = guess_of(given, SEED), np.ones(4, bool)
    free_noise, free_scale = np.array([1, 0, 1, 0], bool), np.array([0, 1, 1, 1], bool)
    trial = fit_levels(smoother, c, levels, free_noise, free_scale, wide(levels))
    assert np.array_equal(trial.levels.noise == levels.noise, ~free_noise)
    assert np.array_equal(trial.levels.scale == levels.scale, ~free_scale)
    tight = tuple(Levels(x * levels.noise, x * levels.scale) for x in (0.9, 1.1))
    trial = fit_levels(smoother, c, levels, every, every, tight)
    for value, least, most in zip(trial.levels, *tight, strict=True):
        assert np.all((value >= least) & (value <= most))


def test_ctrl_c_keeps_the_current_levels() -> None:
    given = linear()
    smoother = smoother_of(given)
    levels = far_off(given, smoother)
    calls = []

    def report(value: float, step: float) -> None:
        calls.append(value)
        if len(calls) == 3:
            raise KeyboardInterrupt

    free = [np.ones(len(x), bool) for x in levels]
    trial = fit_levels(smoother, guess_of(given, SEED), levels, *free, wide(levels), report=report)
    assert trial.interrupted
    assert not trial.settled
    assert trial.iterations == 3
    assert trial.log_evidence > calls[0]
    assert not np.array_equal(trial.levels.noise, levels.noise)

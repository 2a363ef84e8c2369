"""Noise levels and scales of torque from the data themselves, where the evidence is largest.

The evidence is the probability of the measurements for given levels, integrated over all motions;
here about the best one, where the problem is nearly linear (Laplace's approximation). Its logarithm
is, up to a constant that all orders share,

    - objective - sum log noise - sum log scale - 1/2 log det H.

Where it is stationary, noise^2 = sum r^2 / (number - sum var(fitted) / noise^2) and likewise for
the scales (MacKay 1992): the fixed point that is iterated here, along with the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predyn.estimate import band
from predyn.estimate.noise_pooling import Pool
from predyn.estimate.result import JOINTS
from predyn.estimate.smoother import Levels, Posterior, Smoother
from predyn.estimate.spline_grid import Floats, Ints
from predyn.storage.interrupts import held_back

MOST = 60
SETTLED, NEARLY = 2e-3, 0.03  # change of the logarithm of a level, from one iteration to the next
NOTHING = 0.05  # numbers that the data determine about a torque
HARDLY, CHEAP, BISECTIONS = 3.0, 2.0, 6  # numbers measured; log evidence: see `relaxed`
LONGEST = 2.0  # largest change of a logarithm in one iteration
HOPELESS, MARGIN = (
    3.0,
    3.0,
)  # a trial ends early if its gain, so often over, leaves it so far behind


@dataclass
class Trial:
    """Levels and motion of one smoother, and its evidence."""

    smoother: Smoother
    c: Floats
    levels: Levels
    log_evidence: float
    measured: Floats  # (m,) how many numbers about each torque the data determine
    iterations: int
    settled: bool
    interrupted: bool = False
    of: str = JOINTS  # which torques change independently


def log_evidence(smoother: Smoother, c: Floats, levels: Levels, posterior: Posterior) -> float:
    """Of the step's end, were the problem as it is about the motion c."""
    counts = smoother.observations.counts
    rows = len(posterior.linear.about.changes.rows.value)
    total = posterior.gain - smoother.objective(c, levels, posterior.multipliers)
    total -= float(np.log(posterior.L[:, 0]).sum())
    total -= float(counts @ np.log(levels.noise)) + float(np.log(levels.of_changes(rows)).sum())
    total -= sum(float(np.log(size).sum()) for size in smoother.sizes[:-1])
    return total + smoother.volume + smoother.observations.log_volume


def fit_levels(
    smoother: Smoother,
    c: Floats,
    levels: Levels,
    free_noise: NDArray[np.bool_],
    free_scale: NDArray[np.bool_],
    bounds: tuple[Levels, Levels],
    best: float = -np.inf,
    report: Callable[[float, float], None] | None = None,
    enough: float = SETTLED,
    first: int = 4,
    pool: Pool | None = None,
) -> Trial:
    """The levels that make the evidence largest, and the motion that goes with them.

    free_noise, free_scale say which to estimate. A trial that falls behind `best` ends early;
    evidence is flat at its top, so that levels that are nearly settled do to compare it. `first`
    says how many steps bring the motion near its minimum before the levels are looked at; `pool`
    holds noise levels together.
    """
    settled, interrupted, iteration, value = False, False, 0, -np.inf
    measured, thing = np.zeros(len(free_scale)), smoother.observations.thing
    try:
        c, _ = smoother.minimum(c, levels, most=first)
        known = -np.inf
        for iteration in range(1, MOST + 1):
            with held_back():  # compilers do not like to be interrupted
                posterior = smoother.posterior(c, levels)
                if posterior.damping:  # neither covariances nor determinant mean anything
                    value = -np.inf
                    break
                value = log_evidence(smoother, c, levels, posterior)
                value += pool.log_prior(levels.noise) if pool is not None else 0.0
                if report is not None:
                    report(value, float(np.abs(posterior.step).max()))
                new, measured = _updated(
                    levels, posterior, thing, free_noise, free_scale, bounds, pool
                )
                c, _ = smoother.moved(c, levels, posterior)
                matters = measured > NOTHING  # scales that no datum asks about may wander
                ratios = (new.noise / levels.noise, (new.scale / levels.scale)[matters])
                if np.abs(np.log(np.concatenate(ratios))).max() < enough:
                    settled = True
                    break
                if iteration > 1 and value + HOPELESS * max(value - known, 0.0) < best - MARGIN:
                    break
                known, levels = value, new
    except KeyboardInterrupt:
        interrupted = True
    return Trial(smoother, c, levels, value, measured, iteration, settled, interrupted)


def relaxed(trial: Trial, free_scale: NDArray[np.bool_], most: Floats) -> Levels:
    """Levels with larger scales where the data hardly ask for one and allow a larger one as well.

    Where evidence is flat, its top may be a torque that cannot change at all, with a band of no
    width. The largest scale that costs little evidence is the cautious choice.
    """
    smoother, c = trial.smoother, trial.c
    levels = Levels(trial.levels.noise, trial.levels.scale.copy())

    def value(scale: Floats) -> float:
        tried = Levels(levels.noise, scale)
        posterior = smoother.posterior(c, tried, covariances=False)
        return log_evidence(smoother, c, tried, posterior)

    for j in np.flatnonzero(free_scale & (trial.measured < HARDLY)):
        least = value(levels.scale) - CHEAP
        low, high = levels.scale[j], max(most[j], levels.scale[j])
        scale = levels.scale.copy()
        scale[j] = high
        if value(scale) >= least:
            low = high
        for _ in range(BISECTIONS if low < high else 0):
            scale[j] = np.sqrt(low * high)
            if value(scale) >= least:
                low = scale[j]
            else:
                high = scale[j]
        levels.scale[j] = low
    return levels


def _updated(
    levels: Levels,
    posterior: Posterior,
    thing: Ints,
    free_noise: NDArray[np.bool_],
    free_scale: NDArray[np.bool_],
    bounds: tuple[Levels, Levels],
    pool: Pool | None = None,
) -> tuple[Levels, Floats]:
    """Levels of the next iteration, from residuals as the step will leave them."""
    noise = updated_noise(levels.noise, posterior, thing, free_noise, bounds, pool)
    rows, m = posterior.linear.about.changes.rows, len(levels.scale)
    change = (rows.value + band.product(rows.first, rows.J, posterior.step)).reshape(-1, m)
    spread = band.variances(rows.first, rows.J, posterior.C).reshape(-1, m)
    measured = len(change) - spread.sum(axis=0) / levels.scale**2
    estimated = np.sqrt((change**2).sum(axis=0) / np.maximum(measured, 1e-3))
    scale = _limited(estimated, levels.scale, free_scale, bounds[0].scale, bounds[1].scale)
    return Levels(noise, scale), measured


def updated_noise(
    noise: Floats,
    posterior: Posterior,
    thing: Ints,
    free: NDArray[np.bool_],
    bounds: tuple[Levels, Levels],
    pool: Pool | None = None,
) -> Floats:
    """Noise levels of the next iteration; `thing` says which of them each row has."""
    if not free.any():
        return noise
    seen, count = posterior.linear.about.seen, len(noise)
    squares = np.bincount(thing, seen.after(posterior.step) ** 2, count).astype(np.float64)
    used = np.bincount(thing, seen.variances(posterior.C), count) / noise**2
    counts = np.bincount(thing, minlength=count)
    left = np.maximum(counts - used, 1e-3 * counts)
    estimated = np.sqrt(squares / left) if pool is None else pool.estimated(squares, left, noise)
    return _limited(estimated, noise, free, bounds[0].noise, bounds[1].noise)


def _limited(
    estimated: Floats, before: Floats, free: NDArray[np.bool_], least: Floats, most: Floats
) -> Floats:
    """Estimated levels, not too far from those before; fixed levels stay as they are."""
    reach = np.exp(LONGEST)
    near = np.clip(np.clip(estimated, before / reach, before * reach), least, most)
    return np.where(free, near, before)

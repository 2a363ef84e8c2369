"""Torques that switch: few changes, of any size. The sum of |change| / mean change is minimised.

That is the likelihood of changes with a two-sided exponential distribution. Weight and noise come
from its variational approximation: each change gets a normal distribution of its own, of variance
mean sqrt(E change^2), as often iterated as the levels of evidence.py; with them the sum itself is
minimised, by Newton's method for corners that get sharper.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.estimate import band
from predyn.estimate.evidence import Trial, updated_noise
from predyn.estimate.noise_pooling import Pool
from predyn.estimate.smoother import Levels, Posterior, Smoother, lowered
from predyn.estimate.spline_grid import Floats
from predyn.storage.interrupts import held_back

MOST = 60
SETTLED = 2e-3
ROUNDED = 1e-3  # changes that count as corners of |change|, over the mean change
MOST_SHARPENINGS, GAIN = 200, 1e-8


class Switching(NamedTuple):
    """The minimum, and the normal approximation that its weight and bands come from."""

    c: Floats
    levels: Levels  # with the scale of each change by itself
    mean: Floats  # (m,) mean |change|
    posterior: Posterior
    reached: bool
    iterations: int


def switching(
    trial: Trial,
    free_noise: NDArray[np.bool_],
    free_scale: NDArray[np.bool_],
    bounds: tuple[Levels, Levels],
    report: Callable[[float, float], None] | None = None,
    pool: Pool | None = None,
) -> Switching:
    """From the best smooth torques of order 1 to those of least total variation."""
    smoother, c, levels = trial.smoother, trial.c, trial.levels
    m = len(levels.scale)
    mean = levels.scale.copy()
    rows = (smoother.grid.K - 1) * m
    levels = Levels(levels.noise, levels.of_changes(rows))
    settled, iteration, thing = False, 0, smoother.observations.thing
    with held_back():
        posterior = smoother.posterior(c, levels)
    for iteration in range(1, MOST + 1):  # noqa: B007
        with held_back():
            about = posterior.linear.about.changes.rows
            change = about.value + band.product(about.first, about.J, posterior.step)
            size = np.sqrt(change**2 + band.variances(about.first, about.J, posterior.C))
            new_mean = np.where(free_scale, size.reshape(-1, m).mean(axis=0), mean)
            noise = updated_noise(levels.noise, posterior, thing, free_noise, bounds, pool)
            moved = np.abs(np.log(np.concatenate((new_mean / mean, noise / levels.noise)))).max()
            if report is not None:
                report(float(np.abs(change).sum()), float(np.abs(posterior.step).max()))
            c, _ = smoother.moved(c, levels, posterior)
            mean = np.clip(new_mean, bounds[0].scale, bounds[1].scale)
            levels = Levels(noise, np.sqrt(size * np.tile(mean, len(size) // m)))
            posterior = smoother.posterior(c, levels)
            if moved < SETTLED:
                settled = True
                break
    c, sharp, count = _sharpened(smoother, c, levels, mean)
    return Switching(c, levels, mean, posterior, settled and sharp, iteration + count)


def _sharpened(
    smoother: Smoother, c: Floats, levels: Levels, mean: Floats
) -> tuple[Floats, bool, int]:
    """The minimum of the sum with s = sqrt(change^2 + corner^2) for |change|.

    Newton's method for motion and slopes y = change / s together (Chan, Golub, Mulet 1999): the
    equation s y = change is linearised, which holds further than that of change / s.
    """
    spread = np.tile(mean, smoother.grid.K - 1)
    corner = 1.0
    y: Floats | None = None
    for count in range(1, MOST_SHARPENINGS + 1):
        with held_back():
            edge = corner * spread
            linear = smoother.linearised(c, levels)
            rows = linear.about.changes.rows
            s = np.hypot(rows.value, edge)
            slope = rows.value / s
            dual = slope if y is None else y
            curvature = np.maximum(1.0 - dual * slope, 1e-9) / s
            linear = smoother.linearised(c, Levels(levels.noise, np.sqrt(spread / curvature)))
            band.add_transposed(
                rows.first, rows.J, (slope - curvature * rows.value) / spread, linear.g
            )
            solution, _ = linear.damped()
            downhill = linear.slope(solution)

            def cost(change: Floats, edge: Floats = edge) -> float:
                return float((np.hypot(change, edge) / spread).sum())

            objective = partial(
                smoother.objective, levels=levels, multipliers=solution.multipliers, cost=cost
            )
            c, length = lowered(objective, c, solution.step, downhill)
            free = smoother.free_torque(c)
            y = np.clip(
                slope + curvature * band.product(rows.first, rows.J, solution.step), -1.0, 1.0
            )
            if corner <= ROUNDED and -downhill < GAIN and free < 1e-6:
                return c, True, count
            if length == 0.0 and corner <= ROUNDED:
                return c, False, count
            if -downhill < 0.1 * smoother.grid.K * corner or length == 0.0:
                corner = max(0.3 * corner, ROUNDED)
    return c, False, MOST_SHARPENINGS

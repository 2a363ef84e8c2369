"""Trials of stationary priors: accelerations of links with all their correlations, or torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.estimate.covariance_search import CovarianceSearch
from predyn.estimate.evidence import Trial
from predyn.estimate.noise_models import JointNoise, TimeNoise, WhiteNoise, residual_moments
from predyn.estimate.options import usual_size
from predyn.estimate.regularisation import combination, inertias
from predyn.estimate.result import ACCELERATIONS, LINKS, NONE
from predyn.estimate.serial_noise import WIDEST, neighbours
from predyn.estimate.stationary_prior import StationarySmoother
from predyn.estimate.trials import NEARLY_AS_GOOD, Search

HIGHEST = 3
CORNER, CORRELATIONS = 3.0, 2.0  # log evidence charged for a corner, and at least for a covariance
WORTH_IT, PER_PAIR = 30.0, 5.0  # a kind is tried if differences of it are at most so far behind,
# and this much for each correlation that it may have
SHORTEST, LONGEST = 2e-4, 0.1  # s; other intervals leave no room for a corner frequency
FEWEST = 6  # intervals per joint; with fewer, a covariance fits what is chance
FEWEST_JOINTS = 3  # one or two joints gain less than a tenth, for several times the work
LASTING, SOFT = 0.2, 0.05  # correlation of neighbouring residuals; m that skin may move
MOST_WORK = 4e6  # intervals times joints^3
ITERATIONS, ALL_WORK = (30, 80), 6e7  # least and most; the same times iterations


def process_trials(
    search: Search, orders: Sequence[int], done: list[Trial], requested: Sequence[str]
) -> list[Trial]:
    """The trials of differences that are done, and those of stationary priors.

    Only the kinds that explain the data best as differences are tried, unless they are requested;
    then they replace the others.
    """
    best = max(done, key=lambda trial: trial.log_evidence)
    if any(trial.interrupted for trial in done) or not np.isfinite(best.log_evidence) or not orders:
        return done
    if requested:
        found = [trial for of in requested for trial in downward(search, of, orders, best, True)]
        return found or done
    m, grid = int(search.active.sum()), search.driving.grid
    if m < FEWEST_JOINTS or grid.K * m**3 > MOST_WORK or FEWEST * m >= grid.K:
        return done
    if not SHORTEST < grid.h < LONGEST:
        return done
    motion = [trial for trial in done if trial.of == ACCELERATIONS]
    torques = [trial for trial in done if trial.of != ACCELERATIONS]
    out = list(done)
    for of, alike, more in ((NONE, motion, PER_PAIR * _pairs(m)), (LINKS, torques, 0.0)):
        near = max((trial.log_evidence for trial in alike), default=-np.inf)
        top = max(trial.log_evidence for trial in out)
        if near > top - WORTH_IT - more:
            out += downward(search, of, orders, best)
    return out


def downward(
    search: Search, of: str, orders: Sequence[int], best: Trial, requested: bool = False
) -> list[Trial]:
    """Orders from the highest down until one is clearly worse.

    If the noise of joints turns out to be correlated, it is taken so from then on.
    """
    trials = list[Trial]()
    goal = -np.inf if requested else best.log_evidence
    noise, higher = WhiteNoise(search.observations), None
    for order in sorted(orders, reverse=True):
        trial, found = _tried(search, order, of, best, higher, goal, noise)
        trials.append(trial)
        for model in _noise_models(search, of, found) if higher is None else ():
            more, also = _tried(search, order, of, best, found, goal, model)
            trials.append(more)
            if more.interrupted or more.log_evidence <= trial.log_evidence:
                break
            trial, found, noise = more, also, model
        if trials[-1].interrupted or trial.log_evidence < goal - NEARLY_AS_GOOD:
            break
        higher, goal = found, max(goal, trial.log_evidence)
    return trials


def _tried(
    search: Search,
    order: int,
    of: str,
    best: Trial,
    higher: CovarianceSearch | None,
    goal: float,
    noise: WhiteNoise,
) -> tuple[Trial, CovarianceSearch]:
    """One order with one model of the noise."""
    full = of == NONE
    text = f"log evidence, order {order} with a corner, {of}"
    found = CovarianceSearch(
        stationary_smoother(search, order, full),
        search.free_noise,
        search.noise_bounds,
        full,
        search.pool,
        noise,
        search.reporter(text + ", correlated noise" * (type(noise) is not WhiteNoise)),
    )
    charge = CORNER + (max(CORRELATIONS, _pairs(int(search.active.sum()))) if full else 0.0)
    if isinstance(noise, JointNoise):
        charge += _pairs(len(search.noise))
    elif isinstance(noise, TimeNoise):
        charge += CORNER
    worth = goal + charge - NEARLY_AS_GOOD
    trial = found.run(best.levels.noise, best.c, higher, worth, _iterations(search))
    trial.of = of
    trial.log_evidence -= charge
    return trial, found


def _pairs(count: int) -> float:
    return 0.5 * count * (count - 1)


def _noise_models(search: Search, of: str, found: CovarianceSearch) -> list[WhiteNoise]:
    """Correlations of the noise to try, one after the other while they help."""
    o, point = search.observations, found.best
    if point is None or not search.free_noise.all():
        return []
    if o.complete and of == NONE:
        S = residual_moments(o, point.c, point.posterior)
        size = np.sqrt(np.diagonal(S))
        _, logs = np.linalg.slogdet(S / np.outer(size, size))
        worth = -0.5 * len(o.t) * logs > _pairs(len(S))  # more than it is charged
        return [JointNoise(o)] if worth else []
    chains = neighbours(o, 2)
    if not len(o.of_points) or chains.blocks > WIDEST or np.median(point.noise) > SOFT:
        return []
    left = o.bare_rows(point.c).after(point.posterior.step) / point.noise[o.thing]
    at = np.flatnonzero(chains.depth > 0)
    lasts = left[at] @ left[chains.before[1, at]] > LASTING * (left[at] @ left[at])
    return [TimeNoise(o, 1), TimeNoise(o, 2)] if lasts else []


def _iterations(search: Search) -> int:
    """Fewer for large models, where one takes longer and all matter less."""
    work = search.driving.grid.K * int(search.active.sum()) ** 3
    return int(np.clip(ALL_WORK / work, *ITERATIONS))


def stationary_smoother(search: Search, order: int, of_motion: bool) -> StationarySmoother:
    """Accelerations of links, or torques on them, as a process with a corner frequency.

    The acceleration of a link is that of its joint plus those of the joints that carry it about
    parallel axes: the matrix is the inverse transpose of that of torques.
    """
    grid, active = search.driving.grid, search.active
    tau, U = search.torques_about
    links = combination(search.driving.model, active, LINKS)
    base, values, volume, units = links, tau, 0.0, np.ones(len(links))
    if of_motion:
        base = np.zeros_like(links)
        base[:, active] = np.linalg.inv(links[:, active]).T
        D, _, volume = inertias(active, U, grid.h)
        values, units = grid.middle(search.about)[2], D[:, active].diagonal()
    sizes = usual_size(values @ base.T)
    volume -= grid.K * float(np.log(sizes).sum())
    return StationarySmoother(
        search.observations,
        search.driving,
        base / sizes[:, None],
        order,
        search.sizes[0],
        search.unactuated,
        of_motion,
        volume,
        sizes * units,
        search.small,
    )

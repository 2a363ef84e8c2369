"""Orders of regularisation and kinds of independence, each tried with its best levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.driving import Driving
from predyn.estimate.evidence import NEARLY, SETTLED, Trial, fit_levels
from predyn.estimate.matching import Matched
from predyn.estimate.noise_pooling import Pool, pool_of
from predyn.estimate.observations import Marker, Observations
from predyn.estimate.options import usual_size
from predyn.estimate.progress import Report
from predyn.estimate.regularisation import combination, inertias
from predyn.estimate.result import ACCELERATIONS, BAND, JOINTS, LINKS, Filtered, prior_words
from predyn.estimate.root_residual import Base
from predyn.estimate.smoother import Levels, Small, Smoother
from predyn.estimate.spline_grid import Floats, Ints

LEAST_SCALE, MOST_SCALE = 1e-5, 1e4  # over the usual size of a change
OUTGROWN = 3.0  # torques over their usual size that show it to be wrong
ALIKE, BEYOND = 3.0, 0.2  # log evidence of a rival; share of its torques outside the bands
NEARLY_AS_GOOD = 6.0  # log evidence by which a lower order may be behind
CONDITION = 1e15  # of the normal equations, about; the smallest scales are those that make it so


@dataclass
class Search:
    """What all trials of order and kind share."""

    matched: Matched
    observations: Observations
    driving: Driving
    by_filter: Filtered
    unactuated: Ints
    noise: Floats
    free_noise: NDArray[np.bool_]
    noise_bounds: tuple[Floats, Floats]
    weight: Floats | None
    report: Report | None
    base: Base | None = None
    iterations: int = 0

    def __post_init__(self) -> None:
        """Sizes (n,) that torques and accelerations usually have: those of the filter at first."""
        self.sizes = usual_size(self.by_filter.tau), usual_size(self.by_filter.a)

    @property
    def active(self) -> NDArray[np.bool_]:
        return ~np.isin(np.arange(self.driving.model.n), self.unactuated)

    @cached_property
    def pool(self) -> Pool:
        """Markers whose noise is estimated."""
        on_marker = np.array([isinstance(x, Marker) for x in self.observations.observed])
        return pool_of(self.observations.counts, on_marker & self.free_noise)

    @property
    def small(self) -> Small | None:
        """Torques of a floating base, if they are taken as small."""
        if self.base is None or not 0.0 < self.base.assumed < np.inf:
            return None
        return Small(self.base.joints, self.base.sigma(self.driving.model))

    @property
    def passive(self) -> Ints:
        """Joints without a motor: those with exactly no torque, and the base."""
        small = self.small
        return self.unactuated if small is None else np.union1d(self.unactuated, small.joints)

    @property
    def free_scale(self) -> NDArray[np.bool_]:
        if self.weight is None:
            return np.ones(int(self.active.sum()), np.bool_)
        return np.isnan(self.weight[self.active])

    @cached_property
    def about(self) -> Floats:
        """A motion near the one sought."""
        return self.driving.grid.through(self.by_filter.q)

    @cached_property
    def torques_about(self) -> tuple[Floats, Floats]:
        return self.driving.slopes(self.about)

    def bounds(self, smoother: Smoother) -> tuple[Levels, Levels]:
        """Levels within which to search: scales not so small that rounding errors take over."""
        if smoother.corner:  # the scales of a process are in its covariance
            none, (low, high) = np.zeros(len(smoother.sizes[-1])), self.noise_bounds
            return Levels(low, none), Levels(high, none + np.inf)
        size, (least, most) = smoother.sizes[-1], self.noise_bounds
        noise = self.noise[self.observations.thing]
        known = self.observations.bare_rows(self.about).information(noise)
        weakest = known[known > 0.0].min(initial=np.inf) / (smoother.grid.K + 2)
        J = smoother.changes_about(self.about, *self.torques_about).rows.J
        stiffest = (J**2).sum(axis=1).reshape(-1, len(size)).max(axis=0)
        smallest = np.maximum(np.sqrt(stiffest / (CONDITION * weakest)), LEAST_SCALE * size)
        return Levels(least, smallest), Levels(most, np.maximum(MOST_SCALE * size, smallest))

    def reporter(self, text: str) -> Callable[[float, float], None]:
        def report(value: float, step: float) -> None:
            self.iterations += 1
            if self.report is not None:
                self.report(self.iterations, value, step, text)

        return report

    def smoother(self, order: int, of: str) -> Smoother:
        model, active = self.driving.model, self.active
        if of == ACCELERATIONS:
            _, U = self.torques_about
            A, volume, _ = inertias(active, U, self.driving.grid.h)
            sizes = self.sizes[1]
        else:
            A, volume, sizes = combination(model, active, of), 0.0, None
        return Smoother(
            self.observations,
            self.driving,
            A,
            order,
            self.sizes[0],
            self.unactuated,
            sizes,
            volume,
            self.small,
        )

    def trial(self, order: int, of: str, c: Floats, best: float) -> Trial:
        smoother = self.smoother(order, of)
        scale = smoother.sizes[-1]
        if self.weight is not None:
            given = self.weight[self.active]
            scale = np.where(np.isnan(given), scale, given)
        return self.fitted(smoother, of, c, Levels(self.noise, scale), best, NEARLY)

    def fitted(
        self, smoother: Smoother, of: str, c: Floats, levels: Levels, best: float, enough: float
    ) -> Trial:
        trial = fit_levels(
            smoother,
            c,
            levels,
            self.free_noise,
            self.free_scale,
            self.bounds(smoother),
            best,
            self.reporter(f"log evidence, order {smoother.order}, {of}"),
            enough,
            4 if not self.iterations else 1,
            self.pool,
        )
        trial.of = of
        return trial

    def trials(self, orders: Sequence[int], kinds: Sequence[str], c: Floats) -> list[Trial]:
        """Trials with sizes that torques really have: a filter may have left next to nothing of
        them, and the first torque is held to its size.
        """
        done = self._trials(orders, kinds, c)
        best = max(done, key=lambda trial: trial.log_evidence)
        interrupted = any(trial.interrupted for trial in done)
        if self.weight is not None or interrupted or not np.isfinite(best.log_evidence):
            return done
        tau, a = self.driving.torques(best.c), self.driving.grid.middle(best.c)[2]
        sizes = usual_size(tau), usual_size(a)
        if not (sizes[0] > OUTGROWN * self.sizes[0])[self.active].any():
            return done
        self.sizes = np.maximum(self.sizes[0], sizes[0]), np.maximum(self.sizes[1], sizes[1])
        return self._trials(orders, kinds, best.c)

    def chosen(self, trials: Sequence[Trial]) -> Trial:
        """The trial of the largest evidence; of a process, the lowest order that is nearly as good.

        The bands of a high order are too narrow where torques jump, and evidence hardly notices.
        """
        best = max(trials, key=lambda trial: trial.log_evidence)
        if not best.smoother.corner:
            return best
        alike = [
            trial
            for trial in trials
            if trial.smoother.corner
            and trial.of == best.of
            and trial.log_evidence > best.log_evidence - NEARLY_AS_GOOD
        ]
        return min(alike, key=lambda trial: (trial.smoother.order, -trial.log_evidence))

    def _trials(self, orders: Sequence[int], kinds: Sequence[str], c: Floats) -> list[Trial]:
        """Orders and kinds, each with nearly its best levels, the best one with its very best.

        If there are several orders, 0 is tried with the best kind only. Ctrl-C leaves the rest.
        """
        model, done = self.driving.model, list[Trial]()
        if LINKS in kinds and JOINTS in kinds:
            joints, links = (combination(model, self.active, of) for of in (JOINTS, LINKS))
            kinds = [of for of in kinds if of != LINKS or not np.array_equal(joints, links)]
        best: Trial | None = None
        waiting = [(order, of) for of in kinds for order in orders if order or len(orders) == 1]
        while waiting:
            order, of = waiting.pop(0)
            value = -np.inf if best is None else best.log_evidence
            trial = self.trial(order, of, c, value)
            done.append(trial)
            c = trial.c
            if trial.log_evidence >= value:
                best = trial
            if trial.interrupted:
                break
            if not waiting and order and 0 in orders and best is not None:
                waiting.append((0, best.of))
        if best is not None and not done[-1].interrupted:
            smoother, of = best.smoother, best.of
            rank = next(k for k, trial in enumerate(done) if trial is best)
            done[rank] = self.fitted(smoother, of, best.c, best.levels, -np.inf, SETTLED)
        return done

    def warn_of_rivals(
        self, trials: list[Trial], best: Trial, tau: Floats, tau_sd: Floats
    ) -> list[str]:
        """Other assumptions that explain the data as well, with torques outside the bands."""
        messages = []
        for trial in trials:
            if trial is best or not trial.log_evidence > best.log_evidence - ALIKE:
                continue
            away = np.abs(self.driving.torques(trial.c) - tau)[:, self.active]
            share = float((away > BAND * tau_sd[:, self.active]).mean())
            if share > BEYOND:
                other, own = (
                    prior_words(x.smoother.order, x.of, x.smoother.corner) for x in (trial, best)
                )
                messages.append(
                    f"{other} (order {trial.smoother.order}) explain the data as well as {own} "
                    f"(order {best.smoother.order}), with {share:.0%} of their torques outside the "
                    "bands: the bands are too narrow; choose with order and independent, or "
                    "measure more"
                )
        on_floor = [
            str(trial.smoother.order)
            for trial in trials
            if trial.smoother.order > best.smoother.order
            and (trial.levels.scale <= 1.01 * self.bounds(trial.smoother)[0].scale).any()
        ]
        if on_floor:
            h = self.driving.grid.h
            messages.append(
                f"order {max(on_floor)} could not be judged well: its torques are smoother than "
                f"rounding errors allow at a step of {h:.3g} s; try a step of {4 * h:.3g} s"
            )
        return messages

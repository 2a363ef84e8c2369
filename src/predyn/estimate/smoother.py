"""The motion that best explains measurements by likely torques: Gauss-Newton over all of it.

For given levels it minimises

    1/2 sum (fitted - measured)^2 / noise^2  +  1/2 sum change^2 / scale^2

over the coefficients of the motion, where changes are those of the torques (regularisation.py), and
the torques of unactuated joints are zero (method of multipliers). Each iteration takes one forward
and one backward pass in time (band.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from predyn.errors import InputError
from predyn.estimate import band
from predyn.estimate.driving import Driving
from predyn.estimate.observations import Observations, Seen
from predyn.estimate.regularisation import Changes, changes
from predyn.estimate.spline_grid import TOUCHED, Floats, Ints
from predyn.interrupts import held_back

SOFT, STIFFNESS = 0.1, 1e-3  # sd of an unactuated joint's torque over its usual size
FREE = 1e-9  # the largest such torque, over the usual size, that is none
DECREMENT = 1e-16  # gain per unknown, in units of log likelihood, that is not worth a step
ROUNDING = ((1e-13, 1), (1e-8, 4))  # the same, that is rounding if it fell no more so many times
HALVINGS = 25
FREQUENCY = 3.0  # Hz at which torques may usually vary
DAMPINGS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # shares of the diagonal, until it factors


SINGULAR = (
    "the measurements do not determine the motion: the normal equations are singular; measure more "
    "joints or markers, or leave weights and noise levels to be estimated"
)


class Levels(NamedTuple):
    """Standard deviations: of the noise of each observed thing, and of the changes of torque."""

    noise: Floats  # (observed,)
    scale: Floats  # (m,) by joint, or (rows,) each its own

    def of_changes(self, count: int) -> Floats:
        """One number per row."""
        if len(self.scale) == count:
            return self.scale
        return (np.ones((count // len(self.scale), 1)) * self.scale).ravel()


class About(NamedTuple):
    """Rows about one motion, whatever their weights."""

    seen: Seen
    changes: Changes
    tau: Floats  # (K, n)
    U: Floats  # (K, n, 3 n) its slopes


class Linear(NamedTuple):
    """The problem about one motion: normal equations, and the rows that they are made of."""

    H: Floats
    g: Floats
    seen: Seen
    changes: Changes
    tau: Floats
    U: Floats


class Posterior(NamedTuple):
    """The linearised problem, factored: what is known after the measurements."""

    linear: Linear
    L: Floats
    C: Floats  # covariances in the band
    step: Floats  # to the minimum
    damping: float


class Smoother:
    """A recording, the mechanism, and what is likely of its torques."""

    def __init__(
        self,
        observations: Observations,
        driving: Driving,
        combination: Floats,
        order: int,
        usual: Floats,
        unactuated: Ints,
        accelerations: Floats | None = None,
        volume: float = 0.0,
    ) -> None:
        """A recording, a mechanism and an assumption.

        combination    (m, n) makes what changes independently of the torques; or of the
                       accelerations, if their sizes (n,) are given
        usual          (n,) size of the torques
        unactuated     numbers of the joints without torque
        volume         what the evidence gains by a change from torques to accelerations
        """
        self.observations, self.driving, self.grid = observations, driving, driving.grid
        self.A, self.order, self.unactuated = combination, order, unactuated
        self.of_motion, self.volume = accelerations is not None, volume
        size = np.abs(combination) @ (usual if accelerations is None else accelerations)
        rate = min(1.0, 2.0 * np.pi * FREQUENCY * self.grid.h)
        self.sizes = [size * rate**k for k in range(order + 1)]  # of changes, by order
        self.free_size = usual[unactuated]
        self.hold(STIFFNESS)
        self.multipliers = np.zeros((self.grid.K, len(unactuated)))
        self.evaluations = 0
        self._recent: list[tuple[Floats, About]] = []

    def hold(self, stiffness: float) -> None:
        """How much a torque of an unactuated joint costs, besides its multiplier."""
        self.stiffness = stiffness
        self.held = 1.0 / (stiffness * self.free_size) ** 2

    def about(self, c: Floats) -> About:
        """Rows about a motion; those of the last two motions are remembered."""
        for motion, rows in self._recent:
            if motion is c:
                return rows
        self.evaluations += 1
        tau, U = self.driving.slopes(c)
        found = About(self.observations.rows(c), self.changes_about(c, tau, U), tau, U)
        self._recent = [*self._recent[-1:], (c, found)]
        return found

    def changes_about(self, c: Floats, tau: Floats, U: Floats) -> Changes:
        """What must be small about the motion c, from its torques and their slopes."""
        if self.of_motion:
            return changes(self.grid.middle(c)[2], self.grid.of_acceleration, self.A, self.order)
        return changes(tau, U, self.A, self.order)

    def objective(
        self, c: Floats, levels: Levels, cost: Callable[[Floats], float] | None = None
    ) -> float:
        """What is minimised, with the multipliers as they are; `cost`: of changes, not squares."""
        about = self.about(c)
        left = about.seen.value / levels.noise[self.observations.thing]
        total = 0.5 * float(left @ left)
        change = about.changes.rows.value
        if cost is None:
            scaled = change / levels.of_changes(len(change))
            total += 0.5 * float(scaled @ scaled)
        else:
            total += cost(change)
        for rows, size in zip(about.changes.start, self.sizes, strict=False):
            total += 0.5 * float(np.sum((rows.value / size) ** 2))
        if not len(self.unactuated):
            return total
        free = about.tau[:, self.unactuated]
        return total + float(np.sum(free * (self.multipliers + 0.5 * self.held * free)))

    def linearised(self, c: Floats, levels: Levels) -> Linear:
        """Normal equations about the motion c."""
        about, n = self.about(c), self.grid.n
        H = np.zeros((self.grid.size, (TOUCHED + self.order) * n))
        g = np.zeros(self.grid.size)
        about.seen.add(((1.0 / levels.noise) ** 2)[self.observations.thing], H, g)
        rows = about.changes.rows
        band.add_rows(*rows, (1.0 / levels.of_changes(len(rows.value))) ** 2, H, g)
        for rows, size in zip(about.changes.start, self.sizes, strict=False):
            band.add_rows(*rows, 1.0 / size**2, H, g)
        if len(self.unactuated):
            first = np.repeat(np.arange(self.grid.K) * n, len(self.unactuated))
            J = about.U[:, self.unactuated].reshape(-1, TOUCHED * n)
            free = about.tau[:, self.unactuated] + self.multipliers / self.held
            weight = np.tile(self.held, self.grid.K)
            band.add_rows(first, np.ascontiguousarray(J), free.ravel(), weight, H, g)
        return Linear(H, g, *about)

    def posterior(self, c: Floats, levels: Levels, covariances: bool = True) -> Posterior:
        """The normal equations about c, factored, and the step to their minimum."""
        linear = self.linearised(c, levels)
        for damping in DAMPINGS:
            H = linear.H
            if damping:
                H = H.copy()
                H[:, 0] *= 1.0 + damping
            L = band.factored(H)
            if L is not None and np.isfinite(L[:, 0]).all():
                step = band.solved(L, -linear.g)
                C = band.covariances(L) if covariances else np.empty((0, 0))
                return Posterior(linear, L, C, step, damping)
        raise InputError(SINGULAR)

    def moved(self, c: Floats, levels: Levels, posterior: Posterior) -> tuple[Floats, float]:
        """The next motion: the step, or as much of it as lowers the objective; and its length."""
        slope = float(posterior.linear.g @ posterior.step)
        return lowered(lambda x: self.objective(x, levels), c, posterior.step, slope)

    def minimum(
        self,
        c: Floats,
        levels: Levels,
        most: int = 200,
        report: Callable[[float, float], None] | None = None,
    ) -> tuple[Floats, bool]:
        """The best motion for given levels, and whether it was reached.

        Torques of unactuated joints cost little at first, and more where multipliers do not lower
        them enough: a stiff cost from the start makes a narrow valley.
        """
        self.hold(SOFT if len(self.unactuated) else STIFFNESS)
        try:
            return self._minimum(c, levels, most, report)
        finally:
            self.hold(STIFFNESS)

    def _minimum(
        self, c: Floats, levels: Levels, most: int, report: Callable[[float, float], None] | None
    ) -> tuple[Floats, bool]:
        known, freest, stalls = np.inf, np.inf, 0
        for _ in range(most):
            with held_back():
                posterior = self.posterior(c, levels, covariances=False)
                gain = -0.5 * float(posterior.linear.g @ posterior.step) / self.grid.size
                if report is not None:
                    report(gain, float(np.abs(posterior.step).max()))
                ahead = (
                    gain * gain / known if known < np.inf else gain
                )  # of the step after this one
                stalls = stalls + 1 if gain > 0.9 * known else 0
                small = ahead < DECREMENT or any(gain < x and stalls >= k for x, k in ROUNDING)
                if small and not len(self.unactuated):
                    return c + posterior.step, True
                c, length = self.moved(c, levels, posterior)
                free = self.update_multipliers(c)
                none = max(FREE, self._rounding(c, posterior.linear.U))
                if small and free < none:
                    return c, True
                if length == 0.0:
                    return c, False
                if free > max(0.25 * freest, none) and gain < 1.0:
                    self.hold(max(0.3 * self.stiffness, STIFFNESS))
                known, freest = gain, free
        return c, False

    def _rounding(self, c: Floats, U: Floats) -> float:
        """Torques of unactuated joints, over their usual size, that are rounding errors."""
        if not len(self.unactuated):
            return 0.0
        slopes = np.abs(U[:, self.unactuated]).max(axis=(0, 2)) / self.free_size
        return 64.0 * float(np.finfo(np.float64).eps * np.abs(c).max() * slopes.max())

    def update_multipliers(self, c: Floats) -> float:
        """Multipliers of zero torque, improved; the largest such torque over the usual size."""
        if not len(self.unactuated):
            return 0.0
        free = self.about(c).tau[:, self.unactuated]
        self.multipliers = self.multipliers + self.held * free
        return float(np.abs(free / self.free_size).max())


def lowered(
    objective: Callable[[Floats], float], c: Floats, step: Floats, slope: float
) -> tuple[Floats, float]:
    """c moved along a step until the objective is lower; and the length of the move."""
    before = objective(c)
    slack = 1e-12 * (1.0 + abs(before))
    length = 1.0
    for _ in range(HALVINGS):
        point = c + length * step
        if objective(point) <= before + 1e-4 * length * slope + slack:
            return point, length
        length *= 0.5
    return c, 0.0

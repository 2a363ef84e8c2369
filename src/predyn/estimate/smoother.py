"""The motion that best explains measurements by likely torques: Gauss-Newton over all of it.

For given levels it minimises

    1/2 sum (fitted - measured)^2 / noise^2  +  1/2 sum change^2 / scale^2

over the coefficients of the motion, where changes are those of the torques (regularisation.py), and
the torques of unactuated joints are zero (zero_torques.py). Each iteration takes one forward and
one backward pass in time (band.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from predyn.errors import InputError
from predyn.estimate import band, zero_torques
from predyn.estimate.driving import Driving
from predyn.estimate.grid_kernels import half_squares
from predyn.estimate.observations import Observations
from predyn.estimate.regularisation import Changes, changes, is_unit
from predyn.estimate.spline_grid import TOUCHED, Floats, Ints
from predyn.storage.interrupts import held_back

HELD = 1.0  # cost of an unactuated joint's torque of usual size, besides its multiplier
LITTLE = 1e-6  # the same in normal equations, where more of it costs digits
FREE = 1e-9  # the largest such torque, over the usual size, that is none
DECREMENT = 1e-16  # gain per unknown, in units of log likelihood, that is not worth a step
ROUNDING = ((1e-12, 1), (1e-8, 4))  # the same, that is rounding if it fell no more so many times
HALVINGS = 25
FREQUENCY = 3.0  # Hz at which torques may usually vary
DAMPINGS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # shares of the diagonal, until it factors


SINGULAR = (
    "the measurements do not determine the motion: the normal equations are singular; measure more "
    "joints or markers, or let weights and noise levels be estimated"
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


class Small(NamedTuple):
    """Torques of some joints that are near zero, see root_residual.py."""

    joints: Ints
    sigma: Floats  # standard deviations


class About(NamedTuple):
    """Rows about one motion, whatever their weights."""

    seen: Any  # Seen, or WideSeen
    changes: Changes
    tau: Floats  # (K, n)
    U: Floats  # (K, n, 3 n) its slopes
    free: Floats  # (K, u) torques of unactuated joints, over their usual size
    G: Floats  # (K, u, 3 n) their slopes


class Linear(NamedTuple):
    """The problem about one motion: normal equations, and the rows that they are made of."""

    H: Floats
    g: Floats
    about: About

    def solution(self) -> zero_torques.Solution | None:
        """The step to its minimum; None if there is not one."""
        return zero_torques.solution(self.H, self.g, self.about.G, self.about.free)

    def damped(self) -> tuple[zero_torques.Solution, float]:
        """The same with so much added to the diagonal as it takes, and the share that it took."""
        for damping in DAMPINGS:
            damped = self
            if damping:
                damped = self._replace(H=self.H.copy())
                damped.H[:, 0] *= 1.0 + damping
            solution = damped.solution()
            if solution is not None and np.isfinite(solution.L[:, 0]).all():
                return solution, damping
        raise InputError(SINGULAR)

    def slope(self, solution: zero_torques.Solution) -> float:
        """Of the objective with these multipliers, along the step: never above zero."""
        free = self.about.free
        cost = solution.multipliers + (HELD - LITTLE) * free
        return float(self.g @ solution.step) - float(np.vdot(cost, free))


class Posterior(NamedTuple):
    """The linearised problem, solved: what is known after the measurements."""

    linear: Linear
    L: Floats
    step: Floats  # to the minimum
    multipliers: Floats  # (K, u)
    slope: float  # of the objective along the step
    C: Floats  # covariances in the band
    damping: float

    @property
    def gain(self) -> float:
        """How much the step lowers the objective, were it as it is about the motion."""
        return -0.5 * self.slope


class Smoother:
    """A recording, the mechanism, and what is likely of its torques."""

    corner = 0.0  # Hz, of a prior that has one (stationary_prior.py)

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
        small: Small | None = None,
    ) -> None:
        """A recording, a mechanism and an assumption.

        combination    (m, n) makes what changes independently of the torques; or of the
                       accelerations, if their sizes (n,) are given
        usual          (n,) size of the torques
        unactuated     numbers of the joints without torque
        volume         what the evidence gains by a change from torques to accelerations
        small          torques that are taken as measured to be zero
        """
        self.observations, self.driving, self.grid = observations, driving, driving.grid
        self.A, self.order, self.unactuated = combination, order, unactuated
        self._mixing = None if is_unit(combination) else combination
        self.of_motion, self.volume, self.small = accelerations is not None, volume, small
        size = np.abs(combination) @ (usual if accelerations is None else accelerations)
        rate = min(1.0, 2.0 * np.pi * FREQUENCY * self.grid.h)
        self.sizes = [size * rate**k for k in range(order + 1)]  # of changes, by order
        self.free_size = usual[unactuated]
        self.evaluations = 0
        self._recent: list[tuple[Floats, About]] = []

    def about(self, c: Floats) -> About:
        """Rows about a motion; those of the last two motions are remembered."""
        for motion, rows in self._recent:
            if motion is c:
                return rows
        self.evaluations += 1
        tau, U = self.driving.slopes(c)
        free, G = tau[:, :0], U[:, :0]
        if len(self.unactuated):
            free = tau[:, self.unactuated] / self.free_size
            G = U[:, self.unactuated] / self.free_size[:, None]
        seen, changes = self.observations.rows(c), self.changes_about(c, tau, U)
        current = About(seen, changes, tau, U, free, G)
        self._recent = [*self._recent[-1:], (c, current)]
        return current

    def changes_about(self, c: Floats, tau: Floats, U: Floats) -> Changes:
        """What must be small about the motion c, from its torques and their slopes."""
        if self.of_motion:
            a = self.grid.middle(c)[2]
            return changes(a, self.grid.of_acceleration, self._mixing, self.order)
        return changes(tau, U, self._mixing, self.order)

    def usual_sizes(self, levels: Levels) -> Floats:
        """Sizes (m,) of what must be small, N m or N."""
        return levels.scale

    def objective(
        self,
        c: Floats,
        levels: Levels,
        multipliers: Floats,
        cost: Callable[[Floats], float] | None = None,
    ) -> float:
        """What is minimised, for multipliers (K, u); `cost`: of changes, not squares."""
        about = self.about(c)
        total = float(half_squares(about.seen.value, levels.noise, self.observations.thing))
        change = about.changes.rows.value
        if cost is None:
            scaled = (change.reshape(-1, len(levels.scale)) / levels.scale).ravel()
            total += 0.5 * float(scaled @ scaled)
        else:
            total += cost(change)
        for rows, size in zip(about.changes.start, self.sizes, strict=False):
            total += 0.5 * float(np.sum((rows.value / size) ** 2))
        if self.small is not None:
            left = about.tau[:, self.small.joints] / self.small.sigma
            total += 0.5 * float(np.vdot(left, left))
        if len(self.unactuated):
            total += float(np.vdot(about.free, multipliers + 0.5 * HELD * about.free))
        return total

    def linearised(self, c: Floats, levels: Levels) -> Linear:
        """Normal equations about the motion c, with a little cost of torques of unactuated joints.

        It changes nothing where they are zero, but lets the past alone determine a block.
        """
        about, n = self.about(c), self.grid.n
        blocks = max(TOUCHED + self.order, self.observations.blocks)
        H = np.zeros((self.grid.size, blocks * n))
        g = np.zeros(self.grid.size)
        about.seen.add(((1.0 / levels.noise) ** 2)[self.observations.thing], H, g)
        rows = about.changes.rows
        band.add_rows(*rows, (1.0 / levels.of_changes(len(rows.value))) ** 2, H, g)
        for rows, size in zip(about.changes.start, self.sizes, strict=False):
            band.add_rows(*rows, 1.0 / size**2, H, g)
        if self.small is not None:
            joints, sigma = self.small
            first = np.repeat(np.arange(self.grid.K) * n, len(joints))
            J = np.ascontiguousarray(about.U[:, joints].reshape(-1, TOUCHED * n))
            weight = np.tile(sigma**-2.0, self.grid.K)
            band.add_rows(first, J, about.tau[:, joints].ravel(), weight, H, g)
        if len(self.unactuated):
            first = np.repeat(np.arange(self.grid.K) * n, len(self.unactuated))
            weight = np.full(len(first), LITTLE)
            J = np.ascontiguousarray(about.G.reshape(-1, TOUCHED * n))
            band.add_rows(first, J, about.free.ravel(), weight, H, g)
        return Linear(H, g, about)

    def posterior(self, c: Floats, levels: Levels, covariances: bool = True) -> Posterior:
        """The normal equations about c, factored, and the step to their minimum."""
        linear = self.linearised(c, levels)
        solution, damping = linear.damped()
        C = np.empty((0, 0))
        if covariances:
            C = zero_torques.covariances(solution.L, self.grid.n, len(self.unactuated))
        return Posterior(linear, *solution, linear.slope(solution), C, damping)

    def moved(self, c: Floats, levels: Levels, posterior: Posterior) -> tuple[Floats, float]:
        """The next motion: the step, or as much of it as lowers the objective; and its length."""
        _, _, step, multipliers, slope, *_ = posterior
        return lowered(lambda x: self.objective(x, levels, multipliers), c, step, slope)

    def minimum(
        self,
        c: Floats,
        levels: Levels,
        most: int = 200,
        report: Callable[[float, float], None] | None = None,
    ) -> tuple[Floats, bool]:
        """The best motion for given levels, and whether it was reached.

        Ctrl-C waits for the end of an iteration if they are reported, else for the end of all.
        """
        known, least, stalls = np.inf, np.inf, 0
        whole, each = (held_back, nullcontext) if report is None else (nullcontext, held_back)
        with whole():
            for _ in range(most):
                with each():
                    posterior = self.posterior(c, levels, covariances=False)
                    gain = posterior.gain / self.grid.size
                    if report is not None:
                        report(gain, float(np.abs(posterior.step).max()))
                    # gain of the step after this one
                    ahead = gain * gain / known if known < np.inf else gain
                    stalls = stalls + 1 if gain > 0.9 * least else 0
                    small = ahead < DECREMENT or any(gain < x and stalls >= k for x, k in ROUNDING)
                    if small and not len(self.unactuated):
                        return c + posterior.step, True
                    c, length = self.moved(c, levels, posterior)
                    if small and self.free_torque(c) < max(FREE, self._rounding(c, posterior)):
                        return c, True
                    if length == 0.0:
                        return c, False
                    known, least = gain, min(gain, least)
        return c, False

    def free_torque(self, c: Floats) -> float:
        """The largest torque of an unactuated joint, over the usual size."""
        return float(np.abs(self.about(c).free).max(initial=0.0))

    def _rounding(self, c: Floats, posterior: Posterior) -> float:
        """Torques of unactuated joints, over their usual size, that are rounding errors."""
        slopes = float(np.abs(posterior.linear.about.G).max(initial=0.0))
        return 64.0 * float(np.finfo(np.float64).eps * np.abs(c).max() * slopes)


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

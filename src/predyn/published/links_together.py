"""Joint improvement of motion and torques, for when the torques no longer determine the motion.

Torques so large that a link rotates far within a step make the matrix S of the trapezoidal step
singular: its solution folds back there, and with a little more torque there is none. The sum (15)
may be lowest behind such folds. So here equation 12 needs to hold only at the end: Newton's method
for all of z, v, u uses the same backward pass, about a trajectory with a defect (it is not yet a
motion), and a linear forward pass (14). Equation 11 is linear, so it holds throughout.

A filter decides how far to go along a step (Waechter, Biegler 2006): either the sum or the defect
falls, and a pair that is worse in both than an earlier one is never accepted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.published.link_kernels import cached_kernel, evaluate
from predyn.published.links_iteration import (
    CONVERGED,
    LEAST_PROXIMAL,
    MOST_PROXIMAL,
    NO_SHORTER,
    NOISE,
    ROUNDING,
    SADDLE,
    STOPPED,
    Iteration,
)
from predyn.published.links_passes import INDEFINITE, PREDICTED, SOLVED, STRAIGHT, linearise

Floats = NDArray[np.float64]
HALVINGS = 12
MOST_DEFECT, LITTLE = 0.1, 1e-6  # summed over the intervals, in mass times length per step
MARGIN = 1e-5  # relative decrease of the sum or the defect that counts as better
ARMIJO = 1e-4
FOLDED = (
    "converged, but {} of the trapezoidal steps have several solutions: the torques alone do not "
    "determine the motion; use shorter steps, or a weight that gives smaller torques"
)


@cached_kernel
def follow_linear(stages, order, dz, dv, du, scratch):
    """Fill the deviations dz, dv (N + 1, n) and du (N, t) by equations 14 and 17f."""
    N, torques, n = du.shape[0], du.shape[1], dz.shape[1]
    x = 2 * n
    y = x + order * torques
    linear = scratch.linear
    linear[:] = 0.0
    for i in range(N):
        for t in range(torques):
            du[i, t] = stages.steps[i, t]
            for j in range(y):
                du[i, t] += stages.feedback[i, t, j] * linear[j]
        for a in range(x):
            scratch.s_next[a] = stages.n[i, a]
            for b in range(x):
                scratch.s_next[a] += stages.A[i, a, b] * linear[b]
            for t in range(torques):
                scratch.s_next[a] += stages.P[i, a, t] * du[i, t]
        for j in range(n):
            linear[j], linear[n + j] = scratch.s_next[j], scratch.s_next[n + j]
            dz[i + 1, j], dv[i + 1, j] = linear[j], linear[n + j]
        for t in range(y - x):
            linear[x + t] = du[i, t]


@cached_kernel
def sum_defects(system, h, z, v, u, scratch):
    """Sum over all intervals of the absolute defect of equation 12, times h."""
    a, total = scratch.step, 0.0
    for i in range(u.shape[0]):
        evaluate(system, z[i], v[i], u[i], a.force, a.by_z, a.by_v, a.D)
        evaluate(system, z[i + 1], v[i + 1], u[i], a.force_next, a.by_z_next, a.by_v_next, a.D_next)
        for j in range(z.shape[1]):
            r = 0.5 * h * (a.force[j] + a.force_next[j])
            for k in range(z.shape[1]):
                r += system.mass[j, k] * (v[i + 1, k] - v[i, k])
            total += abs(r)
    return total


class _Together:
    """Steps of an iteration for motion and torques, with a filter."""

    def __init__(self, it: Iteration) -> None:
        self.it = it
        self.moves = [np.zeros_like(x) for x in it.now]
        self.momentum = np.abs(it.system.mass).max() * it.system.length.max() / it.h
        self.first = float(it.sums[0] + it.sums[1]) or 1.0
        self.defect = self._sum_defects(it.now)
        self.known: list[tuple[float, float]] = []  # defect and sum, relative

    def _sum_defects(self, trajectory: list[Floats]) -> float:
        return (
            float(sum_defects(self.it.system, self.it.h, *trajectory, self.it.scratch))
            / self.momentum
        )

    def step(self) -> float:
        """Go as far as the filter allows; returns the share of the step taken."""
        it, first = self.it, self.first
        follow_linear(it.stages, it.order, *self.moves, it.scratch)
        E, slope = (it.sums[0] + it.sums[1]) / first, 2.0 * self._slope() / first
        for length in 0.5 ** np.arange(HALVINGS):
            for x, start, move in zip(it.trial, it.now, self.moves, strict=True):
                np.multiply(length, move, out=x)
                x += start
            it.trial_sums[:] = it.compute_sums(it.trial)
            left, after = self._sum_defects(it.trial), (it.trial_sums[0] + it.trial_sums[1]) / first
            flat = abs(slope) <= ROUNDING * E and abs(E - after) <= NOISE * E
            if flat or self._is_acceptable(E, slope, float(length), left, after):
                self.defect = left
                it.accept()
                return float(length)
        return 0.0

    def _slope(self) -> float:
        """Slope of half the sum along the step."""
        it, (dz, _, du) = self.it, self.moves
        seen = (it.data.seen * (dz @ it.data.Q.T))[1:]
        change = it.data.B * it.penalised_torques(it.now[2]) * it.penalised_torques(du)
        return float(np.vdot(it.compute_misfits(it.now[0]), seen)) + float(change.sum())

    def _is_acceptable(
        self, E: float, slope: float, length: float, left: float, after: float
    ) -> bool:
        """Whether to accept a trial; one that does not lower the sum as predicted is filtered."""
        defect = self.defect
        if not (left <= MOST_DEFECT and np.isfinite(after)):
            return False
        if any(left >= most and after >= worst for most, worst in self.known):
            return False
        predicted = slope < 0.0 and length * (-slope) ** 2.3 > defect**1.1
        if defect <= LITTLE and predicted:
            return bool(after <= E + ARMIJO * length * slope)
        if left > (1 - MARGIN) * defect and after > E - MARGIN * defect:
            return False
        self.known.append(((1 - MARGIN) * defect, E - MARGIN * defect))
        return True


def improve_jointly(it: Iteration, most: int, settled: float) -> str:
    """Improve a motion until torques change by less than `settled` of the largest; returns the
    outcome. Without convergence, the motion at the start is restored.
    """
    together, begun = _Together(it), [x.copy() for x in (*it.now, it.sums)]
    proximal, scale = 0.0, 0.0
    message = STOPPED
    for _ in range(most):
        it.count += 1
        status = it.backward(proximal * scale, PREDICTED)
        if status == INDEFINITE:
            status = it.backward(proximal * scale, STRAIGHT)
        scale = scale or it.model[2]
        length = together.step() if status == SOLVED else 0.0
        if length > 0.0:
            short = np.abs(together.moves[2]).max() <= settled * np.abs(it.now[2]).max()
            if length == 1.0 and short and proximal <= LEAST_PROXIMAL and it.is_motion():
                if not it.is_minimum(scale):
                    message = SADDLE
                    break
                return CONVERGED
            proximal = 0.0 if proximal <= LEAST_PROXIMAL else proximal / 10
        else:
            proximal = max(10 * proximal, LEAST_PROXIMAL)
            if proximal > MOST_PROXIMAL:
                message = NO_SHORTER
                break
    *it.now, it.sums = begun
    return message


def count_folds(it: Iteration) -> int:
    """Number of steps that end behind a fold: S has a negative eigenvalue relative to the mass."""
    (z, v, u), step = it.now, it.scratch.step
    S = np.empty((len(u), *it.system.mass.shape))
    for i in range(len(u)):
        A, P, defect = it.stages.A[i], it.stages.P[i], it.stages.n[i]
        linearise(it.system, it.h, z[i], v[i], u[i], z[i + 1], v[i + 1], A, P, defect, it.scratch)
        S[i] = it.system.mass + 0.5 * it.h * step.by_v_next + 0.25 * it.h**2 * step.by_z_next
    values = np.linalg.eigvals(np.linalg.solve(it.system.mass, S)).real
    return int((values.min(axis=1) < 0.0).sum())

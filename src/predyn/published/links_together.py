"""Motion and torques improved together, where the motion no longer follows from the torques.

Torques so large that a link turns far within a step make the matrix S of the trapezoidal step
singular: its solution folds back there, and a little more torque leaves none. The sum (15) may be
lowest behind such folds. So here equation 12 need hold in the end only: Newton's method for all of
z, v, u by the same backward pass, about a trajectory that lacks something of being a motion, and a
forward pass that is linear (14). As (11) is linear it holds throughout.

How far to go along a step is decided by a filter (Waechter, Biegler 2006): either the sum falls, or
what is lacking, and never are both worse than they were before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.published.link_kernels import evaluate, kept
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
from predyn.published.links_passes import FORESEEN, INDEFINITE, SOLVED, STRAIGHT, linearise

Floats = NDArray[np.float64]
HALVINGS = 12
MOST_LACKING, LITTLE = 0.1, 1e-6  # sums over the intervals, of the momentum of a length per step
MARGIN = 1e-5  # shares of the sum and of what is lacking that count as better
ARMIJO = 1e-4
FOLDED = (
    "converged, but {} of the trapezoidal steps have several solutions: the torques alone do not "
    "determine the motion; take shorter steps, or a weight for which torques are not so large"
)


@kept
def follow_linear(stages, order, dz, dv, du, room):
    """Fill the deviations dz, dv (N + 1, n) and du (N, t) by equations 14 and 17f."""
    N, torques, n = du.shape[0], du.shape[1], dz.shape[1]
    x = 2 * n
    y = x + order * torques
    linear = room.linear
    linear[:] = 0.0
    for i in range(N):
        for t in range(torques):
            du[i, t] = stages.steps[i, t]
            for j in range(y):
                du[i, t] += stages.feedback[i, t, j] * linear[j]
        for a in range(x):
            room.s_next[a] = stages.n[i, a]
            for b in range(x):
                room.s_next[a] += stages.A[i, a, b] * linear[b]
            for t in range(torques):
                room.s_next[a] += stages.P[i, a, t] * du[i, t]
        for j in range(n):
            linear[j], linear[n + j] = room.s_next[j], room.s_next[n + j]
            dz[i + 1, j], dv[i + 1, j] = linear[j], linear[n + j]
        for t in range(y - x):
            linear[x + t] = du[i, t]


@kept
def lacking(system, h, z, v, u, room):
    """Sum over all intervals of what equation 12, times h, lacks in absolute values."""
    a, total = room.step, 0.0
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
        self.lack = self._lack(it.now)
        self.known: list[tuple[float, float]] = []  # lack and sum, in shares

    def _lack(self, trajectory: list[Floats]) -> float:
        return float(lacking(self.it.system, self.it.h, *trajectory, self.it.room)) / self.momentum

    def step(self) -> float:
        """Go as far as the filter lets; the share of the step that was taken."""
        it, first = self.it, self.first
        follow_linear(it.stages, it.order, *self.moves, it.room)
        E, slope = (it.sums[0] + it.sums[1]) / first, 2.0 * self._slope() / first
        for length in 0.5 ** np.arange(HALVINGS):
            for x, start, move in zip(it.trial, it.now, self.moves, strict=True):
                np.multiply(length, move, out=x)
                x += start
            it.trial_sums[:] = it.sums_of(it.trial)
            left, after = self._lack(it.trial), (it.trial_sums[0] + it.trial_sums[1]) / first
            flat = abs(slope) <= ROUNDING * E and abs(E - after) <= NOISE * E
            if flat or self._passes(E, slope, float(length), left, after):
                self.lack = left
                it.accept()
                return float(length)
        return 0.0

    def _slope(self) -> float:
        """Of half the sum along the step."""
        it, (dz, _, du) = self.it, self.moves
        seen = (it.data.seen * (dz @ it.data.Q.T))[1:]
        change = it.data.B * it.penalised(it.now[2]) * it.penalised(du)
        return float(np.vdot(it.misfits(it.now[0]), seen)) + float(change.sum())

    def _passes(self, E: float, slope: float, length: float, left: float, after: float) -> bool:
        """Whether to accept a trial; one that does not lower the sum as foreseen is filtered."""
        lack = self.lack
        if not (left <= MOST_LACKING and np.isfinite(after)):
            return False
        if any(left >= most and after >= worst for most, worst in self.known):
            return False
        foreseen = slope < 0.0 and length * (-slope) ** 2.3 > lack**1.1
        if lack <= LITTLE and foreseen:
            return bool(after <= E + ARMIJO * length * slope)
        if left > (1 - MARGIN) * lack and after > E - MARGIN * lack:
            return False
        self.known.append(((1 - MARGIN) * lack, E - MARGIN * lack))
        return True


def improve_together(it: Iteration, most: int, settled: float) -> str:
    """From a motion on, until torques change by less than `settled` of the largest; what came of
    it. If it did not converge, the motion is that of the beginning.
    """
    together, begun = _Together(it), [x.copy() for x in (*it.now, it.sums)]
    proximal, scale = 0.0, 0.0
    message = STOPPED
    for _ in range(most):
        it.count += 1
        status = it.backward(proximal * scale, FORESEEN)
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


def folds(it: Iteration) -> int:
    """How many steps end behind a fold: S has a negative eigenvalue, measured by the mass."""
    (z, v, u), step = it.now, it.room.step
    S = np.empty((len(u), *it.system.mass.shape))
    for i in range(len(u)):
        A, P, lack = it.stages.A[i], it.stages.P[i], it.stages.n[i]
        linearise(it.system, it.h, z[i], v[i], u[i], z[i + 1], v[i + 1], A, P, lack, it.room)
        S[i] = it.system.mass + 0.5 * it.h * step.by_v_next + 0.25 * it.h**2 * step.by_z_next
    values = np.linalg.eigvals(np.linalg.solve(it.system.mass, S)).real
    return int((values.min(axis=1) < 0.0).sum())

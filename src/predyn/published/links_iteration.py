"""The iteration of the inverse problem about the previous trajectory, with safeguards.

Each iteration is a backward pass about the previous trajectory and a forward pass through the
model. It is accepted if the sum E falls as predicted, else it is repeated with a larger proximal
term, which changes no fixed point.

With small or large weights, stiff springs or unstable mechanisms, such an iteration does not
converge by itself. So it starts with springs that the time step resolves and a weight that holds
the motion near the data, and moves in steps to the requested ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from predyn.published.links_forward import find_largest_defect, follow, forward
from predyn.published.links_passes import (
    CURVED,
    INDEFINITE,
    PREDICTED,
    SINGULAR,
    SOLVED,
    STRAIGHT,
    Data,
    backward,
    make_scratch,
    make_stages,
)
from predyn.published.natural_links import NaturalLinks

Floats = NDArray[np.float64]
SETTLED = 1e-9  # of the largest torque: a full step that changes less is the last
ROUNDING, NOISE = 1e-11, 1e-8  # of E: smaller changes cannot be predicted or distinguished
SAME = 1e-9  # of the largest velocity: a trajectory with a smaller defect is a motion
LEAST_PROXIMAL, MOST_PROXIMAL = 1e-7, 1e16  # of the mean second derivative in a torque
HORIZON = 2  # samples within which the first passes bring the motion to the data
RESOLVED = 4.0  # time step times the fastest frequency of springs that it resolves
STIFFENING, LEAST_STIFFENING = 10.0, 1.01  # factor of spring stiffness per continuation step
LARGEST_RATIO = 100.0  # factor of weights per continuation step
BRIEF, ROUGH = 10, 1e-2  # iterations, and change of torques, per continuation step
CONVERGED, STOPPED = "converged", "stopped"
SADDLE = (
    "a saddle point: the sum neither rises nor falls there, but falls farther away; start from "
    "another estimate (start=), or measure more"
)
NO_SHORTER = (
    "no shorter step lowers the sum: the torques are so large that trapezoidal steps hardly have "
    "solutions; use a larger weight, stiffer springs or shorter steps"
)


class Iteration:
    """The previous trajectory `now` (z, v, u), a trial, and scratch memory."""

    def __init__(
        self,
        links: NaturalLinks,
        z0: Floats,
        v0: Floats,
        data: Data,
        order: int,
        h: float,
        nearness: float,
    ) -> None:
        N, n, torques = len(data.measured) - 1, links.n, len(links.torques)
        self.links, self.system, self.h, self.data, self.order = links, links.system, h, data, order
        self.now, self.trial = (
            [np.tile(z0, (N + 1, 1)), np.tile(v0, (N + 1, 1)), np.zeros((N, torques))]
            for _ in range(2)
        )
        self.scratch = make_scratch(n, len(links.links), torques, order)
        self.stages = make_stages(N, n, torques, order)
        self.held = np.zeros_like(self.stages.feedback)
        # misfit, weighted and plain sum of torques; predicted decrease, gradient, second derivative
        self.sums, self.trial_sums, self.model = np.zeros(3), np.zeros(3), np.zeros(3)
        self.count = 0
        reach = np.linalg.solve(self.system.mass, links.torque_matrix(z0))
        far = 0.5 * (HORIZON * h) ** 2 * np.abs(reach).max()
        self.B_near = np.full(torques, nearness * HORIZON ** (1 + 2 * order) * far**2)

    def begin(self) -> bool:
        """Find a motion near the data, then move to the given springs and weight; False if none."""
        system, B = self.system, self.data.B
        z, v, _ = self.now
        J, _ = self.links.jacobian(z[0])
        fastest = np.linalg.eigvals(np.linalg.solve(system.mass, J)).real.max()
        soft = min(1.0, RESOLVED**2 / (self.h**2 * fastest))
        self.system = system._replace(stiffness=soft * system.stiffness)
        follow(self.system, self.data, z, self.scratch)
        v[1:-1] = (z[2:] - z[:-2]) / (2 * self.h)
        v[-1] = (z[-1] - z[-2]) / self.h
        if not self._hold(math.inf):
            return False
        self.improve(BRIEF, ROUGH)
        ratio = STIFFENING
        while soft < 1.0 and ratio > LEAST_STIFFENING:
            stiffer = min(1.0, soft * ratio)
            before = [x.copy() for x in self.now]
            self._loosen(soft / stiffer)
            self.system = system._replace(stiffness=stiffer * system.stiffness)
            if self._hold(4 * (self.sums[0] + self.sums[1])):
                self.improve(BRIEF, ROUGH)
                soft, ratio = stiffer, min(STIFFENING, ratio**2)
            else:
                self.now, self.system = before, system._replace(stiffness=soft * system.stiffness)
                ratio = math.sqrt(ratio)
        self.system = system
        ways = math.ceil(np.abs(np.log(B / self.B_near)).max() / math.log(LARGEST_RATIO))
        for part in np.arange(1, ways) / max(ways, 1):
            self._weigh(self.B_near ** (1 - part) * B**part)
            self.improve(BRIEF, ROUGH)
        self._weigh(B)
        return bool(soft == 1.0)

    def begin_from(self, trajectory: tuple[Floats, Floats, Floats]) -> bool:
        """Start from the trajectory z, v, u if it is a motion of these links, else from a motion
        near it; False if there is none.
        """
        B = self.data.B
        for x, given, first in zip(self.now, trajectory, (1, 1, 0), strict=True):
            x[first:] = given[first:]
        moves = self.is_motion()
        if moves:
            self.sums[:] = self.compute_sums(self.now)
        else:
            moves = self._hold(math.inf)
        self._weigh(B)
        return moves

    def is_motion(self) -> bool:
        """Whether the trajectory satisfies equations 11 and 12 to rounding."""
        z, v, u = self.now
        defect = find_largest_defect(self.system, self.h, z, v, u, self.stages, self.scratch)
        return bool(defect <= SAME * max(np.abs(v).max(), self.system.length.max() / self.h))

    def improve(self, most: int, settled: float) -> str:
        """Newton's method, or Gauss-Newton if second derivatives are not definite, until torques
        change by less than `settled` of the largest; returns the outcome.
        """
        proximal, scale, held = 0.0, 0.0, False
        for _ in range(most):
            self.count += 1
            if proximal > 0.0 and not held:
                held = self._keep_feedback()
            status = self.backward(proximal * scale, CURVED)
            if status == INDEFINITE:
                status = self.backward(proximal * scale, STRAIGHT)
            if status == SINGULAR:
                return "the linearised motion is singular"
            scale = scale or self.model[2]
            tries = (self.stages.feedback, self.held) if held else (self.stages.feedback,)
            if status == SOLVED and any(self._lowers_sum(feedback) for feedback in tries):
                move = np.abs(self.trial[2] - self.now[2]).max()
                size = np.abs(self.now[2]).max()
                self.accept()
                if move <= settled * size and proximal <= LEAST_PROXIMAL:
                    return CONVERGED if self.is_minimum(scale) else SADDLE
                proximal = 0.0 if proximal <= LEAST_PROXIMAL else proximal / 10
                held = False
            else:
                proximal = max(10 * proximal, LEAST_PROXIMAL)
                if proximal > MOST_PROXIMAL:
                    return NO_SHORTER
        return STOPPED

    def is_minimum(self, scale: float) -> bool:
        """Whether E does not fall in second order by more than rounding errors."""
        return self.backward(LEAST_PROXIMAL * scale, PREDICTED) == SOLVED

    def _lowers_sum(self, feedback: Floats) -> bool:
        """Whether the trial with this feedback lowers the sum as predicted, or as far as it can."""
        if not self._forward(feedback):
            return False
        E = self.sums[0] + self.sums[1]
        fallen = 0.5 * (E - self.trial_sums[0] - self.trial_sums[1])
        flat = self.model[0] <= ROUNDING * E and abs(fallen) <= NOISE * E
        return bool(flat or fallen >= 1e-4 * self.model[0])

    def _keep_feedback(self) -> bool:
        """Use feedback that holds the motion, unlike that of a large proximal term."""
        B = self.data.B
        self.data = self.data._replace(B=np.minimum(B, self.B_near))
        solved = self.backward(0.0, STRAIGHT) == SOLVED
        self.data = self.data._replace(B=B)
        self.held[:] = self.stages.feedback
        return solved

    def _hold(self, most: float) -> bool:
        """Replace the trajectory, which need not be a motion, by a motion near it, with the weight
        that keeps it near; False if there is none with a sum below `most`.
        """
        for factor in (1.0, 1e-2, 1e2, 1e-4, 1e4):
            self.data = self.data._replace(B=factor * self.B_near)
            if self.backward(0.0, STRAIGHT) != SOLVED or not self._forward(self.stages.feedback):
                continue
            if self.trial_sums[0] + self.trial_sums[1] / factor < most:
                self.accept()
                self._weigh(self.B_near)
                return True
        self._weigh(self.B_near)
        return False

    def _loosen(self, part: float) -> None:
        """Reduce the stretch of links, and its rate, to a fraction."""
        z, v, _ = self.now
        d = np.einsum("lij,kj->kli", self.system.arms, z) + self.system.offset
        L = np.sqrt((d**2).sum(axis=2))
        G = np.einsum("kli,lij->klj", d / L[..., None], self.system.arms)
        inverse = np.linalg.pinv(G)
        back = (part - 1) * (L - self.system.length)
        z[1:] += np.einsum("kjl,kl->kj", inverse, back)[1:]
        v[1:] += (part - 1) * np.einsum("kjl,kli,ki->kj", inverse, G, v)[1:]

    def _weigh(self, B: Floats) -> None:
        """Change the weights."""
        self.data = self.data._replace(B=B)
        self.sums[1:] = self.compute_sums(self.now)[1:]

    def compute_sums(self, trajectory: list[Floats]) -> tuple[float, float, float]:
        """Misfit, and the weighted and plain sum of squared torques or their differences."""
        squares = self.penalised_torques(trajectory[2]) ** 2
        misfit = (self.compute_misfits(trajectory[0]) ** 2).sum()
        return float(misfit), float((self.data.B * squares).sum()), float(squares.sum())

    def compute_misfits(self, z: Floats) -> Floats:
        """(N, m), zero for missing samples."""
        e = self.data.seen * (z @ self.data.Q.T - self.data.measured)
        return np.asarray(e[1:])

    def penalised_torques(self, u: Floats) -> Floats:
        return u if self.order == 0 else np.diff(u, axis=0)

    def backward(self, proximal: float, curved: int) -> int:
        return int(
            backward(
                self.system, self.h, self.data, self.order, *self.now, proximal, curved,
                self.stages, self.scratch, self.model,
            )
        )  # fmt: skip

    def _forward(self, held: Floats) -> bool:
        done = forward(
            self.system, self.h, self.data, self.order, *self.now, self.stages, held, *self.trial,
            self.scratch, self.trial_sums,
        )  # fmt: skip
        return bool(done == len(self.now[2]) and np.isfinite(self.trial_sums).all())

    def accept(self) -> None:
        self.now, self.trial = self.trial, self.now
        self.sums, self.trial_sums = self.trial_sums, self.sums

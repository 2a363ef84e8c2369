"""Torques of natural links from measured positions, by dynamic programming (Trujillo 2006).

Minimised, over the torques u_0 .. u_{N-1} held on the intervals, is (15) with a known start:

    E = sum_{i=1..N} |Q z_i + q0 - d_i|^2 + sum_{i=0..N-1} u_i^T B u_i           order 0
    E = the same, and sum_{i=1..N-1} (u_i - u_{i-1})^T B (u_i - u_{i-1})         order 1

where z follows from u by the trapezoidal equations 11 and 12, nonlinear, with the torque matrix D
at both ends of an interval. The solution is a stationary point of exactly this: D is differentiated
along with f. Each iteration is a backward pass about the previous trajectory and a forward pass
through the model; it is accepted if E falls, else it is repeated with a larger proximal term. A
minimiser need not be the only one: with a large weight the torques are too small to hold a
mechanism near the data, and the motions that remain are many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.estimate.natural_links import NaturalLinks
from predyn.estimate.published_passes import (
    INDEFINITE,
    SOLVED,
    STUCK,
    Data,
    backward,
    follow,
    forward,
    room_for,
    stages_for,
)
from predyn.estimate.trapezoidal import checked_state, checked_step

Floats = NDArray[np.float64]
SETTLED = 1e-9  # of the largest torque: then a full step is the last
ROUNDING, NOISE = 1e-11, 1e-8  # of E: smaller changes of it are not foreseen, and not told apart
LEAST_PROXIMAL, MOST_PROXIMAL = 1e-7, 1e16  # of the mean second derivative in a torque
import os

TRACE = os.environ.get("TRACE")
HORIZON = 2  # samples over which the first passes correct the motion
STIFFENING = 10.0  # of springs, in one step
RESOLVED = 4.0  # time step times the fastest frequency of springs that it resolves
LARGEST_RATIO = 100.0  # of weights, in one step
BRIEF, ROUGH = 10, 1e-2  # iterations, and change of torques, on the way
CONVERGED = "converged"


@dataclass(frozen=True, eq=False)
class LinkEstimate:
    """Torques u (N, torques) on the intervals, the motion z, v (N + 1, n), and how well they fit.

    `misfit` is the first sum of (15), `size` the second without B: of squared torques (order 0) or
    of their squared differences (order 1).
    """

    t: Floats
    u: Floats
    z: Floats
    v: Floats
    weight: Floats
    order: int
    misfit: float
    size: float
    iterations: int
    converged: bool
    message: str


def estimate_link_torques(
    links: NaturalLinks,
    z0: ArrayLike,
    v0: ArrayLike,
    nodes: Sequence[str],
    measured: ArrayLike,
    step: float,
    *,
    weight: ArrayLike = 1e-4,
    order: int = 0,
    start: LinkEstimate | None = None,
    max_iterations: int = 3000,
) -> LinkEstimate:
    """Torques behind positions of nodes, measured every `step` seconds from the start on.

    z0, v0    (n,) state at the first sample, known
    measured  (N + 1, 2 len(nodes)) x, y of the nodes in turn, m; NaN where missing; the first row
              is not used
    weight    B: one number, or one for each torque; order 0 penalises torques, 1 their differences
    start     an earlier estimate of the same data, to begin with

    The result says whether it converged: `converged`, `message`.
    """
    if order not in (0, 1):
        raise InputError(f"order: expected 0 (torques) or 1 (their differences), got {order!r}")
    problem = _Problem(links, z0, v0, _data(links, nodes, measured, weight), order, step)
    if start is None:
        problem.begin()
    else:
        problem.begin_from(start)
    return problem.solve(max_iterations)


def _data(
    links: NaturalLinks, nodes: Sequence[str], measured: ArrayLike, weight: ArrayLike
) -> Data:
    Q, q0 = links.measuring(nodes)
    d = np.array(measured, float)
    if d.ndim != 2 or d.shape[1] != len(q0) or len(d) < 2:
        raise InputError(
            f"measured: expected (N + 1, {len(q0)}) with at least 2 rows, got {d.shape}"
        )
    seen = ~np.isnan(d)
    if np.isinf(d).any():
        raise InputError(f"measured: infinite in row {int(np.isinf(d).any(axis=1).argmax())}")
    if not seen[1:].any():
        raise InputError("measured: every sample after the first is missing")
    torques = len(links.torques)
    B = np.asarray(weight, float)
    if B.shape not in ((), (torques,)) or not (np.isfinite(B) & (B > 0)).all():
        raise InputError(f"weight: expected a positive number, or {torques} of them, got {weight}")
    d = np.where(seen, d - q0, 0.0)
    return Data(Q, d, seen.astype(float), np.array(np.broadcast_to(B, torques)))


class _Problem:
    """The trajectory of the previous iteration, a trial, and their room."""

    def __init__(
        self,
        links: NaturalLinks,
        z0: ArrayLike,
        v0: ArrayLike,
        data: Data,
        order: int,
        step: float,
    ) -> None:
        N, n, torques = len(data.measured) - 1, links.n, len(links.torques)
        self.links, self.system, self.h = links, links.system, checked_step(step)
        self.data, self.order = data, order
        z, v = checked_state(links, z0, v0)
        self.now, self.trial = (
            (np.tile(z, (N + 1, 1)), np.tile(v, (N + 1, 1)), np.zeros((N, torques)))
            for _ in range(2)
        )
        self.room = room_for(n, len(links.links), torques, order)
        self.stages = stages_for(N, n, torques, order)
        self.sums, self.trial_sums, self.model = np.zeros(3), np.zeros(3), np.zeros(3)
        self.iterations = 0
        self.held = np.zeros_like(self.stages.feedback)
        reach = np.linalg.solve(self.system.mass, links.torque_matrix(z))
        far = 0.5 * (HORIZON * self.h) ** 2 * np.abs(reach).max()
        self.B_near = np.full(torques, HORIZON * far**2 * (HORIZON**2 if order else 1))

    def begin(self) -> None:
        """A motion near the data, whatever B is; then on to B in steps.

        Springs are stiffened in steps too: a motion that is a little wrong stretches stiff ones
        much. Those that the time step resolves come first.
        """
        system, data = self.system, self.data
        z, v, u = self.now
        J, _ = self.links.jacobian(z[0])
        fastest = np.linalg.eigvals(np.linalg.solve(system.mass, J)).real.max()
        soft = min(1.0, RESOLVED**2 / (self.h**2 * fastest))
        B = self.B_near
        self.system = system._replace(stiffness=soft * system.stiffness)
        follow(self.system, data, z, self.room)
        v[1:-1] = (z[2:] - z[:-2]) / (2 * self.h)
        v[-1] = (z[-1] - z[-2]) / self.h
        self.hold(B)
        self.improve(BRIEF, ROUGH)
        ratio = STIFFENING
        while soft < 1.0:
            stiffer = min(1.0, soft * ratio)
            E = self.sums[0] + self.sums[1]
            kept_z, kept_v = self.now[0].copy(), self.now[1].copy()
            self.loosen(soft / stiffer)
            self.system = system._replace(stiffness=stiffer * system.stiffness)
            if self.hold(B, near=E):
                self.improve(BRIEF, ROUGH)
                soft = stiffer
                ratio = min(STIFFENING, ratio**1.5)
            else:
                self.now[0][:], self.now[1][:] = kept_z, kept_v
                self.system = system._replace(stiffness=soft * system.stiffness)
                ratio = math.sqrt(ratio)
                if ratio < 1.01:
                    break
        self.system = system
        ratio = np.abs(np.log(data.B / B)).max() / math.log(LARGEST_RATIO)
        for part in np.arange(1, math.ceil(ratio)) / math.ceil(ratio):
            self.weigh(B ** (1 - part) * data.B**part)
            self.improve(BRIEF, ROUGH)
        self.weigh(data.B)

    def begin_from(self, start: LinkEstimate) -> None:
        """The motion of an earlier estimate."""
        B = self.data.B
        for i, (mine, given) in enumerate(zip(self.now, (start.z, start.v, start.u), strict=True)):
            if mine.shape != given.shape:
                raise InputError(
                    f"start: an estimate of other data, {given.shape} where {mine.shape} belong"
                )
            first = 1 if i < 2 else 0  # the known start stays
            mine[first:] = given[first:]
        self.hold(start.weight)
        self.weigh(B)

    def loosen(self, part: float) -> None:
        """Reduce what links are stretched by, and how fast, to a part of it."""
        z, v, _ = self.now
        d = np.einsum("lij,kj->kli", self.system.arms, z) + self.system.offset
        L = np.sqrt((d**2).sum(axis=2))
        G = np.einsum("kli,lij->klj", d / L[..., None], self.system.arms)
        inverse = np.linalg.pinv(G)
        back = (part - 1) * (L - self.system.length)
        z[1:] += np.einsum("kjl,kl->kj", inverse, back)[1:]
        v[1:] += (part - 1) * np.einsum("kjl,kli,ki->kj", inverse, G, v)[1:]

    def hold(self, B: Floats, near: float = math.inf) -> bool:
        """A motion that is near the present trajectory, which need not be a motion; none if the sum
        becomes much larger than `near`.
        """
        for factor in (1.0, 1e-2, 1e2, 1e-4, 1e4, 1e-6, 1e6):
            self.data = self.data._replace(B=factor * B)
            if self._backward(0.0, False) != SOLVED:
                continue
            for rigid in (True, False):
                if not self._forward(self.stages.feedback, rigid):
                    continue
                E = self.trial_sums[0] + self.trial_sums[1] / factor
                if TRACE:
                    print("hold?", factor, rigid, E, near, self.system.stiffness)
                if 4 * near > E:
                    self._accept()
                    self.weigh(B)
                    return True
        self.weigh(B)
        return False

    def weigh(self, B: Floats) -> None:
        """Go over to other weights."""
        self.data = self.data._replace(B=B)
        u = self.now[2]
        squares = (u if self.order == 0 else np.diff(u, axis=0)) ** 2
        self.sums[1] = (B * squares).sum()

    def solve(self, max_iterations: int) -> LinkEstimate:
        message = self.improve(max_iterations, SETTLED)
        z, v, u = self.now
        return LinkEstimate(
            self.h * np.arange(len(z)), u, z, v, self.data.B, self.order, float(self.sums[0]),
            float(self.sums[2]), self.iterations, message == CONVERGED, message,
        )  # fmt: skip

    def improve(self, most: int, settled: float) -> str:
        """Newton's method, or Gauss-Newton's where the second derivatives are not definite, until
        torques change by less than `settled` of the largest; what came of it.
        """
        proximal, scale = 0.0, 0.0
        followed = False
        for _ in range(most):
            self.iterations += 1
            E = self.sums[0] + self.sums[1]
            if proximal > 0.0 and not followed:
                B = self.data.B
                self.data = self.data._replace(B=np.minimum(B, self.B_near))
                followed = self._backward(0.0, False) == SOLVED
                self.data = self.data._replace(B=B)
                self.held[:] = self.stages.feedback
            status = self._backward(proximal * scale, True)
            if status == INDEFINITE:
                status = self._backward(proximal * scale, False)
            if status == STUCK:
                return "the linearised motion is singular"
            if status == SOLVED and not scale:
                scale = self.model[2]
            trials = [(self.stages.feedback, rigid) for rigid in (True,)]
            if followed:
                trials += [(self.held, rigid) for rigid in (True,)]
            for trial, (held, rigid) in enumerate(trials):
                if TRACE:
                    print(_, status, E, proximal, self.model, trial, end=" ")
                if not (status == SOLVED and self._forward(held, rigid)):
                    if TRACE:
                        print("failed")
                    continue
                fallen = 0.5 * (E - self.trial_sums[0] - self.trial_sums[1])
                move = np.abs(self.trial[2] - self.now[2]).max()
                size = np.abs(self.now[2]).max()
                flat = self.model[0] <= ROUNDING * E and abs(fallen) <= NOISE * E
                if TRACE:
                    print(self.trial_sums, move, size, fallen / self.model[0])
                if flat or fallen >= 1e-4 * self.model[0]:
                    self._accept()
                    followed = False
                    if move <= settled * size and proximal <= LEAST_PROXIMAL:
                        return CONVERGED
                    proximal = 0.0 if proximal <= LEAST_PROXIMAL else proximal / 10
                    break
            else:
                proximal = max(10 * proximal, LEAST_PROXIMAL)
            if proximal > MOST_PROXIMAL:
                return "no shorter step lowers the sum"
        return f"stopped after {most} iterations"

    def _backward(self, proximal: float, curved: bool) -> int:
        return backward(
            self.system, self.h, self.data, self.order, *self.now, proximal, curved,
            self.stages, self.room, self.model,
        )  # fmt: skip

    def _forward(self, held: Floats, rigid: bool) -> bool:
        done = forward(
            self.system, self.h, self.data, self.order, *self.now, self.stages, held, rigid, *self.trial,
            self.room, self.trial_sums,
        )  # fmt: skip
        return bool(done == len(self.now[2]) and np.isfinite(self.trial_sums).all())

    def _accept(self) -> None:
        self.now, self.trial = self.trial, self.now
        self.sums, self.trial_sums = self.trial_sums, self.sums

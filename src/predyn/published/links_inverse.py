"""Torques of natural links from measured positions, by dynamic programming (Trujillo 2006).

Minimises (15), with a known start, over the torques u_0 .. u_{N-1}, each held for an interval:

    E = sum_{i=1..N} |Q z_i + q0 - d_i|^2 + sum_{i=0..N-1} u_i^T B u_i           order 0
    E = first sum + sum_{i=1..N-1} (u_i - u_{i-1})^T B (u_i - u_{i-1})           order 1

where z follows from u by the nonlinear trapezoidal equations 11 and 12, with the torque matrix D at
both ends of an interval. A converged estimate is a stationary point of exactly this sum, at which E
does not fall in second order: D is differentiated along with f. It need not be the only one: with a
large weight, the torques are too small to hold a mechanism near the data, and many motions remain.
With almost no weight and soft springs, torques may be so large that a step has several solutions:
the motion is then one of those that the torques allow, and the message says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.published.links_iteration import CONVERGED, NOISE, SETTLED, STOPPED, Iteration
from predyn.published.links_passes import Data
from predyn.published.links_together import FOLDED, count_folds, improve_jointly
from predyn.published.natural_links import NaturalLinks
from predyn.published.trapezoidal import check_state, check_step

Floats = NDArray[np.float64]
PATIENCE, TOGETHER = 800, 1200  # iterations before, and with, motion and torques free together
STARTS = (1.0, 1e3, 1e-2)  # closeness of the start to the data, tried until one converges


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
    weight: Floats  # B, (torques,)
    order: int
    misfit: float
    size: float
    iterations: int
    converged: bool
    message: str

    @property
    def total(self) -> float:
        """E, the minimised sum."""
        penalised_torques = self.u if self.order == 0 else np.diff(self.u, axis=0)
        return self.misfit + float((self.weight * penalised_torques**2).sum())


def estimate_link_torques(
    links: NaturalLinks,
    z0: ArrayLike,
    v0: ArrayLike,
    nodes: Sequence[str],
    measured: ArrayLike,
    step: float,
    *,
    weight: float | Sequence[float] | Floats = 1e-4,
    order: int = 0,
    start: LinkEstimate | None = None,
    max_iterations: int = 6000,
) -> LinkEstimate:
    """Estimate torques from positions of nodes measured every `step` seconds from the start on.

    z0, v0    (n,) known state at the first sample
    measured  (N + 1, 2 len(nodes)) x, y of the nodes in turn, m; NaN if missing; the first row is
              not used
    weight    B: one number, or one for each torque; order 0 penalises torques, 1 their differences
    start     an earlier estimate of the same data to start from; if it is for the same links, E
              does not end above its value for those torques

    `converged` and `message` of the result tell whether it converged.
    """
    if order not in (0, 1):
        raise InputError(f"order: expected 0 (torques) or 1 (their differences), got {order!r}")
    if not isinstance(max_iterations, int) or max_iterations < 1:
        raise InputError(f"max_iterations: expected 1 or more, got {max_iterations!r}")
    data = _read_data(links, nodes, measured, weight)
    state = check_state(links, z0, v0)
    h = check_step(step)
    if start is not None and start.u.shape != (len(data.measured) - 1, len(links.torques)):
        raise InputError(f"start: an estimate of other data, with torques {start.u.shape}")
    results = []
    most = math.inf
    for nearness in STARTS if start is None else (None, *STARTS):
        iteration = Iteration(links, *state, data, order, h, nearness or 1.0)
        if start is not None and nearness is None:
            moves = iteration.begin_from((start.z, start.v, start.u))
            most = (1 + NOISE) * (iteration.sums[0] + iteration.sums[1]) if moves else math.inf
        else:
            moves = iteration.begin()
        if moves:
            results.append(_solve(iteration, max_iterations))
            if results[-1].converged and results[-1].total <= most:
                break
    if not results:
        raise InputError(
            f"no motion of the linkage near the data can be computed from {len(data.measured)} "
            f"samples in steps of {step:g} s: use more samples if they do not determine the "
            "torques, shorter steps, or softer springs"
        )
    best = min(results, key=lambda found: (found.total > most, not found.converged, found.total))
    return replace(best, iterations=sum(found.iterations for found in results))


def _solve(iteration: Iteration, max_iterations: int) -> LinkEstimate:
    most = iteration.count + max_iterations
    message = iteration.improve(min(PATIENCE, max_iterations), SETTLED)
    if message != CONVERGED and iteration.count < most:
        together = min(TOGETHER, most - iteration.count)
        message = improve_jointly(iteration, together, SETTLED)
    if message != CONVERGED and iteration.count < most:
        message = iteration.improve(most - iteration.count, SETTLED)
    converged = message == CONVERGED
    if message == STOPPED:
        message = f"stopped after {max_iterations} iterations"
    if converged and (behind := count_folds(iteration)):
        message = FOLDED.format(behind)
    z, v, u = iteration.now
    t = np.arange(len(z), dtype=np.float64) * iteration.h
    return LinkEstimate(
        t, u, z, v, iteration.data.B, iteration.order, float(iteration.sums[0]),
        float(iteration.sums[2]), iteration.count, converged, message,
    )  # fmt: skip


def _read_data(
    links: NaturalLinks,
    nodes: Sequence[str],
    measured: ArrayLike,
    weight: float | Sequence[float] | Floats,
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
        raise InputError(f"weight: expected a positive number, or {torques}, got {weight!r}")
    d = np.where(seen, d - q0, 0.0)
    return Data(Q, d, seen.astype(float), np.array(np.broadcast_to(B, torques)))

"""Loops stay closed in a simulation: states are projected onto them after every step.

Accelerations keep the second derivatives of the equations at zero; what the integration errs by in
their values and rates is removed before it can grow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.closed_dynamics import check_closed
from predyn.dynamics.evaluations import Accelerations
from predyn.dynamics.loop_closing import closing_tolerance, newton_steps
from predyn.dynamics.loop_kinematics import evaluate_loops
from predyn.dynamics.loop_rank import is_nonzero, solve_least_norm
from predyn.model import Model

Floats = NDArray[np.float64]
START = 1e-6  # m, rad, m/s and rad/s, largest gap and rate of a start
MOST_STEPS = 6  # of Newton's method; one or two suffice unless a step was far too long


class Projection:
    """Moves states (B, n) onto closed loops, and keeps the rank of their equations.

    The rank is the largest one at closed poses so far. Between them, in the stages of a step, more
    equations may seem independent, which would block a linkage.
    """

    def __init__(self, model: Model, accelerations: Accelerations, q: Floats) -> None:
        self._model, self._accelerations = model, accelerations
        self._update_rank(evaluate_loops(model, model.loops, q)[1])

    def __call__(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions, velocities, and the largest value (B,) that is left, zero where it is small.

        States that are not finite are returned as they are.
        """
        known = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        q, v, left = q.copy(), v.copy(), np.zeros(len(q))
        if known.any():
            at, moved, rest, jacobian = _project(
                self._model, q[known], v[known], self._accelerations.rank
            )
            q[known], v[known], left[known] = at, moved, rest
            self._update_rank(jacobian[rest == 0.0])
        return q, v, left

    def _update_rank(self, jacobian: Floats) -> None:
        sizes = np.linalg.svd(jacobian, compute_uv=False)
        found = int(is_nonzero(sizes).sum(axis=-1).max(initial=0))
        self._accelerations.rank = max(self._accelerations.rank or 0, found)


def projection_of(model: Model, accelerations: Accelerations, q: Floats) -> Projection | None:
    """The projection of a model with loops, in a simulation that starts at poses (B, n)."""
    return Projection(model, accelerations, q) if model.loops else None


def close_start(model: Model, q: Floats, v: Floats, lead: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Flat start states on closed loops; an InputError if they are further than START from them."""
    if not model.loops:
        return q, v
    check_closed(model, model.loops, q, v, START, lead, ("q0", "v0"))
    q, v, _, _ = _project(model, q, v, None)
    return q, v


def _project(
    model: Model, q: Floats, v: Floats, rank: int | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """States (B, n) on closed loops, the values (B,) that are left if not small, the Jacobian."""
    q, rest, jacobian = newton_steps(model, model.loops, q, MOST_STEPS, rank)
    rates = np.einsum("bij,bj->bi", jacobian, v)
    left = np.where(rest > 10.0 * closing_tolerance(model, q), rest, 0.0)
    return q, v - solve_least_norm(jacobian, rates, rank=rank), left, jacobian

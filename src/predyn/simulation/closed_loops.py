"""Loops stay closed in a simulation: states are projected onto them after every step.

Accelerations keep the second derivatives of the equations at zero; what the integration errs by in
their values and rates is removed before it can grow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.closed_dynamics import check_closed
from predyn.dynamics.loop_closing import closing_tolerance, newton_steps
from predyn.dynamics.loop_rank import solve_least_norm
from predyn.model import Model

Floats = NDArray[np.float64]
START = 1e-6  # m, rad, m/s and rad/s, largest gap and rate of a start
MOST_STEPS = 6  # of Newton's method; one or two suffice unless a step was far too long


class Projection:
    """Moves states (B, n) onto closed loops."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __call__(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions, velocities, and the largest value (B,) that is left, zero where it is small.

        States that are not finite are returned as they are.
        """
        known = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        q, v, left = q.copy(), v.copy(), np.zeros(len(q))
        if known.any():
            model, loops = self._model, self._model.loops
            at, rest, jacobian = newton_steps(model, loops, q[known], MOST_STEPS)
            rates = np.einsum("bij,bj->bi", jacobian, v[known])
            q[known], v[known] = at, v[known] - solve_least_norm(jacobian, rates)
            left[known] = np.where(rest > 10.0 * closing_tolerance(model, at), rest, 0.0)
        return q, v, left


def projection_of(model: Model) -> Projection | None:
    """The projection of a model with loops."""
    return Projection(model) if model.loops else None


def close_start(model: Model, q: Floats, v: Floats, lead: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Flat start states on closed loops; an InputError if they are further than START from them."""
    if not model.loops:
        return q, v
    check_closed(model, model.loops, q, v, START, lead, ("q0", "v0"))
    q, v, _ = Projection(model)(q, v)
    return q, v

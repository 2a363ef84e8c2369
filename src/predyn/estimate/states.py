"""States, torques and measured channels of an estimated motion, with their standard deviations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.estimate import band
from predyn.estimate.observations import Marker, Observations
from predyn.estimate.result import Channel
from predyn.estimate.smoother import Levels, Posterior
from predyn.estimate.spline_grid import TOUCHED, Floats, Grid
from predyn.model import PRISMATIC


def node_deviations(grid: Grid, C: Floats) -> tuple[Floats, Floats]:
    """Standard deviations (K + 1, n) of q and v at the nodes, from covariances in the band."""
    n, middle = grid.n, (C.shape[1] - 1) // 2
    own = C[:, middle].reshape(-1, n)
    next_block = C[: grid.size - n, middle + n].reshape(-1, n)
    both = own[:-1] + own[1:]
    q = 0.25 * (both + 2.0 * next_block)
    v = (both - 2.0 * next_block) / grid.h**2
    return np.sqrt(np.maximum(q, 0.0)), np.sqrt(np.maximum(v, 0.0))


def torque_deviations(grid: Grid, posterior: Posterior) -> Floats:
    """Standard deviations (K, n) of the torques."""
    n = grid.n
    first = np.repeat(np.arange(grid.K) * n, n)
    J = posterior.linear.about.U.reshape(grid.K * n, TOUCHED * n)
    variance = band.variances(first, np.ascontiguousarray(J), posterior.C)
    return np.sqrt(np.maximum(variance, 0.0)).reshape(grid.K, n)


def channels_of(
    observations: Observations, c: Floats, levels: Levels, estimated: NDArray[np.bool_]
) -> tuple[Channel, ...]:
    """Measured against fitted; markers by component."""
    model, fitted = observations.model, observations.fitted(c)
    out, deviations = [], observations.deviations(levels.noise)
    for number, x in enumerate(observations.observed):
        rows = np.flatnonzero(observations.thing == number)
        sd, free = float(deviations[number]), bool(estimated[number])
        parts = [(x.name, "rad", rows)]
        if isinstance(x, Marker):
            axis = observations.column[rows] % 3
            parts = [(f"{x.name}.{name}", "m", rows[axis == k]) for k, name in enumerate("xyz")]
        elif model.kind[x.joint] == PRISMATIC:
            parts = [(x.name, "m", rows)]
        kind = "marker" if isinstance(x, Marker) else "angle"
        for name, unit, at in parts:
            if len(at):
                t, measured = observations.t[observations.sample[at]], observations.measured[at]
                out.append(Channel(name, kind, unit, t, measured, fitted[at], sd, free))
    return tuple(out)

"""The motion between the nodes of a grid, and how far it exceeds its limits there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.rnea import inverse_dynamics
from predyn.model import Model
from predyn.planning.path_rows import DENSE, Grid, half_ranges
from predyn.planning.path_torques import directions

Floats = NDArray[np.float64]
KINDS = ("velocity", "acceleration", "effort")


class Excess(NamedTuple):
    """The largest excess of one limit."""

    name: str  # such as "effort of elbow"
    relative: float  # over half the distance of the limits
    value: float
    limit: float
    time: float  # s


class DenseMotion(NamedTuple):
    """The motion at DENSE + 1 places of each interval, both ends among them: (N, DENSE + 1, n).

    At a node the acceleration jumps; each interval has its own.
    """

    t: Floats  # (N, DENSE + 1)
    q: Floats
    v: Floats
    a: Floats
    tau: Floats


def dense_motion(model: Model, frictionless: Model, grid: Grid, b: Floats) -> DenseMotion:
    """The motion with squared speeds b (N + 1,) at the nodes, linear in between."""
    share = np.arange(DENSE + 1) / DENSE
    squared = b[:-1, None] * (1.0 - share) + b[1:, None] * share
    speed, h = np.sqrt(squared), grid.h[:, None]
    rate = (np.diff(b)[:, None] / (2.0 * h))[..., None]
    with np.errstate(invalid="ignore"):
        elapsed = 2.0 * h * share / (np.sqrt(b[:-1])[:, None] + speed)
    elapsed[:, 0] = 0.0
    begin = np.append(0.0, np.cumsum(elapsed[:-1, -1]))
    q, slope, bend = (_by_interval(x) for x in grid.dense)
    v, a = slope * speed[..., None], slope * rate + bend * squared[..., None]
    tau = inverse_dynamics(frictionless, q, v, a)
    way = directions(slope)
    way[:, [0, -1]] = np.where(way[:, [0, -1]] == 0.0, way[:, [1, -2]], way[:, [0, -1]])
    tau += model.coulomb * way + model.damping * v
    return DenseMotion(begin[:, None] + elapsed, q, v, a, tau)


def _by_interval(x: Floats) -> Floats:
    """(N DENSE + 1, n) as (N, DENSE + 1, n): nodes belong to both neighbours."""
    rows = x[:-1].reshape(-1, DENSE, x.shape[1])
    return np.concatenate([rows, x[DENSE::DENSE, None]], axis=1)


def find_excess(model: Model, motion: DenseMotion) -> tuple[Floats, list[Excess]]:
    """Relative excess of each interval (N,), and of each limit that is exceeded, worst first."""
    worst, found = np.zeros(len(motion.t)), []
    for kind, x in zip(KINDS, (motion.v, motion.a, motion.tau), strict=True):
        limits = getattr(model.limits, kind)
        if not np.isfinite(limits).any():
            continue
        over = np.maximum(x - limits[:, 1], limits[:, 0] - x) / half_ranges(limits)
        worst = np.maximum(worst, over.max(axis=(1, 2)))
        for joint, name in enumerate(model.joint_names):
            k, place = np.unravel_index(np.argmax(over[..., joint]), over.shape[:2])
            most = float(over[k, place, joint])
            if most > 0.0:
                value = float(x[k, place, joint])
                limit = float(limits[joint, int(value > limits[joint, 1])])
                instant = float(motion.t[k, place])
                found.append(Excess(f"{kind} of {name}", most, value, limit, instant))
    return worst, sorted(found, key=lambda x: -x.relative)

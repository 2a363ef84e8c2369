"""Limits and cost along a path as rows and quadratics in the squared speeds at the nodes of a grid.

Within an interval b is linear in u and the acceleration of the path, a = (b_{k+1} - b_k) / (2 h),
constant: then the time 2 h / (sqrt(b_k) + sqrt(b_{k+1})) is exact. Torques and accelerations of the
joints are limited at both ends of every interval, with the coefficients of the node and the a of
the interval; the torques of the cost are those in its middle.

Viscous friction adds a term in sqrt(b). Where it helps to keep a limit, the row stays convex, and
the root is part of it. Where it does not, the tangent of the root at a given b stands in its place,
which never is below the root: every solution keeps the true limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.model import Model
from predyn.planning.path_torques import PathTorques, directions, path_torques
from predyn.planning.paths import Path

Floats = NDArray[np.float64]
DENSE = 8  # parts of an interval at whose ends the motion is checked
FREE = 100.0  # times the squared speed that the torques can produce: no limit
STEEPEST = 4.0  # ratio of speed limits within an interval that is resolved


class RowName(NamedTuple):
    """What one column of the rows limits."""

    kind: str  # effort or acceleration
    joint: int
    side: int  # 0: lower, 1: upper
    end: int  # 0: left, 1: right end of the interval


@dataclass(frozen=True, eq=False)
class Grid:
    """A path on a grid of nodes u (N + 1,): its derivatives, dense and at nodes and middles."""

    u: Floats
    dense: tuple[Floats, ...]  # q, q', q'' (N DENSE + 1, n)
    torques: PathTorques  # at nodes and middles (2 N + 1, n)

    @property
    def h(self) -> Floats:
        return np.diff(self.u)

    def at_nodes(self, derivative: int) -> Floats:
        return self.dense[derivative][::DENSE]


def grid_of(model: Model, frictionless: Model, path: Path, u: Floats) -> Grid:
    """Coefficients of the whole path in one batch."""
    share = np.arange(DENSE) / DENSE
    places = np.append((u[:-1, None] + np.diff(u)[:, None] * share).ravel(), u[-1])
    dense = path.at(places)
    half = tuple(x[:: DENSE // 2] for x in dense)
    return Grid(u, dense, path_torques(model, frictionless, half))


def limit_rows(model: Model, grid: Grid, around: Floats) -> tuple[Floats, list[RowName]]:
    """Rows (N, M, 5) as in reachable_speeds.py, and what their columns limit.

    around (N + 1,): squared speeds at which tangents are taken; those of the ends are given.
    """
    T, h = grid.torques, grid.h[:, None]
    slope, bend = grid.at_nodes(1), grid.at_nodes(2)
    low, high = _friction_range(model, T)
    none = np.zeros_like(slope)
    kinds = (
        ("effort", model.limits.effort, T.m[::2], T.c[::2], T.g[::2], (low, high), T.viscous[::2]),
        ("acceleration", model.limits.acceleration, slope, bend, none, (none[1:],) * 2, none),
    )
    columns, names = [], []
    for kind, limits, m, c, g, friction, viscous in kinds:
        for end in (0, 1) if np.isfinite(limits).any() else ():
            at = slice(end, len(m) - 1 + end)
            across = m[at] / (2.0 * h)
            A, B = c[at] * (1 - end) - across, c[at] * end + across
            for side, sign in ((0, -1.0), (1, 1.0)):
                rows = np.zeros((*A.shape, 5))
                rows[..., 0], rows[..., 1] = sign * A, sign * B
                rows[..., 4] = sign * (limits[:, side] - g[at] - friction[side])
                if viscous.any():
                    _add_roots(rows, sign * viscous[at], around, end)
                finite = np.isfinite(limits[:, side])
                columns.append((rows / half_ranges(limits)[:, None])[:, finite])
                names += [RowName(kind, int(j), side, end) for j in np.flatnonzero(finite)]
    return np.concatenate(columns, axis=1), names


def _friction_range(model: Model, T: PathTorques) -> tuple[Floats, Floats]:
    """Lowest and highest Coulomb friction (N, n) in each interval: both if a joint turns round."""
    middle = T.direction[1::2]
    left, right = (np.where(x == 0.0, middle, x) for x in (T.direction[:-1:2], T.direction[2::2]))
    low = np.minimum(np.minimum(left, middle), right)
    high = np.maximum(np.maximum(left, middle), right)
    return model.coulomb * low, model.coulomb * high


def half_ranges(limits: Floats) -> Floats:
    """Half the distance of the limits (n,); the size of the limit if there is only one."""
    size = np.where(np.isfinite(limits), np.abs(limits), 0.0).max(axis=1)
    half = np.where(np.isfinite(limits).all(axis=1), 0.5 * (limits[:, 1] - limits[:, 0]), size)
    return np.where(np.isfinite(half) & (half > 0.0), half, 1.0)


def _add_roots(rows: Floats, factor: Floats, around: Floats, end: int) -> None:
    """Add factor (N, n) times sqrt(b) of one end of each interval to rows (N, n, 5)."""
    N = len(rows)
    b = around[end : N + end]
    given = np.zeros(N, dtype=bool)
    given[-1 if end else 0] = True
    root = np.sqrt(b)[:, None]
    helps, hinders = np.minimum(factor, 0.0), np.maximum(factor, 0.0)
    rows[given, :, 4] -= (factor * root)[given]
    free = ~given
    rows[free, :, 2 + end] -= helps[free]
    rows[free, :, end] += hinders[free] / (2.0 * root[free])
    rows[free, :, 4] -= 0.5 * hinders[free] * root[free]


def speed_bounds(model: Model, grid: Grid) -> Floats:
    """Upper bounds (N + 1,) of b from the velocity limits, which hold between the nodes too.

    Bounds at the nodes are lowered until the straight line between them is below the bound at all
    places where the path was evaluated. Without velocity limits they are far above what the torques
    can produce.
    """
    slope = grid.dense[1]
    limit = np.where(slope > 0.0, model.limits.velocity[:, 1], -model.limits.velocity[:, 0])
    # a joint without velocity may be on a path that moves it by rounding only
    moves = np.where(limit > 0.0, slope, directions(slope)) != 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.min((limit / np.abs(slope)) ** 2, axis=1, initial=np.inf, where=moves)
    bound = np.minimum(bound, FREE * _natural_speed(model, grid))
    node = bound[::DENSE]
    inside = np.concatenate([bound[:-1].reshape(-1, DENSE), node[1:, None]], axis=1)
    lowest = STEEPEST * inside.min(axis=1)
    node = np.minimum(node, np.minimum(np.append(lowest, np.inf), np.append(np.inf, lowest)))
    share = np.arange(DENSE + 1) / DENSE
    line = node[:-1, None] * (1.0 - share) + node[1:, None] * share
    ratio = np.minimum((inside / line).min(axis=1), 1.0)
    return np.asarray(node * np.minimum(np.append(ratio, 1.0), np.append(1.0, ratio)))


def _natural_speed(model: Model, grid: Grid) -> float:
    """b that full effort or acceleration in one direction could produce along the whole path."""
    best = np.zeros(len(grid.u))
    for limits, m in (
        (model.limits.effort, grid.torques.m[::2]),
        (model.limits.acceleration, grid.at_nodes(1)),
    ):
        both = np.isfinite(limits).all(axis=1)
        if both.any():
            rate = np.abs(m[:, both]) / (limits[both, 1] - limits[both, 0])
            best = np.maximum(best, rate.max(axis=1))
    # not the least: where all joints turn round, no effort is needed and it is 0
    return float(2.0 / np.quantile(best[best > 0.0], 0.1))


class Cost(NamedTuple):
    """Cost of a program, without constants: see speed_program.py."""

    h: Floats
    quad: Floats  # (N, 6)
    linear: Floats  # (N + 1,)


class Effort(NamedTuple):
    """Relative torques in the middle of each interval: left b_k + right b_{k+1} + rest + root S/2.

    S = sqrt(b_k) + sqrt(b_{k+1}); arrays (N, n).
    """

    left: Floats
    right: Floats
    rest: Floats
    root: Floats

    def values(self, b: Floats) -> Floats:
        """(N, n)."""
        S = np.sqrt(b[:-1]) + np.sqrt(b[1:])
        linear = self.left * b[:-1, None] + self.right * b[1:, None] + self.rest
        return np.asarray(linear + 0.5 * self.root * S[:, None])


def effort_in_middles(model: Model, grid: Grid) -> Effort:
    """Torques over the size of their limits; the limits must be finite."""
    size = np.abs(model.limits.effort).max(axis=1)
    T, h = grid.torques, grid.h[:, None]
    across, along = T.m[1::2] / (2.0 * h * size), 0.5 * T.c[1::2] / size
    rest = (T.g[1::2] + model.coulomb * T.direction[1::2]) / size
    return Effort(along - across, along + across, rest, T.viscous[1::2] / size)


def cost_of_time(h: Floats) -> Cost:
    quad = np.zeros((len(h), 6))
    quad[:, 0] = 1.0
    return Cost(h, quad, np.zeros(len(h) + 1))


def cost_with_energy(h: Floats, weight: float, effort: Effort, around: Floats) -> Cost:
    """Time plus weight times the integral of the squared relative torques.

    With L linear in b and D sqrt(b) viscous, (L + D S/2)^2 / S = L^2/S + L D + D^2 S/4. The last
    part is concave; its tangent at `around` is above it, so that the cost is, up to a constant, an
    upper bound that is exact there.
    """
    x, y, e, D = effort

    def sums(p: Floats, q: Floats) -> Floats:
        return np.asarray(weight * (p * q).sum(axis=1))

    quad = np.stack(
        [1.0 + sums(e, e), 2.0 * sums(x, e), 2.0 * sums(y, e), sums(x, x), 2.0 * sums(x, y),
         sums(y, y)], axis=1)  # fmt: skip
    linear = np.zeros(len(h) + 1)
    if D.any():
        linear[:-1] += 2.0 * h * sums(x, D)
        linear[1:] += 2.0 * h * sums(y, D)
        bent = 0.5 * h * sums(D, D)
        share = (np.append(bent, 0.0) + np.append(0.0, bent))[1:-1]
        linear[1:-1] += share / (2.0 * np.sqrt(around[1:-1]))
    return Cost(h, quad, linear)

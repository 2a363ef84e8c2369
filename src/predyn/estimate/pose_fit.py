"""Poses that meet measured points and angles: damped least squares for many samples at once.

Unknowns are the joint positions in units of 1 rad or, for slides, of the model's length scale;
points are measured in that length too. Directions that nothing measures stay where they start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.marker_points import Point, find_points, point_tree
from predyn.model import PRISMATIC, REVOLUTE, Model
from predyn.model.couplings import sources
from predyn.model.mass_check import ancestors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEAST_DAMPING, FIRST_DAMPING, MOST_DAMPING = 1e-8, 1e-4, 1e6
SMALL = 1e-12  # gain in squared residuals that ends a descent
MOST_STEPS = 30
SEEN = 0.5  # share of a joint's movement that the measurements must resolve
RESOLVED = 1e-6  # squared lever, in units of the length scale, that resolves half of a movement


class Fitted(NamedTuple):
    """Where descents from (B, n) poses ended."""

    q: Floats  # (B, n)
    cost: Floats  # (B,) sum of squared residuals
    normal: Floats  # (B, n, n) J'J of the residuals, in the unknowns' units


def length_scale(model: Model, points: Sequence[Point]) -> float:
    """A typical distance between a joint and the next joint or point on its link, m."""
    lengths = np.array(
        [np.linalg.norm(p) for p, up in zip(model.p, model.parent, strict=True) if up >= 0]
        + [np.linalg.norm(point.p) for point in points]
    )
    lengths = lengths[lengths > 1e-9 * lengths.max(initial=0.0)]
    return float(np.median(lengths)) if len(lengths) else 1.0


class PoseFit:
    """Measured points and angles of M samples, and the poses of a model that meet them.

    points   where they sit
    targets  (M, K, 3) where they were measured, m; NaN = not measured
    angles   joint number -> (M,) rad or m; NaN = not measured
    free     (n,) joints that move; all if not given
    """

    def __init__(
        self,
        model: Model,
        points: Sequence[Point],
        targets: Floats,
        angles: Mapping[int, Floats],
        free: Bools | None = None,
    ) -> None:
        n = model.n
        self.model, self.points = model, tuple(points)
        self.length = length_scale(model, points)
        self.units = np.where(model.kind == PRISMATIC, self.length, 1.0)
        self.free = np.ones(n, bool) if free is None else free
        self.measured = np.isfinite(targets)
        self.targets = np.where(self.measured, targets, 0.0)
        self.angle_joints = np.array(sorted(angles), np.int64)
        values = [angles[int(j)] for j in self.angle_joints]
        self.angles = np.array(values).reshape(len(values), len(targets)).T
        self.angle_measured = np.isfinite(self.angles)
        self.angle_values = np.where(self.angle_measured, self.angles, 0.0)
        # (M,) numbers measured at each sample
        self.counts: Ints = self.measured.sum(axis=(1, 2)) + self.angle_measured.sum(axis=1)
        self.periodic = model.kind == REVOLUTE  # joints that may be turned by full turns
        self.periodic[self.angle_joints] = False
        above = ancestors(model.parent)  # [link, joint of the tree]: the joint moves the link
        links = [point.link for point in points]
        self.carriers: Bools = above[links].reshape(len(links), len(above))
        self.reach = self.carriers  # [point, coordinate]
        if model.couplings:
            self.reach = self.carriers @ (sources(model)[:, None] == np.arange(n))
        self.view = point_tree(model, points, np.where(self.free, self.units, 0.0) / self.length)

    def at_sample(self, sample: int, chosen: Bools, copies: int) -> PoseFit:
        """One sample, repeated, with some of the points."""
        points = [point for point, use in zip(self.points, chosen, strict=True) if use]
        targets = np.where(self.measured, self.targets, np.nan)[sample][chosen]
        rows = np.broadcast_to(targets, (copies, len(points), 3))
        angles = {
            int(j): np.full(copies, self.angles[sample, k]) for k, j in enumerate(self.angle_joints)
        }
        return PoseFit(self.model, points, rows, angles, self.free)

    def with_measured_angles(self, q: Floats, at: Ints) -> Floats:
        """Poses whose measured joints are at their measured values at samples `at`."""
        q = q.copy()
        known = self.angle_measured[at]
        some = q[:, self.angle_joints]
        q[:, self.angle_joints] = np.where(known, self.angle_values[at], some)
        return q

    def equations(self, q: Floats, at: Ints) -> tuple[Floats, Floats, Floats]:
        """Cost (B,), gradient (B, n) and J'J (B, n, n) at poses (B, n) for samples `at` (B,)."""
        batch, n = q.shape
        normal = np.zeros((batch, n, n))
        gradient = np.zeros((batch, n))
        cost = np.zeros(batch)
        if self.points:
            places, jacobian = find_points(self.model, self.view, q)
            mask = self.measured[at]
            error = np.where(mask, places - self.targets[at], 0.0) / self.length
            jacobian *= mask[:, :, :, None]
            rows = jacobian.reshape(batch, -1, n)
            normal += rows.transpose(0, 2, 1) @ rows
            flat = error.reshape(batch, -1)
            gradient += (flat[:, None, :] @ rows)[:, 0]
            cost += np.einsum("bi,bi->b", flat, flat)
        joints = self.angle_joints
        if len(joints):
            mask = self.angle_measured[at] & self.free[joints]
            error = np.where(mask, q[:, joints] - self.angle_values[at], 0.0) / self.units[joints]
            normal[:, joints, joints] += mask
            gradient[:, joints] += error
            cost += np.einsum("bi,bi->b", error, error)
        return cost, gradient, normal

    def descend(self, q: Floats, at: Ints, small: float = SMALL) -> Fitted:
        """Levenberg and Marquardt's method from each pose (B, n) for its sample `at` (B,).

        small: a step that gains less than that in squared residuals is the last.
        """
        q = q.copy()
        cost, gradient, normal = self.equations(q, at)
        damping = np.full(len(q), FIRST_DAMPING)
        diagonal = np.arange(q.shape[1])
        left = np.arange(len(q))  # poses still on their way
        for _ in range(MOST_STEPS):
            damped = normal[left]
            damped[:, diagonal, diagonal] += damping[left, None]
            slope = gradient[left]
            step = np.linalg.solve(damped, -slope[:, :, None])[:, :, 0]
            promised = np.einsum("bi,bi->b", step, damping[left, None] * step - slope)
            near = promised <= small * (1.0 + 1e4 * cost[left])
            last = near & (damping[left] <= FIRST_DAMPING)
            q[left[last]] += step[last] * self.units
            going = ~last & (damping[left] < MOST_DAMPING)
            left, step, promised = left[going], step[going], promised[going]
            if not len(left):
                break
            trial = q[left] + step * self.units
            new_cost, new_gradient, new_normal = self.equations(trial, at[left])
            gain = cost[left] - new_cost
            better = gain > 0.0
            took = left[better]
            q[took], cost[took] = trial[better], new_cost[better]
            gradient[took], normal[took] = new_gradient[better], new_normal[better]
            good = gain > 0.5 * promised
            factor = np.where(good, 0.1, np.where(better, 1.0, 10.0))
            damping[left] = np.maximum(damping[left] * factor, LEAST_DAMPING)
        return Fitted(q, cost, normal)

    def apart(self, q: Floats, other: Floats, normal: Floats) -> Floats:
        """(B,) how far the measured points would move between poses, to first order."""
        d = (q - other) / self.units
        moved: Floats = np.sqrt(np.maximum(np.einsum("bi,bij,bj->b", d, normal, d), 0.0))
        return moved

    def seen(self, normal: Floats) -> Bools:
        """(B, n) joints whose movement the measurements of a sample resolve."""
        n = normal.shape[1]
        share = np.linalg.solve(normal + RESOLVED * np.eye(n), normal)
        resolved: Bools = np.diagonal(share, axis1=1, axis2=2) > SEEN
        return resolved

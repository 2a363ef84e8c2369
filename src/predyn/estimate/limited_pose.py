"""The pose of a model within its position limits that meets measured points best.

An active set of limits: joints that leave their range are held at its end, and released again if
the residuals fall when they move back inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.pose_fit import Fitted, PoseFit
from predyn.estimate.tracking import SAME
from predyn.model import PRISMATIC, REVOLUTE, Model

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BEYOND = np.deg2rad(2.0)  # rad, or m: how far outside its range a joint is worth a warning
# degrees of flexion that no person reaches, by a word in the name of a joint
IMPOSSIBLE = {"hip": 140.0, "knee": 165.0, "ankle": 80.0}
SMALL = 1e-26  # gain in squared residuals below which a pose is as exact as numbers are


class LimitedPose(NamedTuple):
    """The pose, and the one that the measurements ask for without limits."""

    fitted: Fitted  # a batch of one
    free: Floats  # (n,)


def limited_pose(fit: PoseFit, starts: Sequence[Floats]) -> LimitedPose:
    """The pose within the limits from the first of several starts that is not clearly worse.

    `fit` has one sample. Starts are in order of preference: noise alone must not choose between
    poses that differ by half turns of several hinges.
    """
    only = np.zeros(1, np.int64)
    unlimited = [fit.descend(start[None], only, SMALL) for start in starts]
    inside = [_within(fit, whole.q[0]) for whole in unlimited]
    chosen, free = (_first_good(fit, poses) for poses in (inside, unlimited))
    return LimitedPose(inside[chosen], _turned(fit.model, unlimited[free].q[0]))


def _first_good(fit: PoseFit, poses: Sequence[Fitted]) -> int:
    costs = np.array([pose.cost[0] for pose in poses])
    enough = 4.0 * costs.min() + fit.counts[0] * SAME**2  # as in first_poses
    return int(np.flatnonzero(costs <= enough)[0])


def _within(fit: PoseFit, q: Floats) -> Fitted:
    low, high = fit.model.limits.position.T
    only = np.zeros(1, np.int64)
    q = _turned(fit.model, q)
    held = np.zeros(fit.model.n, bool)
    for _ in range(4 * fit.model.n):
        outside = fit.free & ((q < low) | (q > high))
        held |= outside
        best = _partly_held(fit, held).descend(np.clip(q, low, high)[None], only, SMALL)
        q = np.where(fit.free, best.q[0], q)
        if (fit.free & ~held & ((q < low) | (q > high))).any():
            continue
        back = held & _eased(fit, q, low, high)
        if not back.any():
            break
        held &= ~back
        q = np.where(back, np.clip(q, low + 1e-6, high - 1e-6), q)
    cost, _, normal = fit.equations(q[None], only)
    return Fitted(q[None], cost, normal)


def _partly_held(fit: PoseFit, held: Bools) -> PoseFit:
    targets = np.where(fit.measured, fit.targets, np.nan)
    angles = {int(j): fit.angles[:, k] for k, j in enumerate(fit.angle_joints)}
    return PoseFit(fit.model, fit.points, targets, angles, fit.free & ~held)


def _eased(fit: PoseFit, q: Floats, low: Floats, high: Floats) -> Bools:
    """(n,) joints at a limit whose movement back inside lowers the residuals."""
    _, gradient, normal = fit.equations(q[None], np.zeros(1, np.int64))
    slope = gradient[0] / np.sqrt(np.maximum(np.diagonal(normal[0]), 1e-12))
    return np.asarray(((q <= low) & (slope < -1e-9)) | ((q >= high) & (slope > 1e-9)))


def _turned(model: Model, q: Floats) -> Floats:
    """Hinges with a range turned by whole turns to where they are nearest to it."""
    low, high = model.limits.position.T
    ranged = (model.kind == REVOLUTE) & np.isfinite(low) & np.isfinite(high)
    middle = np.where(ranged, 0.5 * (np.where(ranged, low, 0.0) + np.where(ranged, high, 0.0)), 0.0)
    turns = np.round((q - middle) / (2.0 * np.pi))
    return np.where(ranged, q - 2.0 * np.pi * turns, q)


def pose_warnings(model: Model, pose: LimitedPose, given: Bools) -> list[str]:
    """Joints that were stopped at a limit, and angles that no person reaches."""
    messages = []
    low, high = model.limits.position.T
    q = pose.fitted.q[0]
    for j, name in enumerate(model.joint_names):
        unit, factor = ("m", 1.0) if model.kind[j] == PRISMATIC else ("deg", 180.0 / np.pi)
        asked = pose.free[j]
        at_end = not given[j] and (q[j] <= low[j] or q[j] >= high[j])
        if at_end and max(low[j] - asked, asked - high[j]) > BEYOND:
            messages.append(
                f"joint {name!r}: the markers ask for {factor * asked:.3g} {unit}, outside its "
                f"limits from {factor * low[j]:.3g} to {factor * high[j]:.3g} {unit}; "
                f"{factor * q[j]:.3g} {unit} is used: check the names of the markers, left and "
                "right, and the axes of the file"
            )
        most = next((deg for word, deg in IMPOSSIBLE.items() if word in name.lower()), np.inf)
        angle = np.rad2deg(np.arctan2(np.sin(q[j]), np.cos(q[j])))
        if model.kind[j] == REVOLUTE and abs(angle) > most:
            messages.append(
                f"joint {name!r}: {angle:.3g} deg in the static pose is impossible for a person "
                f"(at most about {most:g} deg): check the names of the markers, left and right, "
                "and the axes of the file; limits in the model exclude such poses"
            )
    return messages

"""Goals of a plan: joint positions, or a pose of a frame with the branches that reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.pose_search import PoseResult, inverse_kinematics
from predyn.errors import InputError
from predyn.kernels.arguments import finite, real
from predyn.model import REVOLUTE, Model

Floats = NDArray[np.float64]
DESCENTS, MOST_BRANCHES = 40, 12  # of inverse kinematics; different joint positions kept
DIFFERENT = 0.2  # rad or m: joint positions that differ by less in every joint count as one
SAME = 1e-9  # rad or m between start and goal


@dataclass(frozen=True)
class PoseGoal:
    """A pose to plan to: the arguments of `predyn.inverse_kinematics`.

    frame        name of a frame or of a link
    position     (3,) m, of the point, world axes; None leaves a coordinate free
    orientation  axes as columns (3, 3), or roll, pitch, yaw (3,) in rad; None leaves it free
    point        (3,) m in the frame
    """

    frame: str
    position: Any = None
    orientation: ArrayLike | None = None
    point: ArrayLike = (0.0, 0.0, 0.0)


def configuration(model: Model, name: str, value: ArrayLike, ndim: int = 1) -> Floats:
    """Joint positions within the limits, (n,) or, with ndim 2, one or more rows of them."""
    q = finite(name, real(model, name, value, (model.n,)))
    if q.ndim not in (1, ndim) or not q.size:
        shapes = f"({model.n},)" + (f" or (G, {model.n})" if ndim == 2 else "")
        raise InputError(f"{name}: expected shape {shapes}, got {q.shape}")
    low, high = model.limits.position.T
    beyond = np.argwhere((q < low) | (q > high))
    if len(beyond):
        where = tuple(int(k) for k in beyond[0])
        j = where[-1]
        raise InputError(
            f"{name}: joint {model.joint_names[j]!r} is {q[where]:.6g}, outside its position "
            f"limits {low[j]:.6g} to {high[j]:.6g}"
        )
    return q


def read_goals(model: Model, start: Floats, goal: ArrayLike | PoseGoal, seed: int) -> Floats:
    """Joint positions (G, n) to plan to, nearest first; none if a pose is out of reach."""
    if isinstance(goal, PoseGoal):
        found = np.array(find_branches(model, goal, start, seed)).reshape(-1, model.n)
    else:
        found = np.atleast_2d(configuration(model, "goal", goal, 2))
    away = np.abs(found - start).max(axis=1)
    if len(found) and away.min() <= SAME:
        raise InputError("goal: the same as start; a path needs a length")
    return found[np.argsort(np.linalg.norm(found - start, axis=1), kind="stable")]


def closest_pose(model: Model, goal: PoseGoal, start: Floats, seed: int) -> PoseResult:
    """The nearest that inverse kinematics comes to a pose, from the start and random postures."""
    return inverse_kinematics(
        model, goal.frame, goal.position, goal.orientation, guess=start, point=goal.point,
        starts=DESCENTS, seed=seed,
    )  # fmt: skip


def find_branches(model: Model, goal: PoseGoal, start: Floats, seed: int) -> list[Floats]:
    """Joint positions that reach a pose and differ by more than whole turns of joints."""
    low, high = model.limits.position.T
    turns = model.kind == REVOLUTE
    reach = np.where(turns, np.pi, 1.0)
    bounded = np.isfinite(low) & np.isfinite(high)
    lowest = np.where(bounded, low, np.maximum(low, start - reach))
    highest = np.where(bounded, high, np.minimum(high, start + reach))
    random = np.random.default_rng([seed, 2])
    found: list[Floats] = []
    for k in range(DESCENTS):
        guess = start if k == 0 else random.uniform(lowest, highest)
        result = inverse_kinematics(
            model, goal.frame, goal.position, goal.orientation, guess=guess, point=goal.point,
            starts=1,
        )  # fmt: skip
        if not result.converged:
            continue
        q = _nearest_turn(model, result.q, start)
        away = np.abs(q - np.array(found).reshape(-1, model.n)).max(axis=1, initial=0.0)
        if (away > DIFFERENT).all():
            found.append(q)
        if len(found) == MOST_BRANCHES:
            break
    return found


def _nearest_turn(model: Model, q: Floats, near: Floats) -> Floats:
    """The same posture with its revolute joints in the turn nearest to another, within limits."""
    low, high = model.limits.position.T
    turned = q - 2.0 * np.pi * np.round((q - near) / (2.0 * np.pi))
    fits = (model.kind == REVOLUTE) & (turned >= low) & (turned <= high)
    return np.where(fits, turned, q)

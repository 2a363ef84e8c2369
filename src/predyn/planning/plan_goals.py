"""Goals of a plan: joint positions, or a pose of a frame with the branches that reach it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.collision.arguments import bounded
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
    also         further poses, of other frames, that must be reached at the same time
    """

    frame: str
    position: Any = None
    orientation: ArrayLike | None = None
    point: ArrayLike = (0.0, 0.0, 0.0)
    also: tuple[PoseGoal, ...] = ()


def configuration(model: Model, name: str, value: ArrayLike, ndim: int = 1) -> Floats:
    """Joint positions within the limits, (n,) or, with ndim 2, one or more rows of them."""
    q = finite(name, real(model, name, value, (model.n,)))
    if q.ndim not in (1, ndim) or not q.size:
        shapes = f"({model.n},)" + (f" or (G, {model.n})" if ndim == 2 else "")
        raise InputError(f"{name}: expected shape {shapes}, got {q.shape}")
    bounded(q, name, "rad or m")
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


class Branches(NamedTuple):
    """Joint positions that reach a pose."""

    found: list[Floats]
    nearest: PoseResult  # of all descents
    descents: int
    complete: bool  # False if time ended the descents


def given_goals(model: Model, goal: ArrayLike) -> Floats:
    """Joint positions (G, n)."""
    return np.atleast_2d(configuration(model, "goal", goal, 2))


def nearest_first(goals: Floats, start: Floats) -> Floats:
    """Goals (G, n) by their distance from the start, which must be none of them."""
    if np.abs(goals - start).max(axis=1).min() <= SAME:
        raise InputError("goal: the same as start; a path needs a length")
    return goals[np.argsort(np.linalg.norm(goals - start, axis=1), kind="stable")]


def find_branches(
    model: Model, goal: PoseGoal, start: Floats, seed: int, max_seconds: float
) -> Branches:
    """Joint positions that reach a pose and differ by more than whole turns of joints.

    The first descent begins at the start, and the clock after it: it may compile kernels.
    """
    for pose in (goal, *goal.also):
        if model.frame(pose.frame).link < 0:
            raise InputError(
                f"goal: {pose.frame!r:.60} is fixed to the world; name a link or frame that moves"
            )
    also = [
        {"frame": x.frame, "position": x.position, "orientation": x.orientation, "point": x.point}
        for x in goal.also
    ]
    low, high = model.limits.position.T
    turns = model.kind == REVOLUTE
    reach = np.where(turns, np.pi, 1.0)
    limited = np.isfinite(low) & np.isfinite(high)
    lowest = np.where(limited, low, np.maximum(low, start - reach))
    highest = np.where(limited, high, np.minimum(high, start + reach))
    random = np.random.default_rng([seed, 2])
    found: list[Floats] = []
    nearest: PoseResult | None = None
    until = np.inf
    for k in range(DESCENTS):
        if nearest is not None and time.perf_counter() >= until:
            return Branches(found, nearest, k, False)
        guess = start if k == 0 else random.uniform(lowest, highest)
        result = inverse_kinematics(
            model, goal.frame, goal.position, goal.orientation, guess=guess, point=goal.point,
            starts=1, also=also,
        )  # fmt: skip
        if nearest is None:
            nearest, until = result, time.perf_counter() + max_seconds
        nearest = min(nearest, result, key=_error)
        if not result.converged:
            continue
        q = _nearest_turn(model, result.q, start)
        away = np.abs(q - np.array(found).reshape(-1, model.n)).max(axis=1, initial=0.0)
        if (away > DIFFERENT).all():
            found.append(q)
        if len(found) == MOST_BRANCHES:
            break
    assert nearest is not None
    return Branches(found, nearest, k + 1, True)


def _error(result: PoseResult) -> float:
    return result.position_error**2 + result.angle_error**2


def _nearest_turn(model: Model, q: Floats, near: Floats) -> Floats:
    """The same posture with its revolute joints in the turn nearest to another, within limits."""
    low, high = model.limits.position.T
    turned = q - 2.0 * np.pi * np.round((q - near) / (2.0 * np.pi))
    fits = (model.kind == REVOLUTE) & (turned >= low) & (turned <= high)
    return np.where(fits, turned, q)

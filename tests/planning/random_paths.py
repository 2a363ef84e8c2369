"""Random arms with limits and random paths, some of them nasty."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from predyn import models
from predyn.dynamics import inverse_dynamics
from predyn.model import Model


class Case(NamedTuple):
    """Arguments of `retime`."""

    model: Model
    path: np.ndarray
    options: dict[str, Any]


def random_arm(rng: np.random.Generator, n: int, path: np.ndarray, friction: str) -> Model:
    """A random chain or tree whose effort limits allow to hold still anywhere on the path.

    friction: "none", "coulomb" or "viscous" (both).
    """
    model = models.random_tree(
        n, int(rng.integers(2**31)), depth_like=float(rng.choice([1.0, 0.8]))
    )
    share = np.linspace(0.0, 1.0, 30)[:, None]
    dense = np.concatenate([a + share * (b - a) for a, b in pairwise(path)])
    hold = np.abs(inverse_dynamics(model, dense, np.zeros(n), np.zeros(n))).max(axis=0)
    effort = hold * rng.uniform(1.6, 4.0, n) + rng.uniform(1.0, 20.0, n)
    limits: dict[str, Any] = {"effort": effort}
    if rng.random() < 0.8:
        limits["velocity"] = rng.uniform(0.5, 5.0, n)
    if rng.random() < 0.5:
        limits["acceleration"] = rng.uniform(2.0, 20.0, n)
    if friction != "none":
        model = replace(model, coulomb=0.1 * effort * rng.random(n))
    if friction == "viscous":
        model = replace(model, damping=0.05 * effort * rng.random(n))
    return model.with_limits(**limits)


def random_case(seed: int) -> Case:
    """One of many kinds of paths: smooth, zigzag, joints that rest or turn round, long and tiny."""
    rng = np.random.default_rng([seed, 41])
    n, kind = int(rng.integers(1, 8)), seed % 6
    points = rng.uniform(-1.5, 1.5, (int(rng.integers(2, 9)), n))
    if kind == 1:
        points = points[:1] + np.cumsum(0.3 * rng.standard_normal(points.shape), axis=0)
    elif kind == 2 and n > 1:
        points[:, rng.integers(n)] = 0.3  # a joint that rests
    elif kind == 3:
        points = points[:1] + 1e-3 * points  # a tiny path
    elif kind == 4:
        points = np.linspace(points[0], points[-1], len(points) + 10)  # a straight line
    elif kind == 5:
        points *= 4.0
    friction = ("none", "none", "coulomb", "viscous")[int(rng.integers(4))]
    interpolation = "cubic" if seed % 2 else "rounded"
    energy = (0.0, 0.0, 0.1, 1.0, 10.0)[int(rng.integers(5))]
    path = points if interpolation == "rounded" else _spline_points(points)
    model = random_arm(rng, n, path, friction)
    options = {"interpolation": interpolation, "energy": energy}
    return Case(model, points, options)


def _spline_points(points: np.ndarray) -> np.ndarray:
    """Points on the natural cubic spline over the chord length, by SciPy."""
    from scipy.interpolate import CubicSpline

    u = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    if len(points) == 2:
        return points
    return CubicSpline(u, points, bc_type="natural")(np.linspace(0.0, u[-1], 20 * len(points)))

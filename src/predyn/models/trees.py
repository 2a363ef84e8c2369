"""Random mechanisms for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.model import KINDS, Model
from predyn.model.builder import ModelBuilder
from predyn.model.parts import Array
from predyn.models.chains import MOST


def random_tree(
    n: int,
    seed: int,
    depth_like: float = 0.8,
    kinds: Sequence[str] = KINDS,
    axes: str = "random",
) -> Model:
    """A depth-first tree of n joints; equal arguments give equal models.

    A joint follows the previous one with probability `depth_like`, otherwise a random ancestor of
    that one. A joint is revolute with probability 0.85, otherwise one of the other `kinds` at
    random (if there are any). Placements: uniform rotations, standard normal positions. Inertias
    are those of random clouds of points. axes: "random", or "z" for every joint. Links l0, l1, ...,
    joints j0, j1, ...; no friction, no limits.
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n <= MOST:
        raise InputError(f"random_tree: expected 1 to {MOST} joints, got {n!r:.60}")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"random_tree: expected a seed of at least 0, got {seed!r:.60}")
    if axes not in ("random", "z"):
        raise unknown_name("axes", axes, ("random", "z"))
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("kind", kind, KINDS)
    others = [kind for kind in kinds if kind != "revolute"]
    topology = np.random.default_rng(seed)
    bodies = np.random.default_rng([seed, 1])
    parents: list[int] = []
    builder = ModelBuilder(f"random_tree_{n}_{seed}")
    for j in range(n):
        parents.append(_draw_parent(parents, depth_like, topology))
        revolute = topology.random() < 0.85 or not others
        kind = "revolute" if revolute else others[bodies.integers(len(others))]
        mass = float(bodies.uniform(0.5, 2.0))
        builder.add_link(
            f"l{j}",
            f"l{parents[j]}" if parents[j] >= 0 else "world",
            f"j{j}",
            kind,
            axis=bodies.standard_normal(3) if axes == "random" else (0.0, 0.0, 1.0),
            pitch=float(bodies.standard_normal()) if kind == "screw" else 0.0,
            origin=bodies.standard_normal(3),
            rotation=_draw_rotation(bodies),
            mass=mass,
            com=0.5 * bodies.standard_normal(3),
            inertia=_draw_inertia(mass, bodies),
        )
    return builder.build()


def _draw_parent(parents: list[int], depth_like: float, rng: np.random.Generator) -> int:
    last = len(parents) - 1
    if last < 0:
        return -1
    if rng.random() < depth_like:
        return last
    chain = []
    while last >= 0:
        chain.append(last)
        last = parents[last]
    return chain[int(rng.integers(0, len(chain)))]


def _draw_rotation(rng: np.random.Generator) -> Array:
    """A uniformly distributed rotation, from a normalised normal quaternion."""
    quaternion = rng.standard_normal(4)
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _draw_inertia(mass: float, rng: np.random.Generator) -> Array:
    """Inertia about the centre of mass of six points in a box of about 0.5 m."""
    points = 0.25 * rng.standard_normal((6, 3))
    points -= points.mean(axis=0)
    second = mass / 6 * points.T @ points
    return np.asarray(np.trace(second) * np.eye(3) - second)

"""Which pairs are checked: capsules against obstacles, and capsules of the robot that can meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predyn.collision.bodies import Body
from predyn.collision.distances import DISTANCES
from predyn.collision.scene import Scene
from predyn.collision.view import Ints, build_view
from predyn.errors import unknown_name
from predyn.model import Model

SAMPLES = 2000


class Pairs(NamedTuple):
    """Numbers of capsules and obstacles, and what is not checked."""

    world: Ints  # (W, 2) capsule, obstacle
    own: Ints  # (S, 2) capsule, capsule
    never_apart: tuple[tuple[str, str], ...]  # overlap at every sampled configuration


def find_pairs(model: Model, bodies: Sequence[Body], scene: Scene) -> Pairs:
    """All pairs except allowed ones, capsules of one link or of neighbouring links, capsules fixed
    to the world against obstacles that rest, and capsules that overlap in all of 2000 random
    configurations within the position limits (an angle without limits: within half a turn)."""
    allowed = _allowed(model, bodies, scene)
    world = [
        (k, o)
        for k, body in enumerate(bodies)
        for o, obstacle in enumerate(scene.obstacles)
        if (body.link >= 0 or obstacle.path is not None)
        and not names_of(model, body, obstacle.name) & allowed
    ]
    own = [
        (i, j)
        for i in range(len(bodies))
        for j in range(i + 1, len(bodies))
        if not neighbours(model, bodies[i].link, bodies[j].link)
        and not names_of(model, bodies[i], bodies[j].owner) & allowed
        and not names_of(model, bodies[i], bodies[j].name) & allowed
        and not names_of(model, bodies[j], bodies[i].owner) & allowed
    ]
    apart = _ever_apart(model, bodies, own)
    stuck = {
        (bodies[i].name, bodies[j].name): None
        for (i, j), ever in zip(own, apart, strict=True)
        if not ever
    }
    kept = [pair for pair, ever in zip(own, apart, strict=True) if ever]
    shape = np.int64
    return Pairs(
        np.array(world, shape).reshape(-1, 2), np.array(kept, shape).reshape(-1, 2), tuple(stuck)
    )


def neighbours(model: Model, one: int, other: int) -> bool:
    """Whether two links are the same or joined by a joint."""
    if one == other:
        return True
    low, high = min(one, other), max(one, other)
    return int(model.parent[high]) == low


def names_of(model: Model, body: Body, other: str) -> set[frozenset[str]]:
    """The pairs of names by which a capsule and something else may be allowed to touch."""
    host = "world" if body.link < 0 else model.link_names[body.link]
    return {frozenset((name, other)) for name in (body.owner, body.name, host)}


def _allowed(model: Model, bodies: Sequence[Body], scene: Scene) -> set[frozenset[str]]:
    known = {obstacle.name for obstacle in scene.obstacles} | {"world", *model.link_names}
    known |= {name for body in bodies for name in (body.owner, body.name)}
    for pair in scene.allowed:
        for name in pair:
            if name not in known:
                raise unknown_name("scene: allowed: link, part or obstacle", name, sorted(known))
    return {frozenset(pair) for pair in scene.allowed}


def _ever_apart(model: Model, bodies: Sequence[Body], own: Sequence[tuple[int, int]]) -> np.ndarray:
    """Whether the capsules of each pair are apart in at least one sampled configuration."""
    if not own:
        return np.zeros(0, bool)
    low, high = _range(model)
    q = np.random.default_rng(0).uniform(low, high, (SAMPLES, len(low)))
    view = build_view(model, bodies, (), np.zeros((0, 2), np.int64), np.array(own))
    inputs = (("q", q, (len(low),)), ("poses", np.zeros((SAMPLES, 0)), (0,)))
    (distance,) = DISTANCES(model, inputs, view=view)
    return np.asarray((distance > 0.0).any(axis=0))


def _range(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Where joints are sampled: within their limits, or a turn (2 pi m) beside a single limit."""
    low, high = model.limits.position.T.copy()
    neither = np.isinf(low) & np.isinf(high)
    low[neither], high[neither] = -np.pi, np.pi
    low, high = (
        np.where(np.isinf(low), high - 2.0 * np.pi, low),
        np.where(np.isinf(high), low + 2.0 * np.pi, high),
    )
    return low, high

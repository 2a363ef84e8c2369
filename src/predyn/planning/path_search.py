"""The search for a polyline: trees grow in batches of samples until they meet or time ends.

Trees are of all joints, with those that follow others by straight lines: a straight line in the
coordinates is one in the joints.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.collision.checker import Checker
from predyn.planning.rrt_connect import EDGES, MET_START, Edges, Trees, grow, path_between
from predyn.planning.sampling import Sampling

Floats = NDArray[np.float64]
BATCH = 32  # samples between looks at the clock
CAPACITY = 1024  # nodes of a tree at first
LONGEST, SHORTEST = 0.07, 0.003  # of edges, shares of the sampled range's diagonal
DEPTH = 12  # halvings of an edge


class Search(NamedTuple):
    path: Floats | None  # (K, n); None if time ended
    iterations: int
    edges: int  # examined
    gap: float  # m, least distance between the trees


def edges_for(checker: Checker, sampling: Sampling, margin: float) -> Edges:
    """How edges are measured and proved."""
    names, joints = checker.model.joint_names, checker.model.expanded.joint_names
    given = dict(zip(names, sampling.weight, strict=True))
    weight = np.array([given.get(name, 0.0) for name in joints])  # followers do not count
    longest, shortest = LONGEST * sampling.diagonal, SHORTEST * sampling.diagonal
    points, times = np.empty((1, 2, len(joints))), np.empty((1, 2))
    scratch = checker.scratch(2, DEPTH)
    return Edges(weight, longest, shortest, margin, DEPTH, points, times, scratch)


def find_path(
    checker: Checker, start: Floats, goals: Floats, edges: Edges, sampling: Sampling, *,
    seed: int, max_seconds: float,
) -> Search:  # fmt: skip
    """A path of proved edges between start (n,) and one of goals (G, n), in all joints."""
    random, view = np.random.default_rng([seed, 0]), checker.view
    trees = _plant(checker.expand(start), checker.expand(goals))
    grow(view, trees, trees.q[1, :0], edges)  # compiles or loads: not part of the search
    until, iterations = time.perf_counter() + max_seconds, 0
    samples = checker.expand(goals)  # straight lines first
    while True:
        used = grow(view, trees, samples, edges)
        iterations += used
        if trees.ints[MET_START] >= 0 or time.perf_counter() >= until:
            break
        if used == len(samples):
            samples = checker.expand(sampling.draw(random, BATCH))
        else:
            samples, trees = samples[used:], _with_double_room(trees)
    path = path_between(trees) if trees.ints[MET_START] >= 0 else None
    return Search(path, iterations, int(trees.ints[EDGES]), float(trees.gap[0]))


def _plant(start: Floats, goals: Floats) -> Trees:
    """Trees of roots only."""
    capacity = max(CAPACITY, 2 * len(goals))
    q = np.empty((2, capacity, len(start)))
    q[0, 0], q[1, : len(goals)] = start, goals
    count = np.array([1, len(goals)])
    ints = np.array([0, -1, -1, 0])
    return Trees(q, np.full((2, capacity), -1), count, ints, np.array([np.inf]))


def _with_double_room(trees: Trees) -> Trees:
    q = np.concatenate([trees.q, np.empty_like(trees.q)], axis=1)
    parent = np.concatenate([trees.parent, np.full_like(trees.parent, -1)], axis=1)
    return trees._replace(q=q, parent=parent)

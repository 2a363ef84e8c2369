"""RRT-Connect with proved edges: two trees of configurations, from the start and from the goals.

Kuffner and LaValle, "RRT-Connect: an efficient approach to single-query path planning", ICRA 2000.
A tree grows towards a random configuration, then the other tree grows towards the new node until it
meets it or is blocked. The smaller tree is next. An edge is a straight line in joint space, and it
joins a tree only if the certificate's bound on motion proves it. Where the proof of an edge stops,
the part before is kept: trees enter narrow places that no full step enters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from predyn.collision.certify_kernel import CERTIFIED, DEPTH, TIME, certify_spans
from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import jit

TREE, MET_START, MET_GOAL, EDGES = 0, 1, 2, 3  # of Trees.ints
BLOCKED, PARTIAL, STEP, REACHED = 0, 1, 2, 3  # how an extension ended
kept = keeper(__file__)


class Trees(NamedTuple):
    """Two trees, 0 from the start and 1 from the goals. The parent of a root is -1."""

    q: Any  # (2, capacity, n)
    parent: Any  # (2, capacity)
    count: Any  # (2,) nodes
    ints: Any  # (4,) tree that is next, nodes that met (-1: none yet), edges examined
    gap: Any  # (1,) least distance between the trees so far


class Edges(NamedTuple):
    """How edges are measured and proved."""

    weight: Any  # (n,) of the joints in distances
    longest: float  # length of a step
    shortest: float  # length of a part that is kept
    margin: float  # m
    depth: int  # halvings of an edge
    points: Any  # (1, 2, n) the edge
    times: Any  # (1, 2) scratch
    scratch: Any  # of certify_spans


@jit
def proved_share(view, edges):
    """Share of the edge that is proved, from its start; 1 for all of it."""
    edges.times[0, 0], edges.times[0, 1] = 0.0, 1.0
    scratch = edges.scratch
    verdict = certify_spans(view, edges.points, edges.times, edges.margin, edges.depth, scratch)
    if verdict == CERTIFIED:
        return 1.0
    # pieces are examined in order, so all before the one that failed are proved
    return max(0.0, scratch.floats[TIME] - 0.5 ** (scratch.ints[DEPTH] + 1))


@jit
def _nearest(trees, tree, weight, x):
    """(node of a tree nearest to x, its distance)."""
    best, least = 0, np.inf
    for k in range(trees.count[tree]):
        total = 0.0
        for i in range(x.shape[0]):
            away = weight[i] * (trees.q[tree, k, i] - x[i])
            total += away * away
        if total < least:
            best, least = k, total
    return best, np.sqrt(least)


@jit
def _extend(view, trees, tree, node, target, distance, edges):
    """Grow a tree by one step from a node towards a target at some distance: how it ended. The new
    node, if any, is the last of the tree."""
    n = target.shape[0]
    share = min(1.0, edges.longest / distance)
    start, end = edges.points[0, 0], edges.points[0, 1]
    for i in range(n):
        start[i] = trees.q[tree, node, i]
        end[i] = target[i] if share == 1.0 else start[i] + share * (target[i] - start[i])
    trees.ints[EDGES] += 1
    proved = proved_share(view, edges)
    if proved < 1.0 and proved * share * distance < edges.shortest:
        return BLOCKED
    new = trees.count[tree]
    for i in range(n):
        trees.q[tree, new, i] = end[i] if proved == 1.0 else start[i] + proved * (end[i] - start[i])
    trees.parent[tree, new] = node
    trees.count[tree] += 1
    if proved < 1.0:
        return PARTIAL
    return REACHED if share == 1.0 else STEP


@jit
def _connect(view, trees, tree, target, edges):
    """Grow a tree towards a target step by step: the node that is there, -1 if none is."""
    node, distance = _nearest(trees, tree, edges.weight, target)
    if distance == 0.0:
        return node
    while trees.count[tree] < trees.q.shape[1]:
        trees.gap[0] = min(trees.gap[0], distance)
        ended = _extend(view, trees, tree, node, target, distance, edges)
        node = trees.count[tree] - 1
        if ended != STEP:
            return node if ended == REACHED else -1
        distance -= edges.longest
    return -1


@kept
def grow(view, trees, samples, edges):
    """Grow the trees towards samples (B, n) until they meet: number of samples used.

    Fewer are used if the trees have met (`trees.ints`) or one is full.
    """
    for k in range(samples.shape[0]):
        tree = trees.ints[TREE]
        other = 1 - tree
        if trees.count[tree] == trees.q.shape[1]:
            return k
        node, distance = _nearest(trees, tree, edges.weight, samples[k])
        trees.ints[TREE] = other
        if distance == 0.0:
            continue
        if _extend(view, trees, tree, node, samples[k], distance, edges) == BLOCKED:
            continue
        new = trees.count[tree] - 1
        there = _connect(view, trees, other, trees.q[tree, new], edges)
        if there >= 0:
            trees.ints[MET_START] = new if tree == 0 else there
            trees.ints[MET_GOAL] = there if tree == 0 else new
            trees.gap[0] = 0.0
            return k + 1
        if trees.count[tree] < trees.count[other]:
            trees.ints[TREE] = tree
    return samples.shape[0]


def path_between(trees: Trees) -> np.ndarray:
    """The path (K, n) from the start to a goal through the nodes that met."""
    halves = []
    for tree, at in ((0, trees.ints[MET_START]), (1, trees.ints[MET_GOAL])):
        nodes = []
        while at >= 0:
            nodes.append(trees.q[tree, at])
            at = trees.parent[tree, at]
        halves.append(nodes)
    return np.array(halves[0][::-1] + halves[1][1:])

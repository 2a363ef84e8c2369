"""RRT-Connect with proved edges: two trees of configurations, from the start and from the goals.

Kuffner and LaValle, "RRT-Connect: an efficient approach to single-query path planning", ICRA 2000.
A tree grows towards a random configuration, then the other tree grows towards the new node until it
meets it or is blocked. An edge is a straight line in joint space, and it joins a tree only if
`certify_spans` proves it. Where a proof fails, the part of the edge that was proved up to there is
kept, so that trees advance into narrow places that no full step enters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from predyn.collision.certify_kernel import CERTIFIED, DEPTH, TIME, certify_spans
from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import jit

TREE, MET_START, MET_GOAL, EDGES = 0, 1, 2, 3  # of Trees.ints
kept = keeper(__file__)


class Trees(NamedTuple):
    """Two trees, 0 from the start and 1 from the goals. Roots have the parent -1."""

    q: Any  # (2, capacity, n)
    parent: Any  # (2, capacity)
    count: Any  # (2,) nodes
    domain: Any  # (2, capacity) distance beyond which a node is not extended
    ints: Any  # (4,) tree whose turn it is, nodes that met (-1: none), edges examined
    gap: Any  # (1,) least distance between the trees that was seen
    edge: Any  # (1, 2, n) scratch
    times: Any  # (1, 2) scratch


class Steps(NamedTuple):
    weight: Any  # (n,) of the joints in distances
    longest: float  # length of an edge
    shortest: float  # length of an edge that is kept
    margin: float
    depth: int


@jit
def _distance2(weight, x, y):
    total = 0.0
    for i in range(x.shape[0]):
        away = weight[i] * (x[i] - y[i])
        total += away * away
    return total


@jit
def nearest(trees, tree, weight, x):
    """(node of a tree nearest to x, its distance)."""
    best, least = 0, np.inf
    for k in range(trees.count[tree]):
        total = 0.0
        for i in range(x.shape[0]):
            away = weight[i] * (trees.q[tree, k, i] - x[i])
            total += away * away
            if total >= least:
                break
        if total < least:
            best, least = k, total
    return best, np.sqrt(least)


@jit
def proved_share(view, trees, steps, scratch):
    """Share of the edge that is proved, from its start."""
    trees.times[0, 0], trees.times[0, 1] = 0.0, 1.0
    trees.ints[EDGES] += 1
    verdict = certify_spans(view, trees.edge, trees.times, steps.margin, steps.depth, scratch)
    if verdict == CERTIFIED:
        return 1.0
    return max(0.0, scratch.floats[TIME] - 0.5 ** (scratch.ints[DEPTH] + 1))


@jit
def _extend(view, trees, tree, node, target, distance, steps, scratch):
    """Grow a tree from a node towards a target by one step: (new node or -1, whether reached)."""
    n = target.shape[0]
    share = min(1.0, steps.longest / max(distance, 1e-300))
    for i in range(n):
        start = trees.q[tree, node, i]
        trees.edge[0, 0, i] = start
        trees.edge[0, 1, i] = target[i] if share == 1.0 else start + share * (target[i] - start)
    proved = proved_share(view, trees, steps, scratch)
    if proved < 1.0 and proved * share * distance < steps.shortest:
        return -1, False
    new = trees.count[tree]
    for i in range(n):
        start, end = trees.edge[0, 0, i], trees.edge[0, 1, i]
        trees.q[tree, new, i] = end if proved == 1.0 else start + proved * (end - start)
    trees.parent[tree, new] = node
    trees.domain[tree, new] = np.inf
    trees.count[tree] += 1
    return new, share == 1.0 and proved == 1.0


@kept
def grow(view, trees, samples, steps, scratch):
    """Grow the trees towards samples (B, n) until they meet: number of samples used.

    Stops early when a tree is full; `trees.ints` says whether the trees have met.
    """
    capacity = trees.q.shape[1]
    for k in range(samples.shape[0]):
        tree = trees.ints[TREE]
        other = 1 - tree
        if max(trees.count[0], trees.count[1]) + 2 > capacity:
            return k
        node, distance = nearest(trees, tree, steps.weight, samples[k])
        if distance > trees.domain[tree, node]:
            trees.ints[TREE] = other
            continue
        new, _ = _extend(view, trees, tree, node, samples[k], distance, steps, scratch)
        if new < 0:
            trees.domain[tree, node] = max(4.0*steps.longest, 0*trees.domain[tree, node])
            trees.ints[TREE] = other
            continue
        target = trees.q[tree, new]
        node, distance = nearest(trees, other, steps.weight, target)
        while distance > 0.0:
            trees.gap[0] = min(trees.gap[0], distance)
            if trees.count[other] + 2 > capacity:
                break
            into, reached = _extend(view, trees, other, node, target, distance, steps, scratch)
            if reached:
                trees.gap[0] = 0.0
                trees.ints[MET_START] = new if tree == 0 else into
                trees.ints[MET_GOAL] = into if tree == 0 else new
                return k + 1
            if into < 0:
                break
            node = into
            left = np.sqrt(_distance2(steps.weight, trees.q[other, into], target))
            if left > distance-0.99*steps.longest:
                break
            distance = left
        if trees.count[other] < trees.count[tree]:
            trees.ints[TREE] = other
    return samples.shape[0]

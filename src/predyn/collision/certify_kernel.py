"""A proof that a motion keeps clear: adaptive bisection of Bézier spans with a bound on motion.

Within a span, joint i stays within D_i of its value in the middle: the curve lies in the hull of
its control points. `motion_bound.py` turns this into a bound M on the motion of each body. A
distance above M + margin in the middle proves the pair for the whole span. Otherwise the span is
halved, and the halves inherit the pairs that are still open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from predyn.collision.given_paths import key_pose, travel
from predyn.collision.motion_bound import bound_motion
from predyn.collision.pair_distance import (
    ALONG,
    FROM,
    fixed_pose,
    obstacle_distance,
    own_distance,
    place_capsules,
    work_shape,
    world_distance,
)
from predyn.collision.view import HALF_SPACE, MESH, View
from predyn.kernels.batch import aligned
from predyn.kernels.held import held
from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, dot, load3, scale, sub

CERTIFIED, COLLISION, UNDECIDED = 1, 0, -1
ROUNDING = 1e-10  # m; a proof needs this much more than the bound
# what the kernel reports besides its verdict
PAIR, SPAN, DEPTH, LEAST_PAIR, SPANS, TESTS = range(6)  # integers
TIME, DISTANCE, LEAST, LEAST_TIME, PROVED = range(5)  # floats
kept = keeper(__file__)


class Scratch(NamedTuple):
    """Memory of one check; not to be shared between threads."""

    spans: Any  # (depth + 2, points, n) control points that wait
    times: Any  # (depth + 2, 2) their first and last time
    depth: Any  # (depth + 2,)
    open: Any  # (depth + 2, P) numbers of their open pairs
    count: Any  # (depth + 2,) how many
    half: Any  # (points, n) a span as it is divided
    q: Any  # (1, n)
    reach: Any  # (n,) D
    motion: Any  # (C, n + 1) M of each capsule for the joints from each row outwards
    work: Any  # of pair_distance.py
    ints: Any  # (6,) results
    floats: Any  # (5,)
    seen: Any  # (2, n) configurations of the verdict and of the least distance
    points: Any  # (2, 3) nearest points of the pair that is reported


def scratch_for(view: View, points: int, depth: int) -> Scratch:
    """Memory for spans of `points` control points that are halved up to `depth` times."""
    n, pairs, levels = len(view.parent), len(view.world) + len(view.own), depth + 2
    return Scratch(
        np.empty((levels, points, n)), np.empty((levels, 2)), np.empty(levels, np.int64),
        np.empty((levels, max(pairs, 1)), np.int64), np.empty(levels, np.int64),
        np.empty((points, n)), np.empty((1, n)), np.empty(n),
        np.zeros((len(view.row), n + 1)), aligned(*work_shape(view)),
        np.empty(6, np.int64), np.empty(5), np.zeros((2, n)), np.zeros((2, 3)),
    )  # fmt: skip


@shared
def _halve(top, scratch):
    """De Casteljau's steps at the middle: the span at `top` becomes its second half, and the one
    above its first; fills q and the reach of the joints."""
    spans, half = scratch.spans, scratch.half
    points, n = half.shape
    for a in range(points):
        for i in range(n):
            half[a, i] = spans[top, a, i]
    for i in range(n):
        spans[top + 1, 0, i] = half[0, i]
    for r in range(1, points):
        for a in range(points - r):
            for i in range(n):
                half[a, i] = 0.5 * (half[a, i] + half[a + 1, i])
        for i in range(n):
            spans[top + 1, r, i] = half[0, i]
    for i in range(n):
        middle, far = half[0, i], 0.0
        for a in range(points):
            far = max(far, abs(spans[top, a, i] - middle))
        scratch.reach[i], scratch.q[0, i] = far, middle
    for a in range(points):
        for i in range(n):
            spans[top, a, i] = half[a, i]


@jit
def _axis_enters(view, o, R, p, x, u):
    """Whether a point of the axis x + t u is within a convex mesh."""
    t0, t1 = 0.0, 1.0
    a = sub(x, p)
    for f in range(view.plane[o], view.plane[o + 1]):
        n = (view.planes[f, 0], view.planes[f, 1], view.planes[f, 2])
        n = add(add(scale(n[0], R[0]), scale(n[1], R[1])), scale(n[2], R[2]))
        height, rise = dot(n, a) - view.planes[f, 3], dot(n, u)
        if rise > 0.0:
            t1 = min(t1, -height / rise)
        elif rise < 0.0:
            t0 = max(t0, -height / rise)
        elif height > 0.0:
            return False
    return t0 <= t1


@jit
def _check_world(view, pair, margin, start, middle, end, scratch):
    """(distance, bound on motion, whether it is a touch, whether the distance is only that of the
    bounding balls)."""
    k, o = view.world[pair, 0], view.world[pair, 1]
    work, first = scratch.work, view.parent.shape[0] + 1
    bound = scratch.motion[k, 0]
    R, p = fixed_pose(view, o, 0.0)
    slot = view.slot[o]
    if slot >= 0:
        R, p = key_pose(view.keys, slot, middle)
        at = travel(view.keys, slot, middle)
        bound += max(travel(view.keys, slot, end) - at, at - travel(view.keys, slot, start))
    x, u = load3(work, first + k, FROM), load3(work, first + k, ALONG)
    if view.kind[o] != HALF_SPACE:
        away = sub(add(x, scale(0.5, u)), p)
        ball = np.sqrt(dot(away, away)) - view.ball[o] - 0.5 * np.sqrt(dot(u, u)) - view.radius[k]
        if ball > bound + margin + ROUNDING:
            return ball, bound, False, True
    d = obstacle_distance(view, o, R, p, x, u)[0] - view.radius[k]
    scratch.ints[TESTS] += 1
    touches = d <= margin
    if touches and view.kind[o] == MESH:
        touches = _axis_enters(view, o, R, p, x, u)
    return d, bound, touches, False


@jit
def _check_own(view, own, margin, scratch):
    """The same for two capsules of the robot."""
    i, j = view.own[own, 0], view.own[own, 1]
    bound = 0.0
    if view.own[own, 2] > 0:
        bound += scratch.motion[i, view.own[own, 2]]
    if view.own[own, 3] > 0:
        bound += scratch.motion[j, view.own[own, 3]]
    work, first = scratch.work, view.parent.shape[0] + 1
    x, u = load3(work, first + i, FROM), load3(work, first + i, ALONG)
    y, v = load3(work, first + j, FROM), load3(work, first + j, ALONG)
    away = sub(add(x, scale(0.5, u)), add(y, scale(0.5, v)))
    ball = np.sqrt(dot(away, away)) - 0.5 * (np.sqrt(dot(u, u)) + np.sqrt(dot(v, v)))
    ball -= view.radius[i] + view.radius[j]
    if ball > bound + margin + ROUNDING:
        return ball, bound, False, True
    d = own_distance(view, i, j, work)[0]
    scratch.ints[TESTS] += 1
    return d, bound, d <= margin, False


@jit
def _remember(scratch, at):
    for i in range(scratch.reach.shape[0]):
        scratch.seen[at, i] = scratch.q[0, i]


@jit
def _report(scratch, pair, span, depth, time, d):
    _remember(scratch, 0)
    scratch.ints[PAIR], scratch.ints[SPAN], scratch.ints[DEPTH] = pair, span, depth
    scratch.floats[TIME], scratch.floats[DISTANCE] = time, d


@shared
def _check_middle(view, top, span, margin, scratch):
    """Check the open pairs in the middle of a span: (a collision, number of pairs still open)."""
    ints, floats, waiting = scratch.ints, scratch.floats, scratch.open
    start, end = scratch.times[top, 0], scratch.times[top, 1]
    middle, count = 0.5 * (start + end), view.world.shape[0]
    place_capsules(view, 0, scratch.q, scratch.work)
    bound_motion(view, scratch.reach, scratch.motion, scratch.work)
    ints[SPANS] += 1
    left = 0
    for at in range(scratch.count[top]):
        pair = waiting[top, at]
        if pair < count:
            d, bound, touches, far = _check_world(view, pair, margin, start, middle, end, scratch)
        else:
            d, bound, touches, far = _check_own(view, pair - count, margin, scratch)
        if d < floats[LEAST] and not far:
            floats[LEAST], floats[LEAST_TIME], ints[LEAST_PAIR] = d, middle, pair
            _remember(scratch, 1)
        if touches:
            _report(scratch, pair, span, scratch.depth[top], middle, d)
            return True, left
        if d > bound + margin + ROUNDING:
            floats[PROVED] = min(floats[PROVED], d - bound)
        else:
            waiting[top, left] = pair
            left += 1
            if left == 1:
                _report(scratch, pair, span, scratch.depth[top], middle, d)
    return False, left


@shared
def certify_spans(view, spans, times, margin, deepest, scratch):
    """Verdict on spans (S, points, n) between times (S, 2): CERTIFIED, COLLISION or UNDECIDED.

    `scratch.ints` and `scratch.floats` then hold the counts, the pair and the time.
    """
    ints, floats = scratch.ints, scratch.floats
    points, n = scratch.half.shape
    pairs = view.world.shape[0] + view.own.shape[0]
    for k in range(6):
        ints[k] = -1 if k in (PAIR, LEAST_PAIR, SPAN) else 0
    for k in range(5):
        floats[k] = np.inf
    for span in range(spans.shape[0]):
        for a in range(points):
            for i in range(n):
                scratch.spans[0, a, i] = spans[span, a, i]
        scratch.times[0, 0], scratch.times[0, 1] = times[span, 0], times[span, 1]
        scratch.depth[0], scratch.count[0], top = 0, pairs, 0
        for pair in range(pairs):
            scratch.open[0, pair] = pair
        while top >= 0:
            _halve(top, scratch)
            touches, left = _check_middle(view, top, span, margin, scratch)
            if touches:
                return COLLISION
            if left == 0:
                top -= 1
                continue
            if scratch.depth[top] >= deepest:
                return UNDECIDED
            for at in range(left):
                scratch.open[top + 1, at] = scratch.open[top, at]
            middle = 0.5 * (scratch.times[top, 0] + scratch.times[top, 1])
            scratch.times[top + 1, 0], scratch.times[top + 1, 1] = scratch.times[top, 0], middle
            scratch.times[top, 0] = middle
            scratch.depth[top] += 1
            scratch.depth[top + 1] = scratch.depth[top]
            scratch.count[top], scratch.count[top + 1] = left, left
            top += 1
    return CERTIFIED


@shared
def _locate(view, pair, time, at, scratch):
    """Fill the nearest points of a pair at a configuration that was seen."""
    for i in range(scratch.reach.shape[0]):
        scratch.q[0, i] = scratch.seen[at, i]
    place_capsules(view, 0, scratch.q, scratch.work)
    if pair < view.world.shape[0]:
        k, o = view.world[pair, 0], view.world[pair, 1]
        R, p = fixed_pose(view, o, 0.0)
        if view.slot[o] >= 0:
            R, p = key_pose(view.keys, view.slot[o], time)
        d, n, x = world_distance(view, k, o, R, p, scratch.work)
    else:
        own = pair - view.world.shape[0]
        k = view.own[own, 0]
        d, n, x, _ = own_distance(view, k, view.own[own, 1], scratch.work)
    x = sub(x, scale(view.radius[k], n))
    for i in range(3):
        scratch.points[0, i] = x[i]
        scratch.points[1, i] = x[i] - d * n[i]


@kept
def certify_motion(arguments, spans, times, margin, deepest):
    """certify_spans, with the points of the pair that decides or is nearest."""
    view, scratch = held(arguments)
    verdict = certify_spans(view, spans, times, margin, deepest, scratch)
    ints, floats = scratch.ints, scratch.floats
    if verdict != CERTIFIED:
        _locate(view, ints[PAIR], floats[TIME], 0, scratch)
    elif ints[LEAST_PAIR] >= 0:
        _locate(view, ints[LEAST_PAIR], floats[LEAST_TIME], 1, scratch)
    return verdict


@kept
def certify_edges(arguments, edges, margin, deepest, verdicts):
    """Verdicts (B,) on straight lines between configurations, edges (B, 2, n), at time 0."""
    view, scratch = held(arguments)
    times = scratch.times[:1]
    for k in range(edges.shape[0]):
        times[0, 0] = times[0, 1] = 0.0
        verdicts[k] = certify_spans(view, edges[k : k + 1], times, margin, deepest, scratch)

"""The chain rule from channels to control points, compiled, for all instants of a set at once.

A curve gives states z = (q, v, a, jerk) at an instant by q = sum_k B_k c_k and the derivatives
B'/T, B''/T^2, B'''/T^3 of the basis in normalised time. Anything that depends on states reaches the
control points c and the duration T by

    d/dc_k = sum_o B_k^(o) T^-o d/dz_o
    dz_o/dT = -o z_o / T            d2z_o/dT2 = o (o + 1) z_o / T^2

(o the order of the derivative). All arrays of numbers hold lanes: (chunks, columns, WIDTH). `used`
is the number of orders in play, 3 or 4; column j * used + o belongs to order o of joint j. Groups
are pairs of a row and a joint that it depends on.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import config
from numpy.typing import NDArray

from predyn.dynamics.kernel_cache import KernelCache
from predyn.lanes import WIDTH, align_stack, entry, jit, load, store

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]


def _kept(function: Any) -> Any:
    """Compiled when first called, and kept on disk."""
    compiled = entry(function)
    if not config.DISABLE_JIT:
        compiled._cache = KernelCache(f"{_SOURCE}.{function.__name__}")
    return compiled


class Instants(NamedTuple):
    """Where a set of instants lies on a curve."""

    first: Ints  # (chunks, WIDTH) first control point that acts
    basis: Floats  # (chunks, 4 (degree + 1), WIDTH) by order, then by control point
    fraction: Floats  # (chunks, 1, WIDTH) normalised time


class Groups(NamedTuple):
    """Rows of a matrix by joint; the groups of row r are start[r] .. start[r + 1]."""

    start: Ints  # (rows + 1,)
    row: Ints  # (groups,)
    joint: Ints  # (groups,)


@_kept
def evaluate(control, instants, T, z):
    """States z (orders, chunks, n, WIDTH) of a curve with control points (count, n)."""
    points = instants.basis.shape[1] // 4
    for o in range(z.shape[0]):
        scale = T**-o
        for c in range(z.shape[1]):
            for b in range(WIDTH):
                first = instants.first[c, b]
                for j in range(z.shape[2]):
                    total = 0.0
                    for k in range(points):
                        total += instants.basis[c, o * points + k, b] * control[first + k, j]
                    z[o, c, j, b] = total * scale


class FromStates(NamedTuple):
    """Entries that are partials in states: their column, group and order."""

    column: Ints
    group: Ints
    order: Ints


class FromChannel(NamedTuple):
    """Entries that are partials in a derived channel: their column, group, and the columns (3) of
    that channel's partials in q, v, a, -1 where there is none.
    """

    column: Ints
    group: Ints
    columns: Ints


@_kept
def chain(direct, derived, given, dq, dv, da, used, out):
    """Partials in the states from those in channels: in states, and in one derived channel."""
    align_stack()
    out[:] = 0.0
    for c in range(out.shape[0]):
        for e in range(direct.column.shape[0]):
            k = direct.group[e] * used + direct.order[e]
            store(out, c, k, load(out, c, k) + load(given, c, direct.column[e]))
        _chain(c, derived, given, dq, dv, da, used, out)


@_kept
def chain_more(derived, given, dq, dv, da, used, out):
    """Add those in another derived channel."""
    align_stack()
    for c in range(out.shape[0]):
        _chain(c, derived, given, dq, dv, da, used, out)


@jit
def _chain(c, derived, given, dq, dv, da, used, out):
    for e in range(derived.column.shape[0]):
        k = derived.group[e] * used
        p = load(given, c, derived.column[e])
        if derived.columns[e, 0] >= 0:
            store(out, c, k, load(out, c, k) + p * load(dq, c, derived.columns[e, 0]))
        if derived.columns[e, 1] >= 0:
            store(out, c, k + 1, load(out, c, k + 1) + p * load(dv, c, derived.columns[e, 1]))
        if derived.columns[e, 2] >= 0:
            store(out, c, k + 2, load(out, c, k + 2) + p * load(da, c, derived.columns[e, 2]))


@_kept
def put_rows(source, target_row, out):
    """out[target_row] = source for targets that are not negative; both (chunks, rows, WIDTH)."""
    for c in range(source.shape[0]):
        for r in range(source.shape[1]):
            for b in range(WIDTH):
                if target_row[c, r, b] >= 0:
                    out[target_row[c, r, b]] = source[c, r, b]


@_kept
def losses(values, weights, kind, width, slope, bend, totals):
    """Loss of summed rows: totals (rows,) = sum of weights rho; slope, bend = weights rho', rho''.

    kind (rows,): 0 linear, 1 square, 2 smooth absolute value, -1 not summed.
    """
    totals[:] = 0.0
    for c in range(values.shape[0]):
        for r in range(values.shape[1]):
            for b in range(WIDTH):
                w, x = weights[c, 0, b], values[c, r, b]
                rho = first = second = 0.0
                if kind[r] == 0:
                    rho, first = x, 1.0
                elif kind[r] == 1:
                    rho, first, second = x * x, 2.0 * x, 2.0
                elif kind[r] == 2:
                    root = np.sqrt(x * x + width[r] ** 2)
                    rho, first, second = root - width[r], x / root, width[r] ** 2 / root**3
                totals[r] += w * rho
                slope[c, r, b] = w * first
                bend[c, r, b] = w * second


@jit
def _to_control(instants, c, powers, source, row, column, used, k):
    """sum_o B_k^(o) T^-o source_o."""
    points = instants.basis.shape[1] // 4
    total = load(source, row, column) * load(instants.basis, c, k)
    for o in range(1, used):
        scaled = powers[o] * load(instants.basis, c, o * points + k)
        total = total + scaled * load(source, row, column + o)
    return total


@jit
def _with_duration(z, c, j, source, column, used, T):
    """sum_o source_o dz_o/dT."""
    total = load(source, c, column + 1) * load(z[1], c, j)
    for o in range(2, used):
        total = total + (1.0 * o) * load(source, c, column + o) * load(z[o], c, j)
    return (-1.0 / T) * total


@_kept
def jacobian(instants, groups, partials, explicit, z, T, powers, used, place, place_T, room, out):
    """Add to the values of a Jacobian.

    explicit (chunks, rows, WIDTH): partials in T at fixed states. place (chunks, groups * points,
    WIDTH) and place_T (chunks, rows, WIDTH) say where each goes, -1 for nowhere.
    """
    align_stack()
    points = instants.basis.shape[1] // 4
    for c in range(partials.shape[0]):
        for r in range(explicit.shape[1]):
            total = load(explicit, c, r)
            for g in range(groups.start[r], groups.start[r + 1]):
                j = groups.joint[g]
                for k in range(points):
                    value = _to_control(instants, c, powers, partials, c, g * used, used, k)
                    store(room, 0, 0, value)
                    for b in range(WIDTH):
                        p = place[c, g * points + k, b]
                        if p >= 0:
                            out[p] += room[0, 0, b]
                total = total + _with_duration(z, c, j, partials, g * used, used, T)
            store(room, 0, 0, total)
            for b in range(WIDTH):
                if place_T[c, r, b] >= 0:
                    out[place_T[c, r, b]] += room[0, 0, b]


class Sums(NamedTuple):
    """Summed rows: weight, what they add up to (a constraint, -1 the objective, -2 nothing)."""

    weight: Floats  # (rows,)
    target: Ints
    slope: Floats  # (chunks, rows, WIDTH) weight in the sum times rho'
    bend: Floats  # times rho''


class OnChannel(NamedTuple):
    """Entries of rows in a derived channel: row, column of the partial, component."""

    row: Ints
    column: Ints
    component: Ints


@_kept
def weigh(
    groups, lam, row_of, sums, sigma, partials, explicit, T, timed, used, mu, kappa, out, cross,
    square, on_channel, given, channel_weights,
):  # fmt: skip
    """Weights of the rows and what follows from them before anything is curved.

    mu of pointwise rows comes from the multipliers lam by row_of (chunks, rows, WIDTH), mu and
    kappa of summed rows from what they add up to. out (chunks, n used, WIDTH) = sum of mu times
    partials. A timed set has the factor T outside: `cross` and `square` get its share.
    channel_weights: the same sum with the partials in a derived channel.
    """
    align_stack()
    channel_weights[:] = 0.0
    for c in range(mu.shape[0]):
        for r in range(mu.shape[1]):
            factor = 0.0
            if sums.target[r] == -1:
                factor = sigma * sums.weight[r]
            elif sums.target[r] >= 0:
                factor = lam[sums.target[r]] * sums.weight[r]
            if timed:
                factor *= T
            store(mu, c, r, factor * load(sums.slope, c, r))
            store(kappa, c, r, factor * load(sums.bend, c, r))
            for b in range(WIDTH):
                if row_of[c, r, b] >= 0:
                    mu[c, r, b] = lam[row_of[c, r, b]]
        _slope(c, groups, mu, partials, used, out)
        total = 0.0 * load(mu, c, 0)
        for k in range(out.shape[1]):
            store(cross, c, k, 0.0)
        if timed:
            for k in range(out.shape[1]):
                store(cross, c, k, (1.0 / T) * load(out, c, k))
            for r in range(mu.shape[1]):
                total = total + (2.0 / T) * load(mu, c, r) * load(explicit, c, r)
        store(square, c, 0, total)
        _weigh_channel(c, on_channel, mu, given, channel_weights)


@_kept
def weigh_channel(on_channel, mu, given, out):
    """out (chunks, components, WIDTH) = sum of mu times partials in a derived channel."""
    out[:] = 0.0
    for c in range(out.shape[0]):
        _weigh_channel(c, on_channel, mu, given, out)


@jit
def _weigh_channel(c, on, mu, given, out):
    for e in range(on.row.shape[0]):
        w = load(mu, c, on.row[e]) * load(given, c, on.column[e])
        store(out, c, on.component[e], load(out, c, on.component[e]) + w)


@jit
def _slope(c, groups, mu, partials, used, out):
    """Sum over the rows of a set of mu times partials."""
    for k in range(out.shape[1]):
        store(out, c, k, 0.0)
    for g in range(groups.row.shape[0]):
        w = load(mu, c, groups.row[g])
        j = groups.joint[g] * used
        for o in range(used):
            store(out, c, j + o, load(out, c, j + o) + w * load(partials, c, g * used + o))


@_kept
def gradient(
    instants, groups, sums, totals, target, partials, explicit, z, T, powers, timed, used, mu,
    slope, room, out,
):  # fmt: skip
    """Add the gradient of the rows summed to a target to out (count, n); returns that in T."""
    align_stack()
    points = instants.basis.shape[1] // 4
    by_T = 0.0
    for r in range(mu.shape[1]):
        if timed and sums.target[r] == target:
            by_T += sums.weight[r] * totals[r]
    store(room, 0, 1, 0.0)
    for c in range(mu.shape[0]):
        for r in range(mu.shape[1]):
            factor = sums.weight[r] if sums.target[r] == target else 0.0
            if timed:
                factor *= T
            w = factor * load(sums.slope, c, r)
            store(mu, c, r, w)
            store(room, 0, 1, load(room, 0, 1) + w * load(explicit, c, r))
        _slope(c, groups, mu, partials, used, slope)
        for j in range(z.shape[2]):
            for k in range(points):
                store(room, 0, 0, _to_control(instants, c, powers, slope, c, j * used, used, k))
                for b in range(WIDTH):
                    out[instants.first[c, b] + k, j] += room[0, 0, b]
            moved = _with_duration(z, c, j, slope, j * used, used, T)
            store(room, 0, 1, load(room, 0, 1) + moved)
    for b in range(WIDTH):
        by_T += room[0, 1, b]
    return by_T


class Spread(NamedTuple):
    """Where a channel's second partials go: block of each ancestor pair, -1 for none.

    The rows of a block belong to the joint below, its columns to the one above.
    """

    block: Ints
    same: Ints  # 1 if the two joints are one


@_kept
def spread(where, curvature, used, out):
    """Add a channel's second partials (qq, qv, vv, qa), packed by pairs, to the blocks."""
    for c in range(out.shape[0]):
        _spread(c, where, curvature, used, out)


@jit
def _spread(c, where, curvature, used, out):
    qq, qv, vv, qa = curvature
    for k in range(where.block.shape[0]):
        if where.block[k] < 0:
            continue
        at = where.block[k] * used * used
        low, high = 2 * k, 2 * k + 1 - where.same[k]
        store(out, c, at, load(out, c, at) + load(qq, c, k))
        store(out, c, at + 1, load(out, c, at + 1) + load(qv, c, high))
        store(out, c, at + used, load(out, c, at + used) + load(qv, c, low))
        store(out, c, at + used + 1, load(out, c, at + used + 1) + load(vv, c, k))
        store(out, c, at + 2, load(out, c, at + 2) + load(qa, c, high))
        store(out, c, at + 2 * used, load(out, c, at + 2 * used) + load(qa, c, low))


@_kept
def outer(values, x, y, groups, partials, explicit, used, pair, out, cross, square):
    """Add second partials of f(x, y) given as values: to blocks, to cross in T, to square in T.

    x, y (entries,): rows of `groups`, `partials` and `explicit`; d2f/(dx dy) = values, and x = y
    means d2f/dx2. pair (n, n): block of two joints.
    """
    align_stack()
    for c in range(out.shape[0]):
        for e in range(x.shape[0]):
            u = load(values, c, e)
            _outer(c, x[e], y[e], u, groups, partials, used, pair, out)
            x_T, y_T = load(explicit, c, x[e]), load(explicit, c, y[e])
            _cross(c, x[e], u * y_T, groups, partials, used, cross)
            store(square, c, 0, load(square, c, 0) + u * x_T * y_T)
            if x[e] != y[e]:
                _outer(c, y[e], x[e], u, groups, partials, used, pair, out)
                _cross(c, y[e], u * x_T, groups, partials, used, cross)
                store(square, c, 0, load(square, c, 0) + u * x_T * y_T)


@jit
def _outer(c, x, y, u, groups, partials, used, pair, out):
    for g in range(groups.start[x], groups.start[x + 1]):
        i = groups.joint[g]
        for h in range(groups.start[y], groups.start[y + 1]):
            j = groups.joint[h]
            if j <= i:
                at = pair[i, j] * used * used
                for o in range(used):
                    left = u * load(partials, c, g * used + o)
                    for p in range(used):
                        k = at + o * used + p
                        store(out, c, k, load(out, c, k) + left * load(partials, c, h * used + p))


@jit
def _cross(c, x, u, groups, partials, used, cross):
    for g in range(groups.start[x], groups.start[x + 1]):
        j = groups.joint[g] * used
        for o in range(used):
            value = u * load(partials, c, g * used + o)
            store(cross, c, j + o, load(cross, c, j + o) + value)


@_kept
def hessian(
    instants, joints, where, curvature, curved_rows, kappa, groups, partials, explicit, pair,
    blocks, slope, cross, square, z, T, powers, used, place, place_T, room, out,
):  # fmt: skip
    """Add to the values of a Hessian in control points; returns the second derivative in T.

    blocks come with what is curved besides one channel's second partials and the losses of
    curved_rows. joints (blocks, 2): the joints of each block, second not after first. slope: first
    partials in the states, cross: mixed ones of T and the states at fixed states, square: second
    in T. place (first control points, blocks, points^2) and place_T (control points, n): where
    each goes in out, -1 for nowhere.
    """
    align_stack()
    points = instants.basis.shape[1] // 4
    n = z.shape[2]
    with_T = place_T.shape[0] > 0
    store(room, 0, 0, 0.0)
    for c in range(slope.shape[0]):
        _spread(c, where, curvature, used, blocks)
        for e in range(curved_rows.shape[0]):
            r = curved_rows[e]
            u, r_T = load(kappa, c, r), load(explicit, c, r)
            _outer(c, r, r, u, groups, partials, used, pair, blocks)
            _cross(c, r, u * r_T, groups, partials, used, cross)
            store(square, c, 0, load(square, c, 0) + u * r_T * r_T)
        for k in range(n * used):  # what T does to the slopes
            store(room, 0, 1 + k, load(cross, c, k))
        for e in range(joints.shape[0]):
            i, j = joints[e, 0], joints[e, 1]
            _sandwich(instants, c, e, i == j, blocks, powers, used, place, room, out)
            if with_T:
                _turn(c, e, i, j, blocks, z, T, used, room)
        if with_T:
            for j in range(n):
                for o in range(used):
                    y = load(room, 0, 1 + j * used + o)
                    s, x = load(slope, c, j * used + o), load(z[o], c, j)
                    both = (-1.0 * o / T) * x * (y + load(cross, c, j * used + o))
                    bend = (o * (o + 1.0) / (T * T)) * s * x
                    store(room, 0, 0, load(room, 0, 0) + both + bend)
                    store(room, 0, 1 + j * used + o, y - (o / T) * s)
                for k in range(points):
                    value = _to_control(instants, c, powers, room, 0, 1 + j * used, used, k)
                    store(room, 0, 1 + n * used, value)
                    for b in range(WIDTH):
                        p = place_T[instants.first[c, b] + k, j]
                        if p >= 0:
                            out[p] += room[0, 1 + n * used, b]
            store(room, 0, 0, load(room, 0, 0) + load(square, c, 0))
    total = 0.0
    for b in range(WIDTH):
        total += room[0, 0, b]
    return total


@jit
def _turn(c, e, i, j, blocks, z, T, used, room):
    """Add to the slopes of joints i and j the block times dz/dT."""
    at = e * used * used
    for o in range(used):
        for p in range(used):
            h = load(blocks, c, at + o * used + p)
            k = 1 + i * used + o
            store(room, 0, k, load(room, 0, k) - (p / T) * h * load(z[p], c, j))
            if i != j:
                k = 1 + j * used + p
                store(room, 0, k, load(room, 0, k) - (o / T) * h * load(z[o], c, i))


@jit
def _sandwich(instants, c, e, same, blocks, powers, used, place, room, out):
    """B^T block B for one pair of joints, added where it belongs."""
    points = instants.basis.shape[1] // 4
    at = e * used * used
    free = room.shape[1] - 1
    for k in range(points):
        for p in range(used):  # row k of B^T block
            total = load(instants.basis, c, k) * load(blocks, c, at + p)
            for o in range(1, used):
                scaled = powers[o] * load(instants.basis, c, o * points + k)
                total = total + scaled * load(blocks, c, at + o * used + p)
            store(room, 0, free - 1 - p, powers[p] * total)
        for m in range(k + 1 if same else points):
            total = load(instants.basis, c, m) * load(room, 0, free - 1)
            for p in range(1, used):
                total = total + load(instants.basis, c, p * points + m) * load(
                    room, 0, free - 1 - p
                )
            store(room, 0, free, total)
            for b in range(WIDTH):
                spot = place[instants.first[c, b], e, k * points + m]
                if spot >= 0:
                    out[spot] += room[0, free, b]

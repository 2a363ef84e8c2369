"""Second derivatives of the Lagrangian in control points and duration, compiled.

At each instant the Lagrangian is a function of the states; its second partials are stored in
blocks of orders by orders, one for each pair of components. They come from the terms, the channels
and the losses of summed rows, and are mapped to the control points by B^T block B (see kernels.py
for the notation).
"""

from __future__ import annotations

from typing import NamedTuple

from predyn.kernels.held import held
from predyn.kernels.lanes import WIDTH, align_stack, jit, load, store
from predyn.transcribe.kernels import Ints, kept, slopes, to_control


class OnChannel(NamedTuple):
    """Entries of rows in a derived channel: row, column of the partial, component."""

    row: Ints
    column: Ints
    component: Ints


class Spread(NamedTuple):
    """Destination of a channel's second partials: block of each pair of components, -1 for none.

    The rows of a block belong to the first of the pair, its columns to the second.
    """

    block: Ints
    same: Ints  # 1 if the two components are one


@kept
def weigh(fixed, sigma, lam, powers, T, timed):
    """Weights of the rows, and all sums that need no second partials.

    mu of a row is its weight in the Lagrangian times the slope of its loss, kappa the same with the
    loss's second derivative; row_of (chunks, rows, WIDTH): the constraints that rows add to. out
    (chunks, components * orders, WIDTH) = sum of mu times partials. The sums of a timed set have
    the factor T, whose share is added to `cross` and `square`. channel_weights: the same sum with
    the partials in a derived channel. blocks are cleared.
    """
    align_stack()
    groups, rows, sums, row_of, given, mu, kappa, second, on_channel, channel_weights = held(fixed)
    partials, explicit = rows
    out, cross, square, blocks = second
    channel_weights[:] = 0.0
    blocks[:] = 0.0
    for c in range(mu.shape[0]):
        for r in range(mu.shape[1]):
            factor = sums.weight[r]
            if timed:
                factor *= T
            if sums.kind[r] < 0:  # each instant is a constraint
                store(kappa, c, r, 0.0)
                for b in range(WIDTH):
                    i = row_of[c, r, b]
                    mu[c, r, b] = factor * lam[i] if i >= 0 else 0.0
            else:
                if sums.objective[r] == 1:
                    factor *= sigma
                else:
                    factor *= lam[row_of[c, r, 0]]
                store(mu, c, r, factor * load(sums.slope, c, r))
                store(kappa, c, r, factor * load(sums.bend, c, r))
        slopes(c, groups, mu, partials, powers, out)
        total = 0.0 * load(mu, c, 0)
        for k in range(out.shape[1]):
            store(cross, c, k, 0.0)
        if timed:
            for k in range(out.shape[1]):
                store(cross, c, k, powers[1] * load(out, c, k))
            for r in range(mu.shape[1]):
                total = total + (2.0 * powers[1]) * load(mu, c, r) * load(explicit, c, r)
        store(square, c, 0, total)
        _weigh_channel(c, on_channel, mu, given, channel_weights)


@kept
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


@kept
def spread(where, curvature, powers, out):
    """Add a channel's second partials (qq, qv, vv, qa), packed by pairs, to the blocks."""
    for c in range(out.shape[0]):
        add_spread(c, where, curvature, powers, out)


@jit
def add_spread(c, where, curvature, powers, out):
    qq, qv, vv, qa = curvature
    orders = len(powers)
    for k in range(where.block.shape[0]):
        if where.block[k] < 0:
            continue
        at = where.block[k] * orders * orders
        low, high = 2 * k, 2 * k + 1 - where.same[k]
        store(out, c, at, load(out, c, at) + load(qq, c, k))
        store(out, c, at + 1, load(out, c, at + 1) + load(qv, c, high))
        store(out, c, at + orders, load(out, c, at + orders) + load(qv, c, low))
        store(out, c, at + orders + 1, load(out, c, at + orders + 1) + load(vv, c, k))
        store(out, c, at + 2, load(out, c, at + 2) + load(qa, c, high))
        store(out, c, at + 2 * orders, load(out, c, at + 2 * orders) + load(qa, c, low))


@kept
def outer(values, x, y, groups, partials, explicit, powers, pair, out, cross, square):
    """Add second partials of f(x, y), given as values, to blocks; those in T to cross and square.

    x, y (entries,): rows of `groups`, `partials` and `explicit`; d2f/(dx dy) = values, and x = y
    means d2f/dx2. pair: block of two components.
    """
    align_stack()
    for c in range(out.shape[0]):
        for e in range(x.shape[0]):
            u = load(values, c, e)
            add_outer(c, x[e], y[e], u, groups, partials, powers, pair, out)
            x_T, y_T = load(explicit, c, x[e]), load(explicit, c, y[e])
            add_cross(c, x[e], u * y_T, groups, partials, powers, cross)
            store(square, c, 0, load(square, c, 0) + u * x_T * y_T)
            if x[e] != y[e]:
                add_outer(c, y[e], x[e], u, groups, partials, powers, pair, out)
                add_cross(c, y[e], u * x_T, groups, partials, powers, cross)
                store(square, c, 0, load(square, c, 0) + u * x_T * y_T)


@jit
def add_outer(c, x, y, u, groups, partials, powers, pair, out):
    orders = len(powers)
    for g in range(groups.start[x], groups.start[x + 1]):
        i = groups.component[g]
        for h in range(groups.start[y], groups.start[y + 1]):
            j = groups.component[h]
            if j <= i:
                at = pair[i, j] * orders * orders
                for o in range(orders):
                    left = u * load(partials, c, g * orders + o)
                    for p in range(orders):
                        k = at + o * orders + p
                        right = load(partials, c, h * orders + p)
                        store(out, c, k, load(out, c, k) + left * right)


@jit
def add_cross(c, x, u, groups, partials, powers, cross):
    orders = len(powers)
    for g in range(groups.start[x], groups.start[x + 1]):
        j = groups.component[g] * orders
        for o in range(orders):
            value = u * load(partials, c, g * orders + o)
            store(cross, c, j + o, load(cross, c, j + o) + value)


@kept
def hessian(fixed, exact, powers, place, place_T, place_TT, out):
    """Add to the values of a Hessian in control points; returns the second derivative in T.

    blocks hold all second partials except those of one channel, added here if exact, and those of
    the losses of curved_rows. members (blocks, 2): the components of each block, second not after
    first; plain (blocks,): 1 if neither is differentiated in time. slope: first partials in the
    states, cross: mixed partials in T and the states at fixed states, square: second partial in T.
    place (cells, blocks, points^2) and place_T (control points): index of each in out, -1 to skip;
    place_TT: index of the second derivative in T.
    """
    align_stack()
    instants, z, groups, rows, curved_rows, kappa, second, members, pair, main, room = held(fixed)
    partials, explicit = rows
    slope, cross, square, blocks = second
    where, curvature = main
    pairs, plain = members
    points, orders, n = len(instants.points), len(powers), z[0].shape[1]
    with_T = place_T.shape[0] > 0
    store(room, 0, 0, 0.0)
    for c in range(slope.shape[0]):
        if exact:
            add_spread(c, where, curvature, powers, blocks)
        for e in range(curved_rows.shape[0]):
            r = curved_rows[e]
            u, r_T = load(kappa, c, r), load(explicit, c, r)
            add_outer(c, r, r, u, groups, partials, powers, pair, blocks)
            add_cross(c, r, u * r_T, groups, partials, powers, cross)
            store(square, c, 0, load(square, c, 0) + u * r_T * r_T)
        for k in range(n * orders):  # effect of T on the slopes
            store(room, 0, 1 + k, load(cross, c, k))
        for e in range(pairs.shape[0]):
            i, j = pairs[e, 0], pairs[e, 1]
            if plain[e] == 1:
                _sandwich_values(instants, c, e, i, j, orders, blocks, place, room, out)
            else:
                _sandwich(instants, c, e, i, j, blocks, powers, place, room, out)
                if with_T:
                    _turn(c, e, i, j, blocks, z, powers, room)
        if with_T:
            for j in range(n):
                signal, base, stride = instants.signal[j], instants.base[j], instants.stride[j]
                for o in range(orders):
                    at = j * orders + o
                    y = load(room, 0, 1 + at)
                    s, x = load(slope, c, at), load(z[o], c, j)
                    both = (-o * powers[1]) * x * (y + load(cross, c, at))
                    bend = (o * (o + 1.0) * powers[2]) * s * x
                    store(room, 0, 0, load(room, 0, 0) + both + bend)
                    store(room, 0, 1 + at, y - (o * powers[1]) * s)
                at = 4 * points * signal
                for k in range(points):
                    value = to_control(instants, c, at, powers, room, 0, 1 + j * orders, k)
                    store(room, 0, 1 + n * orders, value)
                    total = 0.0
                    for b in range(WIDTH):
                        total += room[0, 1 + n * orders, b]
                        if instants.last[c, b]:
                            p = place_T[base + (instants.first[c, signal, b] + k) * stride]
                            if p == place_TT and p >= 0:  # the component is T itself
                                out[p] += 2.0 * total
                            elif p >= 0:
                                out[p] += total
                            total = 0.0
            store(room, 0, 0, load(room, 0, 0) + load(square, c, 0))
    total = 0.0
    for b in range(WIDTH):
        total += room[0, 0, b]
    return total


@jit
def _turn(c, e, i, j, blocks, z, powers, room):
    """Add the block times dz/dT to the slopes of components i and j."""
    orders = len(powers)
    at = e * orders * orders
    for o in range(orders):
        for p in range(orders):
            h = load(blocks, c, at + o * orders + p)
            k = 1 + i * orders + o
            store(room, 0, k, load(room, 0, k) - (p * powers[1]) * h * load(z[p], c, j))
            if i != j:
                k = 1 + j * orders + p
                store(room, 0, k, load(room, 0, k) - (o * powers[1]) * h * load(z[o], c, i))


@jit
def _sandwich(instants, c, e, i, j, blocks, powers, place, room, out):
    """Add B^T block B for one pair of components to out."""
    points, orders = len(instants.points), len(powers)
    at = e * orders * orders
    left, right = 4 * points * instants.signal[i], 4 * points * instants.signal[j]
    free = room.shape[1] - 1
    for k in range(points):
        for p in range(orders):  # row k of B^T block
            total = load(instants.basis, c, left + k) * load(blocks, c, at + p)
            for o in range(1, orders):
                scaled = powers[o] * load(instants.basis, c, left + o * points + k)
                total = total + scaled * load(blocks, c, at + o * orders + p)
            store(room, 0, free - 1 - p, powers[p] * total)
        for m in range(k + 1 if i == j else points):
            total = load(instants.basis, c, right + m) * load(room, 0, free - 1)
            for p in range(1, orders):
                basis = load(instants.basis, c, right + p * points + m)
                total = total + basis * load(room, 0, free - 1 - p)
            store(room, 0, free, total)
            added = 0.0
            for b in range(WIDTH):  # instants of one segment follow each other
                added += room[0, free, b]
                if instants.last[c, b]:
                    spot = place[instants.cell[c, b], e, k * points + m]
                    if spot >= 0:
                        out[spot] += added
                    added = 0.0


@jit
def _sandwich_values(instants, c, e, i, j, orders, blocks, place, room, out):
    """As _sandwich, for a block whose only nonzero element is that of the values (order 0)."""
    points = len(instants.points)
    left, right = 4 * points * instants.signal[i], 4 * points * instants.signal[j]
    free = room.shape[1] - 1
    value = load(blocks, c, e * orders * orders)
    for k in range(points):
        for m in range(k + 1 if i == j else points):
            both = load(instants.basis, c, left + k) * load(instants.basis, c, right + m)
            store(room, 0, free, both * value)
            added = 0.0
            for b in range(WIDTH):  # instants of one segment follow each other
                added += room[0, free, b]
                if instants.last[c, b]:
                    spot = place[instants.cell[c, b], e, k * points + m]
                    if spot >= 0:
                        out[spot] += added
                    added = 0.0

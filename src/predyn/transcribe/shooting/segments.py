"""The chain rule from states at stages to the numbers w of their segments, compiled.

Active joints depend on w through the basis of their spline, passive ones through the sensitivities
Z of stages.py. Derivatives are summed over the rows of a group of segments, lane by lane, and then
added to the output. `rows` has the row of the phase of each chunk of a set, `groups_of` its group.
`fixed` holds the arguments that never change (see Direct).
"""

from __future__ import annotations

from predyn.kernels.held import held
from predyn.kernels.lanes import WIDTH, align_stack, jit, load, store
from predyn.transcribe.curvature import add_cross, add_outer, add_spread
from predyn.transcribe.kernels import kept, slopes


@jit
def fill(grid, instants, powers, timed, z, Z, row, P, room):
    """Write dz/dw at a row to column (joint * orders + order) * P + w of room, for all active w."""
    count, others, points = len(grid.passive), len(grid.active), len(instants.points)
    orders = len(powers)
    for j in range(grid.role.shape[0]):
        for o in range(orders):
            to = (j * orders + o) * P
            if grid.role[j] >= 0:
                for w in range(P):
                    if o < 3:
                        store(room, 0, to + w, load(Z, row, (o * count + grid.role[j]) * P + w))
                    else:
                        store(room, 0, to + w, 0.0)
            else:
                first = to + 2 * count + (-1 - grid.role[j])
                for k in range(points):
                    x = powers[o] * load(instants.basis, row, o * points + k)
                    store(room, 0, first + k * others, x)
                if timed:
                    store(room, 0, to + P - 1, (-o * powers[1]) * load(z[o], row, j))


@jit
def columns(grid, points, timed, j, P):
    """First, step and count of the numbers w that act on a joint; plus T if `timed`."""
    if grid.role[j] >= 0:
        return 0, 1, P - timed
    return 2 * len(grid.passive) + (-1 - grid.role[j]), len(grid.active), points


@jit
def _add_row(grid, points, timed, j, P, weight, source, first, out, row, to):
    """out += weight * dz/dw for one order of joint j."""
    start, stride, count = columns(grid, points, timed, j, P)
    for k in range(count):
        w = start + k * stride
        store(out, row, to + w, load(out, row, to + w) + weight * load(source, 0, first + w))
    if timed:
        w = P - 1
        store(out, row, to + w, load(out, row, to + w) + weight * load(source, 0, first + w))


@kept
def gradient(fixed, powers, T, factor_T, out):
    """Add the gradient in w of the rows' share of the objective to out (groups, P); returns the
    derivative in the factor T (factor_T: whether the sum has it).
    """
    align_stack()
    on_stages, rows, groups_of, (groups, partials, explicit), sums, mu, slope = held(fixed)
    grid, instants, timed, z, Z, room = on_stages
    points, orders, P = len(instants.points), len(powers), out.shape[1]
    by_T = 0.0
    for r in range(mu.shape[1]):
        if factor_T and sums.objective[r] == 1:
            by_T += sums.weight[r] * sums.total[r]
    for c in range(mu.shape[0]):
        row, k = rows[c], groups_of[c]
        total = 0.0 * load(instants.basis, row, 0)
        for r in range(mu.shape[1]):
            factor = sums.weight[r] if sums.objective[r] == 1 else 0.0
            if factor_T:
                factor *= T
            w = factor * load(sums.slope, c, r)
            store(mu, c, r, w)
            total = total + w * load(explicit, c, r)
        slopes(c, groups, mu, partials, powers, slope)
        fill(grid, instants, powers, timed, z, Z, row, P, room)
        for j in range(grid.role.shape[0]):
            for o in range(orders):
                at = j * orders + o
                x = load(slope, c, at)
                _add_row(grid, points, timed, j, P, x, room, at * P, out, k, 0)
        if timed:
            store(out, k, P - 1, load(out, k, P - 1) + total)
    return by_T


@kept
def jacobian(fixed, powers, T, factor_T, place, out):
    """Add rows to the values of a Jacobian; place (chunks, rows * P, WIDTH)."""
    align_stack()
    on_stages, rows, (groups, partials, explicit), sums = held(fixed)
    grid, instants, timed, z, Z, room = on_stages
    points, orders = len(instants.points), len(powers)
    count = explicit.shape[1]
    P = place.shape[1] // count
    free = room.shape[1] - P
    for c in range(place.shape[0]):
        fill(grid, instants, powers, timed, z, Z, rows[c], P, room)
        for r in range(count):
            if sums.objective[r] == 1:
                continue
            factor = sums.weight[r]
            if factor_T:
                factor *= T
            weight = factor * load(sums.slope, c, r)
            for w in range(P):
                store(room, 0, free + w, 0.0)
            for g in range(groups.start[r], groups.start[r + 1]):
                j = groups.component[g]
                for o in range(orders):
                    x = load(partials, c, g * orders + o)
                    first = (j * orders + o) * P
                    _add_row(grid, points, timed, j, P, x, room, first, room, 0, free)
            if timed:
                store(room, 0, free + P - 1, load(room, 0, free + P - 1) + load(explicit, c, r))
            for w in range(P):
                store(room, 0, free + w, weight * load(room, 0, free + w))
                for b in range(WIDTH):
                    p = place[c, r * P + w, b]
                    if p >= 0:
                        out[p] += room[0, free + w, b]
    if factor_T and timed:
        for r in range(count):
            p = place[0, r * P + P - 1, 0]
            if sums.objective[r] == 0 and p >= 0:
                out[p] += sums.weight[r] * sums.total[r]


@kept
def bend(fixed, exact, powers, out):
    """Add second derivatives in w to out (groups, P (P + 1) / 2), the lower triangle by rows.

    The function of the states and its second partials are as in `hessian` of curvature.py.
    """
    align_stack()
    on_stages, rows, groups_of, (groups, partials, explicit), loss, second, channel = held(fixed)
    grid, instants, timed, z, Z, room = on_stages
    (curved_rows, kappa), (blocks, joints, pair, cross, square) = loss, second
    where, curvature = channel
    points, orders = len(instants.points), len(powers)
    n = grid.role.shape[0]
    size = out.shape[1]
    P = 0
    while size > P * (P + 1) // 2:
        P += 1
    U = n * orders * P  # W dz/dw, after dz/dw
    for c in range(blocks.shape[0]):
        row, k = rows[c], groups_of[c]
        if exact:
            add_spread(c, where, curvature, powers, blocks)
        for e in range(curved_rows.shape[0]):
            r = curved_rows[e]
            u, r_T = load(kappa, c, r), load(explicit, c, r)
            add_outer(c, r, r, u, groups, partials, powers, pair, blocks)
            if timed:
                add_cross(c, r, u * r_T, groups, partials, powers, cross)
                store(square, c, 0, load(square, c, 0) + u * r_T * r_T)
        fill(grid, instants, powers, timed, z, Z, row, P, room)
        for w in range(n * orders * P):
            store(room, 0, U + w, 0.0)
        for e in range(joints.shape[0]):
            i, j = joints[e, 0], joints[e, 1]
            for o in range(orders):
                for p in range(orders):
                    x = load(blocks, c, (e * orders + o) * orders + p)
                    left, right = (i * orders + o) * P, (j * orders + p) * P
                    _add_row(grid, points, timed, j, P, x, room, right, room, 0, U + left)
                    if i != j:
                        _add_row(grid, points, timed, i, P, x, room, left, room, 0, U + right)
        for j in range(n):
            start, stride, count = columns(grid, points, timed, j, P)
            for o in range(orders):
                at = (j * orders + o) * P
                for m in range(count + timed):
                    w = start + m * stride if m < count else P - 1
                    x = load(room, 0, at + w)
                    for y in range(w + 1):
                        spot = w * (w + 1) // 2 + y
                        store(out, k, spot, load(out, k, spot) + x * load(room, 0, U + at + y))
        if timed:
            _with_T(c, grid, points, orders, P, cross, square, room, out, k)


@jit
def _with_T(c, grid, points, orders, P, cross, square, room, out, k):
    """Add the share of the factor T and of time itself to the last row."""
    last = (P - 1) * P // 2
    total = load(square, c, 0)
    for j in range(grid.role.shape[0]):
        start, stride, acting = columns(grid, points, 1, j, P)
        for o in range(orders):
            at = (j * orders + o) * P
            x = load(cross, c, j * orders + o)
            for m in range(acting):
                w = start + m * stride
                store(out, k, last + w, load(out, k, last + w) + x * load(room, 0, at + w))
            total = total + 2.0 * x * load(room, 0, at + P - 1)
    store(out, k, last + P - 1, load(out, k, last + P - 1) + total)


@kept
def stretch(fixed, powers, out):
    """Add the effect of T on the slopes: through the splines, slope (rows, n orders) of the whole
    Lagrangian at fixed w; through the length of the steps, cross (groups, P).
    """
    align_stack()
    grid, instants, z, groups_of, slope, cross = held(fixed)
    count, others, points = len(grid.passive), len(grid.active), len(instants.points)
    P = cross.shape[1]
    last = (P - 1) * P // 2
    for row in range(slope.shape[0]):
        k = groups_of[row]
        for a in range(others):
            j = grid.active[a]
            for o in range(1, len(powers)):
                s = load(slope, row, j * len(powers) + o)
                x = (o * (o + 1.0) * powers[2]) * s * load(z[o], row, j)
                store(out, k, last + P - 1, load(out, k, last + P - 1) + x)
                for m in range(points):
                    to = last + 2 * count + a + m * others
                    basis = load(instants.basis, row, o * points + m)
                    x = (-o * powers[1] * powers[o]) * s * basis
                    store(out, k, to, load(out, k, to) + x)
    for k in range(cross.shape[0]):
        for w in range(P):
            x = load(cross, k, w)
            if w == P - 1:
                x = x + load(cross, k, w)
            store(out, k, last + w, load(out, k, last + w) + x)


@kept
def put(values, place, out):
    """out[place] += values, lane by lane; both (rows, columns, WIDTH), -1 to skip."""
    for c in range(values.shape[0]):
        for k in range(values.shape[1]):
            for b in range(WIDTH):
                if place[c, k, b] >= 0:
                    out[place[c, k, b]] += values[c, k, b]

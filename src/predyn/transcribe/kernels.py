"""The chain rule from channels to control points, compiled, for all instants of a set at once.

A curve gives states z = (q, v, a, jerk) at an instant by q = sum_k B_k c_k and the derivatives
B'/T, B''/T^2, B'''/T^3 of the basis in normalised time. Derivatives in the states are mapped to
the control points c and the duration T by

    d/dc_k = sum_o B_k^(o) T^-o d/dz_o
    dz_o/dT = -o z_o / T            d2z_o/dT2 = o (o + 1) z_o / T^2

where o is the order of the derivative. All numeric arrays are in lanes: (chunks, columns, WIDTH).
The number of orders is the length of `powers` = (1, 1/T, ..), 3 or 4; it is a tuple so that its
length is a constant for the compiler.

A component is one unknown function of time: a joint's position, a component of another signal, or
a parameter, which is a constant. Column j * orders + o belongs to order o of component j. Groups
are pairs of a row and a component that it depends on. Second derivatives are in curvature.py.

`fixed` holds the arguments that never change (see Direct); each kernel unpacks them at its start.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.held import held
from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import WIDTH, align_stack, jit, load, store

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_FILES = ("kernels.py", "curvature.py", "shooting/stages.py", "shooting/segments.py")
kept = keeper(*(Path(__file__).parent / name for name in _FILES))


class Instants(NamedTuple):
    """Position of a set of instants on the curves of all components.

    The control points of all components form one vector; those of component j are at base[j],
    base[j] + stride[j], .. in it. Components of one signal share its basis.
    """

    first: Ints  # (chunks, signals, WIDTH) first active control point of each signal
    cell: Ints  # (chunks, WIDTH) number of the combination of these
    last: NDArray[
        np.bool_
    ]  # (chunks, WIDTH) whether the next lane has another cell or does not exist
    basis: Floats  # (chunks, signals * 4 points, WIDTH) by signal, order, control point
    base: Ints  # (components,)
    stride: Ints  # (components,)
    signal: Ints  # (components,)
    points: tuple[int, ...]  # as long as the number of points that act on an instant: degree + 1

    def part(self, rows: slice | Ints) -> Instants:
        """Some of the chunks."""
        return self._replace(
            first=self.first[rows],
            cell=self.cell[rows],
            last=self.last[rows],
            basis=self.basis[rows],
        )


class Groups(NamedTuple):
    """Rows of a matrix by component; the groups of row r are start[r] .. start[r + 1]."""

    start: Ints  # (rows + 1,)
    row: Ints  # (groups,)
    component: Ints  # (groups,)


@kept
def evaluate(fixed, control, powers):
    """Compute states z of the curves: a tuple by order of (chunks, components, WIDTH)."""
    align_stack()
    instants, z, room = held(fixed)
    points = len(instants.points)
    for c in range(z[0].shape[0]):
        for j in range(z[0].shape[1]):
            signal, base, stride = instants.signal[j], instants.base[j], instants.stride[j]
            at = 4 * points * signal
            for b in range(WIDTH):
                first = base + instants.first[c, signal, b] * stride
                for k in range(points):
                    room[0, k, b] = control[first + k * stride]
            for o in range(len(z)):
                total = load(instants.basis, c, at + o * points) * load(room, 0, 0)
                for k in range(1, points):
                    total = total + load(instants.basis, c, at + o * points + k) * load(room, 0, k)
                store(z[o], c, j, powers[o] * total)


@kept
def take(fixed, x):
    """Copy free control points from x; columns are their indices in x, -1 where fixed."""
    columns, control = held(fixed)
    for k in range(columns.shape[0]):
        if columns[k] >= 0:
            control[k] = x[columns[k]]


@kept
def give(fixed, by_T, out):
    """Add the gradient of a phase to the gradient in x, and clear it."""
    gradient, columns, T_column = held(fixed)
    if T_column >= 0:
        out[T_column] += by_T
    for k in range(columns.shape[0]):
        if columns[k] >= 0:
            out[columns[k]] += gradient[k]
        gradient[k] = 0.0


# -- rows and what they depend on -----------------------------------------------------------------


class FromStates(NamedTuple):
    """Entries that are partials in states: their column, group and order."""

    column: Ints
    group: Ints
    order: Ints


class FromChannel(NamedTuple):
    """Entries that are partials in a derived channel: their column, group, and the columns (3) of
    that channel's partials in q, v, a, -1 for none.
    """

    column: Ints
    group: Ints
    columns: Ints


@kept
def chain(fixed, given):
    """Compute partials in the states from partials in states and in one derived channel."""
    align_stack()
    direct, derived, dq, dv, da, orders, out = held(fixed)
    out[:] = 0.0
    for c in range(out.shape[0]):
        for e in range(direct.column.shape[0]):
            k = direct.group[e] * orders + direct.order[e]
            store(out, c, k, load(out, c, k) + load(given, c, direct.column[e]))
        _chain(c, derived, given, dq, dv, da, orders, out)


@kept
def chain_more(derived, given, dq, dv, da, orders, out):
    """Add the share of partials in another derived channel."""
    align_stack()
    for c in range(out.shape[0]):
        _chain(c, derived, given, dq, dv, da, orders, out)


@jit
def _chain(c, derived, given, dq, dv, da, orders, out):
    for e in range(derived.column.shape[0]):
        k = derived.group[e] * orders
        p = load(given, c, derived.column[e])
        if derived.columns[e, 0] >= 0:
            store(out, c, k, load(out, c, k) + p * load(dq, c, derived.columns[e, 0]))
        if derived.columns[e, 1] >= 0:
            store(out, c, k + 1, load(out, c, k + 1) + p * load(dv, c, derived.columns[e, 1]))
        if derived.columns[e, 2] >= 0:
            store(out, c, k + 2, load(out, c, k + 2) + p * load(da, c, derived.columns[e, 2]))


class Sums(NamedTuple):
    """Summation of rows: each loss, times its weight, adds to the objective or a constraint."""

    weight: Floats  # (rows,)
    objective: Ints  # (rows,) 1: adds to the objective, 0: to constraints
    kind: Ints  # loss: 0 linear, 1 square, 2 smooth |r|; -1: each instant is a constraint
    width: Floats
    straight: Floats  # factors of r and of the smooth |r|
    bent: Floats
    slope: Floats  # (chunks, rows, WIDTH) weight of the instant times rho'
    bend: Floats  # times rho''
    total: Floats  # (rows,) sum of weight of the instant times rho


@kept
def put_rows(fixed, row_of, T, timed, out):
    """Add rows to the constraints; row_of (chunks, rows, WIDTH) has their indices, -1 for none."""
    source, sums = held(fixed)
    for r in range(source.shape[1]):
        if sums.kind[r] >= 0 and row_of[0, r, 0] >= 0:
            factor = sums.weight[r] * T if timed else sums.weight[r]
            out[row_of[0, r, 0]] += factor * sums.total[r]
    for c in range(source.shape[0]):
        for r in range(source.shape[1]):
            if sums.kind[r] < 0:
                factor = sums.weight[r] * T if timed else sums.weight[r]
                for b in range(WIDTH):
                    i = row_of[c, r, b]
                    if i >= 0:
                        out[i] += factor * source[c, r, b]


class Affine(NamedTuple):
    """Rows whose partials never change, with their offsets, and the entries of these rows."""

    rows: Ints
    offset: Floats
    row: Ints  # (entries,)
    order: Ints  # of the state, -1 for a derived channel
    component: Ints
    factor: Floats


@kept
def add_up(fixed):
    """Compute values of affine rows; slope, bend and total of summed rows.

    Returns the contribution of the summed rows to the objective.
    """
    align_stack()
    affine, z, channel, values, weights, sums = held(fixed)
    sums.total[:] = 0.0
    for c in range(values.shape[0]):
        for k in range(affine.rows.shape[0]):
            store(values, c, affine.rows[k], affine.offset[k])
        for e in range(affine.row.shape[0]):
            r, o = affine.row[e], affine.order[e]
            source = channel if o < 0 else z[o]
            x = load(source, c, affine.component[e])
            store(values, c, r, load(values, c, r) + affine.factor[e] * x)
        for r in range(values.shape[1]):
            if sums.kind[r] >= 0:
                _add_up(c, r, values, weights, sums)
    objective = 0.0
    for r in range(values.shape[1]):
        if sums.objective[r] == 1:
            objective += sums.weight[r] * sums.total[r]
    return objective


@jit
def _add_up(c, r, values, weights, sums):
    for b in range(WIDTH):
        w, x = weights[c, 0, b], values[c, r, b]
        if sums.kind[r] == 0:
            rho, first, second = x, 1.0, 0.0
        elif sums.kind[r] == 1:
            rho, first, second = x * x, 2.0 * x, 2.0
        else:
            d, straight, bent = sums.width[r], sums.straight[r], sums.bent[r]
            root = np.sqrt(x * x + d * d)
            rho = straight * x + bent * (root - d)
            first, second = straight + bent * x / root, bent * d * d / root**3
        sums.total[r] += w * rho
        sums.slope[c, r, b] = w * first
        sums.bend[c, r, b] = w * second


# -- first derivatives ----------------------------------------------------------------------------


@jit
def to_control(instants, c, at, powers, source, row, column, k):
    """sum_o B_k^(o) T^-o source_o, with the basis at column `at`."""
    points = len(instants.points)
    total = load(source, row, column) * load(instants.basis, c, at + k)
    for o in range(1, len(powers)):
        scaled = powers[o] * load(instants.basis, c, at + o * points + k)
        total = total + scaled * load(source, row, column + o)
    return total


@jit
def _with_duration(z, c, j, source, column, powers):
    """sum_o source_o dz_o/dT."""
    total = load(source, c, column + 1) * load(z[1], c, j)
    for o in range(2, len(powers)):
        total = total + (1.0 * o) * load(source, c, column + o) * load(z[o], c, j)
    return (-powers[1]) * total


@kept
def jacobian(fixed, powers, T, timed, place, place_T, out):
    """Add to the values of a Jacobian.

    explicit (chunks, rows, WIDTH): partials in T at fixed states. place (chunks, groups * points,
    WIDTH) and place_T (chunks, rows, WIDTH): index of each value in out, -1 to skip.
    """
    align_stack()
    instants, z, groups, rows, sums, room = held(fixed)
    partials, explicit = rows
    points, orders = len(instants.points), len(powers)
    for c in range(partials.shape[0]):
        for r in range(explicit.shape[1]):
            if sums.objective[r] == 1:
                continue
            factor = sums.weight[r]
            if timed:
                factor *= T
            w = factor * load(sums.slope, c, r)
            total = load(explicit, c, r)
            for g in range(groups.start[r], groups.start[r + 1]):
                j = groups.component[g]
                at = 4 * points * instants.signal[j]
                for k in range(points):
                    value = to_control(instants, c, at, powers, partials, c, g * orders, k)
                    store(room, 0, 0, w * value)
                    for b in range(WIDTH):
                        p = place[c, g * points + k, b]
                        if p >= 0:
                            out[p] += room[0, 0, b]
                total = total + _with_duration(z, c, j, partials, g * orders, powers)
            store(room, 0, 0, w * total)
            for b in range(WIDTH):
                if place_T[c, r, b] >= 0:
                    out[place_T[c, r, b]] += room[0, 0, b]
    if timed:
        for r in range(explicit.shape[1]):
            if sums.objective[r] == 0 and place_T[0, r, 0] >= 0:
                out[place_T[0, r, 0]] += sums.weight[r] * sums.total[r]


@jit
def slopes(c, groups, mu, partials, powers, out):
    """Sum over the rows of a set of mu times partials."""
    orders = len(powers)
    for k in range(out.shape[1]):
        store(out, c, k, 0.0)
    for g in range(groups.row.shape[0]):
        w = load(mu, c, groups.row[g])
        j = groups.component[g] * orders
        for o in range(orders):
            store(out, c, j + o, load(out, c, j + o) + w * load(partials, c, g * orders + o))


@kept
def gradient(fixed, powers, T, timed, out):
    """Add the gradient of the rows' share of the objective to out, one number per control point;
    returns the derivative in T.
    """
    align_stack()
    instants, z, groups, rows, sums, mu, slope, room = held(fixed)
    partials, explicit = rows
    points, orders = len(instants.points), len(powers)
    by_T = 0.0
    for r in range(mu.shape[1]):
        if timed and sums.objective[r] == 1:
            by_T += sums.weight[r] * sums.total[r]
    store(room, 0, 1, 0.0)
    for c in range(mu.shape[0]):
        for r in range(mu.shape[1]):
            factor = sums.weight[r] if sums.objective[r] == 1 else 0.0
            if timed:
                factor *= T
            w = factor * load(sums.slope, c, r)
            store(mu, c, r, w)
            store(room, 0, 1, load(room, 0, 1) + w * load(explicit, c, r))
        slopes(c, groups, mu, partials, powers, slope)
        for j in range(z[0].shape[1]):
            signal, base, stride = instants.signal[j], instants.base[j], instants.stride[j]
            at = 4 * points * signal
            for k in range(points):
                store(room, 0, 0, to_control(instants, c, at, powers, slope, c, j * orders, k))
                total = 0.0
                for b in range(WIDTH):  # instants of one segment follow each other
                    total += room[0, 0, b]
                    if instants.last[c, b]:
                        out[base + (instants.first[c, signal, b] + k) * stride] += total
                        total = 0.0
            moved = _with_duration(z, c, j, slope, j * orders, powers)
            store(room, 0, 1, load(room, 0, 1) + moved)
    for b in range(WIDTH):
        by_T += room[0, 1, b]
    return by_T

"""Integration of passive joints by RK4, one segment per lane, with exact sensitivities, compiled.

Rows of a phase: segments form groups of WIDTH, and group k has the rows

    row = (k * steps + step) * 4 + stage,      followed by one row for the end after all groups.

A segment is a function of a few numbers w: positions and velocities of the passive joints at its
start, the control points of the active joints that act on it, and the duration if free,

    w = (q_p, v_p, c_(k, active joint) with the joint index fastest, T).

At every stage tau_p(q, v, a) = 0 gives the passive accelerations, so that with all partials of
inverse dynamics

    M_pp da_p = -(dtau_p/dq dq + dtau_p/dv dv + M_pa da_a).

The adjoints are computed in reverse order: with g the slope of the Lagrangian in a_p,
nu = -M_pp^-1 g are the weights of tau_p in the second derivatives; the implicit function needs no
other second-order terms. All numeric arrays are in lanes: (rows or groups, columns, WIDTH).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from predyn.dynamics.hybrid import hybrid
from predyn.dynamics.hybrid_partitioned import hybrid_partitioned
from predyn.dynamics.hybrid_reduced import hybrid_reduced
from predyn.kernels.held import held
from predyn.kernels.lanes import align_stack, jit, load, store
from predyn.transcribe.kernels import Floats, Ints, kept


class Grid(NamedTuple):
    """The joints and steps of a phase."""

    passive: Ints  # (passive joints,)
    active: Ints  # (active joints and parameters,)
    role: Ints  # number among the passive joints, or -1 - number among the active components
    given: Ints  # (n,) 1 where the acceleration is given: the active joints
    width: Floats  # (groups, 1, WIDTH) of a step, in normalised time
    steps: int


class Pulls(NamedTuple):
    """Partials of passive torques: which torque, in which joint, columns of dq, dv, da or -1."""

    torque: Ints  # number among the passive joints
    joint: Ints
    columns: Ints  # (pulls, 3)


def _integrator(core: Any) -> Any:
    def integrate(fixed, T, first, last):
        """Compute states, accelerations and torques of groups first to last, and of the end row.

        nodes (groups + 1, 2 passive, WIDTH): states where segments begin, and at the end.
        z: q, v, a with the active joints filled in. none (rows, n, WIDTH): zeros. view: of the
        model, as the core reads it.
        """
        align_stack()
        view, loads, grid, nodes, z, none, values, tau, ends, work = held(fixed)
        q, v, a = z[0], z[1], z[2]
        ins, outs = (q, v, a, none, values), (a, tau)
        count = len(grid.passive)
        for k in range(first, last):
            h = T * load(grid.width, k, 0)
            for p in range(2 * count):
                store(ends, k, p, load(nodes, k, p))
            for step in range(grid.steps):
                row = (k * grid.steps + step) * 4
                for stage in range(4):
                    part = 0.0 if stage == 0 else 1.0 if stage == 3 else 0.5
                    for p in range(count):
                        j = grid.passive[p]
                        x, y = load(ends, k, p), load(ends, k, count + p)
                        if stage > 0:
                            x = x + part * h * load(v, row + stage - 1, j)
                            y = y + part * h * load(a, row + stage - 1, j)
                        store(q, row + stage, j, x)
                        store(v, row + stage, j, y)
                    core(view, loads, grid.given, row + stage, ins, outs, work)
                for p in range(count):
                    j = grid.passive[p]
                    for x, at in ((v, p), (a, count + p)):
                        inner = load(x, row + 1, j) + load(x, row + 2, j)
                        total = load(x, row, j) + 2.0 * inner + load(x, row + 3, j)
                        store(ends, k, at, load(ends, k, at) + (1.0 / 6.0) * h * total)
        groups = grid.width.shape[0]
        row = groups * grid.steps * 4
        for p in range(count):
            store(q, row, grid.passive[p], load(nodes, groups, p))
            store(v, row, grid.passive[p], load(nodes, groups, count + p))
        core(view, loads, grid.given, row, ins, outs, work)

    integrate.__name__ = f"integrate_{core.__name__}"
    return kept(integrate)


integrate = _integrator(hybrid)
integrate_rotors = _integrator(hybrid_partitioned)  # rotors that couple joints
integrate_reduced = _integrator(hybrid_reduced)  # joints that follow others


# -- first derivatives ----------------------------------------------------------------------------
# Z (rows, 3 passive P, WIDTH): d(q_p, v_p, a_p)/dw, column (order * passive + p) * P + w


@kept
def sensitivities(fixed, powers):
    """Fill Z, the factors (rows, passive^2) of M_pp, and d(state at the end)/dw of each segment.

    ends (groups, 2 passive P, WIDTH). timed: 1 if T is free and hence the last of the P numbers.
    """
    align_stack()
    grid, instants, timed, pulls, z, partials, factor, Z, ends = held(fixed)
    count, P = len(grid.passive), 0
    if count > 0:
        P = Z.shape[1] // (3 * count)
    for k in range(ends.shape[0]):
        width = load(grid.width, k, 0)
        h = width * (1.0 / powers[1])
        for p in range(2 * count):
            for w in range(P):
                store(ends, k, p * P + w, 1.0 if p == w else 0.0)
        for step in range(grid.steps):
            row = (k * grid.steps + step) * 4
            for stage in range(4):
                part = 0.0 if stage == 0 else 1.0 if stage == 3 else 0.5
                for p in range(count):
                    for o in range(2):
                        at, up = (o * count + p) * P, ((o + 1) * count + p) * P
                        for w in range(P):
                            x = load(ends, k, at + w)
                            if stage > 0:
                                x = x + part * h * load(Z, row + stage - 1, up + w)
                            store(Z, row + stage, at + w, x)
                        if stage > 0 and timed:
                            rate = load(z[o + 1], row + stage - 1, grid.passive[p])
                            x = load(Z, row + stage, at + P - 1) + part * width * rate
                            store(Z, row + stage, at + P - 1, x)
                _respond(grid, instants, powers, timed, pulls, z, partials, factor, Z, row + stage)
            for p in range(count):
                for o in range(2):
                    at, up = (o * count + p) * P, ((o + 1) * count + p) * P
                    for w in range(P):
                        inner = load(Z, row + 1, up + w) + load(Z, row + 2, up + w)
                        total = load(Z, row, up + w) + 2.0 * inner + load(Z, row + 3, up + w)
                        store(ends, k, at + w, load(ends, k, at + w) + (1.0 / 6.0) * h * total)
                    if timed:
                        x, j = z[o + 1], grid.passive[p]
                        inner = load(x, row + 1, j) + load(x, row + 2, j)
                        total = load(x, row, j) + 2.0 * inner + load(x, row + 3, j)
                        last = load(ends, k, at + P - 1) + (1.0 / 6.0) * width * total
                        store(ends, k, at + P - 1, last)
    row = ends.shape[0] * grid.steps * 4
    for p in range(2 * count):
        for w in range(P):
            store(Z, row, p * P + w, 1.0 if p == w else 0.0)
    _respond(grid, instants, powers, timed, pulls, z, partials, factor, Z, row)


@jit
def _respond(grid, instants, powers, timed, pulls, z, partials, factor, Z, row):
    """da_p/dw at a row where d(q_p, v_p)/dw is known."""
    dq, dv, da = partials
    count, others, points = len(grid.passive), len(grid.active), len(instants.points)
    if count == 0:
        return
    P = Z.shape[1] // (3 * count)
    for k in range(count * count):
        store(factor, row, k, 0.0)
    for k in range(count * P):
        store(Z, row, 2 * count * P + k, 0.0)
    for e in range(pulls.torque.shape[0]):
        p, j = pulls.torque[e], pulls.joint[e]
        at = (2 * count + p) * P
        by_q, by_v, by_a = pulls.columns[e, 0], pulls.columns[e, 1], pulls.columns[e, 2]
        zero = 0.0 * load(instants.basis, row, 0)
        x = load(dq, row, by_q) if by_q >= 0 else zero
        y = load(dv, row, by_v) if by_v >= 0 else zero
        m = load(da, row, by_a) if by_a >= 0 else zero
        if grid.role[j] >= 0:
            store(factor, row, p * count + grid.role[j], m)
            first, second = grid.role[j] * P, (count + grid.role[j]) * P
            for w in range(P):
                push = x * load(Z, row, first + w) + y * load(Z, row, second + w)
                store(Z, row, at + w, load(Z, row, at + w) - push)
        else:
            first = 2 * count + (-1 - grid.role[j])
            for k in range(points):
                push = x * load(instants.basis, row, k)
                push = push + powers[1] * y * load(instants.basis, row, points + k)
                push = push + powers[2] * m * load(instants.basis, row, 2 * points + k)
                w = at + first + k * others
                store(Z, row, w, load(Z, row, w) - push)
            if timed:
                push = y * load(z[1], row, j) + 2.0 * m * load(z[2], row, j)
                w = at + P - 1
                store(Z, row, w, load(Z, row, w) + powers[1] * push)
    _factorize(count, factor, row)
    for w in range(P):
        _solve(count, factor, row, Z, row, 2 * count * P + w, P)


@jit
def _factorize(count, factor, row):
    """M_pp = L D L^T in place, the reciprocals of D on the diagonal."""
    for j in range(count):
        d = load(factor, row, j * count + j)
        for k in range(j):
            x = load(factor, row, j * count + k)
            d = d - x * load(factor, row, k * count + j)
        d = 1.0 / d
        store(factor, row, j * count + j, d)
        for i in range(j + 1, count):
            x = load(factor, row, i * count + j)
            for k in range(j):
                x = x - load(factor, row, i * count + k) * load(factor, row, k * count + j)
            store(factor, row, j * count + i, x)  # L D, above the diagonal
            store(factor, row, i * count + j, x * d)  # L, below it


@jit
def _solve(count, factor, row, out, at, first, stride):
    """out = M_pp^-1 out, for a column that starts at `first`."""
    for i in range(count):
        x = load(out, at, first + i * stride)
        for k in range(i):
            x = x - load(factor, row, i * count + k) * load(out, at, first + k * stride)
        store(out, at, first + i * stride, x)
    for i in range(count - 1, -1, -1):
        x = load(out, at, first + i * stride) * load(factor, row, i * count + i)
        for k in range(i + 1, count):
            x = x - load(factor, row, k * count + i) * load(out, at, first + k * stride)
        store(out, at, first + i * stride, x)


# -- adjoints -------------------------------------------------------------------------------------


@kept
def adjoints(fixed, powers):
    """Compute weights nu (rows, passive) of the passive torques, and the effect of T on steps.

    slope (rows, n orders): of the Lagrangian in the states; at active joints that of nu . tau_p is
    added. ends (groups, 2 passive): slopes in the states at the ends of segments; overwritten.
    pushes (1, 8 passive): scratch. cross (groups, P): mixed second derivatives in T and w through
    the length of the steps.
    """
    align_stack()
    grid, timed, orders, pulls, partials, factor, Z, slope, ends, pushes, nu, cross = held(fixed)
    count = len(grid.passive)
    for k in range(ends.shape[0]):
        width = load(grid.width, k, 0)
        h = width * (1.0 / powers[1])
        if timed:
            for w in range(cross.shape[1]):
                store(cross, k, w, 0.0)
        for step in range(grid.steps - 1, -1, -1):
            row = (k * grid.steps + step) * 4
            for stage in range(4):
                share = (1.0 if stage == 0 or stage == 3 else 2.0) / 6.0
                for p in range(2 * count):
                    store(pushes, 0, stage * 2 * count + p, share * h * load(ends, k, p))
                if timed:
                    _lengthen(count, share * width, ends, k, 0, Z, row + stage, cross, k)
            for stage in range(3, -1, -1):
                part = 0.0 if stage == 0 else 1.0 if stage == 3 else 0.5
                at = stage * 2 * count
                _weights(grid, orders, factor, slope, pushes, at + count, nu, row + stage)
                # from here on this element holds the slope in the state of the stage
                for p in range(count):
                    j = grid.passive[p] * orders
                    rate = load(pushes, 0, at + p)
                    store(pushes, 0, at + count + p, load(slope, row + stage, j + 1) + rate)
                    store(pushes, 0, at + p, load(slope, row + stage, j))
                for e in range(pulls.torque.shape[0]):
                    m = grid.role[pulls.joint[e]]
                    if m >= 0:
                        weight = load(nu, row + stage, pulls.torque[e])
                        for o in range(2):
                            if pulls.columns[e, o] >= 0:
                                x = weight * load(partials[o], row + stage, pulls.columns[e, o])
                                to = at + o * count + m
                                store(pushes, 0, to, load(pushes, 0, to) + x)
                for p in range(2 * count):
                    x = load(pushes, 0, at + p)
                    store(ends, k, p, load(ends, k, p) + x)
                    if stage > 0:
                        to = at - 2 * count + p
                        store(pushes, 0, to, load(pushes, 0, to) + part * h * x)
                _weigh_active(grid, orders, pulls, partials, nu, slope, row + stage)
                if stage > 0 and timed:
                    before = row + stage - 1
                    _lengthen(count, part * width, pushes, 0, at, Z, before, cross, k)
    row = ends.shape[0] * grid.steps * 4
    for p in range(count):
        store(pushes, 0, p, 0.0)
    _weights(grid, orders, factor, slope, pushes, 0, nu, row)
    _weigh_active(grid, orders, pulls, partials, nu, slope, row)


@jit
def _weights(grid, orders, factor, slope, pushes, at, nu, row):
    """nu = -M_pp^-1 (slope in a_p plus contributions of later stages)."""
    count = len(grid.passive)
    for p in range(count):
        total = load(slope, row, grid.passive[p] * orders + 2) + load(pushes, 0, at + p)
        store(nu, row, p, -total)
    if count > 0:
        _solve(count, factor, row, nu, row, 0, 1)


@jit
def _weigh_active(grid, orders, pulls, partials, nu, slope, row):
    for e in range(pulls.torque.shape[0]):
        j = pulls.joint[e]
        if grid.role[j] < 0:
            for o in range(3):
                if pulls.columns[e, o] >= 0:
                    x = load(nu, row, pulls.torque[e]) * load(partials[o], row, pulls.columns[e, o])
                    store(slope, row, j * orders + o, load(slope, row, j * orders + o) + x)


@jit
def _lengthen(count, share, source, k, first, Z, row, cross, group):
    """cross += share * adjoint . d(rates)/dw: rates of positions are velocities, and so on."""
    P = cross.shape[1]
    for p in range(2 * count):
        x = share * load(source, k, first + p)
        for w in range(P):
            rate = load(Z, row, (count + p) * P + w)
            store(cross, group, w, load(cross, group, w) + x * rate)

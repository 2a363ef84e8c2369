"""One step of the variational simulation: Newton's method on the discrete Euler-Lagrange equations.

From positions q and momenta p at a node, the velocity v in the middle of the step h solves

    p + h/2 (f + tau) - dT/dv + Phi(q)^T i = 0,       phi(q + h v) = 0

with f and dT/dv of lagrangian.py at q + h/2 v, v, and impulses i of the loops at the node. The next
momenta are h/2 (f + tau) + dT/dv. The unknown is v, not the next position: its rounding errors are
smaller by the step and do not enter the momenta. A free base adds what free_rotation.py has.

Reference: Marsden and West, Discrete mechanics and variational integrators, Acta Numerica 10, 2001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.dynamics.composite import SUMS_END
from predyn.dynamics.dense_factor import solve_in_place
from predyn.dynamics.free_rotation import (
    HINGE,
    moment_in_base_axes,
    to_base_axes,
    turn_base,
    turn_by,
)
from predyn.dynamics.lagrangian_derivatives import gradient_fields, gradients_derivatives
from predyn.dynamics.loop_rows import choose_rows, evaluate_rows
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, cross, dot, scale, sub, unit
from predyn.kernels.tree import Floats, Ints, Tree

MOST_ITERATIONS = 15
CONVERGED = 1e-8  # share of the velocities; the error after such a correction is its square
LEAST_SPEED = 1e-3  # rad/s or m/s to which that share refers at least
STAGNATED = 1e-5  # corrections below that no longer shrink are rounding errors


class Room(NamedTuple):
    """Memory of a step."""

    m: Floats  # (1, n) positions in the middle
    v: Floats  # (1, n) velocities
    start: Floats  # (n,) of the first iteration
    next_q: Floats  # (1, n)
    fp: Floats  # (1, 2n)
    dq: Floats  # packed partials of gradient_fields
    dv: Floats
    fq: Floats  # (n, n) the same as matrices
    fv: Floats
    pq: Floats
    pv: Floats
    phi: Floats  # (m,) equations of loops at the end of the step
    next_rows: Floats  # (m, n)
    rows: Floats  # (m, n) at its start
    spare: Floats  # (m, n)
    chosen: Ints  # (m,) independent equations
    A: Floats  # (n + m, n + m)
    x: Floats  # (n + m,)
    e: Floats  # (4,) orientation of the base in the middle
    work: Floats


def room_for(tree: Tree, equations: int) -> Room:
    n, m = len(tree.parent), equations
    packed = [np.zeros((1, field.packed)) for field in gradient_fields(tree)]
    squares = (np.zeros((n, n)) for _ in range(4))
    rows = (np.zeros((m, n)) for _ in range(3))
    return Room(
        np.zeros((1, n)), np.zeros((1, n)), np.zeros(n), np.zeros((1, n)), *packed, *squares,
        np.zeros(m), *rows, np.zeros(m, np.int64), np.zeros((n + m, n + m)), np.zeros(n + m),
        np.zeros(4), np.zeros((n + 1, SUMS_END)),
    )  # fmt: skip


@jit
def _spread(tree, room):
    """Packed partials as matrices."""
    n = tree.parent.shape[0]
    dq, dv = room.dq, room.dv
    for i in range(n):
        for j in range(n):
            room.fq[i, j] = room.fv[i, j] = room.pq[i, j] = 0.0
            room.pv[i, j] = tree.rotor[i, j] if tree.rotor.shape[0] > 0 else 0.0
    for i in range(n):
        k, up = tree.pair[i], i + 1
        while up > 0:
            j = up - 1
            if j != i:
                room.fq[i, j], room.pq[i, j] = dq[0, 4 * k + 1], dq[0, 4 * k + 3]
                room.fv[i, j] = dv[0, 3 * k + 1]
                room.pv[i, j] += dv[0, 3 * k + 2]
            room.fq[j, i], room.pq[j, i] = dq[0, 4 * k], dq[0, 4 * k + 2]
            room.fv[j, i] = dv[0, 3 * k]
            room.pv[j, i] += dv[0, 3 * k + 2]
            k += 1
            up = tree.parent[j]


@jit
def vector_at(x, i):
    """Three numbers of a vector, from i on."""
    return (x[i], x[i + 1], x[i + 2])


@jit
def base_spin(h, v):
    """b of a step whose angular velocity in the middle is that of v (1, n)."""
    return scale(0.25 * h, vector_at(v[0], HINGE))


@jit
def _turn_momentum(b, p):
    """G p."""
    return add(scale(1.0 - dot(b, b), p), add(scale(2.0, cross(b, p)), scale(2.0 * dot(b, p), b)))


@jit
def evaluate(tree, loads, free, h, q, e, tau, values, room):
    """f + tau and p at the middle of the step with velocities room.v, and their partials.

    Of a free base, the torques are zero and the slides too: nothing depends on its place.
    """
    n = tree.parent.shape[0]
    for i in range(n):
        room.m[0, i] = q[0, i] + 0.5 * h * room.v[0, i]
    if free:
        middle = turn_by(e, base_spin(h, room.v))
        turn_base(tree, middle)
        for i in range(2 * HINGE):
            room.m[0, i] = 0.0
    gradients_derivatives(tree, loads, 0, (room.m, room.v, values), (room.fp, room.dq, room.dv),
                          room.work)  # fmt: skip
    _spread(tree, room)
    for i in range(n):
        room.fp[0, i] += tau[i]
    if free:
        p, rates = vector_at(room.fp[0], n + HINGE), vector_at(room.v[0], HINGE)
        N = moment_in_base_axes(vector_at(room.fp[0], HINGE), p, rates)
        to_base_axes(n, N, p, rates, room.fq, room.fv, room.pq, room.pv)
        for i in range(3):
            room.fp[0, HINGE + i] = N[i]


@jit
def momentum_at_end(n, free, h, side, room, p):
    """Momenta at the start (side -1) or the end (side 1) of the step, without those of loops."""
    for i in range(n):
        p[i] = room.fp[0, n + i] + (0.5 * h * side) * room.fp[0, i]
    if free:
        b = scale(-side, base_spin(h, room.v))
        N, spin = vector_at(room.fp[0], HINGE), vector_at(room.fp[0], n + HINGE)
        turned = add(
            scale(0.5 * h * side, add(N, cross(b, N))),
            _turn_momentum(b, spin),
        )
        for i in range(3):
            p[HINGE + i] = turned[i]


@jit
def fill_jacobian(n, free, h, room):
    """Partials of h/2 f - p at the start of the step in v, in the leading block of room.A."""
    A, half = room.A, 0.5 * h
    fq, fv, pq, pv = room.fq, room.fv, room.pq, room.pv
    if free:
        _turn_columns(n, base_spin(h, room.v), fq, pq)
    for i in range(n):
        for j in range(n):
            A[i, j] = half * (fv[i, j] + half * fq[i, j]) - (pv[i, j] + half * pq[i, j])
    if free:
        b, spin = base_spin(h, room.v), vector_at(room.fp[0], n + HINGE)
        N = vector_at(room.fp[0], HINGE)
        for j in range(n):
            moment = (
                fv[HINGE, j] + half * fq[HINGE, j],
                fv[HINGE + 1, j] + half * fq[HINGE + 1, j],
                fv[HINGE + 2, j] + half * fq[HINGE + 2, j],
            )
            momentum = (
                pv[HINGE, j] + half * pq[HINGE, j],
                pv[HINGE + 1, j] + half * pq[HINGE + 1, j],
                pv[HINGE + 2, j] + half * pq[HINGE + 2, j],
            )
            turned = sub(
                scale(half, add(moment, cross(b, moment))),
                _turn_momentum(b, momentum),
            )
            for i in range(3):
                A[HINGE + i, j] = turned[i]
        for j in range(3):  # b itself changes with the angular velocity
            change = add(
                add(scale(-2.0 * b[j], spin), scale(2.0, cross(unit(j), spin))),
                add(scale(2.0 * dot(b, spin), unit(j)), scale(2.0 * spin[j], b)),
            )
            change = scale(0.25 * h, sub(scale(half, cross(unit(j), N)), change))
            for i in range(3):
                A[HINGE + i, HINGE + j] += change[i]


@jit
def _turn_columns(n, b, fq, pq):
    """Partials in rotations of the base in the middle become those in h/2 times its velocity."""
    size = 1.0 / (1.0 + dot(b, b))
    for r in range(n):
        for k in range(2):
            rows = fq if k == 0 else pq
            x = vector_at(rows[r], HINGE)
            turned = scale(size, add(x, cross(b, x)))
            for i in range(3):
                rows[r, HINGE + i] = turned[i]


@jit
def move_to_end(n, free, h, q, e, room):
    """Positions at the end of the step in room.next_q, orientation of the base in room.e."""
    for i in range(n):
        room.next_q[0, i] = q[0, i] + h * room.v[0, i]
    if free:
        b = base_spin(h, room.v)
        end = turn_by(turn_by(e, b), b)
        for i in range(3):
            room.next_q[0, HINGE + i] = 0.0
        for i in range(4):
            room.e[i] = end[i]


@jit
def evaluate_end(tree, loops, free, h, q, e, room):
    """Positions and equations of loops at the end of the step."""
    move_to_end(tree.parent.shape[0], free, h, q, e, room)
    if room.phi.shape[0] > 0:
        if free:
            turn_base(tree, room.e)
        evaluate_rows(tree, loops, room.next_q, room.phi, room.next_rows, room.work)


@jit
def _add_loops(n, free, h, count, room):
    """Append impulses and equations of loops to the system."""
    A = room.A
    for c in range(count):
        r = room.chosen[c]
        for i in range(n):
            A[i, n + c] = room.rows[r, i]
            A[n + c, i] = room.next_rows[r, i]
        for d in range(count):
            A[n + c, n + d] = 0.0
        if free:  # a change of the angular velocity turns the end by G^T/(1 + b.b)^2 of it
            b = base_spin(h, room.v)
            size = 1.0 / (1.0 + dot(b, b)) ** 2
            turned = scale(size, _turn_momentum(b, vector_at(room.next_rows[r], HINGE)))
            for i in range(3):
                A[n + c, HINGE + i] = turned[i]
        room.x[n + c] = -room.phi[r] / h


@jit
def newton(tree, loads, loops, free, h, count, q, e, p, tau, values, room):
    """Find room.v from its present value; room.fp and room.next_q belong to it on return.

    room.rows and room.chosen[:count] are the equations of loops at q. Returns whether it converged.
    """
    n = tree.parent.shape[0]
    last, done = np.inf, False
    for _ in range(MOST_ITERATIONS):
        evaluate(tree, loads, free, h, q, e, tau, values, room)
        if done:
            evaluate_end(tree, loops, free, h, q, e, room)
            return True
        momentum_at_end(n, free, h, -1.0, room, room.x)
        for i in range(n):
            room.x[i] -= p[i]
        fill_jacobian(n, free, h, room)
        if count > 0:
            evaluate_end(tree, loops, free, h, q, e, room)
            _add_loops(n, free, h, count, room)
        if not solve_in_place(room.A, room.x, n + count):
            return False
        change = speed = 0.0
        for i in range(n):
            room.v[0, i] += room.x[i]
            change, speed = max(change, abs(room.x[i])), max(speed, abs(room.v[0, i]))
        if not speed < 1e12:
            return False
        share = change / max(speed, LEAST_SPEED)
        done = share <= CONVERGED or (share <= STAGNATED and share >= 0.5 * last)
        last = share
    return False


@shared
def choose_independent(tree, loops, free, q, e, rank, room):
    """Equations of loops at a node, in room.rows, and how many independent ones there are."""
    if room.phi.shape[0] == 0:
        return 0
    if free:
        turn_base(tree, e)
    evaluate_rows(tree, loops, q, room.phi, room.rows, room.work)
    return choose_rows(room.rows, rank, room.spare, room.chosen)


@jit
def node_velocity(tree, loads, free, count, q, e, p, tau, values, room):
    """Velocities at a node, in room.v, from its momenta; returns whether they exist.

    They keep the equations room.chosen[:count] of room.rows.
    """
    n = tree.parent.shape[0]
    for i in range(n):
        room.v[0, i] = 0.0
    evaluate(tree, loads, free, 0.0, q, e, tau, values, room)
    for i in range(n):
        room.x[i] = p[i]
        for j in range(n):
            room.A[i, j] = room.pv[i, j]
    for c in range(count):
        for i in range(n):
            room.A[i, n + c] = room.A[n + c, i] = room.rows[room.chosen[c], i]
        for d in range(count):
            room.A[n + c, n + d] = 0.0
        room.x[n + c] = 0.0
    if not solve_in_place(room.A, room.x, n + count):
        return False
    for i in range(n):
        room.v[0, i] = room.x[i]
    return True

"""One step of the variational simulation: Newton's method on the discrete Euler-Lagrange equations.

From positions q and momenta p at a node, the velocity v in the middle of the step h solves

    p + h/2 (f + tau) - dT/dv + Phi(q)^T i = 0,       phi(q + h v) = 0

with f and dT/dv of lagrangian.py at q + h/2 v, v, and impulses i of the loops at the node. The next
momenta are h/2 (f + tau) + dT/dv. The unknown is v, not the next position: its rounding errors are
smaller by the step and do not enter the momenta. A free base adds what free_rotation.py has.

Reference: Marsden and West, Discrete mechanics and variational integrators, Acta Numerica 10, 2001.
"""

from __future__ import annotations

import numpy as np

from predyn.dynamics.dense_factor import solve_in_place
from predyn.dynamics.free_rotation import HINGE, turn_base, turn_by
from predyn.dynamics.loop_rows import choose_rows, evaluate_rows
from predyn.dynamics.variational_equations import (
    base_spin,
    evaluate,
    fill_jacobian,
    momentum_at_end,
    turn_momentum,
    vector_at,
)
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import dot, scale

MOST_ITERATIONS = 15
CONVERGED = 1e-8  # share of the velocities; the error after such a correction is its square
LEAST_SPEED = 1e-3  # rad/s or m/s to which that share refers at least
CONTRACTION = 0.5  # largest ratio of two corrections
STAGNATED = 1e-5  # corrections below that no longer shrink are rounding errors


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
def add_loops(n, free, h, count, room):
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
            turned = scale(size, turn_momentum(b, vector_at(room.next_rows[r], HINGE)))
            for i in range(3):
                A[n + c, HINGE + i] = turned[i]
        room.x[n + c] = -room.phi[r] / h


@jit
def newton(tree, loads, loops, free, h, count, q, e, p, tau, values, room):
    """Find room.v from its present value; room.fp and room.next_q belong to it on return.

    room.rows and room.chosen[:count] are the equations of loops at q. Returns whether it converged
    with corrections that shrink: other solutions are far away and mean a jump of the energy.
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
            add_loops(n, free, h, count, room)
        if not solve_in_place(room.A, room.x, n + count):
            return False
        change = speed = 0.0
        for i in range(n):
            room.v[0, i] += room.x[i]
            change, speed = max(change, abs(room.x[i])), max(speed, abs(room.v[0, i]))
        if not speed < 1e12:
            return False
        share = change / max(speed, LEAST_SPEED)
        if share > STAGNATED and share > CONTRACTION * last:
            return False  # it is leaving this solution, perhaps for one far away
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

"""The backward pass of the discrete inverse problem (Trujillo 2006, section 5), compiled.

Everything is in deviations from the trajectory z, v, u of the previous iteration. With x = (z, v),
S = M + I + h C+ / 2 + h^2 J+ / 4, where J and C are the partials of f - D u in z and v:

    dx+ = A dx + P du + n                                                              (14, 16i)
    A = [1 + h C_i / 2, h (1 + K_i) / 2; C_i, K_i]                                         (16j)
    C_i = -h S^-1 (J+ + J) / 2,  K_i = S^-1 (M + I - h C / 2 - h^2 J+ / 4)                 (16e)
    P = [h D_i / 2; D_i],        D_i = h S^-1 (D+ + D) / 2                                 (16l)

J differentiates the torque too, which the paper holds: then the fixed point is a minimiser of the
nonlinear problem. n is what the previous trajectory lacks of being a motion; it is zero after the
first pass, because the forward pass ends in the nonlinear equations 11 and 12.

First-order regularisation makes the previous torque part of the state: y = (z, v, u_{i-1}).
Value of the rest of the sum from y on: dy^T R dy / 2 + s dy; half of (15) is minimised. The
recursion (17c) is written as a sum of squares, in which nothing cancels.

The proximal term is lambda |du|^2 / 2 per interval. CURVED: the second partials of the motion are
in the quadratic model (Newton's method), times the adjoint of the trajectory; FORESEEN: times the
slope s of what the model expects of the rest. STRAIGHT leaves them out (Gauss-Newton, the paper's).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.published.link_kernels import (
    add_curvature,
    cholesky,
    evaluate,
    factor,
    kept,
    solve,
    solve_cholesky,
    solve_transposed,
)
from predyn.published.link_steps import StepRoom, step_room

Floats = NDArray[np.float64]
SOLVED, INDEFINITE, SINGULAR = 0, 1, 2
STRAIGHT, CURVED, FORESEEN = 0, 1, 2


class Data(NamedTuple):
    """What was measured, and how torques are penalised."""

    Q: Floats  # (m, n)
    measured: Floats  # (N + 1, m) less what Q z leaves out; 0 where missing
    seen: Floats  # (N + 1, m) 1, or 0 where missing
    B: Floats  # (t,)


class Stages(NamedTuple):
    """Equation 14 and du = steps + feedback dy for each interval; s is the length of y."""

    A: Floats  # (N, 2n, 2n)
    P: Floats  # (N, s, t)
    n: Floats  # (N, 2n)
    steps: Floats  # (N, t)
    feedback: Floats  # (N, t, s)


def stages_for(N: int, n: int, torques: int, order: int) -> Stages:
    y = 2 * n + order * torques
    shapes = ((2 * n, 2 * n), (y, torques), (2 * n,), (torques,), (torques, y))
    stages = Stages(*(np.zeros((N, *shape)) for shape in shapes))
    stages.P[:, 2 * n :] = np.eye(torques) if order else 0.0
    return stages


class Room(NamedTuple):
    """Room for one interval; s is the length of y."""

    step: StepRoom
    side: Floats  # (n, 2n + t + 1) right-hand sides
    adjoint: Floats  # (2n,)
    mu: Floats  # (n,)
    W: Floats  # (2n, 2n)
    W_u: Floats  # (2n, t)
    W_next: Floats  # (2n, 2n)
    W_u_next: Floats  # (2n, t)
    R: Floats  # (s, s)
    s: Floats  # (s,)
    s_next: Floats  # (s,)
    RP: Floats  # (s, t)
    Q_ux: Floats  # (t, s)
    Q_uu: Floats  # (t, t)
    Q_u: Floats  # (t,)
    column: Floats  # (t,)
    closed: Floats  # (s, s) A + P K
    RA: Floats  # (s, s)
    linear: Floats  # (s,) dy by equation 14
    apart: Floats  # (s,) what the motion differs from that
    G: Floats  # (l, n) how lengths change
    GG: Floats  # (l, l)
    pull: Floats  # (l,)
    stretch: Floats  # (2, l)


def room_for(n: int, links: int, torques: int, order: int) -> Room:
    x, t, e = 2 * n, torques, links
    y = x + order * t
    shapes = (
        (n, x + t + 1), (x,), (n,), (x, x), (x, t), (x, x), (x, t),
        (y, y), (y,), (y,), (y, t), (t, y), (t, t), (t,), (t,), (y, y), (y, y),
        (y,), (y,), (e, n), (e, e), (e,), (2, e),
    )  # fmt: skip
    return Room(step_room(n, t), *(np.zeros(shape) for shape in shapes))


@kept
def linearise(system, h, z, v, u, z_next, v_next, A, P, lack, room):
    """A, P and n (`lack`) of one interval; False if S is singular."""
    n, torques = z.shape[0], u.shape[0]
    a, side = room.step, room.side
    evaluate(system, z, v, u, a.force, a.by_z, a.by_v, a.D)
    evaluate(system, z_next, v_next, u, a.force_next, a.by_z_next, a.by_v_next, a.D_next)
    q = 0.25 * h * h
    for i in range(n):
        rest = -0.5 * h * (a.force[i] + a.force_next[i])
        for j in range(n):
            m, J = system.mass[i, j], a.by_z_next[i, j]
            a.S[i, j] = m + 0.5 * h * a.by_v_next[i, j] + q * J
            side[i, j] = -0.5 * h * (J + a.by_z[i, j])
            side[i, n + j] = m - 0.5 * h * a.by_v[i, j] - q * J
            gap = z_next[j] - z[j] - 0.5 * h * (v_next[j] + v[j])
            rest += 0.5 * h * J * gap - m * (v_next[j] - v[j])
        for t in range(torques):
            side[i, 2 * n + t] = 0.5 * h * (a.D[i, t] + a.D_next[i, t])
        side[i, 2 * n + torques] = rest
    if not factor(a.S, a.pivots):
        return False
    solve(a.S, a.pivots, side)
    for i in range(n):
        for j in range(2 * n):
            A[n + i, j] = side[i, j]
            A[i, j] = 0.5 * h * side[i, j]
        A[i, i] += 1.0
        A[i, n + i] += 0.5 * h
        for t in range(torques):
            P[n + i, t] = side[i, 2 * n + t]
            P[i, t] = 0.5 * h * side[i, 2 * n + t]
        lack[n + i] = side[i, 2 * n + torques]
        gap = z_next[i] - z[i] - 0.5 * h * (v_next[i] + v[i])
        lack[i] = 0.5 * h * side[i, 2 * n + torques] - gap
    return True


@kept
def curve(system, h, z, v, u, z_next, v_next, curved, costate, room):
    """Second partials of the motion over one interval, times the costate of its end."""
    n, torques = z.shape[0], u.shape[0]
    for i in range(2 * n):
        for j in range(2 * n):
            room.W[i, j] = 0.0
            room.W_next[i, j] = 0.0
        for t in range(torques):
            room.W_u[i, t] = 0.0
            room.W_u_next[i, t] = 0.0
    if curved != STRAIGHT:
        for i in range(n):
            room.mu[i] = 0.5 * h * costate[i] + costate[n + i]
        solve_transposed(room.step.S, room.step.pivots, room.mu)
        for i in range(n):
            room.mu[i] *= -0.5 * h
        add_curvature(system, z, v, u, room.mu, room.W, room.W_u)
        add_curvature(system, z_next, v_next, u, room.mu, room.W_next, room.W_u_next)


@kept
def meet_data(data, i, z, R, s, adjoint):
    """Add sample i of the misfit to R and s, and to the adjoint."""
    n = z.shape[0]
    for m in range(data.Q.shape[0]):
        if data.seen[i, m] == 0.0:
            continue
        e = -data.measured[i, m]
        for j in range(n):
            e += data.Q[m, j] * z[j]
        for j in range(n):
            s[j] += data.Q[m, j] * e
            adjoint[j] += data.Q[m, j] * e
            for k in range(n):
                R[j, k] += data.Q[m, j] * data.Q[m, k]


@kept
def backward(system, h, data, order, z, v, u, proximal, curved, stages, room, out):
    """Gains of all intervals, last to first. Returns SOLVED, or why there are none.

    out[0] is the decrease of the quadratic model, out[1] the largest gradient in a torque, out[2]
    the mean of the diagonal of Q_uu.
    """
    N, torques, n = u.shape[0], u.shape[1], z.shape[1]
    x = 2 * n
    y = x + order * torques
    R, s, s_next = room.R, room.s, room.s_next
    for i in range(y):
        s[i] = 0.0
        for j in range(y):
            R[i, j] = 0.0
    for i in range(x):
        room.adjoint[i] = 0.0
    meet_data(data, N, z[N], R, s, room.adjoint)
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for i in range(N - 1, -1, -1):
        A, P, lack, K = stages.A[i], stages.P[i], stages.n[i], stages.feedback[i]
        if not linearise(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], A, P, lack, room):
            return SINGULAR
        costate = s if curved == FORESEEN else room.adjoint
        curve(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], curved, costate, room)
        linked = order == 1 and i > 0  # whether this torque is compared with the one before
        free = order == 1 and i == 0
        for a in range(x):
            for b in range(x):
                R[a, b] += room.W_next[a, b]
        # s + R n, R P + what couples the end with the torque
        for a in range(y):
            s_next[a] = s[a]
            for b in range(x):
                s_next[a] += R[a, b] * lack[b]
            for t in range(torques):
                room.RP[a, t] = room.W_u_next[a, t] if a < x else 0.0
                for b in range(y):
                    room.RP[a, t] += R[a, b] * P[b, t]
        for t in range(torques):
            penalty = 0.0 if free else data.B[t]
            change = u[i, t] - (u[i - 1, t] if linked else 0.0)
            gradient = penalty * change
            room.Q_u[t] = gradient
            for a in range(y):
                room.Q_u[t] += P[a, t] * s_next[a]
            for a in range(x):
                room.Q_u[t] += room.W_u_next[a, t] * lack[a]
            for a in range(x):
                gradient += P[a, t] * room.adjoint[a]
            if order == 1 and i + 1 < N:
                gradient -= data.B[t] * (u[i + 1, t] - u[i, t])
            out[1] = max(out[1], abs(gradient))
            for b in range(torques):
                room.Q_uu[t, b] = 0.0
                for a in range(y):
                    room.Q_uu[t, b] += P[a, t] * room.RP[a, b]
                for a in range(x):
                    room.Q_uu[t, b] += room.W_u_next[a, t] * P[a, b]
            room.Q_uu[t, t] += penalty + proximal
            out[2] += room.Q_uu[t, t] / (N * torques)
            for b in range(x):
                room.Q_ux[t, b] = room.W_u[b, t]
                for a in range(x):
                    room.Q_ux[t, b] += room.RP[a, t] * A[a, b]
            for b in range(x, y):
                room.Q_ux[t, b] = 0.0
            if linked:
                room.Q_ux[t, x + t] = -penalty
        if not cholesky(room.Q_uu):
            return INDEFINITE
        for t in range(torques):
            stages.steps[i, t] = -room.Q_u[t]
        solve_cholesky(room.Q_uu, stages.steps[i])
        for b in range(y):
            for t in range(torques):
                room.column[t] = -room.Q_ux[t, b]
            solve_cholesky(room.Q_uu, room.column)
            for t in range(torques):
                K[t, b] = room.column[t]
        for t in range(torques):
            out[0] -= 0.5 * stages.steps[i, t] * room.Q_u[t]
        _value(data, order, i, u, proximal, A, P, K, room)
        # adjoint of the trajectory itself
        for a in range(x):
            room.closed[0, a] = 0.0
            for b in range(x):
                room.closed[0, a] += A[b, a] * room.adjoint[b]
        for a in range(x):
            room.adjoint[a] = room.closed[0, a]
        if i > 0:
            meet_data(data, i, z[i], R, s, room.adjoint)
    return SOLVED


@kept
def _value(data, order, i, u, proximal, A, P, K, room):
    """R and s at the start of interval i, from those at its end (17c, 17d)."""
    torques, x = K.shape[0], A.shape[0]
    y = room.s.shape[0]
    R, s, s_next, closed, RA = room.R, room.s, room.s_next, room.closed, room.RA
    linked = order == 1 and i > 0
    free = order == 1 and i == 0
    for a in range(y):
        for b in range(y):
            closed[a, b] = A[a, b] if a < x and b < x else 0.0
            for t in range(torques):
                closed[a, b] += P[a, t] * K[t, b]
    for a in range(y):
        for b in range(y):
            RA[a, b] = 0.0
            for c in range(y):
                RA[a, b] += R[a, c] * closed[c, b]
            if a < x:
                for t in range(torques):
                    RA[a, b] += 2.0 * room.W_u_next[a, t] * K[t, b]
    for b in range(y):
        s[b] = 0.0
        for t in range(torques):
            s[b] += K[t, b] * room.Q_u[t]
        if b < x:
            for c in range(x):
                s[b] += A[c, b] * s_next[c]
        elif linked:
            s[b] -= data.B[b - x] * (u[i, b - x] - u[i - 1, b - x])
    for a in range(y):
        for b in range(y):
            R[a, b] = room.W[a, b] if a < x and b < x else 0.0
            for c in range(y):
                R[a, b] += closed[c, a] * RA[c, b]
            for t in range(torques):
                ka, kb = K[t, a], K[t, b]
                R[a, b] += proximal * ka * kb
                if a < x:
                    R[a, b] += 2.0 * room.W_u[a, t] * kb
                if linked:
                    ka -= 1.0 if a == x + t else 0.0
                    kb -= 1.0 if b == x + t else 0.0
                if not free:
                    R[a, b] += data.B[t] * ka * kb
    for a in range(y):
        for b in range(a):
            R[a, b] = 0.5 * (R[a, b] + R[b, a])
            R[b, a] = R[a, b]

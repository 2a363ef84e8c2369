"""Backward and forward passes of the discrete inverse problem (Trujillo 2006, section 5), compiled.

Everything is in deviations from the trajectory z, v, u of the previous iteration. With x = (z, v),
S = M + I + h C+ / 2 + h^2 J+ / 4, where J and C are the partials of f - D u in z and v:

    dx+ = A dx + P du + n                                                              (14, 16i)
    A = [1 + h C_i / 2, h (1 + K_i) / 2; C_i, K_i]                                         (16j)
    C_i = -h S^-1 (J+ + J) / 2,  K_i = S^-1 (M + I - h C / 2 - h^2 J+ / 4)                 (16e)
    P = [h D_i / 2; D_i],        D_i = h S^-1 (D+ + D) / 2                                 (16l)

J differentiates the torque too, which the paper holds: then the fixed point is a minimiser of the
nonlinear problem. n is what the previous trajectory lacks of being a motion; it is zero after the
first pass, because the forward pass goes through the nonlinear equations 11 and 12.

First-order regularisation makes the previous torque part of the state: y = (z, v, u_{i-1}).
Value of the rest of the sum from y on: dy^T R dy / 2 + s dy; half of (15) is minimised. The
recursion (17c) is written as a sum of squares, in which nothing cancels.

The proximal term is lambda |du|^2 / 2 per interval. With `curved` the second partials of the motion
are in the quadratic model (Newton's method), else they are left out (Gauss-Newton, the paper's).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.link_kernels import (
    add_curvature,
    cholesky,
    evaluate,
    factor,
    kept,
    place,
    solve,
    solve_cholesky,
    solve_transposed,
)
from predyn.estimate.trapezoidal import StepRoom, advance, step_room

Floats = NDArray[np.float64]
SOLVED, INDEFINITE, STUCK = 0, 1, 2
LENGTHS_COUNT, STAYING = 1e2, 1e-3  # in following the data: weights of lengths and of staying


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
    x, t, l = 2 * n, torques, links
    y = x + order * t
    shapes = (
        (n, x + t + 1), (x,), (n,), (x, x), (x, t), (x, x), (x, t),
        (y, y), (y,), (y,), (y, t), (t, y), (t, t), (t,), (t,), (y, y), (y, y), (y,), (y,), (l, n), (l, l), (l,), (2, l),
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
def curve(system, h, z, v, u, z_next, v_next, curved, room):
    """Second partials of the motion over one interval, times the adjoint of its end."""
    n, torques = z.shape[0], u.shape[0]
    for i in range(2 * n):
        for j in range(2 * n):
            room.W[i, j] = 0.0
            room.W_next[i, j] = 0.0
        for t in range(torques):
            room.W_u[i, t] = 0.0
            room.W_u_next[i, t] = 0.0
    if curved:
        for i in range(n):
            room.mu[i] = 0.5 * h * room.adjoint[i] + room.adjoint[n + i]
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
            return STUCK
        curve(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], curved, room)
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


@kept
def straighten(system, z, v, linear, z_new, v_new, room):
    """Replace, in the parts z and v of `apart`, changes of lengths along the links at z by those of
    the true lengths: a turn of a link would count as a stretch, and a stiff spring be feared.
    """
    n, links = z.shape[0], system.length.shape[0]
    G, GG, pull, apart = room.G, room.GG, room.pull, room.apart
    for link in range(links):
        dx, dy, ex, ey, L, _ = place(system, link, z, v, pull[:0])
        ax, ay, bx, by, L_new, _ = place(system, link, z_new, v_new, pull[:0])
        sx, sy, tx, ty, _, _ = place(system, link, linear[:n], linear[n : 2 * n], pull[:0])
        sx -= system.offset[link, 0]
        sy -= system.offset[link, 1]
        rate = (dx * ex + dy * ey) / L
        room.stretch[0, link] = L_new - L - (dx * sx + dy * sy) / L
        sx, sy = ax - dx, ay - dy
        turned = ex * sx + ey * sy - rate * (dx * sx + dy * sy) / L
        faster = (dx * tx + dy * ty + turned) / L
        room.stretch[1, link] = (ax * bx + ay * by) / L_new - rate - faster
        for j in range(n):
            G[link, j] = (system.arms[link, 0, j] * dx + system.arms[link, 1, j] * dy) / L
    for a in range(links):
        for b in range(links):
            GG[a, b] = 1e-9 if a == b else 0.0  # a closed linkage may have one link too many
            for j in range(n):
                GG[a, b] += G[a, j] * G[b, j]
    cholesky(GG)
    for k in range(2):
        for a in range(links):
            pull[a] = room.stretch[k, a]
            for j in range(n):
                pull[a] -= G[a, j] * apart[k * n + j]
        solve_cholesky(GG, pull)
        for a in range(links):
            for j in range(n):
                apart[k * n + j] += G[a, j] * pull[a]


@kept
def forward(system, h, data, order, z, v, u, stages, held, rigid, z_new, v_new, u_new, room, out):
    """The motion, through equations 11 and 12, near the one of equations 14 and 17f; the steps that
    were done.

    Torques are those of the linear pass, and feedback on what the motion differs from it, but for
    lengths: stiff springs would answer to them with torques that are all error.
    out[0] is the misfit, out[1] the weighted and out[2] the plain sum of squared torques, or of
    their differences.
    """
    N, torques, n = u.shape[0], u.shape[1], z.shape[1]
    x = 2 * n
    y = x + order * torques
    linear, apart = room.linear, room.apart
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for j in range(y):
        linear[j] = 0.0
    for i in range(N):
        K = stages.feedback[i]
        for j in range(n):
            apart[j] = z_new[i, j] - z[i, j] - linear[j]
            apart[n + j] = v_new[i, j] - v[i, j] - linear[n + j]
        for t in range(y - x):
            apart[x + t] = u_new[i - 1, t] - u[i - 1, t] - linear[x + t] if i > 0 else 0.0
        if rigid:
            straighten(system, z[i], v[i], linear, z_new[i], v_new[i], room)
        for t in range(torques):
            du = stages.steps[i, t]
            for j in range(y):
                du += K[t, j] * linear[j]
            room.column[t] = du
            u_new[i, t] = u[i, t] + du
            for j in range(y):
                u_new[i, t] += held[i, t, j] * apart[j]
            penalised = u_new[i, t]
            if order == 1:
                penalised = u_new[i, t] - u_new[i - 1, t] if i > 0 else 0.0
            out[1] += data.B[t] * penalised * penalised
            out[2] += penalised * penalised
        for a in range(x):
            room.s_next[a] = stages.n[i, a]
            for b in range(x):
                room.s_next[a] += stages.A[i, a, b] * linear[b]
            for t in range(torques):
                room.s_next[a] += stages.P[i, a, t] * room.column[t]
        for a in range(x):
            linear[a] = room.s_next[a]
        for t in range(y - x):
            linear[x + t] = room.column[t]
        for j in range(n):
            v_new[i + 1, j] = v_new[i, j] + v[i + 1, j] - v[i, j]
        if not advance(
            system, h, z_new[i], v_new[i], u_new[i], z_new[i + 1], v_new[i + 1], room.step
        ):
            return i
        for m in range(data.Q.shape[0]):
            e = -data.measured[i + 1, m]
            for j in range(n):
                e += data.Q[m, j] * z_new[i + 1, j]
            out[0] += data.seen[i + 1, m] * e * e
    return N


@kept
def follow(system, data, z, room):
    """Fill z from its first row on: at each sample the coordinates that meet what was measured,
    with links at their lengths, near those of the sample before.
    """
    n = z.shape[1]
    R, s, step = room.R, room.s, room.adjoint
    for i in range(1, z.shape[0]):
        for j in range(n):
            z[i, j] = z[i - 1, j]
        for _ in range(30):
            for a in range(n):
                s[a] = STAYING**2 * (z[i, a] - z[i - 1, a])
                for b in range(n):
                    R[a, b] = STAYING**2 if a == b else 0.0
            meet_data(data, i, z[i], R, s, step)
            for link in range(system.length.shape[0]):
                dx, dy = system.offset[link, 0], system.offset[link, 1]
                for j in range(n):
                    dx += system.arms[link, 0, j] * z[i, j]
                    dy += system.arms[link, 1, j] * z[i, j]
                L = np.sqrt(dx * dx + dy * dy)
                stretch = LENGTHS_COUNT * (L - system.length[link])
                for a in range(n):
                    ga = system.arms[link, 0, a] * dx + system.arms[link, 1, a] * dy
                    ga *= LENGTHS_COUNT / L
                    s[a] += stretch * ga
                    for b in range(n):
                        gb = system.arms[link, 0, b] * dx + system.arms[link, 1, b] * dy
                        R[a, b] += ga * gb * LENGTHS_COUNT / L
            for a in range(n):
                step[a] = -s[a]
            if not cholesky(R[:n, :n]):
                return False
            solve_cholesky(R[:n, :n], step[:n])
            largest = 0.0
            for a in range(n):
                z[i, a] += step[a]
                largest = max(largest, abs(step[a]))
            if largest < 1e-9:
                break
    return True

"""The backward pass of the discrete inverse problem (Trujillo 2006, section 5), compiled.

All quantities are deviations from the previous iteration's trajectory z, v, u. With x = (z, v),
S = M + I + h C+ / 2 + h^2 J+ / 4, where J and C are the partials of f - D u in z and v:

    dx+ = A dx + P du + n                                                              (14, 16i)
    A = [1 + h C_i / 2, h (1 + K_i) / 2; C_i, K_i]                                         (16j)
    C_i = -h S^-1 (J+ + J) / 2,  K_i = S^-1 (M + I - h C / 2 - h^2 J+ / 4)                 (16e)
    P = [h D_i / 2; D_i],        D_i = h S^-1 (D+ + D) / 2                                 (16l)

J also differentiates the torque, which the paper keeps constant: so the fixed point is a minimiser
of the nonlinear problem. n is the defect by which the previous trajectory misses being a motion; it
is zero after the first pass, because the forward pass uses the nonlinear equations 11 and 12.

First-order regularisation makes the previous torque part of the state: y = (z, v, u_{i-1}).
The rest of the sum from y on has the value dy^T R dy / 2 + s dy; half of (15) is minimised. The
recursion (17c) is written as a sum of squares, without cancellation.

The proximal term is lambda |du|^2 / 2 per interval. CURVED: the quadratic model contains the second
partials of the motion (Newton's method), times the adjoint of the trajectory; PREDICTED: times the
slope s that the model predicts for the rest. STRAIGHT omits them (Gauss-Newton, as in the paper).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.published.link_kernels import (
    add_curvature,
    cached_kernel,
    cholesky,
    evaluate,
    factor,
    solve,
    solve_cholesky,
    solve_transposed,
)
from predyn.published.link_steps import StepScratch, make_step_scratch

Floats = NDArray[np.float64]
SOLVED, INDEFINITE, SINGULAR = 0, 1, 2
STRAIGHT, CURVED, PREDICTED = 0, 1, 2


class Data(NamedTuple):
    """The measurements, and the penalty on torques."""

    Q: Floats  # (m, n)
    measured: Floats  # (N + 1, m) minus the constant part q0; 0 if missing
    seen: Floats  # (N + 1, m) 1, or 0 if missing
    B: Floats  # (t,)


class Stages(NamedTuple):
    """Equation 14 and du = steps + feedback dy for each interval; s is the length of y."""

    A: Floats  # (N, 2n, 2n)
    P: Floats  # (N, s, t)
    n: Floats  # (N, 2n)
    steps: Floats  # (N, t)
    feedback: Floats  # (N, t, s)


def make_stages(N: int, n: int, torques: int, order: int) -> Stages:
    y = 2 * n + order * torques
    shapes = ((2 * n, 2 * n), (y, torques), (2 * n,), (torques,), (torques, y))
    stages = Stages(*(np.zeros((N, *shape)) for shape in shapes))
    stages.P[:, 2 * n :] = np.eye(torques) if order else 0.0
    return stages


class Scratch(NamedTuple):
    """Scratch memory for one interval; s is the length of y."""

    step: StepScratch
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
    apart: Floats  # (s,) deviation of the motion from that
    G: Floats  # (l, n) partials of the lengths
    GG: Floats  # (l, l)
    pull: Floats  # (l,)
    stretch: Floats  # (2, l)


def make_scratch(n: int, links: int, torques: int, order: int) -> Scratch:
    x, t, e = 2 * n, torques, links
    y = x + order * t
    shapes = (
        (n, x + t + 1), (x,), (n,), (x, x), (x, t), (x, x), (x, t),
        (y, y), (y,), (y,), (y, t), (t, y), (t, t), (t,), (t,), (y, y), (y, y),
        (y,), (y,), (e, n), (e, e), (e,), (2, e),
    )  # fmt: skip
    return Scratch(make_step_scratch(n, t), *(np.zeros(shape) for shape in shapes))


@cached_kernel
def linearise(system, h, z, v, u, z_next, v_next, A, P, defect, scratch):
    """A, P and n (`lack`) of one interval; False if S is singular."""
    n, torques = z.shape[0], u.shape[0]
    a, side = scratch.step, scratch.side
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
        defect[n + i] = side[i, 2 * n + torques]
        gap = z_next[i] - z[i] - 0.5 * h * (v_next[i] + v[i])
        defect[i] = 0.5 * h * side[i, 2 * n + torques] - gap
    return True


@cached_kernel
def curve(system, h, z, v, u, z_next, v_next, curved, costate, scratch):
    """Second partials of the motion over one interval, times the costate of its end."""
    n, torques = z.shape[0], u.shape[0]
    for i in range(2 * n):
        for j in range(2 * n):
            scratch.W[i, j] = 0.0
            scratch.W_next[i, j] = 0.0
        for t in range(torques):
            scratch.W_u[i, t] = 0.0
            scratch.W_u_next[i, t] = 0.0
    if curved != STRAIGHT:
        for i in range(n):
            scratch.mu[i] = 0.5 * h * costate[i] + costate[n + i]
        solve_transposed(scratch.step.S, scratch.step.pivots, scratch.mu)
        for i in range(n):
            scratch.mu[i] *= -0.5 * h
        add_curvature(system, z, v, u, scratch.mu, scratch.W, scratch.W_u)
        add_curvature(system, z_next, v_next, u, scratch.mu, scratch.W_next, scratch.W_u_next)


@cached_kernel
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


@cached_kernel
def backward(system, h, data, order, z, v, u, proximal, curved, stages, scratch, out):
    """Gains of all intervals, last to first. Returns SOLVED, or the reason for failure.

    out[0] is the decrease of the quadratic model, out[1] the largest gradient in a torque, out[2]
    the mean of the diagonal of Q_uu.
    """
    N, torques, n = u.shape[0], u.shape[1], z.shape[1]
    x = 2 * n
    y = x + order * torques
    R, s, s_next = scratch.R, scratch.s, scratch.s_next
    for i in range(y):
        s[i] = 0.0
        for j in range(y):
            R[i, j] = 0.0
    for i in range(x):
        scratch.adjoint[i] = 0.0
    meet_data(data, N, z[N], R, s, scratch.adjoint)
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for i in range(N - 1, -1, -1):
        A, P, defect, K = stages.A[i], stages.P[i], stages.n[i], stages.feedback[i]
        if not linearise(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], A, P, defect, scratch):
            return SINGULAR
        costate = s if curved == PREDICTED else scratch.adjoint
        curve(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], curved, costate, scratch)
        linked = order == 1 and i > 0  # whether this torque is compared with the previous one
        free = order == 1 and i == 0
        for a in range(x):
            for b in range(x):
                R[a, b] += scratch.W_next[a, b]
        # s + R n, R P + coupling of the end with the torque
        for a in range(y):
            s_next[a] = s[a]
            for b in range(x):
                s_next[a] += R[a, b] * defect[b]
            for t in range(torques):
                scratch.RP[a, t] = scratch.W_u_next[a, t] if a < x else 0.0
                for b in range(y):
                    scratch.RP[a, t] += R[a, b] * P[b, t]
        for t in range(torques):
            penalty = 0.0 if free else data.B[t]
            change = u[i, t] - (u[i - 1, t] if linked else 0.0)
            gradient = penalty * change
            scratch.Q_u[t] = gradient
            for a in range(y):
                scratch.Q_u[t] += P[a, t] * s_next[a]
            for a in range(x):
                scratch.Q_u[t] += scratch.W_u_next[a, t] * defect[a]
            for a in range(x):
                gradient += P[a, t] * scratch.adjoint[a]
            if order == 1 and i + 1 < N:
                gradient -= data.B[t] * (u[i + 1, t] - u[i, t])
            out[1] = max(out[1], abs(gradient))
            for b in range(torques):
                scratch.Q_uu[t, b] = 0.0
                for a in range(y):
                    scratch.Q_uu[t, b] += P[a, t] * scratch.RP[a, b]
                for a in range(x):
                    scratch.Q_uu[t, b] += scratch.W_u_next[a, t] * P[a, b]
            scratch.Q_uu[t, t] += penalty + proximal
            out[2] += scratch.Q_uu[t, t] / (N * torques)
            for b in range(x):
                scratch.Q_ux[t, b] = scratch.W_u[b, t]
                for a in range(x):
                    scratch.Q_ux[t, b] += scratch.RP[a, t] * A[a, b]
            for b in range(x, y):
                scratch.Q_ux[t, b] = 0.0
            if linked:
                scratch.Q_ux[t, x + t] = -penalty
        if not cholesky(scratch.Q_uu):
            return INDEFINITE
        for t in range(torques):
            stages.steps[i, t] = -scratch.Q_u[t]
        solve_cholesky(scratch.Q_uu, stages.steps[i])
        for b in range(y):
            for t in range(torques):
                scratch.column[t] = -scratch.Q_ux[t, b]
            solve_cholesky(scratch.Q_uu, scratch.column)
            for t in range(torques):
                K[t, b] = scratch.column[t]
        for t in range(torques):
            out[0] -= 0.5 * stages.steps[i, t] * scratch.Q_u[t]
        _value(data, order, i, u, proximal, A, P, K, scratch)
        # adjoint of the trajectory itself
        for a in range(x):
            scratch.closed[0, a] = 0.0
            for b in range(x):
                scratch.closed[0, a] += A[b, a] * scratch.adjoint[b]
        for a in range(x):
            scratch.adjoint[a] = scratch.closed[0, a]
        if i > 0:
            meet_data(data, i, z[i], R, s, scratch.adjoint)
    return SOLVED


@cached_kernel
def _value(data, order, i, u, proximal, A, P, K, scratch):
    """R and s at the start of interval i, from those at its end (17c, 17d)."""
    torques, x = K.shape[0], A.shape[0]
    y = scratch.s.shape[0]
    R, s, s_next, closed, RA = scratch.R, scratch.s, scratch.s_next, scratch.closed, scratch.RA
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
                    RA[a, b] += 2.0 * scratch.W_u_next[a, t] * K[t, b]
    for b in range(y):
        s[b] = 0.0
        for t in range(torques):
            s[b] += K[t, b] * scratch.Q_u[t]
        if b < x:
            for c in range(x):
                s[b] += A[c, b] * s_next[c]
        elif linked:
            s[b] -= data.B[b - x] * (u[i, b - x] - u[i - 1, b - x])
    for a in range(y):
        for b in range(y):
            R[a, b] = scratch.W[a, b] if a < x and b < x else 0.0
            for c in range(y):
                R[a, b] += closed[c, a] * RA[c, b]
            for t in range(torques):
                ka, kb = K[t, a], K[t, b]
                R[a, b] += proximal * ka * kb
                if a < x:
                    R[a, b] += 2.0 * scratch.W_u[a, t] * kb
                if linked:
                    ka -= 1.0 if a == x + t else 0.0
                    kb -= 1.0 if b == x + t else 0.0
                if not free:
                    R[a, b] += data.B[t] * ka * kb
    for a in range(y):
        for b in range(a):
            R[a, b] = 0.5 * (R[a, b] + R[b, a])
            R[b, a] = R[a, b]

"""The convex program for the squared speeds along a path: a primal-dual interior-point method.

    minimise    sum_k 2 h_k T_k(b_k, b_{k+1}) / (sqrt(b_k) + sqrt(b_{k+1})) + linear . b
    subject to  A b_k + B b_{k+1} - R sqrt(b_k) - S sqrt(b_{k+1}) <= u,    0 <= b_k <= upper_k

T_k is a convex quadratic function that is positive. A quadratic over a concave function is convex
(Verscheure, Demeulenaere, Swevers, De Schutter and Diehl, Time-optimal path tracking for robots:
a convex optimization approach, IEEE Transactions on Automatic Control 54, 2009), and so are the
rows. The first and the last b are given. Everything couples neighbours only: Newton's matrix is
tridiagonal and positive definite, and a step costs O(rows).

All iterates satisfy the rows strictly. Steps are Mehrotra's predictor and corrector; where that
does not decrease the barrier function, Newton's step for the barrier function does (Nocedal and
Wright, Numerical Optimization, 2006, chapters 14 and 19).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import shared
from predyn.planning import speed_functions
from predyn.planning.speed_functions import (
    add_cost_derivatives,
    barrier_of,
    cost_of,
    curved_cost,
    slacks_of,
    slopes_of,
)

Floats = NDArray[np.float64]

kept = keeper(__file__, speed_functions.__file__)
MOST_ITERATIONS = 200
TO_BOUNDARY = 0.995  # share of the way to the boundary that a step may go
ARMIJO, SHORTEST = 1e-4, 1e-12
ROUNDING = 8 * 2.0**-52  # of a sum, relative to the sum of the sizes of its terms
FIRST_GAP = 0.1  # gap of the first iterate over the objective


@shared
def add_rows(rows, G, b, inverse, t, lam, z, dual, D, E):
    """Add rows and bounds to the gradient of the Lagrangian and to Newton's matrix.

    Returns the rounding of the gradient times b.
    """
    N, M = rows.shape[0], rows.shape[1]
    size = 0.0
    for k in range(N):
        bend = 0.25 / (b[k] * math.sqrt(b[k])) if k > 0 else 0.0
        later = 0.25 / (b[k + 1] * math.sqrt(b[k + 1])) if k < N - 1 else 0.0
        for r in range(M):
            m = lam[k, r]
            d = m * inverse[k, r]
            x, y = G[k, r, 0], G[k, r, 1]
            dual[k] += m * x
            dual[k + 1] += m * y
            size += m * (abs(x) * b[k] + abs(y) * b[k + 1])
            D[k] += d * x * x + m * bend * rows[k, r, 2]
            D[k + 1] += d * y * y + m * later * rows[k, r, 3]
            E[k] += d * x * y
    for k in range(1, N):
        dual[k] += z[k, 1] - z[k, 0]
        D[k] += z[k, 0] / b[k] + z[k, 1] / t[k]
        size += (z[k, 1] + z[k, 0]) * b[k]
    return ROUNDING * size


@shared
def factor(D, E):
    """D, E of the inner unknowns become the factors of L D L'; False if it is not positive."""
    for k in range(1, len(D) - 1):
        if k > 1:
            share = E[k - 1] / D[k - 1]
            D[k] -= share * E[k - 1]
            E[k - 1] = share
        if not D[k] > 0.0:
            return False
    return True


@shared
def substitute(D, E, x):
    """x[1:-1] becomes the solution for the right side x[1:-1]; the ends become 0."""
    last = len(D) - 1
    x[0] = x[last] = 0.0
    for k in range(2, last):
        x[k] -= E[k - 1] * x[k - 1]
    for k in range(last - 1, 0, -1):
        x[k] /= D[k]
        if k < last - 1:
            x[k] -= E[k] * x[k + 1]


@shared
def find_steps(G, D, E, dual, b, inverse, t, lam, z, mu, second, second_z, dx, ds, dlam, dz):
    """Newton's steps towards s lam = mu - second for all slacks s; D, E are factors."""
    N, M = inverse.shape
    for k in range(N + 1):
        dx[k] = -dual[k]
    for k in range(N):
        left, right = 0.0, 0.0
        for r in range(M):
            v = (mu - second[k, r]) * inverse[k, r] - lam[k, r]
            dlam[k, r] = v
            left += v * G[k, r, 0]
            right += v * G[k, r, 1]
        dx[k] -= left
        dx[k + 1] -= right
    for k in range(1, N):
        dz[k, 0] = (mu - second_z[k, 0]) / b[k] - z[k, 0]
        dz[k, 1] = (mu - second_z[k, 1]) / t[k] - z[k, 1]
        dx[k] += dz[k, 0] - dz[k, 1]
    substitute(D, E, dx)
    for k in range(N):
        for r in range(M):
            ds[k, r] = -G[k, r, 0] * dx[k] - G[k, r, 1] * dx[k + 1]
            dlam[k, r] -= lam[k, r] * ds[k, r] * inverse[k, r]
    for k in range(1, N):
        dz[k, 0] -= z[k, 0] * dx[k] / b[k]
        dz[k, 1] += z[k, 1] * dx[k] / t[k]


@shared
def longest_steps(b, s, t, lam, z, dx, ds, dlam, dz):
    """Shares of the primal and of the dual step up to the boundary, at most 1."""
    N, M = s.shape
    primal, dual = 1.0, 1.0  # reciprocals, which need no division without a crossing
    for k in range(N):
        for r in range(M):
            if -ds[k, r] > primal * s[k, r]:
                primal = -ds[k, r] / s[k, r]
            if -dlam[k, r] > dual * lam[k, r]:
                dual = -dlam[k, r] / lam[k, r]
    for k in range(1, N):
        primal = max(primal, -dx[k] / b[k], dx[k] / t[k])
        dual = max(dual, -dz[k, 0] / z[k, 0], -dz[k, 1] / z[k, 1])
    return 1.0 / primal, 1.0 / dual


@shared
def gap_after(b, s, t, lam, z, dx, ds, dlam, dz, primal, dual):
    """Sum of slacks times multipliers after steps of these lengths; 0 and 0: now."""
    N, M = s.shape
    total = 0.0
    for k in range(N):
        for r in range(M):
            total += (s[k, r] + primal * ds[k, r]) * (lam[k, r] + dual * dlam[k, r])
    for k in range(1, N):
        total += (b[k] + primal * dx[k]) * (z[k, 0] + dual * dz[k, 0])
        total += (t[k] - primal * dx[k]) * (z[k, 1] + dual * dz[k, 1])
    return total


@shared
def barrier_slope(g, b, inverse, t, mu, dx, ds):
    """Derivative of the barrier function along the step."""
    N, M = inverse.shape
    total = 0.0
    for k in range(N):
        for r in range(M):
            total -= mu * ds[k, r] * inverse[k, r]
    for k in range(1, N):
        total += dx[k] * (g[k] - mu / b[k] + mu / t[k])
    return total


@shared
def search_line(h, quad, linear, rows, upper, b, mu, value, slope, step, least, dx, trial, s, t):
    """The length of a step that decreases the barrier function enough; 0 if there is none.

    Leaves the point in `trial` and its slacks in s, t.
    """
    N = len(h)
    rounding = 1e-13 * (1.0 + abs(value))
    while step > least:
        for k in range(N + 1):
            trial[k] = b[k] + step * dx[k]
        if slacks_of(rows, upper, trial, s, t) > 0.0:
            now = cost_of(h, quad, linear, trial) - mu * barrier_of(s, t, trial)
            if now <= value + ARMIJO * step * slope + rounding:
                return step
        step *= 0.5
    return 0.0


@shared
def invert(s, inverse):
    """Reciprocals of the slacks: a division costs as much as several products."""
    for k in range(s.shape[0]):
        for r in range(s.shape[1]):
            inverse[k, r] = 1.0 / s[k, r]


@shared
def centre_multipliers(b, s, t, mu, lam, z):
    """Multipliers whose product with every slack is mu."""
    N, M = s.shape
    for k in range(N):
        for r in range(M):
            lam[k, r] = mu / s[k, r]
    for k in range(1, N):
        z[k, 0], z[k, 1] = mu / b[k], mu / t[k]


@shared
def set_second(ds, dlam, dx, dz, share, second, second_z):
    """Second-order terms of the complementarity after a predictor; share 0: none."""
    N, M = ds.shape
    for k in range(N):
        for r in range(M):
            second[k, r] = share * ds[k, r] * dlam[k, r]
    for k in range(1, N):
        second_z[k, 0] = share * dx[k] * dz[k, 0]
        second_z[k, 1] = -share * dx[k] * dz[k, 1]


@shared
def accept(step, trial, new_s, upper, dlam, dz, b, s, t, lam, z):
    """Move to the trial point; multipliers by the length `step`."""
    N, M = s.shape
    for k in range(N):
        for r in range(M):
            s[k, r] = new_s[k, r]
            lam[k, r] += step * dlam[k, r]
    for k in range(1, N):
        b[k], t[k] = trial[k], upper[k] - trial[k]
        z[k, 0] += step * dz[k, 0]
        z[k, 1] += step * dz[k, 1]


@shared
def weighted_size(x, b):
    """Sum of |x b| over the inner nodes."""
    total = 0.0
    for k in range(1, len(b) - 1):
        total += abs(x[k]) * b[k]
    return total


@kept
def solve_speeds(h, quad, linear, rows, upper, tolerance, b, lam, z, nodes, pairs, wide, G, last):
    """Improve b, which satisfies the rows strictly. nodes, pairs, wide and G are scratch.

    last (4,) receives objective, gap, dual residual and the number of iterations. Returns a number
    of TROUBLES, 0 on convergence.
    """
    count = rows.shape[0] * rows.shape[1] + 2 * (rows.shape[0] - 1)
    # one by one: unpacking would forget that they are contiguous
    g, dual, D, E, dx, trial = nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5]
    t, new_t, dz, second_z = nodes[6], nodes[7], pairs[0], pairs[1]
    s, ds, dlam, second, new_s = wide[0], wide[1], wide[2], wide[3], wide[4]
    inverse = wide[5]
    slacks_of(rows, upper, b, s, t)
    cost = cost_of(h, quad, linear, b)
    centre_multipliers(b, s, t, FIRST_GAP * curved_cost(h, quad, b) / count, lam, z)
    set_second(s, lam, b, z, 0.0, second, second_z)
    for iteration in range(MOST_ITERATIONS):
        add_cost_derivatives(h, quad, linear, b, g, D, E)
        for k in range(len(g)):
            dual[k] = g[k]
        slopes_of(rows, b, G)
        invert(s, inverse)
        rounding = add_rows(rows, G, b, inverse, t, lam, z, dual, D, E)
        gap = gap_after(b, s, t, lam, z, dx, s, lam, z, 0.0, 0.0)
        residual = weighted_size(dual, b)
        last[0], last[1], last[2], last[3] = cost, gap, residual, iteration
        least_gap = tolerance * curved_cost(h, quad, b)
        if gap <= least_gap and residual <= least_gap + rounding:
            return 0
        if not factor(D, E):
            return 3
        find_steps(G, D, E, dual, b, inverse, t, lam, z, 0.0, second, second_z, dx, ds, dlam, dz)
        p, d = longest_steps(b, s, t, lam, z, dx, ds, dlam, dz)
        ahead = gap_after(b, s, t, lam, z, dx, ds, dlam, dz, p, d)
        # slacks that vanish before the residual does would drown in rounding
        left = max((ahead / gap) ** 3 * gap, 0.1 * min(residual, gap), 0.2 * least_gap)
        mu = left / count
        value = cost - mu * barrier_of(s, t, b)
        step = 0.0
        for corrected in (1.0, 0.0):  # with the corrector, then as Newton's step for the barrier
            set_second(ds, dlam, dx, dz, corrected, second, second_z)
            if step == 0.0:
                find_steps(
                    G, D, E, dual, b, inverse, t, lam, z, mu, second, second_z, dx, ds, dlam, dz
                )
                p, d = longest_steps(b, s, t, lam, z, dx, ds, dlam, dz)
                p, d = min(1.0, TO_BOUNDARY * p), min(1.0, TO_BOUNDARY * d)
                slope = barrier_slope(g, b, inverse, t, mu, dx, ds)
                least = 0.5 * p if corrected > 0.0 else SHORTEST
                if slope < 0.0 or corrected == 0.0:
                    step = search_line(h, quad, linear, rows, upper, b, mu, value, slope, p, least,
                                       dx, trial, new_s, new_t)  # fmt: skip
        if step == 0.0:
            return 2
        accept(d, trial, new_s, upper, dlam, dz, b, s, t, lam, z)
        cost = cost_of(h, quad, linear, b)
    return 1


class Speeds(NamedTuple):
    """Squared speeds b (N + 1,) and what the solver says about them."""

    b: Floats
    multipliers: Floats  # (N, M) of the rows
    bound_multipliers: Floats  # (N + 1, 2) of 0 <= b and b <= upper
    objective: float
    gap: float  # estimate of the distance to the optimum; a bound where the residual is zero
    residual: float  # of stationarity, in units of the objective
    iterations: int
    trouble: str  # "" on convergence


TROUBLES = ("", "iteration_limit", "no_decrease", "not_convex")


def best_speeds(
    h: Floats, quad: Floats, linear: Floats, rows: Floats, upper: Floats, b: Floats,
    tolerance: float,
) -> Speeds:  # fmt: skip
    """Solve the program from b, which must satisfy all rows and bounds strictly."""
    N, M = rows.shape[:2]
    b, lam, z, last = b.copy(), np.empty((N, M)), np.zeros((N + 1, 2)), np.zeros(4)
    nodes, pairs = np.zeros((8, N + 1)), np.zeros((2, N + 1, 2))
    wide, G = np.empty((6, N, M)), np.empty((N, M, 2))
    code = solve_speeds(
        h, quad, linear, rows, upper, tolerance, b, lam, z, nodes, pairs, wide, G, last
    )
    objective, gap, residual, iterations = last.tolist()
    return Speeds(b, lam, z, objective, gap, residual, int(iterations), TROUBLES[code])

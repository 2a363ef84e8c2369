"""Cost, rows and barrier of the program for the squared speeds, compiled.

    cost     sum_k 2 h_k T_k(b_k, b_{k+1}) / (sqrt(b_k) + sqrt(b_{k+1})) + linear . b
    slacks   u - A b_k - B b_{k+1} + R sqrt(b_k) + S sqrt(b_{k+1})

Rows (N, M, 5) hold A, B, R, S, u; quad (N, 6) the coefficients of 1, x, y, x^2, x y, y^2 in T_k.
The first and the last b are given and may be 0: nothing is differentiated in them.
"""

from __future__ import annotations

import math

from predyn.kernels.lanes import shared


@shared
def interval_cost(h, quad, x, y):
    """2 h T / S of one interval; quad: coefficients of 1, x, y, x^2, x y, y^2 in T."""
    T = quad[0] + quad[1] * x + quad[2] * y + quad[3] * x * x + quad[4] * x * y + quad[5] * y * y
    return 2.0 * h * T / (math.sqrt(x) + math.sqrt(y))


@shared
def curved_cost(h, quad, b):
    """The cost without its linear part: positive, and of the size of the duration."""
    total = 0.0
    for k in range(len(h)):
        total += interval_cost(h[k], quad[k], b[k], b[k + 1])
    return total


@shared
def cost_of(h, quad, linear, b):
    total = curved_cost(h, quad, b)
    for k in range(len(b)):
        total += linear[k] * b[k]
    return total


@shared
def add_cost_derivatives(h, quad, linear, b, g, D, E):
    """Gradient g and Hessian (diagonal D, next to it E) of the cost, in the inner b."""
    N = len(h)
    for k in range(N + 1):
        g[k], D[k] = linear[k], 0.0
    for k in range(N):
        x, y, c = b[k], b[k + 1], quad[k]
        p, q = math.sqrt(x), math.sqrt(y)
        w = 1.0 / (p + q)
        f = 2.0 * h[k] * w
        T = c[0] + c[1] * x + c[2] * y + c[3] * x * x + c[4] * x * y + c[5] * y * y
        Tx, Ty = c[1] + 2.0 * c[3] * x + c[4] * y, c[2] + c[4] * x + 2.0 * c[5] * y
        Sx = 0.5 / p if k > 0 else 0.0
        Sy = 0.5 / q if k < N - 1 else 0.0
        if k > 0:
            Sxx = -0.5 * Sx / x
            g[k] += f * (Tx - T * Sx * w)
            D[k] += f * (2.0 * c[3] - w * (2.0 * Tx * Sx + T * (Sxx - 2.0 * Sx * Sx * w)))
        if k < N - 1:
            Syy = -0.5 * Sy / y
            g[k + 1] += f * (Ty - T * Sy * w)
            D[k + 1] += f * (2.0 * c[5] - w * (2.0 * Ty * Sy + T * (Syy - 2.0 * Sy * Sy * w)))
        E[k] = f * (c[4] - w * (Tx * Sy + Ty * Sx - 2.0 * T * Sx * Sy * w))


@shared
def slacks_of(rows, upper, b, s, t):
    """Slacks s (N, M) of the rows and t (N + 1,) of the upper bounds; the smallest of them all."""
    N, M = rows.shape[0], rows.shape[1]
    least = math.inf
    for k in range(N):
        x, y = b[k], b[k + 1]
        p, q = math.sqrt(x), math.sqrt(y)
        for r in range(M):
            c = rows[k, r]
            slack = c[4] - c[0] * x - c[1] * y + c[2] * p + c[3] * q
            s[k, r] = slack
            least = min(least, slack)
    for k in range(1, N):
        t[k] = upper[k] - b[k]
        least = min(least, t[k])
    return least


@shared
def barrier_of(s, t, b):
    """Sum of the logarithms of all slacks; several are multiplied before a logarithm is taken."""
    N, M = s.shape
    total = 0.0
    for k in range(N):
        product = 1.0
        for r in range(M):
            product *= s[k, r]
            if not 1e-100 < product < 1e100:
                total += math.log(product)
                product = 1.0
        if k > 0:
            product *= t[k] * b[k]
        total += math.log(product)
    return total


@shared
def slopes_of(rows, b, G):
    """Gradients G (N, M, 2) of the rows in the b of their two nodes, zero at given ones."""
    N, M = rows.shape[0], rows.shape[1]
    for k in range(N):
        p = 0.5 / math.sqrt(b[k]) if k > 0 else 0.0
        q = 0.5 / math.sqrt(b[k + 1]) if k < N - 1 else 0.0
        for r in range(M):
            c = rows[k, r]
            G[k, r, 0] = c[0] - p * c[2] if k > 0 else 0.0
            G[k, r, 1] = c[1] - q * c[3] if k < N - 1 else 0.0

"""Forces of natural links with their first and second partials, and small solves, compiled.

For one link with arms E, d = E z + offset, d' = E v and L = |d| the coordinate forces are E^T times

    phi = k (1 - L0/L) d + c (d . d') d / L^2 - tau (-dy, dx) / L^2

the last being tau times the gradient of the link's angle. The exact Jacobian (13j, corrected) is
E^T (d phi / d d) E. Kernels do not allocate: scratch memory is passed in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import jit

Floats = NDArray[np.float64]
cached_kernel = keeper()  # the cache's own key covers this folder


class System(NamedTuple):
    """A linkage as numbers; l counts links, n coordinates, t torques."""

    arms: Floats  # (l, 2, n)
    offset: Floats  # (l, 2)
    length: Floats  # (l,)
    stiffness: Floats  # (l,)
    damping: Floats  # (l,)
    routes: Floats  # (l, t) factors of torques on links
    mass: Floats  # (n, n) M + I
    weight: Floats  # (n,) g of equation 2


@jit
def place(system, link, z, v, u):
    """d, d', L and the torque of a link."""
    dx, dy = system.offset[link, 0], system.offset[link, 1]
    ex, ey, tau = 0.0, 0.0, 0.0
    for j in range(z.shape[0]):
        dx += system.arms[link, 0, j] * z[j]
        dy += system.arms[link, 1, j] * z[j]
        ex += system.arms[link, 0, j] * v[j]
        ey += system.arms[link, 1, j] * v[j]
    for t in range(u.shape[0]):
        tau += system.routes[link, t] * u[t]
    return dx, dy, ex, ey, np.sqrt(dx * dx + dy * dy), tau


@cached_kernel
def evaluate(system, z, v, u, force, by_z, by_v, D):
    """f + g - D u, its partials in z and v, and D."""
    n, torques = z.shape[0], u.shape[0]
    for i in range(n):
        force[i] = system.weight[i]
        for j in range(n):
            by_z[i, j] = 0.0
            by_v[i, j] = 0.0
        for t in range(torques):
            D[i, t] = 0.0
    for link in range(system.length.shape[0]):
        dx, dy, ex, ey, L, tau = place(system, link, z, v, u)
        k, c, r = system.stiffness[link], system.damping[link], 1.0 / (L * L)
        slack = 1.0 - system.length[link] / L
        rate = dx * ex + dy * ey
        axial = k * slack + c * rate * r
        fx = axial * dx + tau * dy * r
        fy = axial * dy - tau * dx * r
        # partials in d; those of the torque are minus tau times the Hessian of the angle
        bend = k * (1.0 - slack) * r - 2.0 * c * rate * r * r
        twist = 2.0 * tau * r * r
        xx = axial + bend * dx * dx + c * r * dx * ex - twist * dx * dy
        xy = bend * dx * dy + c * r * dx * ey - 0.5 * twist * (dy * dy - dx * dx)
        yx = bend * dx * dy + c * r * dy * ex - 0.5 * twist * (dy * dy - dx * dx)
        yy = axial + bend * dy * dy + c * r * dy * ey + twist * dx * dy
        damp = c * r
        for i in range(n):
            ax, ay = system.arms[link, 0, i], system.arms[link, 1, i]
            if ax == 0.0 and ay == 0.0:
                continue
            force[i] += ax * fx + ay * fy
            turn = r * (ay * dx - ax * dy)
            for t in range(torques):
                D[i, t] += system.routes[link, t] * turn
            px, py = ax * xx + ay * yx, ax * xy + ay * yy
            drag = damp * (ax * dx + ay * dy)
            for j in range(n):
                bx, by = system.arms[link, 0, j], system.arms[link, 1, j]
                by_z[i, j] += px * bx + py * by
                by_v[i, j] += drag * (dx * bx + dy * by)


@cached_kernel
def add_curvature(system, z, v, u, mu, W, Wu):
    """Add the second partials of mu . (f + g - D u) in (z, v) to W, in (z, v) and u to Wu."""
    n, torques = z.shape[0], u.shape[0]
    for link in range(system.length.shape[0]):
        dx, dy, ex, ey, L, tau = place(system, link, z, v, u)
        k, c, L0, r = (
            system.stiffness[link],
            system.damping[link],
            system.length[link],
            1.0 / (L * L),
        )
        wx, wy = 0.0, 0.0
        for j in range(n):
            wx += system.arms[link, 0, j] * mu[j]
            wy += system.arms[link, 1, j] * mu[j]
        wd, rate = wx * dx + wy * dy, dx * ex + dy * ey
        # w rotated, so that w . (-dy, dx) = g . d
        gx, gy = wy, -wx
        gd = gx * dx + gy * dy
        s = k * L0 * r / L
        q = -2.0 * r * r
        a = s + c * q * rate  # of w d^T + d w^T
        b = -tau * q  # of g d^T + d g^T
        e = c * q * wd  # of d' d^T + d d'^T
        o = a * wd + b * gd  # of the identity
        p = (-3.0 * s * wd + 8.0 * c * wd * rate * r * r) * r - 8.0 * tau * gd * r * r * r
        xx = 2.0 * (a * wx + b * gx + e * ex) * dx + 2.0 * c * r * wx * ex + o + p * dx * dx
        yy = 2.0 * (a * wy + b * gy + e * ey) * dy + 2.0 * c * r * wy * ey + o + p * dy * dy
        xy = (
            (a * wx + b * gx + e * ex) * dy
            + (a * wy + b * gy + e * ey) * dx
            + c * r * (wx * ey + wy * ex)
            + p * dx * dy
        )
        m = c * wd * r
        vxx = c * r * wx * dx + m + c * q * wd * dx * dx
        vxy = c * r * wx * dy + c * q * wd * dx * dy
        vyx = c * r * wy * dx + c * q * wd * dx * dy
        vyy = c * r * wy * dy + m + c * q * wd * dy * dy
        tx, ty = gx * r + q * gd * dx, gy * r + q * gd * dy
        for i in range(n):
            ax, ay = system.arms[link, 0, i], system.arms[link, 1, i]
            if ax == 0.0 and ay == 0.0:
                continue
            px, py = ax * xx + ay * xy, ax * xy + ay * yy
            qx, qy = ax * vxx + ay * vyx, ax * vxy + ay * vyy
            for j in range(n):
                bx, by = system.arms[link, 0, j], system.arms[link, 1, j]
                W[i, j] += px * bx + py * by
                mixed = qx * bx + qy * by
                W[i, n + j] += mixed
                W[n + j, i] += mixed
            turn = ax * tx + ay * ty
            for t in range(torques):
                Wu[i, t] -= system.routes[link, t] * turn


@jit
def factor(A, pivots):
    """Factor A = P^T L U in place, with row exchanges; False if singular."""
    n = A.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        pivots[k] = best
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return True


@jit
def solve(A, pivots, X):
    """Replace X (n, m) by A^-1 X, for a factored A."""
    n, m = X.shape
    for k in range(n):
        if pivots[k] != k:
            for j in range(m):
                X[k, j], X[pivots[k], j] = X[pivots[k], j], X[k, j]
    for j in range(m):
        for i in range(n):
            for k in range(i):
                X[i, j] -= A[i, k] * X[k, j]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                X[i, j] -= A[i, k] * X[k, j]
            X[i, j] /= A[i, i]


@jit
def solve_transposed(A, pivots, x):
    """Replace x (n,) by A^-T x, for a factored A."""
    n = x.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= A[k, i] * x[k]
        x[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= A[k, i] * x[k]
    for k in range(n - 1, -1, -1):
        if pivots[k] != k:
            x[k], x[pivots[k]] = x[pivots[k]], x[k]


@jit
def cholesky(A):
    """Store the lower factor of A in its lower half; False if A is not positive definite."""
    n = A.shape[0]
    for j in range(n):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        if not A[j, j] > 0.0:
            return False
        A[j, j] = np.sqrt(A[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
    return True


@jit
def solve_cholesky(A, x):
    """Replace x (n,) by A^-1 x, for the lower factor of A."""
    n = x.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= A[i, k] * x[k]
        x[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= A[k, i] * x[k]
        x[i] /= A[i, i]

"""Signed distance between a segment a + t u, t from 0 to 1, and a box centred at the origin.

Apart, half the derivative of the squared distance along the segment,

    g(t) = sum_i (x_i - clamp(x_i, -h_i, h_i)) u_i,    x = a + t u,

is monotone and linear between the instants at which x crosses the planes of the faces: its root is
found exactly among those. Where the segment enters the box, the signed distance is that of the
origin to the boundary of their Minkowski difference, a zonotope. Its faces are normal to the axes
of the box or to an axis and the segment, so the depth is the largest over these six normals n of

    |n . c| - sum_i h_i |n_i| - |n . u| / 2,    c = a + u / 2.
"""

from __future__ import annotations

from predyn.collision.picks import clamp, farther, lower_end, pick3
from predyn.kernels.lane_choices import any_below, choose, magnitude
from predyn.kernels.lane_functions import sqrt
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, dot, scale

TOUCHING = 1e-20  # squared distance (m^2) below which the normal is that of the overlap
PARALLEL = 1e-24  # of the squared length: the segment has no direction across an axis
NEVER = -1e300


@jit
def _outside(x, h):
    """Vector from the nearest point of the box to x."""
    return (
        x[0] - clamp(x[0], -h[0], h[0]),
        x[1] - clamp(x[1], -h[1], h[1]),
        x[2] - clamp(x[2], -h[2], h[2]),
    )


@jit
def _slope(a, u, h, t):
    return dot(_outside(add(a, scale(t, u)), h), u)


@jit
def _nearest_parameter(a, u, h):
    """The t of a point of the segment that is nearest to the box."""
    zero = 0.0 * u[0]
    t0, t1 = zero, zero + 1.0
    g0, g1 = dot(_outside(a, h), u), dot(_outside(add(a, u), h), u)
    start, end = g0, g1
    for i in range(3):
        for side in (-1.0, 1.0):
            # a segment parallel to the faces never crosses them: its quotient is clamped away
            t = clamp((side * h[i] - a[i]) / u[i], t0, t1)
            g = _slope(a, u, h, t)
            t0, t1 = choose(g, 0.0, t, t0), choose(g, 0.0, t1, t)
            g0, g1 = choose(g, 0.0, g, g0), choose(g, 0.0, g1, g)
    t = clamp(t0 - g0 * (t1 - t0) / (g1 - g0), t0, t1)
    t = choose(end, 0.0, zero + 1.0, t)
    return choose(start, 0.0, t, zero)


@jit
def _across_axis(k, c, u, h):
    """Separation along the normal of box axis k and the segment, which touches an edge."""
    i, j = (k + 1) % 3, (k + 2) % 3
    ww = u[i] * u[i] + u[j] * u[j]
    w = sqrt(ww)
    ni, nj = u[j] / w, -(u[i] / w)
    height = ni * c[i] + nj * c[j]
    sign = choose(height, 0.0, -1.0, 1.0)
    ni, nj = sign * ni, sign * nj
    s = magnitude(height) - magnitude(ni) * h[i] - magnitude(nj) * h[j]
    s = choose(PARALLEL * dot(u, u) + 1e-300, ww, s, NEVER)
    bi, bj = choose(ni, 0.0, -h[i], h[i]), choose(nj, 0.0, -h[j], h[j])
    t = clamp(0.5 - ((c[i] - bi) * u[i] + (c[j] - bj) * u[j]) / ww, 0.0, 1.0)
    zero = 0.0 * ni
    if k == 0:
        return s, (zero, ni, nj), t
    if k == 1:
        return s, (nj, zero, ni), t
    return s, (ni, nj, zero), t


@jit
def _overlap(a, u, h):
    """Signed distance, normal and parameter where the segment enters the box."""
    c = add(a, scale(0.5, u))
    zero = 0.0 * c[0]
    found = (zero + 2.0 * NEVER, (zero, zero, zero), zero)
    for k in range(3):
        s = magnitude(c[k]) - h[k] - 0.5 * magnitude(u[k])
        sign = choose(c[k], 0.0, zero - 1.0, zero + 1.0)
        n = (
            sign if k == 0 else zero,
            sign if k == 1 else zero,
            sign if k == 2 else zero,
        )
        found = farther(found, (s, n, lower_end(sign * u[k])))
    for k in range(3):
        found = farther(found, _across_axis(k, c, u, h))
    return found


@shared
def segment_box(a, u, h):
    """(signed distance, unit normal from the box to the segment, t of the segment's point)."""
    t = _nearest_parameter(a, u, h)
    e = _outside(add(a, scale(t, u)), h)
    dd = dot(e, e)
    d = sqrt(dd)
    n = scale(1.0 / d, e)
    if any_below(dd, TOUCHING):
        inside, m, s = _overlap(a, u, h)
        d, n, t = (
            choose(dd, TOUCHING, inside, d),
            pick3(dd, TOUCHING, m, n),
            choose(dd, TOUCHING, s, t),
        )
    return d, n, t

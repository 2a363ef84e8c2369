"""Signed distance between a segment and a solid cylinder about z, bounded from below.

The signed distance of a point to a convex body is a convex function along the segment. The root of
its slope is bracketed, alternately by bisection and where the tangents at both ends of the bracket
intersect. The height of that intersection is a lower bound of the minimum, the smaller end of the
bracket an upper one; the search ends when they differ by less than 1e-12 m.

Where the segment's axis enters the cylinder, the depth is bounded by the separation along normals
of three families: z, the horizontal ones (the shadow of the sum is a stadium, exactly), and those
of the rim and the segment, searched. Each separation is a lower bound of the signed distance, so
the largest of them is one too; with the search ended early it may be below the exact value.
"""

from __future__ import annotations

from predyn.collision.picks import clamp, farther, lower_end, pick3
from predyn.kernels.lane_choices import any_below, choose, greatest, least, magnitude
from predyn.kernels.lane_functions import sqrt
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, dot, scale

STEPS = 60
GAP = 1e-12  # m, between the bounds of the distance
GOLDEN_STEPS = 24
GOLDEN = 0.6180339887498949
TINY = 1e-150
TOUCHING = 1e-10  # m


@jit
def _point(x, r, h):
    """Distance of a point outside and the unit normal; (0, 0 vector) inside."""
    rho = sqrt(x[0] * x[0] + x[1] * x[1])
    e = greatest(rho - r, 0.0)
    f = greatest(magnitude(x[2]) - h, 0.0)
    d = sqrt(e * e + f * f)
    w = 1.0 / greatest(d, TINY)
    radial = e * w / greatest(rho, TINY)
    return d, (radial * x[0], radial * x[1], choose(x[2], 0.0, -f * w, f * w))


@jit
def _apart(a, u, r, h):
    """Lower bound of the distance, normal and t; 0 where the segment enters the cylinder."""
    zero = 0.0 * u[0]
    t0, t1 = zero, zero + 1.0
    d0, n0 = _point(a, r, h)
    d1, n1 = _point(add(a, u), r, h)
    g0, g1 = dot(n0, u), dot(n1, u)
    start, end, first, last = g0, g1, d0, d1
    low, t = least(d0, d1), zero
    unknown = choose(g0, 0.0, choose(0.0, g1, low, zero), zero)  # the gap; 0 if an end is nearest
    for k in range(STEPS):
        if not any_below(GAP, unknown):
            break
        t = choose(zero + (k % 2), 0.5, t0 + _meeting(d0, g0, d1, g1, t1 - t0), 0.5 * (t0 + t1))
        d, n = _point(add(a, scale(t, u)), r, h)
        g = dot(n, u)
        d0, d1 = choose(g, 0.0, d, d0), choose(g, 0.0, d1, d)
        t0, t1 = choose(g, 0.0, t, t0), choose(g, 0.0, t1, t)
        g0, g1 = choose(g, 0.0, g, g0), choose(g, 0.0, g1, g)
        low = d0 + g0 * _meeting(d0, g0, d1, g1, t1 - t0)
        unknown = choose(0.0, unknown, least(d0, d1) - low, unknown)
    t = t0 + _meeting(d0, g0, d1, g1, t1 - t0)
    d, _ = _point(add(a, scale(t, u)), r, h)
    t = choose(d, least(d0, d1), t, choose(d0, d1, t0, t1))
    low = greatest(low, 0.0)
    low, t = choose(end, 0.0, last, low), choose(end, 0.0, zero + 1.0, t)
    low, t = choose(start, 0.0, low, first), choose(start, 0.0, t, zero)
    _, n = _point(add(a, scale(t, u)), r, h)
    return low, n, t


@jit
def _meeting(d0, g0, d1, g1, width):
    """Where the tangents at both ends of the bracket intersect, from its start."""
    return clamp((d1 - d0 - g1 * width) / (g0 - g1), 0.0, width)


@jit
def _along(n, c, u, r, h):
    """Separation of the segment and the cylinder along the unit vector n."""
    flat = sqrt(n[0] * n[0] + n[1] * n[1])
    return dot(n, c) - r * flat - h * magnitude(n[2]) - 0.5 * magnitude(dot(n, u))


@jit
def _stadium(c, u, r):
    """Separation along the horizontal normal: the depth within a disc swept along the segment."""
    zero = 0.0 * c[0]
    ww = u[0] * u[0] + u[1] * u[1]
    s = clamp(-(c[0] * u[0] + c[1] * u[1]) / ww, -0.5, 0.5)
    s = choose(0.0, ww, s, zero)
    x, y = c[0] + s * u[0], c[1] + s * u[1]
    rho, w = sqrt(x * x + y * y), sqrt(ww)
    beside = choose(0.0, w, -u[1] / w, zero + 1.0), choose(0.0, w, u[0] / w, zero)
    nx, ny = choose(TINY, rho, x / rho, beside[0]), choose(TINY, rho, y / rho, beside[1])
    return rho - r, (nx, ny, zero), s + 0.5


@jit
def _rim(c, u, r, h):
    """A normal of the segment and the rim, by golden section over those across the segment."""
    zero = 0.0 * c[0]
    length = sqrt(dot(u, u))
    ww = u[0] * u[0] + u[1] * u[1]
    w = sqrt(ww)
    p = (-u[1] / w, u[0] / w, zero)
    b = (-u[0] * u[2] / (w * length), -u[1] * u[2] / (w * length), w / length)
    p = scale(choose(dot(p, c), 0.0, zero - 1.0, zero + 1.0), p)
    b = scale(choose(dot(b, c), 0.0, zero - 1.0, zero + 1.0), b)
    x0, x1 = zero, zero + 1.0
    for _ in range(GOLDEN_STEPS):
        y0, y1 = x1 - GOLDEN * (x1 - x0), x0 + GOLDEN * (x1 - x0)
        f0, f1 = _separation(y0, p, b, c, u, r, h), _separation(y1, p, b, c, u, r, h)
        x0, x1 = choose(f0, f1, y0, x0), choose(f0, f1, x1, y1)
    n = _between(0.5 * (x0 + x1), p, b)
    flat = sqrt(n[0] * n[0] + n[1] * n[1])
    k = r / greatest(flat, TINY)
    rim = (k * n[0], k * n[1], choose(n[2], 0.0, zero - h, zero + h))
    t = clamp(0.5 - dot(u, (c[0] - rim[0], c[1] - rim[1], c[2] - rim[2])) / dot(u, u), 0.0, 1.0)
    s = _along(n, c, u, r, h)
    return choose(TINY, ww, s, -1e300), n, t


@jit
def _between(x, p, b):
    """The unit vector at the fraction x of the way from p to b."""
    n = add(scale(1.0 - x, p), scale(x, b))
    return scale(1.0 / sqrt(dot(n, n)), n)


@jit
def _separation(x, p, b, c, u, r, h):
    return _along(_between(x, p, b), c, u, r, h)


@jit
def _overlap(a, u, r, h):
    """Lower bound of the signed distance, normal and t where the segment enters the cylinder."""
    c = add(a, scale(0.5, u))
    zero = 0.0 * c[0]
    up = (zero, zero, choose(c[2], 0.0, zero - 1.0, zero + 1.0))
    found = (_along(up, c, u, r, h), up, lower_end(dot(up, u)))
    found = farther(found, _stadium(c, u, r))
    return farther(found, _rim(c, u, r, h))


@shared
def segment_cylinder(a, u, r, h):
    """(lower bound of the signed distance, unit normal, t); radius r, half length h."""
    d, n, t = _apart(a, u, r, h)
    if any_below(d, TOUCHING):
        s, m, at = _overlap(a, u, r, h)
        n, t = pick3(d, TOUCHING, m, n), choose(d, TOUCHING, at, t)
        d = choose(d, TOUCHING, least(s, 0.0), d)
    return d, n, t

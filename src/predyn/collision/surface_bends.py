"""Second derivative of the distance between a point and an obstacle, where the point is outside.

It is a sum of dyads, H = a A A' + b B B' + c C C' - e n n', with unit vectors in the world. Around
the nearest point of a core without extent, at the distance rho from it,

    H = (P - n n') / rho,

where P projects on the directions in which the core does not extend: all three at a corner, two
across an edge or an axis, the normal alone above a face, so that H = 0 there. A round side at the
distance r from its axis has n_r / r along its circumference, where n_r is the radial part of n.
"""

from __future__ import annotations

from predyn.collision.view import BOX, CAPSULE, CYLINDER, SPHERE
from predyn.kernels.lane_choices import choose, magnitude
from predyn.kernels.lane_functions import sqrt
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, apply, apply_transposed, cross, dot, scale, sub

NEAREST = 1e-9  # m; closer points have no second derivative worth having


@jit
def apply_bend(bend, n, x):
    """H x."""
    (A, B, C), (a, b, c), e = bend
    flat = add(scale(a * dot(A, x), A), scale(b * dot(B, x), B))
    return sub(add(flat, scale(c * dot(C, x), C)), scale(e * dot(n, x), n))


@jit
def _inverse(rho):
    """1 / rho, or 0 where that is no distance."""
    return choose(NEAREST, rho, 1.0 / rho, 0.0)


@jit
def point_bend(zero, rho):
    """H of the distance rho of two points."""
    axes = (
        (zero + 1.0, zero, zero),
        (zero, zero + 1.0, zero),
        (zero, zero, zero + 1.0),
    )
    k = _inverse(rho)
    return axes, (k, k, k), k


@jit
def _cylinder_bend(R, y, n, d, radius, half):
    """n in the axes of the cylinder; y: the point there."""
    zero = 0.0 * d
    r = sqrt(y[0] * y[0] + y[1] * y[1])
    off = choose(NEAREST, r, 1.0, 0.0)
    across = choose(NEAREST, r, 1.0 / r, 0.0)
    around = (-(y[1] * across), y[0] * across, zero)
    outward = (y[0] * across, y[1] * across, zero)
    along = cross(around, n)
    outside = choose(NEAREST, d, 1.0, 0.0)
    rim = choose(radius, r, 1.0, 0.0) * choose(half, magnitude(y[2]), 1.0, 0.0)
    axes = (apply(R, around), apply(R, along), R[2])
    return axes, (off * outside * dot(n, outward) * across, rim * _inverse(d), zero), zero


@shared
def obstacle_bend(view, o, R, p, x, n, d):
    """H of the distance d of the point x from obstacle o with the pose (R, p)."""
    zero = 0.0 * d
    y = apply_transposed(R, sub(x, p))
    kind = view.kind[o]
    sx, sy, sz = view.size[o, 0], view.size[o, 1], view.size[o, 2]
    if kind == BOX:
        k = _inverse(d)
        a = choose(sx, magnitude(y[0]), k, zero)
        b = choose(sy, magnitude(y[1]), k, zero)
        c = choose(sz, magnitude(y[2]), k, zero)
        bend = (R, (a, b, c), k)
    elif kind == CYLINDER:
        bend = _cylinder_bend(R, y, apply_transposed(R, n), d, sx, sz)
    elif kind in (CAPSULE, SPHERE):
        k = _inverse(d + sx)
        beside = choose(magnitude(y[2]), sz, zero, k)
        bend = (R, (k, k, beside), k)
    else:
        bend = (R, (zero, zero, zero), zero)
    return bend

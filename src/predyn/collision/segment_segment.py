"""Distance between two segments p + s u and q + t v, s and t from 0 to 1.

The lines' common normal gives one pair of parameters. It is accurate for nearly parallel lines
because it comes from cross products, not from differences of squares. Three starts (that one and
both ends of the first segment) are each improved by projections on the other segment in turn; the
nearest pair found is the answer. It is exact: the optimum is the common normal if that lies within
both segments, and otherwise at an end of one of them.
"""

from __future__ import annotations

from predyn.collision.picks import clamp, pick3
from predyn.kernels.lane_choices import choose
from predyn.kernels.lane_functions import sqrt
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, cross, dot, scale, sub

CROSSING = 1e-24  # squared distance (m^2) below which the normal is that of both segments


@jit
def _project(x, p, u):
    """Parameter of the point of the segment p + s u that is nearest to x."""
    return clamp(dot(sub(x, p), u) / dot(u, u), 0.0, 1.0)


@jit
def _improve(s, p, u, q, v, found):
    """Project the point s of the first segment back and forth; keep the nearer pair."""
    t = _project(add(p, scale(s, u)), q, v)
    s = _project(add(q, scale(t, v)), p, u)
    t = _project(add(p, scale(s, u)), q, v)
    e = sub(add(p, scale(s, u)), add(q, scale(t, v)))
    dd = dot(e, e)
    best, s0, t0 = found
    return choose(dd, best, dd, best), choose(dd, best, s, s0), choose(dd, best, t, t0)


@shared
def segment_segment(p, u, q, v):
    """(distance, unit normal from the second to the first, s, t)."""
    m = cross(u, v)
    mm = dot(m, m)
    zero = 0.0 * mm
    found = (zero + 1e300, zero, zero)
    s = clamp(dot(cross(sub(q, p), v), m) / mm, 0.0, 1.0)
    found = _improve(s, p, u, q, v, found)
    found = _improve(zero, p, u, q, v, found)
    dd, s, t = _improve(zero + 1.0, p, u, q, v, found)
    e = sub(add(p, scale(s, u)), add(q, scale(t, v)))
    d = sqrt(dd)
    # where the segments cross, any normal of both separates them; z if there is no such normal
    w = sqrt(mm)
    aside = pick3(0.0, w, scale(1.0 / w, m), (zero, zero, zero + 1.0))
    return d, pick3(dd, CROSSING, aside, scale(1.0 / d, e)), s, t

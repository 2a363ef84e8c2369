"""Signed distance between a segment and a half-space or a convex mesh.

Of a half-space it is that of the lower end, exactly. Of a convex mesh, the largest separation
along a face normal is a lower bound of the signed distance: exact above a face and for a segment
across faces that enters, too small beside edges and corners.
"""

from __future__ import annotations

from predyn.collision.picks import farther, lower_end
from predyn.kernels.lane_choices import choose
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import dot


@jit
def segment_half_space(a, u):
    """(signed distance, normal, t) of the half-space z <= 0."""
    zero = 0.0 * u[2]
    return a[2] + choose(u[2], 0.0, u[2], zero), (zero, zero, zero + 1.0), lower_end(u[2])


@shared
def segment_planes(a, u, planes, first, last):
    """(lower bound of the signed distance, normal, t); planes (F, 4): unit normal, offset."""
    zero = 0.0 * u[2]
    found = (zero - 1e300, (zero, zero, zero + 1.0), zero)
    for f in range(first, last):
        n = (zero + planes[f, 0], zero + planes[f, 1], zero + planes[f, 2])
        rise = dot(n, u)
        s = dot(n, a) - planes[f, 3] + choose(rise, 0.0, rise, zero)
        found = farther(found, (s, n, lower_end(rise)))
    return found

"""Distance of one pair, from the poses of the links: what all checks share.

The workspace has a row for the world and each link, as `forward.py` fills them, then one for each
capsule: the first end of its axis and the vector to the other, in the world.
"""

from __future__ import annotations

from predyn.collision.segment_box import segment_box
from predyn.collision.segment_cylinder import segment_cylinder
from predyn.collision.segment_planes import segment_half_space, segment_planes
from predyn.collision.segment_segment import segment_segment
from predyn.collision.view import BOX, CYLINDER, HALF_SPACE, MESH
from predyn.dynamics.forward import END, ORIGIN, POSE, column, place, vector, world_row
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import (
    add,
    apply,
    apply_transposed,
    load3,
    load33,
    scale,
    store3,
    sub,
)

FROM, ALONG = 0, 3  # columns of a capsule's row


def work_shape(view):
    """Rows and columns of the workspace."""
    return len(view.parent) + 1 + len(view.row), END


@shared
def place_capsules(view, c, q, work):
    """Fill the workspace for row c of q."""
    tree = view.tree
    n = tree.parent.shape[0]
    world_row(work, tree.gravity)
    for i in range(n):
        place(tree, c, i, q, work)
    for k in range(view.row.shape[0]):
        row = view.row[k]
        R = load33(work, row, POSE)
        store3(work, n + 1 + k, FROM, add(load3(work, row, ORIGIN), apply(R, vector(view.a, k))))
        store3(work, n + 1 + k, ALONG, apply(R, vector(view.u, k)))


@jit
def fixed_pose(view, o, zero):
    """Axes and origin of a fixed obstacle, as numbers of the type of `zero`."""
    X, Y, Z = column(view.R, o, 0), column(view.R, o, 1), column(view.R, o, 2)
    p = vector(view.p, o)
    nothing = (zero, zero, zero)
    return (add(X, nothing), add(Y, nothing), add(Z, nothing)), add(p, nothing)


@jit
def obstacle_distance(view, o, R, p, x, u):
    """(signed distance of the axis x + t u, normal, t) of an obstacle with the pose (R, p)."""
    a, w = apply_transposed(R, sub(x, p)), apply_transposed(R, u)
    kind = view.kind[o]
    if kind == BOX:
        d, n, t = segment_box(a, w, vector(view.size, o))
    elif kind == CYLINDER:
        d, n, t = segment_cylinder(a, w, view.size[o, 0], view.size[o, 2])
    elif kind == HALF_SPACE:
        d, n, t = segment_half_space(a, w)
    elif kind == MESH:
        d, n, t = segment_planes(a, w, view.planes, view.plane[o], view.plane[o + 1])
    else:
        zero, half = 0.0 * a[0], view.size[o, 2]
        start, axis = (zero, zero, zero - half), (zero, zero, zero + 2.0 * half)
        d, n, t, _ = segment_segment(a, w, start, axis)
        d = d - view.size[o, 0]
    return d, apply(R, n), t


@jit
def world_distance(view, k, o, R, p, work):
    """(distance, normal, point of the capsule's axis) of capsule k and an obstacle."""
    at = view.parent.shape[0] + 1 + k
    x, u = load3(work, at, FROM), load3(work, at, ALONG)
    d, n, t = obstacle_distance(view, o, R, p, x, u)
    return d - view.radius[k], n, add(x, scale(t, u))


@jit
def own_distance_at(view, i, j, work):
    """(distance of the axes, normal from j to i, points, directions and parameters of both axes)
    of two capsules of the robot."""
    first = view.parent.shape[0] + 1
    x, u = load3(work, first + i, FROM), load3(work, first + i, ALONG)
    y, v = load3(work, first + j, FROM), load3(work, first + j, ALONG)
    d, n, s, t = segment_segment(x, u, y, v)
    return d, n, add(x, scale(s, u)), add(y, scale(t, v)), u, v, s, t


@jit
def own_distance(view, i, j, work):
    """(distance, normal from j to i, points of both axes) of two capsules of the robot."""
    d, n, x, y, _, _, _, _ = own_distance_at(view, i, j, work)
    return d - view.radius[i] - view.radius[j], n, x, y

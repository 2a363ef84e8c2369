"""How far bodies can move while each joint i stays within D_i of its present value.

From the joint that carries a body inwards, a point at the distance r_i from the axis of joint i is
never farther from it than

    rho_i = r_i + sum_{l outside i} m_l,       m_i = rho_i D_i,

since the joints outside have moved it by at most the sum of their m_l; m is D for a prismatic joint
and sqrt(rho^2 + pitch^2) D for a screw. No point of the body moves more than M = sum m_i. The
farther end of a segment gives r, since the distance from an axis is convex. Relative to a link,
only the joints beyond it count.
"""

from __future__ import annotations

import numpy as np

from predyn.collision.pair_distance import ALONG, FROM
from predyn.dynamics.forward import ORIGIN, POSE
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, cross, dot, load3, sub
from predyn.model import PRISMATIC


@jit
def _axis_distance(row, x, work):
    """Distance of x from the axis of the joint of a row."""
    z = load3(work, row, POSE + 6)
    away = cross(sub(x, load3(work, row, ORIGIN)), z)
    return np.sqrt(dot(away, away))


@shared
def bound_motion(view, reach, motion, work):
    """Fill motion[k, row]: how far the joints from the row outwards move capsule k at most."""
    tree, first = view.tree, view.parent.shape[0] + 1
    for k in range(view.row.shape[0]):
        x = load3(work, first + k, FROM)
        y = add(x, load3(work, first + k, ALONG))
        row, moved = view.row[k], 0.0
        while row > 0:
            D = reach[row - 1]
            if tree.kind[row - 1] == PRISMATIC:
                moved += D
            else:
                rho = max(_axis_distance(row, x, work), _axis_distance(row, y, work)) + moved
                pitch = tree.pitch[row - 1]
                moved += np.sqrt(rho * rho + pitch * pitch) * D
            motion[k, row] = moved
            row = tree.parent[row - 1]
        motion[k, 0] = moved

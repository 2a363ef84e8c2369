"""Sensitivity of tau to geometry: joint placements, link lengths, DH parameters.

Displace a part by a small twist X fixed in link b: either joint j on its parent (b = parent), with
everything it carries, or everything beyond joint j, including the body of link j (b = j). This acts
like an additional joint at rest, so with psi-dot = v_b x X and psi-ddot = a_b x X + v_b x psi-dot
the partials of rnea_derivatives.py apply unchanged:

    d tau_i = S_i . (I psi-ddot + 2 B psi-dot + X x* F + N x_a)     for i = b and the joints above
    d tau_i = psi-ddot . I S_i + psi-dot . (2 B)^T S_i + x_a . N^T S_i      for the joints displaced
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.composite import (
    FORCE,
    SUMS_END,
    coriolis_times,
    coriolis_transposed_times,
    inertia_times,
    outward_composites,
    sum_into_parent,
    turning_times,
    turning_transposed_times,
)
from predyn.dynamics.forward import ACCELERATION, AXIS, ORIGIN, POSE, VELOCITY, vector
from predyn.dynamics.reactions import link_axes
from predyn.errors import ModelError
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    add6,
    apply,
    cross,
    cross_force,
    cross_motion,
    dot,
    dot6,
    load3,
    load6,
    load33,
    scale,
    store6,
)
from predyn.model import PRISMATIC, Model

TWISTS = SUMS_END  # for each of 6 directions X, psi-dot, psi-ddot: 108
COLUMNS = SUMS_END + 108


@jit
def _twists(tree, i, after, work):
    """The six unit twists of joint i in world components, with psi-dot and psi-ddot."""
    base = i + 1 if after else tree.parent[i]
    axes = link_axes(tree, base, work) if base > 0 else load33(work, 0, POSE)
    origin = load3(work, i + 1, ORIGIN)
    if not after:
        up = load33(work, base, POSE)
        origin = add(load3(work, base, ORIGIN), apply(up, vector(tree.p, i)))
    v, a = load6(work, base, VELOCITY), load6(work, base, ACCELERATION)
    for k in range(6):
        axis = axes[k % 3]
        X = (scale(0.0, axis), axis) if k >= 3 else (axis, cross(origin, axis))
        psi = cross_motion(v, X)
        psi2 = add6(cross_motion(a, X), cross_motion(v, psi))
        store6(work, i + 1, TWISTS + 18 * k, X)
        store6(work, i + 1, TWISTS + 18 * k + 6, psi)
        store6(work, i + 1, TWISTS + 18 * k + 12, psi2)


@jit
def _partials(tree, loads, c, ins, outs, work, after):
    q, v, a, values = ins
    (dtau,) = outs
    n = tree.parent.shape[0]
    has_loads = loads.row.shape[0] > 0
    outward_composites(tree, loads, c, q, v, a, values, work)
    for k in range(6 * n * n):
        store(dtau, c, k, 0.0)
    for i in range(n):
        _twists(tree, i, after, work)
    for i in range(n - 1, -1, -1):
        row = i + 1
        S = load6(work, row, AXIS)
        U, B = inertia_times(work, row, S), coriolis_transposed_times(work, row, S)
        F = load6(work, row, FORCE)
        for k in range(6):
            at = TWISTS + 18 * k
            X, psi, psi2 = load6(work, row, at), load6(work, row, at + 6), load6(work, row, at + 12)
            Q = add6(inertia_times(work, row, psi2), coriolis_times(work, row, psi))
            Q = add6(Q, cross_force(X, F))
            if has_loads:
                Q = add6(Q, turning_times(work, row, X[0]))
            up = row if after else tree.parent[i]
            while up > 0:
                store(dtau, c, ((up - 1) * n + i) * 6 + k, dot6(load6(work, up, AXIS), Q))
                up = tree.parent[up - 1]
        up = tree.parent[i] if after else row
        while up > 0:
            for k in range(6):
                at = TWISTS + 18 * k
                psi, psi2 = load6(work, up, at + 6), load6(work, up, at + 12)
                store(dtau, c, (i * n + up - 1) * 6 + k, dot(psi[0], B) + dot6(psi2, U))
            if has_loads:
                N = turning_transposed_times(work, row, S)
                for k in range(6):
                    turned = dot(load3(work, up, TWISTS + 18 * k), N)
                    m = (i * n + up - 1) * 6 + k
                    store(dtau, c, m, load(dtau, c, m) + turned)
            up = tree.parent[up - 1]
        sum_into_parent(tree, loads, i, work)


@jit
def placement_partials(tree, loads, c, ins, outs, work):
    _partials(tree, loads, c, ins, outs, work, False)


@jit
def beyond_partials(tree, loads, c, ins, outs, work):
    _partials(tree, loads, c, ins, outs, work, True)


def _kernel(core) -> Kernel:
    return Kernel(
        core,
        work=lambda tree: (len(tree.parent) + 1, COLUMNS),
        outputs=lambda tree: (dense(len(tree.parent), len(tree.parent), 6),),
        forces=True,
    )


PLACEMENT, BEYOND = _kernel(placement_partials), _kernel(beyond_partials)


def placement_sensitivity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """(..., n, n, 6): d tau_i / d of the placement of joint j, in the axes of its parent link.

    First three: small rotations about the placed origin. Last three: shifts, as d / d model.p[j].
    """
    n = joints(model)
    if model.couplings:
        return coupled.placement_sensitivity(model, q, v, a, forces, out)
    return PLACEMENT(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]


def length_sensitivity(
    model: Model,
    link: str,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    to: str | None = None,
    forces: Sequence[ExternalForce] = (),
) -> NDArray:
    """(..., n): d tau_i / d length of a link, in the sense of model.with_length(link, ..., to).

    Forces whose points are at the moved end do not move with it.
    """
    ends = model.with_length(link, 1.0, to).p, model.with_length(link, 2.0, to).p
    partial = placement_sensitivity(model, q, v, a, forces=forces)[..., 3:]
    return np.einsum("...ijx,jx->...i", partial, ends[1] - ends[0])


def dh_sensitivity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
) -> NDArray:
    """(..., n, n, 4): d tau_i / d (theta, d, a, alpha) of row j of the model's standard DH table.

    The centre of mass, the inertia and the loads of link j are fixed in its DH frame and move with
    it.
    """
    if model.dh is None:
        raise ModelError(f"model {model.name!r} has no standard DH table: build it with load_dh")
    n = joints(model)
    beyond = BEYOND(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces)[0]
    directions = np.zeros((model.n, 6, 4))
    directions[:, 2, 0] = 1.0  # theta: rotation about the joint axis
    directions[:, 5, 1] = 1.0  # d: slide along it
    directions[:, 3, 2] = 1.0  # a: slide along the common normal, the link's x axis
    directions[:, 0, 3] = 1.0  # alpha: rotation about that axis, through the DH frame's origin
    directions[:, 4, 3] = np.where(model.kind == PRISMATIC, 0.0, model.dh.d)
    return np.einsum("...ijk,jkx->...ijx", beyond, directions)

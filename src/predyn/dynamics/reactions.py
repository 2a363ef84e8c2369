"""Joint reactions: the full wrench between a link and its parent, with its partials.

The wrench on link j through joint j is F_j, the sum over its subtree of the forces that move the
links, minus the external loads. It is given in link axes about the joint's origin, and includes the
contributions of the joint's motor, spring and friction along the axis.

Seen from the link itself, joint k above j (or j) changes F_j by I_j psi-ddot_k + 2 B_j psi-dot_k,
plus N_j w_k for loads fixed in the world; joint k below j changes it by Q_k of rnea_derivatives.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_motion
from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.composite import (
    FORCE,
    PSI2,
    SUMS_END,
    coriolis_times,
    inertia_times,
    outward_composites,
    sum_into_parent,
    turning_times,
)
from predyn.dynamics.forward import AXIS, ORIGIN, POSE, PSI, column
from predyn.dynamics.rnea import COLUMNS, outward_forces
from predyn.dynamics.rnea import FORCE as RNEA_FORCE
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense, wrench_pairs
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, store
from predyn.kernels.spatial import (
    add6,
    apply,
    apply_transposed,
    cross,
    cross_force,
    load3,
    load6,
    load33,
    scale6,
    store6,
    sub,
)
from predyn.model import Model


@jit
def link_axes(tree, row, work):
    """World axes of the link of a workspace row, as columns."""
    R = load33(work, row, POSE)
    return (
        apply(R, column(tree.link, row - 1, 0)),
        apply(R, column(tree.link, row - 1, 1)),
        apply(R, column(tree.link, row - 1, 2)),
    )


@jit
def store_wrench(tree, row, f, out, c, k, work):
    """A world wrench in the link's axes about its origin: six numbers from k on."""
    axes = link_axes(tree, row, work)
    moment = apply_transposed(axes, sub(f[0], cross(load3(work, row, ORIGIN), f[1])))
    force = apply_transposed(axes, f[1])
    for x in range(3):
        store(out, c, k + x, moment[x])
        store(out, c, k + 3 + x, force[x])


@jit
def reactions(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    (wrench,) = outs
    outward_forces(tree, loads, c, q, v, a, values, work)
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        f = load6(work, i + 1, RNEA_FORCE)
        store_wrench(tree, i + 1, f, wrench, c, 6 * i, work)
        up = tree.parent[i]
        if up > 0:
            store6(work, up, RNEA_FORCE, add6(load6(work, up, RNEA_FORCE), f))


@jit
def reactions_derivatives(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    wrench, dq, dv, da = outs
    has_loads = loads.row.shape[0] > 0
    outward_composites(tree, loads, c, q, v, a, values, work)
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        row = i + 1
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        F = load6(work, row, FORCE)
        store_wrench(tree, row, F, wrench, c, 6 * i, work)
        U = inertia_times(work, row, S)
        V = add6(coriolis_times(work, row, S), scale6(2.0, inertia_times(work, row, psi)))
        Q = add6(inertia_times(work, row, psi2), coriolis_times(work, row, psi))
        Q = add6(Q, cross_force(S, F))
        if has_loads:
            Q = add6(Q, turning_times(work, row, S[0]))
        k = 12 * tree.pair[i]
        up = row
        while up > 0:
            # this joint's wrench with the motion of a joint above, or its own
            S, psi, psi2 = load6(work, up, AXIS), load6(work, up, PSI), load6(work, up, PSI2)
            change = add6(inertia_times(work, row, psi2), coriolis_times(work, row, psi))
            if has_loads:
                change = add6(change, turning_times(work, row, S[0]))
            store_wrench(tree, row, change, dq, c, k, work)
            change = scale6(2.0, inertia_times(work, row, psi))
            change = add6(change, coriolis_times(work, row, S))
            store_wrench(tree, row, change, dv, c, k, work)
            store_wrench(tree, row, inertia_times(work, row, S), da, c, k, work)
            # the wrench of the joint above with the motion of this one
            store_wrench(tree, up, Q, dq, c, k + 6, work)
            store_wrench(tree, up, V, dv, c, k + 6, work)
            store_wrench(tree, up, U, da, c, k + 6, work)
            k += 12
            up = tree.parent[up - 1]
        sum_into_parent(tree, loads, i, work)


REACTIONS = Kernel(
    reactions,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=lambda tree: (dense(len(tree.parent), 6),),
    forces=True,
)
REACTIONS_DERIVATIVES = Kernel(
    reactions_derivatives,
    work=lambda tree: (len(tree.parent) + 1, SUMS_END),
    outputs=lambda tree: (dense(len(tree.parent), 6), *(wrench_pairs(tree) for _ in range(3))),
    forces=True,
)


class ReactionDerivatives(NamedTuple):
    """wrench (..., n, 6) and its partials (..., n, 6, n) in q, v, a."""

    wrench: NDArray
    dq: NDArray
    dv: NDArray
    da: NDArray


def joint_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Wrench (..., n, 6) on link j through joint j: moment, then force.

    In link axes, about the joint's origin. Along the axis it is the sum of motor, spring and
    friction; reflected rotor inertia (armature, rotor matrix) stays inside the motor.
    """
    n = joints(model)
    if model.couplings:
        chain = Chain(model, q, v, a)
        return joint_reactions(chain.tree, *chain.motion, forces=forces, out=out)
    return REACTIONS(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]


def joint_reactions_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> ReactionDerivatives:
    """The wrenches of joint_reactions and their exact partials in q, v and a."""
    n = joints(model)
    if model.couplings:
        found = coupled_motion.joint_reactions_derivatives(model, q, v, a, forces, out)
        return ReactionDerivatives(*found)
    inputs = (("q", q, n), ("v", v, n), ("a", a, n))
    return ReactionDerivatives(*REACTIONS_DERIVATIVES(model, inputs, forces, out))

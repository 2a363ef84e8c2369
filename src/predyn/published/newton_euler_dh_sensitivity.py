"""Sensitivities of the torques and of the internal joint forces: steps 9 and 10 of
newton_euler_dh.py, after those of steps 2 to 8 in newton_euler_dh_kinematics.py.

F_jp and tau_jp depend on joint j, its ancestors and its descendants. In the row of the pair (j, i),
i = j or above j, the columns EARLIER hold partials of link j's quantities in coordinate i, and the
columns LATER those of link i's quantities in coordinate j, i != j. EARLIER sums over all children
of j; LATER comes from one branch, that of j.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.forward import vector
from predyn.dynamics.joint_forces import joint_slope, joint_stiffness
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense, pairs, wrench_pairs
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    apply,
    apply_transposed,
    cross,
    load3,
    load33,
    neg,
    store3,
    sub,
)
from predyn.model import PRISMATIC, Model
from predyn.published.dh import dh_tree_of, pack_dh_forces
from predyn.published.newton_euler_dh import (
    DX,
    DX_G,
    F_E,
    F_G,
    F_JP,
    LOCAL,
    MOTION,
    TAU_G,
    accumulate,
    actuation,
    along_axis,
    base_row,
    clear,
    inward,
    inward_external,
    link_axes,
    link_motion,
    local_axis,
    to_link,
)
from predyn.published.newton_euler_dh_kinematics import (
    GLOBAL_I,
    LOCAL_I,
    MOTION_END,
    link_motion_sensitivity,
)

# Columns of a pair's row. EARLIER and LATER: F_jp and tau_jp in q, v and a, first F_jd and tau_jd.
EARLIER = MOTION_END
LATER = EARLIER + 18
EARLIER_E = LATER + 18  # F^e_jd, tau^ef_jd, tau^em_jd in q
LATER_E = EARLIER_E + 9
PAIR_COLUMNS = LATER_E + 9


@jit
def pass_to_parent(tree, j, earlier, later, vectors, value, changing, work):
    """3.73, 3.81, 3.77, 3.85, 3.89: the share of link j in the sensitivities of its parent link.

    The columns hold `vectors` vectors. The first `changing` of them are sensitivities in q of the
    vectors from column `value` of link j, which R_j transforms to the parent: R_{j,j} contributes.
    """
    first = tree.parent.shape[0] + 1
    own, end = first + tree.pair[j], first + tree.pair[j + 1]
    R, R_i = load33(work, j + 1, LOCAL), load33(work, j + 1, LOCAL_I)
    before = first + tree.pair[tree.parent[j] - 1]
    for m in range(0, 3 * vectors, 3):
        for k in range(1, end - own):
            share = apply(R, load3(work, own + k, earlier + m))
            accumulate(work, before + k - 1, earlier + m, share)
        share = apply(R, load3(work, own, earlier + m))
        if m < 3 * changing:
            share = add(share, apply(R_i, load3(work, j + 1, value + m)))
        store3(work, own + 1, later + m, share)
    for i in range(j + 1, j + tree.size[j]):
        row = first + tree.pair[i + 1] - (end - own)
        for m in range(0, 3 * vectors, 3):
            store3(work, row + 1, later + m, apply(R, load3(work, row, later + m)))


@jit
def inward_sensitivity(tree, work):
    """Step 9 a, c. The link rows hold F_jp and tau_jp without external loads."""
    n, first = tree.parent.shape[0], tree.parent.shape[0] + 1
    for r in range(tree.pair[n]):
        clear(work, first + r, EARLIER, LATER)
    for j in range(n - 1, -1, -1):
        own, end = first + tree.pair[j], first + tree.pair[j + 1]
        dx, dx_G = load3(work, j + 1, DX), load3(work, j + 1, DX_G)
        for row in range(own, end):  # i <= j
            for s in range(3):
                F, tau = EARLIER + 6 * s, EARLIER + 6 * s + 3
                F_G_i = load3(work, row, MOTION * s + F_G)
                # F holds F_jd,i until 3.75
                lever = add(cross(load3(work, row, F), dx), cross(F_G_i, dx_G))
                tau_G_i = load3(work, row, MOTION * s + TAU_G)
                accumulate(work, row, tau, sub(tau_G_i, lever))  # 3.83
                accumulate(work, row, F, F_G_i)  # 3.75
        if tree.kind[j] == PRISMATIC:
            # 3.83, i = j, corrected: dx and dx_G change by R_j^T e_z, and F_jd + F_G is F_jp
            z = local_axis(load33(work, j + 1, LOCAL))
            accumulate(work, own, EARLIER + 3, cross(z, load3(work, j + 1, F_JP)))
        for i in range(j + 1, j + tree.size[j]):  # i > j
            row = first + tree.pair[i + 1] - (end - own)
            for s in range(3):
                F, tau = LATER + 6 * s, LATER + 6 * s + 3
                accumulate(work, row, tau, cross(dx, load3(work, row, F)))  # 3.83
        if tree.parent[j] > 0:
            pass_to_parent(tree, j, EARLIER, LATER, 6, F_JP, 2, work)  # 3.73, 3.81


@jit
def external_sensitivity(tree, loads, c, values, work):
    """Step 9 b, d, e, after inward_external. The loads do not change with v and a: entries that
    3.79, 3.87 and 3.91 print as zero stay zero."""
    n, first = tree.parent.shape[0], tree.parent.shape[0] + 1
    for r in range(tree.pair[n]):
        clear(work, first + r, EARLIER_E, LATER_E)
    for k in range(loads.row.shape[0]):
        if loads.world[k] == 1:  # j = k; components along link axes do not change
            j = loads.row[k] - 1
            tau, F = neg(load3(values, c, 6 * k)), neg(load3(values, c, 6 * k + 3))
            for row in range(first + tree.pair[j], first + tree.pair[j + 1]):
                R_i = load33(work, row, GLOBAL_I)
                F_i = apply_transposed(R_i, F)
                accumulate(work, row, EARLIER_E, F_i)  # 3.77
                # 3.85, j = k, corrected: the lever is r_k + dx_k; that of dx_k comes below
                accumulate(work, row, EARLIER_E + 3, cross(vector(loads.point, k), F_i))
                accumulate(work, row, EARLIER_E + 6, apply_transposed(R_i, tau))  # 3.89
    for j in range(n - 1, -1, -1):
        own, end, dx = first + tree.pair[j], first + tree.pair[j + 1], load3(work, j + 1, DX)
        if tree.kind[j] == PRISMATIC:  # 3.85: dx_{j,i} x F^e_jd, i = j
            z = local_axis(load33(work, j + 1, LOCAL))
            accumulate(work, own, EARLIER_E + 3, cross(z, load3(work, j + 1, F_E)))
        for row in range(own, end):
            _add_external(work, row, EARLIER, EARLIER_E, dx)
        for i in range(j + 1, j + tree.size[j]):
            _add_external(work, first + tree.pair[i + 1] - (end - own), LATER, LATER_E, dx)
        if tree.parent[j] > 0:  # j < k; 3.85, 3.89 corrected: tau^ef and tau^em are passed on
            pass_to_parent(tree, j, EARLIER_E, LATER_E, 3, F_E, 3, work)


@jit
def _add_external(work, row, at, at_e, dx):
    F_i = load3(work, row, at_e)
    accumulate(work, row, at_e + 3, cross(dx, F_i))  # 3.85
    accumulate(work, row, at, F_i)  # 3.79
    tau_i = add(load3(work, row, at_e + 3), load3(work, row, at_e + 6))
    accumulate(work, row, at + 3, tau_i)  # 3.87, 3.91


@jit
def steps_1_to_9_sensitivity(tree, loads, c, ins, work):
    """Fill the rows of all links and pairs."""
    q, v, a, values = ins
    base_row(tree, work)
    for j in range(tree.parent.shape[0]):
        link_motion(tree, c, j, q, v, a, work)
        link_motion_sensitivity(tree, c, j, v, work)
    inward(tree, work)
    inward_sensitivity(tree, work)
    if loads.row.shape[0] > 0:
        inward_external(tree, loads, c, values, work)
        external_sensitivity(tree, loads, c, values, work)


@jit
def newton_euler_derivatives(tree, loads, c, ins, outs, work):
    q, v, a, _ = ins
    tau, dq, dv, da = outs
    first = tree.parent.shape[0] + 1
    steps_1_to_9_sensitivity(tree, loads, c, ins, work)
    for j in range(tree.parent.shape[0]):
        store(tau, c, j, actuation(tree, c, j, q, v, a, work))
        i = j
        for r in range(tree.pair[j], tree.pair[j + 1]):  # 3.93, 3.95: the axis does not change
            for s in range(3):
                if i != j:  # tau_i in coordinate j
                    x = along_axis(tree, i, work, first + r, LATER + 6 * s)
                    store(outs[1 + s], c, 2 * r, x)
                x = along_axis(tree, j, work, first + r, EARLIER + 6 * s)
                store(outs[1 + s], c, 2 * r + (i != j), x)
            i = tree.parent[i] - 1
        if tree.loaded[j] == 1:
            _joint_sensitivity(tree, c, j, q, v, dq, dv, da)


@jit
def _joint_sensitivity(tree, c, j, q, v, dq, dv, da):
    """Spring, ligaments, friction and armature act only on their own joint."""
    k = 2 * tree.pair[j]
    store(dq, c, k, load(dq, c, k) + joint_stiffness(tree, c, j, q))
    store(dv, c, k, load(dv, c, k) + joint_slope(tree, c, j, v))
    store(da, c, k, load(da, c, k) + tree.armature[j])


@jit
def internal_force_derivatives(tree, loads, c, ins, outs, work):
    """Derivatives of F_jp and tau_jp, in link axes about the link frame's origin."""
    first = tree.parent.shape[0] + 1
    steps_1_to_9_sensitivity(tree, loads, c, ins, work)
    for j in range(tree.parent.shape[0]):
        i = j
        for r in range(tree.pair[j], tree.pair[j + 1]):
            for s in range(3):
                to_link(tree, c, j, ins[0], work, first + r, EARLIER + 6 * s, outs[s], 12 * r)
                if i != j:
                    to_link(tree, c, i, ins[0], work, first + r, LATER + 6 * s, outs[s], 12 * r + 6)
            i = tree.parent[i] - 1
        if tree.kind[j] == PRISMATIC:  # the link frame slides along its z
            z = local_axis(load33(work, j + 1, LOCAL))
            tau_i = apply_transposed(link_axes(tree, j), cross(load3(work, j + 1, F_JP), z))
            accumulate(outs[0], c, 12 * tree.pair[j], tau_i)


NEWTON_EULER_DH_DERIVATIVES = Kernel(
    newton_euler_derivatives,
    work=lambda tree: (len(tree.parent) + 1 + int(tree.pair[-1]), PAIR_COLUMNS),
    outputs=lambda tree: (dense(len(tree.parent)), *[pairs(tree)] * 3),
    forces=True,
    view=dh_tree_of,
    pack=pack_dh_forces,
)
INTERNAL_FORCE_DH_DERIVATIVES = Kernel(
    internal_force_derivatives,
    work=lambda tree: (len(tree.parent) + 1 + int(tree.pair[-1]), PAIR_COLUMNS),
    outputs=lambda tree: [wrench_pairs(tree)] * 3,
    forces=True,
    view=dh_tree_of,
    pack=pack_dh_forces,
)


def newton_euler_dh_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Torques and their exact partials: tau (..., n), dtau_dq, dtau_dv, dtau_da (..., n, n).

    [j, i] is d tau_j / d q_i and so on; the same numbers as inverse_dynamics_derivatives, by the
    published sensitivity equations. Time grows with n times the depth of the tree.
    """
    n = joints(model)
    inputs = (("q", q, n), ("v", v, n), ("a", a, n))
    tau, dq, dv, da = NEWTON_EULER_DH_DERIVATIVES(model, inputs, forces, out)
    return tau, dq, dv, da


def newton_euler_dh_internal_force_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> tuple[NDArray, NDArray, NDArray]:
    """Exact partials of newton_euler_dh_internal_forces in q, v and a: (..., n, 6, n) each.

    [j, k, i] is the derivative of component k of the wrench on link j in coordinate i. The link
    axes rotate with q: these are derivatives of the components.
    """
    n = joints(model)
    inputs = (("q", q, n), ("v", v, n), ("a", a, n))
    dq, dv, da = INTERNAL_FORCE_DH_DERIVATIVES(model, inputs, forces, out)
    return dq, dv, da

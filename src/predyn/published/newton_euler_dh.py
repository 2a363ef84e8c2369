"""Inverse dynamics and internal joint forces by the recursive Newton-Euler formulation on
Denavit-Hartenberg moving frames: Barman, "Recursive Newton-Euler dynamics and sensitivity analysis
for dynamic motion planning", Oklahoma State University, 2020, chapter III, steps 1 to 10.

Comments give the equation numbers of that text; "corrected" marks differences from the printed
equations. Vectors of link j are in the axes of frame j, which is at the far end of the link; joint
j rotates about, or slides along, z_{j-1} of the previous frame. j - 1 means "the parent link of j":
on a branched chain a link may have several children, and the text's link j + 1 becomes a sum over
all children. The text's frame 0 has two meanings here: as the frame before joint 1 it is the base
frame, which may be anywhere; as a left superscript (0R_j, 0F_k) it is the world.

Signs. Gravity is the acceleration of a falling body: the text's g points up, so 3.67 has a minus
here. External forces act on the link: the text's are those that the link exerts on the
surroundings, so they enter negated. F_jp and tau_jp are exerted on link j by its parent at O_{j-1},
and F_jd, tau_jd by link j on its children (the text's list of symbols says the reverse).
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.forward import column, symmetric, vector
from predyn.dynamics.joint_forces import joint_force
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lane_functions import sincos
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    apply,
    apply_symmetric,
    apply_transposed,
    cross,
    load3,
    load33,
    neg,
    scale,
    store3,
    store33,
    sub,
)
from predyn.model import PRISMATIC, Model
from predyn.published.dh import dh_tree_of, pack_dh_forces

# Columns of link j in the workspace, 3 each unless noted. Row 0 is the base.
OMEGA, OMEGA_DOT = 0, 3
X, X_DOT, X_DDOT = 6, 9, 12  # origin of frame j
X_G, X_G_DOT, X_G_DDOT = 15, 18, 21  # centre of mass
H, F_G, TAU_G = 24, 27, 30
MOTION = 33  # columns up to here: the quantities of steps 3 to 8
LOCAL, GLOBAL = 33, 42  # R_j and 0R_j, 9 each
D_OMEGA, DX, DX_DOT, DX_G, DX_G_DOT = 51, 54, 57, 60, 63  # Delta omega, Delta x, ...
F_JD, TAU_JD, F_JP, TAU_JP = 66, 69, 72, 75
F_E, TAU_EF, TAU_EM = 78, 81, 84  # F^e_jd, tau^ef_jd, tau^em_jd
LINK_COLUMNS = 87


@jit
def local_axis(R):
    """Step 1 g: R_j^T e_z = (0, sin alpha_j, cos alpha_j), the axis of joint j in frame j."""
    return (R[0][2], R[1][2], R[2][2])


@jit
def clear(work, row, start, stop):
    for k in range(start, stop):
        store(work, row, k, 0.0)


@jit
def base_row(tree, work):
    """Step 1 e, f: the base at rest. Like every x_j, x_0 has the components of its own frame."""
    clear(work, 0, 0, MOTION)
    for m in range(3):
        x_m = 0.0
        for k in range(3):
            x_m += tree.base[k, m] * tree.base[k, 3]
            store(work, 0, GLOBAL + 3 * m + k, tree.base[k, m])
        store(work, 0, X + m, x_m)


@jit
def local_frame(tree, c, j, q, work):
    """Step 2 a, b: returns R_j, Delta x_j, Delta x_Gj."""
    row, turns = j + 1, 0.0 if tree.kind[j] == PRISMATIC else 1.0
    theta = tree.theta[j] + turns * load(q, c, j)
    d = tree.d[j] + (1.0 - turns) * load(q, c, j)
    sine, cosine = sincos(theta)
    ca, sa = tree.cos_alpha[j], tree.sin_alpha[j]
    store3(work, row, LOCAL, (cosine, sine, 0.0))  # 2.10, by columns
    store3(work, row, LOCAL + 3, (-ca * sine, ca * cosine, sa))
    store3(work, row, LOCAL + 6, (sa * sine, -sa * cosine, ca))
    # Delta x_j = R_j^T times 2.11; used but not printed in the text
    store3(work, row, DX, (tree.a[j], d * sa, d * ca))
    dx = load3(work, row, DX)
    dx_G = add(dx, vector(tree.com, j))  # 3.2 with a centre of mass anywhere in frame j
    store3(work, row, DX_G, dx_G)
    return load33(work, row, LOCAL), dx, dx_G


@jit
def point_motion(prismatic, z, rate, acceleration, omega, omega_dot, dx):
    """Delta x-dot and Delta x-ddot of the point of link j at dx from O_{j-1}: its motion relative
    to O_{j-1}."""
    dx_dot = cross(omega, dx)  # 3.35, 3.41
    dx_ddot = cross(omega_dot, dx)  # 3.50, 3.56
    if prismatic:
        slide = scale(rate, z)
        dx_dot = add(dx_dot, slide)
        # with 3.35 in 3.50 the Coriolis term is 2 omega x slide, as printed
        # 3.56 corrected: its last term has the second derivative of d, as 3.50 has
        dx_ddot = add(dx_ddot, add(cross(omega, slide), scale(acceleration, z)))
    return dx_dot, add(dx_ddot, cross(omega, dx_dot))


@jit
def link_motion(tree, c, j, q, v, a, work):
    """Steps 2 to 8 for link j, except the positions and velocities of points."""
    row, up, prismatic = j + 1, tree.parent[j], tree.kind[j] == PRISMATIC
    rate, acceleration = load(v, c, j), load(a, c, j)
    R, dx, dx_G = local_frame(tree, c, j, q, work)
    z = local_axis(R)
    # Steps 2 c, 3 and 4
    omega = apply_transposed(R, load3(work, up, OMEGA))  # 3.8
    omega_dot = apply_transposed(R, load3(work, up, OMEGA_DOT))  # 3.14
    if not prismatic:
        d_omega = scale(rate, z)  # 3.5
        store3(work, row, D_OMEGA, d_omega)
        d_omega_dot = add(scale(acceleration, z), cross(omega, d_omega))  # 3.17
        omega = add(omega, d_omega)  # 3.11
        omega_dot = add(omega_dot, d_omega_dot)  # 3.20
    store3(work, row, OMEGA, omega)
    store3(work, row, OMEGA_DOT, omega_dot)
    # Steps 6 b, d and 7
    dx_dot, dx_ddot = point_motion(prismatic, z, rate, acceleration, omega, omega_dot, dx)
    dx_G_dot, dx_G_ddot = point_motion(prismatic, z, rate, acceleration, omega, omega_dot, dx_G)
    store3(work, row, DX_DOT, dx_dot)
    store3(work, row, DX_G_DOT, dx_G_dot)
    x_ddot_up = apply_transposed(R, load3(work, up, X_DDOT))  # 3.47
    x_G_ddot = add(x_ddot_up, dx_G_ddot)  # 3.59
    store3(work, row, X_DDOT, add(x_ddot_up, dx_ddot))  # 3.53
    store3(work, row, X_G_DDOT, x_G_ddot)
    # Step 8
    R_up = load33(work, up, GLOBAL)
    R_0 = (apply(R_up, R[0]), apply(R_up, R[1]), apply(R_up, R[2]))  # 3.62
    store33(work, row, GLOBAL, R_0)
    Ic = symmetric(tree.Ic, j)
    momentum = apply_symmetric(Ic, omega)  # 3.64
    store3(work, row, H, momentum)
    felt = sub(x_G_ddot, apply_transposed(R_0, (tree.gravity[0], tree.gravity[1], tree.gravity[2])))
    store3(work, row, F_G, scale(tree.mass[j], felt))  # 3.67, g pointing down
    tau_G = add(apply_symmetric(Ic, omega_dot), cross(omega, momentum))  # 3.69
    store3(work, row, TAU_G, tau_G)


@jit
def link_position(tree, j, work):
    """Steps 5 and 6: positions and velocities. No torque depends on them. After link_motion."""
    row, up = j + 1, tree.parent[j]
    R = load33(work, row, LOCAL)
    x_up = apply_transposed(R, load3(work, up, X))  # 3.23
    store3(work, row, X, add(x_up, load3(work, row, DX)))  # 3.26
    store3(work, row, X_G, add(x_up, load3(work, row, DX_G)))  # 3.29
    x_dot_up = apply_transposed(R, load3(work, up, X_DOT))  # 3.32
    store3(work, row, X_DOT, add(x_dot_up, load3(work, row, DX_DOT)))  # 3.38
    store3(work, row, X_G_DOT, add(x_dot_up, load3(work, row, DX_G_DOT)))  # 3.44


@jit
def accumulate(work, row, k, x):
    store3(work, row, k, add(load3(work, row, k), x))


@jit
def inward(tree, work):
    """Step 9 a, c: internal forces and torques without external loads."""
    n = tree.parent.shape[0]
    for j in range(n):
        clear(work, j + 1, F_JD, F_JP)
    for j in range(n - 1, -1, -1):
        row, up = j + 1, tree.parent[j]
        F_jd, F_Gj = load3(work, row, F_JD), load3(work, row, F_G)
        F_jp = add(F_jd, F_Gj)  # 3.74
        tau_jp = add(load3(work, row, TAU_JD), load3(work, row, TAU_G))  # 3.82
        tau_jp = sub(tau_jp, cross(F_jd, load3(work, row, DX)))
        tau_jp = sub(tau_jp, cross(F_Gj, load3(work, row, DX_G)))
        store3(work, row, F_JP, F_jp)
        store3(work, row, TAU_JP, tau_jp)
        if up > 0:  # 3.72 and 3.80 for the parent link: its share from this branch
            R = load33(work, row, LOCAL)
            accumulate(work, up, F_JD, apply(R, F_jp))
            accumulate(work, up, TAU_JD, apply(R, tau_jp))


@jit
def load_in_frame(loads, k, x, work):
    """The force that the loaded link exerts, in its frame; the given components act on the link."""
    if loads.world[k] == 1:  # 3.76 (corrected: no derivative of 0R_k) and 3.88, j = k
        return neg(apply_transposed(load33(work, loads.row[k], GLOBAL), x))
    return neg(apply((column(loads.R, k, 0), column(loads.R, k, 1), column(loads.R, k, 2)), x))


@jit
def inward_external(tree, loads, c, values, work):
    """Step 9 b, d, e: contribution of the external loads, after 9 a and 9 c for all links.

    (In one sweep with 9 a, the external part of F_jd would reach the parent links twice.)
    """
    n = tree.parent.shape[0]
    for j in range(n):
        clear(work, j + 1, F_E, LINK_COLUMNS)
    for k in range(loads.row.shape[0]):
        F = load_in_frame(loads, k, load3(values, c, 6 * k + 3), work)
        accumulate(work, loads.row[k], F_E, F)
        # r_k x F^e of 3.84, j = k
        accumulate(work, loads.row[k], TAU_EF, cross(vector(loads.point, k), F))
        tau = load_in_frame(loads, k, load3(values, c, 6 * k), work)
        accumulate(work, loads.row[k], TAU_EM, tau)
    for j in range(n - 1, -1, -1):
        row, up = j + 1, tree.parent[j]
        F_e, tau_em = load3(work, row, F_E), load3(work, row, TAU_EM)
        accumulate(work, row, TAU_EF, cross(load3(work, row, DX), F_e))  # 3.84, both cases
        tau_ef = load3(work, row, TAU_EF)
        accumulate(work, row, F_JP, F_e)  # 3.78
        accumulate(work, row, TAU_JP, add(tau_ef, tau_em))  # 3.86, 3.90
        if up > 0:  # j < k; 3.84, 3.88 corrected: they pass on tau^ef and tau^em each
            R = load33(work, row, LOCAL)
            accumulate(work, up, F_E, apply(R, F_e))  # 3.76
            accumulate(work, up, TAU_EF, apply(R, tau_ef))  # 3.84
            accumulate(work, up, TAU_EM, apply(R, tau_em))  # 3.88


@jit
def steps_1_to_9(tree, loads, c, ins, work):
    """Fill the rows of all links."""
    q, v, a, values = ins
    base_row(tree, work)
    for j in range(tree.parent.shape[0]):
        link_motion(tree, c, j, q, v, a, work)
    inward(tree, work)
    if loads.row.shape[0] > 0:
        inward_external(tree, loads, c, values, work)


@jit
def along_axis(tree, j, work, row, at):
    """Step 10: 3.92 of a revolute joint, 3.94 of a prismatic one; F_jp at `at`, then tau_jp."""
    x = load3(work, row, at if tree.kind[j] == PRISMATIC else at + 3)
    return tree.sin_alpha[j] * x[1] + tree.cos_alpha[j] * x[2]


@jit
def actuation(tree, c, j, q, v, a, work):
    """Step 10, with the spring, friction and armature of joint j."""
    tau_j = along_axis(tree, j, work, j + 1, F_JP)
    if tree.loaded[j] == 1:
        tau_j = tau_j + joint_force(tree, c, j, q, v, a)
    return tau_j


@jit
def link_axes(tree, j):
    """Axes of the model's link frame in frame j."""
    return (column(tree.link, j, 0), column(tree.link, j, 1), column(tree.link, j, 2))


@jit
def to_link(tree, c, j, q, work, row, at, wrench, k):
    """Moment and force in link axes about the link frame's origin, from F_jp at `at`, then tau_jp.

    tau_jp is about O_{j-1}, from which a prismatic joint slides the link frame by d.
    """
    F, tau, axes = load3(work, row, at), load3(work, row, at + 3), link_axes(tree, j)
    if tree.kind[j] == PRISMATIC:
        z = local_axis(load33(work, j + 1, LOCAL))
        tau = sub(tau, cross(scale(tree.d[j] + load(q, c, j), z), F))
    store3(wrench, c, k, apply_transposed(axes, tau))
    store3(wrench, c, k + 3, apply_transposed(axes, F))


@jit
def newton_euler(tree, loads, c, ins, outs, work):
    q, v, a, _ = ins
    (tau,) = outs
    steps_1_to_9(tree, loads, c, ins, work)
    for j in range(tree.parent.shape[0]):
        store(tau, c, j, actuation(tree, c, j, q, v, a, work))


@jit
def internal_forces(tree, loads, c, ins, outs, work):
    (wrench,) = outs
    steps_1_to_9(tree, loads, c, ins, work)
    for j in range(tree.parent.shape[0]):
        to_link(tree, c, j, ins[0], work, j + 1, F_JP, wrench, 6 * j)


NEWTON_EULER_DH = Kernel(
    newton_euler,
    work=lambda tree: (len(tree.parent) + 1, LINK_COLUMNS),
    outputs=lambda tree: (dense(len(tree.parent)),),
    forces=True,
    view=dh_tree_of,
    pack=pack_dh_forces,
)
INTERNAL_FORCES_DH = Kernel(
    internal_forces,
    work=lambda tree: (len(tree.parent) + 1, LINK_COLUMNS),
    outputs=lambda tree: (dense(len(tree.parent), 6),),
    forces=True,
    view=dh_tree_of,
    pack=pack_dh_forces,
)


def newton_euler_dh_torques(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Joint torques (forces for prismatic joints) that produce the motion: tau (..., n).

    The same numbers as inverse_dynamics, including springs, friction and armature, by the published
    recursion. The model must have a standard DH table (model.dh) and no coupled rotors.
    """
    n = joints(model)
    return NEWTON_EULER_DH(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]


def newton_euler_dh_internal_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Wrench (moment, force) on each link through its joint: (..., n, 6).

    In link axes, about the origin of the link frame. It includes the forces of the joint's
    actuator, spring and friction, but not armature, which is not a body.
    """
    n = joints(model)
    return INTERNAL_FORCES_DH(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]

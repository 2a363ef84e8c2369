"""Hybrid dynamics as published: algorithms 3.4-3.6 for branched chains, in link frames.

The poses T_{P,i} = M_i e^{S_i q_i} are products of matrix exponentials, and Ad and ad are the
adjoint maps of SE(3) and se(3), equations 10-16. Numbers refer to the paper's equations, with these
corrections: wrenches are passed inward by the transpose of Ad_{T^-1} (27 to 54 show T*), J-hat is
outside the bracket of 56, and external wrenches, here those that act on a link, are subtracted in
55. Armature adds to S^T J-hat S, spring and friction to tau.

hybrid.py computes the same faster; hybrid_recursion_sensitivity.py differentiates this algorithm.
Reference: Sohl and Bobrow, A recursive multibody dynamics and sensitivity algorithm for branched
kinematic chains, ASME J. Dynamic Systems, Measurement, and Control 123(3), 2001.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.actuation import Actuated, pack_on_tree, read_mask, view_with_mask
from predyn.dynamics.forward import column, symmetric, vector
from predyn.dynamics.hybrid import check_finite, hybrid_inputs
from predyn.dynamics.joint_forces import joint_force
from predyn.errors import ModelError
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lane_functions import sincos
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    add6,
    apply,
    apply_symmetric,
    apply_transposed,
    cross,
    cross_force,
    cross_motion,
    dot6,
    load3,
    load6,
    load33,
    scale,
    scale6,
    store3,
    store6,
    store33,
    sub,
    sub6,
    wrench_at,
)
from predyn.kernels.tree import has_coupled_rotors
from predyn.model import PRISMATIC, Model

# Columns of a link's row; row 0 is the base. A 6x6 matrix is stored by its columns.
T = 0  # rotation, 9, and origin, 3, of the link frame in its parent's
AD = 12  # Ad_{T^-1}, 36
WORLD = 48  # rotation of the link frame in the base frame, 9
VELOCITY = 57  # V, 6
COMING = 63  # V-dot^+ = Ad_{T^-1} V-dot_P, 6
ACCELERATION = 69  # V-dot, 6
DRIFT = 75  # a, 6
J_HAT = 81  # articulated inertia, 36
J_PLUS = 117  # the same as seen by the parent, 36
Z = 153  # known part of the wrench, 6, first B
Z_PLUS = 159  # the same as seen by the parent, 6
PHI = 165  # J-hat S / Omega, 6; at active joints J-hat S
OMEGA = 171  # 1 / Omega
U = 172  # tau - S^T z
COLUMNS = 173


@jit
def screw(tree, i):
    """S of joint i in its own frame: angular and linear component along z."""
    if tree.kind[i] == PRISMATIC:
        return 0.0, 1.0
    return 1.0, tree.pitch[i]


@jit
def along_screw(tree, i, x):
    """S x."""
    w, l = screw(tree, i)  # noqa: E741
    zero = 0.0 * x
    return ((zero, zero, w * x), (zero, zero, l * x))


@jit
def on_screw(tree, i, F):
    """S^T F."""
    w, l = screw(tree, i)  # noqa: E741
    return w * F[0][2] + l * F[1][2]


@jit
def matrix_times(work, row, M, x):
    """The 6x6 matrix from column M on, times a 6-vector."""
    y = add6(scale6(x[0][0], load6(work, row, M)), scale6(x[0][1], load6(work, row, M + 6)))
    y = add6(y, scale6(x[0][2], load6(work, row, M + 12)))
    y = add6(y, scale6(x[1][0], load6(work, row, M + 18)))
    y = add6(y, scale6(x[1][1], load6(work, row, M + 24)))
    return add6(y, scale6(x[1][2], load6(work, row, M + 30)))


@jit
def to_link(work, row, V):
    """Ad_{T^-1} V: a motion from the parent's frame to the link's (10)."""
    R, p = load33(work, row, T), load3(work, row, T + 9)
    return (apply_transposed(R, V[0]), apply_transposed(R, sub(V[1], cross(p, V[0]))))


@jit
def to_parent(work, row, F):
    """Ad*_{T^-1} F: a wrench from the link's frame to its parent's (12)."""
    R, p = load33(work, row, T), load3(work, row, T + 9)
    force = apply(R, F[1])
    return (add(apply(R, F[0]), cross(p, force)), force)


@jit
def add_in_parent(work, row, K, up, target):
    """Add Ad*_{T^-1} K Ad_{T^-1} to a 6x6 matrix of the parent, column by column."""
    for k in range(0, 36, 6):
        y = to_parent(work, row, matrix_times(work, row, K, load6(work, row, AD + k)))
        store6(work, up, target + k, add6(load6(work, up, target + k), y))


@jit
def inertia_times(tree, i, V):
    """J V (19): the link's own inertia, about its frame's origin."""
    m, c = tree.mass[i], vector(tree.com, i)
    momentum = scale(m, add(V[1], cross(V[0], c)))
    return (add(apply_symmetric(symmetric(tree.Ic, i), V[0]), cross(c, momentum)), momentum)


@jit
def load_in_link(loads, c, k, values, work):
    """External force k in the frame of its link: point, moment and force."""
    moment, force = load3(values, c, 6 * k), load3(values, c, 6 * k + 3)
    if loads.world[k] == 1:
        R = load33(work, loads.row[k], WORLD)
        moment, force = apply_transposed(R, moment), apply_transposed(R, force)
    else:
        axes = (column(loads.R, k, 0), column(loads.R, k, 1), column(loads.R, k, 2))
        moment, force = apply(axes, moment), apply(axes, force)
    return vector(loads.point, k), moment, force


@jit
def _base(tree, work):
    for k in range(COLUMNS):
        store(work, 0, k, 0.0)
    for k in range(3):
        store(work, 0, WORLD + 4 * k, 1.0)
        store(work, 0, ACCELERATION + 3 + k, -tree.gravity[k])


@jit
def _pose(tree, c, i, q, work):
    """49: T = M e^{S q}, with its adjoint."""
    row, x = i + 1, load(q, c, i)
    w, l = screw(tree, i)  # noqa: E741
    sine, cosine = sincos(w * x)
    X, Y, Z_axis = column(tree.R, i, 0), column(tree.R, i, 1), column(tree.R, i, 2)
    R = (
        add(scale(cosine, X), scale(sine, Y)),
        add(scale(-sine, X), scale(cosine, Y)),
        add(scale(0.0 * x, X), Z_axis),
    )
    p = add(vector(tree.p, i), scale(l * x, Z_axis))
    store33(work, row, T, R)
    store3(work, row, T + 9, p)
    above = load33(work, tree.parent[i], WORLD)
    store33(work, row, WORLD, (apply(above, R[0]), apply(above, R[1]), apply(above, R[2])))
    for k in range(36):
        store(work, row, AD + k, 0.0)
    for k in range(3):
        store(work, row, AD + 7 * k, 1.0)
        store(work, row, AD + 18 + 7 * k + 3, 1.0)
    for k in range(0, 36, 6):
        store6(work, row, AD + k, to_link(work, row, load6(work, row, AD + k)))


@jit
def _outward_velocities(tree, c, q, v, work):
    """Algorithm 3.4."""
    _base(tree, work)
    for i in range(tree.parent.shape[0]):
        row = i + 1
        _pose(tree, c, i, q, work)
        own = along_screw(tree, i, load(v, c, i))
        V = add6(to_link(work, row, load6(work, tree.parent[i], VELOCITY)), own)  # 50
        store6(work, row, VELOCITY, V)
        store6(work, row, DRIFT, cross_motion(V, own))  # 51: -ad_{S v} V
        store6(work, row, Z, cross_force(V, inertia_times(tree, i, V)))  # 52: -ad*_V (J V)
        for k in range(36):
            store(work, row, J_HAT + k, 0.0)
        for k in range(0, 36, 7):
            store(work, row, J_HAT + k, 1.0)
        for k in range(0, 36, 6):
            own = inertia_times(tree, i, load6(work, row, J_HAT + k))
            store6(work, row, J_HAT + k, own)


@jit
def _inward_inertias(tree, loads, active, c, q, v, a_in, tau_in, values, a, work):
    """Algorithm 3.5. J-hat holds J, and Z holds b, until the children have added theirs."""
    for k in range(loads.row.shape[0]):
        row = loads.row[k]
        p, moment, force = load_in_link(loads, c, k, values, work)
        store6(work, row, Z, sub6(load6(work, row, Z), wrench_at(p, moment, force)))  # in 55
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        row, up = i + 1, tree.parent[i]
        known = load6(work, row, DRIFT)
        one = along_screw(tree, i, 1.0 + 0.0 * load(q, c, i))
        push = matrix_times(work, row, J_HAT, one)
        if active[i] == 1:
            known = add6(known, along_screw(tree, i, load(a_in, c, i)))
            store(a, c, i, load(a_in, c, i))
        else:
            store(a, c, i, 0.0)
        z = add6(matrix_times(work, row, J_HAT, known), load6(work, row, Z))  # 55
        store6(work, row, Z, z)
        for k in range(36):
            store(work, row, J_PLUS + k, load(work, row, J_HAT + k))  # 56, 57
        store6(work, row, Z_PLUS, z)
        store6(work, row, PHI, push)
        if active[i] == 0:
            omega = on_screw(tree, i, push)
            u = load(tau_in, c, i) - on_screw(tree, i, z)
            if tree.loaded[i] == 1:
                omega = omega + tree.armature[i]
                u = u - joint_force(tree, c, i, q, v, a)
            phi = scale6(1.0 / omega, push)
            store(work, row, OMEGA, 1.0 / omega)
            store(work, row, U, u)
            store6(work, row, PHI, phi)
            for k in range(0, 36, 6):
                less = scale6(on_screw(tree, i, load6(work, row, J_HAT + k)), phi)
                store6(work, row, J_PLUS + k, sub6(load6(work, row, J_HAT + k), less))
            store6(work, row, Z_PLUS, add6(z, scale6(u, phi)))
        if up > 0:
            add_in_parent(work, row, J_PLUS, up, J_HAT)  # 53
            z = to_parent(work, row, load6(work, row, Z_PLUS))
            store6(work, up, Z, add6(load6(work, up, Z), z))  # 54


@jit
def _outward_accelerations(tree, active, c, q, v, tau_in, a, tau, work):
    """Algorithm 3.6."""
    for i in range(tree.parent.shape[0]):
        row = i + 1
        coming = to_link(work, row, load6(work, tree.parent[i], ACCELERATION))
        store6(work, row, COMING, coming)
        if active[i] == 1:
            known = add6(matrix_times(work, row, J_HAT, coming), load6(work, row, Z))
            torque = on_screw(tree, i, known)  # 59
            if tree.loaded[i] == 1:
                torque = torque + joint_force(tree, c, i, q, v, a)
            store(tau, c, i, torque)
        else:
            phi = load6(work, row, PHI)
            given = load(work, row, U) * load(work, row, OMEGA)
            store(a, c, i, given - dot6(coming, phi))  # 58
            store(tau, c, i, load(tau_in, c, i))
        own = along_screw(tree, i, load(a, c, i))
        moving = add6(add6(coming, own), load6(work, row, DRIFT))  # 60
        store6(work, row, ACCELERATION, moving)


@jit
def recursion(view, loads, c, ins, outs, work):
    """ins: q, v, a, tau, values of the loads; outs: a, tau."""
    q, v, a_in, tau_in, values = ins
    a, tau = outs
    tree = view.tree
    _outward_velocities(tree, c, q, v, work)
    _inward_inertias(tree, loads, view.active, c, q, v, a_in, tau_in, values, a, work)
    _outward_accelerations(tree, view.active, c, q, v, tau_in, a, tau, work)


HYBRID_RECURSION = Kernel(
    recursion,
    work=lambda view: (len(view.parent) + 1, COLUMNS),
    outputs=lambda view: (dense(len(view.parent)), dense(len(view.parent))),
    forces=True,
    pack=pack_on_tree,
)


def hybrid_recursion_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None,
    tau: ArrayLike | None,
    active: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> tuple[NDArray, NDArray]:
    """hybrid_dynamics by the published recursion: a, tau, both (..., n) and complete."""
    mask = read_mask(model, active)
    inputs = hybrid_inputs(model, q, v, a, tau, mask)
    result = HYBRID_RECURSION(model, inputs, forces, out, view=recursive_view(model, mask))
    return check_finite(model, mask, *result)


def recursive_view(model: Model, mask: NDArray) -> Actuated:
    """The kernels' view, if the recursion applies to the model."""
    coupled.refuse(model, "the published hybrid recursion", "use hybrid_dynamics")
    if has_coupled_rotors(model):
        raise ModelError(
            f"model {model.name!r}: its rotor matrix couples joints, which this recursion does "
            "not support; use hybrid_dynamics or hybrid_dynamics_derivatives"
        )
    return view_with_mask(model, mask)

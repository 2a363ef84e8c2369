"""Inverse dynamics by the recursive Newton-Euler algorithm, in world components.

Outward: pose, velocity and acceleration of each link (forward.py) and the force that moves it,
f = I a + v x* I v. Inward: joint j carries the sum over its subtree, tau_j = S_j . F_j.
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), section 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.forward import (
    AXIS,
    END,
    center,
    load_wrench,
    move,
    place,
    symmetric,
    world_row,
)
from predyn.dynamics.joint_forces import joint_force, rotor_force
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    add6,
    apply,
    apply_symmetric,
    apply_transposed,
    at_point,
    cross,
    dot6,
    load6,
    scale,
    store6,
    sub6,
    wrench_at,
)
from predyn.model import Model

FORCE = END  # F, 6
COLUMNS = END + 6


@jit
def body_force(tree, i, R, c, v, a):
    """f = I a + v x* I v of link i, by Newton and Euler about its centre of mass c."""
    w = apply_transposed(R, v[0])
    Ic = symmetric(tree.Ic, i)
    moment = add(
        apply_symmetric(Ic, apply_transposed(R, a[0])),
        cross(w, apply_symmetric(Ic, w)),
    )
    acceleration = add(at_point(a, c), cross(v[0], at_point(v, c)))
    return wrench_at(c, apply(R, moment), scale(tree.mass[i], acceleration))


@jit
def outward_forces(tree, loads, c, q, v, a, values, work):
    """Kinematics of all links, and in column FORCE the force of each minus its external loads."""
    n = tree.parent.shape[0]
    world_row(work, tree.gravity)
    for i in range(n):
        R, origin, S = place(tree, c, i, q, work)
        v_i, a_i, _ = move(tree, c, i, S, v, a, work)
        if tree.body[i] == 1:
            store6(work, i + 1, FORCE, body_force(tree, i, R, center(tree, i, R, origin), v_i, a_i))
        else:
            for k in range(6):
                store(work, i + 1, FORCE + k, 0.0)
    for k in range(loads.row.shape[0]):
        row = loads.row[k]
        wrench = load_wrench(loads, c, k, values, work)
        store6(work, row, FORCE, sub6(load6(work, row, FORCE), wrench))


@jit
def rnea(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    (tau,) = outs
    n = tree.parent.shape[0]
    outward_forces(tree, loads, c, q, v, a, values, work)
    for i in range(n - 1, -1, -1):
        f = load6(work, i + 1, FORCE)
        store(tau, c, i, dot6(load6(work, i + 1, AXIS), f))
        up = tree.parent[i]
        if up > 0:
            store6(work, up, FORCE, add6(load6(work, up, FORCE), f))
    for i in range(n):
        if tree.loaded[i] == 1:
            store(tau, c, i, load(tau, c, i) + joint_force(tree, c, i, q, v, a))
    for i in range(tree.rotor.shape[0]):
        store(tau, c, i, load(tau, c, i) + rotor_force(tree, c, i, a))


RNEA = Kernel(
    rnea,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=lambda tree: (dense(len(tree.parent)),),
    forces=True,
)


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Joint torques (forces for prismatic joints) that produce the motion: tau (..., n).

    q, v, a: (..., n) in the order of model.joint_names; leading shapes broadcast. tau includes the
    model's springs, ligaments, friction, armature and rotors; external forces are given. This is
    the open tree: closed_inverse_dynamics includes the forces of closed loops.
    """
    n = joints(model)
    if model.couplings:
        return coupled.inverse_dynamics(model, q, v, a, forces, out)
    return RNEA(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]

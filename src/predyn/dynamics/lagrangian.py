"""Gradients of kinetic and potential energy, and the generalized forces, in one sweep.

With psi-dot_k = v_parent x S_k and sums over the subtree of joint k, P of momenta I v, G of weights
(c x m g, m g) and L of external forces,

    p_k = dT/dv_k = S_k . P_k      dT/dq_k = psi-dot_k . P_k
    dV/dq_k = -S_k . G_k           Q_k = S_k . L_k

in world components, because dS_k/dt = psi-dot_k, and because rotating joint k changes all
velocities of its subtree by psi-dot_k, seen from a frame that rotates with it. Springs and
ligaments add to V, armature and rotors to T, friction to Q. The equations of motion are
tau = dp/dt - f with f = dT/dq - dV/dq + Q, so that M a + (dp/dq) v - f is inverse dynamics.

Reference: Bjorkenstam, Methods for direct optimal control of multibody systems, licentiate thesis,
Chalmers University of Technology, 2016; published/discrete_recursion.py follows its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_energies
from predyn.dynamics.forward import (
    AXIS,
    END,
    ORIGIN,
    POSE,
    PSI,
    carry,
    center,
    load_wrench,
    place,
    symmetric,
    world_row,
)
from predyn.dynamics.joint_forces import (
    elastic_energy,
    elastic_force,
    friction_force,
    rotor_force,
)
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add6,
    apply,
    apply_symmetric,
    apply_transposed,
    at_point,
    dot,
    dot6,
    load3,
    load6,
    load33,
    scale,
    store6,
    wrench_at,
)
from predyn.kernels.tree import Tree, placed_tree_of, tree_of
from predyn.model import Model

P = END  # momentum, 6; from here on the columns are sums over the subtree
G = END + 6  # weight, 6
L = END + 12  # external forces, 6; filled only if there are any
COLUMNS = END + 18


@jit
def outward_wrenches(tree, loads, c, q, v, values, work):
    """Kinematics of all links, momentum and weight of each, and its external forces."""
    n = tree.parent.shape[0]
    g = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    world_row(work, tree.gravity)
    for i in range(n):
        R, origin, S = place(tree, c, i, q, work)
        v_i, _ = carry(tree, c, i, S, v, work)
        if tree.body[i] == 1:
            m, com = tree.mass[i], center(tree, i, R, origin)
            spin = apply_symmetric(symmetric(tree.Ic, i), apply_transposed(R, v_i[0]))
            momentum = scale(m, at_point(v_i, com))
            store6(work, i + 1, P, wrench_at(com, apply(R, spin), momentum))
            store6(work, i + 1, G, wrench_at(com, scale(0.0, com), scale(m, g)))
        else:
            for k in range(P, L):
                store(work, i + 1, k, 0.0)
    if loads.row.shape[0] > 0:
        for row in range(1, n + 1):
            for k in range(L, COLUMNS):
                store(work, row, k, 0.0)
        for k in range(loads.row.shape[0]):
            row = loads.row[k]
            wrench = load_wrench(loads, c, k, values, work)
            store6(work, row, L, add6(load6(work, row, L), wrench))


@jit
def sum_wrenches(tree, loads, i, work):
    """Add the wrenches of link i to its parent's."""
    up = tree.parent[i]
    if up > 0:
        last = COLUMNS if loads.row.shape[0] > 0 else L
        for k in range(P, last):
            store(work, up, k, load(work, up, k) + load(work, i + 1, k))


@jit
def joint_momentum(tree, c, i, v, S_dot_P):
    """Momentum of the subtree along the axis, plus that of armature and rotors."""
    p = S_dot_P + tree.armature[i] * load(v, c, i)
    if tree.rotor.shape[0] > 0:
        p = p + rotor_force(tree, c, i, v)
    return p


@jit
def gradients(tree, loads, c, ins, outs, work):
    """ins: q, v, values of the loads; outs: one array of f (n), then p (n)."""
    q, v, values = ins
    (fp,) = outs
    n = tree.parent.shape[0]
    outward_wrenches(tree, loads, c, q, v, values, work)
    for i in range(n - 1, -1, -1):
        S, momentum = load6(work, i + 1, AXIS), load6(work, i + 1, P)
        f = dot6(load6(work, i + 1, PSI), momentum) + dot6(S, load6(work, i + 1, G))
        if loads.row.shape[0] > 0:
            f = f + dot6(S, load6(work, i + 1, L))
        if tree.loaded[i] == 1:
            f = f - elastic_force(tree, c, i, q) - friction_force(tree, c, i, v)
        store(fp, c, i, f)
        store(fp, c, n + i, joint_momentum(tree, c, i, v, dot6(S, momentum)))
        sum_wrenches(tree, loads, i, work)


@jit
def gradients_by_part(tree, loads, c, ins, outs, work):
    """The same by parts; outs: T, V (about the view's origin), p, dT/dq, dV/dq, Q."""
    q, v, values = ins
    kinetic, potential, p, dT, dV, Q = outs
    g = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    outward_wrenches(tree, loads, c, q, v, values, work)
    store(kinetic, c, 0, 0.0)
    store(potential, c, 0, 0.0)
    for i in range(tree.parent.shape[0] - 1, -1, -1):
        S, momentum = load6(work, i + 1, AXIS), load6(work, i + 1, P)
        own = joint_momentum(tree, c, i, v, dot6(S, momentum))
        store(p, c, i, own)
        store(kinetic, c, 0, load(kinetic, c, 0) + 0.5 * (load(v, c, i) * own))
        store(dT, c, i, dot6(load6(work, i + 1, PSI), momentum))
        store(dV, c, i, elastic_force(tree, c, i, q) - dot6(S, load6(work, i + 1, G)))
        force = 0.0 - friction_force(tree, c, i, v)
        if loads.row.shape[0] > 0:
            force = force + dot6(S, load6(work, i + 1, L))
        store(Q, c, i, force)
        sum_wrenches(tree, loads, i, work)
    for i in range(tree.parent.shape[0]):
        com = center(tree, i, load33(work, i + 1, POSE), load3(work, i + 1, ORIGIN))
        V = elastic_energy(tree, c, i, q) - tree.mass[i] * dot(g, com)
        store(potential, c, 0, load(potential, c, 0) + V)


def work_shape(tree: Tree) -> tuple[int, int]:
    return len(tree.parent) + 1, COLUMNS


ENERGY_GRADIENTS = Kernel(
    gradients,
    work=work_shape,
    outputs=lambda tree: (dense(2 * len(tree.parent)),),
    forces=True,
)
GRADIENTS_BY_PART = Kernel(
    gradients_by_part,
    work=work_shape,
    outputs=lambda tree: (dense(), dense(), *(dense(len(tree.parent)) for _ in range(4))),
    forces=True,
)


class EnergyGradients(NamedTuple):
    """Energies T and V, their gradients, and the other generalized forces.

    The equations of motion are tau = dp/dt - (dT_dq - dV_dq + Q).
    """

    kinetic: NDArray  # (...) T, J
    potential: NDArray  # (...) V of gravity, springs and ligaments, J
    p: NDArray  # (..., n) generalized momentum dT/dv
    dT_dq: NDArray  # (..., n)
    dV_dq: NDArray  # (..., n)
    Q: NDArray  # (..., n) friction and external forces


def energy_gradients(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> EnergyGradients:
    """Kinetic and potential energy with dT/dv, dT/dq and dV/dq, and the forces that have neither.

    q, v: (..., n) in the order of model.joint_names; leading shapes broadcast. The cost grows
    linearly with n. Q holds the model's friction and the given external forces; the potential has
    the zero of potential_energy. out: six arrays in the order returned.
    """
    n = joints(model)
    if model.couplings:
        return EnergyGradients(*coupled_energies.gradients(model, q, v, forces, out))
    found = GRADIENTS_BY_PART(model, (("q", q, n), ("v", v, n)), forces, out)
    tree = tree_of(model)  # moved so that the first joint is at the origin
    moved = placed_tree_of(model).p[0] - tree.p[0]
    found[1][...] -= tree.mass.sum() * (model.gravity @ moved)
    return EnergyGradients(*found)

"""Kinetic and potential energy."""

from __future__ import annotations

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.forward import END, VELOCITY, center, place, symmetric, world_row
from predyn.dynamics.joint_forces import elastic_energy
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add6,
    apply_symmetric,
    apply_transposed,
    at_point,
    dot,
    load6,
    scale6,
    store6,
)
from predyn.kernels.tree import Tree, placed_tree_of
from predyn.model import Model


@jit
def energies(tree, loads, c, ins, outs, work):
    q, v = ins
    kinetic, potential = outs
    g = (tree.gravity[0], tree.gravity[1], tree.gravity[2])
    world_row(work, tree.gravity)
    store(kinetic, c, 0, 0.0)
    store(potential, c, 0, 0.0)
    for i in range(tree.parent.shape[0]):
        R, origin, S = place(tree, c, i, q, work)
        rate = load(v, c, i)
        v_i = add6(load6(work, tree.parent[i], VELOCITY), scale6(rate, S))
        store6(work, i + 1, VELOCITY, v_i)
        com = center(tree, i, R, origin)
        u, w = at_point(v_i, com), apply_transposed(R, v_i[0])
        spin = dot(w, apply_symmetric(symmetric(tree.Ic, i), w))
        T = 0.5 * (tree.mass[i] * dot(u, u) + spin + tree.armature[i] * (rate * rate))
        V = elastic_energy(tree, c, i, q) - tree.mass[i] * dot(g, com)
        store(kinetic, c, 0, load(kinetic, c, 0) + T)
        store(potential, c, 0, load(potential, c, 0) + V)
    for i in range(tree.rotor.shape[0]):
        for k in range(tree.rotor.shape[1]):
            T = (0.5 * tree.rotor[i, k]) * (load(v, c, i) * load(v, c, k))
            store(kinetic, c, 0, load(kinetic, c, 0) + T)


def _work(tree: Tree) -> tuple[int, int]:
    return len(tree.parent) + 1, END


ENERGIES = Kernel(
    energies, work=_work, outputs=lambda tree: (dense(), dense()), view=placed_tree_of
)


def kinetic_energy(model: Model, q: ArrayLike, v: ArrayLike) -> NDArray:
    """Kinetic energy (...), J: half v M v, reflected rotor inertia included."""
    n = joints(model)
    if model.couplings:
        return coupled.energies(model, q, v)[0]
    return ENERGIES(model, (("q", q, n), ("v", v, n)))[0]


def potential_energy(model: Model, q: ArrayLike) -> NDArray:
    """Potential energy (...), J, of gravity, springs and ligaments.

    Zero at the world origin, at rest, and (moment / rate) exp(...) of each ligament.
    """
    n = joints(model)
    if model.couplings:
        return coupled.energies(model, q, None)[1]
    return ENERGIES(model, (("q", q, n), ("v", [0.0] * model.n, n)))[1]

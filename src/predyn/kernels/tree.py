"""The arrays of a Model in the form the kernels read.

Kernels work on joint frames whose z axis is the joint axis: here, link axes are rotated once by a
constant rotation. Row 0 of every kernel workspace is the world and row i + 1 is link i, so that
`tree.parent` (already shifted by one) needs no special case at the root.

Quantities between two joints are nonzero only if one is the other's ancestor. They are kept as a
packed list of pairs: for each joint i, from `tree.pair[i]` on, the pairs (i, i), (i, parent), ...
up to the root.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from predyn.errors import ModelError
from predyn.model import SCREW, Model
from predyn.model.parts import unpack_inertias

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tree(NamedTuple):
    parent: Ints  # (n,) workspace row of the parent link, 0 = world
    kind: Ints  # (n,) REVOLUTE, PRISMATIC or SCREW
    pitch: Floats  # (n,) m/rad, zero unless a screw
    R: Floats  # (n, 3, 3) joint frame in the parent's joint frame at q = 0
    p: Floats  # (n, 3) its origin
    link: Floats  # (n, 3, 3) link axes in the joint frame, as columns
    body: Ints  # (n,) 0 if the link has no inertia
    mass: Floats  # (n,)
    com: Floats  # (n, 3) centre of mass, joint frame
    Ic: Floats  # (n, 6) inertia about it, joint frame axes: xx, xy, yy, xz, yz, zz
    gravity: Floats  # (3,)
    pair: Ints  # (n + 1,) where the pairs of joint i start
    size: Ints  # (n,) links in the subtree of link i, itself included
    loaded: Ints  # (n,) 1 if the joint has a spring, a ligament, friction or armature
    stiffness: Floats
    rest: Floats
    damping: Floats
    coulomb: Floats
    coulomb_speed: Floats
    armature: Floats
    ligaments: Floats  # (n, 2, 3) lower, upper x moment, rate, angle; none if the moment is 0
    rotor: Floats  # (n, n) if rotors couple joints, else (0, 0); a diagonal is in the armature


_trees: WeakKeyDictionary[Model, tuple[Tree, Tree, Tree]] = WeakKeyDictionary()


def trees_of(model: Model) -> tuple[Tree, Tree, Tree]:
    """The views that tree_of, placed_tree_of and weightless_tree_of return.

    They share their arrays, except for p of the first and gravity of the last.
    """
    trees = _trees.get(model)
    if trees is None:
        if model.couplings:
            raise ModelError(
                f"model {model.name!r:.60} has joints that follow others, which this function "
                "does not support"
            )
        placed = _build_tree(model)
        near = placed.p.copy()
        near[placed.parent == 0] -= placed.p[0]
        trees = (placed._replace(p=near), placed, placed._replace(gravity=np.zeros(3)))
        _trees[model] = trees
    return trees


def tree_of(model: Model) -> Tree:
    """The kernels' view of a model, built once per model, for quantities that do not depend on the
    position of the mechanism: it is shifted so that the first joint is at the origin.

    Moments are about the origin, and rounding grows with the square of the distance from it.
    """
    return trees_of(model)[0]


def placed_tree_of(model: Model) -> Tree:
    """The same, at the position given by the model."""
    return trees_of(model)[1]


def weightless_tree_of(model: Model) -> Tree:
    """The same, at the position given by the model and without gravity: accelerations are those
    relative to the world."""
    return trees_of(model)[2]


_PACKED = np.array([0, 1, 4, 2, 5, 8])  # elements of a matrix that Tree.Ic has: xx xy yy xz yz zz

MASSES = ("body", "mass", "com", "Ic")


def share_trees(model: Model, other: Model) -> None:
    """Build the trees of a model from those of another one that differs in inertia only."""
    if model not in _trees:
        near, placed, weightless = trees_of(other)
        found = inertia_in_joint_frames(model.inertia, near.link.transpose(0, 2, 1))
        body = np.asarray(model.inertia.any(axis=1), np.int64)
        own: Any = dict(zip(MASSES, (body, *(np.array(x, order="C") for x in found)), strict=True))
        _trees[model] = near._replace(**own), placed._replace(**own), weightless._replace(**own)


def differ_in_masses_only(one: Tree, other: Tree) -> bool:
    """Whether all numbers agree except those of the bodies' inertia."""
    return all(
        x is y or name in MASSES or np.array_equal(x, y)
        for name, x, y in zip(Tree._fields, one, other, strict=True)
    )


def turn_z_to(axis: Floats) -> Floats:
    """The rotation (3, 3) with the smallest angle that takes z to the given unit vector."""
    x, y, z = axis
    if z < -0.5:  # rotate z to -axis first, by a half turn about x
        return turn_z_to(-axis) @ np.diag([1.0, -1.0, -1.0])
    k = 1.0 / (1.0 + z)
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])


def _build_tree(model: Model) -> Tree:
    n, parent = model.n, model.parent
    A = np.array([turn_z_to(axis) for axis in model.axis]).reshape(n, 3, 3)
    A_parent = np.where((parent < 0)[:, None, None], np.eye(3), A[parent])
    mass, com, Ic = inertia_in_joint_frames(model.inertia, A)
    depth = np.zeros(n, np.int64)
    size = np.ones(n, np.int64)
    for i in range(n):
        depth[i] = 1 + (depth[parent[i]] if parent[i] >= 0 else 0)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            size[parent[i]] += size[i]
    coupled = has_coupled_rotors(model)
    armature = model.armature if coupled else model.armature + np.diagonal(model.rotor)
    moments = model.ligaments[:, :, 0]
    loaded = model.stiffness, model.damping, model.coulomb, armature, *moments.T
    tree = Tree(
        parent=parent + 1,
        kind=model.kind,
        pitch=np.where(model.kind == SCREW, model.pitch, 0.0),
        R=A_parent.transpose(0, 2, 1) @ model.R @ A,
        p=np.einsum("nji,nj->ni", A_parent, model.p),
        link=A.transpose(0, 2, 1),
        body=np.asarray(model.inertia.any(axis=1), np.int64),
        mass=mass,
        com=com,
        Ic=Ic,
        gravity=model.gravity,
        pair=np.concatenate(([0], np.cumsum(depth))),
        size=size,
        loaded=np.asarray(np.any(loaded, axis=0), np.int64),
        stiffness=model.stiffness,
        rest=model.rest,
        damping=model.damping,
        coulomb=model.coulomb,
        coulomb_speed=np.where(model.coulomb_speed > 0, model.coulomb_speed, 1.0),
        armature=armature,
        ligaments=model.ligaments,
        rotor=model.rotor if coupled else np.zeros((0, 0)),
    )
    writable: Any = [np.array(x, order="C") for x in tree]  # one type for the compiler
    return Tree(*writable)


def inertia_in_joint_frames(rows: Floats, A: Floats) -> tuple[Floats, Floats, Floats]:
    """mass (k,), com (k, 3) and Ic (k, 6) of a Tree, from rows (k, 10) of Model.inertia and the
    joint axes A (k, 3, 3) in the link frames.
    """
    mass, c, Ic = unpack_inertias(rows)
    Ic = A.transpose(0, 2, 1) @ Ic @ A
    com = (c[:, None, :] @ A)[:, 0]
    return mass, com, Ic.reshape(-1, 9)[:, _PACKED]


def has_coupled_rotors(model: Model) -> bool:
    """Whether the rotor matrix couples joints, so that no articulated-body recursion applies."""
    return bool(np.any(model.rotor[~np.eye(model.n, dtype=bool)]))


def ancestor_pairs(tree: Tree) -> Ints:
    """(pairs, 2): joint i and its ancestor j, in packed order."""
    pairs = []
    for i in range(len(tree.parent)):
        j = i + 1
        while j > 0:
            pairs.append((i, j - 1))
            j = int(tree.parent[j - 1])
    return np.array(pairs, np.int64).reshape(-1, 2)

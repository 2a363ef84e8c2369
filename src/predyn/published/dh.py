"""A model's standard Denavit-Hartenberg table in the form the two DH formulations read.

Frame i of the papers is fixed to link i at its far end (distal); joint i rotates about, or slides
along, z of the previous frame. Masses, points and load axes, which a Model keeps in the link frame
at the joint, are converted here once to frame i. Row 0 of a workspace is the base, row i + 1 is
link i, so that `parent` (already shifted by one) needs no special case at the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from predyn.errors import ModelError
from predyn.kernels.forces import ExternalForce, Loads, pack_forces
from predyn.kernels.tree import Floats, Ints, tree_of
from predyn.model import PRISMATIC, REVOLUTE, Model
from predyn.model.parts import turn, unpack_inertia

_MATCH = 1e-9  # tolerance between table and placements: rad, or share of the longest distance


class DHTree(NamedTuple):
    parent: Ints  # (n,) workspace row of the previous link, 0 = base
    kind: Ints  # (n,) REVOLUTE or PRISMATIC
    theta: Floats  # (n,) rad; q is added for a revolute joint
    d: Floats  # (n,) m; q is added for a prismatic joint
    a: Floats  # (n,) m
    cos_alpha: Floats  # (n,)
    sin_alpha: Floats  # (n,)
    base: Floats  # (4, 4) pose of frame 0 in the world
    link: Floats  # (n, 3, 3) axes of the model's link frame in frame i, as columns
    origin: Floats  # (n, 3) its origin in frame i
    body: Ints  # (n,) 0 if the link has no inertia
    mass: Floats  # (n,)
    com: Floats  # (n, 3) centre of mass in frame i
    Ic: Floats  # (n, 6) inertia about it, axes of frame i: xx, xy, yy, xz, yz, zz
    I: Floats  # (17): (n, 4, 4) inertia matrix, the integral of r r^T dm, r = (x, 1)  # noqa: E741
    gravity: Floats  # (3,) world
    pair: Ints  # (n + 1,) where the ancestor pairs of joint i start
    size: Ints  # (n,) links in the subtree of link i, itself included
    loaded: Ints  # (n,) 1 if the joint has a spring, a ligament, friction or armature
    stiffness: Floats
    rest: Floats
    damping: Floats
    coulomb: Floats
    coulomb_speed: Floats
    armature: Floats  # with the rotor inertias added
    ligaments: Floats  # (n, 2, 3)


_trees: WeakKeyDictionary[Model, DHTree] = WeakKeyDictionary()


def dh_tree_of(model: Model) -> DHTree:
    """The DH formulations' view of a model, built once per model; ModelError without a table."""
    tree = _trees.get(model)
    if tree is None:
        tree = _trees[model] = _make(model)
    return tree


def pack_dh_forces(
    model: Model, tree: DHTree, forces: Sequence[ExternalForce]
) -> tuple[Loads, list[Floats]]:
    """Like pack_forces, with the points and axes of the loads in frame i of the loaded link."""
    axes_of_links: Any = tree  # pack_forces reads only the field `link` of a tree
    loads, values = pack_forces(model, axes_of_links, forces)
    return loads._replace(point=loads.point + tree.origin[loads.row - 1]), values


def _make(model: Model) -> DHTree:
    if model.dh is None:
        raise ModelError(
            f"model {model.name!r} has no standard Denavit-Hartenberg table (model.dh), which the "
            "DH formulations need: build it with load_dh(..., convention='standard') and do not "
            "move or lock its joints, or call predyn.inverse_dynamics, which needs no table"
        )
    coupled = np.argwhere(model.rotor - np.diag(np.diag(model.rotor)))
    if len(coupled):
        i, k = coupled[0]
        raise ModelError(
            f"model {model.name!r}: its rotor matrix couples joints {model.joint_names[i]!r} and "
            f"{model.joint_names[k]!r}, which the published DH recursions do not support; use a "
            "diagonal matrix, or call predyn.inverse_dynamics"
        )
    n, dh, spatial = model.n, model.dh, tree_of(model)
    slides = model.kind == PRISMATIC
    R = np.array([turn((1.0, 0.0, 0.0), alpha) for alpha in dh.alpha]).reshape(n, 3, 3)
    p = np.stack([dh.a, np.zeros(n), np.where(slides, 0.0, dh.d)], axis=1)  # frame i in link i
    _check_placements(model, R, p)

    link = R.transpose(0, 2, 1)
    com, inertia = np.zeros((n, 3)), np.zeros((n, 3, 3))
    for i in range(n):
        _, c, Ic = unpack_inertia(model.inertia[i])
        com[i], inertia[i] = link[i] @ (c - p[i]), link[i] @ Ic @ R[i]
    mass = model.inertia[:, 0]
    tree = DHTree(
        parent=spatial.parent,
        kind=model.kind,
        theta=dh.theta,
        d=dh.d,
        a=dh.a,
        cos_alpha=np.cos(dh.alpha),
        sin_alpha=np.sin(dh.alpha),
        base=dh.base,
        link=link,
        origin=-np.einsum("nij,nj->ni", link, p),
        body=spatial.body,
        mass=mass,
        com=com,
        Ic=inertia[:, [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]],
        I=_second_moments(mass, com, inertia),
        gravity=model.gravity,
        pair=spatial.pair,
        size=spatial.size,
        loaded=(spatial.loaded.astype(bool) | np.diag(model.rotor).astype(bool)).astype(np.int64),
        stiffness=model.stiffness,
        rest=model.rest,
        damping=model.damping,
        coulomb=model.coulomb,
        coulomb_speed=spatial.coulomb_speed,
        armature=model.armature + np.diag(model.rotor),
        ligaments=model.ligaments,
    )
    arrays: list[Any] = [np.array(x, order="C") for x in tree]
    return DHTree(*arrays)  # writable: one type for the compiler


def _second_moments(mass: Floats, com: Floats, inertia: Floats) -> Floats:
    """(n, 4, 4) integral of r r^T dm, r = (x, 1): [[S, m c], [m c^T, m]] with the second moments
    S = 1/2 tr(Ic) 1 - Ic + m c c^T of an inertia Ic about the centre of mass c."""
    moments = np.zeros((len(mass), 4, 4))
    half_trace = 0.5 * np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    first = mass[:, None] * com
    moments[:, :3, :3] = half_trace - inertia + first[:, :, None] * com[:, None, :]
    moments[:, :3, 3] = moments[:, 3, :3] = first
    moments[:, 3, 3] = mass
    return moments


def _check_placements(model: Model, R: Floats, p: Floats) -> None:
    """The table must agree with the model's placements (R, p: frame i in link i)."""
    assert model.dh is not None
    theta, d, base = model.dh.theta, model.dh.d, model.dh.base
    longest = 1.0 + np.abs(model.p).max(initial=0.0)
    for j in range(model.n):
        up = model.parent[j]
        R_up, p_up = (R[up], p[up]) if up >= 0 else (base[:3, :3], base[:3, 3])
        slide = d[j] if model.kind[j] == PRISMATIC else 0.0
        turned = np.abs(model.R[j] - R_up @ turn((0.0, 0.0, 1.0), theta[j])).max()
        moved = np.abs(model.p[j] - p_up - R_up[:, 2] * slide).max() / longest
        tilted = np.abs(model.axis[j] - (0.0, 0.0, 1.0)).max()
        known = model.kind[j] in (REVOLUTE, PRISMATIC)
        if not known or max(turned, moved, tilted) > _MATCH:
            raise ModelError(
                f"model {model.name!r}: joint {model.joint_names[j]!r} is not where row {j} of the "
                "table in model.dh puts it; set dh=None, or build the model with load_dh"
            )

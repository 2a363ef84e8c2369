"""The floating base of a model: the root chain that lets its first massive link move freely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model.couplings import independent
from predyn.model.parts import PRISMATIC, REVOLUTE, IntArray

if TYPE_CHECKING:
    from predyn.model.model import Model

Floats = NDArray[np.float64]

PLANAR, SPATIAL = (2, 1), (3, 3)  # slides and hinges


def floating_base(model: Model) -> IntArray | None:
    """Joints of the root chain whose links have no mass but the last, if it floats.

    It floats with two slides and a hinge, or three slides and three hinges.
    """
    chain, j = list[int](), -1
    bare = ~model.inertia.any(axis=1) & ~np.isin(np.arange(len(model.parent)), model.parent)
    while True:
        following = np.flatnonzero((np.asarray(model.parent) == j) & ~bare)
        if len(following) != 1:
            return None
        j = int(following[0])
        chain.append(j)
        if model.inertia[j, 0] > 0.0 or len(chain) > sum(SPATIAL):
            break
    links = independent(model)
    if not np.isin(chain, links).all():  # a joint follows another
        return None
    joints = np.searchsorted(links, chain)
    kinds = model.kind[joints]
    counts = int((kinds == PRISMATIC).sum()), int((kinds == REVOLUTE).sum())
    return joints.astype(np.int64) if counts in (PLANAR, SPATIAL) else None


def slides_of_base(model: Model) -> dict[int, Floats]:
    """Slides of the floating base and their directions in the world at q = 0; none without it."""
    base = floating_base(model)
    if base is None:
        return {}
    slides = [int(j) for j in base if model.kind[j] == PRISMATIC]
    return dict(zip(slides, _axes_at_zero(model.expanded, base.tolist()), strict=True))


def root_chain(model: Model) -> list[int]:
    """Links from the world to the first one with mass or with several children."""
    tree, found, link = model.expanded, list[int](), -1
    while True:
        following = np.flatnonzero(np.asarray(tree.parent) == link)
        if len(following) != 1:
            return found
        link = int(following[0])
        found.append(link)
        if tree.inertia[link, 0] > 0.0:
            return found


def base_joints(model: Model) -> NDArray[np.int64]:
    """The joints between the world and the first link with mass, which must form a floating base.

    In space these are three prismatic joints and three revolute ones, in the plane two and one, in
    any order; the axes of the prismatic joints must be independent.
    """
    tree = model.expanded
    roots = np.flatnonzero(tree.parent < 0)
    found = [int(roots[0])]
    while len(roots) == 1 and not tree.inertia[found[-1]].any():
        children = np.flatnonzero(tree.parent == found[-1])
        if len(children) != 1:
            break
        found.append(int(children[0]))
    kinds = [int(k) for k in tree.kind[found]]
    slides, turns = kinds.count(PRISMATIC), kinds.count(REVOLUTE)
    free = len(roots) == 1 and len(kinds) == slides + turns and (slides, turns) in ((3, 3), (2, 1))
    if free:
        free = np.linalg.matrix_rank(_axes_at_zero(tree, found), tol=1e-6) == slides
    if not free:
        names = ", ".join(tree.joint_names[k] for k in found)
        raise InputError(
            f"ground forces: model {model.name!r:.60} has no floating base; expected one "
            "root with three prismatic and three revolute joints (in the plane two and one) before "
            f"the first link with mass, with independent slides; got {slides} prismatic and "
            f"{turns} revolute: {names:.200}"
        )
    held = [tree.stiffness, tree.damping, tree.coulomb, tree.armature, np.abs(tree.rotor).sum(1)]
    held.append(tree.ligaments[:, :, 0].sum(axis=1))
    acting = [tree.joint_names[k] for k in found if any(x[k] for x in held)]
    if acting:
        raise InputError(
            f"ground forces: the base of model {model.name!r:.60} must be free, but "
            f"springs, ligaments, friction, armature or rotors act at {', '.join(acting):.200}"
        )
    return np.array(found, np.int64)


def _axes_at_zero(tree: Model, base: Sequence[int]) -> Floats:
    """World axes of the prismatic joints of the base at q = 0, one per row."""
    R, rows = np.eye(3), []
    for k in base:
        R = R @ tree.R[k]
        if tree.kind[k] == PRISMATIC:
            rows.append(R @ tree.axis[k])
    return np.array(rows)


def carrying_joints(model: Model, frame: str) -> list[int]:
    """The joints between the floating base and a frame, in the order of the model."""
    if model.couplings:
        follower = model.couplings[0].joint
        raise InputError(
            f"ground forces: joints that follow others, such as {follower!r:.60}, are not "
            "supported; use contacts, whose forces are unknowns"
        )
    base, link, found = set(base_joints(model).tolist()), model.frame(frame).link, []
    while link >= 0 and link not in base:
        found.append(link)
        link = int(model.parent[link])
    return sorted(found)

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
MOMENT_ARM = 0.6  # m, from the size of forces at a floating base to that of moments
INDEPENDENT = 1e-6  # least singular value of the directions of slides


def floating_base(model: Model) -> IntArray | None:
    """Joints of the floating base on which the whole model moves; None if there is none."""
    bases = floating_bases(model)
    return bases[0] if bases and len(_root_chains(model.expanded)) == 1 else None


def floating_bases(model: Model) -> list[IntArray]:
    """Joints of each floating base: a root chain that lets its last link move freely.

    In the plane it has two slides and a hinge, in space three of each, in any order; the axes of
    the slides are independent, and none of the joints follows another.
    """
    tree, links = model.expanded, independent(model)
    bases = []
    for chain in _root_chains(tree):
        kinds = tree.kind[chain].tolist()
        slides, hinges = kinds.count(PRISMATIC), kinds.count(REVOLUTE)
        counted = (slides, hinges) in (PLANAR, SPATIAL) and len(kinds) == slides + hinges
        if not counted or not np.isin(chain, links).all():
            continue
        if np.linalg.matrix_rank(_axes_at_zero(tree, chain), tol=INDEPENDENT) == slides:
            bases.append(np.searchsorted(links, chain).astype(np.int64))
    return bases


def root_chain(model: Model) -> list[int]:
    """Links from the world to the first one with mass or with several children; none if several
    links are fixed to the world.
    """
    chains = _root_chains(model.expanded)
    return chains[0] if len(chains) == 1 else []


def _root_chains(tree: Model) -> list[list[int]]:
    """Each root with the links after it, up to the first one with mass or with several children.

    Links without mass at the end of a branch do not count: these are coordinates or frames.
    """
    light = ~np.asarray(tree.inertia.any(axis=1))
    counts = ~light | np.isin(np.arange(len(light)), tree.parent)
    chains = []
    for root in np.flatnonzero((tree.parent < 0) & counts).tolist():
        chain = [root]
        while light[chain[-1]]:
            following = np.flatnonzero((tree.parent == chain[-1]) & counts).tolist()
            if len(following) != 1:
                break
            chain += following
        chains.append(chain)
    return chains


def slides_of_base(model: Model) -> dict[int, Floats]:
    """Slides of the floating base and their directions in the world at q = 0; none without it."""
    base = floating_base(model)
    if base is None:
        return {}
    slides = [int(j) for j in base if model.kind[j] == PRISMATIC]
    axes = _axes_at_zero(model.expanded, independent(model)[base])
    return dict(zip(slides, axes, strict=True))


def require_free_base(model: Model) -> IntArray:
    """The joints of the floating base; an InputError if there is none, or if something acts at them
    besides motors.
    """
    base = floating_base(model)
    if base is None:
        names = ", ".join(model.expanded.joint_names[k] for k in root_chain(model))
        raise InputError(
            f"ground forces: model {model.name!r:.60} has no floating base; expected one "
            "root with three prismatic and three revolute joints (in the plane two and one) before "
            "the first link with mass, with independent slides; got "
            f"{names or 'several roots':.200}"
        )
    held = [model.stiffness, model.damping, model.coulomb, model.armature]
    held += [np.abs(model.rotor).sum(axis=1), model.ligaments[:, :, 0].sum(axis=1)]
    acting = [model.joint_names[j] for j in base if any(x[j] for x in held)]
    if acting:
        raise InputError(
            f"ground forces: the base of model {model.name!r:.60} must be free, but "
            f"springs, ligaments, friction, armature or rotors act at {', '.join(acting):.200}"
        )
    return base


def _axes_at_zero(tree: Model, base: Sequence[int] | IntArray) -> Floats:
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
    base, link, found = set(require_free_base(model).tolist()), model.frame(frame).link, []
    while link >= 0 and link not in base:
        found.append(link)
        link = int(model.parent[link])
    return sorted(found)

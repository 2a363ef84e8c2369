"""The ground and the cycle of a motion as trees of numbers and words, for solution files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.model import Model
from predyn.solution.ground import GroundPlane
from predyn.solution.repeating import Repeat
from predyn.storage.hdf5_tree import Tree
from predyn.storage.tree_reader import TreeReader

if TYPE_CHECKING:
    from predyn.solution.solution import Solution

CONES = ("pyramid", "cone")
MIRRORS = ("", "x", "y")


def tree_of_continuation(solution: Solution) -> Tree:
    """What `continuation_of` reads back: ground and cycle, each only if there is one."""
    tree: Tree = {}
    if solution.ground is not None:
        steps = np.array(solution.ground.steps, float).reshape(-1, 2)
        tree["ground"] = solution.ground._asdict() | {"steps": steps}
    if solution.cycle is not None:
        cycle = solution.cycle
        tree["cycle"] = {
            "advance": np.array(cycle.advance, float),
            "swapped": tuple(cycle.swap),
            "with": tuple(cycle.swap.values()),
            "signs": {name: float(sign) for name, sign in cycle.signs.items()},
            "mirror": cycle.mirror or "",
        }
    return tree


def continuation_of(file: TreeReader, model: Model) -> dict[str, Any]:
    """The entries of a Solution that the file has."""
    found: dict[str, Any] = {}
    if "ground" in file.tree:
        found["ground"] = _ground_of(file.group("ground"))
    if "cycle" in file.tree:
        found["cycle"] = _cycle_of(file.group("cycle"), model)
    return found


def _ground_of(group: TreeReader) -> GroundPlane:
    friction, slope, height = (group.value(x, float) for x in ("friction", "slope", "height"))
    group.require(friction > 0.0, "friction", "a positive number")
    for name in ("friction", "slope", "height"):
        group.require(np.isfinite(group.tree[name]), name, "a finite number")
    steps = group.array("steps", (None, 2))
    group.require(np.isfinite(steps), "steps", "finite numbers")
    pairs = tuple((x, z) for x, z in steps.tolist())
    return GroundPlane(friction, group.choice("cone", CONES), slope, height, pairs)


def _cycle_of(group: TreeReader, model: Model) -> Repeat:
    advance = group.array("advance", (3,))
    group.require(np.isfinite(advance), "advance", "finite numbers")
    one, other = group.words("swapped"), group.words("with")
    group.require(len(one) == len(other), "with", "as many names as in swapped")
    names = (*one, *other)
    known = {*model.joint_names, *model.patches, *(x.name for x in model.contact_points)}
    group.require(len({*names}) == len(names), "swapped", "each name once")
    group.require({*names} <= known, "swapped", "joints, contact points and patches of the model")
    joints = {*model.joint_names}
    mixed = [a for a, b in zip(one, other, strict=True) if (a in joints) != (b in joints)]
    group.require(not mixed, "swapped", "joints that change places with joints")
    signs = group.mapping("signs", lambda inner, key: inner.value(key, float))
    group.require({*signs} <= joints, "signs", "joints of the model")
    group.require(all(x in (1.0, -1.0) for x in signs.values()), "signs", "1 or -1")
    mirror = group.choice("mirror", MIRRORS)
    x, y, z = advance.tolist()
    return Repeat((x, y, z), dict(zip(one, other, strict=True)), signs, mirror or None)

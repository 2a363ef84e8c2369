"""Which joints have a motor: the mask that the hybrid kernels read beside the tree.

Between passive joints the mass matrix has entries for ancestor pairs only, as in the whole tree:
take the active joints out, and what is left is a tree again. Where rotors couple joints, every
joint counts as an ancestor of those after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.kernels.arguments import joints
from predyn.kernels.forces import ExternalForce, Loads, pack_forces
from predyn.kernels.tree import Floats, Ints, Tree, tree_of
from predyn.model import Model

Mask = NDArray[np.bool_]
_KEPT = 16  # masks of a model


class Pairs(NamedTuple):
    """Ancestor pairs, packed as those of a Tree."""

    parent: Ints  # (m,) one more than the parent's index, 0 at a root
    pair: Ints  # (m + 1,) where the pairs of i start


class Actuated(NamedTuple):
    """A tree, and which of its joints are active: their acceleration is given.

    Joints i and j are coupled where the mass matrix may have an entry.
    """

    parent: Ints
    active: Ints  # (n,) 1 if active, 0 if passive
    tree: Tree
    above: Ints  # (n,) one more than the next coupled joint above, 0 if there is none
    pair: Ints  # (n + 1,) where the coupled pairs of i start, as the mass matrix is packed
    passive: Pairs  # of the passive joints alone
    joint: Ints  # (m,) the passive joints
    source: Ints  # (pairs of passive joints,) where their entries of the mass matrix are
    upper: Ints  # (pairs of passive joints,) the upper joint of each
    trees: Ints  # (t, 4) of each tree the range of its joints, and that of its passive ones
    reach: Ints  # (n,) one more than the last joint that joint i is an ancestor of, or itself
    rank: Ints  # (n + 1,) number of passive joints before joint i
    near: Ints  # (n + 1,) where the passive joints coupled with active joint i start in
    near_joint: Ints  # the list of them, and in
    near_source: Ints  # that of where their entries of the mass matrix are


_views: WeakKeyDictionary[Model, dict[bytes, Actuated]] = WeakKeyDictionary()


def mask_of(model: Model, active: ArrayLike) -> Mask:
    """(n,) booleans, after a check."""
    (n,) = joints(model)
    names = ", ".join(model.joint_names)
    try:
        array = np.asarray(active)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype.kind in "US":
        raise InputError(
            f"active: expected {n} booleans, one a joint, got names; write [name in (...) for name "
            f"in model.joint_names]; joints: {names}"
        )
    if array.dtype != np.bool_:
        raise InputError(
            f"active: expected {n} booleans, True where the acceleration is given, got "
            f"{active!r:.60}; joints: {names}"
        )
    if array.shape != (n,):
        raise InputError(
            f"active: expected shape ({n},), one boolean a joint, got {array.shape}; "
            f"joints: {names}"
        )
    return array


def actuated(model: Model, mask: Mask) -> Actuated:
    """The kernels' view of a model with a mask, made once."""
    kept = _views.setdefault(model, {})
    view = kept.get(mask.tobytes())
    if view is None:
        if len(kept) >= _KEPT:
            kept.clear()
        view = kept[mask.tobytes()] = _make(tree_of(model), mask)
    return view


def _make(tree: Tree, mask: Mask) -> Actuated:
    n = len(mask)
    rotors = len(tree.rotor) > 0
    parent = np.arange(n) if rotors else tree.parent
    above: list[list[int]] = []  # of each joint: itself and its ancestors, upwards
    for i in range(n):
        above.append([i, *(above[parent[i] - 1] if parent[i] > 0 else [])])
    pair = _starts(above)
    place = {(i, j): int(pair[i]) + k for i in range(n) for k, j in enumerate(above[i])}
    place |= {(j, i): k for (i, j), k in place.items()}
    joint = [i for i in range(n) if not mask[i]]
    index = {i: k for k, i in enumerate(joint)}
    lines = [[j for j in above[i] if j in index] for i in joint]
    near = [[j for j in joint if mask[i] and (i, j) in place] for i in range(n)]
    size = n - np.arange(n) if rotors else tree.size
    roots = [i for i in range(n) if parent[i] == 0]
    trees = [(i, i + size[i], *np.searchsorted(joint, (i, i + size[i]))) for i in roots]
    return Actuated(
        parent=tree.parent,
        active=_ints(mask),
        tree=tree,
        above=_ints(parent),
        pair=_ints(pair),
        passive=Pairs(
            _ints([index[line[1]] + 1 if len(line) > 1 else 0 for line in lines]),
            _ints(_starts(lines)),
        ),
        joint=_ints(joint),
        source=_ints([place[line[0], j] for line in lines for j in line]),
        upper=_ints([j for line in lines for j in line]),
        trees=_ints(trees).reshape(-1, 4),
        reach=_ints(np.arange(n) + size),
        rank=_ints(np.concatenate(([0], np.cumsum(~mask)))),
        near=_ints(_starts(near)),
        near_joint=_ints([j for some in near for j in some]),
        near_source=_ints([place[i, j] for i, some in enumerate(near) for j in some]),
    )


def _starts(lists: Sequence[Sequence[int]]) -> NDArray:
    """Where each starts if they are written one after the other, and the end."""
    return np.concatenate(([0], np.cumsum([len(some) for some in lists])))


def _ints(values: ArrayLike) -> Ints:
    return np.array(values, np.int64, order="C")


def pack_on_tree(
    model: Model, view: Actuated, forces: Sequence[ExternalForce]
) -> tuple[Loads, list[Floats]]:
    """What the kernels read of the external forces."""
    return pack_forces(model, view.tree, forces)

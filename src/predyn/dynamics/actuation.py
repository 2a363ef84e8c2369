"""Which joints have a motor: the mask that the hybrid kernels read in addition to the tree.

Between passive joints the mass matrix has entries only for ancestor pairs, as in the whole tree:
without the active joints, the rest is a tree again. If rotors couple joints, every joint counts as
an ancestor of those after it.
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
_CACHED = 16  # masks per model


class Pairs(NamedTuple):
    """Ancestor pairs, packed as in a Tree."""

    parent: Ints  # (m,) one more than the parent's index, 0 at a root
    pair: Ints  # (m + 1,) where the pairs of i start


class Actuated(NamedTuple):
    """A tree, and which of its joints are active, that is, have a given acceleration.

    Joints i and j are coupled if the mass matrix may have an entry for them.
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
    trees: Ints  # (t, 4) for each tree, the range of its joints and of its passive joints
    reach: Ints  # (n,) one more than the last descendant of joint i, or than i if it has none
    rank: Ints  # (n + 1,) number of passive joints before joint i
    near: Ints  # (n + 1,) where the passive joints coupled with active joint i start in the
    near_joint: Ints  # list of these joints, and in the
    near_source: Ints  # list of their entries in the mass matrix


_views: WeakKeyDictionary[Model, dict[bytes, Actuated]] = WeakKeyDictionary()


def read_mask(model: Model, active: ArrayLike) -> Mask:
    """(n,) booleans, checked."""
    (n,) = joints(model)
    names = ", ".join(model.joint_names)
    try:
        array = np.asarray(active)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype.kind in "US":
        raise InputError(
            f"active: expected {n} booleans, one per joint, got names; use [name in (...) for name "
            f"in model.joint_names]; joints: {names}"
        )
    if array.dtype != np.bool_:
        raise InputError(
            f"active: expected {n} booleans, True where the acceleration is given, got "
            f"{active!r:.60}; joints: {names}"
        )
    if array.shape != (n,):
        raise InputError(
            f"active: expected shape ({n},), one boolean per joint, got {array.shape}; "
            f"joints: {names}"
        )
    return array


def view_with_mask(model: Model, mask: Mask) -> Actuated:
    """The kernels' view of a model with a mask, built once."""
    cached = _views.setdefault(model, {})
    view = cached.get(mask.tobytes())
    if view is None:
        if len(cached) >= _CACHED:
            cached.clear()
        view = cached[mask.tobytes()] = _build_view(tree_of(model), mask)
    return view


def _build_view(tree: Tree, mask: Mask) -> Actuated:
    n = len(mask)
    rotors = len(tree.rotor) > 0
    parent = np.arange(n) if rotors else tree.parent
    above: list[list[int]] = []  # for each joint: itself and its ancestors, upwards
    for i in range(n):
        above.append([i, *(above[parent[i] - 1] if parent[i] > 0 else [])])
    pair = _find_starts(above)
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
            _ints(_find_starts(lines)),
        ),
        joint=_ints(joint),
        source=_ints([place[line[0], j] for line in lines for j in line]),
        upper=_ints([j for line in lines for j in line]),
        trees=_ints(trees).reshape(-1, 4),
        reach=_ints(np.arange(n) + size),
        rank=_ints(np.concatenate(([0], np.cumsum(~mask)))),
        near=_ints(_find_starts(near)),
        near_joint=_ints([j for some in near for j in some]),
        near_source=_ints([place[i, j] for i, some in enumerate(near) for j in some]),
    )


def _find_starts(lists: Sequence[Sequence[int]]) -> NDArray:
    """The start of each list when they are concatenated, and the end."""
    return np.concatenate(([0], np.cumsum([len(some) for some in lists])))


def _ints(values: ArrayLike) -> Ints:
    return np.array(values, np.int64, order="C")


def pack_on_tree(
    model: Model, view: Actuated, forces: Sequence[ExternalForce]
) -> tuple[Loads, list[Floats]]:
    """The external forces in the form the kernels read."""
    return pack_forces(model, view.tree, forces)

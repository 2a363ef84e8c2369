"""Which joints have a motor: the mask that the hybrid kernels read beside the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.arguments import joints
from predyn.dynamics.forces import ExternalForce, Loads, pack_forces
from predyn.dynamics.tree import Floats, Ints, Tree, tree_of
from predyn.errors import InputError
from predyn.model import Model

_KEPT = 16  # masks of a model


class Actuated(NamedTuple):
    """A tree, and which of its joints are active: their acceleration is given."""

    parent: Ints
    active: Ints  # (n,) 1 if active, 0 if passive
    tree: Tree


_views: WeakKeyDictionary[Model, dict[bytes, Actuated]] = WeakKeyDictionary()


def mask_of(model: Model, active: ArrayLike) -> NDArray[np.bool_]:
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


def actuated(model: Model, mask: NDArray[np.bool_]) -> Actuated:
    """The kernels' view of a model with a mask, made once."""
    kept = _views.setdefault(model, {})
    view = kept.get(mask.tobytes())
    if view is None:
        if len(kept) >= _KEPT:
            kept.clear()
        tree = tree_of(model)
        view = kept[mask.tobytes()] = Actuated(tree.parent, mask.astype(np.int64), tree)
    return view


def pack_on_tree(
    model: Model, view: Actuated, forces: Sequence[ExternalForce]
) -> tuple[Loads, list[Floats]]:
    """What the kernels read of the external forces."""
    return pack_forces(model, view.tree, forces)

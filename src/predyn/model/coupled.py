"""Coupled models and their trees: how the arrays of both determine each other.

The arrays per link (placements, axes, inertias, frames, shapes) are those of the tree. The arrays
per joint (names, kinds, limits, springs, ligaments, friction, rotors) are those of the independent
joints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import ModelError
from predyn.model.couplings import Coupling, find_problems, independent
from predyn.model.ligaments import frozen_ligaments
from predyn.model.parts import Array, Limits, frozen, frozen_ints

if TYPE_CHECKING:
    from predyn.model.model import Model

NUMBERS = ("stiffness", "rest", "damping", "coulomb", "coulomb_speed", "armature")
PER_JOINT = ("kind", *NUMBERS, "ligaments")
ADDED = ("couplings", "tree")  # fields of coupled models alone


def unchecked(kind: type[Model], entries: Mapping[str, Any]) -> Model:
    """A model with these entries, without checks and copies; others get their defaults."""
    model = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(model, field.name, entries.get(field.name, field.default))
    return model


def changed(model: Model, **entries: Any) -> Model:
    """A copy of a model with other entries, without checks."""
    own = {field.name: getattr(model, field.name) for field in fields(model)}
    return unchecked(type(model), own | entries)


def couple(kind: type[Model], entries: dict[str, Any], couplings: tuple[Coupling, ...]) -> Model:
    """The coupled model from the entries of its tree, in which every joint is independent."""
    joints = tuple(entries["joint_names"])
    if problems := find_problems(joints, couplings):
        raise ModelError(f"model {entries['name']!r:.60}: " + "; ".join(problems))
    notes = list(entries.get("notes", ()))
    count = len(joints)
    own: dict[str, Any] = {field: frozen(entries[field], field, (count,)) for field in NUMBERS}
    own["ligaments"] = frozen_ligaments(entries.get("ligaments"), count)
    own["kind"] = frozen_ints(entries["kind"], "kind", (count,))
    rotor = frozen(entries["rotor"], "rotor", (count, count))
    pairs_of = zip(Limits._fields, entries["limits"], strict=True)
    limits = Limits(*(frozen(x, f"limits.{name}", (count, 2)).copy() for name, x in pairs_of))
    place = {name: k for k, name in enumerate(joints)}
    for coupling in couplings:
        notes += _pass_limits(limits, coupling, place[coupling.joint], place[coupling.source])
    followers = [place[coupling.joint] for coupling in couplings]
    for pairs in limits:
        pairs[followers] = (-np.inf, np.inf)
    tree = unchecked(
        kind, entries | own | {"rotor": rotor, "limits": limits, "notes": tuple(notes)}
    )
    keep = np.array([k for k in range(count) if k not in followers], np.int64)
    return kind(
        **entries
        | {field: x[keep] for field, x in own.items()}
        | {
            "joint_names": tuple(joints[k] for k in keep),
            "limits": Limits(*(pairs[keep] for pairs in limits)),
            "rotor": rotor[np.ix_(keep, keep)],
            "notes": tuple(notes),
            "couplings": couplings,
            "tree": tree,
        }
    )


def entries_of(model: Model) -> dict[str, Any]:
    """What `couple` makes a coupled model from, beside the couplings: the entries of its tree."""
    tree = model.expanded
    return {x.name: getattr(tree, x.name) for x in fields(tree) if x.name not in ADDED}


def _pass_limits(limits: Limits, coupling: Coupling, joint: int, source: int) -> list[str]:
    """Limit the source where a straight line to the follower does; notes on what is not kept."""
    notes = []
    what = f"joint {coupling.joint!r} follows {coupling.source!r}"
    line = coupling.function.line
    for field, pairs in limits._asdict().items():
        if not np.isfinite(pairs[joint]).any():
            continue
        if field == "effort":
            notes.append(f"{what}: its effort limits are not imposed")
        elif line is None:
            notes.append(f"{what} by a curve: its {field} limits are not imposed")
        elif line[0] != 0.0:
            offset = line[1] if field == "position" else 0.0
            low, high = sorted((pairs[joint] - offset) / line[0])
            both = max(low, pairs[source, 0]), min(high, pairs[source, 1])
            if both[0] > both[1]:
                notes.append(
                    f"{what}: its {field} limits contradict those of {coupling.source!r} and are "
                    "not imposed"
                )
            elif both != tuple(pairs[source]):
                notes.append(
                    f"{what}: its {field} limits restrict {coupling.source!r} to "
                    f"{both[0]:.6g} .. {both[1]:.6g}"
                )
                pairs[source] = both
    return notes


def renewed_tree(model: Model) -> Model:
    """The tree of a coupled model, with the model's present arrays."""
    tree = model.tree
    if tree is None:
        raise ModelError(
            f"model {model.name!r:.60}: couplings without a tree; use ModelBuilder.couple"
        )
    shared = [field.name for field in fields(model)]
    for name in ("joint_names", "limits", "rotor", *ADDED, *PER_JOINT):
        shared.remove(name)
    entries: dict[str, Any] = {name: getattr(model, name) for name in shared}
    at = independent(model)
    entries["joint_names"] = tree.joint_names
    for name in PER_JOINT:
        entries[name] = _scatter(getattr(tree, name), at, getattr(model, name))
    entries["rotor"] = _scatter(tree.rotor, np.ix_(at, at), model.rotor)
    pairs = zip(tree.limits, model.limits, strict=True)
    entries["limits"] = Limits(*(_scatter(old, at, new) for old, new in pairs))
    return unchecked(type(model), entries)


def _scatter(old: Array, at: Any, new: Array) -> Array:
    result = np.array(old)
    result[at] = new
    result.flags.writeable = False
    return result

"""A model as a tree of numbers and words, for files that contain one."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import numpy as np

from predyn.errors import FileError, ModelWarning
from predyn.model.model import DHTable, Frame, Limits, Model, Shape
from predyn.storage.hdf5_tree import Tree
from predyn.storage.tree_reader import TreeReader, located

MODEL_ARRAYS = ("parent", "kind", "pitch", "axis", "R", "p", "inertia", "gravity", "stiffness",
                "rest", "damping", "coulomb", "coulomb_speed", "armature", "rotor")  # fmt: skip


def tree_of_model(model: Model) -> Tree:
    """The tree that `model_of` reads back."""
    if model.contact_points or model.loop_closures:
        raise ValueError("model: contact points and loop closures cannot be saved yet")
    tree: Tree = {name: getattr(model, name) for name in MODEL_ARRAYS}
    for name in ("name", "link_names", "joint_names", "notes"):
        tree[name] = getattr(model, name)
    tree["limits"] = model.limits._asdict()
    tree["frames"] = [_record(frame) for frame in model.frames]
    tree["shapes"] = [_record(shape) | {"size": np.array(shape.size)} for shape in model.shapes]
    tree["dh"] = None if model.dh is None else _record(model.dh)
    return tree


def _record(value: Any) -> Tree:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def model_of(group: TreeReader) -> Model:
    """The model in a group of a file, checked like any other."""
    entries: dict[str, Any] = {name: group.value(name, np.ndarray) for name in MODEL_ARRAYS}
    limits = group.group("limits")
    dh = group.value("dh", (dict, type(None)))
    with located(group), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # issued when the model was first built
        return Model(
            name=group.value("name", str),
            link_names=group.words("link_names"),
            joint_names=group.words("joint_names"),
            limits=Limits(*(limits.value(name, np.ndarray) for name in Limits._fields)),
            frames=tuple(_object(Frame, item) for item in group.groups("frames")),
            shapes=tuple(_object(Shape, item) for item in group.groups("shapes")),
            dh=None if dh is None else _object(DHTable, group.group("dh")),
            notes=group.words("notes"),
            **entries,
        )


def _object(kind: type, group: TreeReader) -> Any:
    names = {field.name for field in fields(kind)}
    if names != set(group.tree):
        raise FileError(f"{group.where}: expected {sorted(names)}, got {sorted(group.tree)}")
    return kind(**group.tree)

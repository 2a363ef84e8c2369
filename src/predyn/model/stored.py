"""A model as a tree of numbers and words, for files that contain one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from predyn.errors import FileError, ModelWarning
from predyn.model.contacts import ContactPoint
from predyn.model.coupled import couple
from predyn.model.couplings import Coupling, PiecewisePolynomial
from predyn.model.loops import Loop
from predyn.model.model import DHTable, Frame, Limits, Model, Shape
from predyn.model.parts import LARGEST, Triangles
from predyn.storage.hdf5_tree import Tree
from predyn.storage.tree_reader import TreeReader, located

MODEL_ARRAYS = ("parent", "kind", "pitch", "axis", "R", "p", "inertia", "gravity", "stiffness",
                "rest", "damping", "coulomb", "coulomb_speed", "armature", "rotor")  # fmt: skip
SHAPE = ("link", "kind", "R", "p", "size", "mesh", "role")  # a stored model names no file to open


def needs_new_version(model: Model) -> bool:
    """Whether predyn 0.2, which ignores couplings, ligaments and loops, would misread the model."""
    return bool(model.couplings or model.loops) or bool(model.expanded.ligaments.any())


def tree_of_model(model: Model, meshes: Mapping[int, Triangles]) -> Tree:
    """The tree that `model_of` reads back; `meshes` are triangles by the number of the shape."""
    full = model.expanded
    tree: Tree = {name: getattr(full, name) for name in MODEL_ARRAYS}
    for name in ("name", "link_names", "joint_names", "notes"):
        tree[name] = getattr(full, name)
    tree["limits"] = full.limits._asdict()
    if full.ligaments.any():
        tree["ligaments"] = full.ligaments
    if model.couplings:
        tree["couplings"] = [
            {"joint": x.joint, "source": x.source, **_record(x.function)} for x in model.couplings
        ]
    if model.loops:
        tree["loops"] = [_record(loop) for loop in model.loops]
    tree["frames"] = [_record(frame) for frame in model.frames]
    tree["shapes"] = [
        {name: getattr(shape, name) for name in SHAPE} | {"size": np.array(shape.size)}
        for shape in model.shapes
    ]
    if model.contact_points:  # older versions of predyn ignore this entry
        tree["contact_points"] = [_record(point) for point in model.contact_points]
    if meshes:  # older versions of predyn ignore this entry
        tree["meshes"] = _tree_of_meshes(meshes, len(model.shapes))
    tree["dh"] = None if model.dh is None else _record(model.dh)
    return tree


def _tree_of_meshes(meshes: Mapping[int, Triangles], shapes: int) -> Tree:
    """Each mesh once, and the number of the mesh of each shape (-1: none)."""
    different = {id(mesh): mesh for mesh in meshes.values()}
    order = {key: number for number, key in enumerate(different)}
    number = np.full(shapes, -1)
    for k, mesh in meshes.items():
        number[k] = order[id(mesh)]
    return {
        "number": number,
        "triangles": [
            {"points": mesh.points.astype(np.float32), "faces": mesh.faces.astype(np.uint16)}
            for mesh in different.values()
        ],
    }


def _record(value: Any) -> Tree:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def model_of(group: TreeReader) -> Model:
    """The model in a group of a file, checked like any other."""
    entries: dict[str, Any] = {name: group.value(name, np.ndarray) for name in MODEL_ARRAYS}
    limits = group.group("limits")
    dh = group.value("dh", (dict, type(None)))
    with located(group), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # issued when the model was first built
        entries |= {
            "name": group.value("name", str),
            "link_names": group.words("link_names"),
            "joint_names": group.words("joint_names"),
            "limits": Limits(*(limits.value(name, np.ndarray) for name in Limits._fields)),
            "frames": tuple(_object(Frame, item) for item in group.groups("frames")),
            "shapes": _shapes_of(group),
            "contact_points": _contacts_of(group),
            "dh": None if dh is None else _object(DHTable, group.group("dh")),
            "notes": group.words("notes"),
        }
        if "ligaments" in group.tree:
            entries["ligaments"] = group.value("ligaments", np.ndarray)
        if "loops" in group.tree:
            entries["loops"] = tuple(_object(Loop, item) for item in group.groups("loops"))
        if "couplings" not in group.tree:
            return Model(**entries)
        return couple(Model, entries, tuple(map(_coupling_of, group.groups("couplings"))))


def _coupling_of(group: TreeReader) -> Coupling:
    if {"joint", "source", "breaks", "coefficients"} != set(group.tree):
        raise FileError(f"{group.where}: expected joint, source, breaks and coefficients")
    breaks, coefficients = (group.value(x, np.ndarray) for x in ("breaks", "coefficients"))
    function = PiecewisePolynomial(breaks, coefficients)
    return Coupling(group.value("joint", str), group.value("source", str), function)


def _contacts_of(group: TreeReader) -> tuple[ContactPoint, ...]:
    if "contact_points" not in group.tree:
        return ()
    return tuple(_object(ContactPoint, item) for item in group.groups("contact_points"))


def _shapes_of(group: TreeReader) -> tuple[Shape, ...]:
    shapes = [_object(Shape, item, SHAPE) for item in group.groups("shapes")]
    if "meshes" in group.tree:
        stored = group.group("meshes")
        meshes = [_triangles_of(item) for item in stored.groups("triangles")]
        number = stored.array("number", (len(shapes),), np.int64)
        stored.require((number >= -1) & (number < len(meshes)), "number", "numbers of triangles")
        kinds = np.array([shape.kind for shape in shapes])
        stored.require((number < 0) | (kinds == "mesh"), "number", "triangles of meshes alone")
        for k in np.flatnonzero(number >= 0):
            shapes[k] = replace(shapes[k], triangles=meshes[number[k]])
    return tuple(shapes)


def _triangles_of(group: TreeReader) -> Triangles:
    points = group.array("points", (None, 3), np.float32)
    faces = group.array("faces", (None, 3), np.uint16)
    group.require(len(faces) > 0, "faces", "at least one")
    group.require(np.abs(points) <= LARGEST, "points", f"numbers of at most {LARGEST:g}")
    group.require(faces < len(points), "faces", f"numbers of points below {len(points)}")
    points.flags.writeable = faces.flags.writeable = False
    return Triangles(points, faces)


def _object(kind: type, group: TreeReader, entries: Sequence[str] = ()) -> Any:
    names = set(entries) or {field.name for field in fields(kind)}
    if names != set(group.tree):
        raise FileError(f"{group.where}: expected {sorted(names)}, got {sorted(group.tree)}")
    return kind(**group.tree)

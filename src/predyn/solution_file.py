"""Solutions as HDF5 files: lossless, versioned, with the model inside, readable by h5py alone.

At the top level t (K,), phase (K,), q, v, a, tau (K, n), reactions (K, n, 6) and x; groups model,
curves, limits, costs, multipliers, history and so on as in `Solution`. hdf5_tree.py has the format.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from predyn import hdf5_tree
from predyn.bspline import BSpline
from predyn.errors import FileError, ModelWarning, PredynError
from predyn.files import write_bytes
from predyn.hdf5_tree import Tree
from predyn.model import PRISMATIC, DHTable, Frame, Limits, Model, Shape
from predyn.solution import Curve, Solution, Violation

KIND, VERSION = "predyn solution", 1
SCALARS: dict[str, type] = {
    "name": str, "status": str, "message": str, "objective": float, "iterations": int,
    "solve_seconds": float, "max_violation": float, "max_violation_dense": float,
    "n_variables": int, "n_constraints": int,
}  # fmt: skip
SAMPLED = ("q", "v", "a", "tau")
ARRAYS = (*SAMPLED, "t", "reactions", "x")
WORDS = ("phase_names", "active", "passive")
FORCE = ("force", "moment", "point")
VIOLATIONS = ("violations", "dense_violations")
NUMBERS = tuple(name for name in Violation._fields if name != "name")
MODEL_ARRAYS = ("parent", "kind", "pitch", "axis", "R", "p", "inertia", "gravity", "stiffness",
                "rest", "damping", "coulomb", "coulomb_speed", "armature", "rotor")  # fmt: skip


def save_solution(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution to an HDF5 file, whole or not at all; equal solutions give equal bytes."""
    try:
        data = hdf5_tree.encode(_tree_of(solution), _notes(solution.model), KIND, VERSION)
    except (ValueError, OSError, RuntimeError) as error:  # of a value, or of the HDF5 library
        raise FileError(f"{path}: this solution cannot be saved: {error}") from error
    write_bytes(path, data)


def load_solution(path: str | os.PathLike[str]) -> Solution:
    """The solution in a file that `Solution.save` wrote; its model is checked as any other."""
    try:
        file = Path(path)
        if file.exists() and not file.is_file():
            raise FileError(f"{path}: expected a .h5 file, this is a folder or a device")
        data = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        cause = getattr(error, "strerror", None) or str(error)
        raise FileError(f"{path}: cannot be read: {cause}; expected a .h5 file") from None
    try:
        return _solution_of(hdf5_tree.decode(data, KIND, VERSION))
    except PredynError as error:
        raise FileError(f"{path}: {error}") from error


def _tree_of(solution: Solution) -> Tree:
    tree: Tree = {name: kind(getattr(solution, name)) for name, kind in SCALARS.items()}
    tree |= {name: getattr(solution, name) for name in WORDS}
    tree |= {name: np.asarray(getattr(solution, name), np.float64) for name in ARRAYS}
    tree["phase"] = np.asarray(solution.phase, np.int64)
    for name in ("limits", "multipliers", "history"):
        arrays = getattr(solution, name)
        tree[name] = {key: np.asarray(value, np.float64) for key, value in arrays.items()}
    for name in ("costs", "timings"):
        tree[name] = {key: float(value) for key, value in getattr(solution, name).items()}
    tree["provenance"] = solution.provenance
    for name in VIOLATIONS:
        rows = getattr(solution, name)
        tree[name] = {"name": [row.name for row in rows]} | {
            field: np.array([getattr(row, field) for row in rows], float) for field in NUMBERS
        }
    tree["curves"] = [curve._asdict() for curve in solution.curves]
    tree["forces"] = [
        {name: force[name] for name in ("link", "frame")}
        | {name: np.asarray(force[name], float) for name in FORCE}
        for force in solution.forces
    ]
    tree["starts"] = list(solution.starts)
    rows, columns = (np.asarray(x, np.int32) for x in solution.jacobian)
    tree["jacobian"] = {"rows": rows, "columns": columns}
    tree["model"] = _model_tree(solution.model)
    return tree


def _model_tree(model: Model) -> Tree:
    if model.contact_points or model.loop_closures:
        raise ValueError("model: contact points and loop closures have no place in the file yet")
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


def _notes(model: Model) -> dict[str, dict[str, Any]]:
    """Attributes for those who read the file by h5py alone."""
    slides = [kind == PRISMATIC for kind in model.kind]
    positions = ["m" if slide else "rad" for slide in slides]
    units = {
        "q": positions,
        "v": [f"{unit}/s" for unit in positions],
        "a": [f"{unit}/s^2" for unit in positions],
        "tau": ["N" if slide else "N m" for slide in slides],
    }
    joints = list(model.joint_names)
    notes: dict[str, dict[str, Any]] = {
        name: {"joint_names": joints, "units": unit} for name, unit in units.items()
    }
    notes["t"] = {"units": "s"}
    notes["phase"] = {"meaning": "number of the phase, from 0"}
    notes["reactions"] = {
        "joint_names": joints,
        "units": ["N m"] * 3 + ["N"] * 3,
        "meaning": "moment and force that link j receives through joint j, in link axes",
    }
    return notes


class _Reader:
    """Takes checked entries out of a tree; a FileError names what is missing or wrong."""

    def __init__(self, tree: Any, where: str = "") -> None:
        self.where = where
        if not isinstance(tree, dict):
            raise FileError(f"{where or 'the file'}: expected a group, got {type(tree).__name__}")
        self.tree = tree

    def value(self, name: str, kind: type | tuple[type, ...]) -> Any:
        if name not in self.tree:
            raise FileError(f"{self.where}{name} is missing; the file is not complete")
        value = self.tree[name]
        if kind is float and type(value) is int:
            value = float(value)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            expected = " or ".join(k.__name__ for k in kinds)
            raise FileError(f"{self.where}{name}: expected {expected}, got {value!r:.60}")
        return value

    def array(
        self, name: str, shape: tuple[int | None, ...] | None, dtype: Any = np.float64
    ) -> Any:
        """None stands for any shape, or for any length of an axis."""
        array = self.value(name, np.ndarray)
        fits = shape is None or (
            array.ndim == len(shape)
            and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
        )
        if not fits or array.dtype != dtype:
            raise FileError(
                f"{self.where}{name}: expected {np.dtype(dtype)} of shape {shape}, "
                f"got {array.dtype} of shape {array.shape}"
            )
        return array

    def words(self, name: str) -> tuple[str, ...]:
        words: tuple[str, ...] = self.value(name, tuple)
        if not all(isinstance(word, str) for word in words):
            raise FileError(f"{self.where}{name}: expected words, got {words!r:.60}")
        return words

    def group(self, name: str) -> _Reader:
        return _Reader(self.value(name, dict), f"{self.where}{name}/")

    def groups(self, name: str) -> list[_Reader]:
        items = self.value(name, tuple)
        return [_Reader(item, f"{self.where}{name}/{k}/") for k, item in enumerate(items)]

    def mapping(self, name: str, read: Callable[[_Reader, str], Any]) -> dict[str, Any]:
        group = self.group(name)
        return {key: read(group, key) for key in group.tree}


def _solution_of(tree: Tree) -> Solution:
    file = _Reader(tree)
    model = _model_of(file.group("model"))
    n, count = model.n, len(file.array("t", (None,)))
    entries: dict[str, Any] = {name: file.value(name, kind) for name, kind in SCALARS.items()}
    entries |= {name: file.words(name) for name in WORDS}
    entries |= {name: file.array(name, (count, n)) for name in SAMPLED}
    entries |= {name: _violations_of(file.group(name)) for name in VIOLATIONS}
    for name in ("multipliers", "history"):
        entries[name] = file.mapping(name, lambda group, key: group.array(key, None))
    for name in ("costs", "timings"):
        entries[name] = file.mapping(name, lambda group, key: group.value(key, float))
    curves = tuple(_curve_of(group, n) for group in file.groups("curves"))
    if not curves or len(curves) != len(entries["phase_names"]):
        raise FileError(
            f"curves: expected one for each of {len(entries['phase_names'])} phases, "
            f"got {len(curves)}"
        )
    pattern = file.group("jacobian")
    rows = pattern.array("rows", (None,), np.int32)
    return Solution(
        model=model,
        curves=curves,
        t=file.array("t", (count,)),
        phase=file.array("phase", (count,), np.int64),
        reactions=file.array("reactions", (count, n, 6)),
        limits=file.mapping("limits", lambda group, key: group.array(key, (n, 2))),
        jacobian=(rows, pattern.array("columns", rows.shape, np.int32)),
        x=file.array("x", (None,)),
        forces=tuple(_force_of(group, model) for group in file.groups("forces")),
        starts=tuple(group.tree for group in file.groups("starts")),
        provenance=file.mapping("provenance", lambda group, key: group.value(key, str)),
        **entries,
    )


def _curve_of(group: _Reader, n: int) -> Curve:
    degree, knots = group.value("degree", int), group.array("knots", (None,))
    with _located(group):
        spline = BSpline(degree, knots)
    control = group.array("control", (spline.n_control, n))
    return Curve(degree, knots, control, group.value("duration", float))


def _violations_of(group: _Reader) -> tuple[Violation, ...]:
    names = group.words("name")
    columns = [group.array(field, (len(names),)).tolist() for field in NUMBERS]
    return tuple(Violation(*row) for row in zip(names, *columns, strict=True))


def _force_of(group: _Reader, model: Model) -> Tree:
    force: Tree = {"link": group.value("link", str)}
    force |= {name: group.array(name, (3,)) for name in FORCE}
    force["frame"] = group.value("frame", str)
    with _located(group):
        model.frame(force["link"])
    return force


def _model_of(group: _Reader) -> Model:
    entries: dict[str, Any] = {name: group.value(name, np.ndarray) for name in MODEL_ARRAYS}
    limits = group.group("limits")
    dh = group.value("dh", (dict, type(None)))
    with _located(group), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # given when the model was first made
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


def _object(kind: type, group: _Reader) -> Any:
    names = {field.name for field in fields(kind)}
    if names != set(group.tree):
        raise FileError(f"{group.where}: expected {sorted(names)}, got {sorted(group.tree)}")
    return kind(**group.tree)


@contextmanager
def _located(group: _Reader) -> Iterator[None]:
    """Name the group in an error about what it holds."""
    try:
        yield
    except FileError:
        raise
    except (PredynError, TypeError, ValueError) as error:
        raise FileError(f"{group.where.rstrip('/')}: {error}") from error

"""Scenes in files: JSON or TOML, with the format "predyn-scene-1" (docs/collision.md)."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from predyn.collision.arguments import LARGEST
from predyn.collision.scene import Obstacle, Part, Path, Scene
from predyn.collision.solids import KINDS, SIZES
from predyn.errors import FileError, InputError, unknown_name
from predyn.load.mesh_files import MeshFinder
from predyn.load.meshes import read_mesh
from predyn.model.numbers import real_numbers, shown
from predyn.model.parts import Array, Triangles
from predyn.storage.reading import read_at_most

FORMAT = "predyn-scene-1"
UNITS = "m, rad"
MOST_BYTES = 20 * 2**20
OWN = ("format", "units", "obstacles", "parts", "allowed")
EXTRA = ("robot", "scene", "number", "joints", "start", "goal", "base_pose",
         "start_clearance", "goal_clearance", "description")  # fmt: skip
PLACED = ("name", "kind", "position", "quaternion_xyzw", "rpy", "phases")
PATH = ("times", "positions", "quaternions_xyzw")


def load_scene(path: str | os.PathLike[str]) -> Scene:
    """A scene from a .json or .toml file.

    Fields about a task (robot, joints, start, goal, base_pose, ...) are kept in `scene.extra` and
    listed in `scene.notes`; any other unknown field is an error. Meshes are read from the folder of
    the file only.
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(f"expected the path of a file, got {type(path).__name__}") from None
    data = read_at_most(name, MOST_BYTES, "a scene is much smaller")
    try:
        content = _parse(name, data)
        _check_format(content)
        scene = scene_from(content, name)
        if "obstacles" not in content:
            raise FileError("expected a list 'obstacles'; if there are none: \"obstacles\": []")
        return scene
    except (InputError, FileError) as error:
        raise FileError(f"{name}: {error}") from None


def _parse(name: str, data: bytes) -> Mapping[str, Any]:
    suffix = FilePath(name).suffix.lower()
    readers: dict[str, Callable[[str], Any]] = {".json": _json, ".toml": tomllib.loads}
    if suffix not in readers:
        raise FileError("expected a file that ends in .json or .toml")
    try:
        content = readers[suffix](data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"not a valid {suffix[1:].upper()} file: {error!s:.120}") from None
    if not isinstance(content, dict):
        raise FileError("expected a table with 'format' and 'obstacles'")
    return content


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_table)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON; without this hook the last of equal keys would win."""
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FileError(f"the field {twice!r:.60} is given {keys.count(twice)} times in one table")
    return table


def _check_format(content: Mapping[str, Any]) -> None:
    if content.get("format") != FORMAT:
        raise FileError(f"format: expected {FORMAT!r}, got {content.get('format')!r:.60}")
    if content.get("units", UNITS) != UNITS:
        raise FileError(f"units: expected {UNITS!r}, got {content['units']!r:.60}")


def scene_from(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Scene:
    """A scene from the fields of a file; path: of that file, in whose folder meshes are."""
    finder = MeshFinder(path, None)
    for key in content:
        if key not in (*OWN, *EXTRA):
            raise unknown_name("field", key, (*OWN, *EXTRA))
    obstacles = [
        Obstacle(**_solid(item, f"obstacles[{k}]", finder, ("path",)))
        for k, item in enumerate(_list(content, "obstacles"))
    ]
    parts = [
        Part(**_solid(item, f"parts[{k}]", finder, ("link",)))
        for k, item in enumerate(_list(content, "parts"))
    ]
    extra = {key: content[key] for key in EXTRA if key in content}
    notes = (
        [f"fields that describe a task, kept in scene.extra: {', '.join(extra)}"] if extra else []
    )
    if "base_pose" in extra:
        notes.append("base_pose: the model must stand there; obstacles are in world axes")
    allowed = tuple(_pair(item) for item in _list(content, "allowed"))
    return Scene(tuple(obstacles), tuple(parts), allowed, tuple(notes), extra)


def _list(content: Mapping[str, Any], key: str) -> list[Any]:
    items = content.get(key, [])
    if not isinstance(items, list):
        raise FileError(f"{key}: expected a list, got {items!r:.60}")
    return items


def _pair(item: Any) -> tuple[str, str]:
    if not isinstance(item, list) or len(item) != 2:
        raise FileError(f"allowed: expected pairs of names, got {item!r:.60}")
    return item[0], item[1]


def _solid(item: Any, what: str, finder: MeshFinder, more: tuple[str, ...]) -> dict[str, Any]:
    """Fields of an Obstacle or a Part."""
    if not isinstance(item, dict):
        raise FileError(f"{what}: expected a table, got {item!r:.60}")
    kind = item.get("kind")
    if kind not in KINDS:
        raise unknown_name(f"kind of {what}", kind, KINDS)
    sizes = ("size",) if kind == "box" else ("file", "scale") if kind == "mesh" else SIZES[kind]
    for key in item:
        if key not in (*PLACED, *sizes, *more):
            raise unknown_name(f"field of {what}", key, (*PLACED, *sizes, *more))
    fields: dict[str, Any] = {"name": item.get("name"), "kind": kind}
    if kind == "mesh":
        fields["triangles"] = _mesh(item, what, finder)
    else:
        given = [item.get(key) for key in sizes]
        fields["size"] = given[0] if kind == "box" else tuple(given)
    fields["position"] = item.get("position")
    fields["rotation"] = _rotation(item, what)
    if "link" in more:
        fields["link"] = item.get("link")
    if "phases" in item:
        fields["phases"] = _list(item, "phases")
    if "path" in item:
        fields["path"] = _path(item["path"], what)
    return fields


def _rotation(item: Mapping[str, Any], what: str) -> Any:
    if "quaternion_xyzw" in item and "rpy" in item:
        raise FileError(f"{what}: expected quaternion_xyzw or rpy, got both")
    if "quaternion_xyzw" in item:
        return _matrix(item["quaternion_xyzw"], f"{what}: quaternion_xyzw")
    return item.get("rpy")


def _matrix(value: Any, what: str) -> Array:
    """Rotation matrix from a quaternion with the scalar last, of length 1 within 1e-6."""
    expected = "four numbers x, y, z, w"
    parts = real_numbers(value, what, expected)
    if parts.shape != (4,):
        raise FileError(f"{what}: expected {expected}, got {shown(value)}")
    x, y, z, w = parts.tolist()
    size = math.hypot(x, y, z, w)
    if not abs(size - 1.0) <= 1e-6:
        raise FileError(f"{what}: expected a unit quaternion, got one of length {size:.6g}")
    x, y, z, w = x / size, y / size, z / size, w / size
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def _path(item: Any, what: str) -> Path:
    if not isinstance(item, dict) or not {"times", "positions"} <= set(item) <= set(PATH):
        raise FileError(f"{what}: path: expected a table with {', '.join(PATH)}, got {item!r:.80}")
    turns = item.get("quaternions_xyzw")
    if turns is not None:
        where = f"{what}: path: quaternions_xyzw"
        if not isinstance(turns, list):
            raise FileError(f"{where}: expected a list of quaternions, got {shown(turns)}")
        turns = np.array([_matrix(x, f"{where}[{k}]") for k, x in enumerate(turns)])
    return Path(item["times"], item["positions"], turns)


def _mesh(item: Mapping[str, Any], what: str, finder: MeshFinder) -> Triangles:
    file = item.get("file")
    if not isinstance(file, str):
        raise FileError(f"{what}: file: expected the name of a mesh file, got {file!r:.60}")
    found = finder.find(file)
    if found is None:
        raise FileError(f"{what}: {next(iter(finder.missing))}")
    mesh = read_mesh(found)
    expected = f"one or three positive numbers up to {LARGEST:g}"
    scale = real_numbers(item.get("scale", 1.0), f"{what}: scale", expected)
    if scale.shape not in ((), (3,)) or not ((scale > 0.0) & (scale <= LARGEST)).all():
        raise FileError(f"{what}: scale: expected {expected}, got {shown(item['scale'])}")
    return Triangles(np.asarray(mesh.points, float) * scale, mesh.faces)

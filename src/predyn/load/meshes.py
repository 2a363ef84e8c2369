"""Triangles of a mesh file: STL (binary or text), OBJ and DAE, read by trimesh and checked.

The reader gets bytes and no way to other files: materials and textures are not looked for.
"""

from __future__ import annotations

import io
import logging
import os
import re
import struct
import warnings
from typing import Any

import numpy as np

from predyn.errors import FileError, InputError
from predyn.load.collada import geometry_of
from predyn.model.parts import LARGEST, Triangles
from predyn.storage.reading import read_at_most

MOST_BYTES = 100 * 2**20
MOST_TRIANGLES = 1_000_000
MOST_SOLIDS = 1_000  # of a text STL; the time to name them grows with the square
KINDS = ("stl", "obj", "dae")
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits like those of a random number
EMPTY = "no triangles in it"
OBJ_LINE = re.compile(rb"^[ \t]*[vf][ \t].*", re.MULTILINE)
OBJ_TEXTURE = re.compile(rb"(?<=[0-9])/[-0-9/]*")  # and normal, of a corner


def read_mesh(path: str | os.PathLike[str]) -> Triangles:
    """All triangles of an STL, OBJ or DAE file, equal points merged: float64 in m, int64.

    STL and OBJ have no unit: their numbers are taken as m. The unit of a DAE file is applied and
    its up axis is not, as in RViz. Raises a FileError for a file that cannot be read, that has more
    than 100 MB or 1 million triangles, no triangles, or points that are not finite.
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(f"expected the path of a file, got {type(path).__name__}") from None
    kind = os.path.splitext(name)[1].lower().removeprefix(".")
    try:
        if kind not in KINDS:
            raise FileError(f"expected a file that ends in .{', .'.join(KINDS)}")
        data = read_at_most(name, MOST_BYTES, "simplify the mesh first")
        if kind == "stl":
            _check_stl(data)
        elif kind == "obj":
            data = _plain_obj(data)
        unit = 1.0
        if kind == "dae":
            data, unit = geometry_of(data)
        return _checked(_parse(data, kind), unit)
    except FileError as error:
        message = str(error)
        raise FileError(message if message.startswith(name) else f"{name}: {message}") from None


def _check_stl(data: bytes) -> None:
    """Refuse a file whose size is not that of its triangles, unless it is text."""
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        return
    if data.lstrip()[:5].lower() != b"solid" or b"facet" not in data[:10_000].lower():
        fits = max(0, (len(data) - 84) // 50)
        stated = f"its header states {count} triangles, " if count >= 0 else ""
        raise FileError(f"not an STL file, or cut short: {stated}there is room for {fits}")
    if data.lower().count(b"endsolid") > MOST_SOLIDS:
        raise FileError(f"more than {MOST_SOLIDS} solids")


def _plain_obj(data: bytes) -> bytes:
    """Points and faces alone: groups, materials and textures slow the reader down or stop it."""
    lines = OBJ_LINE.findall(data.replace(b"\r\n", b"\n").replace(b"\\\n", b" "))
    return OBJ_TEXTURE.sub(b"", b"\n".join(lines))


def _parse(data: bytes, kind: str) -> Any:
    import trimesh

    logger = logging.getLogger("trimesh")
    if not logger.handlers:  # what it logs, such as missing textures, does not concern the user
        logger.addHandler(logging.NullHandler())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # how NumPy reports a number that is none; without this the rest would be dropped
            warnings.filterwarnings("error", "string or file could not be read to its end")
            scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
            counts = {name: len(part.faces) for name, part in scene.geometry.items()}
            placed = (scene.graph[node][1] for node in scene.graph.nodes_geometry)
            if sum(counts[name] for name in placed) > MOST_TRIANGLES:
                raise FileError(f"more than {MOST_TRIANGLES} triangles")
            return scene.to_mesh()
    except FileError:
        raise
    except Exception as error:  # a reader of damaged files may raise anything
        raise FileError(f"not a valid {kind.upper()} file: {error!s:.80}") from None


def _checked(mesh: Any, unit: float) -> Triangles:
    faces = np.asarray(getattr(mesh, "faces", ()), dtype=np.int64)
    points = np.asarray(getattr(mesh, "vertices", ()), dtype=np.float64) * unit
    if len(faces) == 0:
        raise FileError(EMPTY)
    if faces.shape[1:] != (3,) or points.shape[1:] != (3,):
        raise FileError("expected points of three numbers each")
    if faces.min() < 0 or faces.max() >= len(points):
        raise FileError(f"a triangle refers to a point that is not among the {len(points)}")
    if not (np.abs(points) <= LARGEST).all():
        raise FileError("points that are not finite numbers")
    result = merged(points, faces)
    if len(result.faces) == 0:
        raise FileError(EMPTY)
    return result


def merged(points: Any, faces: Any) -> Triangles:
    """Equal points become one; triangles with two equal corners and unused points are dropped."""
    points = points + 0.0  # -0.0 and 0.0 are equal, but their bits differ
    _, first, number = np.unique(_mixed_bits(points), return_index=True, return_inverse=True)
    if (points[first[number]] != points).any():  # different points with the same number: rare
        _, first, number = np.unique(points, axis=0, return_index=True, return_inverse=True)
    faces = number.ravel()[faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    used, faces = np.unique(faces, return_inverse=True)
    return Triangles(points[first[used]], faces.reshape(-1, 3))


def _mixed_bits(points: Any) -> Any:
    """One number per point, to sort by: faster than by coordinates."""
    bits = np.ascontiguousarray(points, np.float64).view(np.uint64)
    mixed = bits[:, 0]
    for column in (1, 2):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX + bits[:, column]
    return mixed

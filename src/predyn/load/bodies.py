"""The shapes of a model that are drawn, with the triangles of their meshes simplified for a page.

Files are opened here and not when a model is loaded. A mesh that cannot be read is skipped with a
ModelWarning: nothing but pictures depends on it.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from predyn.errors import FileError, ModelWarning
from predyn.model import Model, Shape
from predyn.model.parts import ROLES, Array, IntArray, Triangles

MOST_PER_LINK = 2_000  # triangles
MOST_PER_PAGE = 20_000
FEWEST = 100  # of a mesh that has them
MOST_BYTES = 2**28  # of all files of a model


class Bodies(NamedTuple):
    """What is drawn, each mesh with its triangles; and why other meshes are not."""

    shapes: list[Shape]
    missing: list[str]


class Identity(NamedTuple):
    """A file and what changes with its contents."""

    path: str
    size: int
    modified: int  # ns
    number: int


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles that can be looked up: equal if they are the same object."""

    mesh: Triangles

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Surface) and self.mesh is other.mesh

    def __hash__(self) -> int:
        return id(self.mesh)


def bodies_of(model: Model) -> Bodies:
    """The visual shapes, or those for collision on links without visual ones that can be drawn.

    Shapes of kind "mesh" have triangles: at most 2,000 per link and 20,000 in all, float32 points
    in m before scaling by `size`, uint16 faces. Equal files share one Triangles object.
    """
    chosen, meshes, missing = _choose(model)
    shapes = [
        replace(model.shapes[k], triangles=meshes[k]) if k in meshes else model.shapes[k]
        for k in chosen
    ]
    return Bodies(shapes, missing)


def drawn_triangles(model: Model) -> dict[int, Triangles]:
    """The triangles of drawn meshes by the number of the shape, to be stored with the model."""
    return _choose(model)[1]


def _choose(model: Model) -> tuple[list[int], dict[int, Triangles], list[str]]:
    """Numbers of the drawn shapes, the triangles of those that are meshes, and what is missing."""
    chosen: list[int] = []
    surfaces: dict[int, Surface] = {}
    missing: list[str] = []
    files: set[Identity] = set()
    for role in ROLES:
        drawn = {model.shapes[k].link for k in chosen}
        for k, shape in enumerate(model.shapes):
            if shape.role != role or shape.link in drawn:
                continue
            if shape.kind == "mesh":
                try:
                    surfaces[k] = Surface(_triangles(shape, files))
                except FileError as error:
                    missing.append(str(error))
                    continue
            chosen.append(k)
    most = _share_budget({k: model.shapes[k] for k in surfaces}, surfaces)
    meshes = {k: _simplified(surface, most[surface]) for k, surface in surfaces.items()}
    return sorted(chosen), meshes, list(dict.fromkeys(missing))


def _triangles(shape: Shape, files: set[Identity]) -> Triangles:
    """The triangles of a mesh, of which no link needs more; `files` collects what was read."""
    if shape.triangles is not None:
        return shape.triangles
    if shape.file is None:
        raise FileError(
            f"{shape.mesh!s:.120}: not found when the model was loaded or stored; see its notes"
        )
    identity = _identify(shape.file)
    files.add(identity)
    if sum(file.size for file in files) > MOST_BYTES:
        raise FileError(f"{shape.file}: all meshes together exceed {MOST_BYTES // 2**20} MB")
    found = _read(identity)
    if isinstance(found, str):
        raise FileError(found)
    return found


def _identify(path: str) -> Identity:
    try:
        if os.path.realpath(path) != path:  # replaced by a link since it was found
            raise FileError(f"{path}: a symbolic link; load the model again")
        status = os.stat(path)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read: {cause}") from None
    return Identity(path, status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=1024)
def _read(identity: Identity) -> Triangles | str:
    """The simplified mesh, or why there is none; the warning comes once per version of a file."""
    # late: every result file comes by here, and few have meshes
    from predyn.load.decimation import decimated
    from predyn.load.meshes import read_mesh

    try:
        mesh = decimated(read_mesh(identity.path), MOST_PER_LINK)
        if len(mesh.faces) == 0:
            raise FileError(f"{identity.path}: too small for its distance from the origin")
    except FileError as error:
        warnings.warn(f"mesh not drawn: {error}", ModelWarning, stacklevel=2)
        return str(error)
    return mesh


@lru_cache(maxsize=1024)
def _simplified(surface: Surface, most: int) -> Triangles:
    if len(surface.mesh.faces) <= most:
        return surface.mesh
    from predyn.load.decimation import decimated

    return decimated(surface.mesh, most)


def _share_budget(shapes: dict[int, Shape], surfaces: dict[int, Surface]) -> dict[Surface, int]:
    """Most triangles of each mesh, in proportion to its size where there are too many."""
    counts = np.array([len(surface.mesh.faces) for surface in surfaces.values()])
    sizes = np.array([
        np.linalg.norm(np.ptp(surface.mesh.points, axis=0) * shapes[k].size)
        for k, surface in surfaces.items()
    ])  # fmt: skip
    sizes = np.maximum(sizes, 1e-3 * sizes.max(initial=1e-9))
    links = np.array([shapes[k].link for k in surfaces])
    for link in set(links.tolist()):
        here = links == link
        counts[here] = _fill(counts[here], sizes[here], MOST_PER_LINK)
    most: dict[Surface, int] = {}
    for surface, share in zip(surfaces.values(), _fill(counts, sizes, MOST_PER_PAGE), strict=True):
        most[surface] = min(int(share), most.get(surface, MOST_PER_LINK))
    return most


def _fill(counts: IntArray, sizes: Array, total: int) -> IntArray:
    """The largest shares in proportion to the sizes that are within the counts and the total."""
    if counts.sum() <= total:
        return counts
    least = min(FEWEST, max(1, total // len(counts)))
    low, high = 0.0, float((counts / sizes).max())
    for _ in range(60):  # bisection
        middle = 0.5 * (low + high)
        shares = np.minimum(counts, np.maximum(least, (middle * sizes).astype(int)))
        low, high = (middle, high) if shares.sum() <= total else (low, middle)
    return np.asarray(np.minimum(counts, np.maximum(least, (low * sizes).astype(int))))

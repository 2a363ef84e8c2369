"""Scene, certificate and stages of a motion as trees of numbers and words, for solution files.

Solids are stored by columns, since a file has a limited number of entries. `Scene.extra`, which is
no part of a scene, is not stored. Versions of predyn that know no scenes ignore all three entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.model.parts import Triangles
from predyn.solution.parts import Curve, Floats
from predyn.solution.stages import STAGES, Stage
from predyn.solution.stored_systems import curve_of
from predyn.storage.hdf5_tree import Tree
from predyn.storage.tree_reader import TreeReader, located

if TYPE_CHECKING:
    from predyn.collision.certificate import Certificate
    from predyn.collision.scene import Obstacle, Part, Path, Scene
    from predyn.solution.solution import Solution

Pairs = tuple[tuple[str, str], ...]
STATUSES = ("certified", "collision", "undecided")
DISTANCES = ("margin", "clearance", "guaranteed", "time", "distance")
COUNTS = ("spans", "tests")
TEXTS = ("name", "status", "message")
NUMBERS = ("seconds", "duration", "energy", "objective", "clearance")


def tree_of_surroundings(solution: Solution) -> Tree:
    """What `surroundings_of` reads back: scene, certificate and stages, each only if present."""
    tree: Tree = {}
    if solution.scene is not None:
        tree["scene"] = _tree_of_scene(solution.scene)
    if solution.certificate is not None:
        tree["certificate"] = _tree_of_certificate(solution.certificate)
    if solution.stages:
        tree["stages"] = [_tree_of_stage(stage) for stage in solution.stages]
    return tree


def surroundings_of(file: TreeReader, n: int) -> dict[str, Any]:
    """The entries of a Solution with n joints that the file has."""
    found: dict[str, Any] = {}
    if "scene" in file.tree:
        found["scene"] = _scene_of(file.group("scene"))
    if "certificate" in file.tree:
        found["certificate"] = _certificate_of(file.group("certificate"))
    if "stages" in file.tree:
        found["stages"] = tuple(_stage_of(group, n) for group in file.groups("stages"))
    return found


def _tree_of_scene(scene: Scene) -> Tree:
    obstacles = _tree_of_solids(scene.obstacles)
    paths = [x.path for x in scene.obstacles if x.path is not None]
    obstacles["path"] = _numbers([x.path is not None for x in scene.obstacles])
    obstacles["paths"] = [_tree_of_path(path) for path in paths]
    parts = _tree_of_solids(scene.parts) | {"link": tuple(x.link for x in scene.parts)}
    return {
        "obstacles": obstacles,
        "parts": parts,
        "allowed": _tree_of_pairs(scene.allowed),
        "notes": scene.notes,
    }


def _tree_of_solids(solids: Sequence[Obstacle | Part]) -> Tree:
    """Columns of N solids; sizes (N, 3) end in NaN, and `mesh` numbers those with triangles."""
    size = np.full((len(solids), 3), np.nan)
    for k, solid in enumerate(solids):
        size[k, : len(solid.size)] = solid.size
    zero = np.zeros(3)  # of a solid that follows a path
    places = [zero if x.position is None else np.asarray(x.position) for x in solids]
    meshes = [x.triangles for x in solids if x.triangles is not None]
    return {
        "name": tuple(x.name for x in solids),
        "kind": tuple(x.kind for x in solids),
        "size": size,
        "position": np.array(places, float).reshape(-1, 3),
        "rotation": np.array([x.rotation for x in solids], float).reshape(-1, 3, 3),
        "mesh": _numbers([x.triangles is not None for x in solids]),
        "meshes": [
            {"points": np.asarray(x.points, float), "faces": np.asarray(x.faces, np.int64)}
            for x in meshes
        ],
        "phases": [{"solid": k, "names": x.phases} for k, x in enumerate(solids) if x.phases],
    }


def _numbers(has: Sequence[bool]) -> Any:
    """0, 1, ... for those that have something, -1 for the others."""
    return np.where(np.array(has, bool), np.cumsum(np.array(has, np.int64)) - 1, -1)


def _tree_of_path(path: Path) -> Tree:
    tree = {"times": path.times, "positions": path.positions}
    return tree if path.rotations is None else tree | {"rotations": path.rotations}


def _tree_of_pairs(pairs: Pairs) -> Tree:
    return {"one": tuple(a for a, _ in pairs), "other": tuple(b for _, b in pairs)}


def _pairs_of(group: TreeReader) -> Pairs:
    one, other = group.words("one"), group.words("other")
    group.require(len(one) == len(other), "other", f"{len(one)} names, as many as in one")
    return tuple(zip(one, other, strict=True))


def _scene_of(group: TreeReader) -> Scene:
    from predyn.collision.scene import Obstacle, Part, Scene  # loads scipy

    inner = group.group("obstacles")
    solids = _solids_of(inner)
    paths = [_path_of(item) for item in inner.groups("paths")]
    number = _checked_numbers(inner, "path", len(solids), len(paths))
    for k in np.flatnonzero(number >= 0):
        solids[k] |= {"position": None, "path": paths[number[k]]}
    outer = group.group("parts")
    held = _solids_of(outer)
    links = outer.words("link")
    outer.require(len(links) == len(held), "link", f"{len(held)} names")
    with located(group):
        obstacles = tuple(Obstacle(**solid) for solid in solids)
        parts = tuple(Part(link=x, **y) for x, y in zip(links, held, strict=True))
        return Scene(obstacles, parts, _pairs_of(group.group("allowed")), group.words("notes"))


def _solids_of(group: TreeReader) -> list[dict[str, Any]]:
    from predyn.collision.solids import SIZES

    names, kinds = group.words("name"), group.words("kind")
    count = len(names)
    group.require(len(kinds) == count, "kind", f"{count} words")
    group.require({*kinds} <= {*SIZES}, "kind", f"some of {', '.join(SIZES)}")
    size, place = group.array("size", (count, 3)), group.array("position", (count, 3))
    rotation = group.array("rotation", (count, 3, 3))
    meshes = [_triangles_of(item) for item in group.groups("meshes")]
    number = _checked_numbers(group, "mesh", count, len(meshes))
    phases = _phases_of(group, count)
    return [
        {
            "name": names[k],
            "kind": kinds[k],
            "size": tuple(size[k, : len(SIZES[kinds[k]])].tolist()),
            "position": place[k],
            "rotation": rotation[k],
            "triangles": meshes[number[k]] if number[k] >= 0 else None,
            "phases": phases.get(k, ()),
        }
        for k in range(count)
    ]


def _phases_of(group: TreeReader, count: int) -> dict[int, tuple[str, ...]]:
    """Names of phases by the number of a solid that is there only in these."""
    found = {}
    for item in group.groups("phases"):
        k = item.count("solid")
        item.require(k < count, "solid", f"a number below {count}")
        found[k] = item.words("names")
    return found


def _checked_numbers(group: TreeReader, name: str, count: int, members: int) -> Any:
    number = group.array(name, (count,), np.int64)
    fits = (number >= -1) & (number < members)
    group.require(fits, name, f"numbers from -1 to {members - 1}")
    return number


def _triangles_of(group: TreeReader) -> Triangles:
    points = group.array("points", (None, 3))
    faces = group.array("faces", (None, 3), np.int64)
    fits = (faces >= 0) & (faces < len(points))
    group.require(fits, "faces", f"numbers of points below {len(points)}")
    return Triangles(points, faces)


def _path_of(group: TreeReader) -> Path:
    from predyn.collision.scene import Path

    times = group.array("times", (None,))
    places = group.array("positions", (len(times), 3))
    turns = None
    if "rotations" in group.tree:
        turns = group.array("rotations", (len(times), 3, 3))
    with located(group):
        return Path(times, places, turns)


def _tree_of_certificate(certificate: Certificate) -> Tree:
    tree: Tree = {name: float(getattr(certificate, name)) for name in DISTANCES}
    tree |= {name: int(getattr(certificate, name)) for name in COUNTS}
    points = certificate.points
    return tree | {
        "status": certificate.status,
        "pair": certificate.pair or (),
        "points": None if points is None else np.asarray(points, float),
        "never_apart": _tree_of_pairs(certificate.never_apart),
        "bare": certificate.bare,
    }


def _certificate_of(group: TreeReader) -> Certificate:
    from predyn.collision.certificate import Certificate  # loads kernels

    entries: dict[str, Any] = {name: group.value(name, float) for name in DISTANCES}
    entries |= {name: group.count(name) for name in COUNTS}
    entries["status"] = group.choice("status", STATUSES)
    group.require(0.0 <= entries["margin"] < np.inf, "margin", "a distance of at least 0 m")
    pair = group.words("pair")
    group.require(len(pair) in (0, 2), "pair", "two names, or none")
    points: Floats | None = None
    if group.value("points", (np.ndarray, type(None))) is not None:
        points = group.array("points", (2, 3))
    return Certificate(
        pair=(pair[0], pair[1]) if pair else None,
        points=points,
        never_apart=_pairs_of(group.group("never_apart")),
        bare=tuple(group.words("bare")) if "bare" in group.tree else (),
        **entries,
    )


def _tree_of_stage(stage: Stage) -> Tree:
    tree: Tree = {name: str(getattr(stage, name)) for name in TEXTS}
    tree |= {name: float(getattr(stage, name)) for name in NUMBERS}
    if stage.motion is not None:
        tree["motion"] = [curve._asdict() for curve in stage.motion]
    return tree


def _stage_of(group: TreeReader, n: int) -> Stage:
    entries: dict[str, Any] = {name: group.value(name, str) for name in TEXTS}
    entries |= {name: group.value(name, float) for name in NUMBERS}
    group.choice("name", STAGES)
    motion: tuple[Curve, ...] | None = None
    if "motion" in group.tree:
        motion = tuple(curve_of(item, n) for item in group.groups("motion"))
    return Stage(motion=motion, **entries)

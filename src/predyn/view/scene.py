"""The scene of the page's animation as plain data: solids, poses, trails, loads, grid, camera."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.model.orientations import quaternions
from predyn.model.parts import Triangles
from predyn.view.arrows import AT_POINTS, FORCES
from predyn.view.bodies import floating_chain, side_tones
from predyn.view.numbers import rounded
from predyn.view.solids import Floats, Solid
from predyn.view.stage import Stage

GHOSTS = 8  # poses of the swept path
MOST_SMALL = 1 << 16  # points that 16 bits can number
OPTIONS = {  # whether they are on at first
    "Joint axes": False, "Frames": False, "Trails": True, FORCES: True, AT_POINTS: False,
    "Shadows": True, "Follow": False, "Swept path": False,
}  # fmt: skip


class Overlay(NamedTuple):
    """Another motion in the same scene, at the same times: a recording, another solution."""

    name: str
    stage: Stage
    shown: bool = True  # from the beginning


def scene_data(stage: Stage, overlays: Sequence[Overlay] = (), name: str = "") -> dict[str, Any]:
    """What the page draws; lengths in m, poses as position and quaternion (w, x, y, z).

    name: of the motion itself, where others are laid over it.
    """
    view = stage.view
    digits = 5 - int(np.floor(np.log10(view.radius)))
    meshes: dict[int, int] = {}
    motions = [Overlay(name or stage.model.name, stage), *overlays]
    triangles: list[Triangles] = []
    tones = side_tones(stage.model)
    solids = [
        _solid(k, solid, meshes, triangles) | _tone(tones, solid)
        for k, motion in enumerate(motions)
        for solid in motion.stage.solids
        if k == 0 or solid.link >= 0
    ]
    return {
        "times": np.round(stage.times, 6).tolist(),
        "motions": [
            {"name": each.name, "faint": k > 0,
             "poses": _poses(each.stage, digits)}
            for k, each in enumerate(motions)
        ],
        "solids": solids,
        "meshes": [_mesh(points, faces) for points, faces in triangles],
        "axes": [
            {"link": j, "p": [0.0, 0.0, 0.0], "axis": rounded(stage.model.axis[j], 5)}
            for j in _jointed(stage)
        ],
        "frames": [
            {"name": f.name, "link": f.link, "R": rounded(f.R.ravel(), 6), "p": rounded(f.p, 6)}
            for f in stage.model.frames
        ],
        "trails": [
            {"name": end.name, "motion": k, "link": end.link,
             "points": np.round(path, digits).tolist()}
            for k, motion in enumerate(motions)
            for end, path in zip(motion.stage.ends, motion.stage.paths, strict=True)
        ],
        "goals": [
            {"name": goal.name, "p": rounded(goal.p, 6)}
            | ({} if goal.R is None else {"R": rounded(goal.R.ravel(), 6)})
            for goal in stage.goals
        ],
        **_loads(stage),
        "contacts": [],
        "markers": [],
        **_surroundings(stage),
        "ghosts": _ghosts(stage),
        "camera": _camera(stage, digits),
        "options": _options(stage, overlays),
    }  # fmt: skip


def _ghosts(stage: Stage) -> list[int]:
    """Frames whose poses show what a robot sweeps among obstacles: evenly along its way."""
    if not stage.among:
        return []
    own = stage.p[: len(stage.model.parent)]
    steps = np.linalg.norm(np.diff(own, axis=1), axis=2).sum(axis=0)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    places = np.searchsorted(way, np.linspace(0.0, way[-1], GHOSTS))
    return [int(k) for k in np.unique(np.minimum(places, len(way) - 1))]


def _camera(stage: Stage, digits: int) -> dict[str, Any]:
    view, follow = stage.view, stage.follow
    return {
        "up": view.up.tolist(),
        "east": view.east.tolist(),
        "north": view.north.tolist(),
        "azimuth": view.azimuth,
        "front": view.front,
        "elevation": view.elevation,
        "radius": view.radius,
        "points": np.round(view.points, digits).tolist(),
        "follow": follow
        and {
            "path": np.round(follow.path, digits).tolist(),
            "points": np.round(follow.points, digits).tolist(),
        },
    }


def _loads(stage: Stage) -> dict[str, Any]:
    return {
        "forces": [
            {
                "kind": arrow.kind,
                "label": arrow.label,
                "link": arrow.link,
                "p": rounded(arrow.point, 6),
                "vector": rounded(arrow.vector, 6),
                "world": arrow.world,
            }
            for arrow in stage.arrows
        ],
        "loads": [
            {
                "kind": arrow.kind,
                "feet": points_or_none(arrow.feet, arrow.seen),
                "tips": points_or_none(arrow.tips, arrow.seen),
                "labels": arrow.labels,
                "option": arrow.option,
                "thin": arrow.thin,
            }
            for arrow in stage.moving
        ],
    }


def points_or_none(points: Floats, seen: NDArray[np.bool_]) -> list[list[float] | None]:
    return [np.round(x, 6).tolist() if ok else None for x, ok in zip(points, seen, strict=True)]


def _jointed(stage: Stage) -> list[int]:
    """Joints whose axes can be shown: not those of a floating base."""
    floating = floating_chain(stage.model)
    return [j for j in range(stage.model.n) if j not in floating]


def _tone(tones: dict[int, int], solid: Solid) -> dict[str, int]:
    return {"tone": tones[solid.link]} if solid.link in tones else {}


def _solid(
    motion: int, solid: Solid, meshes: dict[int, int], triangles: list[Triangles]
) -> dict[str, Any]:
    """One solid; its triangles are added to the others, unless they are there."""
    data: dict[str, Any] = {
        "motion": motion,
        "link": solid.link,
        "kind": solid.kind,
        "size": rounded(np.array(solid.size), 5),
        "R": rounded(solid.R.ravel(), 6),
        "p": rounded(solid.p, 6),
        "role": solid.role,
    }
    if solid.triangles is not None:
        known = meshes.setdefault(id(solid.triangles[0]), len(triangles))
        if known == len(triangles):
            triangles.append(solid.triangles)
        data["mesh"] = known
    if solid.shown is not None:
        data["shown"] = rounded(np.array(solid.shown), 6)
    return data


def _mesh(points: NDArray[np.floating], faces: NDArray[np.integer]) -> dict[str, str]:
    """Little-endian numbers in base64: float32, and uint16 or, of many points, uint32."""
    kind = "<u2" if len(points) <= MOST_SMALL else "<u4"
    return {
        "points": b64encode(np.asarray(points, "<f4").tobytes()).decode(),
        "faces": b64encode(np.asarray(faces, kind).tobytes()).decode(),
    }


def _poses(stage: Stage, digits: int) -> list[list[float]]:
    poses = np.concatenate([stage.p, _quaternions(stage.R)], axis=2)
    return [np.round(pose.ravel(), digits).tolist() for pose in poses]


def _quaternions(R: Floats) -> Floats:
    """(..., 4) unit quaternions w, x, y, z; neighbours along axis 1 have the nearer sign."""
    q = quaternions(R)
    flips = np.where(np.sum(q[:, 1:] * q[:, :-1], axis=-1) < 0.0, -1.0, 1.0)
    q[:, 1:] *= np.cumprod(flips, axis=1)[..., None]
    return q


def _surroundings(stage: Stage) -> dict[str, Any]:
    """Grids behind a planar motion and on the ground, else below; a plane for the shadow; light."""
    view, up = stage.view, stage.normal
    step, normal = nice_step(view.radius / 4.0), view.toward if view.planar else up
    lines = {"step": step, "lines": int(np.ceil(2.4 * view.radius / step))}
    behind = min((_behind(stage, solid) for solid in stage.solids), default=0.0)
    top = np.cross(view.toward, view.right)
    a, b = (view.right, top) if view.planar else _along(up, view.east)
    height = behind if view.planar else stage.level
    floor = view.planar and stage.ground and abs(view.toward @ up) < 0.5
    level = np.cos(view.azimuth) * view.east + np.sin(view.azimuth) * view.north
    light = 1.2 * view.up + 0.85 * level - 0.45 * view.right
    middle = view.centre + (height - view.centre @ normal) * normal
    below = view.centre + (stage.level - view.centre @ up) * up
    return {
        "grid": _on_lines(middle, a, b, step) | lines,
        "floor": _on_lines(below, *_along(up, view.right), step) | lines if floor else None,
        "shadow": (
            {"middle": rounded(middle, 6), "normal": rounded(normal, 6)}
            if view.planar or stage.ground
            else None
        ),
        "light": rounded(light, 6),
        "ground": stage.ground,
    }


def _along(normal: Floats, along: Floats) -> tuple[Floats, Floats]:
    """Unit vectors of a plane, the first one near `along`, right-handed."""
    a = along - (along @ normal) * normal
    a = a / np.linalg.norm(a)
    return a, np.cross(normal, a)


def _on_lines(middle: Floats, a: Floats, b: Floats, step: float) -> dict[str, Any]:
    """A plane along a and b near `middle`, with the world's origin on one of its lines."""
    around = [step * round(float(middle @ axis) / step) - float(middle @ axis) for axis in (a, b)]
    origin = middle + around[0] * a + around[1] * b
    return {"origin": rounded(origin, 6), "a": rounded(a, 6), "b": rounded(b, 6)}


def _options(stage: Stage, overlays: Sequence[Overlay]) -> dict[str, bool]:
    """What can be switched on and off, and whether it is on at first."""
    there = (
        bool(_jointed(stage)), bool(stage.model.frames), bool(stage.paths),
        bool(stage.arrows or stage.moving), any(x.option == AT_POINTS for x in stage.moving),
        stage.view.planar or stage.ground,
        stage.follow is not None,
        bool(_ghosts(stage)),
    )  # fmt: skip
    pairs = zip(OPTIONS.items(), there, strict=True)
    options = {name: first for (name, first), something in pairs if something}
    return options | {each.name: each.shown for each in overlays}


def _behind(stage: Stage, solid: Solid) -> float:
    """How far a solid reaches toward the eye, at least."""
    points, radius = solid.outline
    return float((stage.placed(solid.link, points) @ stage.view.toward).min()) - radius


def nice_step(rough: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above `rough`."""
    power = 10.0 ** np.floor(np.log10(rough))
    return float(max(factor for factor in (1.0, 2.0, 5.0) if factor * power <= rough * 1.0001)
                 * power)  # fmt: skip

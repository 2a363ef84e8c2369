"""What is around a robot as solids: obstacles, also moving ones, and parts that it carries."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np

from predyn.collision.bodies import bodies_of
from predyn.collision.scene import Obstacle, Part, Path
from predyn.errors import InputError
from predyn.model import Model
from predyn.solution import Solution
from predyn.solution.evaluation import phase_starts
from predyn.view.solids import Floats, Solid, axes_along

THICK = 0.012  # of a plate that stands for a half-space, over the size of the picture
LEVEL = 0.999  # cosine of the slope below which a half-space is the ground


class Surroundings(NamedTuple):
    """Solids of a scene; those of moving obstacles are on links of their own after the robot's."""

    solids: list[Solid]
    planes: list[Solid]  # half-spaces, not part of what is looked at; without a size yet
    R: Floats  # (M, F, 3, 3) of the moving obstacles
    p: Floats  # (M, F, 3)


def nothing_around(frames: int) -> Surroundings:
    return Surroundings([], [], np.zeros((0, frames, 3, 3)), np.zeros((0, frames, 3)))


def surroundings_of(solution: Solution, times: Floats) -> Surroundings:
    """The scene of a solution at times (F,)."""
    around, scene = nothing_around(len(times)), solution.scene
    if scene is None:
        return around
    first = len(solution.model.parent)
    poses = [_poses(x.path, x, times) for x in scene.obstacles if x.path is not None]
    links = iter(range(first, first + len(poses)))
    for obstacle in scene.obstacles:
        link = -1 if obstacle.path is None else next(links)
        kind = around.planes if obstacle.kind == "half_space" else around.solids
        kind += _over_time(_obstacle(obstacle, link), obstacle, solution)
    for part in scene.parts:
        around.solids.extend(_over_time(_part(solution.model, part), part, solution))
    if not poses:
        return around
    return around._replace(R=np.stack([R for R, _ in poses]), p=np.stack([p for _, p in poses]))


def _obstacle(obstacle: Obstacle, link: int) -> Solid:
    R, p = np.asarray(obstacle.rotation), np.zeros(3)
    if obstacle.path is None:
        p = np.asarray(obstacle.position)
    else:
        R = np.eye(3)
    role = "payload" if obstacle.phases else "obstacle"
    return Solid(link, obstacle.kind, obstacle.size, R, p, role, obstacle.triangles)


def _part(model: Model, part: Part) -> Solid:
    frame = model.frame(part.link)
    R, p = frame.R @ np.asarray(part.rotation), frame.R @ np.asarray(part.position) + frame.p
    role = "payload" if part.phases else "tool"
    return Solid(frame.link, part.kind, part.size, R, p, role, part.triangles)


def _over_time(solid: Solid, source: Obstacle | Part, solution: Solution) -> list[Solid]:
    """The solid, once for each run of phases in which it is there."""
    if not source.phases:
        return [solid]
    runs = spans_of_phases(solution, phases_with(solution, source))
    return [solid._replace(shown=run) for run in runs]


def phases_with(solution: Solution, source: Obstacle | Part) -> list[int]:
    """Numbers of the phases in which a solid of the scene is there."""
    names = solution.phase_names
    return [k for k, name in enumerate(names) if not source.phases or name in source.phases]


def spans_of_phases(solution: Solution, phases: list[int]) -> list[tuple[float, float]]:
    """Start and end (s) of each run of consecutive phases."""
    ends = [*phase_starts(solution).tolist(), solution.duration]
    spans = []
    for _, group in groupby(enumerate(phases), lambda pair: pair[1] - pair[0]):
        run = [k for _, k in group]
        spans.append((ends[run[0]], ends[run[-1] + 1]))
    return spans


def _poses(path: Path, obstacle: Obstacle, times: Floats) -> tuple[Floats, Floats]:
    """Axes (F, 3, 3) and origin (F, 3) of a moving obstacle."""
    from scipy.spatial.transform import Rotation, Slerp

    within = np.clip(times, path.times[0], path.times[-1])
    p = np.stack([np.interp(within, path.times, x) for x in path.positions.T], axis=1)
    if path.rotations is None:
        return np.broadcast_to(np.asarray(obstacle.rotation), (len(times), 3, 3)), p
    turns = Slerp(path.times, Rotation.from_matrix(path.rotations))
    return turns(within).as_matrix(), p


def ground_height(planes: list[Solid], up: Floats) -> float | None:
    """Height of the highest half-space that rests and is level; None without one."""
    level = [x for x in planes if x.link < 0 and x.R[:, 2] @ up > LEVEL]
    return max((float(x.p @ up) for x in level), default=None)


def plates(planes: list[Solid], up: Floats, centre: Floats, radius: float) -> list[Solid]:
    """Plates in place of half-spaces, around what is looked at; the ground needs none."""
    found = []
    for plane in planes:
        normal = plane.R[:, 2]
        if plane.link < 0 and normal @ up > LEVEL:
            continue
        thick = THICK * radius
        nearest = centre - ((centre - plane.p) @ normal + 0.5 * thick) * normal
        if plane.link >= 0:  # its frame moves
            nearest = -0.5 * thick * normal
        size = (1.5 * radius, 1.5 * radius, thick)
        found.append(plane._replace(kind="box", size=size, R=axes_along(normal), p=nearest))
    return found


def capsule_solids(solution: Solution) -> list[Solid]:
    """The capsules of the robot and its parts, as certificates use them."""
    if solution.scene is None:
        return []
    try:
        bodies = bodies_of(solution.model, solution.scene)
    except InputError:  # meshes that were not replaced: there is no certificate either
        return []
    parts = {part.name: part for part in solution.scene.parts}
    found = []
    for body in bodies:
        along = body.b - body.a
        length = float(np.linalg.norm(along))
        R = axes_along(along / length) if length > 0.0 else np.eye(3)
        middle = 0.5 * (body.a + body.b)
        solid = Solid(body.link, "capsule", (body.radius, length), R, middle, "body")
        part = parts.get(body.owner)
        found += [solid] if part is None else _over_time(solid, part, solution)
    return found

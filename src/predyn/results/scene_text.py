"""Scenes of tasks and of files in words, for `predyn check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.collision.clearance import checker_of
from predyn.collision.scene import Obstacle, Part, Scene
from predyn.problem import Problem


def scene_lines(problem: Problem) -> list[str]:
    """Obstacles, parts, pairs, and pairs that cannot be checked."""
    scene = problem.scene
    if scene is None:
        return []
    checker = checker_of(problem.model, scene)
    lines = [
        f"scene: {_kinds(scene)}; margin {1e3 * problem.margin:g} mm, {len(checker.pairs)} pairs"
    ]
    lines += [f"  part {part.name!r} ({part.kind}) on {part.link!r}" for part in scene.parts]
    for one, other in checker.never_apart:
        lines.append(f"  not checked, since they always overlap: {one!r} and {other!r}")
    if checker.bare:
        lines.append(f"  not checked, without capsules: {', '.join(map(repr, checker.bare))}")
    return lines


def scene_text(scene: Scene) -> str:
    """Obstacles by kind, where they are, which ones move; parts, allowed pairs, other fields."""
    lines = [
        f"scene: {_kinds(scene)}; {counted(scene.parts, 'part')}, "
        f"{counted(scene.allowed, 'allowed pair')}"
    ]
    boxes = [_bounds(x) for x in scene.obstacles if x.kind != "half_space"]
    if boxes:
        low = np.min([box[0] for box in boxes], axis=0)
        high = np.max([box[1] for box in boxes], axis=0)
        spans = zip("xyz", low.tolist(), high.tolist(), strict=True)
        within = ", ".join(f"{axis} from {a:.4g} to {b:.4g}" for axis, a, b in spans)
        lines.append(f"  box around the obstacles: {within} m")
    for x in scene.obstacles:
        moves = ""
        if x.path is not None:
            moves = f", moves from {x.path.times[0]:g} to {x.path.times[-1]:g} s"
        lines.append(f"  obstacle {x.name!r} ({_shape(x)}){moves}{_phases(x.phases)}")
    for part in scene.parts:
        lines.append(
            f"  part {part.name!r} ({_shape(part)}) on {part.link!r}{_phases(part.phases)}"
        )
    lines += [f"  may touch: {one!r} and {other!r}" for one, other in scene.allowed]
    lines += [f"note: {note}" for note in scene.notes]
    return "\n".join(lines)


def counted(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _kinds(scene: Scene) -> str:
    kinds = Counter(obstacle.kind.replace("_", "-") for obstacle in scene.obstacles)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "no obstacles"


def _shape(solid: Obstacle | Part) -> str:
    size = " x ".join(f"{x:.4g}" for x in solid.size)
    return f"{solid.kind.replace('_', '-')} {size} m" if size else solid.kind.replace("_", "-")


def _phases(names: Sequence[str]) -> str:
    return f", only in {', '.join(names)}" if names else ""


def _bounds(obstacle: Obstacle) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest corner of an obstacle, of a moving one wherever its path has a point."""
    path, fixed = obstacle.path, np.asarray(obstacle.rotation)[None]
    p = np.asarray(obstacle.position)[None] if path is None else path.positions
    R = fixed if path is None or path.rotations is None else path.rotations
    low, high = _reach(obstacle, R)
    return (p + low).min(axis=0), (p + high).max(axis=0)


def _reach(
    obstacle: Obstacle, R: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(K, 3) how far it reaches from its origin, below and above, with axes R (K, 3, 3)."""
    size = np.asarray(obstacle.size)
    if obstacle.triangles is not None:
        points = np.asarray(obstacle.triangles.points, float) @ np.swapaxes(R, 1, 2)
        return points.min(axis=1), points.max(axis=1)
    if obstacle.kind == "box":
        half = np.abs(R) @ (0.5 * size)
    elif obstacle.kind == "sphere":
        half = np.full((len(R), 3), size[0])
    else:
        along = np.abs(R[:, :, 2])
        across = np.sqrt(np.maximum(1.0 - along**2, 0.0)) if obstacle.kind == "cylinder" else 1.0
        half = 0.5 * size[1] * along + size[0] * across
    return -half, half

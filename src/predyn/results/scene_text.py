"""The scene of a task in words, for `predyn check`."""

from __future__ import annotations

from collections import Counter

from predyn.collision.clearance import checker_of
from predyn.problem import Problem


def scene_lines(problem: Problem) -> list[str]:
    """Obstacles, parts, pairs, and pairs that cannot be checked."""
    scene = problem.scene
    if scene is None:
        return []
    checker = checker_of(problem.model, scene)
    kinds = Counter(obstacle.kind.replace("_", "-") for obstacle in scene.obstacles)
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "no obstacles"
    lines = [f"scene: {named}; margin {1e3 * problem.margin:g} mm, {len(checker.pairs)} pairs"]
    lines += [f"  part {part.name!r} ({part.kind}) on {part.link!r}" for part in scene.parts]
    for one, other in checker.never_apart:
        lines.append(f"  not checked, since they always overlap: {one!r} and {other!r}")
    return lines

"""The shared planning problems: Panda and UR5 with grippers among obstacles."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from collision.robots import robot
from predyn import Model, Scene, load_scene
from predyn.collision import Checker


class Problem(NamedTuple):
    name: str
    model: Model
    scene: Scene
    start: np.ndarray
    goal: np.ndarray


def problem_files(scenes: Path) -> list[Path]:
    return sorted(scenes.glob("*_[0-9][0-9][0-9].json"))


def load_problem(path: Path) -> Problem:
    """A problem whose scene allows the self pairs to touch that the data leave out: capsules that
    overlap at many free configurations of the meshes."""
    name = path.name.split("_")[0]
    model, allowed = _robot(name, path.parent)
    scene = replace(load_scene(path), allowed=allowed)
    start, goal = (np.array(scene.extra[key]) for key in ("start", "goal"))
    return Problem(path.stem, model, scene, start, goal)


@cache
def _robot(name: str, scenes: Path) -> tuple[Model, tuple[tuple[str, str], ...]]:
    model = robot(name, scenes)
    listed = json.loads((scenes / f"selfpairs_{name}.json").read_text())
    checked = {frozenset(pair) for pair in listed}
    bodies = [body.name for body in Checker(model).bodies]
    pairs = [(i, j) for i in range(len(bodies)) for j in range(i + 1, len(bodies))]
    left_out = [pair for pair in pairs if frozenset(pair) not in checked]
    return model, tuple((bodies[i], bodies[j]) for i, j in left_out)

"""Collision-free paths for robots: `predyn.plan`.

A search by RRT-Connect with proved edges (rrt_connect.py), shortcuts (shortcuts.py), and a smooth
curve along the polyline (polyline_spline.py). Random numbers come from the seed alone, and the
clock is read between batches, so that equal seeds give equal paths.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.collision.certificate import certify_spans
from predyn.collision.checker import Checker
from predyn.collision.motions import Spans
from predyn.collision.scene import Scene
from predyn.curves.bezier import bezier_spans
from predyn.curves.bspline import BSpline
from predyn.errors import InputError
from predyn.model import Model
from predyn.planning.plan_goals import PoseGoal, closest_pose, configuration, read_goals
from predyn.planning.plan_result import Plan
from predyn.planning.polyline_spline import spline_along
from predyn.planning.rrt_connect import EDGES, MET_START, Edges, Trees, grow, path_between
from predyn.planning.sampling import Sampling, sampling_for
from predyn.planning.shortcuts import shorter
from predyn.solution import Curve

Floats = NDArray[np.float64]
BATCH = 32  # samples between looks at the clock
CAPACITY = 1024  # nodes of a tree at first
LONGEST, SHORTEST = 0.07, 0.003  # of an edge, as shares of the sampled range's diagonal
DEPTH = 12  # halvings of an edge
SPARE = 1e-7  # m; edges keep this much more than the margin, so that curves near them can be proved
SHORTCUTS = 100


class _Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def end(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._since
        self._since = now


def plan(
    model: Model,
    scene: Scene | Checker,
    start: ArrayLike,
    goal: ArrayLike | PoseGoal,
    *,
    margin: float = 0.0,
    seed: int = 0,
    max_seconds: float = 10.0,
) -> Plan:
    """A path from `start` to `goal` on which the robot touches neither obstacles nor itself.

    scene        a Scene, or a Checker of this model that is used again and again
    start        (n,) joint positions
    goal         (n,); (G, n), any of them; or a `PoseGoal`, for which up to 12 different joint
                 positions are looked for
    margin       distance (m) that is kept
    seed         of the random numbers: equal seeds give equal paths, unless time runs out
    max_seconds  limit of the search; shortcuts and the curve come after it

    The result is proved, not sampled: `Plan.certificate` covers the whole curve, for the capsules
    of the robot. The path is short but not the shortest. A search that ends without a path is no
    proof that there is none. Bad arguments raise an InputError; everything else that prevents a
    path is a status of the Plan.
    """
    checker = _checker(model, scene)
    margin, limit = _number("margin", margin), _number("max_seconds", max_seconds)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed: expected a whole number of at least 0, got {seed!r:.40}")
    clock = _Clock()
    q = configuration(model, "start", start)
    goals = read_goals(model, q, goal, int(seed))
    refused = _refusal(checker, q, goals, goal, margin, int(seed))
    if refused is not None:
        clock.end("goals")
        return Plan(path=None, curve=None, certificate=None, margin=margin, seed=int(seed),
                    seconds=clock.seconds, **refused)  # fmt: skip
    goals = goals[checker.distances(goals).min(axis=1, initial=np.inf) > margin + SPARE]
    clock.end("goals")
    return _search(checker, q, goals, margin, int(seed), limit, clock)


def _checker(model: Model, scene: Scene | Checker) -> Checker:
    checker = scene if isinstance(scene, Checker) else Checker(model, scene)
    if checker.model is not model:
        raise InputError("scene: the checker has another model")
    if checker.moving:
        raise InputError("scene: an obstacle moves; plan supports obstacles that rest")
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops)
        raise InputError(f"model {model.name!r} has loops ({names}); plan supports open chains")
    return checker


def _number(name: str, value: object) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 <= float(value) < np.inf:  # type: ignore[arg-type]
        raise InputError(f"{name}: expected a finite number of at least 0, got {value!r:.40}")
    return float(value)  # type: ignore[arg-type]

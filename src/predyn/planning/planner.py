"""Collision-free paths for robots: `predyn.plan`.

A search by RRT-Connect with proved edges (rrt_connect.py), shortcuts (shortcuts.py), and a smooth
curve along the polyline (polyline_spline.py). Random numbers come from the seed alone, and the
clock is read between batches only, so that equal seeds give equal paths.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.collision.arguments import checked_margin
from predyn.collision.certificate import Certificate, certify_spans
from predyn.collision.checker import Checker
from predyn.collision.motions import Spans
from predyn.collision.scene import Scene
from predyn.curves.bezier import bezier_spans
from predyn.curves.bspline import BSpline
from predyn.errors import InputError
from predyn.kernels.arguments import joints
from predyn.model import Model
from predyn.planning.path_search import edges_for, find_path
from predyn.planning.plan_goals import (
    Branches,
    PoseGoal,
    configuration,
    find_branches,
    given_goals,
    nearest_first,
)
from predyn.planning.plan_result import Plan, Status, length_text
from predyn.planning.polyline_spline import spline_along
from predyn.planning.sampling import sampling_for
from predyn.planning.shortcuts import shorter
from predyn.solution import Curve

Floats = NDArray[np.float64]
SPARE = 1e-7  # m; edges keep this much more than the margin, so that a curve near them can too


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
    goal         (n,); (G, n), any of them; or a PoseGoal, for which up to 12 different joint
                 positions are looked for
    margin       distance (m) that is kept
    seed         of the random numbers: equal seeds give equal paths, unless time runs out
    max_seconds  limit of the search, and before it of that for joint positions that reach a pose;
                 shortcuts and the curve come after it

    The result is proved, not sampled: `Plan.certificate` covers the whole curve, for the capsules
    of the robot. The path is short but not the shortest. A search that ends without a path is no
    proof that there is none. Bad arguments raise an InputError; everything else that prevents a
    path is a status of the Plan.
    """
    checker = _checker(model, scene)
    margin, limit = checked_margin(margin), _number("max_seconds", max_seconds)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed: expected a whole number of at least 0, got {seed!r:.40}")
    return _Planning(checker, margin, int(seed)).run(start, goal, limit)


class _Planning:
    """The stages of one plan, with the seconds that each took."""

    def __init__(self, checker: Checker, margin: float, seed: int) -> None:
        self.checker, self.model, self.margin, self.seed = checker, checker.model, margin, seed
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()
        self.goals = np.zeros((0, self.model.n))

    def run(self, start: ArrayLike, goal: ArrayLike | PoseGoal, limit: float) -> Plan:
        q = configuration(self.model, "start", start)
        refused = self._refuse("start", q[None])
        if refused is not None:
            return refused
        if isinstance(goal, PoseGoal):
            branches = find_branches(self.model, goal, q, self.seed, limit)
            if not branches.found:
                return self._out_of_reach(goal, branches, limit)
            goals = np.array(branches.found)
        else:
            goals = given_goals(self.model, goal)
        goals = nearest_first(goals, q)
        refused = self._refuse("goal", goals)
        if refused is not None:
            return refused
        self.goals = goals[self._clearance(goals)[0] > self.margin + SPARE]
        self._end("goals")
        return self._search(q, limit)

    def _search(self, start: Floats, limit: float) -> Plan:
        sampling = sampling_for(self.checker, start, self.goals)
        edges = edges_for(self.checker, sampling, self.margin + SPARE)
        search = find_path(self.checker, start, self.goals, edges, sampling,
                           seed=self.seed, max_seconds=limit)  # fmt: skip
        self._end("search")
        counts = {"iterations": search.iterations, "edges": search.edges, "gap": search.gap}
        if search.path is None:
            return self._plan(
                "time_limit",
                f"no path in {limit:g} s and {search.iterations} iterations; the trees came within "
                f"{search.gap:.3g} m of each other. Try more time, another seed or a smaller "
                "margin; there may be no path",
                **counts,
            )
        full = shorter(self.checker.view, search.path, edges, self.seed)
        path = self._coordinates(full)
        self._end("shortcut")
        curve = spline_along(self.checker, path, self.margin)
        certificate = self._certificate(curve) if curve is not None else None
        self._end("spline")
        if curve is None:
            message = "a path was found, but no curve along it was proved: too close to obstacles"
            return self._plan("no_curve", message, path=path, **counts)
        message = f"a path of {len(path)} points, {len(curve.control)} control points"
        return self._plan("certified", message, path=path, curve=curve, certificate=certificate,
                          **counts)  # fmt: skip

    def _clearance(self, q: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Least distance of configurations (B, n), inf without pairs, and its pair."""
        if not self.checker.pairs:
            return np.full(len(q), np.inf), np.full(len(q), -1)
        distances = self.checker.distances(q)
        return distances.min(axis=1), distances.argmin(axis=1)

    def _refuse(self, name: str, q: Floats) -> Plan | None:
        """A plan without success if all configurations are too close to something."""
        least, pair = self._clearance(q)
        best = int(least.argmax())
        if least[best] > self.margin + SPARE:
            return None
        one, other = self.checker.pairs[pair[best]]
        which = f"{name}" if len(q) == 1 else f"{name}: all {len(q)} are in collision; the best"
        distance = float(least[best])
        how = f"overlap by {length_text(-distance)}" if distance < 0.0 else (
            f"are {length_text(distance)} apart, and the margin is {1e3 * self.margin:g} mm"
        )  # fmt: skip
        self._end("goals")
        status: Status = "start_in_collision" if name == "start" else "goal_in_collision"
        return self._plan(status, f"{which}: {one!r} and {other!r} {how}", pair=(one, other),
                          distance=distance)  # fmt: skip

    def _out_of_reach(self, goal: PoseGoal, branches: Branches, limit: float) -> Plan:
        self._end("goals")
        nearest = branches.nearest
        off = f"nearest: {nearest.position_error:.3g} m and {nearest.angle_error:.3g} rad off"
        if branches.complete:
            return self._plan(
                "goal_out_of_reach",
                f"goal: inverse kinematics finds no joint positions for the pose of {goal.frame!r} "
                f"({off}); check the pose and the position limits",
            )
        return self._plan(
            "time_limit",
            f"goal: no joint positions for the pose of {goal.frame!r} in {limit:g} s and "
            f"{branches.descents} descents of inverse kinematics ({off}). Try more time, or check "
            "the pose and the position limits",
        )

    def _coordinates(self, full: Floats) -> Floats:
        """Coordinates (K, n) from positions of all joints."""
        names = self.model.expanded.joint_names
        return np.ascontiguousarray(full[:, [names.index(x) for x in self.model.joint_names]])

    def _certificate(self, curve: Curve) -> Certificate:
        breaks, control = bezier_spans(BSpline(curve.degree, curve.knots), curve.control)
        times = np.stack([breaks[:-1], breaks[1:]], axis=1)
        return certify_spans(self.checker, [Spans(control, times)], margin=self.margin)

    def _end(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage], self._since = now - self._since, now

    def _plan(self, status: Status, message: str, **found: Any) -> Plan:
        return Plan(
            self.model, status, message, goals=self.goals, margin=self.margin, seed=self.seed,
            seconds=self.seconds, **found,
        )  # fmt: skip


def _checker(model: Model, scene: Scene | Checker) -> Checker:
    joints(model)
    if not isinstance(scene, Scene | Checker):
        raise InputError(
            f"scene: expected a predyn.Scene or a Checker, got {type(scene).__name__}; "
            "predyn.Scene() has no obstacles and leaves the robot against itself"
        )
    checker = scene if isinstance(scene, Checker) else Checker(model, scene)
    if checker.model is not model:
        raise InputError("scene: the checker has another model")
    if checker.moving:
        raise InputError("scene: an obstacle moves; plan supports obstacles that rest")
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops)
        raise InputError(f"model {model.name!r} has loops ({names}); plan supports open chains")
    return checker


def _number(name: str, value: Any) -> float:
    """A finite number that is not negative."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 <= value < np.inf:
        raise InputError(f"{name}: expected a finite number of at least 0, got {value!r:.40}")
    return float(value)

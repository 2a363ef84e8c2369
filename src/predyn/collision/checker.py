"""Checker: a robot in a scene, prepared for many distance checks and certificates."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.collision.arguments import bounded, checked_margin
from predyn.collision.bodies import bodies_of, links_without
from predyn.collision.certify_kernel import Scratch, certify_edges, certify_motion, scratch_for
from predyn.collision.distances import CURVATURE, DISTANCES, GRADIENTS, Distances
from predyn.collision.given_paths import poses_at
from predyn.collision.pairs import find_pairs
from predyn.collision.scene import Scene
from predyn.collision.view import Floats, build_view
from predyn.errors import InputError
from predyn.kernels.arguments import Input, finite, joints, real
from predyn.kernels.batch import Direct
from predyn.model import Model
from predyn.model.couplings import sources
from predyn.model.numbers import real_numbers

EDGE_DEPTH = 14  # halvings of an edge before it counts as undecided


class Checker:
    """Distances between the capsules of a robot, and between them and the obstacles of a scene.

    pairs        names (first body, second body) of each pair: all capsule-obstacle pairs, then
                 those of the robot with itself
    never_apart  pairs of the robot's capsules that overlap wherever the joints are; they are NOT
                 checked, and need smaller capsules
    bare         links with mass but without capsules; they are NOT checked
    view         what compiled code reads (collision/view.py); `scratch()` is its memory

    A model whose joints follow others must do so by straight lines. `edges` and certificates of one
    Checker must not run in several threads at once: they share memory.
    """

    def __init__(self, model: Model, scene: Scene | None = None) -> None:
        joints(model)
        scene = Scene() if scene is None else scene
        if not isinstance(scene, Scene):
            raise InputError(f"scene: expected a predyn.Scene, got {type(scene).__name__}")
        self.model, self.scene = model, scene
        self._factor, self._shift, self._source = _lines(model)
        self._tree = model.expanded
        self.bodies = bodies_of(model, scene)
        found = find_pairs(self._tree, self.bodies, scene)
        self.never_apart = found.never_apart
        self.bare = links_without(self._tree, self.bodies)
        self.view = build_view(self._tree, self.bodies, scene.obstacles, found.world, found.own)
        names = [body.name for body in self.bodies]
        self.pairs = tuple((names[k], scene.obstacles[o].name) for k, o in found.world)
        self.pairs += tuple((names[i], names[j]) for i, j in found.own)

    @property
    def lines(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Coordinate of each joint, and the factor and shift by which the joint follows it."""
        return self._source, self._factor, self._shift

    @property
    def moving(self) -> bool:
        """Whether an obstacle moves, so that distances depend on time."""
        return len(self.view.keys.first) > 1

    def distances(self, q: ArrayLike, t: ArrayLike | None = None) -> Floats:
        """Signed distances (..., P) in m at configurations q (..., n) and times t (...) in s.

        Negative where bodies overlap. Exact for boxes, spheres, capsules and half-spaces; never
        above the true distance for cylinders (1e-9 m below it at most while their axis is outside)
        and convex meshes (which may be far below it beside edges and corners).
        """
        inputs = self._inputs(q, t)
        if not self.pairs:
            return np.zeros((*np.shape(inputs[0][1])[:-1], 0))
        (distance,) = DISTANCES(self._tree, inputs, view=self.view)
        return distance

    def gradients(
        self, q: ArrayLike, t: ArrayLike | None = None, *, out: Distances | None = None
    ) -> Distances:
        """Distances with gradients, witness points and normals; see `Distances`.

        Where the nearest points are not unique, such as between parallel faces, the distance has a
        kink and the gradient is that of one side. out: arrays of an earlier result, to use again.
        """
        result = Distances(*GRADIENTS(self._tree, self._inputs(q, t), out=out, view=self.view))
        return result._replace(gradient=self._reduced(result.gradient))

    def curvature(self, q: ArrayLike, weights: ArrayLike, t: ArrayLike | None = None) -> Floats:
        """Sum (..., n, n) over the pairs of weights (..., P) times second partials of distances
        with witness points and normals held fixed; the curvature of the surfaces is not in it."""
        count = len(self.pairs)
        inputs = (*self._inputs(q, t), ("weights", weights, (count,)))
        (total,) = CURVATURE(self._tree, inputs, view=self.view)
        return self._reduced(np.swapaxes(self._reduced(total), -1, -2))

    def edges(self, start: ArrayLike, end: ArrayLike, *, margin: float = 0.0) -> NDArray[np.int64]:
        """Verdicts (B,) on straight lines in joint space from start (B, n) to end (B, n).

        1: certified, every pair stays more than `margin` apart all along; 0: a pair comes within
        it; -1: undecided. Obstacles must rest.
        """
        if self.moving:
            raise InputError("edges: an obstacle of the scene moves; use predyn.certify with times")
        ends = self.expand(start), self.expand(end)
        for name, end_ in zip(("start", "end"), ends, strict=True):
            bounded(end_, f"edges: {name}", "rad or m")
        try:
            edges = np.stack(np.broadcast_arrays(*ends), axis=-2)
        except ValueError:
            raise InputError(
                "edges: expected as many rows in end as in start, or one of them, got start "
                f"{np.shape(start)} and end {np.shape(end)}"
            ) from None
        edges = np.ascontiguousarray(edges.reshape(-1, 2, edges.shape[-1]))
        verdicts = np.empty(len(edges), np.int64)
        self._edges.run(edges, checked_margin(margin), EDGE_DEPTH, verdicts)
        return verdicts

    def scratch(self, points: int = 2, depth: int = EDGE_DEPTH) -> Scratch:
        """Memory for `certify_spans` with spans of `points` control points."""
        return scratch_for(self.view, points, depth)

    def expand(self, q: ArrayLike) -> Floats:
        """Positions (..., links) of all joints, with those that follow others."""
        x = finite("q", real(self.model, "q", q, (self.model.n,)))
        if not self.model.couplings:
            return x
        # contiguous: kernels are compiled for that order, and indexing may return another
        return np.ascontiguousarray(x[..., self._source] * self._factor + self._shift)

    def check_spans(
        self, control: Floats, times: Floats, margin: float, depth: int
    ) -> tuple[int, Scratch]:
        """Verdict of `certify_motion` on Bézier spans of all joints, and where its results are."""
        key = control.shape[1], depth
        if key not in self._prepared:
            scratch = self.scratch(*key)
            self._prepared[key] = scratch, Direct(certify_motion, self.view, scratch)
        scratch, function = self._prepared[key]
        return int(function.run(control, times, margin, depth)), scratch

    @cached_property
    def _prepared(self) -> dict[tuple[int, int], tuple[Scratch, Direct]]:
        return {}

    @cached_property
    def _edges(self) -> Direct:
        return Direct(certify_edges, self.view, self.scratch())

    def _inputs(self, q: ArrayLike, t: ArrayLike | None) -> tuple[Input, Input]:
        full = self.expand(q)
        if t is None and self.moving:
            raise InputError("t: expected times, since an obstacle of the scene moves")
        time = np.zeros(()) if t is None else finite("t", real_numbers(t, "t", "times"))
        poses = poses_at(self.view, time)
        return ("q", full, full.shape[-1:]), ("poses", poses, poses.shape[-1:])

    def _reduced(self, gradient: Floats) -> Floats:
        """Partials in the coordinates from those in all joints, in the last axis."""
        if not self.model.couplings:
            return gradient
        select = np.zeros((len(self._source), self.model.n))
        select[np.arange(len(self._source)), self._source] = self._factor
        return gradient @ select


def _lines(model: Model) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Factor, shift and source of each joint's position in terms of the coordinates."""
    names = model.expanded.joint_names
    line = {}
    for coupling in model.couplings:
        line[coupling.joint] = coupling.function.line
        if line[coupling.joint] is None:
            raise InputError(
                f"joint {coupling.joint!r:.60} follows {coupling.source!r:.60} by a curve; "
                "collision checks support straight lines only; lock the joint"
            )
    pairs = np.array([line.get(name, (1.0, 0.0)) for name in names]).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy(), np.asarray(sources(model), np.int64)

"""Channels `frame:NAME`: pose, velocity and acceleration of a frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.channels.derived import Derived, Floats, States, scratch, sweep
from predyn.dynamics.free_numbers import PointOn
from predyn.dynamics.kinematics import (
    FRAME_DERIVATIVES,
    FRAME_MOTION,
    frame_kinematics,
    target_of,
)
from predyn.dynamics.kinematics_hessian import FRAME_HESSIAN
from predyn.kernels.batch import aligned
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import (
    ancestor_pairs,
    differ_in_masses_only,
    trees_of,
    weightless_tree_of,
)
from predyn.model import Model
from predyn.samples import FRAME_PARTS

PER_JOINT = False  # components are not forces of the joints


def values(model: Model, member: str, states: States, forces: Sequence[ExternalForce]) -> Floats:
    """(instants, 24) for q, v, a (instants, n), in the order of FRAME_PARTS."""
    parts = frame_kinematics(model, member, *states)
    return np.concatenate([x.reshape(len(x), -1) for x in parts], axis=1)


def in_lanes(
    model: Model, member: str, states: States, forces: Sequence[ExternalForce]
) -> FrameChannel:
    """The channel in lanes, for a program."""
    return FrameChannel(model, states, member)


class FrameChannel(Derived):
    """Pose, velocity and acceleration of a frame; see samples.FRAME_PARTS for the order."""

    def __init__(self, model: Model, states: tuple[Floats, Floats, Floats], frame: str) -> None:
        n, chunks = model.n, len(states[0])
        self._n, self._frame, self._states = n, frame, states
        tree = weightless_tree_of(model)
        self._parts = scratch(FRAME_MOTION, tree, chunks)
        self._partials = scratch(FRAME_DERIVATIVES, tree, chunks)
        self.curvature = scratch(FRAME_HESSIAN, tree, chunks)
        self.value, self.weights = (aligned(chunks, 24, WIDTH) for _ in range(2))
        self._split = tuple(aligned(chunks, s.stop - s.start, WIDTH) for s in FRAME_PARTS.values())
        self._read(model)
        self.dq, self.dv, self.da = (aligned(chunks, m * n, WIDTH) for m in (24, 12, 6))
        self.pairs = ancestor_pairs(tree)
        link = model.frame(frame).link
        carriers = []
        while link >= 0:
            carriers.append(link)
            link = int(model.parent[link])
        self.depends = []
        for x in range(24):
            in_v = (x - 12) * n if x >= 12 else -1
            in_a = (x - 18) * n if x >= 18 else -1
            self.depends.append(
                [
                    (j, x * n + j, in_v + j if x >= 12 else -1, in_a + j if x >= 18 else -1)
                    for j in sorted(carriers)
                ]
            )

    def _read(self, model: Model) -> None:
        """Take over the numbers of a model."""
        tree, self.trees = weightless_tree_of(model), trees_of(model)
        target = target_of(model, self._frame, (0.0, 0.0, 0.0))
        self.points = [PointOn(self._frame, (0.0, 0.0, 0.0), target.p[0])]
        self._frames = model.frames
        states, weighted = self._states, (*self._states, *self._split)
        self._move = sweep(FRAME_MOTION, tree, target, states, self._parts)
        self._derive = sweep(FRAME_DERIVATIVES, tree, target, states, self._partials)
        self._curve = sweep(FRAME_HESSIAN, tree, target, weighted, self.curvature)

    def follow(self, model: Model, forces: Sequence[ExternalForce]) -> bool:
        same_frames = model.frames is self._frames
        if same_frames and differ_in_masses_only(self.trees[2], weightless_tree_of(model)):
            return True
        self._read(model)
        return self.no_new_partials(self._states)

    def evaluate(self) -> None:
        self._move.run()
        for part, values in zip(FRAME_PARTS.values(), self._parts, strict=True):
            self.value[:, part] = values

    def derive(self) -> None:
        self.evaluate()
        n = self._n
        self._derive.run()
        jacobian, velocity_q, acceleration_q, acceleration_v = self._partials
        turn = jacobian[:, : 3 * n].reshape(-1, 3, n, WIDTH)
        R = self._parts[0].reshape(-1, 3, 3, WIDTH)
        dR = self.dq[:, : 9 * n].reshape(-1, 3, 3, n, WIDTH)
        for r in range(3):  # each column of R turns with the link
            x, y = (r + 1) % 3, (r + 2) % 3
            dR[:, r] = turn[:, None, x] * R[:, y, :, None] - turn[:, None, y] * R[:, x, :, None]
        self.dq[:, 9 * n : 12 * n] = jacobian[:, 3 * n :]
        self.dq[:, 12 * n : 18 * n] = velocity_q
        self.dq[:, 18 * n :] = acceleration_q
        self.dv[:, : 6 * n] = jacobian
        self.dv[:, 6 * n :] = acceleration_v
        self.da[:] = jacobian

    def curve(self) -> None:
        for part, weights in zip(FRAME_PARTS.values(), self._split, strict=True):
            weights[:] = self.weights[:, part]
        self._curve.run()

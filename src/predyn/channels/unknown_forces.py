"""Partials of torques and joint reactions in unknown external forces.

tau is linear in a force: d tau_j/d(moment, force) is minus the motion of the force's point as joint
j moves. The second partial of weights . tau in q and a force is minus the partial in q of the
velocity of the point at joint rates `weights` (dynamics/force_derivatives.py). Reactions are linear
in forces too; their partials come from dynamics/load_reactions.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import Floats, States, scratch, sweep
from predyn.dynamics.free_numbers import PointOn
from predyn.dynamics.kinematics import FRAME_DERIVATIVES, FRAME_MOTION, target_of
from predyn.dynamics.load_reactions import (
    joint_reactions_force_derivatives,
    reaction_force_hessian,
)
from predyn.kernels.forces import UnknownForce
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import tree_of, weightless_tree_of
from predyn.model import Model


class PointMotion:
    """Motion of the point of one unknown force, in the axes of its components."""

    def __init__(self, model: Model, states: States, weights: Floats, force: UnknownForce) -> None:
        self._n, chunks = model.n, len(states[0])
        tree = weightless_tree_of(model)
        target = target_of(model, force.link, force.point)
        self.point = PointOn(force.link, force.point, target.p[0])
        self._link_axes = force.frame == "link"
        self._motion = scratch(FRAME_MOTION, tree, chunks)
        self._slopes = scratch(FRAME_DERIVATIVES, tree, chunks)
        q, rest = states[0], np.zeros_like(states[0])
        at_rates = (q, weights, rest)
        self._move = sweep(FRAME_MOTION, tree, target, at_rates, self._motion)
        self._derive = sweep(FRAME_DERIVATIVES, tree, target, at_rates, self._slopes)
        self.outputs = self.joints = _carriers(model, force.link)
        self.parts = _parts(force)

    def slopes(self) -> Floats:
        """Minus the angular and linear motion of the point as each joint moves."""
        self._derive.run()
        jacobian = self._slopes[0].reshape(-1, 6, self._n, WIDTH)[:, :, self.joints]
        return -self._along(jacobian) if self._link_axes else -jacobian

    def bends(self) -> Floats:
        """Minus the partials in q of the point's velocity at joint rates `weights`."""
        self._derive.run()
        change = self._slopes[1].reshape(-1, 6, self._n, WIDTH)[:, :, self.joints]
        if not self._link_axes:
            return -change
        # in axes that also rotate with w_i: R^T (d u/dq_i - w_i x u)
        self._move.run()
        _, _, w, v = self._motion[:4]
        turn = self._slopes[0].reshape(-1, 6, self._n, WIDTH)[:, :3, self.joints]
        turned = [_cross(turn, x[:, :, None]) for x in (w, v)]
        return -self._along(change - np.concatenate(turned, axis=1))

    def _along(self, x: Floats) -> Floats:
        self._move.run()
        R = self._motion[0].reshape(-1, 3, 3, WIDTH)
        halves = [np.einsum("crkb,crnb->cknb", R, part) for part in (x[:, :3], x[:, 3:])]
        return np.concatenate(halves, axis=1)


class LoadReactions:
    """The joint reactions to one unknown force."""

    def __init__(self, model: Model, states: States, weights: Floats, force: UnknownForce) -> None:
        self._model, self._q, self._weights = model, states[0], weights
        self._force = replace(force, force=np.zeros(3), moment=np.zeros(3))
        place = target_of(model, force.link, force.point).p[0]
        self.point = PointOn(force.link, force.point, place)
        self.joints = _carriers(model, force.link)
        self.outputs = (6 * self.joints[:, None] + np.arange(6)).ravel()
        self.parts = _parts(force)

    def slopes(self) -> Floats:
        q = _instants(self._q[:, : self._model.n])
        (found,) = joint_reactions_force_derivatives(self._model, q, [self._placed()])
        return _lanes(found.reshape(len(q), -1, 6)[:, self.outputs].transpose(0, 2, 1))

    def bends(self) -> Floats:
        n = self._model.n
        q, weights = _instants(self._q[:, :n]), _instants(self._weights).reshape(-1, n, 6)
        (found,) = reaction_force_hessian(self._model, q, weights, [self._placed()])
        return _lanes(found[:, self.joints].transpose(0, 2, 1))

    def _placed(self) -> UnknownForce:
        """The force at the present place of its point, which parameters may move."""
        frame = self._model.frame(self._force.link)
        in_link = tree_of(self._model).link[frame.link].T @ self.point.place
        return replace(self._force, point=frame.R.T @ (in_link - frame.p))


def _instants(lanes: Floats) -> Floats:
    """Rearrange (chunks, m, WIDTH) to (instants, m)."""
    return np.ascontiguousarray(lanes.transpose(0, 2, 1)).reshape(-1, lanes.shape[1])


def _lanes(values: Floats) -> Floats:
    """Rearrange (instants, 6, m) to (chunks, 6, m, WIDTH)."""
    return values.reshape(-1, WIDTH, *values.shape[1:]).transpose(0, 2, 3, 1)


def _parts(force: UnknownForce) -> list[tuple[range, tuple[int, ...], float]]:
    """Rows of moment and force, the unknown components in them, and their sign."""
    moment = (range(3), force.moment_at, force.moment_sign)
    both = (moment, (range(3, 6), force.force_at, force.force_sign))
    return [part for part in both if part[1]]


def _cross(a: Floats, b: Floats) -> Floats:
    """Cross product along axis 1."""
    x, y, z = (a[:, k] for k in range(3))
    u, v, w = (b[:, k] for k in range(3))
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=1)


def _carriers(model: Model, frame: str) -> NDArray[np.int64]:
    """Joints that move a frame."""
    link, found = model.frame(frame).link, []
    while link >= 0:
        found.append(link)
        link = int(model.parent[link])
    return np.array(sorted(found), np.int64)

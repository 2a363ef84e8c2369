"""A floating base as position and orientation instead of slides and hinges, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.kernels.tree import placed_tree_of
from predyn.model import Model
from predyn.model.floating_base import floating_base
from predyn.model.orientations import quaternions

Floats = NDArray[np.float64]
SLIDES, HINGES = slice(0, 3), slice(3, 6)
BASE = 5  # the link
LOCKED = 1e-9  # volume of the hinges' axes below which rates are those of least norm


class BaseCoordinates:
    """Converts states of a model whose first six joints are its base.

    Free coordinates have the position of the base in place of slides, its velocity in world axes in
    place of their rates, and its angular velocity in axes of its joint frame in place of the rates
    of hinges; angles of hinges stay.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._link = model, model.link_names[BASE]
        self._turn = placed_tree_of(model).link[BASE]  # link axes in the joint frame
        still = np.zeros((1, model.n))
        axes = frame_kinematics_derivatives(model, self._link, still).jacobian[0, 3:, SLIDES]
        self._inverse = np.linalg.inv(axes)

    def free(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Positions and velocities (B, n), unit quaternions (B, 4) and hinges (B, 3)."""
        base = frame_kinematics(self._model, self._link, q, v)
        R = base.R @ self._turn.T
        free_q, free_v = q.copy(), v.copy()
        free_q[:, SLIDES], free_q[:, HINGES] = base.p, 0.0
        free_v[:, SLIDES], free_v[:, HINGES] = base.v, np.einsum("bji,bj->bi", R, base.w)
        return free_q, free_v, quaternions(R), q[:, HINGES].copy()

    def joints(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Joint positions and velocities (..., n) of free coordinates with angles of hinges.

        At gimbal lock, rates of hinges are those of least norm: they miss a part of the motion.
        """
        lead, n = q.shape[:-1], self._model.n
        found_q, found_v = q.reshape(-1, n).copy(), v.reshape(-1, n).copy()
        x, rate, spin = (y.copy() for y in (found_q[:, SLIDES], *_parts(found_v)))
        found_q[:, SLIDES] = 0.0
        base = frame_kinematics(self._model, self._link, found_q)
        jacobian = frame_kinematics_derivatives(self._model, self._link, found_q).jacobian
        found_q[:, SLIDES] = (x - base.p) @ self._inverse.T
        w = np.einsum("bij,bj->bi", base.R @ self._turn.T, spin)
        turn, shift = jacobian[:, :3, HINGES], jacobian[:, 3:, HINGES]
        locked = np.abs(np.linalg.det(turn)) < LOCKED
        rates = np.linalg.solve(np.where(locked[:, None, None], np.eye(3), turn), w[..., None])
        rates = rates[..., 0]
        if locked.any():
            rates[locked] = np.einsum("bij,bj->bi", np.linalg.pinv(turn[locked], 1e-6), w[locked])
        found_v[:, HINGES] = rates
        found_v[:, SLIDES] = (rate - np.einsum("bij,bj->bi", shift, rates)) @ self._inverse.T
        return found_q.reshape(*lead, n), found_v.reshape(*lead, n)


def _parts(v: Floats) -> tuple[Floats, Floats]:
    return v[:, SLIDES], v[:, HINGES]


def base_quaternions(model: Model, q: Floats) -> Floats | None:
    """Orientation (..., K, 4) of the floating base at positions (..., K, n), without jumps of sign.

    Order w, x, y, z; NaN where q is; None for a model without a floating base.
    """
    base = floating_base(model)
    if base is None:
        return None
    link = model.link_names[int(base[-1])]
    known = np.asarray(np.isfinite(q).all(axis=-1))
    e = quaternions(frame_kinematics(model, link, np.where(known[..., None], q, 0.0)).R)
    turned = (e[..., 1:, :] * e[..., :-1, :]).sum(axis=-1) < 0.0
    signs = np.cumprod(np.where(turned, -1.0, 1.0), axis=-1)
    e[..., 1:, :] *= signs[..., None]
    e[~known] = np.nan
    return np.asarray(e)

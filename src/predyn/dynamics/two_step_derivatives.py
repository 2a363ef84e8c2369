"""Exact partials of the two-step algorithm (two_step.py) in q, v and a.

The resultant and its partials come from resultant.py, the points of the feet from kinematics.py.
The torques of the second pass depend on the motion directly, with fixed ground forces, and through
the ground forces:

    d tau/dx = (d tau/dx at fixed forces) + sum over the feet of d tau/d(force) d(force)/dx

where d tau/d(force) is minus the motion of the foot (force_derivatives.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from predyn.dynamics.force_derivatives import inverse_dynamics_force_derivatives
from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.dynamics.resultant import resultant_wrench_derivatives
from predyn.dynamics.rnea_derivatives import inverse_dynamics_derivatives
from predyn.dynamics.two_step import (
    Arguments,
    Floats,
    Foot,
    Outside,
    Split,
    TwoStep,
    ground_forces,
    moment_at,
    moved_force,
    result_of,
    split_wrench,
)
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.model.floating_base import require_free_base


class TwoStepPartials(NamedTuple):
    """Partials with respect to one of q, v, a."""

    tau: Floats  # (..., n, n)
    zmp: Floats  # (..., 2, n)
    couple: Floats  # (..., n)
    shares: Floats  # (..., K, n)
    wrenches: Floats  # (..., K, 6, n)


class TwoStepDerivatives(NamedTuple):
    """Values and their exact partials in q, v and a."""

    value: TwoStep
    dq: TwoStepPartials
    dv: TwoStepPartials
    da: TwoStepPartials


def two_step_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    feet: Sequence[Foot],
    *,
    height: float = 0.0,
    direction: ArrayLike = (1.0, 0.0),
    outside: Outside = "clamp",
    forces: Sequence[ExternalForce] = (),
) -> TwoStepDerivatives:
    """The values of two_step_dynamics and their exact partials in q, v and a.

    Where a share is clamped, its partials are zero: they jump at the facing edges.
    """
    base = require_free_base(model)
    options = Arguments(model, feet, height, direction, outside)
    resultant = resultant_wrench_derivatives(model, q, v, a, forces=forces)
    at_origins = [_point(model, foot.link, q, (0.0, 0.0, 0.0)) for foot in feet]
    at_edges = [_point(model, foot.link, q, foot.edge) for foot in feet]
    origins, edges = [p for p, _ in at_origins], [p for p, _ in at_edges]
    split = split_wrench(options, resultant.wrench, origins, edges)
    ground = ground_forces(feet, split.wrenches)
    tau, *fixed = inverse_dynamics_derivatives(model, q, v, a, forces=[*forces, *ground])
    by_force = inverse_dynamics_force_derivatives(model, q, ground)
    found = []
    for k, (change, by_state) in enumerate(
        zip((resultant.dq, resultant.dv, resultant.da), fixed, strict=True)
    ):
        moves = [J if k == 0 else 0.0 * J for _, J in at_origins]
        shifts = [J if k == 0 else 0.0 * J for _, J in at_edges]
        parts = _split_partials(options, split, resultant.wrench, change, origins, moves, shifts)
        total = by_state.copy()
        for j, slopes in enumerate(by_force):
            total += slopes @ parts.wrenches[..., j, :, :]
        found.append(parts._replace(tau=total))
    value = result_of(base, tau, resultant.wrench, split)
    return TwoStepDerivatives(value, *found)


def _split_partials(
    options: Arguments,
    split: Split,
    wrench: Floats,
    change: Floats,
    origins: Sequence[Floats],
    moves: Sequence[Floats],
    shifts: Sequence[Floats],
) -> TwoStepPartials:
    """Partials of a split when the resultant changes by (..., 6, n), the origins of the feet by
    (..., 3, n) and their edges likewise."""
    force, turn = wrench[..., 3:], moment_at(np.swapaxes(change, -1, -2), options.height)
    dF = change[..., 3:, :]
    (x, y), up = np.moveaxis(split.zmp, -1, 0)[..., None], force[..., 2, None]
    dx = -(turn[..., 1] + x * dF[..., 2, :]) / up
    dy = (turn[..., 0] - y * dF[..., 2, :]) / up
    fx, fy = force[..., 0, None], force[..., 1, None]
    dT = turn[..., 2] - (dx * fy + x * dF[..., 1, :] - dy * fx - y * dF[..., 0, :])
    zmp = np.stack([dx, dy], axis=-2)
    if len(origins) == 1:
        shares, whole, slopes = np.zeros_like(dT)[..., None, :], [wrench], [change]
    else:
        whole, slopes, ds = _lever_partials(options, split, wrench, change, zmp, shifts)
        shares = np.stack([-ds, ds], axis=-2)
    about = [
        _about_partials(p, dp, w, dw)
        for p, dp, w, dw in zip(origins, moves, whole, slopes, strict=True)
    ]
    return TwoStepPartials(np.zeros(0), zmp, dT, shares, np.stack(about, axis=-3))


def _lever_partials(
    options: Arguments,
    split: Split,
    wrench: Floats,
    change: Floats,
    zmp: Floats,
    shifts: Sequence[Floats],
) -> tuple[list[Floats], list[Floats], Floats]:
    """Wrenches of two feet about the world origin, their partials, and those of the front share."""
    u, s = options.along, split.front[..., None]
    rear, dD = shifts[0][..., :2, :], (shifts[1] - shifts[0])[..., :2, :]
    distance = (split.span @ u)[..., None]
    ds = np.einsum("i,...in->...n", u, zmp - rear - s[..., None] * dD) / distance
    ds = ds * split.moving[..., None]
    force = wrench[..., 3:]
    arm = moved_force(split.span, force)
    by_span = moved_force(np.swapaxes(dD, -1, -2), force[..., None, :])
    by_force = moved_force(split.span[..., None, :], np.swapaxes(change[..., 3:, :], -1, -2))
    d_arm = np.swapaxes(by_span + by_force, -1, -2)
    W, A, ds_row, s2 = wrench[..., None], arm[..., None], ds[..., None, :], s[..., None]
    whole = [(1.0 - s) * (wrench - s * arm), s * (wrench + (1.0 - s) * arm)]
    slopes = [
        -ds_row * (W - s2 * A) + (1.0 - s2) * (change - ds_row * A - s2 * d_arm),
        ds_row * (W + (1.0 - s2) * A) + s2 * (change - ds_row * A + (1.0 - s2) * d_arm),
    ]
    return whole, slopes, ds


def _about_partials(p: Floats, dp: Floats, w: Floats, dw: Floats) -> Floats:
    df = dw[..., 3:, :]
    moved = np.cross(dp, w[..., 3:, None], axis=-2) + np.cross(p[..., None], df, axis=-2)
    return np.concatenate([dw[..., :3, :] - moved, df], axis=-2)


def _point(model: Model, link: str, q: ArrayLike, point: ArrayLike) -> tuple[Floats, Floats]:
    """Position (..., 3) and its partials (..., 3, n) in q."""
    partials = frame_kinematics_derivatives(model, link, q, point=point)
    return frame_kinematics(model, link, q, point=point).p, partials.jacobian[..., 3:, :]

"""Plain NumPy kinematics and mass matrix of a Model, and the check that it is not singular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.model.couplings import joint_positions, sources
from predyn.model.parts import EPS, PRISMATIC, Array, turn, unpack_inertias

if TYPE_CHECKING:
    from predyn.model.model import Model


def ancestors(parent: ArrayLike) -> NDArray[np.bool_]:
    """(n, n) bool: [i, k] is true if joint k moves link i."""
    parent = np.asarray(parent)
    table = np.eye(len(parent), dtype=bool)
    for j, k in enumerate(parent):
        if k >= 0:
            table[j] |= table[k]
    return table


def link_poses(model: Model, q: ArrayLike) -> tuple[Array, Array]:
    """Rotations (..., n, 3, 3) and origins (..., n, 3) of the link frames in the world.

    q: (..., n)
    """
    q = np.asarray(q, dtype=float)
    slides = model.kind == PRISMATIC
    turned = model.R @ turn(model.axis, np.where(slides, 0.0, q))
    along = np.where(slides, 1.0, model.pitch) * q
    slide = model.p + along[..., None] * (model.R @ model.axis[:, :, None])[:, :, 0]
    R, p = np.empty((*q.shape, 3, 3)), np.empty((*q.shape, 3))
    for j, k in enumerate(model.parent.tolist()):
        if k < 0:
            R[..., j, :, :], p[..., j, :] = turned[..., j, :, :], slide[..., j, :]
        else:
            before = R[..., k, :, :]
            R[..., j, :, :] = before @ turned[..., j, :, :]
            p[..., j, :] = p[..., k, :] + (before @ slide[..., j, :, None])[..., 0]
    return R, p


def plain_mass_matrix(model: Model, q: ArrayLike) -> tuple[Array, Array]:
    """M (..., n, n) at q (..., n) as the sum of J^T I J, armature and rotor; and the rounding error
    (..., n) of its diagonal.

    Plain NumPy: for checks, not for speed.
    """
    R, origin = link_poses(model, q)
    axis = (R @ model.axis[:, :, None])[..., 0]
    moves = ancestors(model.parent)
    mass, com, inertia = unpack_inertias(model.inertia)
    com = origin + (R @ com[:, :, None])[..., 0]
    inertia = R @ inertia @ np.swapaxes(R, -1, -2)
    turning = (model.kind != PRISMATIC).astype(float)
    sliding = np.where(model.kind == PRISMATIC, 1.0, model.pitch)
    # [..., i, k]: column k of link i's Jacobian, angular, and linear at the link's centre of mass
    arm = com[..., :, None, :] - origin[..., None, :, :]
    spin = (axis * turning[:, None])[..., None, :, :]
    linear = np.cross(spin, arm) + (axis * sliding[:, None])[..., None, :, :]
    linear *= moves[..., None]
    angular = spin * moves[..., None]
    M = _summed(mass[:, None, None] * linear, linear) + _summed(angular @ inertia, angular)
    M += np.diag(model.armature) + model.rotor
    # z x arm is accurate to a few eps of the positions, z^T I z to a few eps of I
    reach = np.linalg.norm(arm, axis=-1) + np.linalg.norm(com, axis=-1)[..., None]
    reach = (reach + np.linalg.norm(origin, axis=-1)[..., None, :]) * turning
    size = np.abs(model.inertia[:, 4:]).max(axis=1)
    floor = (moves * (mass[:, None] * (64 * EPS * reach) ** 2)).sum(axis=-2)
    return 0.5 * (M + np.swapaxes(M, -1, -2)), floor + turning * (64 * EPS * size @ moves)


def _summed(a: Array, b: Array) -> Array:
    """The sum over links i of a_i b_i^T (..., n, n), from a and b (..., i, n, 3)."""
    wide = [np.swapaxes(x, -3, -2).reshape(*x.shape[:-3], x.shape[-2], -1) for x in (a, b)]
    return wide[0] @ np.swapaxes(wide[1], -1, -2)


def _coordinate_mass_matrix(model: Model, q: Array) -> tuple[Array, Array]:
    """M (..., n, n) of the coordinates, and the rounding error (..., n) of its diagonal."""
    if not model.couplings:
        return plain_mass_matrix(model, q)
    M, floor = plain_mass_matrix(model.expanded, joint_positions(model, q))
    source, slope = sources(model), joint_positions(model, q, order=1)
    E = np.zeros((*slope.shape, model.n))
    E[..., np.arange(len(source)), source] = slope
    return np.swapaxes(E, -1, -2) @ M @ E, (floor[..., None, :] @ E**2)[..., 0, :]


def singular_mass_matrix(model: Model) -> list[str]:
    """Problems: the coordinates that move no inertia, tested at three random configurations."""
    remedy = (
        "a massless link inside the tree is fine, a moving tip without inertia is not: "
        "give it mass or armature, or lock the joint"
    )
    q = np.random.default_rng(20080617).uniform(-1.0, 1.0, (3, model.n))
    with np.errstate(all="ignore"):
        M, floor = _coordinate_mass_matrix(model, np.where(model.kind == PRISMATIC, 1.0, np.pi) * q)
        diagonal = np.diagonal(M, axis1=1, axis2=2)
        scale = np.sqrt(diagonal)
        each = zip(~(diagonal > floor), M / scale[:, None, :] / scale[:, :, None], strict=True)
    for weak, scaled in each:
        if weak.any():
            names = ", ".join(repr(model.joint_names[j]) for j in np.flatnonzero(weak)[:6])
            clause = f"joint {names} moves" if weak.sum() == 1 else f"joints {names} move"
            return [f"mass matrix is singular: {clause} no inertia; {remedy}"]
        if not np.isfinite(scaled).all():
            return ["mass matrix is not finite: masses or lengths are out of range"]
        if np.linalg.eigvalsh(scaled)[0] < 1e-11:
            parts = np.abs(np.linalg.eigh(scaled)[1][:, 0])
            names = ", ".join(
                repr(model.joint_names[j]) for j in np.flatnonzero(parts > 0.3 * parts.max())[:6]
            )
            return [
                f"mass matrix is singular: joints {names} together can move without moving any "
                f"inertia; {remedy}"
            ]
    return []

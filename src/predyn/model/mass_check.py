"""Plain NumPy kinematics and mass matrix of a Model, and the check that it is not singular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.model.couplings import joint_positions, sources
from predyn.model.parts import EPS, PRISMATIC, Array, about_origin, joint_motion, unpack_inertia

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
    """Rotations (n, 3, 3) and origins (n, 3) of the link frames in the world at q (n,)."""
    R, p = np.empty((model.n, 3, 3)), np.empty((model.n, 3))
    for j, (k, value) in enumerate(zip(model.parent, np.asarray(q, dtype=float), strict=True)):
        turn, slide = joint_motion(model.kind[j], model.axis[j], model.pitch[j], value)
        R_before, p_before = (R[k], p[k]) if k >= 0 else (np.eye(3), np.zeros(3))
        R[j] = R_before @ model.R[j] @ turn
        p[j] = p_before + R_before @ (model.p[j] + model.R[j] @ slide)
    return R, p


def plain_mass_matrix(model: Model, q: ArrayLike) -> tuple[Array, Array]:
    """M (n, n) as the sum of J^T I J, armature and rotor; and the rounding error of its diagonal.

    Plain NumPy at one configuration: for checks, not for speed.
    """
    R, origin = link_poses(model, q)
    axis = np.einsum("nij,nj->ni", R, model.axis)
    moves = ancestors(model.parent)
    bodies = [unpack_inertia(row) for row in model.inertia]
    mass = np.array([body[0] for body in bodies])
    com = origin + np.einsum("nij,nj->ni", R, np.array([body[1] for body in bodies]))
    inertia = np.einsum("nij,njk,nlk->nil", R, np.array([body[2] for body in bodies]), R)
    turns = (model.kind != PRISMATIC).astype(float)
    slides = np.where(model.kind == PRISMATIC, 1.0, model.pitch)
    # column k of link i's Jacobian: angular, and linear at the link's centre of mass
    arm = com[:, None] - origin
    linear = np.cross(axis * turns[:, None], arm) + (axis * slides[:, None])
    linear *= moves[..., None]
    angular = (axis * turns[:, None]) * moves[..., None]
    M = np.tensordot(linear * mass[:, None, None], linear, axes=((0, 2), (0, 2)))
    M += np.tensordot(angular @ inertia, angular, axes=((0, 2), (0, 2)))
    M += np.diag(model.armature) + model.rotor
    # z x arm is accurate to a few eps of the positions, z^T I z to a few eps of I
    reach = np.linalg.norm(arm, axis=2) + np.linalg.norm(com, axis=1)[:, None]
    reach = (reach + np.linalg.norm(origin, axis=1)) * turns
    size = np.array([np.abs(about_origin(row)).max() for row in model.inertia])
    floor = (moves * (mass[:, None] * (64 * EPS * reach) ** 2)).sum(axis=0)
    return 0.5 * (M + M.T), floor + turns * (64 * EPS * size @ moves)


def _coordinate_mass_matrix(model: Model, q: Array) -> tuple[Array, Array]:
    """M (n, n) of the coordinates, and the rounding error of its diagonal."""
    if not model.couplings:
        return plain_mass_matrix(model, q)
    M, floor = plain_mass_matrix(model.expanded, joint_positions(model, q))
    source, slope = sources(model), joint_positions(model, q, order=1)
    E = np.zeros((len(source), model.n))
    E[np.arange(len(source)), source] = slope
    return E.T @ M @ E, (E**2).T @ floor


def singular_mass_matrix(model: Model) -> list[str]:
    """Problems: the coordinates that move no inertia, tested at three random configurations."""
    remedy = (
        "a massless link inside the tree is fine, a moving tip without inertia is not: "
        "give it mass or armature, or lock the joint"
    )
    rng = np.random.default_rng(20080617)
    for _ in range(3):
        q = np.where(model.kind == PRISMATIC, 1.0, np.pi) * rng.uniform(-1.0, 1.0, model.n)
        with np.errstate(all="ignore"):
            M, floor = _coordinate_mass_matrix(model, q)
            scale = np.sqrt(np.diag(M))
            weak = ~(np.diag(M) > floor)
            scaled = M / scale / scale[:, None]
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

"""The discrete Euler-Lagrange equations of a tree, as in Bjorkenstam's thesis, chapters 4 and 5.

Spatial vectors are arrays of six numbers, angular part first, in world coordinates, and spatial
inertias 6x6 matrices; rho(i) is the parent of link i. Numbers refer to the thesis's equations. The
sensitivities of the kinetic energy, which it announces in section 5.2 and derives in the appended
Paper 3, have the form of the recursive Newton-Euler algorithm with momenta (4.1) in place of forces
(4.7):

    p_i = p_i^B + sum over children p_j       as 4.8
    dT/d(q-dot)_i = p_i^T S_i                 as 4.9
    dT/dq_i = p_i^T S-dot_i                   with S-dot_i of 4.6

The discrete Lagrangian 5.1 is that of the midpoint rule, and so are the discrete forces 5.2, of
which F_d^- is the left one (5.1 of the text has it reversed). The work is linear in the number of
links. lagrangian.py and discrete.py compute the same faster.
Reference: Bjorkenstam, Methods for direct optimal control of multibody systems, licentiate thesis,
Chalmers University of Technology, 2016.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.errors import InputError
from predyn.kernels.arguments import finite, joints, positive, real
from predyn.model import PRISMATIC, SCREW, Model
from predyn.model.ligaments import ligament_torque

Floats = NDArray[np.float64]


class Sensitivities(NamedTuple):
    """Partials (..., n) of kinetic and potential energy."""

    dT_dv: Floats
    dT_dq: Floats
    dV_dq: Floats


def _skew(x: Floats) -> Floats:
    """(..., 3, 3) with _skew(x) y = x x y."""
    result = np.zeros((*x.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        result[..., k, j], result[..., j, k] = x[..., i], -x[..., i]
    return result


def _motion_cross(v: Floats, m: Floats) -> Floats:
    """v x m of spatial motions (..., 6)."""
    angular, linear = np.cross(v[..., :3], m[..., :3]), np.cross(v[..., :3], m[..., 3:])
    return np.concatenate([angular, linear + np.cross(v[..., 3:], m[..., :3])], axis=-1)


def _pose(model: Model, i: int, q: Floats, R: Floats, o: Floats) -> tuple[Floats, Floats, Floats]:
    """Rotation and origin of link i, and its motion subspace S, from its parent's R and o."""
    axis, kind = model.axis[i], model.kind[i]
    turns = 0.0 if kind == PRISMATIC else 1.0
    slides = {PRISMATIC: 1.0, SCREW: float(model.pitch[i])}.get(int(kind), 0.0)
    o, R = o + R @ model.p[i], R @ model.R[i]
    z = R @ axis
    o = o + slides * q[..., None] * z
    K, angle = _skew(axis), turns * q[..., None, None]
    R = R @ (np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K))
    S = np.concatenate([turns * z, turns * np.cross(o, z) + slides * z], axis=-1)
    return R, o, S


def _inertia(model: Model, i: int, R: Floats, o: Floats) -> Floats:
    """I_i of 4.1, (..., 6, 6), in world coordinates."""
    m, h, (xx, xy, yy, xz, yz, zz) = (
        model.inertia[i, 0],
        _skew(model.inertia[i, 1:4]),
        model.inertia[i, 4:],
    )
    second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    own = np.block([[second, h], [h.T, m * np.eye(3)]])
    back = np.zeros((*R.shape[:-2], 6, 6))  # coordinates of a motion from the world to the link
    Rt = np.swapaxes(R, -1, -2)
    back[..., :3, :3] = back[..., 3:, 3:] = Rt
    back[..., 3:, :3] = -Rt @ _skew(o)
    return np.asarray(np.swapaxes(back, -1, -2) @ own @ back)


def kinetic_sensitivities(model: Model, q: Floats, v: Floats) -> Sensitivities:
    """Partials of the energies of a tree at q, v (..., n), by one outward and one inward sweep."""
    lead, n = q.shape[:-1], model.n
    zero, ground = np.zeros((*lead, 6)), np.broadcast_to(np.eye(3), (*lead, 3, 3))
    R: list[Floats] = []
    o: list[Floats] = []
    velocity: list[Floats] = []
    S, S_dot, p, weight = ([zero] * n for _ in range(4))
    for i in range(n):
        up = int(model.parent[i])
        R_up, o_up = (R[up], o[up]) if up >= 0 else (ground, zero[..., :3])
        v_up = velocity[up] if up >= 0 else zero
        R_i, o_i, S_i = _pose(model, i, q[..., i], R_up, o_up)
        R.append(R_i)
        o.append(o_i)
        velocity.append(v_up + S_i * v[..., i, None])  # 4.3
        S[i], S_dot[i] = S_i, _motion_cross(v_up, S_i)  # in 4.6
        inertia = _inertia(model, i, R_i, o_i)
        p[i] = (inertia @ velocity[i][..., None])[..., 0]  # 4.1
        weight[i] = inertia[..., 3:] @ model.gravity  # force that accelerates the link by g
    dT_dv, dT_dq, dV_dq = (np.zeros(q.shape) for _ in range(3))
    for i in reversed(range(n)):
        dT_dv[..., i] = (p[i] * S[i]).sum(axis=-1)  # as 4.9
        dT_dq[..., i] = (p[i] * S_dot[i]).sum(axis=-1)
        dV_dq[..., i] = -(weight[i] * S[i]).sum(axis=-1)
        up = int(model.parent[i])
        if up >= 0:
            p[up], weight[up] = p[up] + p[i], weight[up] + weight[i]  # as 4.8
    dT_dv += model.armature * v + v @ model.rotor
    dV_dq += model.stiffness * (q - model.rest) + ligament_torque(model, q)
    return Sensitivities(dT_dv, dT_dq, dV_dq)


def _interval(
    model: Model, start: Floats, end: Floats, h: Floats, u: Floats
) -> tuple[Floats, Floats]:
    """D_1 L_d + F_d^- and D_2 L_d + F_d^+ of 5.4a for one interval."""
    q, v = (start + end) / 2.0, (end - start) / h
    s = kinetic_sensitivities(model, q, v)
    half = h / 2.0 * (s.dT_dq - s.dV_dq)  # L_d = h L(q, v), 5.1
    speed = np.where(model.coulomb_speed > 0.0, model.coulomb_speed, 1.0)
    friction = model.damping * v + model.coulomb * np.tanh(v / speed)
    force = h / 2.0 * (u - friction)  # 5.2
    return half - s.dT_dv + force, half + s.dT_dv + force


def discrete_recursion_residual(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    q2: ArrayLike,
    h: ArrayLike,
    u0: ArrayLike,
    u1: ArrayLike,
    *,
    multipliers: ArrayLike | None = None,
    jacobian: ArrayLike | None = None,
) -> Floats:
    """Left side of the constrained discrete Euler-Lagrange equations (5.4a) at q1: (..., n).

    q0, q1, q2: (..., n) at nodes a step h (...) apart; u0, u1: torques (..., n) in the intervals
    before and after q1. Constraints add lambda^T Phi: multipliers (..., m) and the constraints'
    jacobian (..., m, n) at q1. As in the thesis, a multiplier is an impulse: a force times h.
    """
    n = joints(model)
    coupled.refuse(model, "the discrete recursion", "use discrete_inverse_dynamics")
    names = ("q0", "q1", "q2", "u0", "u1")
    given = zip(names, (q0, q1, q2, u0, u1), strict=True)
    arrays = [finite(name, real(model, name, x, n)) for name, x in given]
    step = positive(model, "h", h)[..., None]
    *arrays, step = np.broadcast_arrays(*arrays, step)
    a, b, c, before, after = arrays
    _, left = _interval(model, a, b, step, before)
    right, _ = _interval(model, b, c, step, after)
    residual = left + right
    if (multipliers is None) != (jacobian is None):
        raise InputError("multipliers and jacobian: expected both or none of them")
    if multipliers is not None and jacobian is not None:
        Phi = finite("jacobian", real(model, "jacobian", jacobian, n))
        force = finite("multipliers", real(model, "multipliers", multipliers, Phi.shape[-2:-1]))
        residual = residual + (force[..., None, :] @ Phi)[..., 0, :]
    return np.asarray(residual)

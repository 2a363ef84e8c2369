"""Inverse dynamics, joint wrenches and frame motion as CasADi SX expressions of a Model's arrays.

An independent formulation. Newton-Euler runs link by link in link axes, from 3x3 rotations by
Rodrigues' formula, accelerations of the link origins with gravity as a force on each body, and the
inertial parameters about the link origin as the Model holds them. A frame's velocity and
acceleration are time derivatives of its pose, taken by CasADi. All derivatives are CasADi's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from predyn.dynamics import ExternalForce
from predyn.model import PRISMATIC, SCREW, Model


class Expression(NamedTuple):
    """Symbols q, v, a (n), loads (6 a force: moment, force), and the expressions of them."""

    q: ca.SX
    v: ca.SX
    a: ca.SX
    loads: ca.SX
    tau: ca.SX  # (n,)
    wrench: ca.SX  # (6 n,) moment and force that each link receives, in its axes at its origin


def _constant(array: Any) -> ca.SX:
    """Without the zeros; expressions as they are."""
    if isinstance(array, ca.SX):
        return array
    return ca.sparsify(ca.SX(ca.DM(np.array(array))))


def _number(x: Any) -> Any:
    return x if isinstance(x, ca.SX) else float(x)


def _turns(model: Model, j: int) -> float:
    return 0.0 if model.kind[j] == PRISMATIC else 1.0


def _slides(model: Model, j: int) -> float:
    """Shift per unit of the coordinate."""
    return {PRISMATIC: 1.0, SCREW: float(model.pitch[j])}.get(int(model.kind[j]), 0.0)


def _joint(model: Model, j: int, x: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Rotation and origin of link j in its parent's axes."""
    R, p, axis = model.R[j], model.p[j], model.axis[j]
    along = _constant(R @ axis) * (_slides(model, j) * x)
    if model.kind[j] == PRISMATIC:
        return _constant(R), _constant(p) + along
    kept, turned = R @ np.outer(axis, axis), R @ np.cross(np.eye(3), axis)
    still, sine, cosine = _constant(kept), _constant(turned), _constant(R - kept)
    return still + ca.sin(x) * sine + ca.cos(x) * cosine, _constant(p) + along


def _inertia(model: Model, j: int) -> tuple[float, ca.SX, ca.SX]:
    """Mass, first moment and moments of inertia about the link's origin."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = (_number(x) for x in model.inertia[j])
    rows = [(xx, xy, xz), (xy, yy, yz), (xz, yz, zz)]
    second = ca.vertcat(*(ca.horzcat(*row) for row in rows))
    return m, ca.sparsify(ca.SX(ca.vertcat(hx, hy, hz))), ca.sparsify(ca.SX(second))


def link_frame_expression(model: Model, forces: Sequence[ExternalForce] = ()) -> Expression:
    """Torques and joint wrenches with all that the model has and with external forces."""
    n = model.n
    q, v, a = (ca.SX.sym(name, n) for name in "qva")
    loads = ca.SX.sym("loads", 6 * len(forces))
    turn, shift, to_world, moment, force = [], [], [], [], []
    spin: list[Any] = []
    for j in range(n):
        R, p = _joint(model, j, q[j])
        up = int(model.parent[j])
        axis = _constant(model.axis[j])
        turns, slides = _turns(model, j), _slides(model, j)
        zero = ca.SX(3, 1)
        w_up, al_up, acc_up = spin[up] if up >= 0 else (zero, zero, zero)
        # the parent's motion at this link's origin, in this link's axes
        carried = acc_up + ca.cross(al_up, p) + ca.cross(w_up, ca.cross(w_up, p))
        w_in, al_in = R.T @ w_up, R.T @ al_up
        w = w_in + turns * axis * v[j]
        al = al_in + turns * (axis * a[j] + ca.cross(w_in, axis) * v[j])
        acc = R.T @ carried + slides * (axis * a[j] + 2 * ca.cross(w_in, axis) * v[j])
        spin.append((w, al, acc))
        turn.append(R)
        shift.append(p)
        to_world.append(to_world[up] @ R if up >= 0 else R)
        m, h, I = _inertia(model, j)  # noqa: E741
        felt = acc - to_world[j].T @ _constant(model.gravity)
        force.append(m * felt + ca.cross(al, h) + ca.cross(w, ca.cross(w, h)))
        moment.append(I @ al + ca.cross(w, I @ w) + ca.cross(h, felt))
    for k, f in enumerate(forces):
        frame = model.frame(f.link)
        j = frame.link
        axes = to_world[j].T if f.frame == "world" else _constant(frame.R)
        m, pushed = axes @ loads[6 * k : 6 * k + 3], axes @ loads[6 * k + 3 : 6 * k + 6]
        point = _constant(frame.p + frame.R @ np.asarray(f.point, dtype=float))
        force[j] -= pushed
        moment[j] -= m + ca.cross(point, pushed)
    tau: list[Any] = [0] * n
    for j in reversed(range(n)):
        axis = _constant(model.axis[j])
        turns, slides = _turns(model, j), _slides(model, j)
        tau[j] = turns * ca.dot(axis, moment[j]) + slides * ca.dot(axis, force[j])
        up = int(model.parent[j])
        if up >= 0:
            handed = turn[j] @ force[j]
            force[up] = force[up] + handed
            moment[up] = moment[up] + turn[j] @ moment[j] + ca.cross(shift[j], handed)
    torque = ca.vertcat(*tau) + _constant(model.rotor) @ a
    for j in range(n):
        torque[j] += _number(model.stiffness[j]) * (q[j] - _number(model.rest[j]))
        torque[j] += _number(model.damping[j]) * v[j] + _number(model.armature[j]) * a[j]
        if isinstance(model.coulomb[j], ca.SX) or model.coulomb[j] != 0.0:
            torque[j] += _number(model.coulomb[j]) * ca.tanh(v[j] / float(model.coulomb_speed[j]))
        (m_l, r_l, q_l), (m_u, r_u, q_u) = np.array(model.ligaments[j]).tolist()
        torque[j] += m_u * ca.exp(r_u * (q[j] - q_u)) - m_l * ca.exp(-r_l * (q[j] - q_l))
    wrench = ca.vertcat(*(ca.vertcat(m, f) for m, f in zip(moment, force, strict=True)))
    return Expression(q, v, a, loads, torque, wrench)


def inverse_dynamics_expression(model: Model) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Symbols q, v, a and the torques tau of them, without external forces."""
    e = link_frame_expression(model)
    return e.q, e.v, e.a, e.tau


def weighted_hessian_function(model: Model) -> ca.Function:
    """(q, v, a, w) -> (qq, qv, vv, qa), dense second derivatives of w . tau."""
    q, v, a, tau = inverse_dynamics_expression(model)
    w = ca.SX.sym("w", model.n)
    blocks = second_partials(ca.dot(w, tau), q, v, a)
    return ca.Function("weighted_hessian", [q, v, a, w], ca.cse([ca.densify(x) for x in blocks]))


def second_partials(scalar: ca.SX, *symbols: ca.SX) -> list[ca.SX]:
    """The blocks qq, qv, vv, qa, and qf if the forces are given after q, v, a."""
    everything, _ = ca.hessian(scalar, ca.vertcat(*symbols))  # a third less than by blocks
    ends = np.cumsum([0, *(x.numel() for x in symbols)])
    parts = [slice(int(i), int(j)) for i, j in itertools.pairwise(ends)]
    pairs = [(0, 0), (0, 1), (1, 1), (0, 2), (0, 3)][: len(symbols) + 1]
    return [everything[parts[i], parts[k]] for i, k in pairs]


def frame_expression(
    model: Model, frame: str, point: Sequence[float]
) -> tuple[ca.SX, ca.SX, ca.SX, list[ca.SX]]:
    """Symbols q, v, a and R, p, w, v, alpha, a of a frame's point, in the world."""
    q, v, a = (ca.SX.sym(name, model.n) for name in "qva")
    found = model.frame(frame)
    R = _constant(found.R)
    p = _constant(found.p + found.R @ np.asarray(point, dtype=float))
    j = found.link
    while j >= 0:
        turn, shift = _joint(model, j, q[j])
        R, p = turn @ R, turn @ p + shift
        j = int(model.parent[j])

    def rate(x: ca.SX) -> ca.SX:
        along_q = ca.jtimes(ca.vec(x), q, v)
        return ca.reshape(along_q + ca.jtimes(ca.vec(x), v, a), x.shape)

    spinning = ca.densify(rate(R) @ R.T)
    w = ca.vertcat(spinning[2, 1], spinning[0, 2], spinning[1, 0])
    velocity = rate(p)
    return q, v, a, [R, p, w, velocity, rate(w), rate(velocity)]

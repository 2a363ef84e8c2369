"""Mechanisms small enough to write down.

A closed form and a kernel each take some 100 operations here, so they differ by at most about
100 * 2 * eps = 4e-14 of their largest term; 1e-13 is asked. Entries are measured against the
largest of their array, or one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from predyn import dynamics, models
from predyn.dynamics import ExternalForce
from predyn.model import Model
from predyn.model.builder import ModelBuilder

TOLERANCE = 1e-13
BATCH = 50


def compare(got: NDArray, reference: NDArray) -> None:
    got, reference = np.broadcast_arrays(got, reference)
    error = float(np.abs(got - reference).max())
    assert error <= TOLERANCE * max(1.0, float(np.abs(reference).max()))


def states(n: int, count: int) -> NDArray:
    """count arrays (BATCH, n): angles anywhere, rates and accelerations of a few units."""
    rng = np.random.default_rng([n, count])
    q = rng.uniform(-np.pi, np.pi, (1, BATCH, n))
    return np.concatenate([q, 3.0 * rng.standard_normal((count - 1, BATCH, n))])


def matrix(rows: list[list[NDArray | float]]) -> NDArray:
    """(BATCH, n, n) from entries that are numbers or (BATCH,)."""
    return np.stack(
        [np.stack([np.broadcast_to(x, BATCH) for x in row], axis=-1) for row in rows], axis=-2
    )


class TwoLink(NamedTuple):
    """Planar two-link arm and tip load, in the symbols of Xiang, Arora, Abdel-Malek (2008).

    L: lengths; l: distances from joint to centre of mass; moments of inertia I about that; gravity
    g and the load f at the tip both point along -y. Methods: equations 69-82, the labels of 75 and
    76 read as partials in the accelerations.
    """

    L1: float
    L2: float
    l1: float
    l2: float
    m1: float
    m2: float
    I1: float
    I2: float
    g: float
    f: float

    def parts(self, q: NDArray) -> tuple:
        """a11, a22, K with M = [[a11 + 2 K c2, a22 + K c2], [., a22]]; loads at both angles."""
        a22 = self.I2 + self.m2 * self.l2**2
        a11 = self.I1 + self.m1 * self.l1**2 + self.m2 * self.L1**2 + a22
        K = self.m2 * self.L1 * self.l2
        outer = self.m2 * self.g * self.l2 + self.f * self.L2
        inner = (self.m1 * self.l1 + self.m2 * self.L1) * self.g + self.f * self.L1
        return a11, a22, K, outer, inner, q[..., 0], q[..., 1], q[..., 0] + q[..., 1]

    def tau(self, q: NDArray, v: NDArray, a: NDArray) -> NDArray:  # 69, 70
        a11, a22, K, outer, inner, t1, t2, t12 = self.parts(q)
        (v1, v2), (a1, a2) = v.T, a.T
        tau1 = (a11 + 2 * K * np.cos(t2)) * a1 + (a22 + K * np.cos(t2)) * a2
        tau1 += -2 * K * v1 * v2 * np.sin(t2) - K * v2**2 * np.sin(t2)
        tau1 += outer * np.cos(t12) + inner * np.cos(t1)
        tau2 = a22 * a2 + (a22 + K * np.cos(t2)) * a1
        tau2 += K * v1**2 * np.sin(t2) + outer * np.cos(t12)
        return np.stack([tau1, tau2], axis=-1)

    def tau_q(self, q: NDArray, v: NDArray, a: NDArray) -> NDArray:  # 71, 72, 77, 78
        _, _, K, outer, inner, t1, t2, t12 = self.parts(q)
        (v1, v2), (a1, a2) = v.T, a.T
        s2, c2, s12 = np.sin(t2), np.cos(t2), np.sin(t12)
        swing = -K * s2 * (2 * a1 + a2) - K * c2 * (2 * v1 * v2 + v2**2)
        lower = -K * s2 * a1 + K * c2 * v1**2
        return matrix(
            [
                [-outer * s12 - inner * np.sin(t1), swing - outer * s12],
                [-outer * s12, lower - outer * s12],
            ]
        )

    def tau_v(self, q: NDArray, v: NDArray) -> NDArray:  # 73, 74, 79, 80
        _, _, K, _, _, _, t2, _ = self.parts(q)
        (v1, v2), s2 = v.T, np.sin(t2)
        return matrix(
            [[-2 * K * v2 * s2, -2 * K * (v1 + v2) * s2], [2 * K * v1 * s2, 0.0]],
        )

    def M(self, q: NDArray) -> NDArray:  # 75, 76, 81, 82
        a11, a22, K, _, _, _, t2, _ = self.parts(q)
        side = a22 + K * np.cos(t2)
        return matrix([[a11 + 2 * K * np.cos(t2), side], [side, a22]])

    def hessian(self, q: NDArray, v: NDArray, a: NDArray, w: NDArray) -> dict[str, NDArray]:
        """Second partials of w . tau, by differentiating 71-82 once more."""
        _, _, K, outer, inner, t1, t2, t12 = self.parts(q)
        (v1, v2), (a1, a2), (w1, w2) = v.T, a.T, w.T
        s2, c2 = K * np.sin(t2), K * np.cos(t2)
        both = -(w1 + w2) * outer * np.cos(t12)
        swing = -w1 * (c2 * (2 * a1 + a2) - s2 * (2 * v1 * v2 + v2**2))
        swing += -w2 * (c2 * a1 + s2 * v1**2)
        q2v = [2 * c2 * (w2 * v1 - w1 * v2), -2 * w1 * c2 * (v1 + v2)]
        return {
            "qq": matrix([[both - w1 * inner * np.cos(t1), both], [both, both + swing]]),
            "qv": matrix([[0.0, 0.0], q2v]),
            "vv": matrix([[2 * w2 * s2, -2 * w1 * s2], [-2 * w1 * s2, -2 * w1 * s2]]),
            "qa": matrix([[0.0, 0.0], [-(2 * w1 + w2) * s2, -w1 * s2]]),
        }


TABLE_1 = TwoLink(0.4, 0.4, 0.2, 0.2, 0.5, 0.5, 0.1, 0.1, 9.8062, 10.0)
LOPSIDED = TwoLink(0.7, 0.3, 0.25, 0.4, 1.3, 0.6, 0.2, 0.05, 3.7, -4.0)


def built(arm: TwoLink, **joint_forces: list[float]) -> Model:
    def row(k: int) -> dict[str, float]:
        return {name: values[k] for name, values in joint_forces.items()}

    return (
        ModelBuilder("arm", gravity=(0.0, -arm.g, 0.0))
        .add_link("link1", "world", mass=arm.m1, com=(arm.l1, 0.0, 0.0),
                  inertia=(0.0, arm.I1, arm.I1), **row(0))
        .add_link("link2", "link1", origin=(arm.L1, 0.0, 0.0), mass=arm.m2, com=(arm.l2, 0.0, 0.0),
                  inertia=(0.0, arm.I2, arm.I2), **row(1))
        .add_frame("tip", "link2", (arm.L2, 0.0, 0.0))
        .build()
    )  # fmt: skip


ARMS = pytest.mark.parametrize(
    ("arm", "model"),
    [(TABLE_1, models.two_link()), (LOPSIDED, built(LOPSIDED))],
    ids=["table 1", "lopsided"],
)


def tip_load(arm: TwoLink) -> list[ExternalForce]:
    return [ExternalForce("tip", (0.0, -arm.f, 0.0))]


@ARMS
def test_two_link_torques_and_partials(arm: TwoLink, model: Model) -> None:
    q, v, a = states(2, 3)
    compare(dynamics.inverse_dynamics(model, q, v, a, forces=tip_load(arm)), arm.tau(q, v, a))
    parts = dynamics.inverse_dynamics_derivatives(model, q, v, a, forces=tip_load(arm))
    references = arm.tau(q, v, a), arm.tau_q(q, v, a), arm.tau_v(q, v), arm.M(q)
    for got, reference in zip(parts, references, strict=True):
        compare(got, reference)
    compare(dynamics.mass_matrix(model, q), arm.M(q))


@ARMS
def test_two_link_without_gravity_and_load(arm: TwoLink, model: Model) -> None:
    """Example 1 of the paper."""
    free = arm._replace(g=0.0, f=0.0)
    model = model.with_gravity((0.0, 0.0, 0.0))
    q, v, a = states(2, 3)
    compare(dynamics.inverse_dynamics(model, q, v, a), free.tau(q, v, a))
    _, dq, dv, _ = dynamics.inverse_dynamics_derivatives(model, q, v, a)
    compare(dq, free.tau_q(q, v, a))
    compare(dv, free.tau_v(q, v))


@ARMS
def test_two_link_second_partials(arm: TwoLink, model: Model) -> None:
    q, v, a, w = states(2, 4)
    got = dynamics.inverse_dynamics_hessian(model, q, v, a, w, forces=tip_load(arm))
    for field, reference in arm.hessian(q, v, a, w).items():
        compare(getattr(got, field), reference)
    t1, t12, w1, w12 = q[:, 0], q.sum(axis=1), w[:, 0], w.sum(axis=1)
    along_x = [w1 * arm.L1 * np.cos(t1) + w12 * arm.L2 * np.cos(t12), w12 * arm.L2 * np.cos(t12)]
    along_y = [w1 * arm.L1 * np.sin(t1) + w12 * arm.L2 * np.sin(t12), w12 * arm.L2 * np.sin(t12)]
    compare(got.qf[0][..., 3], np.stack(along_x, axis=-1))
    compare(got.qf[0][..., 4], np.stack(along_y, axis=-1))
    compare(got.qf[0][..., :3], np.zeros(3))


@ARMS
def test_two_link_accelerations(arm: TwoLink, model: Model) -> None:
    """Solving with M multiplies errors by its condition, below 25 for these arms."""
    q, v, a = states(2, 3)
    M, tau = arm.M(q), arm.tau(q, v, a)
    got = dynamics.forward_dynamics_derivatives(model, q, v, tau, forces=tip_load(arm))
    inverse = np.linalg.inv(M)
    references = a, -inverse @ arm.tau_q(q, v, a), -inverse @ arm.tau_v(q, v), inverse
    assert np.linalg.cond(M).max() < 25
    for x, reference in zip(got, references, strict=True):
        error = np.abs(x - reference).max()
        assert error <= 25 * TOLERANCE * max(1.0, np.abs(reference).max())


def test_joint_forces() -> None:
    """Spring, damping, Coulomb friction, armature and coupled rotors add their terms."""
    k, rest, d, c = np.array([[3.0, 7.0], [0.2, -0.4], [0.5, 1.5], [2.0, 0.8]])
    speed, armature = np.array([0.1, 0.5]), np.array([0.3, 0.02])
    rotor = np.array([[0.4, 0.1], [0.1, 0.2]])
    plain = built(LOPSIDED, stiffness=k, rest=rest, damping=d, coulomb=c, coulomb_speed=speed,
                  armature=armature)  # fmt: skip
    q, v, a, w = states(2, 4)
    loads, t = tip_load(LOPSIDED), np.tanh(v / speed)
    own = k * (q - rest) + d * v + c * t + armature * a
    bend = np.eye(2) * (w * c * (-2.0 / speed**2) * t * (1.0 - t**2))[:, None]
    for matrix_ in (np.zeros((2, 2)), np.diag([0.4, 0.2]), rotor):
        model = replace(plain, rotor=matrix_)
        tau, dq, dv, da = dynamics.inverse_dynamics_derivatives(model, q, v, a, forces=loads)
        compare(tau, LOPSIDED.tau(q, v, a) + own + a @ matrix_)
        compare(dynamics.inverse_dynamics(model, q, v, a, forces=loads), tau)
        compare(dq, LOPSIDED.tau_q(q, v, a) + np.diag(k))
        slope = d + c / speed * (1.0 - t**2)
        compare(dv, LOPSIDED.tau_v(q, v) + np.eye(2) * slope[:, None])
        M = LOPSIDED.M(q) + np.diag(armature) + matrix_
        compare(da, M)
        compare(dynamics.mass_matrix(model, q), M)
        got = dynamics.inverse_dynamics_hessian(model, q, v, a, w, forces=loads)
        reference = LOPSIDED.hessian(q, v, a, w)
        reference["vv"] = reference["vv"] + bend
        for field, value in reference.items():
            compare(getattr(got, field), value)
        # forward dynamics: condition of M below 25, as above
        back = dynamics.forward_dynamics(model, q, v, tau, forces=loads)
        assert np.abs(back - a).max() <= 25 * TOLERANCE * np.abs(a).max()
        kinetic = 0.5 * np.einsum("bi,bij,bj->b", v, M, v)
        compare(dynamics.kinetic_energy(model, q, v), kinetic)


def test_pendulum() -> None:
    """A rod of 1 m and 1 kg on a hinge: (1/3) a + (g/2) cos q = tau."""
    model, half = models.pendulum_chain(1), 9.81 / 2
    q, v, a = states(1, 3)
    s, c = np.sin(q), np.cos(q)
    tau = a / 3 + half * c
    compare(dynamics.inverse_dynamics(model, q, v, a), tau)
    got = dynamics.forward_dynamics_derivatives(model, q, v, tau)
    compare(got[0], a)
    compare(got[1], 3 * half * s[:, None])
    compare(got[2], np.zeros(1))
    compare(got[3], np.full(1, 3.0))
    compare(dynamics.kinetic_energy(model, q, v), v[:, 0] ** 2 / 6)
    compare(dynamics.potential_energy(model, q), half * s[:, 0])
    # mass times acceleration of the centre less gravity, along and across the rod
    along, across = -0.5 * v**2 + 9.81 * s, 0.5 * a + 9.81 * c
    zero = np.zeros_like(q)
    wrench = np.concatenate([zero, zero, tau, along, across, zero], axis=1)
    compare(dynamics.joint_reactions(model, q, v, a)[:, 0], wrench)
    momentum = dynamics.spatial_momentum(model, q, v, a)
    compare(momentum.com, 0.5 * np.concatenate([c, s, zero], axis=1))
    compare(momentum.angular_momentum, np.concatenate([zero, zero, v / 12], axis=1))
    compare(momentum.angular_momentum_rate, np.concatenate([zero, zero, a / 12], axis=1))


def test_screw() -> None:
    """One screw of pitch h about a skew axis u, with a world-fixed load at a point.

    The centre c goes to h q u + c_along + cos(q) c_across + sin(q) u x c in the axes of the
    placement; the inertia about the axis is u . I u + m |u x c|^2 + m h^2.
    """
    h, m, spring, rest = -0.3, 1.7, 2.0, 0.4
    u = np.array([2.0, -3.0, 6.0]) / 7.0
    R0 = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0
    g, c = np.array([1.0, -2.0, -9.0]), np.array([0.4, 0.1, -0.5])
    inertia = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]])
    point, force, moment = np.array([[0.2, 0.7, -0.1], [3.0, -1.0, 4.0], [0.5, 2.0, -1.0]])
    model = (
        ModelBuilder("screw", gravity=g)
        .add_link("nut", kind="screw", axis=u, pitch=h, origin=(0.3, -0.2, 0.9), rotation=R0,
                  mass=m, com=c, inertia=inertia, stiffness=spring, rest=rest)
        .build()
    )  # fmt: skip
    q, v, a = states(1, 3)
    loads = [ExternalForce("nut", force, moment, point)]

    def along(x: NDArray, p: NDArray, order: int) -> NDArray:
        """(BATCH, 1): derivative of the given order of x . (position of p), x in world axes."""
        x = R0.T @ x
        across, ahead = p - (u @ p) * u, np.cross(u, p)
        slide = [h * q * (x @ u) + x @ (p - across), h * (x @ u), 0.0, 0.0][order]
        turn = q + order * np.pi / 2
        return slide + (x @ across) * np.cos(turn) + (x @ ahead) * np.sin(turn)

    J = u @ inertia @ u + m * np.cross(u, c) @ np.cross(u, c) + m * h**2
    twist = R0 @ u @ moment
    tau = J * a + spring * (q - rest) - m * along(g, c, 1) - along(force, point, 1) - twist
    got = dynamics.inverse_dynamics_derivatives(model, q, v, a, forces=loads)
    compare(got[0], tau)
    stiff = spring - m * along(g, c, 2) - along(force, point, 2)
    compare(got[1], stiff[:, None])
    compare(got[2], np.zeros(1))
    compare(got[3], np.full(1, J))
    second = dynamics.inverse_dynamics_hessian(model, q, v, a, v, forces=loads)
    compare(second.qq, (v * (-m * along(g, c, 3) - along(force, point, 3)))[:, None])
    for block in (second.qv, second.vv, second.qa):
        compare(block, np.zeros(1))
    accelerations = dynamics.forward_dynamics_derivatives(model, q, v, tau, forces=loads)
    compare(accelerations[0], a)
    compare(accelerations[1], -stiff[:, None] / J)
    compare(dynamics.mass_matrix(model, q), np.full(1, J))
    compare(dynamics.kinetic_energy(model, q, v), J * v[:, 0] ** 2 / 2)
    weight = -m * (g @ (0.3, -0.2, 0.9) + along(g, c, 0)[:, 0])
    compare(dynamics.potential_energy(model, q), weight + spring * (q[:, 0] - rest) ** 2 / 2)

"""Laws of mechanics that hold for every mechanism, on random trees with loads.

Tolerances. A number has met at most about 36 n roundings (test_pinocchio.py): 36 * 60 eps = 5e-13
of the terms that make it. These are at most some 20 times larger than the largest entry of the
result, or than one where that is smaller (masses and lengths are of order one): 1e-11 is asked.

Rates along a motion are five-point differences with step h = 1e-3 s. They err by O(h^4), which is
1/15 of the change when the step is doubled; rounding adds 1.5/h times the error of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

import predyn
from oracles.pinocchio_oracle import SAMPLES, random_loads, random_model, rotation
from predyn import dynamics
from predyn.dynamics import ExternalForce
from predyn.model import Model
from registry_cases import random_ligaments

SEEDS = (0, *range(4, 200, 11))  # 1 to 58 joints; of all kinds that random_model makes
EPS = np.finfo(float).eps
TOLERANCE = 1e-11


@dataclass
class Case:
    """A tree with states (SAMPLES, n) and loads."""

    seed: int
    model: Model
    q: NDArray
    v: NDArray
    a: NDArray
    forces: list[ExternalForce]

    @property
    def motion(self) -> tuple[Model, NDArray, NDArray, NDArray]:
        return self.model, self.q, self.v, self.a


def make_case(seed: int) -> Case:
    rng = np.random.default_rng([seed, 13])
    model = random_model(seed, rng)
    q = rng.uniform(-np.pi, np.pi, (SAMPLES, model.n))
    v, a = rng.standard_normal((2, SAMPLES, model.n))
    return Case(seed, model, q, v, a, random_loads(model, rng))


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [make_case(seed) for seed in SEEDS]


def with_springs_and_rotors(case: Case) -> Model:
    """Springs, ligaments, armature, and in every other tree coupled rotors; no friction."""
    n, rng = case.model.n, np.random.default_rng([case.seed, 17])
    stiffness, rest, armature = rng.uniform(0.0, 2.0, (3, n))
    half = rng.standard_normal((n, n)) / np.sqrt(n)
    rotor = half @ half.T if case.seed % 2 else np.zeros((n, n))
    parts = {"stiffness": stiffness, "rest": rest, "armature": armature, "rotor": rotor}
    return replace(case.model, **parts, ligaments=random_ligaments(n, case.seed))


def compare(case: Case, what: str, got: NDArray, reference: NDArray, scale: float = 1.0) -> None:
    scale = max(scale, float(np.abs(reference).max(initial=0.0)))
    assert got.shape == reference.shape
    error = float(np.abs(got - reference).max(initial=0.0)) / scale
    assert error <= TOLERANCE, f"tree {case.seed}: {what} off by {error:.1e}"


def compare_solution(case: Case, got: NDArray, reference: NDArray, M: NDArray, r: NDArray) -> None:
    """Solutions of M x = r; the bound of test_pinocchio.py, for two computations."""
    norm = np.linalg.norm
    terms = norm(reference, axis=1) + norm(r, axis=1) / norm(M, 2, axis=(1, 2))
    bound = 2 * 36 * case.model.n * EPS * np.linalg.cond(M) * np.maximum(terms, 1.0)
    assert (norm(got - reference, axis=1) <= bound).all(), f"tree {case.seed}"


def transposed(R: NDArray, x: NDArray) -> NDArray:
    return np.einsum("bji,bj->bi", R, x)


def turned(R: NDArray, x: NDArray) -> NDArray:
    return np.einsum("...ij,...j->...i", R, x)


def rate(f: Callable[[NDArray, NDArray], NDArray], case: Case) -> tuple[NDArray, float]:
    """d/dt f(q, v) along the motion, and the error of the difference."""

    def difference(h: float) -> NDArray:
        total = 0.0
        for step, weight in {-2: 1.0, -1: -8.0, 1: 8.0, 2: -1.0}.items():
            t = step * h
            q, v = case.q + t * case.v + 0.5 * t * t * case.a, case.v + t * case.a
            total = total + weight / (12 * h) * f(q, v)
        return np.asarray(total)

    h = 1e-3
    result = difference(h)
    change = float(np.abs(difference(2 * h) - result).max())
    size = max(1.0, float(np.abs(f(case.q, case.v)).max()))
    return result, change + 1.5 / h * 36 * case.model.n * EPS * size


def load_motion(case: Case, force: ExternalForce) -> tuple[NDArray, NDArray, dynamics.FrameMotion]:
    """Force and moment in world axes, and the motion of the point."""
    motion = dynamics.frame_kinematics(case.model, force.link, *case.motion[1:], point=force.point)
    parts = (np.broadcast_to(x, (SAMPLES, 3)) for x in (force.force, force.moment))
    f, m = (turned(motion.R, x) if force.frame == "link" else x for x in parts)
    return f, m, motion


def test_energy_changes_by_the_power_supplied(cases: list[Case]) -> None:
    for case in cases:
        model = with_springs_and_rotors(case)

        def energy(q: NDArray, v: NDArray, model: Model = model) -> NDArray:
            T, V = dynamics.kinetic_energy(model, q, v), dynamics.potential_energy(model, q)
            return T + V

        tau = dynamics.inverse_dynamics(model, *case.motion[1:], forces=case.forces)
        power = np.einsum("bi,bi->b", tau, case.v)
        for force in case.forces:
            f, m, motion = load_motion(case, force)
            power += np.einsum("bi,bi->b", f, motion.v) + np.einsum("bi,bi->b", m, motion.w)
        reference, error = rate(energy, case)
        assert np.abs(power - reference).max() <= error, f"tree {case.seed}"
        assert error <= 1e-7 * max(1.0, np.abs(tau).max()), "the difference says nothing"


def test_mass_matrix_is_symmetric_positive_definite(cases: list[Case]) -> None:
    for case in cases:
        model = with_springs_and_rotors(case)
        M = dynamics.mass_matrix(model, case.q)
        np.testing.assert_array_equal(M, np.swapaxes(M, 1, 2))
        assert np.linalg.eigvalsh(M).min() > 0.0
        T = dynamics.kinetic_energy(model, case.q, case.v)
        compare(case, "v M v / 2", 0.5 * np.einsum("bi,bij,bj->b", case.v, M, case.v), T)
        rest = dynamics.inverse_dynamics(model, case.q, case.v, np.zeros(model.n))
        tau = dynamics.inverse_dynamics(model, *case.motion[1:])
        compare(case, "M a + rest", turned(M, case.a) + rest, tau)


def test_forward_dynamics_inverts_inverse_dynamics(cases: list[Case]) -> None:
    for case in cases:
        for model in (case.model, with_springs_and_rotors(case)):
            state = model, case.q, case.v
            M = dynamics.mass_matrix(model, case.q)
            rest = dynamics.inverse_dynamics(*state, np.zeros(model.n), forces=case.forces)
            tau = dynamics.inverse_dynamics(*state, case.a, forces=case.forces)
            back = dynamics.forward_dynamics(*state, tau, forces=case.forces)
            compare_solution(case, back, case.a, M, np.abs(tau) + np.abs(rest))


def test_torques_at_rest_hold_the_weight(cases: list[Case]) -> None:
    """At rest tau_j is minus the work of the weight: -m g . d com / d q_j."""
    for case in cases:
        n = case.model.n
        tau = dynamics.inverse_dynamics(case.model, case.q, np.zeros(n), np.zeros(n))
        com_q = dynamics.spatial_momentum_derivatives(case.model, case.q).com_q
        mass = case.model.inertia[:, 0].sum()
        compare(case, "weight", -mass * np.einsum("bij,i->bj", com_q, case.model.gravity), tau)


def test_torques_are_linear_in_the_inertial_parameters(cases: list[Case]) -> None:
    for case in cases:
        model = replace(case.model, armature=np.zeros(case.model.n))
        Y = dynamics.torque_regressor(model, *case.motion[1:])
        tau = dynamics.inverse_dynamics(model, *case.motion[1:])
        compare(case, "Y pi", Y @ model.inertia.reshape(-1), tau)


def test_momentum_changes_by_its_rate(cases: list[Case]) -> None:
    for case in cases:

        def momentum(q: NDArray, v: NDArray, model: Model = case.model) -> NDArray:
            motion = dynamics.spatial_momentum(model, q, v)
            return np.stack([motion.com, motion.velocity, motion.angular_momentum], axis=1)

        motion = dynamics.spatial_momentum(*case.motion)
        reference, error = rate(momentum, case)
        got = [motion.velocity, motion.acceleration, motion.angular_momentum_rate]
        assert np.abs(np.stack(got, axis=1) - reference).max() <= error, f"tree {case.seed}"
        assert error <= 1e-7 * max(1.0, np.abs(reference).max()), "the difference says nothing"


def test_reactions_balance_each_link(cases: list[Case]) -> None:
    """Own joint minus the children's, plus weight and loads, is the rate of the link's momentum."""
    for case in cases:
        model = case.model
        wrenches = dynamics.joint_reactions(*case.motion, forces=case.forces)
        frames = [dynamics.frame_kinematics(model, name, case.q) for name in model.link_names]
        moments, forces = np.zeros((2, model.n, SAMPLES, 3))  # world axes, about the world origin
        for j, frame in enumerate(frames):
            m, f = turned(frame.R, wrenches[:, j, :3]), turned(frame.R, wrenches[:, j, 3:])
            m = m + np.cross(frame.p, f)
            moments[j] += m
            forces[j] += f
            if model.parent[j] >= 0:
                moments[model.parent[j]] -= m
                forces[model.parent[j]] -= f
        for load in case.forces:
            f, m, motion = load_motion(case, load)
            j = model.frame(load.link).link
            moments[j] += m + np.cross(motion.p, f)
            forces[j] += f
        size = max(float(np.abs(moments).max()), float(np.abs(wrenches).max()))
        for j, name in enumerate(model.link_names):
            mass, com, inertia = body(model.inertia[j])
            motion = dynamics.frame_kinematics(model, name, *case.motion[1:], point=com)
            force = mass * (motion.a - model.gravity)
            w, alpha = transposed(motion.R, motion.w), transposed(motion.R, motion.alpha)
            spin = turned(motion.R, alpha @ inertia + np.cross(w, w @ inertia))
            compare(case, f"force on {name}", forces[j], force, size)
            compare(case, f"moment on {name}", moments[j], spin + np.cross(motion.p, force), size)


def body(parameters: NDArray) -> tuple[float, NDArray, NDArray]:
    """Mass, centre of mass and inertia about it of a link."""
    mass = float(parameters[0])
    c = parameters[1:4] / mass if mass > 0.0 else np.zeros(3)
    xx, xy, yy, xz, yz, zz = parameters[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return mass, c, about_origin - mass * (c @ c * np.eye(3) - np.outer(c, c))


def test_results_do_not_change_if_the_world_is_rotated_and_shifted(cases: list[Case]) -> None:
    """Base, gravity and world-fixed loads move together: torques stay, momentum rotates."""
    for case in cases:
        rng = np.random.default_rng([case.seed, 19])
        Q, shift = rotation(rng), rng.standard_normal(3)
        moved = case.model.with_gravity(Q @ case.model.gravity)
        for j in np.flatnonzero(case.model.parent < 0):
            R, p = Q @ moved.R[j], Q @ moved.p[j] + shift
            moved = moved.with_placement(moved.joint_names[j], R, p)
        loads = [
            replace(x, force=turned(Q, x.force), moment=turned(Q, x.moment))
            if x.frame == "world"
            else x
            for x in case.forces
        ]
        there = (moved, *case.motion[1:])
        parts = dynamics.inverse_dynamics_derivatives(*case.motion, forces=case.forces)
        others = dynamics.inverse_dynamics_derivatives(*there, forces=loads)
        for what, x, y in zip(("tau", "dq", "dv", "M"), parts, others, strict=True):
            compare(case, what, y, x)
        wrenches = dynamics.joint_reactions(*case.motion, forces=case.forces)
        compare(case, "reactions", dynamics.joint_reactions(*there, forces=loads), wrenches)
        x, y = dynamics.spatial_momentum(*case.motion), dynamics.spatial_momentum(*there)
        compare(case, "com", y.com, turned(Q, x.com) + shift)
        for got, reference in zip(y[2:], x[2:], strict=True):
            compare(case, "momentum", got, turned(Q, reference))
        T = dynamics.kinetic_energy(*case.motion[:3])
        compare(case, "kinetic energy", dynamics.kinetic_energy(*there[:3]), T)
        V = dynamics.potential_energy(case.model, case.q) - y.mass * moved.gravity @ shift
        size = 10.0 * y.mass * float(np.abs(y.com).max() + np.abs(x.com).max())
        compare(case, "potential energy", dynamics.potential_energy(moved, case.q), V, size)


def test_a_locked_joint_equals_a_joint_at_rest(cases: list[Case]) -> None:
    for case in cases:
        model, rng = case.model, np.random.default_rng([case.seed, 23])
        still = rng.random(model.n) < 0.4
        still[rng.integers(model.n)] = False
        values = case.q[0]
        names = {model.joint_names[j]: float(values[j]) for j in np.flatnonzero(still)}
        locked = model.lock(names)
        loads = [x for x in case.forces if locked.frame(x.link).link >= 0]
        q, v, a = case.q.copy(), case.v.copy(), case.a.copy()
        q[:, still], v[:, still], a[:, still] = values[still], 0.0, 0.0
        whole = dynamics.inverse_dynamics(model, q, v, a, forces=loads)[:, ~still]
        wrenches = dynamics.joint_reactions(model, q, v, a, forces=loads)[:, ~still]
        free = q[:, ~still], v[:, ~still], a[:, ~still]
        compare(case, "tau", dynamics.inverse_dynamics(locked, *free, forces=loads), whole)
        got = dynamics.joint_reactions(locked, *free, forces=loads)
        compare(case, "reactions", got, wrenches)
        for name in ("frame0", model.link_names[-1]):
            x = dynamics.frame_kinematics(locked, name, *free)
            y = dynamics.frame_kinematics(model, name, q, v, a)
            for got, reference in zip(x, y, strict=True):
                compare(case, f"motion of {name}", got, reference)


def test_a_payload_equals_the_force_that_moves_it(cases: list[Case]) -> None:
    for case in cases:
        rng = np.random.default_rng([case.seed, 29])
        mass, point = float(rng.uniform(0.5, 3.0)), rng.standard_normal(3)
        half = rng.standard_normal((3, 3))
        inertia = np.trace(half @ half.T) * np.eye(3) - half @ half.T
        for name in ("frame1", case.model.link_names[0]):
            loaded = case.model.attach_payload(name, mass, point, inertia)
            motion = dynamics.frame_kinematics(case.model, name, *case.motion[1:], point=point)
            w, alpha = transposed(motion.R, motion.w), transposed(motion.R, motion.alpha)
            moment = turned(motion.R, alpha @ inertia + np.cross(w, w @ inertia))
            force = mass * (motion.a - case.model.gravity)
            pull = ExternalForce(name, -force, -moment, point)
            for f in (dynamics.inverse_dynamics, dynamics.joint_reactions):
                got = f(loaded, *case.motion[1:], forces=case.forces)
                compare(case, name, got, f(*case.motion, forces=[*case.forces, pull]))


def test_a_mechanism_without_mass_has_no_centre_of_mass() -> None:
    model = predyn.ModelBuilder("flywheel").add_link("wheel", inertia=(0.1, 0.1, 0.2)).build()
    for function in (
        dynamics.center_of_mass,
        dynamics.spatial_momentum,
        dynamics.spatial_momentum_derivatives,
    ):
        with pytest.raises(predyn.ModelError, match="'flywheel' has no mass"):
            function(model, np.zeros(1))

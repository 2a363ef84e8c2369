"""Two hundred random trees against Pinocchio.

Tolerances. At every joint each engine rounds about 36 times on the way to one number: three
products of a 6x6 matrix with a vector, of 11 operations an entry, and their sums. Over n joints the
relative error is at most 36 n eps = 5e-13 for n = 60. The tests ask for 1e-11 of the largest entry,
which any wrong term misses by far. Masses and lengths of the trees are of order one, so where a
reference is smaller than that, its terms cancel or it is zero, and one is the measure.

Forward dynamics solves M a = r. First-order perturbation theory with the above error in M and r
gives, in Euclidean norms and for each of the two engines,

    |error of a| <= 36 n eps cond(M) (|a| + |terms of r| / |M|)

The partials of a solve the same system with other right sides.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

from oracles.pinocchio_oracle import (
    TREES,
    WORLD_AXES,
    Case,
    angular_first,
    make_case,
    pinocchio_forces,
    placement_of,
    wrench,
)
from predyn import dynamics

EPS = np.finfo(float).eps
TOLERANCE = 1e-11
PER_JOINT = 36  # roundings, see above


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [make_case(seed) for seed in range(TREES)]


def compare(case: Case, sample: int, what: str, got: NDArray, reference: NDArray) -> None:
    scale = max(1.0, float(np.abs(reference).max(initial=0.0)))
    reference = np.reshape(reference, got.shape)  # Pinocchio drops axes of length one
    error = float(np.abs(got - reference).max(initial=0.0)) / scale
    assert error <= TOLERANCE, f"tree {case.seed}, sample {sample}: {what} off by {error:.1e}"


def test_the_trees_are_varied(cases: list[Case]) -> None:
    sizes = {case.model.n for case in cases}
    kinds = np.concatenate([case.model.kind for case in cases])
    assert min(sizes) == 1
    assert max(sizes) == 60
    assert all(np.count_nonzero(kinds == kind) > 300 for kind in range(3))
    assert sum(np.count_nonzero(case.model.parent < 0) > 1 for case in cases) >= 5
    assert sum((case.model.inertia[:, 0] == 0.0).any() for case in cases) >= 10
    assert sum(not case.forces for case in cases) >= 10


def test_torques_and_reactions(cases: list[Case]) -> None:
    for case in cases:
        args = case.model, case.q, case.v, case.a
        tau = dynamics.inverse_dynamics(*args, forces=case.forces)
        reactions = dynamics.joint_reactions(*args, forces=case.forces)
        for k, q, v, a in case.states():
            reference = pin.rnea(*case.twin(), q, v, a, case.fext(k))
            compare(case, k, "tau", tau[k], reference)
            carried = np.array([wrench(f) for f in case.data.f][1:])
            compare(case, k, "reactions", reactions[k], carried)


def test_torque_partials(cases: list[Case]) -> None:
    for case in cases:
        args = case.model, case.q, case.v, case.a
        tau, dq, dv, da = dynamics.inverse_dynamics_derivatives(*args, forces=case.forces)
        for k, q, v, a in case.states():
            fext, turning = case.fext(k), case.turning(k)
            parts = pin.computeRNEADerivatives(*case.twin(), q, v, a, fext)
            compare(case, k, "tau", tau[k], case.data.tau)
            compare(case, k, "dtau_dq", dq[k], parts[0] + turning)
            compare(case, k, "dtau_dv", dv[k], parts[1])
            compare(case, k, "dtau_da", da[k], parts[2])


def test_mass_matrix(cases: list[Case]) -> None:
    for case in cases:
        M = dynamics.mass_matrix(case.model, case.q)
        for k, q, _, _ in case.states():
            upper = np.triu(pin.crba(*case.twin(), q))
            compare(case, k, "M", M[k], upper + np.triu(upper, 1).T)


def test_regressor(cases: list[Case]) -> None:
    for case in cases:
        Y = dynamics.torque_regressor(case.model, case.q, case.v, case.a)
        for k, q, v, a in case.states():
            reference = pin.computeJointTorqueRegressor(*case.twin(), q, v, a)
            compare(case, k, "regressor", Y[k], reference)


def test_frame_motion(cases: list[Case]) -> None:
    for case in cases:
        for name, point in case.points:
            motion = dynamics.frame_kinematics(
                case.model, name, case.q, case.v, case.a, point=point
            )
            joint, on_joint = placement_of(case.model, name, point)
            for k, q, v, a in case.states():
                pin.forwardKinematics(*case.twin(), q, v, a)
                pose = case.data.oMi[joint] * on_joint
                compare(case, k, "R", motion.R[k], pose.rotation)
                compare(case, k, "p", motion.p[k], pose.translation)
                w, u, alpha, b = point_motion(case.data, joint, on_joint, pose.rotation)
                compare(case, k, "w", motion.w[k], w)
                compare(case, k, "v", motion.v[k], u)
                compare(case, k, "alpha", motion.alpha[k], alpha)
                compare(case, k, "a", motion.a[k], b)


def point_motion(data: pin.Data, joint: int, on_joint: pin.SE3, R: NDArray) -> tuple:
    """World (w, v, alpha, a) of a point from the joint's spatial velocity and acceleration."""
    velocity = on_joint.actInv(data.v[joint])
    acceleration = on_joint.actInv(data.a[joint])
    classical = acceleration.linear + np.cross(velocity.angular, velocity.linear)
    return tuple(
        R @ x for x in (velocity.angular, velocity.linear, acceleration.angular, classical)
    )


def test_frame_partials(cases: list[Case]) -> None:
    for case in cases:
        for name, point in case.points:
            partials = dynamics.frame_kinematics_derivatives(
                case.model, name, case.q, case.v, case.a, point=point
            )
            joint, on_joint = placement_of(case.model, name, point)
            for k, q, v, a in case.states():
                pin.computeForwardKinematicsDerivatives(*case.twin(), q, v, a)
                args = *case.twin(), joint, on_joint, WORLD_AXES
                w_q, w_v = (x[3:] for x in pin.getFrameVelocityDerivatives(*args))
                _, al_q, al_v, _ = (x[3:] for x in pin.getFrameAccelerationDerivatives(*args))
                v_q, v_v = pin.getPointVelocityDerivatives(*args)
                _, a_q, a_v, _ = pin.getPointClassicAccelerationDerivatives(*args)
                references = [(w_v, v_v), (w_q, v_q), (al_q, a_q), (al_v, a_v)]
                for what, got, parts in zip(partials._fields, partials, references, strict=True):
                    compare(case, k, what, got[k], np.concatenate(parts))


def test_force_partials(cases: list[Case]) -> None:
    """d tau / d force is minus the transposed Jacobian of its point, along its axes."""
    for case in cases:
        parts = dynamics.inverse_dynamics_force_derivatives(case.model, case.q, case.forces)
        for force, part in zip(case.forces, parts, strict=True):
            joint, on_joint = placement_of(case.model, force.link, force.point)
            axes = WORLD_AXES if force.frame == "world" else pin.ReferenceFrame.LOCAL
            for k, q, _, _ in case.states():
                args = *case.twin(), q, joint, on_joint, axes
                J = angular_first(frame_jacobian(*args))
                compare(case, k, f"dtau_df, {force.frame} axes", part[k], -J.T)


def frame_jacobian(pin_model, data, q, joint, on_joint, axes) -> NDArray:
    pin.computeJointJacobians(pin_model, data, q)
    return pin.getFrameJacobian(pin_model, data, joint, on_joint, axes)


def test_centroidal_motion(cases: list[Case]) -> None:
    for case in cases:
        motion = dynamics.spatial_momentum(case.model, case.q, case.v, case.a)
        for k, q, v, a in case.states():
            pin.computeCentroidalMomentumTimeVariation(*case.twin(), q, v, a)
            L, L_rate = case.data.hg.angular.copy(), case.data.dhg.angular.copy()
            mass = case.data.mass[0]
            compare(case, k, "mass", np.array(motion.mass), np.array(mass))
            compare(case, k, "p", mass * motion.velocity[k], case.data.hg.linear)
            compare(case, k, "p rate", mass * motion.acceleration[k], case.data.dhg.linear)
            compare(case, k, "L", motion.angular_momentum[k], L)
            compare(case, k, "L rate", motion.angular_momentum_rate[k], L_rate)
            pin.centerOfMass(*case.twin(), q, v, a)
            compare(case, k, "com", motion.com[k], case.data.com[0])
            compare(case, k, "com velocity", motion.velocity[k], case.data.vcom[0])
            compare(case, k, "com acceleration", motion.acceleration[k], case.data.acom[0])


def test_centroidal_partials(cases: list[Case]) -> None:
    for case in cases:
        partials = dynamics.spatial_momentum_derivatives(case.model, case.q, case.v, case.a)
        mass = case.model.inertia[:, 0].sum()
        for k, q, v, a in case.states():
            got = type(partials)(*(x[k] for x in partials))
            compare(case, k, "com_q", got.com_q, pin.jacobianCenterOfMass(*case.twin(), q))
            h_q, rate_q, rate_v, rate_a = (
                angular_first(x)
                for x in pin.computeCentroidalDynamicsDerivatives(*case.twin(), q, v, a)
            )
            pairs = {
                "h_q": (got.L_q, got.velocity_q, h_q),
                "rate_q": (got.rate_q, got.acceleration_q, rate_q),
                "rate_v": (got.rate_v, got.acceleration_v, rate_v),
                "rate_a": (got.L_v, got.com_q, rate_a),
            }
            for what, (angular, linear, reference) in pairs.items():
                compare(case, k, what, np.concatenate([angular, mass * linear]), reference)


def test_energies(cases: list[Case]) -> None:
    for case in cases:
        T = dynamics.kinetic_energy(case.model, case.q, case.v)
        V = dynamics.potential_energy(case.model, case.q)
        for k, q, v, _ in case.states():
            # not pin.computeKineticEnergy: it counts the armature of some kinds of joint only
            pin.forwardKinematics(*case.twin(), q, v)
            bodies = zip(case.pin_model.inertias, case.data.v, strict=True)
            reference = sum(inertia.vtiv(u) for inertia, u in bodies) + case.model.armature @ v**2
            compare(case, k, "kinetic energy", T[k], np.array(0.5 * reference))
            reference = pin.computePotentialEnergy(*case.twin(), q)
            compare(case, k, "potential energy", V[k], np.array(reference))


def compare_solution(
    case: Case, what: str, M: NDArray, got: NDArray, reference: NDArray, right: float
) -> None:
    """Both solve with the matrix M; `right` is the size of the terms of the right side."""
    condition, size = np.linalg.cond(M), np.linalg.norm(M, 2)
    scale = np.linalg.norm(reference) + max(1.0, right) / size
    bound = 2 * PER_JOINT * case.model.n * EPS * condition * scale
    error = np.linalg.norm(got - np.reshape(reference, got.shape))
    assert error <= bound, f"tree {case.seed}: {what} off by {error:.1e}, allowed {bound:.1e}"


def test_accelerations(cases: list[Case]) -> None:
    for case in cases:
        args = case.model, case.q, case.v
        bias = dynamics.inverse_dynamics(*args, np.zeros(case.model.n), forces=case.forces)
        tau = dynamics.inverse_dynamics(*args, case.a, forces=case.forces) + case.a
        a = dynamics.forward_dynamics(*args, tau, forces=case.forces)
        M = dynamics.mass_matrix(case.model, case.q)
        for k, q, v, _ in case.states():
            reference = pin.aba(*case.twin(), q, v, tau[k], case.fext(k))
            right = float(np.linalg.norm(tau[k]) + np.linalg.norm(bias[k]))
            compare_solution(case, "a", M[k], a[k], reference, right)


def test_acceleration_partials(cases: list[Case]) -> None:
    for case in cases:
        state, loads = (case.model, case.q, case.v), {"forces": case.forces}
        tau = dynamics.inverse_dynamics(*state, case.a, **loads) + case.a
        a, a_q, a_v, a_tau = dynamics.forward_dynamics_derivatives(*state, tau, **loads)
        np.testing.assert_array_equal(a, dynamics.forward_dynamics(*state, tau, **loads))
        _, tau_q, tau_v, M = dynamics.inverse_dynamics_derivatives(*state, a, **loads)
        sizes = [np.linalg.norm(x, axis=(1, 2)) for x in (tau_q, tau_v)]
        for k, q, v, _ in case.states():
            fext, turning = case.fext(k), case.turning(k)
            parts = pin.computeABADerivatives(*case.twin(), q, v, tau[k], fext)
            upper = np.triu(case.data.Minv)  # the triangle that Pinocchio fills
            inverse = upper + np.triu(upper, 1).T
            q_part = parts[0] - inverse @ turning
            compare_solution(case, "a_q", M[k], a_q[k], q_part, sizes[0][k])
            compare_solution(case, "a_v", M[k], a_v[k], parts[1], sizes[1][k])
            compare_solution(case, "a_tau", M[k], a_tau[k], inverse, np.sqrt(case.model.n))


def test_world_fixed_loads_by_differences(cases: list[Case]) -> None:
    """d tau/dq with world-fixed loads from Pinocchio's torques alone.

    A five-point difference of step h errs by h^4/30 times the fifth derivative, and by 1.5/h times
    the error of tau. In an angle q_k tau is a trigonometric polynomial of degree three (turn a
    velocity in, twice, and a force out), times a quadratic in a slide; its fifth derivative is then
    at most about 4^5 times its own size.
    """
    h, weights = 1e-3, {-2: 1.0, -1: -8.0, 1: 8.0, 2: -1.0}
    for case in (case for case in cases[:60:4] if case.forces):
        n = case.model.n
        state = case.model, case.q, case.v, case.a
        _, dq, _, _ = dynamics.inverse_dynamics_derivatives(*state, forces=case.forces)
        size, reference = 1.0, np.zeros((n, n))
        for k in range(n):
            for step, weight in weights.items():
                q = case.q[0].copy()
                q[k] += step * h
                pin.forwardKinematics(*case.twin(), q)
                fext = pinocchio_forces(case.model, case.data, case.forces, 0)
                tau = pin.rnea(*case.twin(), q, case.v[0], case.a[0], fext)
                size = max(size, float(np.abs(tau).max()))
                reference[:, k] += weight / (12 * h) * tau
        bound = size * (4**5 * h**4 / 30 + 1.5 / h * PER_JOINT * n * EPS)
        error = float(np.abs(dq[0] - reference).max())
        assert error <= bound, f"tree {case.seed}: dtau_dq off by {error:.1e}, allowed {bound:.1e}"

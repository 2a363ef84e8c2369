"""The variational midpoint rule of simulate.

Oracles: CasADi's derivatives of energies without spatial algebra, for the equations of every step;
published energy errors; conserved momentum; the other methods, whose difference must be of order 2.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import predyn
from closed_mechanisms import FOUR_BAR_POSE, bennett, bennett_pose, four_bar, random_mechanism
from coupled_trees import coupled_tree
from free_satellite import RATES, START, X, Y, Z, satellite
from oracles.casadi_energy import discrete_torques
from oracles.casadi_quaternion import quaternion_residual
from predyn import ExternalForce, InputError, Model, ModelBuilder, models, simulate
from predyn.dynamics import (
    loop_equations,
    project_velocities,
    spatial_momentum,
)
from predyn.errors import ModelError
from predyn.simulation.trajectories import Trajectory
from random_trees import random_model, random_sites

EPS = np.finfo(float).eps
VARIATIONAL: dict = {"method": "variational"}


def rods(lengths: tuple[float, ...]) -> Model:
    """Four-bar of uniform rods, mass = length, on the ground 0.8 m apart."""
    builder = ModelBuilder("rods", gravity=(0.0, -9.81, 0.0))
    for (name, up, x), L in zip(
        (("crank", "world", 0.0), ("coupler", "crank", 0.3), ("rocker", "world", 0.8)),
        lengths,
        strict=True,
    ):
        rod = {"mass": L, "com": (L / 2, 0, 0), "inertia": (0.0, L**3 / 12, L**3 / 12)}
        builder.add_link(name, up, origin=(x, 0, 0), **rod)
        builder.add_frame(f"{name} end", name, (L, 0, 0))
    return builder.close_loop("pin", "hinge", "coupler end", "rocker end").build()


def rods_start(model: Model, speed: float) -> tuple[np.ndarray, np.ndarray]:
    q = predyn.close_loops(model, [0.5, 0.2, 1.6], hold="crank_joint")
    return q, project_velocities(model, q, [speed, 0.0, 0.0], hold="crank_joint")


def largest_energy_error(run: Trajectory) -> float:
    return float(np.abs(run.energy - run.energy[0]).max())


@pytest.mark.parametrize(("step", "expected"), [(0.02, 5.36e-5), (0.05, 3.29e-4), (0.1, 1.24e-3)])
def test_energy_of_a_double_pendulum_stays_for_good(step: float, expected: float) -> None:
    model = models.pendulum_chain(2)
    run = simulate(model, [-np.pi / 3, 0], [0, 0], None, step * np.arange(100_001), **VARIATIONAL)
    above_lowest = 2 * 9.81 * (1.0 - np.cos(np.pi / 6))
    assert run.status == "finished"
    assert largest_energy_error(run) / above_lowest == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("speed", "step", "expected"), [(6, 0.01, 1.21e-3), (6, 0.02, 4.94e-3), (10, 0.02, 1.66e-2)]
)
def test_energy_of_a_four_bar_stays_for_good(speed: float, step: float, expected: float) -> None:
    model = rods((0.3, 0.9, 0.7))
    q, v = rods_start(model, speed)
    run = simulate(model, q, v, None, step * np.arange(100_001), **VARIATIONAL)
    poses = np.linspace(0.0, 2 * np.pi, 721)[:, None] * [1.0, -1.0, 0.0] + [0.0, 0.7, 1.6]
    poses = predyn.close_loops(model, poses, hold="crank_joint")
    lowest = predyn.dynamics.potential_energy(model, poses).min()
    assert run.status == "finished"
    assert largest_energy_error(run) / (run.energy[0] - lowest) == pytest.approx(expected, rel=0.01)
    # angles of joints that turn for good are rounded, and reach over at most 0.9 m
    rounding = 2.0 * EPS * np.abs(run.q).max()
    assert np.abs(loop_equations(model, run.q).values).max() <= 1e-12 + rounding


def test_steps_solve_the_discrete_equations_of_random_trees() -> None:
    for seed in range(3):
        model = random_model(5, seed)
        random = np.random.default_rng(seed)
        forces = random_sites(model, seed)
        forces = [replace(f, force=random.normal(size=3), moment=random.normal(size=3))
                  for f in forces]  # fmt: skip
        h, t = 0.01, 0.01 * np.arange(9)
        q, v, first, last = 0.3 * random.standard_normal((4, model.n))
        ramp = ([0.0, 0.08], [first, last])
        run = simulate(model, q, v, ramp, t, forces=forces, **VARIATIONAL)
        assert run.status == "finished"
        oracle = discrete_torques(model, forces)
        tau = ca.Function("tau", [*oracle.nodes, *oracle.loads], [oracle.tau])
        loads = np.concatenate([np.concatenate((f.moment, f.force)) for f in forces])
        for k in range(1, 8):
            found = np.array(tau(*run.q[k - 1 : k + 2], h, loads, loads))[:, 0]
            wanted = first + (last - first) * t[k] / 0.08  # mean of both midpoints
            # positions are rounded, and differences of them divided by the square of the step
            mass = predyn.mass_matrix(model, run.q[k])
            bound = 8 * EPS * np.abs(mass).sum(axis=1).max() * max(1, np.abs(run.q).max()) / h**2
            np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


def angular_momentum(run: Trajectory) -> np.ndarray:
    """Linear momentum, then angular momentum about the world's origin (K, 6)."""
    motion = spatial_momentum(run.model, run.q, run.v)
    linear = motion.mass * motion.velocity
    return np.hstack((linear, motion.angular_momentum + np.cross(motion.com, linear)))


@pytest.mark.parametrize("step", [0.02, 0.05])
def test_a_tumbling_satellite_keeps_its_momentum(step: float) -> None:
    run = simulate(satellite(), START, RATES, None, step * np.arange(1001), **VARIATIONAL)
    assert run.status == "finished"
    momentum = angular_momentum(run)
    assert np.abs(momentum - momentum[0]).max() < 1e-11
    assert largest_energy_error(run) < 1e-3 * run.energy[0]


def test_steps_of_a_free_base_solve_those_of_a_unit_quaternion_with_a_multiplier() -> None:
    model = satellite((0.0, 0.0, -9.81), damping=0.2, stiffness=1.0, coulomb=0.1, coulomb_speed=0.3)
    forces = [
        ExternalForce("arm2", (1.0, -2.0, 3.0), (0.2, 0.1, -0.3), (0.1, 0.2, 0.0)),
        ExternalForce("base5", (0.5, 0.3, -0.8), (0.1, 0.4, 0.2), (0.3, 0.1, 0.2), "link"),
    ]
    h, tau = 0.02, np.array([0, 0, 0, 0, 0, 0, 0.3, -0.2, 0.1])
    q = START + [0.3, -0.2, 0.1, 0.4, 0.7, -0.5, 0, 0, 0]
    run = simulate(model, q, RATES, tau, h * np.arange(9), forces=forces, **VARIATIONAL)
    residual = quaternion_residual(model, forces)
    nodes = np.hstack((run.q[:, :3], run.base_quaternion, run.q[:, 6:]))
    loads = np.concatenate([np.concatenate((f.moment, f.force)) for f in forces])
    for k in range(1, 8):
        found = np.array(residual(*nodes[k - 1 : k + 2], h, tau[6:], tau[6:], loads))[:, 0]
        e = nodes[k, 3:7]
        found[3:7] -= e * (e @ found[3:7])  # the multiplier
        # masses up to 12 kg, and differences of rounded positions divided by the step
        assert np.abs(found).max() < 100 * EPS * 12.0 / h


def test_the_choice_of_hinges_does_not_change_the_motion() -> None:
    """Position and orientation are the state: hinges and their offsets only describe it."""
    t = 0.02 * np.arange(101)
    given = simulate(satellite(), START, RATES, None, t, **VARIATIONAL)
    spin = RATES[3:6][::-1]  # about x, y, z at zero angles
    for axes, q, offset in (
        ((X, Y, Z), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((Z, X, Z), (0.4, -0.9, 0.8), (0.1, -0.2, 0.3)),
    ):
        model = satellite(hinges=axes, offset=offset)
        start = START.copy()
        start[3:6] = q
        base = predyn.dynamics.frame_kinematics(model, "base5", start)
        turn = predyn.dynamics.frame_kinematics_derivatives(model, "base5", start).jacobian
        rates = RATES.copy()
        twist = np.concatenate((base.R @ spin, base.R @ [0.1, 0.0, 0.0]))
        rates[:6] = np.linalg.solve(turn[:, :6], twist)
        run = simulate(model, start, rates, None, t, **VARIATIONAL)
        np.testing.assert_allclose(run.q[:, 6:], given.q[:, 6:], rtol=0, atol=1e-12)
        after = predyn.dynamics.frame_kinematics(model, "base5", run.q)
        other = predyn.dynamics.frame_kinematics(given.model, "base5", given.q)
        np.testing.assert_allclose(after.R, base.R @ other.R, rtol=0, atol=1e-12)
        moved = (after.p - base.p) @ base.R
        np.testing.assert_allclose(moved, other.p, rtol=0, atol=1e-12)


def test_hinges_are_continuous_through_gimbal_lock() -> None:
    t = np.linspace(0.0, 2.0, 201)
    model = satellite().lock({"joint0": 0.0, "joint1": 0.0, "joint2": 0.0})
    body = replace(model, inertia=np.vstack((model.inertia[:5], [[2, 0, 0, 0, 1, 0, 1, 0, 0, 1]])))
    run = simulate(body, np.zeros(6), [0, 0, 0, 0, 5.0, 0], None, t, step=0.01, **VARIATIONAL)
    np.testing.assert_allclose(run.q[:, [3, 5]], 0.0, atol=1e-12)
    np.testing.assert_allclose(run.q[:, 4], run.v[0, 4] * run.q[1, 4] / 0.05 * t, atol=1e-9)
    assert run.q[-1, 4] > 3 * np.pi
    assert np.abs(np.linalg.norm(run.base_quaternion, axis=1) - 1.0).max() < 1e-14
    turned = (run.base_quaternion[1:] * run.base_quaternion[:-1]).sum(axis=1)
    assert turned.min() > 0.9

    locked = [0.1, 0, 0, 0.2, np.pi / 2, 0.3]  # hinges z and x are parallel at the start
    with pytest.raises(ModelError):
        simulate(body, locked, [0, 0, 0, 0.5, 2.0, 0.5], None, t, method="rk4")
    tumbling = simulate(satellite(), [*locked, 0, 0, 0], RATES, None, t, **VARIATIONAL)
    momentum = angular_momentum(tumbling)[1:]
    assert np.abs(momentum - momentum[0]).max() < 1e-11


def test_the_error_is_of_second_order() -> None:
    model = satellite((0.0, 0.0, -9.81), damping=0.3)
    t = np.linspace(0.0, 0.4, 3)
    exact = simulate(model, START, RATES, None, t)
    errors = [
        np.abs(simulate(model, START, RATES, None, t, step=h, **VARIATIONAL).q - exact.q).max()
        for h in (0.02, 0.01, 0.005)
    ]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize("seed", range(8))
def test_loops_of_all_kinds_stay_closed(seed: int) -> None:
    model, q = random_mechanism(seed)
    v = project_velocities(model, q, np.random.default_rng(seed).standard_normal(model.n))
    t = 0.002 * np.arange(21)
    run = simulate(model, q, v, None, t, **VARIATIONAL)
    assert run.status == "finished", run.message
    equations = loop_equations(model, run.q, run.v)
    assert np.abs(equations.values).max() <= 1e-12
    rates = np.einsum("kij,kj->ki", equations.jacobian, run.v)
    assert np.abs(rates).max() < 1e-11 * max(1.0, np.abs(run.v).max())
    exact = simulate(model, q, v, None, t)
    half = simulate(model, q, v, None, t, step=0.001, **VARIATIONAL)
    errors = [np.abs(x.q - exact.q).max() for x in (run, half)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_linkages_with_dependent_equations_move() -> None:
    for model, pose in ((four_bar(), FOUR_BAR_POSE), (bennett(), bennett_pose(1.0))):
        q = predyn.close_loops(model, pose)
        v = project_velocities(model, q, [5.0, 0.0, 0.0], hold=model.joint_names[0])
        run = simulate(model, q, v, None, 0.005 * np.arange(2001), **VARIATIONAL)
        assert run.status == "finished", run.message
        assert np.abs(loop_equations(model, run.q).values).max() <= 1e-12
        assert largest_energy_error(run) < 0.01 * np.ptp(
            predyn.dynamics.kinetic_energy(model, run.q, run.v)
        )


def test_a_free_base_in_a_loop() -> None:
    """A satellite whose arm holds on to the world: the base hangs on it."""
    model = satellite((0.0, 0.0, -9.81), damping=0.5)
    hand = predyn.dynamics.frame_kinematics(model, "arm2", START)
    builder = replace(
        model,
        frames=(*model.frames, predyn.Frame("grip", -1, np.eye(3), hand.p)),
        loops=(predyn.Loop("grip", "point", "arm2", "grip"),),
    )
    t = np.linspace(0.0, 0.5, 11)
    run = simulate(builder, START, 0 * RATES, None, t, step=0.005, **VARIATIONAL)
    exact = simulate(builder, START, 0 * RATES, None, t)
    assert np.abs(loop_equations(builder, run.q).values).max() <= 1e-12
    half = simulate(builder, START, 0 * RATES, None, t, step=0.0025, **VARIATIONAL)
    errors = [np.abs(x.q - exact.q).max() for x in (run, half)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_batches_equal_single_trajectories() -> None:
    model = satellite((0.0, 0.0, -9.81), damping=0.1)
    t = 0.01 * np.arange(11)
    q = START + 0.3 * np.random.default_rng(0).standard_normal((2, 3, 9))
    push = np.random.default_rng(1).standard_normal((2, 3, 3))
    tau = np.zeros((3, 2, 9))
    tau[..., 6:] = np.random.default_rng(2).standard_normal((3, 2, 3))
    force = [ExternalForce("arm1", push)]
    batch = simulate(model, q, RATES, ([0.0, 0.1], tau), t, forces=force, **VARIATIONAL)
    assert batch.q.shape == (2, 3, 11, 9)
    one = [ExternalForce("arm1", push[1, 2])]
    alone = simulate(model, q[1, 2], RATES, ([0.0, 0.1], tau[2]), t, forces=one, **VARIATIONAL)
    np.testing.assert_array_equal(batch.q[1, 2], alone.q)
    np.testing.assert_array_equal(batch.v[1, 2], alone.v)


def test_a_function_acts_at_the_midpoints_of_steps() -> None:
    model = models.pendulum_chain(2)
    t = 0.01 * np.arange(41)

    def brake(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -0.8 * v - 3.0 * q

    starts = np.array([[0.3, 0.0], [-0.5, 0.2]])
    run = simulate(model, starts, [0.0, 0.0], brake, t, **VARIATIONAL)
    held = replace(model, damping=np.full(2, 0.8), stiffness=np.full(2, 3.0), rest=np.zeros(2))
    same = simulate(held, starts, [0.0, 0.0], None, t, **VARIATIONAL)
    np.testing.assert_allclose(run.q, same.q, rtol=0, atol=1e-11)
    stiff = simulate(model, starts, [0.0, 0.0], lambda t, q, v: -1e7 * q, t, **VARIATIONAL)
    assert stiff.status == "diverged"
    assert "choose a shorter step" in stiff.message


def test_torques_that_are_no_numbers_stop_one_trajectory() -> None:
    model, t = models.pendulum_chain(2), 0.1 * np.arange(11)

    def fails(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros_like(q)
        if t > 0.5:
            tau[1:, 1] = np.nan
        return tau

    starts = np.array([[0.3, 0.0], [-0.5, 0.2]])
    run = simulate(model, starts, [0.0, 0.0], fails, t, **VARIATIONAL)
    assert run.statuses.tolist() == ["finished", "diverged"]
    assert "at t = 0.55 s the velocity of joint 'joint2' was nan" in run.message
    assert run.end_t.tolist() == [1.0, 0.5]


def test_velocities_beyond_all_bounds_are_reported() -> None:
    run = simulate(
        models.pendulum_chain(2), [0.3, 0.0], [0.0, 0.0], None, [0.0, 1e9], **VARIATIONAL
    )
    assert run.status == "diverged"
    assert "at t = 1e+09 s the velocity of joint 'joint1'" in run.message


def test_events_stop_a_trajectory() -> None:
    model = rods((0.3, 0.9, 0.7))
    q, v = rods_start(model, 6.0)
    t = 0.01 * np.arange(101)

    def crosses(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(q[2] - 1.7)

    run = simulate(model, q, v, None, t, events=crosses, **VARIATIONAL)
    assert run.status == "event"
    assert run.end_q[2] == pytest.approx(1.7, abs=1e-12)
    assert np.abs(loop_equations(model, run.q).values).max() <= 1e-12
    free = simulate(model, q, v, None, t, **VARIATIONAL)
    count = len(run.t) - 1
    np.testing.assert_allclose(run.q[:count], free.q[:count], rtol=0, atol=1e-12)


def test_torques_at_the_base_keep_its_hinges() -> None:
    model, t = satellite(damping=0.1), np.linspace(0.0, 0.5, 6)
    tau = np.array([1.0, 0, 0, 0.5, -0.4, 0.3, 0, 0, 0])
    run = simulate(model, START, 0 * RATES, tau, t, step=0.005, **VARIATIONAL)
    exact = simulate(model, START, 0 * RATES, tau, t)
    np.testing.assert_allclose(run.q, exact.q, rtol=0, atol=1e-4)
    with pytest.raises(InputError, match="expected 0 at the six joints of the free base, got 1 at"):
        simulate(model, START, RATES, lambda t, q, v: tau, t, **VARIATIONAL)


def test_a_step_without_a_solution_is_reported() -> None:
    model = rods((0.3, 0.9, 0.7))
    q, v = rods_start(model, 10.0)
    t = 0.05 * np.arange(1001)
    run = simulate(model, q, v, None, t, **VARIATIONAL)
    assert run.status == "diverged"
    assert "the step of 0.05 s to t = " in run.message
    assert "choose a shorter step" in run.message
    assert len(run.t) == len(run.q) < 1001
    assert np.isfinite(run.q).all()
    batch = simulate(model, q, [0.1 * v, v], None, t, **VARIATIONAL)
    assert batch.statuses.tolist() == ["finished", "diverged"]
    assert np.isnan(batch.q[1, -1]).all()
    assert batch.end_t[1] == run.t[-1]


def test_bad_input_is_named() -> None:
    model = rods((0.3, 0.9, 0.7))
    q, v = rods_start(model, 6.0)
    t = [0.0, 0.1]
    with pytest.raises(InputError, match=r"method.*variational"):
        simulate(model, q, v, None, t, method="variable")
    for step in (0.0, -0.1, np.nan, "fine"):
        with pytest.raises(InputError, match="step: expected a finite number above 0"):
            simulate(model, q, v, None, t, step=step, **VARIATIONAL)
    with pytest.raises(InputError, match="q0: loop 'pin' is open"):
        simulate(model, q + [0, 0.1, 0], v, None, t, **VARIATIONAL)
    with pytest.raises(InputError, match="v0: opens the loops"):
        simulate(model, q, v + [0, 0.1, 0], None, t, **VARIATIONAL)
    with pytest.raises(InputError, match="expected finite numbers, got nan"):
        simulate(model, q, v, lambda t, q, v: np.full(3, np.nan), t, **VARIATIONAL)
    massless = ModelBuilder("bare").add_link("a", mass=1.0, inertia=(1, 1, 1)).add_link("b", "a")
    with pytest.raises(ModelError, match="mass matrix is singular"):
        simulate(massless.build(), [0, 0], [1, 1], None, t, **VARIATIONAL)


def test_models_it_cannot_simulate_are_refused() -> None:
    t = [0.0, 0.1]
    coupled = coupled_tree(0)
    with pytest.raises(InputError, match="'variational' does not support joints that follow"):
        simulate(coupled, np.zeros(coupled.n), np.zeros(coupled.n), None, t, **VARIATIONAL)
    human = models.human(1.75, 70.0)
    rest = np.zeros(human.n)
    with pytest.raises(InputError, match="floats and stands on contact points"):
        simulate(human, rest, rest, None, t, **VARIATIONAL)

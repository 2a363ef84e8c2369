"""Replay: torques of a solution reproduce its motion, and energy is accounted for.

Tolerances. The simulation keeps each step's error below rtol = 1e-10 of the state; the motions take
fewer than 200 steps within two seconds and magnify a difference less than tenfold on the way:
1e-10 * 200 * 10 of the largest number. Energies add up to the same share of the largest energy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import DURATION, fake_solution
from loaded_solution import loaded_solution
from predyn import InputError, ModelBuilder, Replay, models, replay
from predyn.dynamics import kinetic_energy, potential_energy
from predyn.solution import Solution

SHARE = 1e-10 * 200 * 10


def balanced(result: Replay) -> None:
    change = result.energy - result.energy[0]
    work = result.work_torques + result.work_friction + result.work_forces
    assert np.array_equal(result.energy_error, change - work)
    largest = max(np.abs(x).max() for x in (change, result.work_torques, result.work_forces))
    assert result.max_energy_error < SHARE * largest


def agrees(result: Replay) -> None:
    assert result.status == "finished"
    assert result.message == ""
    assert result.max_position_error < SHARE * np.abs(result.q).max()
    assert result.max_velocity_error < SHARE * np.abs(result.v).max()
    balanced(result)


def test_a_solved_task_moves_as_predicted() -> None:
    solution = predyn.solve("two-link-lifting").check()
    result = replay(solution)
    agrees(result)
    motion = solution.at(result.t)
    assert np.array_equal(result.t, np.unique(solution.t))
    assert np.array_equal(result.dq, result.q - motion.q)
    assert np.array_equal(result.dv, result.v - motion.v)
    assert np.array_equal(result.tau, motion.tau)
    assert result.max_position_error == np.abs(result.dq).max()
    assert result.end_position_error == np.abs(result.dq[-1]).max()
    assert result.end_velocity_error == np.abs(result.dv[-1]).max()
    assert result.work_friction[-1] == 0.0
    assert result.work_forces[-1] < -1.0  # the load of the task is lifted


@pytest.mark.parametrize("phases", [1, 3])
def test_phases_are_replayed_one_after_the_other(phases: int) -> None:
    result = replay(fake_solution(phases))
    agrees(result)
    assert result.t[-1] == pytest.approx(DURATION)
    assert (np.diff(result.t) > 0.0).all()
    assert result.jumps == ()


def test_coupled_rotors_and_friction() -> None:
    model = replace(
        models.manutec_r3(),
        damping=np.array([5.0, 3.0, 1.0]),
        coulomb=np.array([2.0, 0.0, 1.0]),
        stiffness=np.array([0.0, 4.0, 0.0]),
    )
    result = replay(fake_solution(model=model))
    agrees(result)
    assert result.work_friction[-1] < -1.0
    assert (np.diff(result.work_friction) <= 0.0).all()


def test_passive_joints_get_no_torque() -> None:
    """A motion that needs a motor where there is none is not reproduced, and that is told."""
    solution = replace(fake_solution(), passive=("joint1",))
    result = replay(solution)
    assert result.status == "finished"
    assert np.array_equal(result.tau[:, 0], np.zeros(len(result.t)))
    assert np.array_equal(result.tau[:, 1], solution.at(result.t).tau[:, 1])
    assert result.end_position_error > 0.1
    balanced(result)


def with_a_jump() -> Solution:
    """Two phases; the second runs twice as fast, so that the velocity doubles between them."""
    solution = fake_solution(2)
    first, second = solution.curves
    faster = second._replace(duration=0.5 * second.duration)
    start = first.duration
    t = np.where(solution.phase == 1, start + 0.5 * (solution.t - start), solution.t)
    return replace(solution, curves=(first, faster), t=t)


def test_a_velocity_jump_between_phases_is_reproduced() -> None:
    solution = with_a_jump()
    result = replay(solution)
    assert result.jumps == pytest.approx((solution.curves[0].duration,))
    assert result.status == "finished"
    assert result.max_position_error < SHARE * np.abs(result.q).max()
    assert "the predicted state jumps at 0.6 s" in str(result)
    assert result.max_energy_error < SHARE * np.ptp(result.energy)  # a jump is no error


def test_tolerance_matters() -> None:
    solution = fake_solution()
    rough = replay(solution, rtol=1e-4, atol=1e-4)
    assert 1e-9 < rough.max_position_error < 1e-2


def test_a_diverging_motion_is_reported_with_time_joint_and_value() -> None:
    """Far out of all bounds from the start."""
    solution = fake_solution()
    (curve,) = solution.curves
    result = replay(replace(solution, curves=(curve._replace(control=1e7 * curve.control),)))
    assert result.status == "diverged"
    assert "at t = " in result.message
    assert "the position of joint 'joint1' was" in result.message
    assert "diverged: at t = " in str(result)


def test_the_table_names_joints_units_and_energies() -> None:
    text = str(replay(fake_solution(model=models.prismatic_revolute())))
    lines = text.splitlines()
    assert lines[0].endswith("replayed by forward simulation: finished")
    assert lines[2].startswith("joint1 ")
    assert lines[2].endswith(" m/s")
    assert lines[3].endswith(" rad/s")
    assert "work of torques" in text
    assert "largest imbalance of energy" in text
    many = ModelBuilder("many")
    for k in range(12):
        many.add_link(f"l{k}", f"l{k - 1}" if k else "world", mass=1.0, inertia=(1.0, 1.0, 1.0))
    assert "... and 2 more joints" in str(replay(fake_solution(model=many.build())))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("two-link-lifting",), {}, "solution: expected a predyn.Solution, got str"),
        ((fake_solution(),), {"rtol": 1e-20}, "rtol: expected a finite number of at least 1e-13"),
        ((fake_solution(),), {"atol": 0.0}, "atol: expected a finite number above 0"),
    ],
)
def test_bad_input_is_named(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay(*arguments, **options)


def test_replay_of_a_stiff_mechanism_is_stopped() -> None:
    model = replace(models.pendulum_chain(2), damping=np.full(2, 1e5))
    rest = np.zeros(2)
    phase = predyn.Phase(1.0, predyn.State(rest, rest), predyn.State(np.ones(2), rest))
    problem = predyn.Problem(model, (phase,), costs=(predyn.Cost(predyn.terms.Effort()),))
    solution = predyn.solve(problem)
    assert replay(solution, max_steps=20).status == "step_limit"


def test_a_load_that_comes_brings_its_energy() -> None:
    """Forces over time, a load from the second phase on: the motion is reproduced."""
    solution = loaded_solution()
    result = replay(solution)
    assert result.status == "finished"
    assert result.max_position_error < SHARE * np.abs(result.q).max()
    assert result.max_velocity_error < SHARE * np.abs(result.v).max()
    assert result.max_energy_error < SHARE * np.ptp(result.energy)
    assert result.load_changes == (solution.curves[0].duration,)
    assert result.jumps == ()
    motion = solution.at(solution.curves[0].duration)
    with_load, without = (
        kinetic_energy(m, motion.q, motion.v) + potential_energy(m, motion.q)
        for m in (solution.systems[1].model, solution.model)
    )
    assert with_load - without > 1.0
    assert result.energy_jumps[-1] == pytest.approx(with_load - without, rel=1e-9)
    assert np.array_equal(np.unique(result.energy_jumps), [0.0, result.energy_jumps[-1]])
    assert np.abs(result.work_forces[-1]) > 1.0
    assert "the load changes at 0.6 s\nthis adds" in str(result)


def test_a_load_that_is_caught_stops_part_of_the_motion() -> None:
    """The velocity after a plastic impact is a jump of the prediction, taken over as any other."""
    solution = loaded_solution()
    first, second = solution.curves
    before = solution.at(np.nextafter(first.duration, 0.0) - 1e-12)
    model, loaded = (system.model for system in solution.systems)
    v = np.linalg.solve(
        predyn.mass_matrix(loaded, before.q), predyn.mass_matrix(model, before.q) @ before.v
    )
    slope = second.degree / second.knots[second.degree + 1] / second.duration
    control = second.control.copy()
    control[1] = control[0] + v / slope
    caught = replace(solution, curves=(first, second._replace(control=control)))
    assert caught.at(first.duration).v == pytest.approx(v, rel=1e-9)
    result = replay(caught)
    assert result.jumps == result.load_changes == (first.duration,)
    assert result.max_position_error < SHARE * np.abs(result.q).max()
    assert result.max_energy_error < SHARE * np.ptp(result.energy)


def test_motors_of_each_phase() -> None:
    solution = loaded_solution(passive=True)
    result = replay(solution)
    later = solution.phase_at(result.t) == 1
    motion = solution.at(result.t)
    assert np.array_equal(result.tau[later, 1], np.zeros(later.sum()))
    assert np.array_equal(result.tau[~later], motion.tau[~later])
    assert result.end_position_error > 0.1  # the curve needs a motor that is not there
    assert result.max_energy_error < SHARE * np.ptp(result.energy)


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
def test_torques_of_phases_drive_a_simulation(method: str) -> None:
    """The load stays away: until it should come, the motion is that of the prediction."""
    solution = loaded_solution(passive=True)
    t = np.linspace(0.0, 1.2, 481)
    first = solution.at(0.0)
    free = replace(solution, systems=tuple(replace(s, forces=()) for s in solution.systems))
    run = predyn.simulate(solution.model, first.q, first.v, free, t, method=method)
    tau = free.at(t).tau
    tau[t >= 0.6, 1] = 0.0
    assert np.allclose(run.tau, tau, rtol=0, atol=1e-9)
    early = t < 0.6
    assert np.abs(run.q[early] - free.at(t[early]).q).max() < 1e-6

"""Verification: torques at passive joints, the replay in numbers, and what cannot be replayed."""

import json
from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.errors import InputError
from predyn.simulation import verification
from predyn.simulation.trajectories import DIVERGED, FINISHED, LIMITED
from predyn.solution.verification import MOST_POINTS, STATUSES
from predyn.view.sheets import Times
from predyn.view.verification import verification_data, verification_html
from sameness import assert_same


def swinging():
    """An acrobot whose first joint should have no torque, and has."""
    return replace(fake_solution(model=predyn.models.acrobot()), passive=("joint1",))


def checks_of(solution):
    return predyn.verify(solution).verification


def test_a_solve_is_not_verified_and_verify_changes_nothing_else():
    solution = predyn.solve("two-link-lifting")
    assert solution.verification is None
    assert solution.summary()["verification"] is None
    verified = predyn.verify(solution)
    assert replace(verified, verification=None).__dict__ == solution.__dict__
    assert verified.verification.replay.status == "finished"
    assert verified.verification.replay.max_dq.max() < 1e-8


def test_torques_at_passive_joints_are_those_of_the_curves():
    solution = swinging()
    checks = checks_of(solution)
    passive = checks.passive
    expected = solution.at(passive.t).tau[:, :1]
    np.testing.assert_array_equal(passive.tau, expected)
    breaks = solution.duration * np.linspace(0.0, 1.0, 7)
    inside = np.histogram(passive.t, breaks)[0]
    assert (inside >= 8).all()  # between the points where anything was imposed
    worst = np.abs(expected[:, 0]).argmax()
    assert passive.largest == pytest.approx(np.abs(expected[worst]))
    assert passive.largest_t == pytest.approx(passive.t[worst])
    assert passive.rms == pytest.approx(np.sqrt(np.mean(expected**2)))
    share = np.abs(expected).max() / np.abs(solution.at(passive.t).tau[:, 1]).max()
    assert checks.passive_share == pytest.approx(share, rel=0.05)
    assert checks.effort >= np.abs(solution.tau[:, 1]).max()
    assert checks.motor == 1
    assert checks.warnings(solution.model) == ["torque at passive joints", "replay ends elsewhere"]


def test_active_joints_only_are_no_matter():
    checks = checks_of(fake_solution())
    assert (checks.passive.t.size, checks.passive.tau.size, checks.passive.largest.size) == (0,) * 3
    assert checks.passive_share == 0.0
    assert checks.warnings(fake_solution().model) == []


def test_thinned_torques_keep_the_largest():
    t = np.linspace(0.0, 1.0, 5000)
    values = np.stack((np.sin(9.0 * t), np.zeros(5000)), axis=1)
    values[1234, 1] = -3.0
    few, kept = verification._thinned(t, values)
    assert len(few) <= MOST_POINTS
    assert kept[:, 1].min() == -3.0
    assert np.abs(kept[:, 0] - np.sin(9.0 * few)).max() < 0.02


def test_thinned_replays_keep_their_ends_and_the_largest_values():
    solution = fake_solution()
    t = np.linspace(0.0, solution.duration, 5001)
    motion = solution.at(t)
    fields = {name: getattr(motion, name) for name in ("t", "q", "v", "a", "tau", "reactions")}
    many = replace(solution, phase=np.zeros(5001, np.int64), **fields)
    whole, kept = predyn.replay(many), checks_of(many).replay
    assert (len(whole.t), len(kept.t)) == (5001, MOST_POINTS)
    for name in ("t", "dq", "dv", "energy", "work_torques", "work_friction", "work_forces"):
        got, expected = getattr(kept, name), getattr(whole, name)
        np.testing.assert_array_equal(got[[0, -1]], expected[[0, -1]])
    assert kept.max_dq.max() == whole.max_position_error
    assert kept.max_dv.max() == whole.max_velocity_error
    assert kept.max_energy_error == whole.max_energy_error


def test_the_summary_is_that_of_the_whole_replay():
    solution = swinging()
    summary = predyn.verify(solution).summary()
    run, found = predyn.replay(solution), summary["verification"]
    names = ("max_position_error", "end_position_error", "max_velocity_error",
             "end_velocity_error", "max_energy_error")  # fmt: skip
    assert {name: found[name] for name in names} == {name: getattr(run, name) for name in names}
    assert found["replay"] == "finished"
    assert found["passive_torque_share"] == checks_of(solution).passive_share > 0.01
    assert found["warnings"] == ["torque at passive joints", "replay ends elsewhere"]
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert predyn.verify(fake_solution()).summary()["verification"]["passive_torque_share"] is None


def test_what_did_not_converge_is_not_replayed(monkeypatch):
    monkeypatch.setattr(verification, "replay", None)
    solution = replace(fake_solution(status="infeasible", model=predyn.models.acrobot()),
                       passive=("joint1",))  # fmt: skip
    checks = checks_of(solution)
    assert checks.replay is None
    assert checks.no_replay == "only converged motions are replayed"
    assert checks.passive.largest.max() > 0.0
    found = predyn.verify(solution).summary()["verification"]
    assert (found["replay"], found["message"]) == (None, checks.no_replay)
    assert found["max_position_error"] is found["max_energy_error"] is None


@pytest.mark.parametrize("error", [InputError, ArithmeticError, ValueError])
def test_a_failing_replay_is_recorded(monkeypatch, error):
    def fail(solution, max_steps):
        raise error("the mass matrix is singular")

    monkeypatch.setattr(verification, "replay", fail)
    checks = checks_of(fake_solution())
    assert checks.replay is None
    assert checks.no_replay == f"{error.__name__}: the mass matrix is singular"


def test_what_cannot_be_verified_is_named():
    with pytest.raises(InputError, match=r"expected a predyn\.Solution, got str"):
        predyn.verify("solution.h5")
    solution = fake_solution(status="diverged")
    gone = solution.curves[0]._replace(control=np.full_like(solution.curves[0].control, np.nan))
    with pytest.raises(InputError, match=r"'two-link-lifting' .*'diverged'.* not finite"):
        predyn.verify(replace(solution, curves=(gone,)))


def test_files_know_every_status_of_a_replay():
    assert set(STATUSES) == {FINISHED, LIMITED, DIVERGED}


def test_joints_that_are_passive_in_one_phase():
    solution = loaded_solution(passive=True)
    checks = checks_of(solution)
    passive, later = checks.passive, checks.passive.t > 0.6
    np.testing.assert_array_equal(passive.tau[~later], 0.0)
    tau = solution.at(passive.t).tau[:, 1:]
    np.testing.assert_array_equal(passive.tau[later], tau[later])
    np.testing.assert_allclose(passive.rms, np.sqrt(np.mean(tau[later] ** 2)))
    assert passive.largest_t[0] > 0.6
    assert checks.motor == 0


def test_loads_that_come_are_in_the_numbers(tmp_path):
    verified = predyn.verify(loaded_solution(passive=True))
    run = verified.verification.replay
    assert run.load_changes.tolist() == [verified.curves[0].duration]
    assert run.energy_jumps[0] == 0.0
    assert run.energy_jumps[-1] > 1.0
    verified.save(tmp_path / "s.h5")
    assert_same(predyn.load_solution(tmp_path / "s.h5"), verified)
    text = verification_html(verified, verified.verification)
    assert "The load changes at 0.6 s. This adds" in text
    assert "joint2" in text
    charts = verification_data(verified, verified.verification, Times())
    titles = [chart["title"] for chart in charts]
    assert titles[0] == "Error: torque at passive joints"

"""Motions on the ground: replay in windows, the residual at the base, and no free fall."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from predicted_walk import predicted_step
from predyn.errors import InputError
from predyn.simulation.replaying import replay
from predyn.solution import Solution


@pytest.fixture(scope="module")
def step() -> Solution:
    return predicted_step()


def test_windows_start_from_the_prediction(step):
    run = replay(step, restart=0.02)
    assert run.status == "finished"
    assert run.restart == 0.02
    assert run.t[[0, -1]] == pytest.approx([0.0, step.duration])
    assert np.diff(run.t).min() > 0.0
    # the differences just before each restart are among them
    ends = [k * 0.02 for k in range(1, 25)]
    assert all(np.abs(run.t - end).min() < 1e-9 for end in ends)
    assert 0.0 < run.max_position_error < 1e-3
    assert run.max_energy_error < 1e-8
    assert "in windows of at most 0.02 s" in str(run)


def test_drift_grows_with_the_window(step):
    short, long = (replay(step, restart=window).max_position_error for window in (0.01, 0.1))
    assert short < 0.1 * long


def test_by_default_only_motions_on_the_ground_restart(step):
    assert step.verification.replay.restart == 0.05
    for bad in (0.0, -1.0, np.nan, "never"):
        with pytest.raises(InputError, match="restart: expected"):
            replay(step, restart=bad)


def test_residual_at_the_base_is_relative_to_body_weight(step):
    base, summary = step.verification.base, step.verification.summary(step.model)
    assert base.weight == pytest.approx(75.0 * 9.81)
    assert 0.8 < base.height < 1.2
    assert base.force == max(step.verification.passive.largest[:2])
    assert summary["base_force_share"] == pytest.approx(base.force / base.weight)
    assert summary["base_moment_share"] < 0.001
    assert summary["replay_window"] == 0.05
    assert summary["warnings"] == []
    t = np.linspace(0.0, step.duration, 2_000)
    assert np.abs(step.at(t).tau[:, :2]).max() == pytest.approx(base.force, rel=0.05)


def test_a_large_residual_is_a_warning(step):
    checks = step.verification
    worse = replace(checks, base=replace(checks.base, force=0.06 * checks.base.weight))
    assert worse.warnings(step.model) == ["force at the base"]


def test_a_standing_model_does_not_fall_unasked(step):
    model, start = step.model, (step.q[0], step.v[0])
    with pytest.raises(InputError, match=r"'planar_walker' floats .*right_heel.*free_fall=True"):
        predyn.simulate(model, *start, None, [0.0, 0.01])
    with pytest.raises(InputError, match=r"predyn\.replay\(solution\) applies the predicted"):
        predyn.simulate(model, *start, step, [0.0, 0.01])
    falling = predyn.simulate(model, *start, None, [0.0, 0.01], free_fall=True)
    assert falling.status == "finished"
    push = predyn.ExternalForce("right_heel", (0.0, 0.0, 700.0))
    assert predyn.simulate(model, *start, None, [0.0, 0.01], forces=[push]).status == "finished"

"""Gait of a prediction: a whole cycle of both legs from one step."""

import numpy as np
import pytest

from predicted_walk import predicted_step
from predyn.analysis import GaitCycles, find_gait, gait_cycles
from predyn.solution import Solution


@pytest.fixture(scope="module")
def step() -> Solution:
    return predicted_step()


@pytest.fixture(scope="module")
def gait(step) -> GaitCycles:
    return gait_cycles(step)


def test_events_are_those_of_the_phases(gait):
    """Flat 0.20, toe 0.18, double 0.12 s: contact of a foot lasts 0.12 + 0.5 s of 1 s."""
    assert gait.feet == {"left": "left_foot", "right": "right_foot"}
    assert [cycle.side for cycle in gait.cycles] == ["left", "right"]
    for cycle in gait.cycles:
        assert cycle.duration == pytest.approx(1.0)
        assert cycle.stance == pytest.approx(62.0)
        assert cycle.sources == ("contacts",)
        assert cycle.whole
    strikes = [e.time for e in gait.events if (e.side, e.kind) == ("left", "heel strike")]
    assert strikes == pytest.approx([0.38, 1.38])
    assert "mirrored and moved on" in gait.notes[0]
    assert "from the contacts of the prediction" in gait.notes[1]


def test_steps_have_the_required_length_and_speed(gait):
    for name, value in (
        ("step length", 0.6),
        ("stride length", 1.2),
        ("walking speed", 1.2),
        ("cadence", 120.0),
        ("double support", 24.0),
    ):
        for side in ("left", "right"):
            assert gait.parameters[name].side(side) == pytest.approx([value], rel=1e-6)
    assert "step width" not in gait.parameters  # in a plane


def test_cost_of_transport_is_the_work_of_all_motors(step, gait):
    t = np.linspace(0.0, step.duration, 20_001)
    sample = step.at(t)
    power = np.abs(sample.tau * sample.v)[:, 3:].sum(axis=1)
    work = float(np.trapezoid(power, t))
    expected = work / (75.0 * 9.81 * 0.6)
    found = gait.parameters["mechanical cost of transport"]
    assert found.left == pytest.approx([expected], rel=2e-3)
    assert found.right == pytest.approx(found.left)


def test_legs_are_alike_and_follow_the_prediction(step, gait):
    for name in ("hip_angle", "knee_moment", "ankle_power", "ground_vertical_force"):
        curve = gait.curve(name)
        assert curve.left == pytest.approx(curve.right, abs=1e-9 * np.ptp(curve.left))
    # right foot: 12 % after its heel strike the step begins
    knee = step.at(0.2 * step.duration).q[step.model.joint_index("right_knee")]
    assert gait.curve("knee_angle").mean("right")[22] == pytest.approx(np.degrees(knee), abs=1e-6)
    # the swinging leg of the step is the right one half a cycle later
    knee = step.at(0.2 * step.duration).q[step.model.joint_index("left_knee")]
    assert gait.curve("knee_angle").mean("right")[72] == pytest.approx(np.degrees(knee), abs=1e-6)
    thigh = step.at(0.0).q[[2, 3]].sum()  # trunk and hip, against the vertical
    assert gait.curve("thigh_angle").mean("right")[12] == pytest.approx(np.degrees(thigh), abs=1e-3)


def test_forces_carry_the_body(gait):
    """Over a cycle, both feet together push up with one body weight on average, forward with 0."""
    up, forward = (gait.curve(f"ground_{x}_force").mean("right") for x in ("vertical", "forward"))
    assert 2.0 * np.trapezoid(up) / 100.0 == pytest.approx(1.0, abs=2e-3)
    assert 2.0 * np.trapezoid(forward) / 100.0 == pytest.approx(0.0, abs=2e-3)
    assert up[62:] == pytest.approx(0.0, abs=1e-9)
    assert gait.curve("ankle_reaction").mean("right")[:60].max() > 0.9
    assert "ground_medial_force" not in gait.curves


def test_pressure_moves_from_heel_to_toe(gait):
    way = gait.curve("forward_pressure").mean("right")
    assert way[:12] == pytest.approx(0.0, abs=1e-6)
    assert way[33:61] == pytest.approx(0.21, abs=1e-6)  # the length of the foot
    assert np.isnan(way[63:]).all()
    assert np.diff(way[:61]).min() > -1e-6  # where the heel is held, to the tolerance
    peak = next(x for x in gait.peaks() if x.curve == "forward_pressure" and x.kind == "maximum")
    assert peak.value == pytest.approx(0.21, abs=1e-6)


def test_it_is_clearly_walking(step):
    assert find_gait(step) is not None

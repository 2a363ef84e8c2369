"""human-lift-box: height, hands, feet, a shelf, reaching, and methods that agree."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predicted_lift import predicted_lift
from predyn.analysis import lift_loads
from predyn.dynamics import frame_kinematics
from predyn.errors import InputError
from predyn.movements import human_lift_box
from predyn.movements.lifting import TILT

FOOT = ("heel", "ball_medial", "ball_lateral", "toe")


@cache
def lift() -> predyn.Solution:
    return predyn.solve("human-lift-box", verbose=False).check()


shelved = predicted_lift


def box(solution: predyn.Solution, name: str) -> np.ndarray:
    return solution.q[:, solution.model.joint_index(f"box_{name}")]


def gaps(solution: predyn.Solution) -> float:
    """The largest distance (m) of a hand from its handle at the nodes."""
    model, q = solution.model, solution.q
    ends = ([frame_kinematics(model, f"{end}_{side}", q).p for end in ("grip", "handle")]
            for side in "rl")  # fmt: skip
    return max(float(np.abs(hand - handle).max()) for hand, handle in ends)


@pytest.mark.parametrize("solve", [lift, shelved])
def test_hands_hold_and_feet_stay(solve):
    found = solve()
    assert gaps(found) < 1e-6
    for side in "rl":
        for point in FOOT:
            p = frame_kinematics(found.model, f"{point}_{side}", found.q).p
            assert np.abs(p - p[0]).max() < 1e-6
    for name in ("rotation_1", "rotation_2", "rotation_3"):
        assert np.abs(box(found, name)).max() < TILT + 1e-6


@pytest.mark.parametrize("solve", [lift, shelved])
def test_the_box_stays_out_of_the_body_and_does_not_swing(solve):
    """The box is 0.3 m deep: half of it and half of what it must not enter are between centres."""
    found = solve()
    centre = frame_kinematics(found.model, "box", found.q).p
    for frame, least in (("pelvis", 0.26), ("eyes", 0.24), ("lap_r", 0.25), ("knee_l", 0.22)):
        there = frame_kinematics(found.model, frame, found.q).p
        assert np.linalg.norm(there - centre, axis=1).min() > least
    assert max(np.abs(box(found, f"rotation_{k}")).max() for k in (1, 2, 3)) < 0.2


def test_the_box_rises_above_the_head():
    found = lift()
    assert box(found, "tz")[0] == pytest.approx(0.15)
    assert box(found, "tz")[-1] > 2.05  # the person is 1.75 m tall
    assert np.abs(found.v[-1]).max() < 1e-9


def test_the_ground_carries_person_and_box():
    """Over the whole motion, from rest to rest, the impulse is the weight times the duration."""
    found, total = lift(), np.zeros(3)
    names = [f"{point}_{side}" for side in "rl" for point in FOOT]
    t = found.t
    share = np.gradient(t)
    share[[0, -1]] *= 0.5
    share *= found.duration / share.sum()
    for name in names:
        force = found.signal_curves[name].curves[0].control
        assert force[:, 2].min() > -1e-4
        total += share @ force
    weight = 85.0 * 9.81
    assert total[2] == pytest.approx(weight * found.duration, rel=1e-4)
    assert np.abs(total[:2]).max() < 1e-4 * weight * found.duration


def test_a_shelf():
    found = shelved()
    assert box(found, "tz")[-1] == pytest.approx(0.95)
    assert max(abs(box(found, f"rotation_{k}")[-1]) for k in (1, 2, 3)) < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"box_mass": -1.0}, "box_mass: expected 0.1 to 100 kg"),
        ({"shelf_height": 2.6}, "out of reach"),
        ({"duration": 0.1}, "duration: expected 0.8 to 10 s"),
        ({"reach": "yes"}, "reach: expected true or false"),
        ({"steps": 2}, "steps: expected at least 4"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        human_lift_box(**options)


def test_hands_are_joined_to_the_box_by_their_forces_in_a_replay():
    """Loops would hold them, too; then residuals would do work that nothing accounts for."""
    run = predyn.replay(shelved())
    assert run.status == "finished"
    assert run.max_energy_error < 1e-6
    grips = [frame_kinematics(run.model, x, run.q).p for x in ("grip_r", "handle_r")]
    assert 1e-6 < np.abs(grips[0] - grips[1]).max() < 0.01  # within windows of 0.05 s


@pytest.mark.verify
def test_hands_reach_for_a_box_that_stands():
    found = predyn.solve(human_lift_box(reach=True), verbose=False).check()
    reaching = found.phase == 0
    assert np.ptp(found.q[reaching][:, -6:], axis=0).max() < 1e-6
    assert box(found, "tz")[-1] == pytest.approx(box(lift(), "tz")[-1], rel=5e-3)


@pytest.mark.verify
def test_splines_lift_as_high():
    found = lift()
    problem = human_lift_box()
    spline = predyn.Spline(degree=5, segments=16, limit_points=2)
    other = predyn.solve(replace(problem, transcription=spline), guess=found, verbose=False)
    assert other.check().status == "optimal"
    assert box(other, "tz")[-1] == pytest.approx(box(found, "tz")[-1], rel=1e-3)
    back, same = lift_loads(found), lift_loads(other)
    later = back.t > 0.2  # the start is abrupt
    there = np.interp(back.t, same.t, same.back_moment)
    assert there[later] == pytest.approx(back.back_moment[later], abs=6.0)

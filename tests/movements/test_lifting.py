"""Postures of a lift: grips, feet, balance, and boxes out of reach."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from predyn import models
from predyn.dynamics import center_of_mass, frame_kinematics
from predyn.errors import InputError
from predyn.movements import lift_guess, lift_heights, lift_postures
from predyn.movements.lifting import HEAD_UP, TILT, lift_contacts, lift_limits, reaching_posture

HEIGHTS = (0.15, 0.40, 0.75, 1.10, 1.45, 1.65)  # m, centre of the box
CASES = {
    "61": {},
    "108": {"detailed": True},
    "woman": {"height": 1.55, "mass": 55.0, "sex": "female", "box_mass": 20.0},
    "locked": {"lock": ("neck", "clavicles", "wrists", "upper spine"), "load_back": 10.0},
}


@cache
def lift(case: str):
    model = models.human_with_box(**CASES[case])
    scale = CASES[case].get("height", 1.75) / 1.75
    heights = (0.15, *(scale * x for x in HEIGHTS[1:]))
    return model, heights, lift_postures(model, heights)


def point(model, frame, q):
    return np.asarray(frame_kinematics(model, frame, q).p)


@pytest.mark.parametrize("case", CASES)
def test_hands_hold_the_box_and_feet_stay(case):
    model, heights, Q = lift(case)
    box = model.link_index("box")
    assert np.array_equal(Q[:, model.joint_index("box_tz")], heights)
    assert box == model.n - 1
    for side in "rl":
        gap = point(model, f"grip_{side}", Q) - point(model, f"handle_{side}", Q)
        assert np.abs(gap).max() < 1e-10
    for contact in lift_contacts(model):
        place = point(model, contact.point, Q)
        assert np.abs(place - contact.place).max() < 1e-10  # all points of both flat soles
    low, high = model.limits.position.T
    assert ((low <= Q) & (high >= Q)).all()
    heel, toe = (point(model, f"{x}_r", Q[0])[0] for x in ("heel", "toe"))
    x, y, _ = center_of_mass(model, Q).T
    assert (x > heel + 0.01).all()
    assert (x < toe - 0.01).all()
    assert np.abs(y).max() < 1e-3


def test_the_person_rises_from_a_squat():
    model, _, Q = lift("61")
    angle = {name: np.degrees(Q[:, model.joint_index(name)]) for name in model.joint_names}
    head = point(model, "head_top", Q)[:, 2]
    assert angle["knee_flexion_r"][0] > 70.0
    assert angle["hip_flexion_r"][0] > 90.0
    assert (np.diff(head[:4]) > 0.0).all()
    assert head[3] > 1.70
    for name in angle:
        if name.endswith("_r"):
            assert np.abs(angle[name] - angle[f"{name[:-1]}l"]).max() < 0.1
    assert point(model, "grip_r", Q)[-1, 2] > point(model, "shoulder_r", Q)[-1, 2]


def test_both_persons_take_the_same_postures():
    plain, _, coarse = lift("61")
    fine, _, detailed = lift("108")
    for name in ("knee_flexion_r", "hip_flexion_l", "elbow_flexion_r", "global_tz"):
        a, b = coarse[:, plain.joint_index(name)], detailed[:, fine.joint_index(name)]
        assert np.abs(a - b).max() < 0.1


def test_a_guess_runs_through_the_postures_from_rest_to_rest():
    _, _, Q = lift("61")
    s, q = lift_guess(Q, 101)
    assert (s[0], s[-1]) == (0.0, 1.0)
    assert np.array_equal(q[[0, -1]], Q[[0, -1]])
    assert np.abs(q[1] - q[0]).max() < 1e-4
    along = 10.0 * 0.3**3 - 15.0 * 0.3**4 + 6.0 * 0.3**5
    assert q[30] == pytest.approx(Q[0] + 5.0 * along * (Q[1] - Q[0]))


def test_heights_run_from_the_ground_to_overhead_or_to_a_shelf():
    model, _, _ = lift("61")
    heights = lift_heights(model)
    assert heights[[0, -1]] == pytest.approx([0.15, 1.65], abs=1e-3)
    assert (np.diff(heights) > 0.1).all()
    shelf = lift_heights(model, 0.8)
    assert shelf[[0, -1]] == pytest.approx([0.15, 0.95])
    q = lift_postures(model, shelf)[-1]
    assert point(model, "box_rear_l", q)[2] == pytest.approx(0.8)
    for wrong in (0.0, np.inf, "top"):
        with pytest.raises(InputError, match="shelf_height: expected a number"):
            lift_heights(model, wrong)


def test_reaching_starts_upright_behind_a_box_on_the_ground():
    model, _, _ = lift("61")
    q = reaching_posture(model)
    assert np.abs(point(model, "box_front_r", q)[2]) < 1e-12
    assert point(model, "head_top", q)[2] > 1.73  # it is tilted back: the person is 1.75 m tall
    assert point(model, "box_rear_r", q)[0] > point(model, "toe_r", q)[0]


def test_the_box_may_turn_a_little():
    model, _, _ = lift("61")
    position = lift_limits(model).position
    assert np.array_equal(position[-3:], [(-TILT, TILT)] * 3)
    neck = model.joint_index("upper_neck_flexion")
    assert position[neck, 1] == HEAD_UP
    others = np.arange(model.n - 3) != neck
    assert np.array_equal(position[:-3][others], model.limits.position[:-3][others])


def test_refusals():
    model = lift("61")[0]
    with pytest.raises(InputError, match=r"no posture found with its centre at 2\.6 m"):
        lift_postures(model, [1.1, 2.6])
    with pytest.raises(InputError, match=r"expected at least 0\.15 m, where it stands .* got 0\.1"):
        lift_postures(model, [0.1])
    with pytest.raises(InputError, match="height of the box: expected a number, got 'high'"):
        lift_postures(model, ["high"])
    with pytest.raises(InputError, match=r"needs predyn\.models\.human_with_box"):
        lift_postures(models.human(), [1.0])
    assert lift_postures(model, []).shape == (0, 61)


@pytest.mark.verify
def test_seeded_people_lift_seeded_boxes():
    rng, failed = np.random.default_rng(3), []
    for k in range(40):
        height = rng.uniform(1.5, 1.95)
        options = {
            "height": height,
            "mass": rng.uniform(18.0, 33.0) * height**2,
            "sex": ("male", "female")[k % 2],
            "box_mass": rng.uniform(1.0, 30.0),
            "box_size": (rng.uniform(0.2, 0.4), rng.uniform(0.25, 0.5), rng.uniform(0.2, 0.4)),
            "handle_height": 0.18,
            "detailed": k % 3 == 0,
        }
        low = 0.5 * options["box_size"][2]
        top = 1.75 * height / 1.75 - 0.18 + low
        heights = low + (top - low) * np.array([0.0, 0.17, 0.4, 0.63, 0.87, 1.0])
        try:
            lift_postures(models.human_with_box(**options), heights)
        except InputError as error:
            failed.append((options, str(error)))
    assert not failed

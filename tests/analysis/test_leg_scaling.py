"""Scaling by joint centres recovers a person; poses stay within limits or are named."""

import warnings

import numpy as np
import pytest

import predyn
from analysis.walkers import person
from predyn.analysis import leg_lengths
from predyn.dynamics import frame_kinematics
from predyn.errors import DataWarning, InputError
from predyn.model import Model
from predyn.recordings.measurements import Measurements

CENTRES = {"HJC": "femur", "KJC": "tibia", "AJC": "foot"}


def standing(model: Model, q: np.ndarray) -> Measurements:
    markers = {
        letter + centre: np.tile(frame_kinematics(model, f"{link}_{side}", q).p, (5, 1))
        for centre, link in CENTRES.items()
        for letter, side in (("L", "l"), ("R", "r"))
    }
    for side in "lr":
        point = frame_kinematics(model, f"toe_{side}", q).p
        markers[f"toe_{side}"] = np.tile(point, (5, 1))
    return Measurements(0.01 * np.arange(5), markers=markers)


def test_links_are_found_by_their_joints() -> None:
    lengths = leg_lengths(person(hips=("flexion", "adduction", "rotation")))
    assert lengths == {
        "pelvis": ("LHJC", "RHJC", "hip_flexion_l", "hip_flexion_r"),
        "femur_l": ("LHJC", "LKJC", "knee_angle_l"),
        "tibia_l": ("LKJC", "LAJC", "ankle_angle_l"),
        "femur_r": ("RHJC", "RKJC", "knee_angle_r"),
        "tibia_r": ("RKJC", "RAJC", "ankle_angle_r"),
    }
    with pytest.raises(InputError, match="found no left and right hip joint"):
        leg_lengths(predyn.models.two_link())


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_person_is_recovered(seed: int) -> None:
    random = np.random.default_rng(seed)
    model, true = person(), person(scale=1.13)
    q = 0.15 * random.standard_normal(model.n)
    placed = predyn.place_markers(model, standing(true, q), {}, lengths=leg_lengths(model))
    assert list(placed.scales.values()) == pytest.approx([1.13] * 5, rel=1e-12)
    assert placed.pose["knee_angle_l"] == pytest.approx(q[model.joint_index("knee_angle_l")])
    assert max(placed.residuals["LHJC"], placed.residuals["RAJC"]) < 1e-9
    assert placed.model.p == pytest.approx(true.p, abs=1e-12)


def limited(model: Model) -> Model:
    knees = {f"knee_angle_{side}": (np.deg2rad(-140.0), np.deg2rad(5.0)) for side in "lr"}
    return model.with_limits(position=knees)


def test_limits_hold_and_the_joint_is_named() -> None:
    model = person()
    q = np.zeros(model.n)
    q[model.joint_index("knee_angle_l")] = np.deg2rad(40.0)  # bent forward
    static = standing(model, q)
    with pytest.warns(DataWarning) as caught:
        placed = predyn.place_markers(limited(model), static, {}, lengths=leg_lengths(model))
    text = " ".join(str(w.message) for w in caught)
    assert "joint 'knee_angle_l': the markers ask for 40 deg, outside its limits" in text
    low, high = limited(model).limits.position.T
    pose = np.array(list(placed.pose.values()))
    assert ((pose >= low) & (pose <= high)).all()
    assert placed.pose["knee_angle_l"] == pytest.approx(np.deg2rad(5.0))


def test_the_limited_pose_is_the_best_within_the_limits() -> None:
    """No pose inside the limits in a small neighbourhood has smaller residuals."""
    model = limited(person())
    random = np.random.default_rng(2)
    q = np.zeros(model.n)
    q[model.joint_index("knee_angle_l")] = np.deg2rad(30.0)
    static = standing(person(), q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        placed = predyn.place_markers(model, static, {}, lengths=leg_lengths(model))

    def cost(pose: np.ndarray) -> float:
        ends = standing(placed.model, pose).markers
        # the centres between two links count for both of them, and the hips for the pelvis too
        count = {"HJC": 2, "KJC": 2, "AJC": 1}
        total = sum(
            count.get(name[1:], 1) * np.sum((ends[name][0] - static.markers[name][0]) ** 2)
            for name in ends
        )
        return float(total)

    best = np.array(list(placed.pose.values()))
    low, high = model.limits.position.T
    least = cost(best)
    for step in (1e-2, 1e-3, 1e-4):
        for _ in range(200):
            near = np.clip(best + step * random.standard_normal(model.n), low, high)
            assert cost(near) >= least - 1e-12


def test_impossible_poses_are_named() -> None:
    model = person()
    q = np.zeros(model.n)
    q[model.joint_index("hip_flexion_r")] = np.deg2rad(170.0)
    with pytest.warns(DataWarning, match="'hip_flexion_r': 170 deg in the static pose is imposs"):
        predyn.place_markers(
            model, standing(model, q), {}, lengths=leg_lengths(model), pose={"pelvis_tilt": 0.0}
        )


def test_two_named_ends_are_checked() -> None:
    model = person()
    static = standing(model, np.zeros(model.n))
    with pytest.raises(InputError, match="ends are at the same place"):
        predyn.place_markers(
            model, static, {}, lengths={"pelvis": ("LHJC", "RHJC", *["hip_flexion_l"] * 2)}
        )
    with pytest.raises(InputError, match="unknown child joint or frame of link 'pelvis' 'hip'"):
        predyn.place_markers(
            model, static, {}, lengths={"pelvis": ("LHJC", "RHJC", "hip", "hip_flexion_r")}
        )

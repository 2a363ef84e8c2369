"""Left and right are found in names of many conventions, and only where both exist."""

import pytest

from predyn.analysis.sides import Pair, checked_pairs, find_pairs
from predyn.errors import InputError


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("hip_flexion_l", "hip_flexion_r", "hip_flexion"),
        ("knee_angle_l", "knee_angle_r", "knee"),
        ("l_ankle", "r_ankle", "ankle"),
        ("left_hip_pitch_joint", "right_hip_pitch_joint", "hip_pitch"),
        ("HipLeft", "HipRight", "Hip"),
        ("LeftUpLeg", "RightUpLeg", "UpLeg"),
        ("LKNE", "RKNE", "KNE"),
        ("L.Knee.Lat", "R.Knee.Lat", "Knee.Lat"),
        ("LKnee", "RKnee", "Knee"),
        ("leg_l_knee", "leg_r_knee", "leg_knee"),
        ("lt-shoulder", "rt-shoulder", "shoulder"),
        ("kneeL", "kneeR", "knee"),
        ("lhip", "rhip", "hip"),
        ("LEFT_FOOT", "RIGHT_FOOT", "FOOT"),
        ("l_arm_lower", "r_arm_lower", "arm_lower"),
    ],
)
def test_pairs_of_many_conventions(left: str, right: str, common: str) -> None:
    for names in ((left, "pelvis", right), (right, left)):
        assert find_pairs(names) == [Pair(common, left, right)]


def test_names_without_partner_are_no_pair() -> None:
    assert find_pairs(["roll", "lumbar", "hip_l", "bright_l", "right", "torso_r"]) == []


def test_a_name_is_in_one_pair_and_names_stay_different() -> None:
    names = ["hip_l", "hip_r", "l_hip", "r_hip", "l_l", "l_r", "r_l", "r_r"]
    pairs = find_pairs(names)
    used = [name for pair in pairs for name in (pair.left, pair.right)]
    assert sorted(used) == sorted(names)
    assert len({pair.name for pair in pairs}) == len(pairs)


def test_given_pairs_are_checked() -> None:
    names = ["a", "b"]
    assert checked_pairs({"hip": ("a", "b")}, names, "joint") == [Pair("hip", "a", "b")]
    with pytest.raises(InputError, match="unknown joint of pair 'hip' 'c'"):
        checked_pairs({"hip": ("a", "c")}, names, "joint")
    with pytest.raises(InputError, match="expected \\(left joint, right joint\\), got 'ab'"):
        checked_pairs({"hip": "ab"}, names, "joint")

"""The person with 102 coordinates against the one with 55 and against hand anthropometry."""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from oracles.pinocchio_oracle import pinocchio_model
from predyn import models
from predyn.dynamics import center_of_mass, frame_kinematics, inverse_dynamics, mass_matrix
from predyn.errors import InputError
from predyn.model.parts import unpack_inertia
from predyn.models.humans import mirror_map

PEOPLE = [
    (1.75, 75.0, "male"),
    (1.40, 35.0, "female"),
    (1.50, 75.0, "female"),
    (2.00, 145.0, "male"),
    (2.00, 61.0, "female"),
]
HUMAN = models.human(detailed=True)


def posture(model, degrees):
    q = np.zeros(model.n)
    for joint, angle in degrees.items():
        q[model.joint_index(joint)] = np.radians(angle)
    return q


def test_coordinates():
    names = HUMAN.joint_names
    assert HUMAN.n == 102
    kinds = ("spine", "lower_neck", "upper_neck")
    counts = [sum(name.startswith(kind) for name in names) for kind in kinds]
    assert counts == [18, 3, 3]
    digits = ("thumb_", "index_", "middle_", "ring_", "little_")
    for side in "rl":
        ours = [name for name in names if name.endswith(f"_{side}")]
        fingers = [name for name in ours if name.startswith(digits)]
        assert len(fingers) == 20
        assert len(ours) == 7 + 9 + 20
    assert np.isfinite(HUMAN.limits.position[6:]).all()
    assert np.isfinite(HUMAN.limits.effort[6:]).all()


@pytest.mark.parametrize(("height", "mass", "sex"), PEOPLE)
def test_straight_spine_neck_and_fingers_have_the_dynamics_of_the_simple_person(height, mass, sex):
    """In all coordinates but those of spine and upper neck, up to the moments of the hands."""
    fine, plain = (models.human(height, mass, sex, detailed=x) for x in (True, False))
    assert fine.inertia[:, 0].sum() == pytest.approx(mass, rel=1e-14)
    shared = [name for name in plain.joint_names if not name.startswith(("spine", "upper_neck"))]
    at, there = ([model.joint_index(x) for x in shared] for model in (plain, fine))
    rng = np.random.default_rng(4)
    low, high = np.nan_to_num(plain.limits.position[at].T, posinf=0.5, neginf=-0.5)
    q, Q = np.zeros(plain.n), np.zeros(fine.n)
    q[at] = Q[there] = rng.uniform(low, high)
    assert center_of_mass(fine, Q) == pytest.approx(center_of_mass(plain, q), abs=1e-14)
    ours, theirs = mass_matrix(fine, Q)[np.ix_(there, there)], mass_matrix(plain, q)[np.ix_(at, at)]
    # two moments of each hand are exchanged, since the flat hand lies in another plane
    moments = np.diag(unpack_inertia(plain.inertia[plain.link_index("hand_r")])[2])
    assert np.abs(ours - theirs).max() < 2.0 * abs(moments[0] - moments[1])
    others = [k for k, name in enumerate(shared) if name.startswith(("hip", "knee", "lower_neck"))]
    assert np.abs(ours - theirs)[:, others].max() < 1e-13 * mass
    for name in ("fingertip_r", "grip_l", "head_top", "rucksack", "l5s1", "neck_base", "toe_l"):
        place = frame_kinematics(plain, name, q).p
        assert frame_kinematics(fine, name, Q).p == pytest.approx(place, abs=1e-14)


def test_the_rest_of_hand_and_head_are_bodies():
    """Moments of every link are positive and obey the triangle inequality, for all people."""
    for height, mass, sex in PEOPLE:
        model = models.human(height, mass, sex, detailed=True)
        for link in ("hand_r", "hand_l", "head", "neck", "spine1", "spine6", "little_distal_r"):
            kg, centre, inertia = unpack_inertia(model.inertia[model.link_index(link)])
            low, middle, high = np.linalg.eigvalsh(inertia)
            assert kg > 0.0
            assert low > 0.0
            assert low + middle > high
            assert np.abs(centre).max() < 0.12 * height / 1.75
    palm = HUMAN.inertia[HUMAN.link_index("hand_r"), 0]
    assert palm == pytest.approx(0.8 * 0.0061 * 75.0)


def test_lengths_of_fingers_follow_buchholz():
    """Shares of the length of the hand; ours is measured by de Leva, so within 5 %."""
    hand = 0.1879 / 1.741 * 1.75
    shares = {"index": (0.245, 0.143), "ring": (0.244, 0.165), "little": (0.204, 0.117)}
    shares |= {"middle": (0.266, 0.170), "thumb": (0.251, 0.196)}
    for digit, lengths in shares.items():
        names = ("metacarpal", "proximal", "distal") if digit == "thumb" else (
            "proximal", "middle", "distal")  # fmt: skip
        for name, length in zip(names[1:], lengths, strict=True):
            joint = HUMAN.link_index(f"{digit}_{name}_l")
            assert np.linalg.norm(HUMAN.p[joint]) == pytest.approx(length * hand, rel=0.05)


def test_dynamics_agree_with_pinocchio():
    model = models.human(1.63, 68.0, "female", detailed=True)
    model = replace(model, damping=np.zeros(102), stiffness=np.zeros(102), ligaments=None)
    twin = pinocchio_model(model)
    data = twin.createData()
    rng = np.random.default_rng(5)
    low, high = np.nan_to_num(model.limits.position.T, posinf=0.5, neginf=-0.5)
    q, v, a = rng.uniform(low, high), rng.normal(size=102), rng.normal(size=102)
    torques = pinocchio.rnea(twin, data, q, v, a)
    assert np.abs(inverse_dynamics(model, q, v, a) - torques).max() < 1e-12 * np.abs(torques).max()


def test_mirrored_coordinates_are_a_mirrored_person():
    numbers, signs = mirror_map(HUMAN.joint_names)
    rng = np.random.default_rng(6)
    low, high = np.nan_to_num(HUMAN.limits.position.T, posinf=0.5, neginf=-0.5)
    q = rng.uniform(low, high)
    other, flip, swap = signs * q[numbers], np.array([1.0, -1.0, 1.0]), {"_r": "_l", "_l": "_r"}
    links = [x for x in HUMAN.link_names if x[-2:] in swap]
    for name in (*links, *(x.name for x in HUMAN.frames)):
        twin = name[:-2] + swap.get(name[-2:], name[-2:])
        expected = flip * frame_kinematics(HUMAN, name, q).p
        assert np.abs(frame_kinematics(HUMAN, twin, other).p - expected).max() < 1e-13


@pytest.mark.parametrize(
    ("joint", "link", "axis", "sign"),
    [
        ("index_mcp_flexion_r", "index_distal_r", 1, 1),  # palms face the thighs
        ("index_mcp_flexion_l", "index_distal_l", 1, -1),
        ("ring_pip_flexion_r", "ring_distal_r", 1, 1),
        ("index_abduction_r", "index_distal_r", 0, 1),
        ("little_abduction_r", "little_distal_r", 0, -1),
        ("thumb_abduction_r", "thumb_distal_r", 1, 1),
        ("thumb_abduction_l", "thumb_distal_l", 1, -1),
        ("thumb_flexion_r", "thumb_distal_r", 0, -1),
        ("upper_neck_bending", "eyes", 1, -1),
        ("spine6_flexion", "head_top", 0, 1),
    ],
)
def test_signs(joint, link, axis, sign):
    rest = frame_kinematics(HUMAN, link, np.zeros(102)).p
    moved = frame_kinematics(HUMAN, link, posture(HUMAN, {joint: 10.0})).p - rest
    assert sign * moved[axis] > 1e-3


def test_six_joints_share_the_range_of_four():
    plain = models.human()
    for kind in ("bending", "flexion", "rotation"):
        whole, parts = (
            sum(model.limits.position[model.joint_index(f"spine{k}_{kind}")] for k in range(1, n))
            for model, n in ((plain, 5), (HUMAN, 7))
        )
        assert parts == pytest.approx(whole)
    low, high = np.degrees(HUMAN.limits.position[HUMAN.joint_index("ring_mcp_flexion_l")])
    assert (low, high) == pytest.approx((-45.0, 90.0))  # AAOS


def test_locked_groups():
    lock = ("fingers", "neck", "clavicles", "wrists", "upper spine")
    assert models.human(detailed=True, lock="fingers").n == 62
    simple = models.human(detailed=True, lock=lock)
    assert simple.n == 62 - 6 - 4 - 4 - 9
    assert [x for x in simple.joint_names if x.endswith("_bending")] == [
        "spine1_bending", "spine2_bending", "spine3_bending"]  # fmt: skip
    with pytest.raises(InputError, match="this person has no fingers; give detailed=True"):
        models.human(lock="fingers")
    with pytest.raises(InputError, match="detailed: expected true or false, got 'yes'"):
        models.human(detailed="yes")
    strong = models.human(detailed=True, strength={"arms": 2.0}).limits.effort
    j = HUMAN.joint_index("index_mcp_flexion_r")
    assert strong[j] == pytest.approx(2.0 * HUMAN.limits.effort[j])

"""The person against published tables, other programs' dynamics, and how people are built."""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from oracles.pinocchio_oracle import pinocchio_model
from predyn import models
from predyn.config import load_task
from predyn.dynamics import inverse_dynamics, mass_matrix
from predyn.errors import FileError, InputError
from predyn.model.mass_check import link_poses
from predyn.model.parts import unpack_inertia
from predyn.models.humans import height_and_mass, mirror_map
from predyn.models.humans.dimensions import dimensions_of
from predyn.models.humans.measures import measure
from predyn.models.humans.people import Person

WALKING = ("neck", "clavicles", "wrists", "upper spine")
PEOPLE = [
    (1.75, 75.0, "male"),
    (1.50, 40.0, "female"),
    (1.50, 75.0, "female"),
    (1.63, 68.0, "female"),
    (1.95, 130.0, "male"),
    (1.95, 66.0, "female"),
    (1.50, 40.0, "male"),
]
LEG = ("hip_flexion", "hip_adduction", "hip_rotation", "knee_flexion", "ankle_dorsiflexion",
       "ankle_inversion", "forefoot_extension")  # fmt: skip
ARM = ("clavicle_elevation", "clavicle_protraction", "shoulder_flexion", "shoulder_adduction",
       "shoulder_rotation", "elbow_flexion", "forearm_pronation", "wrist_flexion",
       "wrist_deviation")  # fmt: skip
NECK = ("lower_neck_flexion", "lower_neck_bending", "lower_neck_rotation", "upper_neck_flexion",
        "upper_neck_rotation")  # fmt: skip
WALK = {"hip_flexion_r": 30, "knee_flexion_r": 5, "hip_flexion_l": -18, "knee_flexion_l": 45,
        "ankle_dorsiflexion_l": -18, "forefoot_extension_l": 40, "shoulder_flexion_r": -20,
        "shoulder_flexion_l": 20, "elbow_flexion_r": 20, "elbow_flexion_l": 25,
        "shoulder_adduction_r": -8, "shoulder_adduction_l": -8, "global_rotation_1": 6,
        "global_rotation_2": -5, "spine1_rotation": -5}  # fmt: skip
LIFT = {"global_rotation_3": -70, "hip_flexion_r": 100, "hip_flexion_l": 100, "knee_flexion_r": 90,
        "knee_flexion_l": 90, "ankle_dorsiflexion_r": 18, "ankle_dorsiflexion_l": 18,
        "spine1_flexion": 15, "spine2_flexion": 15, "shoulder_flexion_r": 80,
        "shoulder_flexion_l": 80, "shoulder_adduction_r": -20, "shoulder_adduction_l": -20,
        "elbow_flexion_r": 10, "elbow_flexion_l": 10}  # fmt: skip


def posture(model, degrees):
    q = np.zeros(model.n)
    for joint, angle in degrees.items():
        q[model.joint_index(joint)] = np.radians(angle)
    return q


def frame_point(model, name, q):
    frame = model.frame(name)
    R, p = link_poses(model, q)
    return R[frame.link] @ frame.p + p[frame.link]


def centre_of_mass(model, q):
    R, p = link_poses(model, q)
    moments = model.inertia[:, :1] * p + np.einsum("nij,nj->ni", R, model.inertia[:, 1:4])
    return moments.sum(axis=0) / model.inertia[:, 0].sum()


def test_coordinates_are_in_the_published_order():
    model = models.human()
    base = ["global_tx", "global_ty", "global_tz", *(f"global_rotation_{k}" for k in (1, 2, 3))]
    spine = [f"spine{k}_{x}" for k in range(1, 5) for x in ("bending", "flexion", "rotation")]
    legs = [f"{joint}_{side}" for side in "rl" for joint in LEG]
    arms = [f"{joint}_{side}" for side in "rl" for joint in ARM]
    assert list(model.joint_names) == [*base, *legs, *spine, *arms, *NECK]
    assert model.n == 55
    walking = models.human(lock=WALKING)
    assert walking.n == 36
    assert not [name for name in walking.joint_names if "neck" in name or "clav" in name]
    assert models.human(lock="knee_flexion_r").n == 54
    assert np.isinf(model.limits.position[:6]).all()
    assert np.isfinite(model.limits.position[6:]).all()
    assert np.isfinite(model.limits.effort[6:]).all()


def test_segments_of_a_man_follow_de_leva():
    """Shares of 75 kg, and lengths, centres and radii of 1.741 m scaled to 1.75 m."""
    model, k = models.human(), 1.75 / 1.741
    rows = {  # share, length (m), centre from the joint upwards, radii about x, y, z
        "pelvis": (0.1117, 0.1457, 1 - 0.6115, (0.615, 0.551, 0.587)),
        "thigh_l": (0.1416, 0.4222, -0.4095, (0.329, 0.329, 0.149)),
        "shank_r": (0.0433, 0.4403, -0.4395, (0.251, 0.246, 0.102)),
        "upper_arm_l": (0.0271, 0.2817, -0.5772, (0.285, 0.269, 0.158)),
        "forearm_r": (0.0162, 0.2689, -0.4574, (0.276, 0.265, 0.121)),
        "hand_r": (0.0061, 0.0862, -0.79, (0.628, 0.513, 0.401)),
    }
    for link, (share, length, com, radii) in rows.items():
        mass, centre, inertia = unpack_inertia(model.inertia[model.link_index(link)])
        assert mass == pytest.approx(75.0 * share, rel=1e-12)
        assert centre == pytest.approx([0.0, 0.0, com * k * length], abs=1e-12)
        expected = mass * (np.array(radii) * k * length) ** 2
        assert np.diag(inertia) == pytest.approx(expected, rel=1e-9)
    head = model.inertia[model.link_index("head")]
    assert head[0] == pytest.approx(0.0694 * 75.0)
    foot = model.inertia[[model.link_index("rearfoot_r"), model.link_index("forefoot_r")], 0]
    assert foot == pytest.approx([0.8, 0.2275])
    assert 0.55 * 1.75 < centre_of_mass(model, posture(model, {}))[2] + 0.937 < 0.575 * 1.75


def test_women_keep_their_masses_above_a_higher_hip_joint():
    """De Leva's hip joint of women is moved up; the centre of the thigh stays above the knee."""
    model = models.human(1.735, 61.9, "female")
    knee = -model.frame("knee_r").p[2]
    assert knee == pytest.approx(0.4222 / 1.741 * 1.735)
    mass, centre, inertia = unpack_inertia(model.inertia[model.link_index("thigh_r")])
    assert mass == pytest.approx(0.1478 / 0.9999 * 61.9)
    assert knee + centre[2] == pytest.approx((1 - 0.3612) * 0.3685)
    assert inertia[0, 0] == pytest.approx(mass * (0.369 * 0.3685) ** 2)
    _, pelvis, _ = unpack_inertia(model.inertia[model.link_index("pelvis")])
    assert 0.0 < pelvis[2] == pytest.approx((1 - 0.492) * 0.1815 - (knee - 0.3685))


@pytest.mark.parametrize(("height", "mass", "sex"), PEOPLE)
def test_bodies_add_up(height, mass, sex):
    model = models.human(height, mass, sex)
    assert model.inertia[:, 0].sum() == pytest.approx(mass, rel=1e-12)
    q = np.zeros(model.n)
    contacts = [frame_point(model, point.name, q) for point in model.contact_points]
    ground = contacts[0][2]
    assert np.ptp([point[2] for point in contacts]) < 1e-12
    assert frame_point(model, "head_top", q)[2] - ground == pytest.approx(height, abs=1e-9)
    hips = frame_point(model, "hip_r", q)[2] - ground
    assert 0.52 < hips / height < 0.545
    half = 1.0 * abs(frame_point(model, "shoulder_r", q)[1])
    arm = half - frame_point(model, "fingertip_r", q)[2] + frame_point(model, "shoulder_r", q)[2]
    assert 2.0 * arm == pytest.approx(measure("span", sex, height, mass), rel=0.06)
    foot = contacts[3][0] - contacts[0][0]
    assert foot < measure("foot_length", sex, height, mass)
    volume = sum(_volume(shape.triangles) for shape in model.shapes)
    assert 1.0 < 1000.0 * volume / mass < 1.45  # people have 1 kg/l; overlaps count twice


def _volume(mesh):
    a, b, c = (mesh.points[mesh.faces[:, k]].astype(float) for k in range(3))
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]])
    forward = set(map(tuple, edges.tolist()))
    assert len(forward) == len(edges)  # every edge once in each direction: closed, one orientation
    assert forward == {(v, u) for u, v in forward}
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert volume > 0.0
    return volume


def test_dynamics_agree_with_pinocchio():
    model = models.human(1.63, 68.0, "female", load_hands=8.0, load_back=12.0)
    model = replace(model, damping=np.zeros(55), stiffness=np.zeros(55), ligaments=None)
    twin = pinocchio_model(model)
    data = twin.createData()
    rng = np.random.default_rng(5)
    low, high = np.nan_to_num(model.limits.position.T, posinf=0.5, neginf=-0.5)
    for _ in range(3):
        q, v, a = low + (high - low) * rng.random(55), rng.normal(size=55), rng.normal(size=55)
        upper = np.triu(pinocchio.crba(twin, data, q))
        reference = upper + np.triu(upper, 1).T
        M = mass_matrix(model, q)
        assert np.abs(M - reference).max() < 1e-12 * np.abs(reference).max()
        torques = pinocchio.rnea(twin, data, q, v, a)
        found = inverse_dynamics(model, q, v, a)
        assert np.abs(found - torques).max() < 1e-12 * np.abs(torques).max()


def test_mirrored_coordinates_are_a_mirrored_person():
    model = models.human(1.63, 68.0, "female")
    numbers, signs = mirror_map(model.joint_names)
    rng = np.random.default_rng(6)
    low, high = np.nan_to_num(model.limits.position.T, posinf=0.5, neginf=-0.5)
    q = low + (high - low) * rng.random(55)
    other = signs * q[numbers]
    flip = np.array([1.0, -1.0, 1.0])
    assert np.abs(centre_of_mass(model, other) - flip * centre_of_mass(model, q)).max() < 1e-14
    swap = {"_r": "_l", "_l": "_r"}
    for frame in model.frames:
        twin = frame.name[:-2] + swap.get(frame.name[-2:], frame.name[-2:])
        expected = flip * frame_point(model, frame.name, q)
        assert np.abs(frame_point(model, twin, other) - expected).max() < 1e-14
    limits = model.limits
    for pairs in (limits.position, limits.effort):
        mirrored = np.sort(signs[:, None] * pairs[numbers], axis=1)
        assert np.array_equal(np.nan_to_num(mirrored[6:]), np.nan_to_num(pairs[6:]))


@pytest.mark.parametrize(
    ("joint", "frame", "axis", "sign"),
    [
        ("global_rotation_1", "toe_r", 1, 1),
        ("global_rotation_2", "head_top", 1, -1),
        ("global_rotation_3", "head_top", 0, -1),
        ("hip_flexion_r", "knee_r", 0, 1),
        ("hip_adduction_r", "knee_r", 1, 1),
        ("hip_adduction_l", "knee_l", 1, -1),
        ("hip_rotation_r", "toe_r", 1, 1),
        ("knee_flexion_l", "ankle_l", 0, -1),
        ("ankle_dorsiflexion_r", "toe_r", 2, 1),
        ("ankle_inversion_r", "ball_medial_r", 2, 1),
        ("forefoot_extension_r", "toe_r", 2, 1),
        ("spine1_bending", "head_top", 1, -1),
        ("spine1_flexion", "head_top", 0, 1),
        ("spine1_rotation", "eyes", 1, 1),
        ("clavicle_elevation_r", "shoulder_r", 2, 1),
        ("clavicle_elevation_l", "shoulder_l", 2, 1),
        ("clavicle_protraction_l", "shoulder_l", 0, 1),
        ("shoulder_flexion_r", "elbow_r", 0, 1),
        ("shoulder_adduction_r", "elbow_r", 1, 1),
        ("elbow_flexion_l", "wrist_l", 0, 1),
        ("wrist_flexion_r", "fingertip_r", 1, 1),  # palms face the thighs
        ("wrist_flexion_l", "fingertip_l", 1, -1),
        ("wrist_deviation_r", "fingertip_r", 0, -1),
        ("lower_neck_flexion", "eyes", 2, -1),
        ("upper_neck_rotation", "eyes", 1, 1),
    ],
)
def test_signs(joint, frame, axis, sign):
    model = HUMAN
    q = posture(model, {joint: 10.0})
    moved = frame_point(model, frame, q) - frame_point(model, frame, np.zeros(model.n))
    assert sign * moved[axis] > 1e-3


HUMAN = models.human()


def test_internal_rotation_of_the_shoulder_and_pronation_turn_inward():
    bent = {"elbow_flexion_r": 90.0, "elbow_flexion_l": 90.0}
    straight = posture(HUMAN, bent)
    turned = posture(HUMAN, bent | {"shoulder_rotation_r": 30.0, "shoulder_rotation_l": 30.0})
    for side, inward in (("r", 1.0), ("l", -1.0)):
        name = f"wrist_{side}"
        moved = frame_point(HUMAN, name, turned) - frame_point(HUMAN, name, straight)
        assert inward * moved[1] > 0.1
    low, high = np.degrees(HUMAN.limits.position[HUMAN.joint_index("shoulder_rotation_r")])
    assert (round(low), round(high)) == (-90, 70)  # AAOS: external 90, internal 70 degrees


def test_strength():
    """Anderson's coefficients times mass, g and height; the others grow with mass times height."""

    def effort(model, joint):
        return model.limits.effort[model.joint_index(joint)]

    assert effort(HUMAN, "knee_flexion_r") == pytest.approx([-209.9, 112.0], abs=0.05)
    assert effort(HUMAN, "hip_flexion_l") == pytest.approx([-207.3, 145.5], abs=0.05)
    assert effort(HUMAN, "ankle_dorsiflexion_r") == pytest.approx([-122.3, 42.5], abs=0.05)
    old = models.human(1.60, 60.0, "female", age=">65")
    scale = 60.0 * 9.81 * 1.60
    assert effort(old, "knee_flexion_l") == pytest.approx([-0.124 * scale, 0.060 * scale])
    assert effort(old, "hip_flexion_l") == pytest.approx([-0.138 * scale, 0.081 * scale])
    heavy = models.human(1.75, 100.0)
    assert effort(heavy, "elbow_flexion_r") == pytest.approx(
        effort(HUMAN, "elbow_flexion_r") * 100.0 / 75.0
    )
    weak = models.human(strength={"arms": 0.5})
    assert effort(weak, "elbow_flexion_r") == pytest.approx(0.5 * effort(HUMAN, "elbow_flexion_r"))
    assert np.array_equal(effort(weak, "spine1_flexion"), effort(HUMAN, "spine1_flexion"))
    woman = models.human(1.75, 75.0, "female")
    ratio = effort(woman, "elbow_flexion_r") / effort(HUMAN, "elbow_flexion_r")
    # Laubach 1976: 55.8 % at the mass times height of average women, which is 73 % of that of men
    assert ratio * (67.758 * 1.62847) / (85.524 * 1.75621) == pytest.approx(0.558, abs=1e-3)
    assert effort(models.human(strength=0.8), "knee_flexion_r") == pytest.approx(
        0.8 * effort(HUMAN, "knee_flexion_r")
    )


def test_passive_torques():
    """Joint-limit torques in OpenSim's signs, in which flexion of the knee is negative."""
    opensim = {  # K1, K2, K3, K4, theta1, theta2, and the sign of the coordinate there
        "hip_flexion_r": (-2.44, 5.05, 1.51, -21.88, -0.6981, 1.81, 1.0),
        "knee_flexion_l": (-6.09, 33.94, 11.03, -11.33, -2.4, 0.13, -1.0),
        "ankle_dorsiflexion_l": (-2.03, 38.11, 0.18, -12.12, -0.74, 0.52, 1.0),
        "ankle_inversion_r": (-60.21, 16.32, 60.21, -16.32, -0.65, 0.65, 1.0),
        "hip_rotation_l": (-0.03, 14.94, 0.03, -14.94, -0.92, 0.92, 1.0),
    }
    slack = replace(HUMAN, ligaments=None)
    rest = np.zeros(55)
    for joint, (k1, k2, k3, k4, low, high, sign) in opensim.items():
        for degrees in (-15.0, 0.0, 15.0):
            q = posture(HUMAN, {joint: degrees})
            j = HUMAN.joint_index(joint)
            found = inverse_dynamics(HUMAN, q, rest, rest) - inverse_dynamics(slack, q, rest, rest)
            there = sign * q[j]
            torque = k1 * np.exp(k2 * (there - high)) + k3 * np.exp(k4 * (there - low))
            assert -found[j] == pytest.approx(sign * torque, rel=1e-9, abs=1e-10)
    half = models.human(1.75, 50.0).ligaments[HUMAN.joint_index("knee_flexion_r")]
    whole = HUMAN.ligaments[HUMAN.joint_index("knee_flexion_r")]
    assert half == pytest.approx(whole * [2.0 / 3.0, 1.0, 1.0])
    assert HUMAN.stiffness[HUMAN.joint_index("forefoot_extension_l")] == pytest.approx(20.0)
    assert HUMAN.damping.tolist() == [0.0] * 6 + [0.1] * 49


def test_percentiles_of_soldiers():
    assert height_and_mass(5, "female") == pytest.approx((1.525, 51.3))
    assert height_and_mass(50, "male") == pytest.approx((1.755, 84.6))
    assert height_and_mass(95, "male") == pytest.approx((1.870, 110.695))
    heights = [height_and_mass(p, "female")[0] for p in (1, 5, 30, 50, 70, 95, 99)]
    assert heights == sorted(heights)
    small = models.human(percentile=5, sex="female")
    assert small.inertia[:, 0].sum() == pytest.approx(51.3)
    assert dimensions_of(Person(1.525, 51.3, "female")).thigh == pytest.approx(
        -small.frame("knee_r").p[2]
    )
    tall = models.human(height=1.9, percentile=50)
    assert tall.inertia[:, 0].sum() == pytest.approx(84.6)
    assert "percentile 5 of soldiers" in small.notes[0]


def test_loads():
    model = models.human(load_hands=10.0, load_back=20.0, lock=WALKING)
    assert model.inertia[:, 0].sum() == pytest.approx(105.0)
    q = np.zeros(36)
    hands = sum(5.0 * frame_point(model, f"grip_{side}", q) for side in "rl")
    expected = (75.0 * centre_of_mass(models.human(lock=WALKING), q) + hands
                + 20.0 * frame_point(model, "rucksack", q)) / 105.0  # fmt: skip
    assert centre_of_mass(model, q) == pytest.approx(expected, abs=1e-12)
    assert "carries 20 kg on the back" in model.notes


def smallest_singular_value(model, q):
    """Of the mass matrix, with every coordinate scaled to a diagonal of one."""
    M = mass_matrix(model, q)
    size = np.sqrt(np.diag(M))
    return np.linalg.svd(M / np.outer(size, size), compute_uv=False)[-1]


def test_gimbal_lock_is_far_from_walking_and_lifting():
    """How near the axes of a joint of three are to one plane: the sine of the middle angle."""
    upright = smallest_singular_value(HUMAN, np.zeros(55))
    for degrees in (WALK, LIFT):
        q = posture(HUMAN, degrees)
        low, high = HUMAN.limits.position.T
        assert ((q >= low - 1e-12) & (q <= high + 1e-12)).all()
        assert smallest_singular_value(HUMAN, q) > 0.1 * upright
        for joint in ("global_rotation_2", "hip_adduction_r", "shoulder_adduction_r"):
            assert np.cos(q[HUMAN.joint_index(joint)]) > 0.9
    for joint in ("global_rotation_2", "shoulder_adduction_r"):
        assert smallest_singular_value(HUMAN, posture(HUMAN, {joint: -90.0})) < 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"height": 1.2}, "height of a person: expected 1.4 to 2 m, got 1.2"),
        ({"height": 175}, r"got 175; in m that is 1.75"),
        ({"mass": 20.0}, "mass of a person: expected 35 to 145 kg, got 20"),
        ({"height": 1.95, "mass": 50.0}, r"body mass index .* from 15 to 40 kg/m\^2, got 13.1"),
        ({"height": "tall"}, "height of a person: expected a number, got 'tall'"),
        ({"mass": float("nan")}, "mass of a person: expected a finite number"),
        ({"sex": "man"}, "unknown sex of a person 'man'"),
        ({"sex": 1}, "sex of a person: expected a name"),
        ({"age": "30"}, "unknown age of a person '30'"),
        ({"percentile": 0}, "percentile of a person: expected 1 to 99, got 0"),
        ({"percentile": 5, "height": 1.7, "mass": 70.0}, "omit one of the three"),
        ({"lock": ("necks",)}, "group or joint in lock 'necks': did you mean 'neck'"),
        ({"lock": 3}, "lock: expected names"),
        ({"strength": 0.0}, "strength of legs: expected a factor above 0"),
        ({"strength": {"arm": 0.7}}, "group of joints in strength 'arm'"),
        ({"load_hands": -1.0}, "load_hands of a person: expected 0 to 200 kg, got -1"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError, match=message):
        models.human(**arguments)


def test_task_files_build_people(tmp_path):
    from predyn.results.descriptions import model_text

    path = tmp_path / "task.toml"
    path.write_text(
        'name = "t"\n[model]\nbuiltin = "human"\nheight = 1.6\nmass = 62.0\nsex = "female"\n'
        'age = "55-65"\nlock = ["neck", "clavicles", "wrists", "upper spine"]\nload_back = 5.0\n'
        "strength = { arms = 0.9 }\n[[phases]]\nduration = 1.0\n"
    )
    model = load_task(path).model
    assert model.n == 36
    assert model.inertia[:, 0].sum() == pytest.approx(67.0)
    text = model_text(model)
    assert "woman of 1.6 m and 62 kg, BMI 24.2 kg/m^2, strength of age 55-65" in text
    assert "thigh (each)" in text
    path.write_text(path.read_text().replace("height = 1.6", "height = 1.1"))
    with pytest.raises(FileError, match=r"line 3.*height of a person: expected 1.4 to 2 m"):
        load_task(path)


def test_bodies_are_stored_with_results():
    """Surfaces, contact points, ligaments and notes are stored with results."""
    from predyn.load.bodies import bodies_of, drawn_triangles
    from predyn.model.stored import tree_of_model

    model = models.human(lock=WALKING)
    assert not bodies_of(model).missing
    assert sum(len(shape.triangles.faces) for shape in model.shapes) < 20_000
    tree = tree_of_model(model, drawn_triangles(model))
    assert len(tree["meshes"]["triangles"]) == len(model.shapes) == 23
    assert len(tree["contact_points"]) == 8
    assert tree["notes"] == model.notes

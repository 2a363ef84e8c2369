"""The ready-made models against closed forms, and the random trees against their definition."""

import math

import numpy as np
import pytest

from predyn import models
from predyn.errors import InputError
from predyn.model import PRISMATIC, REVOLUTE, SCREW
from predyn.model.mass_check import link_poses, plain_mass_matrix

ROUNDING = 1e-15


def mass_matrix(model, q):
    return plain_mass_matrix(model, q)[0]


def frame_point(model, name, q):
    frame = model.frame(name)
    R, p = link_poses(model, q)
    return R[frame.link] @ frame.p + p[frame.link]


def potential(model, q):
    R, p = link_poses(model, q)
    moments = model.inertia[:, :1] * p + np.einsum("nij,nj->ni", R, model.inertia[:, 1:4])
    return -float(model.gravity @ moments.sum(axis=0))


def test_two_link_equals_the_closed_form_of_the_paper():
    model, q = models.two_link(), np.array([0.4, -1.3])
    m, inertia, L, com = 0.5, 0.1, 0.4, 0.2
    m12 = inertia + m * com**2 + m * L * com * np.cos(q[1])
    m11 = 2 * inertia + m * com**2 + m * (L**2 + com**2 + 2 * L * com * np.cos(q[1]))
    expected = [[m11, m12], [m12, inertia + m * com**2]]
    assert np.abs(mass_matrix(model, q) - expected).max() < ROUNDING
    assert model.gravity.tolist() == [0.0, -9.8062, 0.0]
    assert model.limits.effort.tolist() == [[-10.0, 10.0]] * 2
    a, b = q[0], q[0] + q[1]
    tip = [L * (np.cos(a) + np.cos(b)), L * (np.sin(a) + np.sin(b)), 0.0]
    assert np.abs(frame_point(model, "tip", q) - tip).max() < ROUNDING
    height = com * np.sin(a) + L * np.sin(a) + com * np.sin(b)
    assert abs(potential(model, q) - m * 9.8062 * height) < 4 * ROUNDING
    assert models.two_link(gravity=(0, 0, 0)).gravity.tolist() == [0.0, 0.0, 0.0]
    assert model.dh.a.tolist() == [0.4, 0.4]


@pytest.mark.parametrize("offset", [math.pi / 2, 0.0])
def test_prismatic_revolute(offset):
    model, q = models.prismatic_revolute(offset), np.array([0.3, 0.8])
    m, inertia, com = 0.5, 0.1, 0.2
    m12 = m * com * np.cos(q[1] + offset)
    expected = [[2 * m, m12], [m12, inertia + m * com**2]]
    assert np.abs(mass_matrix(model, q) - expected).max() < ROUNDING
    assert model.kind.tolist() == [PRISMATIC, REVOLUTE]
    assert model.gravity.tolist() == [0.0, 0.0, 0.0]
    assert model.dh.theta.tolist() == [math.pi / 2, offset]
    # the slide is along z; the turning link stays in the y-z plane
    tip = frame_point(model, "tip", q)
    along = 0.4 * np.sin(q[1] + offset)
    assert np.abs(tip - [0.0, 0.4 * np.cos(q[1] + offset), 0.7 + along]).max() < ROUNDING
    assert models.prismatic_revolute().dh.theta[1] == math.pi / 2


def test_acrobots_hang_and_stand():
    single, branched = models.acrobot(), models.branched_acrobot()
    for model, rods in ((single, [0.5, 1.5]), (branched, [0.5, 1.5, 1.5])):
        lowest = np.array([-np.pi / 2] + [0.0] * (model.n - 1))
        assert abs(potential(model, lowest) + 9.81 * sum(rods)) < 32 * ROUNDING
        assert abs(potential(model, -lowest) - 9.81 * sum(rods)) < 32 * ROUNDING
    assert branched.parent.tolist() == [-1, 0, 0]
    c = np.cos(0.7)
    expected = [[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]]
    assert np.abs(mass_matrix(single, [0.2, 0.7]) - expected).max() < 4 * ROUNDING
    assert np.abs(frame_point(branched, "tip3", [0.0, 1.0, np.pi / 2]) - [1, 1, 0]).max() < ROUNDING


def test_cart_pole_equals_the_closed_form_of_the_paper():
    model, q = models.cart_pole(), np.array([0.3, 0.4])
    m, length, total = 0.3, 0.5, 1.3
    across = -m * length * np.sin(q[1])
    expected = [[total, across], [across, m * length**2]]
    assert np.abs(mass_matrix(model, q) - expected).max() < ROUNDING
    assert abs(potential(model, q) - m * 9.81 * length * np.sin(q[1])) < 4 * ROUNDING
    assert np.abs(frame_point(model, "tip", [0.3, -np.pi / 2]) - [0.3, -0.5, 0]).max() < ROUNDING
    assert model.kind.tolist() == [PRISMATIC, REVOLUTE]
    assert model.limits.position[0].tolist() == [-2.0, 2.0]
    assert model.limits.effort.tolist() == [[-20.0, 20.0], [-np.inf, np.inf]]


HANG = np.array([-np.pi / 2, 0.0, 0.0, 0.0, 0.0])


def test_gymnast_matches_the_table():
    model = models.gymnast()
    assert model.parent.tolist() == [-1, 0, 1, 1, 3]  # head and thighs on the trunk
    assert model.joint_names == ("grip", "shoulder", "neck", "hip", "knee")
    assert abs(model.inertia[:, 0].sum() - 73.0) < 1e-13
    arm, trunk, thigh, leg = 0.6368, 0.5155, 0.4222, 0.6921
    toes = frame_point(model, "toes", HANG)
    assert np.abs(toes - [0.0, -(arm + trunk + thigh + leg), 0.0]).max() < 4 * ROUNDING
    vertex = frame_point(model, "vertex", HANG)
    assert np.abs(vertex - [0.0, 0.0878 + 0.2429 - arm, 0.0]).max() < 4 * ROUNDING
    # parts with their distances from the bar, hanging straight
    parts = [
        (2 * 0.0061, 0.0862 * 0.21, 0.0862 * 0.513),
        (2 * 0.0162, 0.0862 + 0.2689 * 0.5426, 0.2689 * 0.265),
        (2 * 0.0271, 0.3551 + 0.2817 * 0.4228, 0.2817 * 0.269),
        (0.4346, arm + 0.5155 * 0.431, 0.5155 * 0.358),
        (0.0694, arm - 0.0878 - 0.2429 * 0.4998, 0.2429 * 0.315),
        (2 * 0.1416, arm + trunk + 0.4222 * 0.4095, 0.4222 * 0.329),
        (2 * 0.0433, arm + trunk + thigh + 0.434 * 0.4459, 0.434 * 0.249),
        (2 * 0.0137, arm + trunk + thigh + 0.434 + 0.2581 * 0.4415, 0.2581 * 0.245),
    ]
    lowest = sum(share * distance for share, distance, _ in parts)
    assert abs(potential(model, HANG) + 73.0 * 9.81 * lowest) < 1e-12
    swing = 73.0 * sum(share * (d**2 + radius**2) for share, d, radius in parts)
    assert abs(mass_matrix(model, HANG)[0, 0] - swing) < 1e-12


@pytest.mark.parametrize(
    ("joint", "angle", "frame", "forward"),
    [(1, 0.5, "toes", 1), (2, -0.5, "vertex", 1), (3, 0.5, "toes", 1), (4, -0.5, "toes", -1)],
)
def test_gymnast_bends_as_documented(joint, angle, frame, forward):
    model, q = models.gymnast(), HANG.copy()
    q[joint] = angle
    assert forward * frame_point(model, frame, q)[0] > 0.05
    lower, upper = model.limits.position[joint]
    assert lower <= angle <= upper
    assert not lower <= -5 * angle <= upper  # nobody bends as far the other way
    weak, strong = np.abs(model.limits.effort[joint])
    assert 0.0 < weak < np.inf
    assert 0.0 < strong < np.inf


def test_pendulum_chain():
    model = models.pendulum_chain(4)
    assert model.joint_names == ("joint1", "joint2", "joint3", "joint4")
    assert frame_point(model, "tip", np.zeros(4)).tolist() == [4.0, 0.0, 0.0]
    # stretched out it turns like one rod of length 4: 4 * 4^2 / 3
    assert abs(mass_matrix(model, np.zeros(4))[0, 0] - 64 / 3) < 32 * ROUNDING
    with pytest.raises(InputError, match="1 to 1000 links, got 0"):
        models.pendulum_chain(0)


def test_manutec_numbers():
    model = models.manutec_r3()
    q = np.array([0.9, -0.4, 0.0])
    M = mass_matrix(model, q)
    arm3 = 5.41 + 60.3 * 0.202**2
    arm2 = 2.58 + 56.5 * 0.205**2
    straight = 5.41 + 60.3 * 0.702**2  # arm 3 about joint 2 with q3 = 0
    assert abs(M[2, 2] - (4.68 + arm3)) < 1e-13
    assert abs(M[1, 1] - (57.33 + arm2 + straight)) < 1e-13
    assert abs(M[1, 2] - (0.078 + arm3 + 60.3 * 0.5 * 0.202)) < 1e-13
    upright = mass_matrix(model, [0.3, 0.0, 0.0])[0, 0]
    about_z = 0.64 + 56.5 * 0.172**2 + 0.39 + 60.3 * 0.028**2
    assert abs(upright - (14.3325 + 1.16 + about_z)) < 1e-13
    loaded = mass_matrix(models.manutec_r3(payload=15.0), q)
    assert abs(loaded[2, 2] - M[2, 2] - 15 * 0.98**2) < 1e-13
    assert model.limits.effort[:, 1].tolist() == [945.0, 1890.0, 540.0]
    assert model.limits.velocity[:, 1].tolist() == [3.0, 1.5, 5.2]
    assert model.limits.position[:, 0].tolist() == [-2.97, -2.01, -2.86]
    assert frame_point(model, "load", np.zeros(3)).tolist() == [0.0, 0.0, 1.48]
    with pytest.raises(InputError, match="payload mass"):
        models.manutec_r3(payload=-1.0)


def drawn(n, seed, depth_like):
    """Parents and revolute flags as the benchmark trees are drawn."""
    rng = np.random.default_rng(seed)
    parents, revolute = [], []
    for i in range(n):
        if i == 0:
            parents.append(-1)
        elif rng.random() < depth_like:
            parents.append(i - 1)
        else:
            above, j = [], i - 1
            while j >= 0:
                above.append(j)
                j = parents[j]
            parents.append(above[int(rng.integers(0, len(above)))])
        revolute.append(rng.random() < 0.85)
    return parents, revolute


@pytest.mark.parametrize(("n", "depth_like"), [(1, 0.8), (6, 1.0), (30, 0.8), (55, 0.85)])
def test_random_tree_has_the_drawn_topology(n, depth_like):
    model = models.random_tree(n, 1, depth_like)
    parents, revolute = drawn(n, 1, depth_like)
    assert model.parent.tolist() == parents
    assert (model.kind == REVOLUTE).tolist() == revolute
    assert model.link_names[0] == "l0"
    assert model.joint_names[-1] == f"j{n - 1}"


def test_random_tree_options():
    one, two = models.random_tree(20, 3), models.random_tree(20, 3)
    assert np.array_equal(one.inertia, two.inertia)
    assert np.array_equal(one.axis, two.axis)
    assert not np.array_equal(one.inertia, models.random_tree(20, 4).inertia)
    kinds = models.random_tree(60, 0).kind
    assert {REVOLUTE, PRISMATIC, SCREW} == set(kinds.tolist())
    assert set(models.random_tree(60, 0, kinds=("revolute",)).kind.tolist()) == {REVOLUTE}
    no_screw = models.random_tree(60, 0, kinds=("revolute", "prismatic"))
    assert set(no_screw.kind.tolist()) == {REVOLUTE, PRISMATIC}
    assert np.array_equal(no_screw.kind == REVOLUTE, kinds == REVOLUTE)
    assert (models.random_tree(9, 0, axes="z").axis == [0, 0, 1]).all()
    assert (models.random_tree(60, 0).pitch != 0).sum() == (kinds == SCREW).sum()
    with pytest.raises(InputError, match="unknown kind 'ball'"):
        models.random_tree(3, 0, kinds=("ball",))
    with pytest.raises(InputError, match="unknown axes 'x'"):
        models.random_tree(3, 0, axes="x")
    with pytest.raises(InputError, match="1 to 1000"):
        models.random_tree(0, 0)


def test_every_ready_made_model_is_listed():
    assert set(models.__all__) >= {"two_link", "prismatic_revolute", "acrobot", "branched_acrobot",
                                   "cart_pole", "gymnast", "manutec_r3", "pendulum_chain",
                                   "random_tree"}  # fmt: skip

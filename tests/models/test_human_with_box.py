"""A person and a box in one model: two trees, two loops."""

import numpy as np
import pytest

from predyn import models
from predyn.config import load_task
from predyn.dynamics import frame_kinematics, mass_matrix
from predyn.errors import InputError
from predyn.models.humans import mirror_map

MODEL = models.human_with_box(12.0, (0.3, 0.5, 0.2), 0.15)


def test_the_box_is_a_free_cuboid_beside_the_person():
    assert MODEL.n == 61
    assert models.human_with_box(detailed=True).n == 108
    assert MODEL.joint_names[:55] == models.human().joint_names
    assert list(MODEL.joint_names[55:]) == [
        *("box_tx", "box_ty", "box_tz"),
        *(f"box_rotation_{k}" for k in (1, 2, 3)),
    ]
    M = mass_matrix(MODEL, np.zeros(61))
    expected = 12.0 / 12.0 * np.array([0.3**2 + 0.5**2, 0.5**2 + 0.2**2, 0.3**2 + 0.2**2])
    assert np.diag(M)[55:] == pytest.approx([12.0, 12.0, 12.0, *expected])
    assert not M[:55, 55:].any()
    assert np.array_equal(M[:55, :55], mass_matrix(models.human(), np.zeros(55)))
    assert np.isinf(MODEL.limits.position[55:]).all()
    assert MODEL.inertia[:, 0].sum() == pytest.approx(87.0)


def test_handles_corners_and_grips():
    q = np.zeros(61)
    q[55:58] = 0.4, 0.0, 0.1
    for side, y in (("r", -0.25), ("l", 0.25)):
        assert frame_kinematics(MODEL, f"handle_{side}", q).p == pytest.approx([0.4, y, 0.15])
        assert frame_kinematics(MODEL, f"box_front_{side}", q).p == pytest.approx([0.55, y, 0.0])
        assert frame_kinematics(MODEL, f"box_rear_{side}", q).p == pytest.approx([0.25, y, 0.0])
    assert MODEL.patches["box"] == ("box_front_r", "box_rear_r", "box_front_l", "box_rear_l")
    assert [(x.name, x.kind, x.frame_a, x.frame_b) for x in MODEL.loops] == [
        ("grip_r", "point", "grip_r", "handle_r"),
        ("grip_l", "point", "grip_l", "handle_l"),
    ]
    assert not models.human_with_box(grips=False).loops
    locked = models.human_with_box(lock=("neck", "wrists"))
    assert (locked.n, len(locked.loops)) == (52, 2)


def test_a_mirrored_box():
    numbers, signs = mirror_map(MODEL.joint_names)
    q = np.random.default_rng(2).normal(0.0, 0.3, 61)
    flip = np.array([1.0, -1.0, 1.0])
    for name, twin in (("handle_r", "handle_l"), ("box_front_l", "box_front_r")):
        there = frame_kinematics(MODEL, twin, signs * q[numbers]).p
        assert there == pytest.approx(flip * frame_kinematics(MODEL, name, q).p, abs=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"box_mass": 0.0}, "box_mass: expected 0.1 to 100 kg, got 0"),
        ({"box_mass": "heavy"}, "box_mass: expected a number"),
        ({"box_size": (0.3, 0.4)}, "box_size: expected depth, width and height in m"),
        ({"box_size": (0.3, 0.4, 3.0)}, "box_size: expected 0.05 to 1 m, got 3"),
        ({"handle_height": 0.4}, "handle_height: expected 0 to 0.3 m, got 0.4"),
        ({"grips": 1}, "grips: expected true or false"),
        ({"height": 1.0}, "height of a person"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError, match=message):
        models.human_with_box(**arguments)


def test_task_files_build_people_with_boxes(tmp_path):
    path = tmp_path / "task.toml"
    path.write_text(
        'name = "t"\n[model]\nbuiltin = "human_with_box"\nbox_mass = 5.0\n'
        'box_size = [0.2, 0.3, 0.2]\nhandle_height = 0.1\nlock = ["neck"]\ngrips = false\n'
        "[[phases]]\nduration = 1.0\n"
    )
    model = load_task(path).model
    assert model.n == 56
    assert "box: 5 kg, 0.2 m deep, 0.3 m wide, 0.2 m high" in model.notes

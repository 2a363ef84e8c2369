"""Wrong input to the gait analysis: one message, and no curve that replaces another."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.walkers import walking
from predyn import analysis
from predyn.analysis import Event, find_gait, find_pairs, gait_cycles, load_norms
from predyn.analysis.norms import Norms
from predyn.errors import FileError, InputError
from predyn.model.builder import ModelBuilder
from predyn.recordings.measurements import Measurements

ROWS = [f"{p},{p},1" for p in range(0, 101, 10)]
HEADER = "percent,knee_angle_mean,knee_angle_sd"


@pytest.fixture(scope="module")
def motion():
    return walking()


@pytest.fixture
def norms(tmp_path):
    def load(*lines):
        path = tmp_path / "norms.csv"
        path.write_text("\n".join(lines) + "\n")
        return load_norms(path)

    return load


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norms": "norms.csv"}, "norms: expected those of load_norms"),
        ({"events": 3}, "events: expected predyn.analysis.Event"),
        ({"events": [Event("a", "left", "toe off")]}, "events: expected times from 0"),
        ({"feet": {"left": "foot_r", "right": "foot_l"}}, "left and right look exchanged"),
        ({"feet": {"left": "pelvis", "right": "foot_r"}}, "'pelvis', given as the left foot"),
        ({"pairs": {3: ("knee_angle_l", "knee_angle_r")}}, "pairs: expected names"),
        ({"pairs": {" ": ("knee_angle_l", "knee_angle_r")}}, "pairs: expected names"),
    ],
)
def test_bad_options(motion, options, message):
    with pytest.raises(InputError, match=message):
        gait_cycles(motion, **options)


@pytest.mark.parametrize("given", [None, 3, "walk"])
def test_only_motions_have_gait(given):
    with pytest.raises(InputError, match="expected an Estimate, a Solution or"):
        find_gait(given)


def test_forces_without_samples_are_none(motion):
    empty = tuple(x._replace(t=x.t[:0], force=x.force[:0]) for x in motion.forces)
    given = gait_cycles(replace(motion, forces=empty))
    assert {source for cycle in given.cycles for source in cycle.sources} == {"kinematics"}


def test_joints_with_one_plain_name_keep_their_curves(motion):
    """A joint "knee_joint" in the middle does not replace the curves of both knees."""
    builder = ModelBuilder("three knees", gravity=motion.model.gravity)
    tree = motion.model
    for k, (link, joint) in enumerate(zip(tree.link_names, tree.joint_names, strict=True)):
        parent = tree.link_names[tree.parent[k]] if tree.parent[k] >= 0 else "world"
        kind = ("revolute", "prismatic")[int(k < 2)]
        builder.add_link(link, parent, joint, kind, axis=tree.axis[k], origin=tree.p[k], mass=5.0,
                         inertia=0.1 * np.eye(3))  # fmt: skip
    builder.add_link("tail", "pelvis", "knee_joint", mass=1.0, inertia=0.1 * np.eye(3))
    model = builder.build()
    places = [model.joint_index(name) for name in tree.joint_names]
    wider = {}
    for field in ("q", "v", "moments", "reactions"):
        values = getattr(motion, field)
        wider[field] = np.zeros((len(values), model.n, *values.shape[2:]))
        wider[field][:, places] = values
    given = gait_cycles(replace(motion, model=model, **wider))
    plain = gait_cycles(motion)
    assert np.allclose(given.curve("knee_angle").left, plain.curve("knee_angle").left)
    assert not given.curve("knee_joint_angle").left.any()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((HEADER, *ROWS[:5], "50,50,-1", *ROWS[6:]), "'knee_angle_sd': expected standard dev"),
        ((HEADER, *ROWS, "200,1,1"), "expected numbers that grow from 0 to 100, got 0 to 200"),
        ((HEADER, "-50,1,1", *ROWS), "expected numbers that grow from 0 to 100, got -50 to 100"),
        ((HEADER, "", "", "0,x,1", *ROWS[1:]), "norms.csv, line 4: expected a number, got 'x'"),
        (("percent," + "x" * 200_000 + "_mean", *ROWS), "line 1: not a CSV table"),
    ],
)
def test_bad_norms(norms, lines, message):
    with pytest.raises(FileError, match=message):
        norms(*lines)


def test_two_columns_for_one_curve(norms, motion):
    rows = [f"{row},2,3" for row in ROWS]
    bands = norms(HEADER + ",kne_angle_mean,kne_angle_sd", *rows)
    assert isinstance(bands, Norms)
    with pytest.raises(FileError, match="'kne_angle_mean': another column also belongs to"):
        gait_cycles(motion, norms=bands)


@pytest.mark.parametrize("path", [None, 3])
def test_norms_need_a_path(path):
    with pytest.raises(InputError, match="expected the path of a file"):
        load_norms(path)


def test_very_long_names_have_no_sides():
    assert find_pairs(["l_" * 20_000, "r_" * 20_000, "a_l", "a_r"])[0].name == "a"


def test_joint_centres_need_a_recording():
    data = Measurements([0.0], {}, {"LASI": [[0.0, 0.0, 0.0]]})
    with pytest.raises(InputError, match="expected Measurements, got int"):
        analysis.add_joint_centres(3)
    with pytest.raises(InputError, match="names: expected"):
        analysis.add_joint_centres(data, names=3)
    with pytest.raises(InputError, match="unknown marker_set '3'"):
        analysis.add_joint_centres(data, marker_set=3)


def test_markers_of_two_subjects_are_not_mixed():
    markers = ["A:LASI", "B:LASI", "B:RASI"]
    with pytest.raises(InputError, match="'A:LASI' and 'B:LASI' could both be the left asis"):
        analysis.find_landmarks(markers)
    chosen = analysis.find_landmarks(markers, names={"left asis": "B:LASI"})
    assert (chosen.left["asis"], chosen.right["asis"]) == ("B:LASI", "B:RASI")

"""Plain mistakes in the recording of a walking adult are named.

The recording is not part of this repository; PREDYN_SHARED names the folder that has it.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import DataWarning, FileError, InputError
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.force_links import plan_forces
from predyn.estimate.matching import match
from predyn.load.urdf import load_urdf
from predyn.model import Frame
from predyn.recordings.loading import load_measurements
from predyn.recordings.measurements import Measurements

FOLDER = Path(os.environ.get("PREDYN_SHARED", "")) / "data" / "recordings"
pytestmark = pytest.mark.skipif(
    not (FOLDER / "gait10.urdf").is_file(), reason="PREDYN_SHARED names no folder with recordings"
)
LINKS = {"ground": "calcn_r", "1_ground": "calcn_l"}
LEG = {
    "THI": ("femur", 0.05, -0.2), "KNE": ("femur", 0.0, -0.4), "SHA": ("tibia", 0.05, -0.15),
    "ANK": ("tibia", 0.0, -0.4), "HEE": ("talus", -0.05, -0.04), "TOE": ("talus", 0.14, -0.04),
}  # fmt: skip
PLACES = {"BACK": ("torso", -0.1, 0.1), "STRN": ("torso", 0.1, 0.3), "SACR": ("pelvis", -0.1, 0.0)}
PLACES |= {
    f"{side}{name}": (f"{link}_{side.lower()}", x, z)
    for side in "RL"
    for name, (link, x, z) in LEG.items()
}


@pytest.fixture(scope="module")
def model():
    bare = load_urdf(FOLDER / "gait10.urdf")
    frames = tuple(
        Frame(name, bare.link_index(link), np.eye(3), np.array([x, 0.0, z]))
        for name, (link, x, z) in PLACES.items()
    )
    return replace(bare, frames=bare.frames + frames)


@pytest.fixture(scope="module")
def walk():
    motion = load_measurements(FOLDER / "subject01_walk_IK.mot", axes="x-zy")
    plates = load_measurements(FOLDER / "subject01_walk_grf.mot", axes="x-zy")
    return replace(motion, forces=plates.forces)


@pytest.fixture(scope="module")
def markers(model, walk):
    """Markers with 2 mm of noise."""
    rng = np.random.default_rng(0)
    q = np.stack([walk.angles[joint] for joint in model.joint_names], axis=1)
    return {
        name: frame_kinematics(model, name, q).p + 2e-3 * rng.normal(size=(len(q), 3))
        for name in PLACES
    }


def warnings_of(model, data):
    """All warnings of an estimate, with its status and message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        made = estimate_torques(
            model, data, forces=LINKS, order=2, independent="links", verbose=False
        )
    return "\n".join((*made.warnings, made.status, made.message))


def marked(walk, markers, **changes):
    return Measurements(walk.t, markers=markers | changes, forces=walk.forces)


def text_of(name, old, new):
    text = (FOLDER / name).read_text()
    assert old in text
    return text.replace(old, new, 1)


def test_01_degrees_declared_as_radians(model, tmp_path):
    path = tmp_path / "walk.mot"
    path.write_text(text_of("subject01_walk_IK.mot", "inDegrees=yes", "inDegrees=no"))
    found = match(model, load_measurements(path, axes="x-zy")).warnings
    assert any("implausible speed of hip_flexion_r" in text for text in found)
    assert any("check the units" in text for text in found)


def test_04_mirrored_axes():
    with pytest.raises(InputError, match="'xzy' mirrors the recording; expected a rotation"):
        load_measurements(FOLDER / "subject01_walk_IK.mot", axes="xzy")


def test_07_08_wrong_names(model, walk):
    with pytest.raises(
        InputError, match="unknown frame or link 'calcn_rr': did you mean 'calcn_r'"
    ):
        plan_forces(model, walk, {"ground": "calcn_rr"}, [])
    with pytest.raises(InputError, match="unknown force 'grond': did you mean 'ground'"):
        plan_forces(model, walk, {"grond": "calcn_r"}, [])


def test_12_a_column_is_missing(model, walk):
    left = {name: x for name, x in walk.angles.items() if name != "knee_angle_r"}
    found = warnings_of(model, replace(walk, angles=left))
    assert "unidentifiable" in found
    assert "do not determine the position of knee_angle_r" in found


def test_13_half_a_second_is_missing(model, walk):
    kept = (walk.t < 1.0) | (walk.t > 1.5)
    part = {name: x[kept] for name, x in walk.angles.items()}
    found = match(model, replace(walk, t=walk.t[kept], angles=part)).warnings
    assert any(text.startswith("no data from 0.983 to 1.52 s") for text in found)


def test_14_time_in_milliseconds(model, walk):
    found = match(model, replace(walk, t=1e3 * walk.t)).warnings
    assert any("is the time in milliseconds?" in text for text in found)


@pytest.mark.filterwarnings("ignore::predyn.errors.DataWarning")
def test_21_missing_forces(walk, tmp_path):
    """Zero where nothing touches, an error during a load."""
    size = np.linalg.norm(walk.forces["ground"].force, axis=1)
    lines = (FOLDER / "subject01_walk_grf.mot").read_text().splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("time")) + 1
    path = tmp_path / "forces.mot"
    for row, idle in ((int(np.argmin(size)), True), (int(np.argmax(size)), False)):
        cells = lines[head + row].split("\t")
        changed = [*lines[: head + row], "\t".join([cells[0], *["nan"] * 3, *cells[4:]])]
        path.write_text("\n".join([*changed, *lines[head + row + 1 :]]) + "\n")
        if idle:
            made = load_measurements(path)
            assert made.forces["ground"].force[row].tolist() == [0.0, 0.0, 0.0]
            assert any("'ground': 1 rows without values" in note for note in made.notes)
        else:
            with pytest.raises(FileError, match="force 'ground': x of its force is missing"):
                load_measurements(path)


def test_22_millimetres_declared_as_metres(model, walk, markers):
    found = match(model, marked(walk, {name: 1e3 * x for name, x in markers.items()})).warnings
    assert any("implausible speed of" in x and "check the units" in x for x in found)


@pytest.mark.parametrize(
    ("spell", "hint"),
    [
        (lambda name: f"Subject:{name}", r"rename=\{'Subject:\*': '\*'\}, or --rename 'Subject:"),
        (lambda name: name.lower(), r"rename=\{'back': 'BACK'\}, or --rename OLD=NEW"),
    ],
)
def test_23_other_names(model, walk, markers, spell, hint):
    data = Measurements(walk.t, markers={spell(name): x for name, x in markers.items()})
    with pytest.raises(InputError, match=rf"{spell('BACK')} \(similar: BACK\).*{hint}"):
        match(model, data)
    found = match(model, replace(data, angles=walk.angles)).warnings
    assert any("not in model" in text and "rename=" in text for text in found)


def test_24_zeros_for_gaps(model, walk, markers):
    knee = markers["RKNE"].copy()
    knee[40:60] = 0.0
    found = match(model, marked(walk, markers, RKNE=knee)).warnings
    assert any("marker RKNE: jumps by 0.6" in text and "NaN" in text for text in found)


def test_25_26_markers_in_the_wrong_place(model, walk, markers):
    swapped = marked(walk, markers, RSHA=markers["RANK"], RANK=markers["RSHA"])
    assert re.search(r"markers RSHA \(0\.2. m\), RANK \(0\.2. m\)", warnings_of(model, swapped))
    other = marked(walk, markers, RTOE=markers["LTOE"])
    assert "RTOE (0.5" in warnings_of(model, other)


def test_27_a_marker_that_jumps(model, walk, markers):
    toe = markers["RTOE"].copy()
    toe[70:75] += [0.5, 0.0, 0.3]
    found = warnings_of(model, marked(walk, markers, RTOE=toe))
    assert "RTOE" in found
    assert "jumps by" in found or "are that far" in found

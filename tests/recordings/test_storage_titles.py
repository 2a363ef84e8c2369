"""Storage files: counts in the header, units, and files that are not positions."""

import re

import numpy as np
import pytest

from predyn.errors import DataWarning, FileError
from predyn.recordings.loading import load_measurements


@pytest.fixture
def load(tmp_path):
    def load(title, names, header="inDegrees=no\n"):
        path = tmp_path / "trial.sto"
        rows = "".join("\t".join([f"{k / 10}", *["0.5"] * len(names)]) + "\n" for k in range(3))
        path.write_text(f"{title}\n{header}endheader\n" + "\t".join(["time", *names]) + f"\n{rows}")
        return load_measurements(path)

    return load


LEG = ["hip_flexion_r", "knee_angle_r", "pelvis_tx"]
OTHERS = [
    ("Speeds", LEG, "speeds"),
    ("subject01_Kinematics_u.sto", LEG, "speeds"),
    ("subject01_Kinematics_dudt", LEG, "accelerations"),
    ("Accelerations", LEG, "accelerations"),
    ("controls", LEG, "controls"),
    ("ModelControls", LEG, "controls"),
    ("EMG", ["ch1", "ch2"], "EMG"),
    ("walk_emg_filtered", ["ch1", "ch2"], "EMG"),
    ("Activations", ["a", "b"], "muscle activations"),
    ("Inverse Dynamics Generalized Forces", ["hip_moment", "pelvis_tx_force"], "joint moments"),
    ("x", ["hip_r_moment", "knee_r_moment"], "joint moments"),
    ("x", ["soleus_r", "vasti_r", "gastroc_r", "hamstrings_l", "tib_ant_r"], "EMG, activations or"),
    ("x", ["glut_med1_r", "bifemlh_r", "rect_fem_r", "med_gas_r"], "EMG, activations or controls"),
    ("x", ["SOL", "GasMed_L", "TibAnt_R", "RF"], "EMG, activations or controls"),
    ("x", ["soleus_r.activation", "soleus_r.fiber_length"], "muscle states"),
    ("x", ["/jointset/knee/a/speed", "/jointset/hip/b/speed"], "speeds"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "names", "what"), OTHERS)
def test_files_that_are_not_positions(load, title, names, what):
    with pytest.raises(FileError, match=re.escape(f"but this file looks like {what}")):
        load(title, names)


@pytest.mark.parametrize(
    "title",
    ["Coordinates", "walking_trial_3", "states", "Speed 1.4 coordinates", "subject01_Kinematics_q",
     "control_03_walk", "controls_walk_01", "walk_slow_speed", "speed_1.mot", "length 3",
     "name subject01_walk1_IK.mot", "Inverse Kinematics Results"],
)  # fmt: skip
def test_positions(load, title):
    assert list(load(title, LEG).angles) == LEG


@pytest.mark.parametrize(
    "names",
    [
        [
            "lumbar_extension",
            "arm_flex_r",
            "elbow_flex_r",
            "pro_sup_r",
            "wrist_dev_r",
            "mtp_angle_r",
        ],
        ["pelvis_tilt", "subtalar_angle_r", "hip_adduction_l", "neck_bending", "shoulder_elv"],
        ["gasket", "solder", "rectangle", "sart", "tflex"],
    ],
)
def test_names_of_coordinates_are_not_taken_for_muscles(load, names):
    assert list(load("x", names).angles) == names


def test_states_with_positions_are_read(load):
    names = ["/jointset/hip/hip/value", "/jointset/hip/hip/speed", "/forceset/soleus_r/activation"]
    assert list(load("Speeds", names).angles) == ["hip"]
    names = ["knee", "hip", "knee_u", "hip_u", *(f"m{k}.activation" for k in range(9))]
    assert list(load("states", names).angles) == ["knee", "hip"]


def test_wrong_counts_are_noted(load):
    made = load("x", LEG, "inDegrees=no\nnRows=2\nnColumns=9\ndatarows=x\n")
    assert "the header announces nrows=2, but the table has 3 rows" in made.notes
    assert "the header announces ncolumns=9, but the table has 4 columns" in made.notes
    assert "the header announces datarows=x, but the table has 3 rows" in made.notes
    with pytest.warns(DataWarning, match=r"nrows=8, but the table has 3 rows: is the file trunc"):
        assert len(load("x", LEG, "inDegrees=no\nnRows=8\n").t) == 3


def test_files_without_angles_need_no_unit_of_angles(load):
    made = load("x", ["pelvis_tx", "pelvis_ty"], "")
    assert made.angles["pelvis_tx"] == pytest.approx(np.full(3, 0.5))
    with pytest.raises(FileError, match=r"got no such line; state .* units='deg', or --units deg"):
        load("x", LEG, "")

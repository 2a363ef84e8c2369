"""TRC and storage files, written by hand; and messages about paths and axes."""

import re
import warnings

import numpy as np
import pytest

from predyn.errors import DataWarning, FileError, InputError
from predyn.recordings.loading import load_measurements
from recordings.c3d_writing import write_c3d

DEGREE = np.pi / 180.0
TRC = """PathFileType\t4\t(X/Y/Z)\ttrial.trc
DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames
100.00\t100.00\t3\t2\tmm\t100.00\t1\t3
Frame#\tTime\tLASI\t\t\ttoe 1\t\t
\t\tX1\tY1\tZ1\tX2\tY2\tZ2

1\t0.00\t1\t2\t3\t4\t5\t6
2\t0.01\t\t\t\t7\t8\t9
3\t0.02\t10\t11\t12\t-1e1\tNaN\t15
"""
MOT = """walking
version=1
nRows=2
nColumns=4
inDegrees=yes

endheader
time\tknee_r\tpelvis_tx\thip
0.0\t90\t0.5\t180
0.1\t45\t0.6\tnan
"""
STO = """states
inDegrees=no
endheader
time /jointset/leg/knee/value /jointset/leg/knee/speed hip/value /forceset/vas/activation hip_moment
0 1 2 3 4 5
1 6 7 8 9 10
"""
GROUND = """forces
nRows=2
endheader
time 1_ground_force_vx 1_ground_force_vy 1_ground_force_vz \
1_ground_force_px 1_ground_force_py 1_ground_force_pz \
1_ground_torque_x 1_ground_torque_y 1_ground_torque_z
0 1 2 3 4 5 6 7 8 9
1 1 2 3 4 5 6 7 8 9
"""


@pytest.fixture
def load(tmp_path):
    def load(text, suffix, **options):
        path = tmp_path / f"trial{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_measurements(path, **options)

    return load


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_trc(load, end):
    made = load(TRC.replace("\n", end), ".trc")
    assert made.t.tolist() == [0.0, 0.01, 0.02]
    assert list(made.markers) == ["LASI", "toe 1"]
    lasi = np.array([[1, 2, 3], [np.nan] * 3, [10, 11, 12]]) / 1000.0
    toe = np.array([[4, 5, 6], [7, 8, 9], [-10, np.nan, 15]]) / 1000.0
    assert made.markers["LASI"] == pytest.approx(lasi, nan_ok=True)
    assert made.markers["toe 1"] == pytest.approx(toe, nan_ok=True)


def test_trc_axes(load):
    turned = load(TRC, ".trc", axes="zxy")
    assert turned.markers["LASI"][0] == pytest.approx([0.003, 0.001, 0.002])
    assert "axes rotated: x, y, z of the model are 'zxy' of the file" in turned.notes


def test_trc_warns_of_zeros_and_of_the_rate(load):
    text = TRC.replace("\t\t\t\t7", "\t0\t0\t0\t7").replace("100.00\t100", "50\t50", 1)
    with pytest.warns(DataWarning) as caught:
        load(text, ".trc")
    messages = "\n".join(str(warning.message) for warning in caught)
    assert "exactly (0, 0, 0) in some rows: 'LASI'; leave the cells empty" in messages
    assert "line 3: DataRate is 50 Hz, the times have 100 Hz" in messages


BAD_TRC = [
    ("PathFileType", "Other", "line 1: expected a TRC table of markers that begins with"),
    ("\tUnits", "\tThing", "line 2: expected DataRate, NumFrames, NumMarkers, Units"),
    ("\tmm\t", "\tinch\t", "line 3: Units: expected m, cm or mm, got 'inch'"),
    ("\tmm\t", "\tdeg\t", "line 3: Units: expected m, cm or mm, got 'deg'"),
    ("\tmm\t", "\t\t", "line 3: Units: expected m, cm or mm, got ''"),
    ("\t3\t2\t", "\t3\t5\t", "line 4: NumMarkers in line 3 is 5, got 2 names in line 4"),
    ("\t3\t2\t", "\t3.5\t2\t", "line 3: NumFrames: expected a whole number, got '3.5'"),
    ("\t3\t2\t", "\t9\t2\t", "line 9: line 3 announces 9 frames, got 3: the file is truncated"),
    ("Frame#", "Number", "line 4: expected 'Frame#', 'Time' and names of markers"),
    ("LASI\t\t\t", "LASI\t\tA\t", "line 4: expected three columns for each marker, got 'A'"),
    ("LASI\t\t\ttoe 1\t\t", "", "line 4: expected names of markers after"),
    ("\tZ2", "", "line 5: expected X1, Y1, Z1, ... for 2 markers, got 5 cells"),
    ("\t8\t9", "\t8", "line 8: expected 8 cells, got 7"),
    ("\tNaN\t15", "", "line 9: expected 8 cells, got 6; the file may be truncated"),
    ("\t8\t9", "\t8\tx", "line 8: column 'toe 1.z': expected a number, got 'x'"),
    ("0.01", "0.00", "line 8: time repeats: 0 s after 0 s"),
    ("0.02", "", "line 9: the time is missing"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_TRC)
def test_bad_trc(load, old, new, message):
    assert old in TRC
    with pytest.raises(FileError, match=re.escape(message)):
        load(TRC.replace(old, new, 1), ".trc")


def test_trc_that_is_truncated_or_another_format(load, tmp_path):
    for size in range(0, len(TRC) - 4, 7):
        with pytest.raises(FileError):
            load(TRC[:size], ".trc")
    path = tmp_path / "marker.c3d"
    write_c3d(path, {"A": np.ones((3, 3))})
    with pytest.raises(FileError, match=r"this looks like a C3D file; name it \.c3d"):
        load(path.read_bytes(), ".trc")
    with pytest.raises(FileError, match="a header without rows"):
        load(TRC[: TRC.index("\n1\t")], ".trc")


def test_motion_in_degrees(load):
    made = load(MOT, ".mot")
    assert made.angles["knee_r"] == pytest.approx([90.0 * DEGREE, 45.0 * DEGREE])
    assert made.angles["pelvis_tx"].tolist() == [0.5, 0.6]
    assert made.angles["hip"] == pytest.approx([np.pi, np.nan], nan_ok=True)
    assert "converted from deg: 'knee_r', 'hip'" in made.notes
    assert "translations, in m: 'pelvis_tx'" in made.notes
    assert load(MOT.replace("=yes", "=no"), ".MOT").angles["knee_r"].tolist() == [90.0, 45.0]


def test_states(load):
    made = load(STO, ".sto")
    assert {name: x.tolist() for name, x in made.angles.items()} == {
        "knee": [1.0, 6.0],
        "hip": [3.0, 8.0],
    }
    left = "'/jointset/leg/knee/speed', '/forceset/vas/activation', 'hip_moment'"
    assert f"skipped: {left}" in made.notes


@pytest.mark.parametrize(
    ("label", "name"),
    [("1_ground_", "1_ground"), ("ground_", "ground"), ("R_ground_", "R_ground")],
)
def test_ground_forces(load, label, name):
    made = load(GROUND.replace("1_ground_", label), ".mot")
    force = made.forces[name]
    assert force.force[0].tolist() == [1.0, 2.0, 3.0]
    assert force.point[0].tolist() == [4.0, 5.0, 6.0]
    assert force.moment[1].tolist() == [7.0, 8.0, 9.0]
    assert not made.angles
    turned = load(GROUND, ".mot", axes="x-zy").forces["1_ground"]
    assert turned.force[0].tolist() == [1.0, -3.0, 2.0]


def test_ground_forces_with_a_side(load):
    text = GROUND.replace("1_ground_force_", "ground_force_r_")
    made = load(text.replace("1_ground_torque_", "ground_torque_r_"), ".sto")
    assert list(made.forces) == ["ground_r"]
    assert made.forces["ground_r"].moment[0].tolist() == [7.0, 8.0, 9.0]


BAD_STORAGE = [
    (MOT, "endheader", "", "line 10: expected a MOT or STO storage file, found no line 'end"),
    (MOT, "inDegrees=yes", "", "header: expected inDegrees=yes or inDegrees=no, got no such line"),
    (MOT, "=yes", "=maybe", "expected inDegrees=yes or inDegrees=no, got 'maybe'"),
    (MOT, "time\t", "clock\t", "line 8: expected 'time' as the first column, got 'clock'"),
    (MOT, "hip", "knee_r", "line 8: 'knee_r' is the name of columns 2 and 4"),
    (MOT, "\tnan", "", "line 10: expected 4 cells, got 3; the file may be truncated"),
    (MOT, "nan", "0,5", "line 10: column 'hip': expected a number, got '0,5'; decimal commas"),
    (MOT, "0.1", "0.0", "line 10: time repeats"),
    (MOT, "0.1", "-0.1", "line 10: time goes backwards: -0.1 s after 0 s"),
    (MOT, "version=1", "DataType=Vec3", "DataType=vec3: expected double"),
    (STO, "hip/value", "knee", "'/jointset/leg/knee/value' and 'knee' are both joint 'knee'"),
    (GROUND, "1_ground_force_pz", "other_force",
     "line 4: force '1_ground': expected x, y and z of its point of application, but found no z"),
    (GROUND, "0 1 2", "0 1 nan", "line 5: force '1_ground': y of its force is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "message"), BAD_STORAGE)
def test_bad_storage(load, text, old, new, message):
    assert old in text
    with pytest.raises(FileError, match=re.escape(message)):
        load(text.replace(old, new, 1), ".sto")


def test_storage_without_motion_or_rows(load):
    with pytest.raises(FileError, match=r"no column of a joint or ground force; got 'a/b', 'c_mo"):
        load("x\nendheader\ntime a/b c_moment\n0 1 2\n1 2 3\n", ".sto")
    for end, message in (
        ("endheader\n", "names of columns"),
        ("endheader\ntime a\n", "without rows"),
    ):
        with pytest.raises(FileError, match=message):
            load("x\ninDegrees=no\n" + end, ".mot")


@pytest.mark.parametrize(
    ("axes", "message"),
    [("xy", "expected x, y, z"), ("xxz", "expected x, y, z"), ("abc", "got 'abc'"), (3, "got 3"),
     ("xzy", "'xzy' mirrors the recording; expected a rotation"), ("-xyz", "mirrors")],
)  # fmt: skip
def test_bad_axes(load, axes, message):
    with pytest.raises(InputError, match=message):
        load(TRC, ".trc", axes=axes)


@pytest.mark.parametrize("axes", ["xyz", "x-zy", "+y+z+x", "-x-yz", "-zy+x"])
def test_axes_are_rotations(load, axes):
    """Distances and the side on which a third point lies are preserved."""
    text = "t,a_x [m],a_y [m],a_z [m]\n0,1,0,0\n1,0,2,0\n2,0,0,3\n"
    made = load(text, ".csv", axes=axes).markers["a"]
    assert np.linalg.norm(made, axis=1).tolist() == [1.0, 2.0, 3.0]
    assert np.linalg.det(made) == pytest.approx(6.0)


def test_paths(tmp_path, load):
    with pytest.raises(InputError, match="expected the path of a file, got int"):
        load_measurements(3)
    with pytest.raises(FileError, match=r"expected a file named \.csv, .*, got '\.txt'"):
        load_measurements(tmp_path / "a.txt")
    with pytest.raises(FileError, match="cannot be read: No such file"):
        load_measurements(tmp_path / "a.csv")
    (tmp_path / "folder.trc").mkdir()
    with pytest.raises(FileError, match="expected a file, this is a folder"):
        load_measurements(tmp_path / "folder.trc")
    with pytest.raises(FileError, match="cannot be read"):
        load_measurements("a\0.csv")


@pytest.mark.parametrize(("text", "suffix"), [(TRC, ".trc"), (MOT, ".mot"), (GROUND, ".sto")])
def test_mutants_are_read_or_refused(load, text, suffix):
    rng = np.random.default_rng(17)
    refused = 0
    for _ in range(150):
        mutant = bytearray(text.encode())
        for place in rng.integers(0, len(mutant), 1 + rng.integers(4)):
            mutant[place] = rng.choice([9, 10, 32, 44, 46, 48, 101, 255, rng.integers(256)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                load(bytes(mutant), suffix)
            except FileError:
                refused += 1
    assert 20 < refused < 150

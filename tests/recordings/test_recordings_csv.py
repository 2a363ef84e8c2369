"""CSV recordings: units, markers, forces, tables of solutions, and rejected files."""

import re

import numpy as np
import pytest

from fake_solution import fake_solution
from predyn.errors import DataWarning, FileError
from predyn.recordings.loading import load_measurements

DEGREE = np.pi / 180.0


@pytest.fixture
def load(tmp_path):
    def load(text, **options):
        path = tmp_path / "trial.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_measurements(path, **options)

    return load


def test_units_in_the_second_row(load):
    made = load(
        "time,knee,slide,toe_x,toe_y,toe_z\nms,deg,cm,mm,mm,m\n0,90,1,1,2,3\n10,,2,4,NA,6\n"
    )
    assert made.t.tolist() == [0.0, 0.01]
    assert made.angles["knee"] == pytest.approx([90.0 * DEGREE, np.nan], nan_ok=True)
    assert made.angles["slide"] == pytest.approx([0.01, 0.02])
    expected = np.array([[0.001, 0.002, 3.0], [0.004, np.nan, 6.0]])
    assert made.markers["toe"] == pytest.approx(expected, nan_ok=True)
    assert "converted from deg: 'knee'" in made.notes
    assert "converted from mm: 'toe_x', 'toe_y'" in made.notes


@pytest.mark.parametrize(
    "head",
    ["t_ms,knee_deg,toe_x_mm,toe_y_mm", "Time [ms],knee [deg],toe_x (mm),toe.y [mm]",
     "T (ms),knee [°],toe.X [mm],toe.Y [mm]", "time_ms,knee_deg [deg],toe_x_mm [mm],toe_y_mm"],
)  # fmt: skip
def test_units_in_names(load, head):
    made = load(f"{head}\n0,180,1000,2000\n1,-180,3000,4000\n")
    assert made.t.tolist() == [0.0, 0.001]
    assert made.angles["knee"] == pytest.approx([np.pi, -np.pi])
    expected = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, np.nan]])
    assert made.markers["toe"] == pytest.approx(expected, nan_ok=True)


def test_si_is_assumed_with_a_warning_without_units(load):
    with pytest.warns(DataWarning) as caught:
        made = load("t,knee,toe_x,toe_y\n0,1,2,3\n1,2,3,4\n")
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert "no units given, m assumed: 'toe_x', 'toe_y'; add a row of units" in messages[0]
    assert "no units given, rad (m for slides) assumed: 'knee'" in messages[1]
    assert made.angles["knee"].tolist() == [1.0, 2.0]
    assert any("'knee'" in note for note in made.notes)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_separators_line_ends_and_byte_order_mark(load, separator, end, mark):
    rows = ["time|knee [rad]|hip [rad]|", "0|1|2|", "1| 3 |+4e0|", "||", "", ""]
    made = load(mark + end.join(rows).replace("|", separator).encode())
    assert made.angles["knee"].tolist() == [1.0, 3.0]
    assert made.angles["hip"].tolist() == [2.0, 4.0]


def test_quotes_and_time_in_any_column(load):
    made = load('"knee, left [deg]","time"\n"180","0"\n0,"1"\n')
    assert made.angles["knee, left"] == pytest.approx([np.pi, 0.0])
    assert made.t.tolist() == [0.0, 1.0]


FORCE = (
    "t,p_fx [N],p_fy [N],p_fz [kN],p_px [mm],p_py [mm],p_pz [mm],p_mx [Nmm],p_my [N m],p_mz [Nm]\n"
)


def test_forces(load):
    made = load(FORCE + "0,1,2,3,4,5,6,7,8,9\n1,0,0,0,,,,0,0,0\n", axes="zxy")
    force = made.forces["p"]
    assert force.force[0] == pytest.approx([3000.0, 1.0, 2.0])
    assert force.point[0] == pytest.approx([0.006, 0.004, 0.005])
    assert force.moment[0] == pytest.approx([9.0, 0.007, 8.0])
    assert force.point[1].tolist() == force.point[0].tolist()
    assert any("1 rows without force have no point of application" in note for note in made.notes)
    assert not made.angles
    assert not made.markers


def test_optional_parts_of_a_force(load):
    text = "t,p_fx [N],p_fy [N],p_px [m],p_py [m],p_x [m],p_y [m]\n0,1,2,3,4,5,6\n1,1,2,3,4,5,6\n"
    made = load(text)
    assert made.forces["p"].force[0].tolist() == [1.0, 2.0, 0.0]
    assert made.forces["p"].moment[1].tolist() == [0.0, 0.0, 0.0]
    assert "force 'p': missing, 0 assumed: p_fz, p_pz, p_mx, p_my, p_mz" in made.notes
    assert made.markers["p"][0, :2].tolist() == [5.0, 6.0]


def test_lone_components_and_q_are_joints(load):
    text = "t,cart_x [m],hip_fx [deg],q.arm_x [rad],q.arm_y [rad],q.arm_z [rad]\n"
    made = load(text + "0,1,2,3,4,5\n1,1,2,3,4,5\n")
    assert set(made.angles) == {"cart_x", "hip_fx", "arm_x", "arm_y", "arm_z"}
    assert made.angles["hip_fx"][0] == pytest.approx(2.0 * DEGREE)


@pytest.mark.parametrize("unit", ["degrees/s", "°/s", "rad/s²", "W", "J"])
def test_units_of_other_quantities_are_known(load, unit):
    with pytest.warns(DataWarning, match=f"skipped, .*'x .{re.escape(unit)}"):
        made = load(f"time_ms,knee [rad],x [{unit}]\n0,1,2\n10,1,2\n")
    assert list(made.angles) == ["knee"]
    assert "converted from ms: 'time'" in made.notes
    with pytest.raises(FileError, match=f"no column of a joint .*'x .{re.escape(unit)}"):
        load(f"time,x [{unit}]\n0,1\n1,2\n")


def test_other_quantities_are_skipped_with_a_warning(load):
    with pytest.warns(DataWarning, match=r"skipped, .*'knee_moment \[N m\]', 'speed \[deg/s\]'"):
        made = load("t,frame,knee [rad],knee_moment [N m],speed [deg/s]\n0,1,1,2,3\n1,2,1,2,3\n")
    assert list(made.angles) == ["knee"]
    assert "skipped: 'frame'" in made.notes


@pytest.mark.parametrize("phases", [1, 3])
@pytest.mark.parametrize("suffix", ["csv", "mot", "sto"])
def test_solutions_are_read_back(tmp_path, phases, suffix):
    solution = fake_solution(phases)
    path = tmp_path / f"motion.{suffix}"
    solution.export(path)
    made = load_measurements(path)
    kept = np.append(np.diff(solution.t) > 0.0, True)
    assert (~kept).sum() == phases - 1
    assert made.t.tolist() == solution.t[kept].tolist()
    assert list(made.angles) == list(solution.model.joint_names)
    for j, name in enumerate(solution.model.joint_names):
        assert made.angles[name].tolist() == solution.q[kept, j].tolist()


BAD = [
    ("", "the file is empty"),
    ("\n\n \n", "the file has only blank lines"),
    ("time,knee [deg]\n", "a header without rows; expected rows of numbers"),
    ("time,knee\ns,deg\n", "a header without rows"),
    (
        "just words\n1\n",
        "line 1: expected names separated by commas, semicolons or tabs, got one name",
    ),
    ("0,1\n1,2\n", "line 1: expected a row of names, got numbers"),
    (
        "knee [deg],hip [deg]\n0,1\n1,2\n",
        "line 1: expected one column 'time' or 't', got 'knee', 'hip'",
    ),
    (
        "t,time,knee [deg]\n0,0,1\n1,1,2\n",
        "line 1: expected one column 'time' or 't', got 't', 'time'",
    ),
    (
        "t [deg],knee [deg]\n0,1\n1,2\n",
        "line 1: column 't' has the unit 'deg' (angle); expected one of s, ms",
    ),
    (
        "t,knee [deg],knee [deg]\n0,1,1\n1,2,2\n",
        "line 1: 'knee [deg]' is the name of columns 2 and 3",
    ),
    (
        "t,knee [deg],knee_rad\n0,1,1\n1,2,2\n",
        "line 1: columns 'knee [deg]' and 'knee_rad' are both 'knee'",
    ),
    (
        "t,q.knee [rad],knee [rad]\n0,1,1\n1,2,2\n",
        "line 1: columns 'knee' and 'q.knee' are the same joint",
    ),
    (
        "t,a_x [m],a.x [m],a_y [m]\n0,1,1,1\n1,1,1,1\n",
        "line 1: columns 'a_x' and 'a.x' are the same component",
    ),
    ("t,knee_deg [rad]\n0,1\n1,2\n", "line 1: column 'knee' has the units rad and deg; remove one"),
    (
        "t,knee [furlong]\n0,1\n1,2\n",
        "line 1: column 'knee': unknown unit 'furlong'; valid units: s, ms, rad",
    ),
    ("t,knee\ns,furlong\n0,1\n1,2\n", "line 2: column 'knee': unknown unit 'furlong'"),
    ("t,knee,hip\ns,deg\n0,1,2\n1,2,3\n", "line 2: expected 3 units, got 2"),
    ("t,,knee [deg]\n0,1,1\n1,2,2\n", "line 1: column 2 has no name"),
    ("t,[deg]\n0,1\n1,2\n", "line 1: column 2 has a unit but no name"),
    (
        "t,toe_x [deg],toe_y [deg]\n0,1,1\n1,2,2\n",
        (
            "line 1: column 'toe_x' has the unit 'deg' (angle); expected one of m, cm, mm; "
            "columns that end in _x, _y, _z are a marker: for a joint with this name, write "
            "'q.toe_x'"
        ),
    ),
    (
        "t,p_fx [N],p_fy [N]\n0,1,1\n1,2,2\n",
        (
            "line 1: force 'p': expected its centre of pressure, at least two columns of "
            "p_px, p_py, p_pz; got none"
        ),
    ),
    (
        "t,p_fz [N],p_px [m],p_py [m]\n0,1,1,1\n1,2,2,2\n",
        "line 1: force 'p': expected its force, at least two",
    ),
    (
        FORCE + "0,1,2,3,4,5,6,7,8,9\n1,1,,3,4,5,6,7,8,9\n",
        "line 3: force 'p': y of its force is missing",
    ),
    (
        FORCE + "0,1,2,3,4,5,6,7,8,9\n1,1,2,3,nan,5,6,7,8,9\n",
        "line 3: force 'p': x of its centre of pressure is missing",
    ),
    (
        "t,phase\n0,1\n1,2\n",
        "line 1: no column of a joint (rad, deg, m), marker (m) or force; got 'phase'",
    ),
    (
        "t,knee [deg]\n0,1\n1\n2,3\n",
        "line 3: expected 2 cells, got 1; leave cells of missing values empty",
    ),
    ("t,knee [deg]\n0,1\n1,2,3\n2,3\n", "line 3: expected 2 cells, got 3"),
    (
        "t,knee [deg],hip [deg]\n0,1,2\n1,3\n",
        "line 3: expected 3 cells, got 2; the file may be truncated",
    ),
    ("t,knee [deg]\n0,01,1,5\n0,02,1,6\n", "line 2: expected 2 cells, got 4; decimal commas?"),
    (
        "t;knee [deg]\n0,01;1,5\n0,02;1,6\n",
        (
            "line 2: column 't': expected a number, got '0,01'; decimal commas are not supported, "
            "use a point"
        ),
    ),
    ("t,knee [deg]\n0,1\n1,oops\n", "line 3: column 'knee [deg]': expected a number, got 'oops'"),
    ("t,knee [deg]\n0,1\n1,1_000\n", "line 3: column 'knee [deg]': expected a number, got '1_000'"),
    ("t,knee [deg]\n0,1\n1,\u0663\n", "line 3: column 'knee [deg]': expected a number"),
    ("t,knee [deg]\n0,1\n1,inf\n", "line 3: column 'knee [deg]': not a finite number"),
    ("t,knee [deg]\n0,1\n1,1e999\n", "line 3: column 'knee [deg]': not a finite number"),
    ("t,knee [rad]\n0,1\n1,1e30\n", "angle 'knee', row 1: 1e+30 is too large"),
    ("t,knee [deg]\n0,1\n,2\n2,3\n", "line 3: the time is missing"),
    ("t,knee [deg]\n\n0,1\n\n0,2\n", "line 5: time repeats: 0 s after 0 s"),
    ("t,knee [deg]\n0,1\n2,1\n1,2\n", "line 4: time goes backwards: 1 s after 2 s"),
    ('t,"knee [deg]\n0,1\n1,2\n', "cannot read the quoted cells"),
    (
        "PathFileType\t4\t(X/Y/Z)\ta.trc\n",
        "line 1: expected a CSV table, this is a TRC file; name it .trc",
    ),
    ("name\nendheader\ntime\tknee\n0\t1\n", "line 1: expected a CSV table, this is a storage file"),
    (b"\x02P" + bytes(600), "expected a CSV table, this looks like a C3D file; name it .c3d"),
    (b"PK\x03\x04abc", "this is a spreadsheet or zip archive; save the table as CSV"),
    (b"\xff\xfet\x00,\x00", "this is UTF-16 text; save it as UTF-8"),
    (
        b"t,knee [deg]\n0,1\n1,\xff\xfe\n",
        "line 3: expected a CSV table, got bytes that are not UTF-8",
    ),
    (b"t,knee [deg]\n0,\x001\n", "line 2: expected a CSV table, got binary data"),
    (b"t," + b"k" * 300 + b"\n0,1\n1,2\n", "line 1: column 2: expected a name"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message[:60] for _, message in BAD])
def test_bad_files(load, text, message):
    with pytest.raises(FileError, match=re.escape(message)) as caught:
        load(text)
    assert re.match(r".*trial\.csv(, line \d+)?: ", str(caught.value))
    assert len(str(caught.value)) < 600


def test_random_bytes_are_refused(load):
    rng = np.random.default_rng(5)
    for size in (1, 2, 10, 100, 5000):
        for _ in range(20):
            with pytest.raises(FileError):
                load(rng.bytes(size))


@pytest.mark.parametrize("gap", ["5.5", ""])
def test_large_tables_are_read(load, gap):
    count = 100_000
    rows = "\n".join(f"{k / 1000},{k * 0.001:.6f},{gap},1.25,2.5,-3.75" for k in range(count))
    text = "time [s],knee [deg],hip [deg],toe_x [mm],toe_y [mm],toe_z [mm]\n" + rows
    made = load(text)
    assert len(made.t) == count
    assert made.markers["toe"][-1] == pytest.approx([0.00125, 0.0025, -0.00375])

"""Options of load_measurements: units, names, a part of the time, and cleaner forces."""

import re

import numpy as np
import pytest

from predyn.errors import DataWarning, FileError, InputError
from predyn.recordings.editing import trim_recording
from predyn.recordings.loading import load_measurements
from predyn.recordings.low_pass import butterworth

DEGREE = np.pi / 180.0
T = np.arange(400) / 200.0
AXES = "xyz"


@pytest.fixture
def load(tmp_path):
    def load(text, suffix=".csv", **options):
        path = tmp_path / f"trial{suffix}"
        path.write_text(text)
        return load_measurements(path, **options)

    return load


def force_table(force, point=None, moment=None):
    """A MOT file of one force at times T, (400, 3) each."""
    point = np.tile([0.4, 0.0, 0.1], (len(T), 1)) if point is None else point
    moment = np.zeros((len(T), 3)) if moment is None else moment
    names = [f"p_force_v{x}" for x in AXES] + [f"p_force_p{x}" for x in AXES]
    names += [f"p_torque_{x}" for x in AXES]
    rows = np.column_stack((T, force, point, moment))
    lines = ["\t".join(map(repr, row)) for row in rows.tolist()]
    return "\n".join(["forces", "endheader", "\t".join(["time", *names]), *lines]) + "\n"


def step_force(offset=0.0):
    """700 N upwards (y) from 0.5 to 1.5 s, and an offset."""
    force = np.zeros((len(T), 3))
    force[100:300, 1] = 700.0
    return force + [0.0, offset, 0.0]


TRC = """PathFileType\t4\t(X/Y/Z)\ttrial.trc
DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits
60\t60\t6\t2\tUNIT
Frame#\tTime\tS1:LASI\t\t\tS1:LASI\t\t
\t\tX1\tY1\tZ1\tX2\tY2\tZ2
""" + "".join(f"{k + 1}\t{k / 60:.3f}\t{k}\t2\t3\t4\t5\t{k}\n" for k in range(6))


@pytest.mark.parametrize("stated", ["", "inch", "m"])
def test_units_of_trc(load, stated):
    made = load(TRC.replace("UNIT", stated), ".trc", units="mm")
    assert made.markers["S1:LASI"][5].tolist() == [0.005, 0.002, 0.003]
    assert any(note.startswith("unit of length as given: mm") for note in made.notes)


def test_twins_rate_and_prefix_of_trc(load):
    """60 Hz in milliseconds: the times are those of the rate, not 16 and 17 ms apart."""
    made = load(TRC.replace("UNIT", "mm"), ".trc", rename={"S1:*": "*"})
    assert list(made.markers) == ["LASI", "LASI_2"]
    assert made.markers["LASI_2"][5, 2] == 0.005
    assert made.t == pytest.approx(np.arange(6) / 60.0, abs=1e-12)
    assert "the times are rounded; 60 samples per second were used" in made.notes
    assert "renamed: 'S1:LASI' to 'LASI', 'S1:LASI_2' to 'LASI_2'" in made.notes


def test_units_of_csv_columns_without_any(load):
    text = "time,knee,hip [rad],slide_tx,a_x,a_y\n" + "0,90,1,5,7,8\n500,45,1,5,7,8\n"
    made = load(text, units=("deg", "mm", "ms"))
    assert made.t.tolist() == [0.0, 0.5]
    assert made.angles["knee"] == pytest.approx([np.pi / 2, np.pi / 4])
    assert made.angles["hip"].tolist() == [1.0, 1.0]
    assert made.angles["slide_tx"].tolist() == [0.005, 0.005]
    assert made.markers["a"][0, :2].tolist() == [0.007, 0.008]
    assert made.units == {"knee": "rad", "hip": "rad", "slide_tx": "m"}


def test_units_of_storage(load):
    text = "x\nendheader\ntime knee pelvis_tx\n0 90 500\n1 45 600\n"
    made = load(text, ".mot", units=["deg", "mm"])
    assert made.angles["knee"] == pytest.approx([90 * DEGREE, 45 * DEGREE])
    assert made.angles["pelvis_tx"] == pytest.approx([0.5, 0.6])
    assert made.units == {"knee": "rad", "pelvis_tx": "m"}
    made = load(text.replace("endheader", "inDegrees=yes\nendheader"), ".mot", units="rad")
    assert made.angles["knee"].tolist() == [90.0, 45.0]
    assert "unit of angle as given: rad instead of inDegrees=yes" in made.notes
    made = load(force_table(step_force(), np.full((400, 3), 300.0)), ".mot", units="mm")
    assert made.forces["p"].point[0] == pytest.approx([0.3] * 3)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ("parsec", "unknown unit 'parsec'; valid units: s, ms, rad"),
        (("mm", "m"), "expected one unit of length, got 'mm' and 'm'"),
        (3, "expected one or several of s, ms"),
        (("mm", 3), "expected one or several of s, ms"),
        ("rad/s", "unknown unit 'rad/s'"),
    ],
)
def test_bad_units(load, units, message):
    with pytest.raises(InputError, match=re.escape(message)):
        load("t,a [rad]\n0,1\n", units=units)


NAMED = "t,knee [rad],A:toe_x [m],A:toe_y [m],A:heel_x [m],A:heel_y [m]\n0,1,2,3,4,5\n1,1,2,3,4,5\n"


def test_rename(load):
    made = load(NAMED, rename={"A:heel": "cal", "A:*": "B *", "knee": "knee_r"})
    assert list(made.angles) == ["knee_r"]
    assert list(made.markers) == ["B toe", "cal"]
    assert made.units == {"knee_r": "rad"}


@pytest.mark.parametrize(
    ("rename", "message"),
    [
        ({"kne": "a"}, "unknown name to rename 'kne': did you mean 'knee'"),
        ({"C:*": "*"}, "unknown name to rename 'C:*'"),
        ({"A:*": "x"}, "two markers would be named 'x', one of them 'A:heel'"),
        ({"A:toe": "*"}, "'*' has a '*', but 'A:toe' has none"),
        ({"A:toe": 3}, "expected a mapping, old name -> new name"),
        ({"*:*": "*"}, "each with at most one '*'"),
        ("knee", "expected a mapping"),
        ({"A:toe": "knee"}, "'knee' is the name of an angle and of a marker"),
    ],
)
def test_bad_rename(load, rename, message):
    with pytest.raises(FileError, match=re.escape(message)):
        load(NAMED, rename=rename)


def test_part_of_the_time(load):
    text = force_table(step_force())
    made = load(text, ".mot", start=0.5, end=1.0)
    assert made.t[[0, -1]].tolist() == [0.5, 1.0]
    force = made.forces["p"]
    assert force.t[0] <= 0.5
    assert force.t[-1] >= 1.0
    assert len(force.t) < 110
    assert load(text, ".mot", start=1.9).t[[0, -1]].tolist() == [1.9, T[-1]]
    assert trim_recording(made) is made
    for window, message in (
        ((3.0, 4.0), "no samples from 3 to 4 s; the recording has 0 to 1.995 s"),
        ((1.0, 0.5), "expected start before end"),
        ((np.nan, 1.0), "start: expected a finite number"),
        (("a", 1.0), "start: expected a number, got 'a'"),
    ):
        with pytest.raises(FileError, match=re.escape(message)):
            load(text, ".mot", start=window[0], end=window[1])


def test_forces_are_shifted(load):
    made = load(force_table(step_force()), ".mot", force_shift=-0.05)
    assert made.forces["p"].t == pytest.approx(T - 0.05)
    assert made.t == pytest.approx(T)
    assert "force 'p': times shifted by -0.05 s" in made.notes


def test_small_forces_become_zero(load):
    force = step_force() + [0.0, 3.0, 1.0]
    point = np.full((400, 3), 0.2)
    point[100:300] = np.linspace([0.0, 0.0, 0.0], [0.3, 0.0, 0.0], 200)
    made = load(force_table(force, point, np.ones((400, 3))), ".mot", force_threshold=20.0)
    made = made.forces["p"]
    loaded = np.zeros(400, bool)
    loaded[100:300] = True
    assert made.force[loaded] == pytest.approx(force[loaded])
    assert np.abs(made.force[~loaded]).max() == np.abs(made.moment[~loaded]).max() == 0.0
    assert made.point[loaded] == pytest.approx(point[loaded])
    assert (made.point[:100] == point[100]).all()
    assert (made.point[300:] == point[299]).all()


def test_low_pass_keeps_what_a_force_does(load):
    """Force and moment about the origin are those of a filter run over them."""
    rng = np.random.default_rng(5)
    force = step_force() + rng.normal(size=(400, 3)) * 5.0
    point = rng.uniform(size=(400, 3))
    moment = rng.normal(size=(400, 3))
    made = load(force_table(force, point, moment), ".mot", force_cutoff=15.0).forces["p"]
    assert made.force == pytest.approx(butterworth(T, force, 15.0), abs=1e-9)
    about = butterworth(T, moment + np.cross(point, force), 15.0)
    assert made.moment + np.cross(made.point, made.force) == pytest.approx(about, abs=1e-9)


def test_baseline_is_subtracted(load):
    """What is left acts like the force without its offset."""
    force, point = step_force(12.0), np.tile([0.4, 0.0, 0.1], (400, 1))
    text = force_table(force, point)
    with pytest.warns(DataWarning, match=r"force 'p': 12 N while nothing touches it"):
        load(text, ".mot")
    for baseline in ("auto", (0.0, 0.4)):
        made = load(text, ".mot", force_baseline=baseline).forces["p"]
        assert made.force == pytest.approx(step_force(), abs=1e-9)
        about = made.moment + np.cross(made.point, made.force)
        assert about == pytest.approx(np.cross(point, step_force()), abs=1e-9)


def test_no_offset_is_reported_while_someone_stands_on_the_plate(load):
    force = np.tile([0.0, 700.0, 0.0], (400, 1)) + np.sin(T)[:, None]
    load(force_table(force), ".mot")  # warnings are errors
    made = load(force_table(force), ".mot", force_baseline="auto")
    assert made.forces["p"].force == pytest.approx(force)
    assert "force 'p': no baseline subtracted: it is never without load" in made.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"force_threshold": 0.0}, "force_threshold: expected a number above 0"),
        ({"force_cutoff": -1}, "force_cutoff: expected a number above 0"),
        ({"force_cutoff": 150.0}, "force_cutoff: expected less than 98 Hz"),
        ({"force_shift": "a"}, "force_shift: expected a number"),
        ({"force_baseline": "first"}, "force_baseline: expected 'auto'"),
        ({"force_baseline": (0.2,)}, "force_baseline: expected 'auto'"),
        ({"force_baseline": 0.2}, "force_baseline: expected 'auto'"),
        ({"force_baseline": np.array([0.1, 0.2])}, "force_baseline: expected 'auto'"),
        ({"force_baseline": (0.2, 0.1)}, "force_baseline: expected start before end"),
        ({"force_baseline": (0.4, 0.7)}, "force 'p' is loaded between 0.4 and 0.7 s"),
        ({"force_baseline": (5.0, 6.0)}, "has no samples from 5 to 6 s"),
    ],
)
def test_bad_force_options(load, options, message):
    with pytest.raises((InputError, FileError), match=re.escape(message)):
        load(force_table(step_force()), ".mot", **options)


def test_force_options_need_forces(load):
    with pytest.raises(FileError, match="the file contains no forces"):
        load("t,a [rad]\n0,1\n1,2\n", force_shift=0.1)


def test_missing_forces_where_nothing_touches(load):
    force = step_force()
    force[:90] = force[310:] = np.nan
    made = load(force_table(force), ".mot")
    assert made.forces["p"].force == pytest.approx(step_force())
    assert any("force 'p': 180 rows without values" in note for note in made.notes)
    force = step_force()
    force[200:203] = np.nan
    with pytest.raises(FileError, match="line 204: force 'p': x of its force is missing"):
        load(force_table(force), ".mot")
    force = step_force()
    force[:100, 1] = np.nan  # one component only
    with pytest.raises(FileError, match="line 4: force 'p': y of its force is missing"):
        load(force_table(force), ".mot")


def test_renaming_nothing_leaves_no_note(load):
    text = "time [s],a [rad]\n0,1\n1,2\n"
    plain = load(text)
    for rename in ({}, {"a": "a"}, {"*": "*"}):
        assert load(text, rename=rename).notes == plain.notes


def test_integers_beyond_floats_are_refused(load):
    with pytest.raises(FileError, match="start: expected a finite number"):
        load("time [s],a [rad]\n0,1\n1,2\n", start=10**400)


@pytest.mark.parametrize("cutoff", [1e-9, 0.04])
def test_cutoff_slower_than_the_recording(load, cutoff):
    with pytest.raises(FileError, match=r"force_cutoff: expected at least 0\.0501.* Hz"):
        load(force_table(step_force()), ".mot", force_cutoff=cutoff)


def test_cutoff_of_one_sample(load):
    lines = force_table(step_force()).splitlines()[:4]
    with pytest.raises(FileError, match="force 'p' has 1 sample"):
        load("\n".join(lines) + "\n", ".mot", force_cutoff=20.0)


def test_units_of_forces_in_storage_are_noted(load):
    plain = load(force_table(step_force()), ".mot")
    made = load(force_table(step_force()), ".mot", units=("kN", "mm"))
    assert np.array_equal(made.forces["p"].force, 1e3 * plain.forces["p"].force)
    assert np.allclose(made.forces["p"].point, 1e-3 * plain.forces["p"].point, rtol=1e-15)
    assert "force 'p': unit of its force as given: kN" in made.notes
    assert "force 'p': unit of its point of application as given: mm" in made.notes

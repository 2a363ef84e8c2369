"""C3D files: read as ezc3d reads them, and damaged ones refused."""

import random
import re

import ezc3d
import numpy as np
import pytest

from predyn.errors import DataWarning, FileError
from predyn.recordings.c3d_file import read_c3d_file
from predyn.recordings.loading import load_measurements
from recordings.c3d_writing import write_c3d, write_counts, write_loaded_plate, write_plate

RNG = np.random.default_rng(11)
MARKERS = {"LASI": RNG.normal(size=(12, 3)) * 900.0, "toe 1": RNG.normal(size=(12, 3)) * 900.0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trial.c3d"


def test_markers_come_in_metres_with_gaps_and_times(path):
    gaps = {name: x.copy() for name, x in MARKERS.items()}
    gaps["LASI"][3] = np.nan
    gaps["toe 1"][5] = 0.0
    write_c3d(path, gaps, rate=250.0, first=49)
    made = load_measurements(path)
    assert list(made.markers) == ["LASI", "toe 1"]
    assert made.t == pytest.approx((49 + np.arange(12)) / 250.0, abs=1e-15)
    expected = np.float32(gaps["toe 1"]).astype(float) / 1000.0
    expected[5] = np.nan
    assert made.markers["toe 1"] == pytest.approx(expected, abs=1e-15, nan_ok=True)
    assert np.isnan(made.markers["LASI"][3]).all()
    assert np.isnan(made.markers["LASI"]).sum() == 3
    assert made.source == str(path)
    assert "positions in mm" in made.notes


@pytest.mark.parametrize(("unit", "factor"), [("m", 1.0), ("cm", 0.01), ("mm", 0.001)])
def test_units_and_axes(path, unit, factor):
    write_c3d(path, MARKERS, units=unit)
    made = load_measurements(path, axes="x-zy").markers["LASI"]
    x, y, z = np.float32(MARKERS["LASI"]).astype(float).T * factor
    assert made == pytest.approx(np.column_stack((x, -z, y)), abs=1e-12)


def test_points_that_are_not_markers_are_skipped(path):
    more = MARKERS | {"*12": MARKERS["LASI"], "LKneeAngles": MARKERS["LASI"]}
    write_c3d(path, more, lists={"ANGLES": ["LKneeAngles"]})
    made = load_measurements(path)
    assert list(made.markers) == ["LASI", "toe 1"]
    assert "skipped: 1 points without a name" in made.notes
    assert "skipped, computed by another program: 'LKneeAngles'" in made.notes


def test_more_than_255_markers(path):
    markers = {f"m{k}": np.full((2, 3), k + 1.0) for k in range(300)}
    write_c3d(path, markers, units="m")
    made = load_measurements(path)
    assert len(made.markers) == 300
    assert made.markers["m299"][0].tolist() == [300.0] * 3


@pytest.mark.parametrize(("first", "frames"), [(0, 65535), (0, 65540), (65000, 600)])
def test_more_frames_than_the_header_counts(path, first, frames):
    positions = np.arange(3.0 * frames).reshape(frames, 3) + 1.0
    write_c3d(path, {"A": positions}, units="m", first=first)
    made = load_measurements(path)
    assert made.markers["A"].tolist() == positions.tolist()
    assert made.t[[0, -1]] == pytest.approx([first / 100.0, (first + frames - 1) / 100.0])
    assert any("more than the header" in note for note in made.notes) == (first + frames > 65535)


def test_frames_counted_from_zero(path):
    write_c3d(path, MARKERS)
    data = bytearray(path.read_bytes())
    data[6:10] = bytes([0, 0, 11, 0])
    path.write_bytes(data)
    assert load_measurements(path).t == pytest.approx(np.arange(12) / 100.0)


def test_warns_of_a_header_that_counts_fewer_frames(path):
    write_c3d(path, MARKERS)
    data = bytearray(path.read_bytes())
    data[6:8] = bytes([5, 0])
    path.write_bytes(data)
    with pytest.warns(
        DataWarning, match="counts 8 frames starting with number 5, but POINT:FRAMES is 12"
    ):
        made = load_measurements(path)
    assert len(made.t) == 8


def test_truncated_frames_are_skipped_with_a_warning(path):
    write_c3d(path, MARKERS)
    whole = load_measurements(path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.warns(
        DataWarning, match="announces 12 frames, but the file has ([5-9]): it is trun"
    ):
        made = load_measurements(path)
    count = len(made.t)
    assert made.markers["LASI"].tolist() == whole.markers["LASI"][:count].tolist()


def test_markers_of_the_same_name_are_renamed(path):
    write_c3d(path, MARKERS)
    path.write_bytes(path.read_bytes().replace(b"toe 1", b"LASI "))
    made = load_measurements(path)
    assert list(made.markers) == ["LASI", "LASI_2"]
    expected = np.float32(MARKERS["toe 1"]).astype(float) / 1000.0
    assert made.markers["LASI_2"] == pytest.approx(expected, abs=1e-12)
    assert any("'LASI' to 'LASI_2'" in note for note in made.notes)


def test_one_frame(path):
    write_c3d(path, {"A": np.array([[1.0, 2.0, 3.0]])}, units="m")
    made = load_measurements(path)
    assert made.t.tolist() == [0.0]
    assert made.markers["A"].tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(("stated", "unit", "factor"), [("", "mm", 1e-3), ("m", "cm", 1e-2)])
def test_units_as_given(path, stated, unit, factor):
    write_c3d(path, MARKERS, units=stated)
    made = load_measurements(path, units=unit)
    expected = np.float32(MARKERS["LASI"]).astype(float) * factor
    assert made.markers["LASI"] == pytest.approx(expected, abs=1e-12)
    assert any(note.startswith(f"unit of length as given: {unit}") for note in made.notes)


@pytest.mark.parametrize(
    ("unit", "factor"), [("mete", 1.0), ("Meters", 1.0), ("MM", 1e-3), ("millimeters", 1e-3)]
)
def test_spelled_units(path, unit, factor):
    write_c3d(path, MARKERS, units=unit)
    made = load_measurements(path).markers["LASI"]
    assert made == pytest.approx(np.float32(MARKERS["LASI"]).astype(float) * factor, abs=1e-12)


def test_parameters_end_where_frames_begin(path):
    """Some programs write no end mark after the last parameter."""
    write_c3d(path, MARKERS)
    expected = load_measurements(path).markers["LASI"].tolist()
    data = bytearray(as_processor(path.read_bytes(), 84))
    end = data.index(b"LASI toe 1") + len(b"LASI toe 1") + 1
    filler = b"\x01\x01A" + (1024 - end - 3).to_bytes(2, "little") + bytes([1, 1, 1])
    data[end : end + len(filler)] = filler  # its successor would be the first frame
    path.write_bytes(data)
    assert load_measurements(path).markers["LASI"] == pytest.approx(np.array(expected), abs=1e-15)


def test_a_header_that_counts_channels_instead_of_values(path):
    write_plate(path, 2, False)
    expected = load_measurements(path).forces["plate1"].force.tolist()
    data = bytearray(path.read_bytes())
    assert int.from_bytes(data[4:6], "little") == 60  # 6 channels, 10 samples in a frame
    data[4:6] = bytes([6, 0])
    path.write_bytes(data)
    assert load_measurements(path).forces["plate1"].force.tolist() == expected


def test_plate_of_type_1(path):
    """Centre of pressure and free moment of the file are those of our force and moment."""
    write_plate(path, 1, False)
    made = load_measurements(path).forces["plate1"]
    plate = ezc3d.c3d(str(path), extract_forceplat_data=True)["data"]["platform"][0]
    force, centre = plate["force"].T, plate["center_of_pressure"].T / 1000.0
    sign = np.sign(force[:, 2].mean())
    moment = np.cross(centre - made.point, sign * force) + sign * plate["Tz"].T / 1000.0
    assert made.force == pytest.approx(sign * force, rel=1e-12)
    assert made.moment == pytest.approx(moment, abs=1e-9)
    assert (made.force[:, 2] > 0.0).all()


def test_frames_without_load_are_subtracted(path):
    """FORCE_PLATFORM:ZERO names them; an offset that stays gets a warning."""
    write_loaded_plate(path, offset=12.0)
    with pytest.warns(DataWarning, match=r"'plate1': 12 N while nothing .* force_baseline='auto'"):
        raw = load_measurements(path)
    assert any("without load from 0 to 0.05 s" in note for note in raw.notes)
    made = load_measurements(path, force_baseline="auto").forces["plate1"]
    assert np.abs(made.force[:50]).max() < 1e-9
    assert np.abs(made.moment[:50]).max() < 1e-9
    assert made.force[-1, 2] == pytest.approx(700.0)


@pytest.mark.parametrize("kind", [2, 3, 4])
@pytest.mark.parametrize("z_up", [False, True])
def test_force_plates_equal_those_of_ezc3d(path, kind, z_up):
    """The same force, and the same moment once moved from its centre of pressure to ours."""
    write_plate(path, kind, z_up)
    made = load_measurements(path).forces["plate1"]
    plate = ezc3d.c3d(str(path), extract_forceplat_data=True)["data"]["platform"][0]
    force, centre = plate["force"].T, plate["center_of_pressure"].T / 1000.0
    sign = np.sign(force[:, 2].mean())  # the body stands on the plate: the force on it points up
    moment = np.cross(centre - made.point, sign * force) + sign * plate["Tz"].T / 1000.0
    assert made.force == pytest.approx(sign * force, rel=1e-12)
    assert made.moment == pytest.approx(moment, abs=1e-9)
    assert made.point[0] == pytest.approx([0.25, 0.2, 0.01], abs=1e-15)
    assert made.t == pytest.approx(np.arange(200) / 1000.0, abs=1e-15)
    assert (made.force[:, 2] > 0.0).all()


@pytest.mark.parametrize("offset", [2048, 32767, 32768])
def test_unsigned_offsets_equal_those_of_ezc3d(path, offset):
    """An offset above 32767 looks negative in its 16 bits; the plate is empty."""
    write_counts(path, offset, np.full((6, 1), float(offset)))
    plate = ezc3d.c3d(str(path), extract_forceplat_data=True)["data"]["platform"][0]
    assert np.abs(plate["force"]).max() == 0.0
    made = load_measurements(path).forces["plate1"]
    assert np.abs(made.force).max() == 0.0
    assert np.abs(made.moment).max() == 0.0


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize(
    ("signed", "offset"),
    [(False, 32768), (False, 40000), (False, 65535), (True, -32768), (True, 7)],
)
def test_offsets_have_a_sign_unless_the_format_says_otherwise(path, integers, signed, offset):
    """Counts about the offset, as floats and as integers of 16 bits."""
    around = np.array([3, 0, 1000, -3, -1000, 1])
    counts = np.clip(offset + around, *((-32768, 32767) if signed else (0, 65535)))
    write_counts(path, offset, counts[:, None], scale=0.25, signed=signed, integers=integers)
    expected = 0.25 * (counts - offset)
    assert read_c3d_file(str(path)).analog == pytest.approx(np.tile(expected, (200, 1)))


def test_unknown_plate_is_skipped_with_a_warning(path):
    write_plate(path, 5, True)
    message = r"plate 1 skipped: type 5 \(eight channels .* is not supported; expected one of 1, 2"
    with pytest.warns(DataWarning, match=message):
        made = load_measurements(path)
    assert not made.forces
    assert set(made.markers) == {"A", "B"}


def as_processor(data, kind):
    """An integer or byte-swapped twin of a file that ezc3d wrote, made by hand."""
    header = bytearray(512)
    words = np.frombuffer(data[:512], dtype="<u2")
    points = int(words[1])
    frames = int(words[4] - words[3] + 1)
    block = (int(words[8]) - 1) * 512
    floats = np.frombuffer(data[block : block + 16 * points * frames], dtype="<f4")
    order = ">" if kind == 86 else "<"

    def packed(values):
        values = np.asarray(values, dtype="<f4")
        if kind != 85:
            return values.astype(f"{order}f4").tobytes()
        return (values * 4.0).astype("<f4").view("<u2").reshape(-1, 2)[:, ::-1].tobytes()

    def integer(*values):
        return np.array(values, dtype=f"{order}i2").tobytes()

    header[0:2] = b"\x02\x50"
    header[2:12] = integer(points, 0, 1, frames, 0)
    header[12:16] = packed([-1.0])
    header[16:20] = integer(3, 0)
    header[20:24] = packed([100.0])
    records = bytes([0, 0, 1, kind]) + b"\x05\xffPOINT" + integer(3) + b"\x00"
    for name, content in (
        (b"RATE", bytes([4, 0]) + packed([100.0])),
        (b"UNITS", bytes([255, 1, 2]) + b"mm"),
        (b"LABELS", bytes([255, 2, 5, 2]) + b"LASI toe 1"),
    ):
        records += bytes([len(name), 1]) + name + integer(len(content) + 3) + content + b"\x00"
    return bytes(header) + records.ljust(512, b"\0") + packed(floats)


@pytest.mark.parametrize("kind", [84, 85, 86])
def test_processors(path, kind):
    write_c3d(path, MARKERS)
    expected = load_measurements(path).markers
    path.write_bytes(as_processor(path.read_bytes(), kind))
    made = load_measurements(path).markers
    for name, positions in expected.items():
        assert made[name] == pytest.approx(positions, abs=1e-15)


def test_integer_points(path):
    write_c3d(path, MARKERS)
    data = as_processor(path.read_bytes(), 84)
    rows = np.array([[[100, -200, 300, 0], [7, 8, 9, -1]], [[1, 2, 3, 513], [4, 5, 6, 0]]])
    head = bytearray(data[:1024])
    head[8:10] = np.array([2], dtype="<u2").tobytes()
    head[12:16] = np.array([0.5], dtype="<f4").tobytes()
    path.write_bytes(bytes(head) + rows.astype("<i2").tobytes())
    made = load_measurements(path).markers
    assert made["LASI"] == pytest.approx(np.array([[50, -100, 150], [0.5, 1, 1.5]]) / 1000.0)
    assert np.isnan(made["toe 1"][0]).all()
    at = head.index(b"RATE") - 2
    content = bytes([4, 0]) + np.array([0.25], dtype="<f4").tobytes()
    scale = bytes([5, 1]) + b"SCALE" + bytes([len(content) + 3, 0]) + content + b"\0"
    longer = (head[:at] + scale + head[at:])[:1024]
    path.write_bytes(bytes(longer) + rows.astype("<i2").tobytes())
    with pytest.warns(DataWarning, match=r"POINT:SCALE is 0\.25, but the header has 0\.5"):
        assert load_measurements(path).markers["LASI"][0, 0] == pytest.approx(0.025)
    assert made["toe 1"][1] == pytest.approx(np.array([2, 2.5, 3]) / 1000.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "the file is empty"),
        (
            lambda data: b"time,knee\n0,1\n",
            "second byte is 0x50, got b'ti'; the file does not match",
        ),
        (lambda data: b"\x02", "second byte is 0x50"),
        (
            lambda data: data[:400],
            "header: expected 512 bytes from byte 0 on, but the file has 400",
        ),
        (lambda data: data[:700], "truncated or damaged; export it again"),
        (lambda data: data[:-700], "the header announces 12 frames, but the file has 0: it is"),
        (lambda data: data[:515] + b"\x07" + data[516:], "processor type 84, 85 or 86, got 7"),
        (
            lambda data: data[:2] + b"\x09" + data[3:],
            "the header has 9 points, but POINT:USED is 2",
        ),
        (lambda data: data.replace(b"mm", b"in"), "POINT:UNITS: expected m, cm or mm, got 'in'"),
    ],
)
def test_damaged_files(path, change, message):
    write_c3d(path, MARKERS)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FileError, match=re.escape(message)) as caught:
        load_measurements(path)
    assert str(caught.value).startswith(f"{path}: ")


CLEAN = {"force_baseline": "auto", "force_cutoff": 40.0, "force_threshold": 20.0, "units": "mm"}


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_mutants_are_read_or_refused(path, kind):
    """No other exception, no warning of NumPy, no crash: ezc3d itself ends the process on some."""
    write_plate(path, kind, True)
    data = path.read_bytes()
    refused = 0
    for seed in range(200):
        rng = random.Random(1000 * kind + seed)
        mutant = bytearray(data)
        if seed % 4 == 0:
            del mutant[rng.randrange(len(data)) :]
        for _ in range(rng.choice([1, 3, 20]) if seed % 4 else 0):
            mutant[rng.randrange(512 if seed % 4 == 1 else 3000)] = rng.choice(
                [0, 255, rng.randrange(256)]
            )
        path.write_bytes(mutant)
        try:
            load_measurements(path, **(CLEAN if seed % 3 == 0 else {}))
        except FileError:
            refused += 1
        except DataWarning:
            pass
    assert 20 < refused < 200

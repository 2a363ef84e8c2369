"""C3D files for tests, written by ezc3d."""

import ezc3d
import numpy as np


def whole(c3d, name, values, shape):
    """An integer parameter of FORCE_PLATFORM."""
    values = np.array(values, dtype=float).reshape(shape, order="F")
    c3d.add_parameter("FORCE_PLATFORM", name, values)
    c3d["parameters"]["FORCE_PLATFORM"][name]["type"] = 2


def write_c3d(path, markers, rate=100.0, units="mm", first=0, lists=None):
    """Markers: name -> (F, 3) in `units`; `first` counts from 0; lists: more texts of POINT."""
    c3d = with_markers(markers, rate, units)
    c3d["header"]["points"]["first_frame"] = first
    for name, labels in (lists or {}).items():
        c3d.add_parameter("POINT", name, labels)
    c3d.write(str(path))


def with_markers(markers, rate, units):
    c3d = ezc3d.c3d()
    point = c3d["parameters"]["POINT"]
    point["RATE"]["value"] = [rate]
    point["LABELS"]["value"] = list(markers)
    point["UNITS"]["value"] = [units] if units else []
    values = np.stack([np.asarray(x, dtype=float).T for x in markers.values()], axis=1)
    c3d["data"]["points"] = np.concatenate((values, np.ones((1, *values.shape[1:]))))
    return c3d


def write_plate(path, kind, z_up, seed=3, frames=20):
    """Two markers above one force plate with ten samples in each frame of 0.01 s."""
    rng = np.random.default_rng(seed)
    above = {name: rng.uniform(100.0, 1000.0, (frames, 3)) for name in ("A", "B")}
    c3d = with_markers(above, 100.0, "mm")
    count = 8 if kind == 3 else 6
    analog = c3d["parameters"]["ANALOG"]
    analog["RATE"]["value"] = [1000.0]
    analog["LABELS"]["value"] = [f"channel{k}" for k in range(count)]
    analog["UNITS"]["value"] = ["N"] * 8 if kind == 3 else ["N"] * 3 + ["Nmm"] * 3
    samples = 50.0 * rng.normal(size=(1, count, 10 * frames))
    samples[0, slice(4, 8) if kind == 3 else 2] -= 500.0
    if kind == 1:
        analog["UNITS"]["value"] = ["N"] * 3 + ["mm"] * 2 + ["Nmm"]
    c3d["data"]["analogs"] = samples
    whole(c3d, "USED", [1], (1,))
    whole(c3d, "TYPE", [kind], (1,))
    whole(c3d, "ZERO", [1, 0], (2,))
    whole(c3d, "CHANNEL", range(1, count + 1), (count, 1))
    corners = np.array([[500.0, 0, 10], [500, 400, 10], [0, 400, 10], [0, 0, 10]])
    if not z_up:
        corners = corners[[1, 0, 3, 2]]
    c3d.add_parameter("FORCE_PLATFORM", "CORNERS", corners.T[:, :, None])
    origin = [120.0, 200.0, -40.0] if kind == 3 else [12.0, -7.0, -40.0]
    c3d.add_parameter("FORCE_PLATFORM", "ORIGIN", np.array(origin)[:, None])
    if kind == 4:
        matrix = 5.0 * np.eye(6) + rng.normal(size=(6, 6))
        c3d.add_parameter("FORCE_PLATFORM", "CAL_MATRIX", matrix[:, :, None])
    c3d.write(str(path))


def write_loaded_plate(path, offset):
    """The plate of type 2 with an offset (N) throughout and 700 N from the middle on."""
    write_plate(path, 2, False)
    c3d = ezc3d.c3d(str(path))
    samples = np.zeros((6, 200))
    samples[2] = -offset
    samples[2, 100:] -= 700.0
    c3d["data"]["analogs"][:] = samples
    whole(c3d, "ZERO", [1, 5], (2,))
    c3d.write(str(path))


def write_counts(path, offset, counts, scale=0.05, signed=False, integers=False):
    """A plate whose channels are counts of a converter; ezc3d writes no OFFSET but 0."""
    write_plate(path, 2, False)
    c3d = ezc3d.c3d(str(path))
    c3d["parameters"]["ANALOG"]["FORMAT"]["value"] = ["SIGNED" if signed else "UNSIGNED"]
    c3d["data"]["analogs"][:] = counts
    c3d.write(str(path))
    data = bytearray(path.read_bytes())
    point_scale = _value_of(data, b"SCALE")
    words = np.full(6, offset).astype("<i8").astype("<i2").tobytes()
    _put(data, _value_of(data, b"OFFSET"), words)
    _put(data, _value_of(data, b"SCALE", data.find(b"GEN_SCALE") + 9), 6 * _float(scale))
    if integers:  # the same frames as 16 bits a word
        _put(data, 12, _float(1.0))
        _put(data, point_scale, _float(1.0))
        start = (int.from_bytes(data[16:18], "little") - 1) * 512
        words = np.frombuffer(data[start:], dtype="<f4").astype("<i8").astype("<i2")
        data[start:] = words.tobytes()
    path.write_bytes(data)


def _float(value):
    return np.array([value], dtype="<f4").tobytes()


def _put(data, at, raw):
    data[at : at + len(raw)] = raw


def _value_of(data, name, start=512):
    """Where the values of a parameter begin, after its offset, type and dimensions."""
    at = data.index(name, start) + len(name) + 3
    return at + 1 + data[at]

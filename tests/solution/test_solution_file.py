"""Solution files: lossless, readable by h5py alone, and safe against damage."""

import errno
import io
import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.errors import FileError
from predyn.model import Shape
from predyn.solution import Violation
from predyn.solution.file import KIND, load_solution, save_solution
from predyn.storage import files, hdf5_tree
from sameness import assert_same

DATA = Path(__file__).parents[1] / "load" / "data"
MUTANTS = int(os.environ.get("PREDYN_MUTANTS", "300"))


def loaded(solution, tmp_path):
    path = tmp_path / "solution.h5"
    solution.save(path)
    return load_solution(path)


def decorated_tree():
    """A random tree with everything a model can have."""
    model = predyn.models.random_tree(12, seed=3)
    rng = np.random.default_rng(3)
    shapes = (
        Shape(0, "box", np.eye(3), rng.normal(size=3), (0.1, 0.2, 1 / 3)),
        Shape(-1, "mesh", np.eye(3), np.zeros(3), (1.0, 1.0, 1.0), "meshes/Fuß.stl", "collision"),
        Shape(3, "sphere", np.eye(3), np.zeros(3), (0.3,)),
    )
    joints = ("gelenk/ü", "a%2Fb", ".", *model.joint_names[3:])
    return replace(
        model.with_limits(position=(np.pi), effort=rng.uniform(1, 9, 12)),
        joint_names=joints,
        shapes=shapes,
        notes=("two\nlines", "", "日本"),
        damping=rng.uniform(size=12),
        coulomb=rng.uniform(size=12),
        coulomb_speed=rng.uniform(0.1, 1.0, 12),
        stiffness=rng.uniform(size=12),
        rest=rng.normal(size=12),
        ligaments=rng.uniform(size=(12, 2, 3)),
    )


MODELS = {
    "two_link": lambda: None,
    "random_tree": decorated_tree,
    "manutec_r3": predyn.models.manutec_r3,
    "prismatic_revolute": predyn.models.prismatic_revolute,
    "arm.urdf": lambda: predyn.load_urdf(DATA / "arm.urdf"),
    "drone.urdf": lambda: predyn.load_urdf(DATA / "drone.urdf"),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("phases", [1, 2])
def test_round_trip_bit_for_bit(tmp_path, model, phases):
    solution = fake_solution(phases, model=MODELS[model]())
    again = loaded(solution, tmp_path)
    assert_same(again, solution)
    assert_same(again.at(0.3), solution.at(0.3))


def test_round_trip_of_odd_values(tmp_path):
    solution = fake_solution(status="diverged")
    odd = replace(
        solution,
        name="",
        message="line 1\nline 2 \N{GREEK SMALL LETTER TAU}",
        objective=float("nan"),
        max_violation=float("inf"),
        max_violation_dense=-0.0,
        costs={"b/c": 1.0, "": 2.0, ".": 3.0, "%": 4.0, "%25": 5.0, "a": 5e-324, "keys": 0.1},
        multipliers={"rows/of x": np.zeros((3, 0)), "..": np.array([-0.0, np.nan])},
        history={},
        timings={},
        violations=(),
        dense_violations=(Violation("x/ü", 1.0, 2.0, 3.0, -np.inf, np.inf, np.nan),) * 3,
        active=(),
        forces=(),
        starts=(
            {"status": "optimal", "objective": 1.0, "best": True, "none": None, "q": np.arange(3)},
            {"status": "diverged", "objective": np.nan, "words": ("a", "b"), "more": {"x": {}}},
        ),
        provenance={"task": "x = 1\n" * 20000},
    )
    assert_same(loaded(odd, tmp_path), odd)


def test_numbers_of_other_types_are_converted(tmp_path):
    solution = fake_solution()
    other = replace(
        solution,
        objective=np.float64(0.845),
        iterations=np.int32(5),
        phase=solution.phase.astype(np.int8),
        history={"iteration": [0, 1, 2]},
        jacobian=tuple(x.astype(np.int64) for x in solution.jacobian),
        costs={"time": 1, "effort": np.float32(0.5)},
        forces=({**solution.forces[0], "force": (0, -10, 0)},),
    )
    again = loaded(other, tmp_path)
    expected = replace(
        solution, history={"iteration": np.arange(3.0)}, costs={"time": 1.0, "effort": 0.5}
    )
    assert_same(again, expected)


def test_a_warning_about_the_model_is_not_repeated(tmp_path):
    with pytest.warns(predyn.ModelWarning):
        odd = predyn.models.two_link().with_inertia("link1", 1.0, np.zeros(3), np.diag((1, 1, 3)))
    solution = fake_solution(model=odd)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(loaded(solution, tmp_path), solution)


def test_file_is_readable_with_h5py_alone(tmp_path):
    solution = fake_solution(2, model=predyn.models.prismatic_revolute())
    solution.save(tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5", "r") as file:
        assert file.attrs["format"] == "predyn solution"
        assert file.attrs["version"] == 1
        assert file.attrs["status"] == "optimal"
        for name in ("t", "q", "v", "a", "tau", "phase", "reactions"):
            np.testing.assert_array_equal(file[name][...], getattr(solution, name))
        assert file["t"].attrs["units"] == "s"
        assert list(file["q"].attrs["joint_names"]) == ["joint1", "joint2"]
        assert list(file["q"].attrs["units"]) == ["m", "rad"]
        assert list(file["tau"].attrs["units"]) == ["N", "N m"]
        assert list(file["model/joint_names"].asstr()) == ["joint1", "joint2"]
        np.testing.assert_array_equal(file["history/objective"], solution.history["objective"])
        assert file["costs"].attrs["time"] == 0.512
        kinds = set()
        file.visititems(lambda _, item: kinds.add(getattr(item, "dtype", np.dtype("V1")).kind))
        assert kinds <= set("fiObV")  # O: words, V: groups
        text = h5py.string_dtype()
        assert file["active"].dtype == text
    head = (tmp_path / "s.h5").read_bytes()[:512].decode().split("\n")
    assert head[:2] == ["predyn solution", "version 1"]


def test_files_of_models_with_ligaments_are_version_2(tmp_path):
    """Version 0.2 would ignore them."""
    model = replace(predyn.models.two_link(), ligaments=np.arange(12.0).reshape(2, 2, 3))
    fake_solution(model=model).save(tmp_path / "s.h5")
    assert (tmp_path / "s.h5").read_bytes().split(b"\n")[1] == b"version 2"
    np.testing.assert_array_equal(load_solution(tmp_path / "s.h5").model.ligaments, model.ligaments)


def test_equal_solutions_give_equal_bytes(tmp_path):
    fake_solution(2).save(tmp_path / "a.h5")
    first = (tmp_path / "a.h5").read_bytes()
    time.sleep(1.1)  # HDF5 counts time in seconds
    fake_solution(2).save(tmp_path / "b.h5")
    assert (tmp_path / "b.h5").read_bytes() == first
    load_solution(tmp_path / "b.h5").save(tmp_path / "a.h5")
    assert (tmp_path / "a.h5").read_bytes() == first


def test_nothing_heavy_is_imported_before_use():
    code = """
import sys, predyn.solution, predyn.solution.file, predyn.solution.export
print(sorted({"h5py", "numba", "scipy"} & set(sys.modules)))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "s.h5"
    fake_solution().save(path)
    return path.read_bytes()


def refused(data, tmp_path, match=None):
    path = tmp_path / "bad.h5"
    path.write_bytes(data)
    with pytest.raises(FileError, match=match) as caught:
        load_solution(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def test_mutants_are_refused(saved, tmp_path):
    rng = np.random.default_rng(0)
    for k in range(MUTANTS):
        data = bytearray(saved)
        if k % 3 == 0:
            del data[int(rng.integers(len(data))) :]
        else:
            for _ in range(1 if k % 3 == 1 else 20):
                data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        refused(bytes(data), tmp_path)


def test_every_bit_of_the_first_block_counts(saved, tmp_path):
    for k in range(512):
        data = bytearray(saved)
        data[k] ^= 1
        refused(bytes(data), tmp_path)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "not a predyn solution file"),
        (b"t,q\n0,1\n", "not a predyn solution file"),
        (b"predyn solution", "damaged"),
        (b"predyn solution\nversion x\n", "damaged"),
        (b"predyn solution\nversion 3\nsha256 0\n", "version 3, but this predyn reads up to 2"),
    ],
)
def test_other_files(tmp_path, data, match):
    refused(data, tmp_path, match)


def test_other_hdf5_files(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["q"] = np.zeros(3)
    refused((tmp_path / "other.h5").read_bytes(), tmp_path, "an HDF5 file, but not a predyn sol")


def test_paths_without_a_solution(tmp_path):
    for path, match in (
        (tmp_path / "none.h5", "No such file"),
        (tmp_path, "this is a folder"),
        ("a\0b", "cannot be read"),
        *([("/dev/zero", "this is a device")] if Path("/dev/zero").exists() else []),
    ):
        with pytest.raises(FileError, match=match):
            load_solution(path)


def edited(saved, edit):
    """The file after an edit with h5py that updates the seal."""
    buffer = io.BytesIO(saved)
    with h5py.File(buffer, "r+") as file:
        edit(file)
        version = int(file.attrs["version"])
    return hdf5_tree.seal(buffer.getvalue()[hdf5_tree.BLOCK :], KIND, version)


def test_harmless_edit_still_loads(saved, tmp_path):
    path = tmp_path / "edited.h5"
    path.write_bytes(edited(saved, lambda file: file.attrs.create("objective", 2.5)))
    assert load_solution(path).objective == 2.5


def test_external_edit_is_reported(saved, tmp_path):
    path = tmp_path / "s.h5"
    path.write_bytes(saved)
    with h5py.File(path, "r+") as file:
        file.attrs["objective"] = 0.1
    refused(path.read_bytes(), tmp_path, "changed after it was saved")


def names_in(saved):
    with h5py.File(io.BytesIO(saved), "r") as file:
        names = [f"@{name}" for name in file.attrs if name not in ("format", "version")]
        file.visit(names.append)
        names += [f"model@{name}" for name in file["model"].attrs if not name.startswith("%")]
        names += [f"curves/0@{name}" for name in file["curves/0"].attrs if not name.startswith("%")]
    return names


def drop(file, name):
    owner, at, attribute = name.partition("@")
    if at:
        group = file[owner] if owner else file
        del group.attrs[attribute]
    else:
        del file[name]


def test_missing_entries_are_named(saved, tmp_path):
    names = names_in(saved)
    assert len(names) > 80
    for name in names:
        message = refused(edited(saved, lambda file, name=name: drop(file, name)), tmp_path)
        last = name.replace("@", "/").rpartition("/")[2]
        assert (last if not last.isdigit() else "members") in message, (name, message)


def set_data(name, value):
    def edit(file):
        del file[name]
        file[name] = value

    return edit


BAD_EDITS = {
    "shape of q": (set_data("q", np.zeros((3, 2))), r"q: expected float64 of shape \(19, 2\)"),
    "type of q": (set_data("q", np.zeros((19, 2), np.float32)), "got float32"),
    "words for t": (set_data("t", ["a", "b"]), "t: expected ndarray"),
    "group for t": (lambda f: (f.pop("t"), f.create_group("t")), "t|order"),
    "dataset for costs": (set_data("costs", np.zeros(2)), "costs: expected dict"),
    "words for a scalar": (lambda f: f.attrs.create("objective", "big"), "objective: expected fl"),
    "array for a scalar": (lambda f: f.attrs.create("iterations", [1, 2]), "expected one value"),
    "bool for a number": (lambda f: f.attrs.create("iterations", True), "iterations: expected int"),
    "limits": (set_data("limits/effort", np.zeros(2)), r"limits/effort: .*\(2, 2\)"),
    "columns": (set_data("jacobian/columns", np.zeros(3, np.int32)), "jacobian/columns: "),
    "model": (set_data("model/parent", np.array([1, 0])), "model: .*parent"),
    "inertia": (set_data("model/inertia", np.full((2, 10), np.nan)), "model: (.|\\n)*inertia"),
    "model shape": (set_data("model/axis", np.zeros((2, 2))), "model: .*axis"),
    "frame": (lambda f: f["model/frames/0"].attrs.create("link", 77), "model: .*frame"),
    "frame's link": (lambda f: f["model/frames/0"].attrs.create("link", "x"), "model"),
    "force": (lambda f: f["forces/0"].attrs.create("link", "x"), "forces/0: unknown frame"),
    "knots": (set_data("curves/0/knots", np.linspace(1, 0, 13)), "curves/0: knots"),
    "control": (set_data("curves/0/control", np.zeros((3, 2))), "curves/0/control: "),
    "degree": (lambda f: f["curves/0"].attrs.create("degree", 99), "curves/0: degree"),
    "phase names": (set_data("phase_names", ["a", "b"]), "curves: expected one for each of 2"),
    "violations": (set_data("violations/time", np.zeros(7)), "violations/time: "),
    "members": (lambda f: f["curves"].create_group("1"), "curves: expected 1 members, got 2"),
    "provenance": (lambda f: f["provenance"].attrs.create("date", 3), "provenance/date: "),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_EDITS)
def test_wrong_contents_are_named(saved, tmp_path, name):
    edit, match = BAD_EDITS[name]
    refused(edited(saved, edit), tmp_path, match)


def test_nothing_outside_the_file_is_read(saved, tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.ones((19, 2)).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["q"] = np.ones((19, 2))

    def external_link(file):
        del file["q"]
        file["q"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "q")

    def external_data(file):
        del file["q"]
        file.create_dataset("q", (19, 2), "f8", external=[(str(secret), 0, secret.stat().st_size)])

    def virtual(file):
        del file["q"]
        layout = h5py.VirtualLayout((19, 2), "f8")
        layout[...] = h5py.VirtualSource(str(tmp_path / "other.h5"), "q", (19, 2))
        file.create_virtual_dataset("q", layout)

    def huge(file):
        del file["x"]
        file.create_dataset("x", (1 << 40,), "f8")

    for edit in (external_link, external_data, virtual):
        refused(edited(saved, edit), tmp_path, "out")
    refused(edited(saved, huge), tmp_path, "larger")


def test_a_full_disk_leaves_the_earlier_solution(tmp_path, monkeypatch):
    path = tmp_path / "s.h5"
    solution = fake_solution()
    solution.save(path)

    def full(temporary, data):
        temporary.write_bytes(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_fill", full)
    with pytest.raises(FileError, match=r"s\.h5: cannot be written: No space left.*free some"):
        replace(solution, objective=1.0).save(path)
    assert_same(load_solution(path), solution)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"name": "a\0b"}, "name: .*NUL"),
        ({"message": "\ud800"}, "message: .*Unicode"),
        ({"starts": ({"x": object()},)}, "starts/0/x: expected numbers or words"),
        ({"starts": ({"x": [[1], [2, 3]]},)}, "starts/0/x: expected numbers or words"),
        ({"starts": ({3: 1.0},)}, "starts/0: expected names as keys"),
        ({"objective": "low"}, "cannot be saved"),
    ],
)
def test_values_that_cannot_be_saved_are_named(tmp_path, change, match):
    with pytest.raises(FileError, match=match):
        save_solution(replace(fake_solution(), **change), tmp_path / "s.h5")
    assert not list(tmp_path.iterdir())

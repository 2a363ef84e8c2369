"""Files of estimates: lossless, readable by h5py alone, wrong contents named."""

import io
from dataclasses import replace

import h5py
import numpy as np
import pytest

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from predyn.errors import FileError
from predyn.estimate.result_file import KIND, load_estimate, save_estimate
from predyn.published.lcurve import LCurve
from predyn.storage import hdf5_tree
from sameness import assert_same

VARIANTS = {
    "arm": {},
    "nothing optional": {
        "orders": (),
        "comparison": None,
        "warnings": (),
        "force_links": {},
        "lcurve": LCurve(np.zeros(0), np.zeros(0), np.zeros(0), -1),
    },
    "odd": {
        "name": "é/漢",
        "message": "two\nlines",
        "unactuated": ("joint1",),
        "total_variation": True,
        "solve_seconds": float("nan"),
        "tau_sd": np.full((60, 2), np.inf),
    },
}


@pytest.mark.parametrize("name", VARIANTS)
def test_round_trip_bit_for_bit(tmp_path, name):
    estimate = replace(fake_estimate(), **VARIANTS[name])
    estimate.save(tmp_path / "a.h5")
    found = load_estimate(tmp_path / "a.h5")
    assert_same(found, estimate)
    found.save(tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_round_trip_of_a_tree(tmp_path):
    estimate = fake_estimate(model=predyn.models.random_tree(7, 2))
    estimate.save(tmp_path / "a.h5")
    found = load_estimate(tmp_path / "a.h5")
    assert_same(found, estimate)
    assert found.summary() == estimate.summary()
    assert found.torques_csv() == estimate.torques_csv()


def test_h5py_alone_reads_it(tmp_path):
    estimate = fake_estimate()
    estimate.save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r") as file:
        assert np.array_equal(file["tau"], estimate.tau)
        assert list(file["tau"].attrs["units"]) == ["N m", "N m"]
        assert list(file["q"].attrs["joint_names"]) == ["joint1", "joint2"]
        assert file.attrs["status"] == "converged"
        marker = file["measurements/markers/tip"][...]
        assert np.array_equal(marker, estimate.measurements.markers["tip"], equal_nan=True)
        assert file["channels/0"].attrs["name"] == "joint1"


def test_a_solution_is_not_an_estimate(tmp_path):
    fake_solution().save(tmp_path / "s.h5")
    with pytest.raises(FileError, match=r"s\.h5: not a predyn estimate file"):
        load_estimate(tmp_path / "s.h5")


def edited(tmp_path, edit):
    """The path of an estimate with a change and a valid seal."""
    path = tmp_path / "a.h5"
    fake_estimate().save(path)
    buffer = io.BytesIO(path.read_bytes())
    with h5py.File(buffer, "r+") as file:
        edit(file)
    data = hdf5_tree.seal(buffer.getvalue()[hdf5_tree.BLOCK :], KIND, 1)
    path.write_bytes(data)
    return path


def put(name, value):
    def edit(file):
        del file[name]
        file[name] = value

    return edit


BAD = {
    "grid": (put("grid_error", np.zeros((60, 3))), r"grid_error: expected .*\(60, 2\)"),
    "tau": (put("tau", np.zeros((61, 2))), r"tau: expected .*\(60, 2\)"),
    "sd": (put("q_sd", np.zeros((60, 2))), r"q_sd: expected .*\(61, 2\)"),
    "times": (put("t", np.zeros(1)), "t: expected at least 2"),
    "model": (put("model/parent", np.array([1, 0])), "model: .*parent"),
    "fitted": (put("channels/1/fitted", np.zeros(3)), "channels/1/fitted: expected"),
    "marker": (put("measurements/markers/tip", np.zeros((61, 2))), "measurements/markers/tip: "),
    "force": (put("measurements/forces/plate/force", np.zeros((2, 3))), "forces/plate/force: "),
    "curve": (put("lcurve/size", np.zeros(2)), "lcurve/size: "),
    "trial": (put("orders/0/weights", np.zeros(3)), "orders/0/weights: "),
    "filter": (put("comparison/tau", np.zeros((61, 1))), "comparison/tau: "),
    "order": (lambda f: f.attrs.create("order", "two"), "order: expected int"),
    "status": (lambda f: f.attrs.__delitem__("status"), "status is missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_contents_are_named(tmp_path, name):
    edit, match = BAD[name]
    with pytest.raises(FileError, match=rf"a\.h5: (.|\n)*{match}"):
        load_estimate(edited(tmp_path, edit))


def test_values_that_cannot_be_saved_are_named(tmp_path):
    with pytest.raises(FileError, match=r"a\.h5: .*message: .*NUL"):
        save_estimate(replace(fake_estimate(), message="a\0b"), tmp_path / "a.h5")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, 5, b"result.h5"])
def test_an_invalid_path_is_refused(path: object) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        load_estimate(path)

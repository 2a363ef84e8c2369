"""Tables of estimates contain a motion and its torques, and can be read back."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.errors import DataWarning, InputError

MODEL = predyn.models.trujillo_two_link()


@pytest.fixture(scope="module")
def estimate() -> predyn.Estimate:
    t = np.linspace(0.2, 1.0, 41)
    q = np.column_stack((np.sin(3 * t), 0.5 * np.cos(4 * t)))
    q += 1e-3 * np.random.default_rng(1).standard_normal(q.shape)
    angles = dict(zip(MODEL.joint_names, q.T, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return predyn.estimate_torques(MODEL, predyn.Measurements(t, angles=angles), name="swing")


def numbers(path: Path, delimiter: str, skip: int) -> tuple[list[str], np.ndarray]:
    rows = list(csv.reader(path.read_text().splitlines()[skip:], delimiter=delimiter))
    return rows[0], np.array(rows[1:], float)


@pytest.mark.parametrize(("name", "delimiter", "skip"), [("m.csv", ",", 0), ("m.STO", "\t", 6)])
def test_rows_contain_a_motion_and_its_torques(estimate, tmp_path, name, delimiter, skip):
    """In the middles torques are those of inverse dynamics; |c| / h^2 rounds by 64 eps."""
    estimate.export(tmp_path / name)
    header, table = numbers(tmp_path / name, delimiter, skip)
    first = ["t [s]", "q.joint1 [rad]"] if name.endswith("csv") else ["time", "joint1/value"]
    assert header[:2] == first
    assert len(header) == 9
    q, v, a, tau = np.split(table[:, 1:], 4, axis=1)
    assert np.array_equal(table[:, 0], estimate.t_tau)
    assert np.array_equal(tau, estimate.tau)
    h = estimate.t[1] - estimate.t[0]
    rounding = 64 * np.finfo(float).eps * np.abs(estimate.q).max() / h**2
    found = predyn.inverse_dynamics(MODEL, q, v, a)
    assert np.abs(found - tau).max() < rounding * np.abs(predyn.mass_matrix(MODEL, q)).max()


def test_positions_can_be_read_again(estimate, tmp_path):
    estimate.export(tmp_path / "m.mot")
    read = predyn.load_measurements(tmp_path / "m.mot")
    assert np.array_equal(read.t, estimate.t)
    for j, joint in enumerate(MODEL.joint_names):
        assert np.array_equal(read.angles[joint], estimate.q[:, j])


def test_unknown_formats_are_refused(estimate, tmp_path):
    with pytest.raises(InputError, match="sto"):
        estimate.export(tmp_path / "m.xls")
    assert not list(tmp_path.iterdir())
    estimate.export(tmp_path / "m.h5")
    assert predyn.load_estimate(tmp_path / "m.h5").name == "swing"

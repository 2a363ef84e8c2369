"""Solutions, estimates and trajectories in pandas and xarray: labels, units, the same numbers."""

import csv
import io
import sys

import numpy as np
import pytest
import xarray

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.errors import InputError

MIXED = predyn.models.prismatic_revolute()


@pytest.fixture(scope="module")
def solution():
    return loaded_solution()


def same(one, other):
    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_a_data_frame_has_the_samples(solution):
    frame = solution.to_pandas()
    assert frame.index.name == "t"
    same(frame.index, solution.t)
    same(frame["phase"], solution.phase)
    assert list(frame.columns[:5]) == ["phase", "q.joint1", "q.joint2", "v.joint1", "v.joint2"]
    for name in ("q", "v", "a", "tau", "signal:press"):
        columns = [f"{name}.{x}" for x in solution.channels[name].components]
        same(frame[columns], solution.channel(name))
    assert frame.attrs["units"]["tau.joint2"] == "N m"
    assert frame.attrs["units"]["signal:press.x"] == "N"
    assert frame.attrs["status"] == "optimal"


def test_numbers_survive_a_csv_file(solution):
    frame = solution.to_pandas("q", "tau", "energy")
    header, *rows = csv.reader(io.StringIO(frame.to_csv()))
    assert header == ["t", *frame.columns]
    same(np.array(rows, float)[:, 1:], frame)


def test_a_dataset_has_named_dimensions(solution):
    t = [0.0, 0.35, 1.1]
    names = ("q", "reactions", "frame:tip", "com", "energy", "rate:press", "parameter:share", "t")
    data = solution.to_xarray(*names, t=t)
    assert data["q"].dims == ("t", "joint")
    assert data["reactions"].dims == ("t", "joint", "wrench")
    assert data["frame:tip"].dims == ("t", "frame_component")
    assert data["com"].dims == data["rate:press"].dims == ("t", "axis")
    assert data["energy"].dims == data["parameter:share"].dims == ("t",)
    assert data["phase"].to_numpy().tolist() == [0, 0, 1]
    for name in ("q", "frame:tip", "com"):
        same(data[name], solution.channel(name, t))
    same(data["reactions"], solution.at(t).reactions)
    same(data["time_in_phase"], solution.channel("t", t)[:, 0])
    tip = data["frame:tip"].sel(frame_component="py", t=0.35)
    assert float(tip) == solution.channel("frame:tip", 0.35)[10]
    assert data["q"].sel(joint="joint2").attrs["units"] == "rad"
    assert data["rate:press"].attrs["units"] == "N/s"
    assert data["t"].attrs["units"] == "s"


def test_numbers_survive_a_netcdf_file(solution):
    data = solution.to_xarray("q", "reactions", "signal:press")
    again = xarray.open_dataset(io.BytesIO(data.to_netcdf(engine="scipy")), engine="scipy")
    for name in ("t", "q", "reactions", "signal:press"):
        same(again[name], data[name])
        assert again[name].attrs["units"] == data[name].attrs["units"]


def test_units_of_joints_of_both_kinds():
    solution = fake_solution(model=MIXED)
    assert solution.to_xarray("v")["v"].attrs["units"] == "m/s, rad/s"
    units = solution.to_pandas("v").attrs["units"]
    assert [units[f"v.{x}"] for x in MIXED.joint_names] == ["m/s", "rad/s"]


def test_every_channel_fits_into_a_table(solution):
    names = list(solution.channels)
    frame, data = solution.to_pandas(*names), solution.to_xarray(*names)
    size = sum(len(x.components) for x in solution.channels.values())
    assert frame.shape == (len(solution.t), size + 1)
    assert frame.columns.is_unique
    assert len(data.data_vars) == len(names)


def test_estimates():
    estimate = fake_estimate()
    joints = estimate.model.joint_names
    torques, states = estimate.to_pandas(), estimate.to_pandas("states")
    same(torques.index, estimate.t_tau)
    same(states.index, estimate.t)
    for name in ("tau", "tau_sd", "a", "grid_error"):
        same(torques[[f"{name}.{x}" for x in joints]], getattr(estimate, name))
    for name in ("q", "v", "q_sd", "v_sd"):
        same(states[[f"{name}.{x}" for x in joints]], getattr(estimate, name))
    same(torques["start"], estimate.t[:-1])
    assert torques.attrs["units"][f"tau_sd.{joints[0]}"] in ("N m", "N")
    data = estimate.to_xarray()
    assert data["tau"].dims == ("t_tau", "joint")
    assert data["q"].dims == ("t", "joint")
    same(data["grid_error"], estimate.grid_error)
    with pytest.raises(InputError, match="unknown table 'torque': did you mean 'torques'"):
        estimate.to_pandas("torque")


def test_trajectories_and_batches_of_them():
    model, t = MIXED, np.linspace(0.0, 0.2, 5)
    single = predyn.simulate(model, [0.1, 0.2], [0.0, 0.0], None, t)
    frame = single.to_pandas()
    same(frame[[f"q.{x}" for x in model.joint_names]], single.q)
    same(frame["energy"], single.energy)
    assert frame.index.name == "t"
    batch = predyn.simulate(model, np.zeros((3, 2)) + [[0.1], [0.2], [0.3]], [0.0, 0.0], None, t)
    frame, data = batch.to_pandas(), batch.to_xarray()
    assert frame.index.names == ["run", "t"]
    same(frame.loc[2][[f"v.{x}" for x in model.joint_names]], batch.v[2])
    assert data["q"].dims == ("run", "t", "joint")
    same(data["a"], batch.a)
    assert data["energy"].dims == ("run", "t")
    assert data["q"].attrs["units"] == "m, rad"


def test_bad_arguments_are_named(solution):
    with pytest.raises(InputError, match="unknown channel 'torque'"):
        solution.to_pandas("torque")
    with pytest.raises(InputError, match=r"t: expected times \(K,\)"):
        solution.to_xarray(t=0.1)


@pytest.mark.parametrize("package", ["pandas", "xarray"])
def test_a_missing_package_says_how_to_install_it(solution, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        InputError, match=rf"{package}, which is not.*pip install .predyn\[tables\]"
    ):
        getattr(solution, f"to_{package}")()

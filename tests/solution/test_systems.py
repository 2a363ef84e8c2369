"""Solutions whose phases differ: loads, forces over time, motors; signals and parameters."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import BSpline as ScipySpline
from scipy.interpolate import PchipInterpolator

import predyn
from fake_solution import fake_solution
from loaded_solution import LOAD, TWIST, WIND, loaded_solution
from oracles.pinocchio_oracle import pinocchio_forces, pinocchio_model
from predyn.dynamics.system import PhaseSystem
from predyn.errors import FileError, InputError
from predyn.kernels.forces import ExternalForce
from predyn.solution.file import load_solution
from sameness import assert_same
from solution.test_solution_file import edited, refused, set_data

STORED = Path(__file__).parents[1] / "data" / "version-0.2" / "solution" / "solution.h5"
T = 0.6  # s, of each phase


@pytest.fixture(scope="module")
def solution():
    return loaded_solution()


def press(solution, t):
    curve = solution.signal_curves["press"].curves[1]
    return ScipySpline(curve.knots, curve.control, curve.degree)((t - T) / T)


def test_torques_match_pinocchio_with_and_without_the_load(solution):
    """200 instants; the load and the curves of the forces are given to Pinocchio on their own."""
    t = np.sort(np.random.default_rng(8).uniform(0.0, 2 * T, 200))
    sample, model = solution.at(t), solution.model
    empty, loaded = pinocchio_model(model), pinocchio_model(model)
    tip = model.frame("tip")
    place = pin.SE3(np.array(tip.R), np.array(tip.p))
    loaded.appendBodyToJoint(tip.link + 1, pin.Inertia(LOAD.mass, LOAD.point, LOAD.inertia), place)
    wind, twist = (PchipInterpolator(x.times, x.values) for x in (WIND, TWIST))
    point = np.array([0.1, 0.05, 0.0])
    channel = solution.channel("tau", t)
    for k, (time, q, v, a) in enumerate(zip(t, sample.q, sample.v, sample.a, strict=True)):
        twin, forces = loaded, [ExternalForce("link2", press(solution, time), point=point,
                                              frame="link")]  # fmt: skip
        if time < T:
            twin = empty
            forces = [ExternalForce(**solution.forces[0]),
                      ExternalForce("link1", wind(time), twist(time / T), point)]  # fmt: skip
        data = twin.createData()
        pin.forwardKinematics(twin, data, q)
        expected = pin.rnea(twin, data, q, v, a, pinocchio_forces(model, data, forces, 0))
        np.testing.assert_allclose(sample.tau[k], expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(channel[k], expected, rtol=0, atol=1e-10)
    assert (t < T).sum() > 50
    # the load weighs: without it the second phase needs other torques
    without = replace(solution, systems=(solution.systems[0],) * 2)
    assert np.abs(without.at(1.0).tau - solution.at(1.0).tau).max() > 1.0


def test_limits_are_like_those_of_a_model(solution, tmp_path):
    """Those of the problem; phases have their own."""
    solution.save(tmp_path / "a.h5")
    for one in (solution, load_solution(tmp_path / "a.h5")):
        assert type(one.limits) is type(one.model.limits)
        assert all(x.shape == (2, 2) for x in one.limits)
        np.testing.assert_array_equal(one.system(0).limits.velocity, one.limits.velocity)
        np.testing.assert_array_equal(one.system(1).limits.velocity, 0.5 * one.limits.velocity)
        assert one.jerk_limit is None


def test_systems_of_phases(solution):
    assert solution.system(1) is solution.systems[1]
    plain = fake_solution(2)
    one = plain.system(1)
    assert isinstance(one, PhaseSystem)
    assert (one.model, one.payloads, one.passive, one.jerk_limit) == (plain.model, (), (), None)
    assert one.forces[0].link == "tip"
    assert_same(one.limits, plain.limits)
    limited = replace(plain, jerk_limit=np.array([3.0, 4.0]), passive=("joint1",))
    np.testing.assert_array_equal(limited.system(0).jerk_limit, [3.0, 4.0])
    assert limited.system(0).passive == ("joint1",)
    for bad in (-1, 2, 0.0, True, "carry"):
        with pytest.raises(InputError, match="phase: expected a number from 0 to 1"):
            solution.system(bad)


def test_signals_and_parameters_are_channels(solution):
    t = np.array([[0.1, 0.3, 0.59], [0.6, 0.9, 1.2]])
    values = solution.channel("signal:press", t)
    assert values.shape == (2, 3, 3)
    assert np.isnan(values[0]).all()
    np.testing.assert_allclose(values[1], press(solution, t[1]), atol=1e-13)
    rate = solution.channel("rate:press", 0.95)
    slope = press(solution, np.array([0.94, 0.96]))
    np.testing.assert_allclose(rate, (slope[1] - slope[0]) / 0.02, atol=1e-10)
    assert np.isnan(solution.channel("rate:press", 0.2)).all()
    np.testing.assert_array_equal(
        solution.channel("signal:level", [0.0, 0.2, 0.41, 0.6, 0.81, 1.2])[:, 0], [1, 3, 2, 2, 4, 3]
    )
    np.testing.assert_array_equal(solution.channel("rate:level", [0.1, 1.2]), np.zeros((2, 1)))
    assert solution.channel("parameter:stiffness", 0.3).tolist() == [1234.5]
    assert solution.channel("parameter:share", np.zeros((2, 4))).shape == (2, 4, 1)
    assert solution.channel("reactions", []).shape == (0, 12)
    np.testing.assert_array_equal(
        solution.channel("reactions", t).reshape(2, 3, 2, 6), solution.at(t).reactions
    )


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("signal:pres", "unknown channel 'signal:pres': did you mean 'signal:press'"),
        ("rate:lvel", "did you mean 'rate:level'"),
        ("parameter:stifness", "did you mean 'parameter:stiffness'"),
        ("tua", "unknown channel 'tua'"),
        ("frame:tpi", "unknown frame or link 'tpi': did you mean 'tip'"),
        (None, "channel: expected a name"),
    ],
)
def test_unknown_channels_are_named(solution, name, match):
    with pytest.raises(InputError, match=match):
        solution.channel(name, 0.1)


def test_a_force_whose_signal_is_missing_is_named(solution):
    swapped = replace(solution, systems=solution.systems[::-1])
    with pytest.raises(InputError, match="'press' drives a force in phase 'reach', but is not"):
        swapped.at(0.1)
    with pytest.raises(InputError, match="unknown signal 'press': did you mean 'pressure'"):
        replace(
            solution, signal_curves={"pressure": solution.signal_curves["press"]}
        ).at(1.0)  # fmt: skip


def test_stored_samples_match_the_curves(solution):
    later = np.flatnonzero(np.diff(solution.t) == 0.0)
    keep = np.setdiff1d(np.arange(len(solution.t)), later)
    for name in ("press", "level"):
        found = solution.channel(f"signal:{name}", solution.t[keep])
        np.testing.assert_allclose(found, solution.signals[name][keep], atol=1e-12)


def test_summary_and_text(solution):
    summary = json.loads(json.dumps(solution.summary(), allow_nan=False))
    assert summary["parameters"] == {
        "stiffness": {"value": 1234.5, "unit": "N/m"}, "share": {"value": 0.25, "unit": "1"},
    }  # fmt: skip
    largest = np.nanmax(np.abs(solution.signals["press"]), axis=0)
    assert summary["signals"]["press"] == {
        "unit": "N", "largest": dict(zip("xyz", largest.tolist(), strict=True)),
    }  # fmt: skip
    reach, carry = summary["phases"]
    assert "payloads" not in reach
    assert carry["payloads"] == [{"link": "tip", "mass": 2.5}]
    nowhere = replace(solution, signals={**solution.signals, "level": np.full((38, 1), np.nan)})
    assert nowhere.summary()["signals"]["level"]["largest"] == {"h": None}
    lines = [" ".join(line.split()) for line in str(loaded_solution(passive=True)).splitlines()]
    assert "parameter stiffness 1234.5 N/m" in lines
    assert "parameter share 0.25" in lines
    assert "payloads carry: 2.5 kg at tip" in lines
    assert "passive joint2 (in carry)" in lines
    assert "signal level up to h 4" in lines
    assert next(x for x in lines if x.startswith("signal press")).endswith(f"z {largest[2]:.4g} N")
    many = replace(solution, parameters={f"p{k}": 1.0 for k in range(14)})
    assert "... and 4 more parameters" in str(many)
    assert "payloads" not in str(fake_solution(2))


@pytest.mark.parametrize("rate", [None, 20.0])
def test_exports_have_columns_of_signals(tmp_path, rate):
    solution = loaded_solution(passive=True)
    for suffix in (".csv", ".sto", ".mot"):
        solution.export(tmp_path / f"m{suffix}", rate=rate)
    with open(tmp_path / "m.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[-4:] == ["signal.press.x [N]", "signal.press.y [N]", "signal.press.z [N]",
                           "signal.level.h [1]"]  # fmt: skip
    table = np.array(rows, float)
    t, phase = table[:, 0], table[:, 1]
    if rate is None:
        signals = np.hstack([solution.signals["press"], solution.signals["level"]])
    else:
        signals = np.hstack([solution.channel(f"signal:{x}", t) for x in ("press", "level")])
    np.testing.assert_array_equal(table[:, -4:], signals)
    assert np.isnan(table[phase == 0, -4]).all()
    effort = table[:, -5]  # of joint2, which has a motor in the first phase
    assert np.abs(effort[phase == 0]).min() > 0.1
    np.testing.assert_array_equal(effort[phase == 1], 0.0)
    for suffix in (".sto", ".mot"):
        lines = (tmp_path / f"m{suffix}").read_text().split("\n")
        end = lines.index("endheader")
        assert lines[end - 2 : end] == ["parameter stiffness [N/m]=1234.5", "parameter share=0.25"]
        labels = lines[end + 1].split("\t")
        assert labels[-4:] == ["press/x", "press/y", "press/z", "level/h"]
        assert f"nColumns={len(labels)}" in lines
        last = np.array(lines[-2].split("\t"), float)
        np.testing.assert_array_equal(last[-4:], table[-1, -4:])
    for suffix in (".csv", ".sto", ".mot"):  # signals are left out of measurements
        read = predyn.load_measurements(tmp_path / f"m{suffix}")
        assert set(read.angles) == {"joint1", "joint2"}
        assert not read.markers
        assert not read.forces


def test_labels_that_clash_are_named(tmp_path, solution):
    curves = solution.signal_curves
    clash = replace(
        solution,
        signal_curves={"joint1": curves["level"]._replace(components=("value",))},
        signals={"joint1": solution.signals["level"]},
    )
    with pytest.raises(InputError, match="'joint1/value'; rename the joint or signal"):
        clash.export(tmp_path / "m.sto")
    clash.export(tmp_path / "m.csv")


def test_round_trip_bit_for_bit(tmp_path):
    for k, solution in enumerate((loaded_solution(), loaded_solution(passive=True))):
        path = tmp_path / f"{k}.h5"
        solution.save(path)
        again = load_solution(path)
        assert_same(again, solution)
        assert_same(again.at([0.3, 0.9]), solution.at([0.3, 0.9]))
        again.save(tmp_path / "again.h5")
        assert (tmp_path / "again.h5").read_bytes() == path.read_bytes()
        assert path.read_bytes().split(b"\n")[1] == b"version 2"


def test_files_without_anything_new_stay_version_1(tmp_path):
    """Version 0.2 reads the parts of them that it supports."""
    plain = fake_solution(2)
    assert load_solution(STORED).systems == ()
    same = replace(plain, systems=tuple(plain.system(k) for k in range(2)))
    number = replace(same.systems[0], jerk_limit=3.0)
    limited = replace(same, jerk_limit=np.array([3.0, 3.0]), systems=(number, number))
    for solution in (plain, same, limited):
        solution.save(tmp_path / "s.h5")
        assert (tmp_path / "s.h5").read_bytes().split(b"\n")[1] == b"version 1"
        assert_same(load_solution(tmp_path / "s.h5"), solution)
    one = same.systems[0]
    other = ExternalForce("tip", (0.0, -9.0, 0.0))
    wide = one.limits._replace(effort=2.0 * one.limits.effort)
    for change in (
        {"payloads": (LOAD,), "model": loaded_solution().systems[1].model},
        {"forces": ()},
        {"forces": (other,)},
        {"forces": (replace(other, force=WIND),)},
        {"passive": ("joint1",)},
        {"limits": wide},
        {"jerk_limit": 3.0},
    ):
        replace(same, systems=(one, replace(one, **change))).save(tmp_path / "s.h5")
        assert (tmp_path / "s.h5").read_bytes().split(b"\n")[1] == b"version 2", change


def test_inconsistent_solutions_are_not_saved(tmp_path, solution):
    with pytest.raises(FileError, match="signals: expected samples and curves of the same names"):
        replace(solution, signals={}).save(tmp_path / "s.h5")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "s.h5"
    loaded_solution(passive=True).save(path)
    return path.read_bytes()


def set_entry(group, name, value):
    return lambda file: file[group].attrs.create(name, value)


FORCE, PRESS, CARRY = "systems/1/forces/0", "signals/press", "systems/1"
BAD_EDITS = {
    "samples": (set_data(f"{PRESS}/samples", np.zeros((3, 3))), "signals/press/samples: expected"),
    "samples where none are": (set_data(f"{PRESS}/samples", np.zeros((38, 3))),
                               "signals/press/samples: expected NaN in phases without"),
    "no components": (set_data(f"{PRESS}/components", ["x", "x", "z"]), "components: .*different"),
    "control": (set_data(f"{PRESS}/curves/1/control", np.zeros((5, 2))), "press/curves/1/control"),
    "control not finite": (set_data(f"{PRESS}/curves/1/control", np.full((5, 3), np.nan)),
                           "signals: expected finite numbers for 'press', since it converged"),
    "degree": (set_entry(f"{PRESS}/curves/1", "degree", 7), "signals/press/curves/1: degree"),
    "duration": (set_entry(f"{PRESS}/curves/1", "duration", 0.7), "curves/1/duration: .*phase"),
    "unit": (set_entry(PRESS, "unit", 3), "signals/press/unit: expected str"),
    "parameter": (set_entry("parameters", "share", "x"), "parameters/share: expected float"),
    "parameter NaN": (set_entry("parameters", "share", np.nan), "parameters: expected finite"),
    "units": (lambda f: f.pop("parameter_units"), "parameter_units is missing"),
    "no signals": (lambda f: f.pop("signals"), "systems/1/forces/0/force: .*name of a signal"),
    "unknown signal": (set_entry(FORCE, "force", "pres"), "forces/0/force: expected the name of a"),
    "small signal": (set_entry(FORCE, "force", "level"), "signal of 3 components in this phase"),
    "signal elsewhere": (set_entry("systems/0/forces/0", "force", "press"), "the name of a"),
    "axes": (set_entry(FORCE, "frame", "moon"), "forces/0/frame: expected one of world, link"),
    "link": (set_entry(FORCE, "link", "x"), "systems/1/forces/0: unknown frame"),
    "profile": (set_data("systems/0/forces/1/force/times", np.zeros(4)),
                "systems/0/forces/1/force: .*increasing"),
    "profile's values": (set_data("systems/0/forces/1/force/values", np.full((4, 3), 1e300)),
                         "forces/1/force/values: expected numbers up to"),
    "over": (set_entry("systems/0/forces/1/force", "over", "space"), "over: expected one of time"),
    "mass": (set_entry(f"{CARRY}/payloads/0", "mass", -1.0), "systems/1: payload mass"),
    "payload's link": (set_entry(f"{CARRY}/payloads/0", "link", "x"), "systems/1: unknown frame"),
    "payload's inertia": (set_data(f"{CARRY}/payloads/0/inertia", np.eye(2)), "payloads/0/inertia"),
    "passive": (set_data(f"{CARRY}/passive", ["x"]), "systems/1: unknown joint 'x'"),
    "limits": (set_data(f"{CARRY}/limits/effort", np.ones((2, 2)) * (1.0, -1.0)),
               "systems/1/limits/effort: expected lower limits"),
    "jerk": (set_data(f"{CARRY}/jerk_limit", np.array([1.0, -1.0])), "jerk_limit: expected posit"),
    "jerk's shape": (set_data(f"{CARRY}/jerk_limit", np.ones(3)), "systems/1/jerk_limit: expected"),
    "systems": (lambda f: (f["systems"].pop("1"), f["systems"].attrs.create("%length", 1)),
                "systems: expected one for each of 2 phases, got 1"),
    "curves": (lambda f: (f[f"{PRESS}/curves"].pop("1"),
                          f[f"{PRESS}/curves"].attrs.create("%length", 1)),
               "signals/press/curves: expected one for each of 2 phases, got 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_EDITS)
def test_wrong_contents_are_named(saved, tmp_path, name):
    edit, match = BAD_EDITS[name]
    refused(edited(saved, edit), tmp_path, match)


def test_signals_and_systems_are_readable_with_h5py_alone(saved, tmp_path):
    (tmp_path / "s.h5").write_bytes(saved)
    with h5py.File(tmp_path / "s.h5", "r") as file:
        assert file["signals/press"].attrs["unit"] == "N"
        assert file["signals/press/samples"].shape == (38, 3)
        assert file["parameters"].attrs["share"] == 0.25
        assert file["systems/1/payloads/0"].attrs["mass"] == 2.5

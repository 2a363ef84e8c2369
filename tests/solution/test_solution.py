"""Solution: evaluation anywhere, checks, summary, tables and exports."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import DURATION, LOAD, SEGMENTS, fake_solution
from predyn.curves.bspline import BSpline
from predyn.errors import FileError, InputError, NotConverged
from predyn.solution import Violation

EPS = np.finfo(float).eps
REQUIRED = {
    "name", "status", "success", "objective", "duration", "iterations", "solve_seconds",
    "max_violation", "max_violation_dense", "n_variables", "n_constraints", "predyn_version",
}  # fmt: skip


@pytest.mark.parametrize("phases", [1, 2, 3])
def test_at_gives_the_stored_samples(phases):
    solution = fake_solution(phases)
    ends = np.flatnonzero(np.diff(solution.t) == 0.0)  # at() takes the later phase there
    keep = np.setdiff1d(np.arange(len(solution.t)), ends)
    sample = solution.at(solution.t[keep])
    for name in ("q", "v", "a", "tau", "reactions"):
        stored = getattr(solution, name)[keep]
        # s = (t - start) / T carries a few roundings; the curves amplify them by their slope
        np.testing.assert_allclose(
            getattr(sample, name), stored, rtol=0, atol=1e4 * EPS * np.abs(stored).max()
        )
    np.testing.assert_array_equal(solution.phase_at(solution.t[keep]), solution.phase[keep])


def test_at_matches_its_own_derivatives():
    solution, h = fake_solution(2), 1e-4
    t = np.array([0.03, 0.31, 0.77, 1.13])
    before, here, after = (solution.at(t + d) for d in (-h, 0.0, h))
    for order, (low, high) in enumerate((("q", "v"), ("v", "a"), ("a", "jerk"))):
        slope = (getattr(after, low) - getattr(before, low)) / (2 * h)
        # central differences of a cubic: h^2 / 6 times its third derivative, and rounding of terms
        # that are up to (4 segments / T)^order times control points of 3 rad
        third = h**2 / 6 * np.abs(here.jerk).max() if low == "q" else 0.0
        rounding = 3 * (4 * SEGMENTS / solution.curves[0].duration) ** order * EPS / h
        atol = 1.01 * third + rounding
        np.testing.assert_allclose(slope, getattr(here, high), rtol=0, atol=atol)
    tau = predyn.inverse_dynamics(
        solution.model, here.q, here.v, here.a, forces=[predyn.ExternalForce(**LOAD)]
    )
    np.testing.assert_array_equal(here.tau, tau)


def test_the_load_is_part_of_tau():
    loaded = fake_solution()
    free = replace(loaded, forces=())
    assert np.abs(loaded.at(0.5).tau - free.at(0.5).tau).max() > 0.1


def test_at_takes_any_shape():
    solution = fake_solution()
    one = solution.at(0.5)
    assert one.q.shape == one.jerk.shape == (2,)
    assert one.reactions.shape == (2, 6)
    assert one.t.shape == ()
    grid = solution.at([[0.0, 0.5, 1.0]] * 2)
    assert grid.tau.shape == (2, 3, 2)
    assert grid.reactions.shape == (2, 3, 2, 6)
    np.testing.assert_array_equal(grid.tau[1, 1], one.tau)
    assert solution.at([]).q.shape == (0, 2)
    assert solution.at(1).q.shape == (2,)


def test_at_a_boundary_is_the_later_phase():
    solution = fake_solution(2)
    before, after = solution.a[solution.phase == 0][-1], solution.a[solution.phase == 1][0]
    assert np.abs(before - after).max() > 1e-3
    for t in (0.6, np.nextafter(0.6, 0.0)):
        np.testing.assert_allclose(solution.at(t).a, after, rtol=0, atol=1e-12)
        assert solution.phase_at(t) == 1


def test_phases_of_different_durations():
    solution = fake_solution(3)
    durations = (0.5, 1e-3, 2.0)
    curves = [c._replace(duration=T) for c, T in zip(solution.curves, durations, strict=True)]
    changed = replace(solution, curves=tuple(curves))
    assert changed.duration == 2.501
    for k, (t, T) in enumerate(zip((0.25, 0.5005, 1.501), durations, strict=True)):
        spline = BSpline(3, curves[k].knots)
        q, v, _, jerk = (x[0] for x in spline.evaluate(curves[k].control, [0.5], T))
        sample = changed.at(t)
        np.testing.assert_allclose(sample.q, q, rtol=1e4 * EPS)  # s carries eps * 2.5 s / 1 ms
        np.testing.assert_allclose(sample.v, v, rtol=1e5 * EPS)
        np.testing.assert_allclose(sample.jerk, jerk, rtol=1e5 * EPS)


def test_a_time_just_beyond_a_short_last_phase():
    solution = fake_solution(2)
    short = replace(
        solution, curves=(solution.curves[0], solution.curves[1]._replace(duration=1e-6))
    )
    beyond = short.duration + 4 * EPS * short.duration
    np.testing.assert_array_equal(short.at(beyond).q, solution.q[-1])


def test_at_allows_rounding_beyond_the_ends():
    solution = fake_solution(2)
    np.testing.assert_array_equal(solution.at(-2 * EPS).q, solution.q[0])
    np.testing.assert_array_equal(
        solution.at(np.nextafter(solution.duration, 2.0)).q, solution.q[-1]
    )


@pytest.mark.parametrize("t", [-1e-9, DURATION + 1e-9, math.nan, math.inf, [0.1, 5.0]])
def test_at_names_the_range(t):
    with pytest.raises(InputError, match=r"from 0 to 1\.2, the duration of 'two-link-lifting'"):
        fake_solution().at(t)


@pytest.mark.parametrize("t", ["0.5", None, 1j, [[0.1], [0.2, 0.3]], [True]])
def test_at_refuses_invalid_times(t):
    with pytest.raises(InputError, match="t: expected seconds"):
        fake_solution().at(t)


@pytest.mark.parametrize("status", ["optimal", "acceptable"])
def test_check_returns_a_success(status):
    solution = fake_solution(status=status)
    assert solution.check() is solution


def test_check_names_the_violations():
    with pytest.raises(NotConverged) as caught:
        fake_solution(status="infeasible").check()
    message = str(caught.value)
    for part in (
        "two-link-lifting",
        "'infeasible'",
        "widen them",
        "effort of joint1",
        "0.25",
        "2.5",
    ):
        assert part in message
    assert "continuity of v" in message
    assert "nan" not in message


def test_check_lists_ten_at_most():
    many = tuple(Violation(f"row {k}", 1.0, 1.0, 2.0, 0.0, 1.0, 0.0) for k in range(14))
    met = Violation("met", 0.0, 0.0, 0.5, 0.0, 1.0, 0.0)
    with pytest.raises(NotConverged) as caught:
        replace(fake_solution(status="diverged"), violations=(*many, met)).check()
    assert "row 9" in str(caught.value)
    assert "row 10" not in str(caught.value)
    assert "and 4 more" in str(caught.value)


def test_summary_is_json_with_the_promised_keys():
    solution = fake_solution(2)
    summary = solution.summary()
    assert set(summary) >= REQUIRED
    again = json.loads(json.dumps(summary, allow_nan=False))
    assert again == summary
    assert summary["duration"] == pytest.approx(DURATION, rel=4 * EPS)
    assert [phase["name"] for phase in summary["phases"]] == ["phase 1", "phase 2"]
    assert summary["costs"] == {"time": 0.512, "effort": 0.333}
    assert summary["active_limits"] == ["effort of joint1"]
    assert summary["violations"][1]["time"] is None
    assert summary["starts"][1] == {"status": "infeasible", "objective": None}


def test_summary_of_numpy_numbers_and_nothing_finite():
    solution = replace(
        fake_solution(status="evaluation_error"),
        objective=np.float64("nan"),
        iterations=np.int64(3),
        max_violation=math.inf,
    )
    summary = json.loads(json.dumps(solution.summary(), allow_nan=False))
    assert summary["objective"] is None
    assert summary["max_violation"] is None
    assert summary["iterations"] == 3
    assert summary["success"] is False


def test_text_is_a_short_table():
    text = str(fake_solution(2))
    assert text == repr(fake_solution(2))
    for part in ("two-link-lifting", "optimal", "0.845", "effort", "1.2 s", "phase 2 0.6", "rad/s",
                 "N m", "5 in 0.0123 s", "0.0004 relative: effort of joint1 at 0.1 s"):  # fmt: skip
        assert part in text
    assert len(text.splitlines()) < 20
    slides = str(fake_solution(model=predyn.models.prismatic_revolute()))
    assert "1 m " in slides
    assert "m/s" in slides
    assert "and 5 more joints" in str(fake_solution(model=predyn.models.random_tree(15, 1)))


def test_text_names_passive_joints():
    solution = replace(fake_solution(), passive=("joint2",))
    lines = str(solution).splitlines()
    assert [line.split() for line in lines if line.startswith("passive")] == [["passive", "joint2"]]
    driven, passive = lines[-2:]
    assert driven.endswith("N m")
    assert passive.startswith("joint2")
    assert passive.endswith("rad/s         passive")
    assert "passive" not in str(fake_solution())


@pytest.mark.parametrize("rate", [None, 50.0])
@pytest.mark.parametrize("suffix", [".csv", ".sto"])
def test_exported_efforts_are_those_of_motors(tmp_path, suffix, rate):
    solution = replace(fake_solution(), passive=("joint2",))
    path = tmp_path / f"m{suffix}"
    solution.export(path, rate=rate)
    if suffix == ".csv":
        table = np.loadtxt(path, delimiter=",", skiprows=1)
    else:
        table = read_storage(path)[2]
    np.testing.assert_array_equal(table[:, -1], 0.0)
    expected = solution.tau if rate is None else solution.at(table[:, 0]).tau
    np.testing.assert_array_equal(table[:, -2], expected[:, 0])
    assert np.abs(solution.tau[:, 1]).max() > 0.1  # the solution itself keeps the error


def test_csv_reads_back_bit_for_bit(tmp_path):
    solution = fake_solution(2)
    path = tmp_path / "motion.csv"
    solution.export(path)
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[:3] == ["t [s]", "phase", "q.joint1 [rad]"]
    assert header[-1] == "tau.joint2 [N m]"
    table = np.array(rows, float)
    expected = (solution.t, solution.phase, solution.q, solution.v, solution.a, solution.tau)
    np.testing.assert_array_equal(table, np.column_stack(expected))


def test_csv_units_and_quotes(tmp_path):
    solution = fake_solution(model=predyn.models.prismatic_revolute())
    named = replace(solution.model, joint_names=('a, "b"', "c"))
    replace(solution, model=named).export(tmp_path / "m.csv")
    with open(tmp_path / "m.csv", newline="") as file:
        header = next(csv.reader(file))
    assert header[2:6] == ['q.a, "b" [m]', "q.c [rad]", 'v.a, "b" [m/s]', "v.c [rad/s]"]
    assert header[-2:] == ['tau.a, "b" [N]', "tau.c [N m]"]


def read_storage(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    end = lines.index("endheader")
    settings = dict(line.split("=") for line in lines[1:end])
    labels = lines[end + 1].split("\t")
    assert lines[-1] == ""
    table = np.array([line.split("\t") for line in lines[end + 2 : -1]], float)
    assert settings.pop("nRows") == str(len(table))
    assert settings.pop("nColumns") == str(len(labels)) == str(table.shape[1])
    assert settings == {"version": "1", "inDegrees": "no"}
    assert labels[0] == "time"
    assert (np.diff(table[:, 0]) > 0).all()
    return lines[0], labels[1:], table


def test_mot_has_the_coordinates(tmp_path):
    solution = fake_solution(2)
    solution.export(tmp_path / "m.mot")
    name, labels, table = read_storage(tmp_path / "m.mot")
    assert name == "two-link-lifting"
    assert labels == ["joint1", "joint2"]
    assert len(table) == len(solution.t) - 1  # the boundary once
    np.testing.assert_array_equal(table[-1, 1:], solution.q[-1])


def test_sto_has_states_and_efforts(tmp_path):
    solution = fake_solution(2, model=predyn.models.prismatic_revolute())
    solution.export(tmp_path / "m.sto")
    _, labels, table = read_storage(tmp_path / "m.sto")
    assert labels == [
        "joint1/value", "joint2/value", "joint1/speed", "joint2/speed",
        "joint1/accel", "joint2/accel", "joint1_force", "joint2_moment",
    ]  # fmt: skip
    boundary = table[:, 0].tolist().index(0.6)
    np.testing.assert_array_equal(table[boundary, 5:7], solution.a[solution.phase == 1][0])


def test_storage_labels_are_single_words(tmp_path):
    solution = fake_solution()
    spaced = replace(solution, name="a\nb", model=replace(solution.model, joint_names=("a b", "c")))
    spaced.export(tmp_path / "m.mot")
    name, labels, _ = read_storage(tmp_path / "m.mot")
    assert (name, labels) == ("a b", ["a_b", "c"])
    clash = replace(solution, model=replace(solution.model, joint_names=("a b", "a_b")))
    with pytest.raises(InputError, match="'a_b'"):
        clash.export(tmp_path / "n.mot")
    assert not (tmp_path / "n.mot").exists()


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("", "motion"),
        ("2024 1", "motion 2024 1"),
        ("endheader", "motion endheader"),
        ("a=b", "a b"),
    ],
)
def test_storage_titles_are_not_part_of_the_table(tmp_path, name, title):
    replace(fake_solution(), name=name).export(tmp_path / "m.sto")
    lines = (tmp_path / "m.sto").read_text().split("\n")
    assert lines[:2] == [title, "version=1"]


@pytest.mark.parametrize("rate", [10, 100.0, 7.3])
def test_rate_gives_equal_steps(tmp_path, rate):
    solution = fake_solution(2)
    solution.export(tmp_path / "m.csv", rate=rate)
    table = np.loadtxt(tmp_path / "m.csv", delimiter=",", skiprows=1)
    steps = math.floor(DURATION * rate * (1 + 4 * EPS))
    np.testing.assert_allclose(table[:, 0], np.arange(steps + 1) / rate, rtol=4 * EPS)
    np.testing.assert_array_equal(table[:, 1], table[:, 0] >= 0.6)
    np.testing.assert_array_equal(table[:, 2:4], solution.at(table[:, 0]).q)


def test_rate_reaches_an_end_that_rounding_missed(tmp_path):
    solution = fake_solution()
    short = replace(solution, curves=(solution.curves[0]._replace(duration=0.29),))
    assert 0.29 * 100 < 29
    short.export(tmp_path / "m.mot", rate=100)
    _, _, table = read_storage(tmp_path / "m.mot")
    assert len(table) == 30
    np.testing.assert_array_equal(table[-1, 1:], solution.q[-1])


@pytest.mark.parametrize("rate", [0, -1.0, math.nan, math.inf, "10", True, 1e9])
def test_bad_rates(tmp_path, rate):
    with pytest.raises(InputError, match="rate: "):
        fake_solution().export(tmp_path / "m.csv", rate=rate)
    assert not list(tmp_path.iterdir())


def test_export_chooses_by_suffix(tmp_path):
    solution = fake_solution()
    solution.export(str(tmp_path / "M.CSV"))
    solution.export(tmp_path / "m.h5")
    assert (tmp_path / "m.h5").stat().st_size > 1000
    with pytest.raises(InputError, match=r"unknown suffix '\.xlsx'.*'\.csv', '\.sto', '\.mot'"):
        solution.export(tmp_path / "m.xlsx")
    with pytest.raises(InputError, match="rate: expected None"):
        solution.export(tmp_path / "m.h5", rate=10)
    with pytest.raises(FileError, match="make the folder first"):
        solution.export(tmp_path / "none" / "m.csv")

"""Motions for robots: read back by PyYAML, json and SciPy, which share no code with the writers."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import PPoly

import predyn
from fake_solution import DURATION, fake_solution
from predyn.errors import InputError
from predyn.solution import Solution

EPS = np.finfo(float).eps
FIELDS = ("positions", "velocities", "accelerations")


def arm6() -> Solution:
    return fake_solution(model=predyn.models.random_tree(6, 3, kinds=("revolute",)))


@pytest.mark.parametrize("rate", [None, 7.3, 250.0])
@pytest.mark.parametrize(
    ("file", "format"), [("m.json", "ros"), ("m.yaml", None), ("m.yml", "ros-effort")]
)
def test_ros_message_reads_back(tmp_path, file, format, rate) -> None:
    yaml = pytest.importorskip("yaml")
    names = ('a: "b\\', "\u00e4\U0001f600\n- x")
    solution = fake_solution(2)
    solution = replace(solution, model=replace(solution.model, joint_names=names))
    solution.export(tmp_path / file, rate, format=format)
    text = (tmp_path / file).read_text(encoding="utf-8")
    message = json.loads(text) if file.endswith("json") else yaml.safe_load(text)
    assert list(message) == ["header", "joint_names", "points"]
    assert message["header"] == {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    assert tuple(message["joint_names"]) == names
    points = message["points"]
    times = [p["time_from_start"] for p in points]
    assert all(0 <= time["nanosec"] < 10**9 for time in times)
    t = np.array([time["sec"] + 1e-9 * time["nanosec"] for time in times])
    assert (np.diff(t) > 0.0).all()
    assert (t[0], t[-1]) == (0.0, pytest.approx(DURATION, abs=1e-9))
    exact = solution.at(np.minimum(t, DURATION))
    for field, values in zip(FIELDS, exact[1:4], strict=True):
        got = np.array([p[field] for p in points])
        assert got.dtype == float  # small numbers are not strings
        # times are rounded to 0.5 ns; the derivatives of the curves are below 1e3
        np.testing.assert_allclose(got, values, rtol=0, atol=1e-6)
    efforts = [p["effort"] for p in points]
    if format == "ros-effort":
        np.testing.assert_allclose(efforts, exact.tau, rtol=0, atol=1e-5)
    else:
        assert not any(efforts)


def test_yaml_numbers_are_floats(tmp_path) -> None:
    yaml = pytest.importorskip("yaml")
    solution = fake_solution()
    q = solution.q.copy()
    q[0] = 1e-05, -2e22
    replace(solution, q=q).export(tmp_path / "m.yaml")
    points = yaml.safe_load((tmp_path / "m.yaml").read_text())["points"]
    assert points[0]["positions"] == [1e-05, -2e22]


@pytest.mark.parametrize("phases", [1, 2])
def test_polynomials_are_the_curves(tmp_path, phases) -> None:
    solution = fake_solution(phases)
    solution.export(tmp_path / "m.json", format="polynomials")
    content = json.loads((tmp_path / "m.json").read_text())
    assert (content["variable"], content["unit"]) == ("time", "s")
    assert content["joints"] == list(solution.model.joint_names)
    assert [x["name"] for x in content["phases"]] == list(solution.phase_names)
    c = np.moveaxis(np.array(content["coefficients"]), (0, 1, 2), (2, 1, 0))[::-1]
    poly = PPoly(c, content["breaks"], extrapolate=False)
    t = np.random.default_rng(0).uniform(0.0, DURATION, 200)
    exact = solution.at(t)
    for order, values in enumerate(exact[1:5]):
        # derivatives divide differences of control points by powers of a span
        size = np.abs(values).max() + (phases * 6 / DURATION) ** order
        np.testing.assert_allclose(poly(t, order), values, rtol=0, atol=500 * EPS * size)


@pytest.mark.parametrize("rate", [None, 125])
def test_urscript_has_one_target_for_each_period(tmp_path, rate) -> None:
    solution = arm6()
    solution.export(tmp_path / "m.script", rate)
    text = (tmp_path / "m.script").read_text()
    hz = rate or 500
    targets = re.findall(rf"^  servoj\(\[(.*)\], t={1 / hz:g}, lookahead", text, re.MULTILINE)
    q = np.array([[float(x) for x in target.split(",")] for target in targets])
    t = np.minimum(np.arange(len(q)) / hz, DURATION)
    assert len(q) == int(np.ceil(DURATION * hz - 1e-9)) + 1
    np.testing.assert_allclose(q, solution.at(t).q, rtol=0, atol=0.51e-10)
    opened = len(re.findall(r"^\s*(?:def|while|if) .*:$", text, re.MULTILINE))
    assert opened == len(re.findall(r"^\s*end$", text, re.MULTILINE)) == 4
    assert all(name in text.splitlines()[1] for name in solution.model.joint_names)


def test_urscript_names_cannot_become_code(tmp_path) -> None:
    replace(arm6(), name="x\npowerdown()").export(tmp_path / "m.script")
    lines = (tmp_path / "m.script").read_text().splitlines()
    assert [line for line in lines if "powerdown" in line] == lines[:1]
    assert lines[0].startswith("# ")


def test_refusals_write_nothing(tmp_path) -> None:
    two, six = fake_solution(), arm6()
    cases = [
        (two, "m.script", {}, "expected a robot with 6 revolute joints"),
        (six, "m.script", {"rate": 100}, "500 Hz .* or 125 Hz"),
        (two, "m.json", {}, "expected 'ros' or 'ros-effort' or 'polynomials'"),
        (two, "m.csv", {"format": "ros"}, r"ends in \.yaml or \.yml or \.json"),
        (two, "m.json", {"format": "ross"}, "unknown format 'ross'"),
        (two, "m.json", {"format": "polynomials", "rate": 10}, "rate: expected None"),
        (two, "m.yaml", {"rate": 0.0}, "rate: "),
    ]
    lost = two.curves[0]._replace(control=np.full_like(two.curves[0].control, np.nan))
    for format in ("ros", "polynomials"):
        cases.append((replace(two, curves=(lost,)), "m.json", {"format": format}, "no motion"))
    for solution, file, options, match in cases:
        with pytest.raises(InputError, match=match):
            solution.export(tmp_path / file, **options)
    assert not list(tmp_path.iterdir())

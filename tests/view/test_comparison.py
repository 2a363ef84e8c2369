"""A report that compares two motions: both animated, curves of the other one dashed."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from predyn.view.report import report_html
from view.html_page import Page


def compared(solution, other):
    return Page(report_html(solution, other)).data


def test_an_estimate_is_laid_over_and_its_curves_are_dashed():
    solution, estimate = fake_solution(), fake_estimate()
    data, alone = compared(solution, estimate), Page(report_html(solution)).data
    assert [motion["name"] for motion in data["scene"]["motions"]] == [
        "two-link-lifting", "arm-trial"
    ]  # fmt: skip
    assert data["state"] == alone["state"]
    for chart, plain in zip(data["charts"]["charts"], alone["charts"]["charts"], strict=True):
        lines = [line for line in chart["series"] if line.get("dashed")]
        assert chart["series"][: len(plain["series"])] == plain["series"]
        if chart["title"] == "Joint angle":
            x, y = np.array(data["times"][lines[1]["x"]]), np.array(lines[1]["y"])
            assert lines[1]["name"] == "joint2, arm-trial"
            assert y == pytest.approx(
                np.rad2deg(np.interp(x, estimate.t, estimate.q[:, 1])), rel=1e-4
            )


def test_a_later_and_shorter_motion_starts_with_the_solution_and_stays():
    solution = fake_solution()
    t = np.linspace(5.0, 5.3, 16)
    motion = predyn.simulate(solution.model, [0.3, 0.2], [0.0, 0.0], [0.0, 0.0], t - 5.0)
    data = compared(solution, replace(motion, t=t))
    (chart,) = (x for x in data["charts"]["charts"] if x["title"] == "Joint angle")
    times = data["times"][chart["series"][-1]["x"]]
    assert (times[0], times[-1]) == pytest.approx((0.0, 0.3))
    pose = np.reshape(data["scene"]["motions"][1]["poses"][1], (-1, 7))
    late = np.array(data["scene"]["times"]) > 0.31
    assert np.ptp(pose[late], axis=0) == pytest.approx(np.zeros(7), abs=1e-9)
    assert np.ptp(pose[~late], axis=0).max() > 0.01


def test_a_motion_named_like_an_option_has_its_own():
    other = replace(fake_solution(), name="Trails")
    scene = Page(report_html(fake_solution(), other)).data["scene"]
    assert scene["motions"][1]["name"] == "Trails (compared)"
    assert {"Trails", "Trails (compared)"} <= set(scene["options"])


def test_what_cannot_be_compared_is_named(tmp_path):
    solution = fake_solution()
    with pytest.raises(predyn.InputError, match=r"expected a motion of the joints joint1, joint2"):
        solution.report(tmp_path / "a.html", compare=fake_solution(model=predyn.models.cart_pole()))
    with pytest.raises(predyn.InputError, match="expected a Solution, an Estimate or a Trajectory"):
        solution.report(tmp_path / "a.html", compare=solution.model)
    assert list(tmp_path.iterdir()) == []

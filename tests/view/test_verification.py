"""Passive joints and the replay in the report, and that neither can break it."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.errors import InputError
from predyn.simulation import verification
from predyn.solution.file import load_solution
from predyn.view.curves import motion_charts
from predyn.view.figures import film_poses, film_svg, strobe_poses
from predyn.view.report import report_html
from predyn.view.sheets import Times
from predyn.view.stage import set_stage
from predyn.view.verification import verification_cards, verification_data, verification_html
from view.test_report import Page

DATA = Path(__file__).parents[1] / "data"


def swinging():
    """An acrobot whose first joint should have no torque but has some."""
    return replace(fake_solution(model=predyn.models.acrobot()), passive=("joint1",))


def checks_of(solution):
    return predyn.verify(solution).verification


def chart(solution, title):
    charts = verification_data(solution, checks_of(solution), Times())
    return next(c for c in charts if c["title"] == title)


def test_torques_at_passive_joints_are_an_error():
    solution = swinging()
    expected = solution.at(checks_of(solution).passive.t).tau[:, :1]
    error = chart(solution, "Error: torque at passive joints")
    assert (error["unit"], error["series"][0]["name"]) == ("N m", "joint1")
    largest = np.abs(expected).max()
    assert np.abs(error["series"][0]["y"]).max() == pytest.approx(largest, rel=1e-4)
    text = Page(report_html(solution)).text
    assert f"{largest:.3g} N m" in text
    assert "Largest error" in text
    assert "no motor" in text


def test_effort_is_that_of_the_motors():
    def joints(solution, title):
        (found,) = (c for c in motion_charts(solution, Times()) if c["title"] == title)
        return [line["joint"] for line in found["series"]]

    assert joints(swinging(), "Joint torque") == [1]
    assert joints(swinging(), "Joint angle") == [0, 1]
    assert joints(fake_solution(), "Joint torque") == [0, 1]


def test_active_joints_only_give_no_passive_section():
    page = Page(report_html(fake_solution()))
    assert "Passive joint" not in page.text
    assert not [c for c in page.data["charts"]["checks"] if "passive" in c["title"]]


def test_replay_is_shown():
    solution = fake_solution()
    run = predyn.replay(solution)
    assert run.max_position_error < 1e-6  # the torques belong to the motion
    angle = chart(solution, "Replay: difference in angle")
    assert [line["name"] for line in angle["series"]] == ["joint1", "joint2"]
    assert len(angle["series"][0]["y"]) == len(run.t)
    expected = np.degrees(np.abs(run.dq[:, 1]))
    assert angle["series"][1]["y"] == pytest.approx(expected.tolist(), rel=1e-4)
    energy = chart(solution, "Replay: balance of energy")
    names = [line["name"] for line in energy["series"]]
    assert names == ["energy gained", "work of torques", "work of forces"]
    gained, torques, forces = (line["y"][-1] for line in energy["series"])
    assert gained == pytest.approx(torques + forces, abs=1e-3 * abs(torques))
    page = Page(report_html(solution))
    assert "Replay error at the end" in page.text
    assert "largest imbalance" in page.text
    assert len(page.data["charts"]["checks"]) == 3


def test_warnings_are_marked():
    solution = swinging()  # the grip needs a torque, so that the replay goes elsewhere
    assert all(card.warning for card in verification_cards(solution, checks_of(solution)))
    html = report_html(solution)
    text = Page(html).text
    assert "✓ optimal" in text
    assert "⚠ torque at passive joints" in text
    assert "with the method hybrid" in text
    assert html.count('<div class="warning">') == 2


def test_confirmed_motion_has_no_warning_marks():
    html = report_html(fake_solution())
    assert checks_of(fake_solution()).warnings(fake_solution().model) == []
    assert "⚠" not in html
    assert 'class="warning"' not in html
    assert "message caution" not in html


def test_a_replay_that_is_off_without_passive_torque_is_unstable(monkeypatch):
    whole = verification.replay(fake_solution())
    for degrees, expected in ((4.9, []), (5.1, ["replay ends elsewhere"])):
        off = replace(whole, dq=whole.dq + np.radians(degrees))
        monkeypatch.setattr(verification, "replay", lambda solution, max_steps, off=off: off)
        assert checks_of(fake_solution()).warnings(fake_solution().model) == expected
    text = Page(report_html(fake_solution())).text
    assert "The replay ends elsewhere: the motion is unstable" in text
    assert "with the method hybrid" not in text


def test_slides_are_measured_in_metres():
    solution = fake_solution(model=predyn.models.cart_pole())
    assert chart(solution, "Replay: difference in position")["unit"] == "m"
    angles = chart(solution, "Replay: difference in angle")["series"]
    assert [s["name"] for s in angles] == ["hinge"]
    cards = verification_cards(solution, checks_of(solution))
    assert re.fullmatch(r"\S+°, \S+ m", cards[-1].value)


def test_failing_replay_is_reported(monkeypatch):
    def fail(solution, max_steps):
        raise InputError("the mass matrix is <singular>")

    monkeypatch.setattr(verification, "replay", fail)
    page = Page(report_html(fake_solution()))
    assert "No replay: InputError: the mass matrix is <singular>." in page.text
    assert "not replayed" in page.text
    assert page.data["charts"]["checks"] == []


def test_replay_that_stops_early_is_reported(monkeypatch):
    whole = verification.replay(fake_solution())
    part = {name: getattr(whole, name)[:20] for name in (
        "t", "q", "v", "tau", "dq", "dv", "energy", "work_torques", "work_friction",
        "work_forces", "energy_error")}  # fmt: skip
    stopped = replace(whole, status="diverged", message="joint 'joint1' is at 1e7 rad", **part)
    monkeypatch.setattr(verification, "replay", lambda solution, max_steps: stopped)
    page = Page(report_html(fake_solution()))
    assert "The replay stopped early" in page.text
    assert "⚠ replay ends elsewhere" in page.text
    assert "joint 'joint1' is at 1e7 rad" in page.text
    assert page.data["times"][page.data["charts"]["checks"][0]["series"][0]["x"]][
        -1
    ] == pytest.approx(part["t"][-1], rel=1e-5)


def test_unconverged_solution_is_not_replayed(monkeypatch):
    monkeypatch.setattr(verification, "replay", None)
    page = Page(report_html(fake_solution(status="infeasible")))
    assert "No replay: only converged motions are replayed." in page.text


@pytest.mark.parametrize(
    "solution",
    [
        fake_solution(3),
        swinging(),
        fake_solution(model=predyn.models.cart_pole()),
        replace(swinging(), status="infeasible"),
    ],
    ids=["phases", "passive", "slide", "infeasible"],
)
def test_a_stored_verification_is_shown_and_not_computed_again(solution, tmp_path, monkeypatch):
    fresh = report_html(solution)
    checks = checks_of(solution)
    predyn.verify(solution).save(tmp_path / "solution.h5")
    stored = load_solution(tmp_path / "solution.h5")

    def computed(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr(verification, "replay", computed)
    monkeypatch.setattr("predyn.view.report.verify", computed)
    assert report_html(stored) == fresh
    section = verification_html(solution, checks)
    assert verification_html(stored, stored.verification) == section
    assert section in fresh


def test_a_solution_of_version_0_2_is_verified_for_the_report(monkeypatch):
    solution = load_solution(DATA / "version-0.2" / "solution" / "solution.h5")
    assert solution.verification is None
    page = Page(report_html(solution))
    assert "largest imbalance" in page.text
    assert len(page.data["charts"]["checks"]) == 3
    monkeypatch.setattr(verification, "replay", lambda solution, max_steps: 1 / 0)
    assert "No replay: ZeroDivisionError" in Page(report_html(solution)).text


@pytest.mark.parametrize("model", [None, predyn.models.branched_acrobot(),
                                   predyn.models.random_tree(20, 1)])  # fmt: skip
def test_frames_are_at_equal_times(model):
    stage = set_stage(fake_solution(model=model))
    for poses in (strobe_poses(stage), film_poses(stage)):
        assert len(set(np.diff(poses).tolist())) == 1
        assert (poses[0], poses[-1]) == (0, len(stage.times) - 1)
    svg = film_svg(stage)
    assert re.findall(r"([\d.]+) s</text>", svg)[:3] == ["0", "0.08", "0.16"]
    assert svg.count('<g class="pose">') == len(film_poses(stage)) == 16
    text = Page(report_html(fake_solution(model=model))).text
    assert "16 poses, every 80 ms" in text
    assert f"{len(strobe_poses(stage))} poses, every" in text

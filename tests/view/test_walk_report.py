"""The report of a step on the ground: the whole stride, forces, margins, norms."""

from dataclasses import replace

import numpy as np
import pytest

from predicted_walk import predicted_step, unsolved_person
from predyn.analysis import gait_cycles, load_norms
from predyn.solution import Solution
from predyn.view.ground_charts import edge_distance, ground_of, outline
from predyn.view.ground_section import footprints
from predyn.view.report import report_html
from predyn.view.stage import set_stage
from view.html_page import Page, assert_self_contained


@pytest.fixture(scope="module")
def step() -> Solution:
    return predicted_step()


@pytest.fixture(scope="module")
def page(step) -> Page:
    html = report_html(step)
    assert_self_contained(html)
    assert len(html.encode()) < 1_500_000
    return Page(html)


def test_the_whole_stride_is_shown(step, page):
    assert page.data["clock"]["end"] == pytest.approx(2.0 * step.duration)
    assert [x["name"] for x in page.data["clock"]["phases"]] == ["flat", "toe", "double"] * 2
    assert page.data["scene"]["times"][-1] == pytest.approx(1.0)
    angles = page.data["charts"]["charts"][0]
    assert page.data["times"][angles["series"][0]["x"]][-1] == pytest.approx(1.0)


def test_gait_charts_overlay_left_and_right(page):
    charts = page.data["charts"]["gait"]
    titles = [chart["title"] for chart in charts]
    assert titles[:3] == ["Hip angle", "Knee angle", "Ankle angle"]
    assert {"Hip reaction", "Ground force, vertical", "Thigh against the vertical"} <= {*titles}
    assert titles[-1] == "Pressure, forward of the heel"
    for chart in charts:
        right, left = chart["series"]
        assert (right["name"], left["name"]) == ("right", "left")
        assert left["dashed"]  # it would hide the other one


def test_ground_charts_and_margins(page):
    charts = {chart["title"]: chart for chart in page.data["charts"]["ground"]}
    assert [*charts] == [
        "Ground force, vertical", "Ground force, along x", "Friction used", "Support margin",
    ]  # fmt: skip
    used = [y for line in charts["Friction used"]["series"] for y in line["y"] if y is not None]
    assert 50.0 < max(used) <= 100.0
    margins = [y for y in charts["Support margin"]["series"][0]["y"] if y is not None]
    assert min(margins) >= 0.0
    assert "Most friction used" in page.text
    points = [chart["title"] for chart in page.data["charts"]["points"]]
    assert len(points) == 6  # heels, toes, and along x the soles
    assert page.data["charts"]["signals"] == []


def test_forces_are_arrows_in_body_weights(step, page):
    scene = page.data["scene"]
    feet = [load for load in scene["loads"] if load["option"] == "Forces"]
    points = [load for load in scene["loads"] if load["option"] == "Forces at points"]
    assert (len(feet), len(points)) == (2, 4)
    assert all(load["thin"] for load in points)
    assert scene["options"]["Forces at points"] is False
    stage = set_stage(step)
    arrow = stage.moving[0]
    length = np.linalg.norm(arrow.tips - arrow.feet, axis=1)[0]
    weights = float(arrow.labels[0].removesuffix(" BW"))
    height = np.ptp([arrow.feet[0, 2], 2.0])  # about that of the body
    assert 0.2 * weights * height < length < 0.5 * weights * height
    assert arrow.feet[0, 2] == stage.level == 0.0


def test_sides_of_the_body_have_the_colours_of_the_charts(page):
    tones = {solid.get("tone") for solid in page.data["scene"]["solids"]}
    assert {-1, 0, 1} <= tones


def test_key_numbers_and_verification(page):
    for words in (
        "Walking speed", "1.2 m/s", "Mechanical cost of transport", "Force at the base",
        "of body weight", "Replay error within 50 ms", "torques and forces of the ground",
        "It starts again from the predicted state every 50 ms", "Hicks et al. 2015",
        "Coefficient of friction 0.8",
    ):  # fmt: skip
        assert words in page.text
    titles = [chart["title"] for chart in page.data["charts"]["checks"]]
    assert "Error: force at the base" in titles
    assert "Replay: difference in angle since the restart" in titles
    assert "Residuals of the base" not in page.text


def test_costs_are_added_up_over_phases(page):
    table = page.text[page.text.index("Cost") :]
    assert table.index("effort") < table.index("By phase") < table.index("flat: effort")


def test_norms_are_bands(step, tmp_path):
    rows = [f"{k},{10 - k / 5},5" for k in range(0, 101, 10)]
    path = tmp_path / "norms.csv"
    path.write_text("\n".join(("percent,knee_angle_mean,knee_angle_sd", *rows)))
    gait = gait_cycles(step, norms=load_norms(path))
    step.report(tmp_path / "walk.html", gait=gait)
    page = Page((tmp_path / "walk.html").read_text(encoding="utf-8"))
    charts = {chart["title"]: chart for chart in page.data["charts"]["gait"]}
    assert [line["name"] for line in charts["Knee angle"]["series"]] == ["norm", "right", "left"]
    assert len(charts["Hip angle"]["series"]) == 2


def test_a_motion_without_a_cycle_has_ground_but_no_gait(step):
    single = replace(step, cycle=None)
    page = Page(report_html(single))
    assert page.data["clock"]["end"] == pytest.approx(step.duration)
    assert "Gait cycle" not in page.text
    assert page.data["charts"]["ground"]


def test_a_motion_that_is_not_finite_has_a_report(step):
    curve = step.curves[0]._replace(control=np.full_like(step.curves[0].control, np.nan))
    broken = replace(step, curves=(curve, *step.curves[1:]), status="diverged", verification=None)
    assert "no curves and no animation" in report_html(broken)


def test_footprints_need_width(step):
    assert footprints(step, ground_of(step)) == ""  # a motion in a plane
    stride = unsolved_person().repeated(2)
    picture = footprints(stride, ground_of(stride))
    assert picture.count('opacity="0.18"') == 3  # right, left, and right again
    assert "rearfoot_l: centre of pressure" in picture


def test_distance_from_the_edge():
    square = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0), (1.0, 0.5)])
    assert len(outline(square)) == 4
    assert edge_distance(square, np.array([0.5, 0.4]), planar=False) == pytest.approx(0.4)
    assert edge_distance(square, np.array([0.5, 1.2]), planar=False) == pytest.approx(-0.2)
    assert edge_distance(square[:2], np.array([0.5, 0.0]), planar=False) == 0.0
    assert edge_distance(square, np.array([0.5, 0.0]), planar=True) == pytest.approx(0.5)

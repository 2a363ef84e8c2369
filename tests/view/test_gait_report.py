"""The report of an estimate shows gait cycles where there are some, and nothing elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from analysis.walkers import walking, walking_estimate
from fake_estimate import fake_estimate
from predyn.analysis import gait_cycles, load_norms
from predyn.estimate.result import Estimate
from predyn.results.estimates import write_estimate
from predyn.view.estimate_report import estimate_html
from predyn.view.gait_charts import gait_charts, main_curves
from predyn.view.sheets import Times
from view.html_page import Page, assert_self_contained


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    return walking_estimate()


@pytest.fixture(scope="module")
def page(estimate: Estimate) -> Page:
    html = estimate_html(estimate)
    assert_self_contained(html)
    return Page(html)


def test_hips_knees_and_ankles_are_shown_first(page: Page) -> None:
    titles = [chart["title"] for chart in page.data["charts"]["gait"]]
    assert titles[:6] == [
        "Hip flexion angle", "Knee angle", "Ankle angle",
        "Hip flexion moment", "Knee moment", "Ankle moment",
    ]  # fmt: skip
    assert titles[-3:] == [
        "Ground force, vertical", "Ground force, forward", "Thigh against the vertical",
    ]  # fmt: skip
    assert "Pelvis ty residual" in [c["title"] for c in page.data["charts"]["gait-more"]]


def test_left_and_right_are_overlaid_with_bands_and_toe_off(page: Page) -> None:
    chart = page.data["charts"]["gait"][0]
    assert (chart["unit"], chart["timed"], chart["bandName"]) == ("°", False, "± 1 sd")
    means = [line for line in chart["series"] if not line.get("thin")]
    assert [line["name"] for line in means] == ["right (2)", "left (2)"]
    assert all(len(line["band"][0]) == 101 for line in means)
    assert sum(bool(line.get("thin")) for line in chart["series"]) == 4
    assert len(chart["verticals"]) == 2
    assert chart["verticals"][0]["x"] == pytest.approx(61.0, abs=1.0)


def test_words_state_sources_signs_and_residuals(page: Page) -> None:
    for words in (
        "Heel strike and toe off from forces", "signs of the model's joints",
        "Residuals of the base", "They are not joint moments", "contact forces in the joint are",
        "Residuals, not joint torques: pelvis_tx, pelvis_ty, pelvis_tilt",
    ):  # fmt: skip
        assert words in page.text
    titles = [chart["title"] for chart in page.data["charts"]["torques"]]
    assert titles[:3] == [
        "Residual force at pelvis_tx", "Residual force at pelvis_ty",
        "Residual moment at pelvis_tilt",
    ]  # fmt: skip


def test_other_motions_have_no_gait() -> None:
    page = Page(estimate_html(fake_estimate()))
    assert "gait" not in page.data["charts"]
    assert "Gait cycle" not in page.text


def test_norms_are_bands(tmp_path: Path) -> None:
    rows = [f"{p},{p},2" for p in range(0, 101, 5)]
    path = tmp_path / "norms.csv"
    path.write_text("\n".join(["percent,knee_angle_mean,knee_angle_sd", *rows]) + "\n")
    gait = gait_cycles(walking(), norms=load_norms(path))
    first, _ = gait_charts(gait, Times())
    norm = first[main_curves(gait).index("knee_angle")]["series"][0]
    assert (norm["name"], norm["y"][30]) == ("norm", 30)
    assert (norm["band"][0][30], norm["band"][1][30]) == (28, 32)


def test_many_cycles_are_drawn_in_part() -> None:
    gait = gait_cycles(walking(cycles=14.2, rate=60.0))
    chart = gait_charts(gait, Times())[0][0]
    assert sum(bool(line.get("thin")) for line in chart["series"]) == 20
    assert "10 cycles" in chart["note"]


def test_cycles_are_written_beside_the_report(tmp_path: Path, estimate: Estimate) -> None:
    folder = tmp_path / "walk"
    folder.mkdir()
    written = write_estimate(estimate, folder)
    assert (folder / "gait.csv") in written
    table = np.genfromtxt(folder / "gait.csv", delimiter=",", names=True)
    assert table["percent"].tolist() == list(range(101))
    write_estimate(fake_estimate(), folder)
    assert not (folder / "gait.csv").exists()

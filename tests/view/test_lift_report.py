"""The report of a lift: loads of the back, hips, knees and the ground; no box among the feet."""

import json

import pytest

from predicted_lift import predicted_lift
from predyn.analysis import lift_loads
from predyn.results.solutions import solution_text
from predyn.results.stored import write_results
from predyn.view.report import report_html
from view.html_page import Page, assert_self_contained


@pytest.fixture(scope="module")
def page() -> Page:
    html = report_html(predicted_lift())
    assert_self_contained(html)
    return Page(html)


def test_charts_and_key_numbers(page):
    loads, charts = lift_loads(predicted_lift()), page.data["charts"]["lift"]
    assert [chart["title"] for chart in charts] == [
        "L5/S1 extension moment", "L5/S1 compression", "Hip extension moment",
        "Knee extension moment", "Vertical ground force", "Height of the box",
    ]  # fmt: skip
    drawn = charts[1]["series"][0]
    assert drawn["limits"] == [None, 3400.0]
    assert drawn["y"] == pytest.approx(loads.compression, rel=1e-4)
    assert f"{loads.back_moment.max():.3g} N m" in page.text
    assert "0.95 m" in page.text
    assert "an estimate" in page.text


def test_only_what_touches_the_ground_is_a_foot(page):
    names = {line["name"] for chart in page.data["charts"]["ground"] for line in chart["series"]}
    assert "rearfoot_r" in names
    assert "box" not in names


def test_summary_and_terminal_have_the_largest_values(tmp_path):
    solution = predicted_lift()
    write_results(solution, tmp_path)
    lift = json.loads((tmp_path / "summary.json").read_text())["lift"]
    assert lift["box_at_the_end"] == pytest.approx(0.95)
    largest = lift["peaks"]["L5/S1 extension moment [N m]"]["largest"]
    assert largest == pytest.approx(lift_loads(solution).back_moment.max())
    assert f"{largest:.4g} N m" in solution_text(solution)

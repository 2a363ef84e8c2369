"""Pictures of five kinds of report, wide and narrow: every body and every curve is in place.

PREDYN_PICTURES=write replaces the expected ones: look at the reports before you commit them.
"""

import json
import os
from pathlib import Path

import pytest

from predyn.view.estimate_report import estimate_html
from predyn.view.report import report_html
from view.html_page import Page
from view.pictures import STRAY, grid_of, strays, wait_until_drawn
from view.scene_models import RESULTS

FOLDER = Path(__file__).parent / "pictures"
WIDTHS = (1200, 390)
AT = 550  # of 1000: where the slider stands
PARTS = {"scene": "#scene", "chart": ".u-over"}
FITTED = (  # charts follow the width of the page
    "innerWidth === document.documentElement.clientWidth && "
    "[...document.querySelectorAll('figure:not([hidden]) .uplot')]"
    ".every((x) => x.offsetWidth === Math.floor(x.closest('figure').clientWidth))"
)


def shown(browser, path, name, change=lambda data: None):
    """Open a report whose data were changed, in the middle of its motion."""
    result = RESULTS[name]()
    html = (estimate_html if name == "estimate" else report_html)(result)
    page = Page(html)
    change(page.data)
    data = json.dumps(page.data).replace("<", "\\u003c")
    path.write_text(html.replace(page.scripts[0], data), encoding="utf-8")
    browser.resize(WIDTHS[0], 900)
    browser.dark(False)
    browser.problems.clear()
    browser.open(path.as_uri())
    browser.run(
        f"(() => {{ const s = document.querySelector('#slider'); s.value = {AT};"
        "s.dispatchEvent(new Event('input')); })()"
    )
    return browser


def grids(browser, width):
    browser.resize(width, 900, phone=width < 500)
    browser.wait_for(FITTED)
    wait_until_drawn(browser)
    return {part: grid_of(browser, selector) for part, selector in PARTS.items()}


def expected(name, width):
    return json.loads((FOLDER / f"{name}-{width}.json").read_text())


@pytest.mark.parametrize("name", RESULTS)
def test_pictures_are_as_expected(browser, tmp_path, name):
    shown(browser, tmp_path / "report.html", name)
    for width in WIDTHS:
        found = grids(browser, width)
        if os.environ.get("PREDYN_PICTURES") == "write":
            FOLDER.mkdir(exist_ok=True)
            path = FOLDER / f"{name}-{width}.json"
            path.write_text(json.dumps(found, indent=1) + "\n")
        for part, grid in expected(name, width).items():
            text = "\n".join(found[part])
            assert strays(found[part], grid) <= STRAY, f"{name} at {width} px, {part}:\n{text}"
    assert browser.problems == []


def test_a_missing_body_or_curve_is_seen(browser, tmp_path):
    def without_tool_and_curve(data):
        solids = data["scene"]["solids"]
        solids.remove(next(s for s in solids if s["role"] == "tool"))  # the thinnest of all
        data["charts"]["charts"][0]["series"].pop()

    shown(browser, tmp_path / "report.html", "arm", without_tool_and_curve)
    for width in WIDTHS:
        found, right = grids(browser, width), expected("arm", width)
        for part in PARTS:
            assert strays(found[part], right[part]) > STRAY, f"{part} at {width} px"

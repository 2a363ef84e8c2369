"""Gait cycles in a real browser: bands, thin cycles that are not in the legend, toe off."""

from analysis.walkers import walking_estimate
from view.test_estimate_browser import count, drawn, number

CURVES = ("angle", "moment", "power", "reaction")


def test_cycles_bands_and_toe_offs_are_drawn(opened):
    page = opened(walking_estimate(), scene=False)
    charts = 3 * len(CURVES) + 3
    assert count(page, "#gait figure") == charts
    assert number(page, "gait", ".band") == 2 * charts
    assert number(page, "gait", ".curve") == 2 * charts * (1 + 2)  # means and two cycles each
    assert count(page, "#gait figure:first-child .layer .limit") == 2
    names = page.run(
        "[...document.querySelectorAll('#gait figure:first-child .legend li')]"
        ".map((x) => x.textContent)"
    )
    assert names == ["right (2)", "left (2)", "± 1 sd"]
    printed = drawn(
        page, "gait", "[...charts[0].querySelectorAll('text')].map((x) => x.textContent)"
    )
    assert printed.count("right (2)") == 1


def test_a_side_is_hidden_with_its_cycles(opened):
    page = opened(walking_estimate(), scene=False)
    before = drawn(page, "gait", "charts[0].querySelectorAll('.curve').length")
    page.run("document.querySelectorAll('#gait figure:first-child .legend button')[1].click()")
    assert drawn(page, "gait", "charts[0].querySelectorAll('.curve').length") == before // 2


def test_other_joints_are_drawn_when_opened(opened):
    page = opened(walking_estimate(), scene=False)
    page.run("document.querySelector('#gait-section details').open = true")
    page.wait_for("document.querySelector('#gait-more canvas').clientWidth > 250")
    assert count(page, "#gait-more figure") == 4  # three residuals and the tilt of the pelvis

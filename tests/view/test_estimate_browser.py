"""The report of an estimate in a real browser: bands, steps, dots, logarithms, one clock."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_estimate import INTERVALS, fake_estimate
from view.pictures import picture

CLOCK = "parseFloat(document.querySelector('#clock').textContent)"


def count(page, selector):
    return page.run(f"document.querySelectorAll({selector!r}).length")


def drawn(page, place, what):
    """What the charts of a place draw, evaluated on the vectors they print: `charts`."""
    return page.run(
        "(() => { dispatchEvent(new Event('beforeprint'));"
        f"const charts = [...document.querySelectorAll('#{place} .printed')], found = {what};"
        "dispatchEvent(new Event('afterprint')); return found; })()"
    )


def number(page, place, selector):
    return drawn(
        page, place, f"charts.flatMap((x) => [...x.querySelectorAll({selector!r})]).length"
    )


def test_everything_is_drawn(opened):
    page = opened(fake_estimate(), scene=False)
    assert number(page, "torques", ".band") == 2
    assert number(page, "torques", ".curve.faint") == 2
    assert number(page, "states", ".band") == 4
    assert number(page, "channels", ".cloud") == 8
    assert number(page, "channels", ".limit") == 8
    assert count(page, "#channels .layer .limit") == 8  # on the page too
    assert count(page, "#lcurve .layer .ring") == 2
    path = drawn(page, "torques", "charts[0].querySelector('.curve:not(.faint)').getAttribute('d')")
    assert path.count("L") == 2 * INTERVALS - 1  # a step has two ends
    labels = drawn(
        page, "lcurve", "[...charts[0].querySelectorAll('text')].map((x) => x.textContent)"
    )
    assert "10⁻²" in labels


def test_curves_and_bands_have_their_colours_on_the_canvas(opened):
    page = opened(fake_estimate(), scene=False)
    colours = page.run(
        "(() => { const c = document.querySelector('#torques canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, n = {};"
        "for (let k = 0; k < d.length; k += 4) { const x = d.slice(k, k + 4).join();"
        "n[x] = (n[x] || 0) + 1; } return n; })()"
    )
    assert colours["0,114,178,255"] > 200  # the estimate
    band = [size for tone, size in colours.items() if tone.endswith((",51", ",52"))]
    assert max(band) > 2000


def test_small_residuals_are_drawn_with_the_noise_around_them(opened):
    estimate = fake_estimate()
    calm = tuple(c._replace(measured=c.fitted + 0.01 * c.sd) for c in estimate.channels)
    page = opened(replace(estimate, channels=calm), scene=False)
    assert number(page, "channels", ".limit") == 8
    labels = drawn(
        page, "channels", "[...charts[1].querySelectorAll('text')].map((x) => x.textContent)"
    )
    assert {"2", "\u22122"} <= set(labels)


def test_fitted_curve_continues_in_a_gap(opened):
    page = opened(fake_estimate(), scene=False)
    paths = drawn(
        page, "channels",
        "charts.flatMap((x) => [...x.querySelectorAll('.curve')]).map((x) => x.getAttribute('d'))",
    )  # fmt: skip
    assert [path.count("M") for path in paths] == [1, 1, 1, 1]  # markers were hidden for a while


def test_the_clock_moves_everything(opened):
    estimate = fake_estimate()
    page = opened(replace(estimate, comparison=None))
    first = picture(page)
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    assert page.run(CLOCK) == pytest.approx(1.2)
    assert picture(page) != first
    value, sign, reach = page.run(
        "document.querySelector('#torques .legend b').textContent"
    ).split()
    assert sign == "±"
    assert float(value) == pytest.approx(estimate.tau[-1, 0], rel=1e-3)
    assert float(reach) == pytest.approx(1.96 * estimate.tau_sd[-1, 0], rel=0.05)
    effort = page.run("document.querySelector('#state tbody tr').cells[2].textContent")
    assert float(effort.split()[0]) == pytest.approx(estimate.tau[-1, 0], rel=1e-3)


def test_a_recording_that_starts_late(opened):
    estimate = fake_estimate()
    channels = tuple(c._replace(t=c.t + 7.0) for c in estimate.channels)
    late = replace(
        estimate, t=estimate.t + 7.0, t_tau=estimate.t_tau + 7.0, channels=channels,
        comparison=estimate.comparison._replace(t=estimate.t + 7.0),
    )  # fmt: skip
    page = opened(late, scene=False)
    assert page.run("document.querySelector('#clock').textContent").startswith("7.000 of 8.200 s")
    page.click("#play")
    page.wait_for(f"{CLOCK} > 7.2")
    page.click("#play")
    assert page.run(CLOCK) < 8.2


def test_a_wild_filter_does_not_squeeze_the_estimate(opened):
    estimate = fake_estimate()
    wild = estimate.comparison._replace(tau=1e3 * np.ones_like(estimate.comparison.tau))
    page = opened(replace(estimate, comparison=wild), scene=False)
    note = page.run("document.querySelector('#torques .note').textContent")
    assert note == "Parts of filter 6 Hz + inverse dynamics lie beyond the axis."
    path = drawn(page, "torques", "charts[0].querySelector('.curve:not(.faint)').getAttribute('d')")
    heights = [float(corner.split()[1]) for corner in path[1:].split("L")]
    assert max(heights) - min(heights) > 40.0


@pytest.mark.parametrize("width", [390, 1200])
def test_many_channels_can_be_chosen(opened, width):
    page = opened(fake_estimate(model=predyn.models.random_tree(20, 1)), scene=False)
    page.resize(width, 900, phone=width < 600)
    page.wait_for("innerWidth === document.documentElement.clientWidth")
    assert page.run("document.documentElement.scrollWidth") <= width
    shown = "#channels figure:not([hidden])"
    assert count(page, shown) == 12
    page.run("[...document.querySelectorAll('#channel-picker button')][0].click()")
    assert count(page, shown) == 40
    assert number(page, "channels", ".cloud") == 40
    page.run("[...document.querySelectorAll('#joint-picker button')][1].click()")
    assert count(page, "#torques figure:not([hidden])") == 0

"""The report in a real browser: it plays, scrubs, turns, zooms, and fetches nothing."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.view.server import page_of, page_server

PICTURE = "document.querySelector('#scene').toDataURL()"
CLOCK = "parseFloat(document.querySelector('#clock').textContent)"
CURSOR = "Number(document.querySelector('#charts .cursor').getAttribute('x1'))"


def test_play_pause_and_loop(opened):
    page = opened(fake_solution())
    assert page.run(CLOCK) == 0.0
    first, cursor = page.run(PICTURE), page.run(CURSOR)
    page.click("#play")
    page.wait_for(f"{CLOCK} > 0.2")
    page.click("#play")
    stopped = page.run(CLOCK)
    assert "Play" in page.run("document.querySelector('#play').textContent")
    assert page.run(PICTURE) != first
    assert page.run(CURSOR) > cursor
    page.run("new Promise((done) => setTimeout(done, 150))")
    assert page.run(CLOCK) == stopped
    page.click("#loop")
    page.run("document.querySelector('#speed').value = 4")
    page.run("document.querySelector('#speed').dispatchEvent(new Event('change'))")
    page.click("#play")
    page.wait_for("document.querySelector('#play').textContent.includes('Play')")
    assert page.run(CLOCK) == pytest.approx(1.2)


def test_slider_sets_the_time_everywhere(opened):
    solution = fake_solution()
    page = opened(solution)
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    assert page.run(CLOCK) == pytest.approx(1.2)
    shown = page.run("document.querySelector('#state tbody td').textContent")
    assert float(shown.split()[0]) == pytest.approx(np.degrees(solution.q[-1, 0]), abs=0.1)
    page.press("Home", 36)
    assert page.run(CLOCK) == 0.0


def test_pressing_in_a_chart_seeks(opened):
    page = opened(fake_solution())
    x, y = page.middle("#charts svg.chart")
    page.drag((x, y), (x + 40, y))
    assert 0.6 < page.run(CLOCK) < 0.9


def test_drag_wheel_keys_and_reset(opened):
    page = opened(fake_solution(model=predyn.models.manutec_r3()))
    x, y = page.middle("#scene")
    first = page.run(PICTURE)
    page.drag((x, y), (x + 120, y - 40))
    turned = page.run(PICTURE)
    assert turned != first
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    page.wait_for(f"{PICTURE} !== {turned!r}")
    page.click("#reset")
    assert page.run(PICTURE) == first
    page.run("document.querySelector('#scene').focus()")
    page.press("ArrowLeft", 37)
    keyed = page.run(PICTURE)
    assert keyed not in (first, turned)
    page.press("+", 187, text="+")
    assert page.run(PICTURE) != keyed
    page.press("0", 48, text="0")
    assert page.run(PICTURE) == first
    page.press(" ", 32, text=" ")
    page.wait_for(f"{CLOCK} > 0.05")
    page.press(" ", 32, text=" ")
    assert "Play" in page.run("document.querySelector('#play').textContent")


def test_joint_axes_and_colours_change_the_picture(opened):
    page = opened(fake_solution())
    first = page.run(PICTURE)
    page.click("#axes")
    assert page.run(PICTURE) != first
    page.click("#axes")
    assert page.run(PICTURE) == first
    page.dark(True)
    page.wait_for(f"{PICTURE} !== {first!r}")


@pytest.mark.parametrize("width", [390, 1200])
def test_many_joints_fit_and_can_be_chosen(opened, width):
    page = opened(fake_solution(model=predyn.models.random_tree(55, 1)))
    page.resize(width, 900, phone=width < 600)
    page.wait_for("innerWidth === document.documentElement.clientWidth")
    assert page.run("document.documentElement.scrollWidth") <= width
    curves = "document.querySelectorAll('#charts figure:not([hidden]) .curve').length"
    assert 0 < page.run(curves) <= 36
    page.run("[...document.querySelectorAll('#picker button')][0].click()")
    assert page.run(curves) == 55 * 6
    page.run("[...document.querySelectorAll('#picker button')][1].click()")
    assert page.run(curves) == 0


def test_print_is_light_and_complete(opened):
    page = opened(fake_solution())
    page.dark(True)
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.run(paper)
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(paper) == "rgb(255, 255, 255)"
    assert page.run("[...document.querySelectorAll('details')].every((part) => part.open)")
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run(paper) == dark
    assert len(page.call("Page.printToPDF")["data"]) > 10_000


def test_solids_are_closed_and_face_outward(opened):
    page = opened(fake_solution())
    sizes = {"box": [1.0, 2.0, 3.0], "sphere": [1.0], "cylinder": [1.0, 2.0], "capsule": [1.0, 2.0]}
    disc = 12.0 * np.sin(np.pi / 12.0)  # a polygon of 24 sides
    angle = np.linspace(0.0, np.pi, 11)  # rings of a ball, with truncated pyramids between them
    r, height = np.sin(angle), np.diff(-np.cos(angle))
    ball = disc * np.sum(height * (r[1:] ** 2 + r[1:] * r[:-1] + r[:-1] ** 2)) / 3.0
    truth = {"box": 6.0, "sphere": ball, "cylinder": 2.0 * disc, "capsule": ball + 2.0 * disc}
    for kind, size in sizes.items():
        solid = {"kind": kind, "size": size, "R": np.eye(3).ravel().tolist(), "p": [1, 2, 3]}
        volume, outward = page.run(
            f"(() => {{ const m = meshOf({json.dumps(solid)}, 24); let sum = 0, good = true;"
            "for (const t of m.triangles) { const [a, b, c] = t.map(([k]) => m.points[k]);"
            "sum += dot(a, cross(b, c)) / 6;"
            "for (const [k, n] of t)"
            "good &&= dot(m.normals[n], plus(m.points[k], [-1, -2, -3])) > 0;"
            "} return [sum, good]; })()"
        )
        assert volume == pytest.approx(truth[kind], rel=1e-12)
        assert outward


def test_nearer_surfaces_hide_farther_ones_without_gaps(opened):
    page = opened(fake_solution())
    counts = page.run(
        "(() => { const r = new Raster(); r.resize(40, 40); r.clear();"
        "const red = [255, 0, 0], blue = [0, 0, 255];"
        "const square = (near, tone) => { const p = [[0, 0], [0, 39], [39, 39], [39, 0]]"
        ".map(([x, y]) => [x, y, near, 1]);"
        "r.triangle(p[0], p[1], p[2], tone); r.triangle(p[0], p[2], p[3], tone);"
        "r.triangle(p[2], p[1], p[0], [0, 255, 0]); };"
        "const count = () => { const c = {}; for (const x of r.pixels)"
        "{ const k = x.toString(16); c[k] = (c[k] || 0) + 1; } return c; };"
        "square(1, red); const first = count(); square(2, blue); square(1.5, red);"
        "return [first, count()]; })()"
    )
    assert counts == [{"ff0000ff": 1600}, {"ffff0000": 1600}]


def test_report_without_a_motion_has_everything_else(opened):
    solution = fake_solution(status="diverged")
    bad = solution.curves[0]._replace(control=np.full_like(solution.curves[0].control, np.nan))
    object.__setattr__(solution, "curves", (bad,))
    page = opened(solution)
    assert page.run("document.querySelector('#player').hidden")
    assert page.run("document.querySelectorAll('#history .curve').length") == 2


def test_names_are_text(opened):
    solution = fake_solution(phases=2)
    object.__setattr__(solution, "phase_names", ("<img src=x onerror=alert(1)>", "</script>"))
    object.__setattr__(solution, "name", "<b>&amp;</b>")
    page = opened(solution)
    assert page.run("document.title") == "<b>&amp;</b>"
    assert page.run("document.querySelector('#clock').textContent").endswith("onerror=alert(1)>")
    assert page.run("document.querySelectorAll('img').length") == 0


def test_foreign_scripts_do_not_run(opened, browser):
    page = opened(fake_solution())
    page.run(
        "{ const s = document.createElement('script'); s.textContent = 'window.foreign = 1';"
        "document.body.append(s); }"
    )
    assert page.run("window.foreign === undefined")
    page.run("new Promise((done) => setTimeout(done, 50))")
    assert any("Content Security Policy" in problem for problem in page.problems)
    page.problems.clear()


def test_served_page_is_one_request(browser):
    server = page_server(page_of(fake_solution()))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        browser.problems.clear()
        browser.requests.clear()
        address = f"http://127.0.0.1:{server.server_port}/"
        browser.open(address)
        browser.wait_for("document.querySelector('#clock').textContent.includes('1.200')")
        assert browser.problems == []
        assert browser.requests == [address]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_passive_joints_have_no_motor(opened):
    solution = fake_solution(model=predyn.models.branched_acrobot())
    page = opened(replace(solution, passive=("joint1",)))
    rows = page.run(
        "[...document.querySelectorAll('#state tbody tr')].map((row) => row.cells[2].textContent)"
    )
    assert rows[0] == "no motor"
    assert rows[1].endswith("N m")
    titles = page.run(
        "[...document.querySelectorAll('#checks figcaption')].map((x) => x.textContent)"
    )
    assert titles[0] == "Error: torque at passive joints [N m]"
    assert len(titles) == 4
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    legend = "document.querySelector('#checks .legend b').textContent"
    assert any(sign.isdigit() for sign in page.run(legend))


def test_signals_have_charts_and_forces_follow_the_time(opened):
    page = opened(loaded_solution(passive=True))
    titles = "[...document.querySelectorAll('#signals figcaption')].map((x) => x.textContent)"
    assert page.run(titles) == ["Signal press [N]", "Signal level "]
    effort = "document.querySelectorAll('#state tbody tr')[1].children[2].textContent"
    assert page.run(effort) != "– N m"  # noqa: RUF001
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    assert page.run(effort) == "– N m"  # noqa: RUF001
    height = page.run("document.querySelector('#signals').offsetHeight")
    assert height > 200
    page = opened(fake_solution())
    assert page.run("document.querySelector('#signals').offsetHeight") == 0

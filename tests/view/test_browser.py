"""The report in a real browser: it plays, scrubs, turns, zooms, and fetches nothing."""

import threading
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.view.server import page_of, page_server
from view.pictures import picture

PICTURE = "document.querySelector('#scene').toDataURL()"
CLOCK = "parseFloat(document.querySelector('#clock').textContent)"
CURSOR = "parseFloat(document.querySelector('#charts .now').style.left)"
PLOT = "#charts .u-over"
TITLES = (
    "[...document.querySelectorAll('#charts figcaption')]"
    ".map((x) => x.firstChild.textContent + x.children[0].textContent).map((x) => x.trim())"
)
PRINTED = (  # what charts draw, as vectors
    "(() => { dispatchEvent(new Event('beforeprint'));"
    "const charts = [...document.querySelectorAll('#charts .printed')], found = %s;"
    "dispatchEvent(new Event('afterprint')); return found; })()"
)
CURVES = PRINTED % "charts[0].querySelectorAll('.curve').length"
LABELS = (
    PRINTED
    % "[...charts[0].querySelectorAll('text[text-anchor=middle]')].map((x) => x.textContent)"
)


COUNT_FRAMES = (  # times of the frames in which the slider moves
    "window.frames = []; new MutationObserver((all) => all.forEach(() => frames.push("
    "document.timeline.currentTime))).observe(document.querySelector('#slider'), "
    "{attributeFilter: ['aria-valuetext']})"
)


def saved(page, chart):
    """What the two buttons of a chart save."""
    page.run(
        "window.files = []; URL.createObjectURL = (file) => { files.push(file); return '#'; };"
        "HTMLAnchorElement.prototype.click = () => {};"
    )
    page.run(
        f"document.querySelectorAll('#charts .files')[{chart}].childNodes.forEach((x) => x.click())"
    )
    return page.run("Promise.all(files.map((file) => file.text()))")


def test_play_pause_and_loop(opened):
    page = opened(fake_solution())
    assert page.run(CLOCK) == 0.0
    first, cursor = picture(page), page.run(CURSOR)
    page.click("#play")
    page.wait_for(f"{CLOCK} > 0.2")
    page.click("#play")
    stopped = page.run(CLOCK)
    assert "Play" in page.run("document.querySelector('#play').textContent")
    assert page.run(PICTURE) != first
    assert page.run(CURSOR) > cursor
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.run(CLOCK) == stopped
    page.run(COUNT_FRAMES)
    page.run("for (let k = 0; k < 5; k++) document.querySelector('#play').click()")
    page.wait_for(f"{CLOCK} !== {stopped} && frames.length > 5")
    page.click("#play")
    # One step in each frame: two loops at once would make each time occur twice. On a busy machine
    # two frames may have the same time.
    assert page.run("new Set(frames).size > 0.75 * frames.length")
    page.click("#loop")
    page.run("document.querySelector('#speed').value = 4")
    page.run("document.querySelector('#speed').dispatchEvent(new Event('change'))")
    page.click("#play")
    page.wait_for("document.querySelector('#play').textContent.includes('Play')")
    assert page.run(CLOCK) == pytest.approx(1.2)


def test_slider_sets_the_time_everywhere(opened):
    solution = fake_solution()
    page = opened(solution, scene=False)
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    assert page.run(CLOCK) == pytest.approx(1.2)
    shown = page.run("document.querySelector('#state tbody td').textContent")
    assert float(shown.split()[0]) == pytest.approx(np.degrees(solution.q[-1, 0]), abs=0.1)
    page.press("Home", 36)
    assert page.run(CLOCK) == 0.0


def test_pressing_in_a_chart_seeks(opened):
    page = opened(fake_solution(), scene=False)
    x, y = page.middle(PLOT)
    page.drag((x, y), (x + 40, y))
    assert 0.6 < page.run(CLOCK) < 0.9
    lines = "[...document.querySelectorAll('.now')].map((x) => parseFloat(x.style.left))"
    assert len(page.run(lines)) == 9  # all charts over time
    assert min(page.run(lines)) > 200.0


def test_drag_zooms_all_charts_over_time(opened):
    page = opened(fake_solution(), scene=False)
    x, y = page.middle(PLOT)
    whole = page.run(LABELS)
    page.drag((x - 60, y), (x + 60, y), shift=True)
    page.wait_for("!document.querySelector('#whole').hidden")
    first, torque = page.run(LABELS), page.run(LABELS.replace("charts[0]", "charts[3]"))
    assert first == torque != whole  # as the saved pictures have them
    assert 0.4 < float(first[0]) < float(first[-1]) < 0.8
    assert page.run(CLOCK) == 0.0
    assert page.run("document.querySelector('#charts .now').hidden")
    page.click("#whole")
    assert page.run(LABELS) == whole
    page.click("#zooming")
    x, y = page.middle(PLOT)
    page.drag((x - 60, y), (x + 60, y))
    page.wait_for("!document.querySelector('#whole').hidden")
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=2)
    page.mouse("mouseReleased", x, y, button="left", buttons=0, clickCount=2)
    page.wait_for("document.querySelector('#whole').hidden")


def test_charts_obey_keys(opened):
    page = opened(fake_solution(), scene=False)
    page.run(f"document.querySelector({PLOT!r}).focus()")
    page.press("ArrowRight", 39)
    assert page.run(CLOCK) == pytest.approx(0.012)
    page.press("+", 187, text="+")
    page.wait_for("!document.querySelector('#whole').hidden")
    page.press("0", 48, text="0")
    page.wait_for("document.querySelector('#whole').hidden")
    page.press("+", 187, modifiers=2)  # with Ctrl it is the browser's
    assert page.run("document.querySelector('#whole').hidden")


def test_a_gesture_that_becomes_a_scroll_leaves_nothing(opened):
    page = opened(fake_solution(), scene=False)
    x, y = page.middle(PLOT)
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1, modifiers=8)
    page.mouse("mouseMoved", x + 60, y, button="left", buttons=1)
    assert page.run("document.querySelectorAll('.select').length") == 1
    page.run(f"document.querySelector({PLOT!r}).dispatchEvent(new PointerEvent('pointercancel'))")
    assert page.run("document.querySelectorAll('.select').length") == 0
    page.mouse("mouseReleased", x + 60, y, button="left", buttons=0, clickCount=1)
    assert page.run("document.querySelector('#whole').hidden")


def test_zooming_ends_before_there_is_nothing(opened):
    page = opened(fake_solution(), scene=False)
    for _ in range(6):
        x, y = page.middle(PLOT)
        page.drag((x, y), (x + 6, y), shift=True)
    page.run(f"document.querySelector({PLOT!r}).focus()")
    for _ in range(60):
        page.press("+", 187, text="+")
    labels = page.run(LABELS)
    assert len(labels) == len(set(labels)) >= 2
    page.press("0", 48, text="0")
    page.wait_for("document.querySelector('#whole').hidden")


def test_a_narrow_window_has_narrow_charts(opened):
    page = opened(fake_solution(), scene=False)
    page.resize(200, 400)
    page.wait_for("document.querySelector('#charts .uplot').clientWidth < 200")
    assert page.run("document.documentElement.scrollWidth") <= 200


def test_legend_hides_a_series(opened):
    page = opened(fake_solution(), scene=False)
    before = page.run(CURVES)
    assert before == 2
    page.click("#charts .legend button")
    assert page.run(CURVES) == 1
    entry = "document.querySelector('#charts .legend button').getAttribute('aria-pressed')"
    assert page.run(entry) == "false"
    page.click("#charts .legend button")
    assert page.run(CURVES) == 2


def test_angles_in_radians(opened):
    solution = fake_solution()
    page = opened(solution, scene=False)
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    page.click("[data-unit=rad]")
    captions = page.run(TITLES)
    assert captions[:4] == ["Joint angle [rad]", "Angular velocity [rad/s]",
                            "Angular acceleration [rad/s²]", "Joint torque [N m]"]  # fmt: skip
    shown = page.run("document.querySelector('#state tbody td').textContent")
    assert shown == f"{solution.q[-1, 0]:.4g} rad"
    legend = page.run("document.querySelector('#charts .legend b').textContent")
    assert float(legend) == pytest.approx(solution.q[-1, 0], rel=1e-3)
    page.click("[data-unit='°']")
    assert page.run(TITLES)[0] == "Joint angle [°]"


def test_a_chart_is_saved_as_svg_and_csv(opened):
    solution = fake_solution(phases=2)
    page = opened(solution, scene=False)
    page.dark(True)
    svg, csv = saved(page, 3)
    root = ElementTree.fromstring(svg)
    curves = root.findall(".//*[@class='curve']")
    assert [curve.get("stroke") for curve in curves] == ["#0072b2", "#d55e00"]  # on paper
    assert len(root.findall(".//*[@class='limit']")) == 4
    assert "var(" not in svg
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Joint torque [N m]", "joint1", "joint2", "phase 1", "time [s]"} <= set(texts)
    rows = [line.split(",") for line in csv.splitlines()]
    assert rows[0] == ['"time [s]"', '"joint1 [N m]"', '"joint2 [N m]"']
    table = np.array(rows[1:], float)
    assert (table[0, 0], table[-1, 0]) == pytest.approx((0.0, 1.2))
    assert table[-1, 1:] == pytest.approx(solution.tau[-1], rel=1e-4)


def test_names_with_control_characters_leave_a_file_well_formed(opened):
    model = replace(predyn.models.two_link(), joint_names=("a\x08b", "c\x0bd\ufffe"))
    svg, _ = saved(opened(fake_solution(model=model), scene=False), 0)
    texts = [text.text for text in ElementTree.fromstring(svg).iter()]
    assert {"a\ufffdb", "c\ufffdd\ufffd"} <= set(texts)


def test_long_names_stay_distinct(opened):
    names = ("left_gripper_finger_joint1", "left_gripper_finger_joint2")
    model = replace(predyn.models.two_link(), joint_names=names)
    page = opened(fake_solution(model=model), scene=False)
    words = PRINTED % "[...charts[0].querySelectorAll('text')].map((x) => x.textContent)"
    assert set(names) <= set(page.run(words))
    names = "[...document.querySelectorAll('#state tbody th')]"
    assert page.run(f"{names}.every((x) => x.scrollWidth <= x.clientWidth)")  # not cut off


def test_drag_wheel_keys_and_reset(opened):
    page = opened(fake_solution(model=predyn.models.manutec_r3()))
    x, y = page.middle("#scene")
    first = picture(page)
    page.drag((x, y), (x + 120, y - 40))
    turned = picture(page)
    assert turned != first
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    assert picture(page) != turned
    page.click("[data-look='Reset view']")
    assert picture(page) == first
    page.click("[data-look='Top']")
    assert picture(page) != first
    page.click("[data-look='Reset view']")
    page.run("document.querySelector('#scene').focus()")
    page.press("ArrowLeft", 37)
    keyed = picture(page)
    assert keyed not in (first, turned)
    page.press("+", 187, text="+")
    assert picture(page) != keyed
    page.press("0", 48, text="0")
    assert picture(page) == first
    page.press(" ", 32, text=" ")
    page.wait_for(f"{CLOCK} > 0.05")
    page.press(" ", 32, text=" ")
    assert "Play" in page.run("document.querySelector('#play').textContent")


@pytest.mark.parametrize("width", [390, 1200])
def test_many_joints_fit_and_can_be_chosen(opened, width):
    page = opened(fake_solution(model=predyn.models.random_tree(55, 1)), scene=False)
    page.resize(width, 900, phone=width < 600)
    page.wait_for("innerWidth === document.documentElement.clientWidth")
    assert page.run("document.documentElement.scrollWidth") <= width
    curves = "document.querySelectorAll('#charts figure:not([hidden]) .legend b').length"
    assert page.run(curves) == 36
    page.run("[...document.querySelectorAll('#picker button')][0].click()")
    assert page.run(curves) == 55 * 6
    page.run("[...document.querySelectorAll('#picker button')][1].click()")
    assert page.run(curves) == 0


def test_the_table_of_joints_is_not_cut_off(opened):
    page = opened(fake_solution(model=predyn.models.manutec_r3()), scene=False)
    page.resize(390, 900, phone=True)
    page.wait_for("innerWidth === document.documentElement.clientWidth")
    width = "document.querySelector('.side').{}Width"
    assert page.run(width.format("scroll")) <= page.run(width.format("client"))
    last = "document.querySelector('#state tr:last-child td:last-child').getBoundingClientRect()"
    assert page.run(f"{last}.right") <= 390


def test_print_is_light_and_complete(opened):
    page = opened(fake_solution(), scene=False)
    page.dark(True)
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.run(paper)
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(paper) == "rgb(255, 255, 255)"
    assert page.run("[...document.querySelectorAll('details')].every((part) => part.open)")
    assert page.run("document.querySelectorAll('#charts .printed .curve').length") == 12
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run(paper) == dark
    assert len(page.call("Page.printToPDF")["data"]) > 10_000


def test_report_without_a_motion_has_everything_else(opened):
    solution = fake_solution(status="diverged")
    bad = solution.curves[0]._replace(control=np.full_like(solution.curves[0].control, np.nan))
    object.__setattr__(solution, "curves", (bad,))
    page = opened(solution)
    assert page.run("document.querySelector('#player').hidden")
    assert page.run("document.querySelectorAll('#history .uplot').length") == 2


def test_names_are_text(opened):
    solution = fake_solution(phases=2)
    object.__setattr__(solution, "phase_names", ("<img src=x onerror=alert(1)>", "</script>"))
    object.__setattr__(solution, "name", "<b>&amp;</b>")
    page = opened(solution, scene=False)
    assert page.run("document.title") == "<b>&amp;</b>"
    assert page.run("document.querySelector('#clock').textContent").endswith("onerror=alert(1)>")
    assert page.run("document.querySelectorAll('img').length") == 0


def test_foreign_scripts_do_not_run(opened, browser):
    page = opened(fake_solution(), scene=False)
    page.run("addEventListener('securitypolicyviolation', () => { window.refused = true; })")
    page.run(
        "{ const s = document.createElement('script'); s.textContent = 'window.foreign = 1';"
        "document.body.append(s); }"
    )
    assert page.run("window.foreign === undefined")
    page.wait_for("window.refused")
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
    page = opened(replace(solution, passive=("joint1",)), scene=False)
    rows = page.run(
        "[...document.querySelectorAll('#state tbody tr')].map((row) => row.cells[2].textContent)"
    )
    assert rows[0] == "no motor"
    assert rows[1].endswith("N m")
    titles = page.run(TITLES.replace("#charts", "#checks"))
    assert titles[0] == "Error: torque at passive joints [N m]"
    assert len(titles) == 4
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    legend = "document.querySelector('#checks .legend b').textContent"
    assert any(sign.isdigit() for sign in page.run(legend))


def test_signals_have_charts_and_forces_follow_the_time(opened):
    page = opened(loaded_solution(passive=True), scene=False)
    titles = TITLES.replace("#charts", "#signals")
    assert page.run(titles) == ["Signal press [N]", "Signal level"]
    effort = "document.querySelectorAll('#state tbody tr')[1].children[2].textContent"
    assert page.run(effort) != "– N m"  # noqa: RUF001
    page.run("document.querySelector('#slider').focus()")
    page.press("End", 35)
    assert page.run(effort) == "– N m"  # noqa: RUF001
    height = page.run("document.querySelector('#signals').offsetHeight")
    assert height > 200
    page = opened(fake_solution(), scene=False)
    assert page.run("document.querySelector('#signals').offsetHeight") == 0

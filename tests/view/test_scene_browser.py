"""The animation in a real browser: it turns, looks, follows, shows and hides, and prints."""

from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.collision import Obstacle, Scene
from predyn.kernels.forces import ExternalForce
from predyn.problem import Constraint, Phase, Problem
from predyn.terms import FramePosition
from predyn.view.report import report_html
from view.pictures import picture
from view.scene_models import shaped_arm, walking

PICTURE = "document.querySelector('#scene').toDataURL()"
TEXTS = "[...document.querySelectorAll('#scene + div span')].filter((x) => !x.hidden)"
WORDS = f"{TEXTS}.map((x) => x.textContent)"


def switch(page, name):
    page.run(f"document.querySelector('[data-option=\"{name}\"]').click()")


def look(page, name):
    page.run(f"document.querySelector('[data-look=\"{name}\"]').click()")


def test_views_and_options(opened):
    page = opened(walking())
    first = picture(page)
    seen = {first}
    for name in ("Front", "Side", "Top"):
        look(page, name)
        seen.add(picture(page))
    assert len(seen) == 4
    look(page, "Reset view")
    assert picture(page) == first
    assert page.run(WORDS) == []
    for name in ("Trails", "Shadows", "Frames"):
        switch(page, name)
        other = picture(page)
        assert other not in seen, name
        seen.add(other)
    assert {"left_heel", "right_hand"} <= set(page.run(WORDS))


def test_following(opened):
    page = opened(walking())
    switch(page, "Follow")  # the trunk stays in the middle of the picture
    middles = []
    for at in (0, 1000):
        page.run(
            f"(() => {{ const s = document.querySelector('#slider'); s.value = {at};"
            "s.dispatchEvent(new Event('input')); })()"
        )
        picture(page)
        middles.append(page.run(COLOURED))
    assert np.abs(np.subtract(*middles)).max() < 0.08
    switch(page, "Follow")
    picture(page)
    assert abs(page.run(COLOURED)[0] - middles[1][0]) > 0.12


# middle of the trunk's pixels (sky blue), as shares of the width and height
COLOURED = """(() => {
  const scene = document.querySelector('#scene'), { width, height } = scene;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(scene, 0, 0);
  const { data } = context.getImageData(0, 0, width, height), sum = [0, 0, 0];
  for (let k = 0; k < data.length; k += 4) {
    if (data[k + 3] < 250 || data[k] > 110 || data[k + 2] < 150 || data[k + 1] < 110) continue;
    sum[0] += (k / 4) % width / width; sum[1] += Math.floor(k / 4 / width) / height; sum[2]++;
  }
  return [sum[0] / sum[2], sum[1] / sum[2]];
})()"""


def loaded_arm():
    """With a force, a moment, and a goal whose name wants to be more than a name."""
    model = shaped_arm()
    name = "<script>alert(1)</script>"
    model = replace(model, frames=(replace(model.frames[0], name=name), *model.frames[1:]))
    pull = {"link": name, "force": np.array([0.0, 0.0, -20.0]), "moment": np.array([0.0, 3.0, 0.0]),
            "point": np.zeros(3), "frame": "world"}  # fmt: skip
    goal = Constraint(FramePosition(name, (0.5, 0.4, 0.6)), at="end")
    problem = Problem(model, (Phase(1.2, constraints=(goal,)),), forces=(ExternalForce(**pull),))
    return replace(fake_solution(model=model), forces=(pull,), problem=problem)


def test_loads_and_goals_have_texts(opened):
    page = opened(loaded_arm())
    first = picture(page)
    assert sorted(page.run(WORDS)) == ["20 N", "3 N m", "<script>alert(1)</script>"]
    before = page.run(f"{TEXTS}[0].style.cssText")
    look(page, "Top")
    picture(page)
    assert page.run(f"{TEXTS}[0].style.cssText") != before
    look(page, "Reset view")
    picture(page)
    switch(page, "Forces")
    assert picture(page) != first
    assert page.run(WORDS) == ["<script>alert(1)</script>"]


def test_dark_mode_paints_anew_and_prints_light(opened):
    page = opened(loaded_arm())
    light = picture(page)
    page.dark(True)
    dark = picture(page)
    assert dark != light
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(PICTURE) == light
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run(PICTURE) == dark
    document = b64decode(page.call("Page.printToPDF")["data"])
    widths = [int(part.split()[0]) for part in document.split(b"/Width ")[1:]]
    assert max(widths) > 500  # the picture of the scene is in it


def test_paper_does_not_distort_the_picture(opened):
    page = opened(loaded_arm())
    picture(page)
    shape = "(({ clientWidth, clientHeight }) => clientWidth / clientHeight)"
    before = page.run(f"{shape}(document.querySelector('#scene'))")
    page.call("Emulation.setEmulatedMedia", media="print")
    page.resize(650, 900)  # nothing is drawn anew for the width of the paper
    after = page.run(f"{shape}(document.querySelector('#scene'))")
    page.call("Emulation.setEmulatedMedia", media="")
    assert abs(after / before - 1.0) < 0.01


def test_texts_stay_in_the_picture(opened):
    page = opened(loaded_arm())
    page.resize(390, 800)
    ends = "((box) => [box.left, box.right])(y.getBoundingClientRect())"
    boxes = f"{TEXTS}.map((x) => [x, x.parentElement].flatMap((y) => {ends}))"
    for view in ("Front", "Side", "Top", "Reset view"):
        look(page, view)
        picture(page)
        for left, right, least, most in page.run(boxes)[:2]:  # of the loads
            assert least <= left, view
            assert right <= most, view


def test_without_webgl_the_rest_of_the_page_works(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(report_html(fake_solution()), encoding="utf-8")
    script = browser.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="const old = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
        "return kind.startsWith('webgl') ? null : old.call(this, kind, ...more); };",
    )
    browser.resize(1200, 900)
    browser.problems.clear()
    browser.open(path.as_uri())
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    assert browser.run("document.querySelector('#scene')") is None
    words = browser.run("document.querySelector('.viewport').textContent")
    assert "WebGL" in words
    assert "Drag" not in words
    assert browser.run("document.querySelector('[data-look]')") is None
    assert browser.run("document.querySelectorAll('#charts .u-over').length") > 0
    browser.click("#play")
    browser.wait_for("parseFloat(document.querySelector('#clock').textContent) > 0")
    assert browser.problems == []


@pytest.mark.verify
def test_sixty_bodies_move_smoothly(browser, tmp_path, monkeypatch):
    from view import browser as chromium  # late: Windows lacks what it imports

    # the page around the scene is put together as where there is no graphics card
    flags = ("--disable-gpu-compositing", *chromium.FLAGS)
    monkeypatch.setattr(chromium, "FLAGS", flags)
    path = tmp_path / "report.html"
    solution = fake_solution(model=predyn.models.random_tree(60, 1))
    path.write_text(report_html(solution), encoding="utf-8")
    page = chromium.Browser(chromium.executable(), tmp_path)
    try:
        page.resize(1200, 900)
        page.open(path.as_uri())
        picture(page)
        page.click("#play")
        rate = page.run(
            "new Promise((done) => { const start = performance.now(); let frames = 0;"
            "const count = (now) => { frames++;"
            "if (now < start + 4000) requestAnimationFrame(count);"
            "else done(1000 * frames / (now - start)); }; requestAnimationFrame(count); })"
        )
    finally:
        page.close()
    assert rate > 15.0, f"{rate:.1f} frames a second"  # 36 where nothing else runs


def test_the_swept_path_is_made_when_it_is_shown(opened):
    wall = Obstacle("wall", "box", (0.1, 1.0, 1.0), (1.2, 0.0, 0.5))
    solution = replace(fake_solution(model=predyn.models.six_axis_arm()), scene=Scene((wall,)))
    page = opened(solution)
    first = picture(page)
    switch(page, "Swept path")
    assert picture(page) != first
    switch(page, "Swept path")
    assert picture(page) == first

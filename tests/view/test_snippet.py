"""Outputs of notebook cells: frames that are complete in themselves, in which names stay text."""

import gzip
import sys
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn import tasks
from predyn.view import showing
from view.html_page import Page

KINDS = ("model", "problem", "solution", "estimate", "trajectory")
NASTY = "</script><script>alert(1)</script>\"'&<!--é漢\u2028</iframe>"


class Frame(HTMLParser):
    """What a notebook gets: one element and its attributes."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags = []
        self.feed(html)
        self.close()
        ((tag, attributes),) = self.tags
        assert tag == "iframe"
        self.attributes = dict(attributes)
        self.page = Page(self.attributes["srcdoc"])

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        assert not data.strip()


def trajectory(model, batch=()):
    q0 = np.zeros((*batch, model.n)) + 0.1
    return predyn.simulate(model, q0, 0.0 * q0, np.zeros(model.n), np.linspace(0.0, 0.4, 9))


def things(model):
    problem = predyn.Problem(
        model,
        (predyn.Phase(1.0, predyn.State(q=[0.1, 0.2]), predyn.State(q=[0.3, 0.4])),),
        costs=(predyn.Cost(predyn.terms.Effort()),),
        name=model.name,
    )
    solution = replace(fake_solution(model=model), name=model.name, problem=problem)
    estimate = replace(fake_estimate(model=model), warnings=(model.name,))
    return model, problem, solution, estimate, trajectory(model)


@pytest.mark.parametrize("kind", range(5), ids=KINDS)
def test_names_stay_text(kind):
    model = predyn.models.two_link()
    names = tuple(f"{NASTY}{k}" for k in range(2))
    nasty = replace(model, name=NASTY, joint_names=names, link_names=tuple(f"l{x}" for x in names))
    frame = Frame(things(nasty)[kind]._repr_html_())
    assert set(frame.attributes) == {"srcdoc", "sandbox", "loading", "title", "style"}
    assert "allow-same-origin" not in frame.attributes["sandbox"]
    assert NASTY in frame.page.text
    assert len(frame.page.scripts) == 3  # data, packed script, and what unpacks it


def test_the_frame_is_as_tall_as_its_curves():
    heights = [
        int(Frame(fake_solution(model=model)._repr_html_()).attributes["style"].split()[3][:-3])
        for model in (predyn.models.two_link(), predyn.models.cart_pole())
    ]
    assert heights[0] < heights[1] <= 1080  # slides and hinges have charts of their own


def test_the_frame_holds_the_script_of_the_pages():
    page = Frame(fake_solution()._repr_html_()).page
    script = gzip.decompress(b64decode(page.scripts[1])).decode()
    assert script == files("predyn.view").joinpath("page.js").read_text("utf-8")
    loaded = [(tag, value) for tag, key, value in page.attributes if key in ("src", "href")]
    assert loaded == [("link", "data:,")]


def test_a_solution_has_status_numbers_and_curves():
    solution = loaded_solution()
    page = Frame(solution._repr_html_()).page
    assert "✓ optimal" in page.text
    assert "1.2 s" in page.text
    assert [x["title"] for x in page.data["charts"]["charts"]] == ["Joint angle", "Joint torque"]
    for chart, values in zip(
        page.data["charts"]["charts"], (np.rad2deg(solution.q), solution.tau), strict=True
    ):
        for j, line in enumerate(chart["series"]):
            assert (line["joint"], line["name"]) == (j, solution.model.joint_names[j])
            times, y = np.array(page.data["times"][line["x"]]), np.array(line["y"])
            for k in (0, len(solution.t) // 3, -1):
                nearest = np.argmin(np.abs(times - solution.t[k]))
                assert y[nearest] == pytest.approx(values[k, j], rel=1e-3, abs=1e-3)
    assert [phase["name"] for phase in page.data["clock"]["phases"]] == ["reach", "carry"]


def test_failures_are_named_and_leave_no_scene():
    solution = fake_solution()
    curve = solution.curves[0]
    broken = replace(
        solution,
        status="diverged",
        message="values that are not finite",
        curves=(curve._replace(control=curve.control * np.nan),),
    )
    page = Frame(broken._repr_html_()).page
    assert "✗ diverged" in page.text
    assert "no motion to draw" in page.text
    assert page.data["scene"] is None
    with pytest.raises(predyn.InputError, match="there is no motion to draw"):
        broken.animate("never.gif")
    with pytest.raises(predyn.InputError, match="nothing to plot"):
        broken.plot()


def test_a_problem_is_shown_in_words_with_both_postures():
    problem = predyn.load_task("two-link-pick-place")
    page = Frame(problem._repr_html_()).page
    for words in (
        "phase 1 'reach'",
        "carries 0.5 kg on 'tip'",
        "cost 0.99 * time()",
        "±10 N m",
        ") rad/s",
    ):
        assert words in page.text
    assert repr(problem) == (
        "Problem('two-link-pick-place', model 'two_link', 3 phases, 2 costs, 0 constraints, spline)"
    )
    wrong = replace(problem, phases=(replace(problem.phases[0], duration=-1.0),))
    page = Frame(wrong._repr_html_()).page
    assert "✗ invalid" in page.text
    assert wrong.validate()[0] in page.text


@pytest.mark.parametrize("name", tasks.NAMES)
def test_every_built_in_task_and_its_model_can_be_shown(name):
    problem = predyn.load_task(name)
    for thing in (problem, problem.model):
        page = Frame(thing._repr_html_()).page
        assert page.data["clock"] is None
        assert page.data["scene"]["solids"]
        assert all(joint in page.text for joint in problem.model.joint_names)


def test_a_batch_is_text():
    batch = trajectory(predyn.models.two_link(), (3,))
    assert batch._repr_html_().startswith("<pre>Trajectory of &#x27;two_link&#x27;, q (3, 9, 2)")


def test_show_displays_in_a_notebook_and_serves_elsewhere(monkeypatch, capsys):
    served, shown = [], []
    monkeypatch.setattr(showing, "serve_page", lambda *arguments: served.append(arguments))
    solution = fake_solution()
    solution.show(browser=False)
    ((page, port, browser),) = served
    assert b'<section id="player"' in page
    assert (port, browser) == (0, False)
    for thing in (solution.model, trajectory(solution.model)):
        thing.show(port=8000)
        assert b'class="snippet"' in served[-1][0]
        assert served[-1][1:] == (8000, True)
    display = SimpleNamespace(display=shown.append)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    solution.show()
    assert shown == [solution]
    assert len(served) == 3


def test_at_a_prompt_the_page_is_served_without_blocking(monkeypatch, capsys):
    from urllib.request import urlopen

    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(showing, "in_notebook", lambda: False)
    opened = []
    monkeypatch.setattr(showing.webbrowser, "open", opened.append)
    predyn.models.two_link().show()
    (address,) = opened
    assert address in capsys.readouterr().out
    with urlopen(address, timeout=10) as answer:
        assert b'class="snippet"' in answer.read()


def test_reports_are_written_by_results(tmp_path):
    from predyn.view.estimate_report import estimate_html
    from predyn.view.report import report_html

    solution, estimate = fake_solution(), fake_estimate()
    solution.report(tmp_path / "a.html")
    estimate.report(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_text("utf-8") == report_html(solution)
    assert (tmp_path / "b.html").read_text("utf-8") == estimate_html(estimate)


def test_a_trajectory_that_ended_where_it_started_says_so():
    run = trajectory(predyn.models.two_link())
    at_once = replace(run, **{name: getattr(run, name)[:1] for name in ("t", "q", "v", "tau")})
    assert "it ended where it started" in at_once._repr_html_()

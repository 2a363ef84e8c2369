"""A notebook that shows results, executed and exported: animation and curves work offline."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from html import unescape

import pytest

for package in ("nbclient", "nbconvert", "ipykernel", "matplotlib"):
    pytest.importorskip(package, reason="notebooks need nbclient, nbconvert, ipykernel, matplotlib")

CELLS = (
    "import predyn\nsolution = predyn.solve('two-link-lifting')",
    "solution",
    "solution.plot('q', 'tau', degrees=True);",
    "solution.model.show()",
    "solution.problem",
    "print(repr(solution.problem))",
)
RUN = """
import sys, nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

source, done, page = sys.argv[1:]
notebook = nbformat.read(source, 4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
nbformat.write(notebook, done)
# the template's own scripts, for equations and widgets, are on other servers
exporter = HTMLExporter(mathjax_url="", require_js_url="", jquery_url="", widget_renderer_url="")
with open(page, "w", encoding="utf-8") as file:
    file.write(exporter.from_notebook_node(notebook)[0])
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Outputs of the cells, and the exported page."""
    folder = tmp_path_factory.mktemp("notebook")
    source, done, page = (folder / name for name in ("a.ipynb", "b.ipynb", "c.html"))
    cells = [
        {"cell_type": "code", "execution_count": None, "id": str(k), "metadata": {},
         "outputs": [], "source": text}
        for k, text in enumerate(CELLS)
    ]  # fmt: skip
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    source.write_text(json.dumps(document), "utf-8")
    environment = {key: x for key, x in os.environ.items() if key != "MPLBACKEND"}
    command = [sys.executable, "-c", RUN, str(source), str(done), str(page)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(done.read_text("utf-8"))
    cells = [cell["outputs"] for cell in document["cells"]]
    assert "Warning" not in json.dumps([x["text"] for y in cells for x in y if "name" in x])
    return [[x for x in outputs if x.get("name") != "stderr"] for outputs in cells], page


def test_cells_have_frames_and_pictures(executed):
    outputs, _ = executed
    solution, plot, model, problem = (cell[0]["data"] for cell in outputs[1:5])
    for shown in (solution, model, problem):
        (html,) = re.findall(r'srcdoc="([^"]*)"', "".join(shown["text/html"]))
        page = unescape(html)
        assert page.startswith("<!DOCTYPE html>")
        assert not re.search(r'(src|href)="(?!data:,|#)', page)
    assert "".join(plot["image/png"]).startswith("iVBOR")
    assert len("".join(solution["text/html"])) < 500_000
    assert "".join(outputs[5][0]["text"]).startswith("Problem('two-link-lifting', ")


@pytest.fixture
def offline(browser):
    rates = ("downloadThroughput", "uploadThroughput")
    for off in (True, False):
        speed = dict.fromkeys(rates, 0 if off else -1)
        browser.call("Network.emulateNetworkConditions", offline=off, latency=0, **speed)
        if off:
            yield browser


def test_the_export_animates_and_draws_curves_offline(executed, offline):
    page = offline
    page.resize(1100, 2400)
    page.requests.clear()
    page.problems.clear()
    page.open(executed[1].as_uri())
    found = {}
    for session in frames(page, 3):
        with inside(page, session):
            page.wait_for("document.querySelector('canvas#scene') !== null")
            found[page.run("document.querySelector('.sub').textContent")] = session
    assert [text.split(",")[0] for text in sorted(found)] == ["model", "problem", "solution"]
    with inside(page, found["solution, model two_link"]):
        assert_animates(page)
    with inside(page, found["problem, model two_link"]):
        assert "cost 0.99 * time()" in page.run("document.querySelector('.words').textContent")
    assert page.problems == []
    assert [x for x in page.requests if not x.startswith(("file:", "data:", "blob:"))] == []


def assert_animates(page):
    titles = "[...document.querySelectorAll('#charts figcaption')].map((x) => x.textContent)"
    page.wait_for(f"{titles}.length === 2")
    assert [x.split("[")[0].strip() for x in page.run(titles)] == ["Joint angle", "Joint torque"]
    picture = "document.querySelector('#scene').toDataURL()"
    clock = "document.querySelector('#clock').textContent"
    still, before = page.run(picture), page.run(clock)
    page.run("document.querySelector('#play').click()")
    page.wait_for(f"{clock} !== {before!r}")
    page.wait_for(f"{picture} !== {still!r}")


def frames(browser, count):
    """Sessions of the frames in the page, which have processes of their own."""
    end = time.monotonic() + 30.0
    with inside(browser, None):
        while True:
            targets = browser.call("Target.getTargets")["targetInfos"]
            found = [x["targetId"] for x in targets if x["type"] == "iframe"]
            if len(found) == count:
                break
            assert time.monotonic() < end, f"{len(found)} frames: {targets}"
            time.sleep(0.05)
        attach = "Target.attachToTarget"
        return [browser.call(attach, targetId=x, flatten=True)["sessionId"] for x in found]


@contextmanager
def inside(browser, session):
    """Commands go to another session, and its errors and requests are noted too."""
    own, browser._session = browser._session, session
    try:
        for domain in ("Runtime", "Log", "Network") if session else ():
            browser.call(f"{domain}.enable")
        yield
    finally:
        browser._session = own

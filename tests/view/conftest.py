"""A browser for the tests of reports."""

import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    pytest.importorskip("fcntl", reason="the browser is driven over a pipe that Windows lacks")
    from view.browser import Browser, executable

    program = executable()
    if program is None:
        pytest.skip("no Chromium here: install Debian's package 'chromium', or Google Chrome")
    running = Browser(program, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture
def opened(browser, tmp_path, monkeypatch):
    """Open a report; at the end, check that there were no errors and no requests.

    scene=False leaves out the animation, which takes a software renderer seconds to start.
    """
    address = (tmp_path / "report.html").as_uri()

    def open_report(result, scene=True):
        if not scene:
            monkeypatch.setattr("predyn.view.report.scene_data", lambda *_, **__: None)
            monkeypatch.setattr("predyn.view.estimate_report.estimate_scene", lambda *_, **__: None)
        result.report(tmp_path / "report.html")
        browser.resize(1200, 900)
        browser.dark(False)
        browser.problems.clear()
        browser.requests.clear()
        browser.open(address)
        return browser

    yield open_report
    assert browser.problems == []
    assert browser.requests == [address]

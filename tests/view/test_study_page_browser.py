"""The page of a study in a real browser: filters are linked, points open motions, keys work."""

import json
import time

import pytest

from fake_study import COLUMNS, TEXT, fake_motions, fake_table
from predyn.view.study_page import write_study_report

COUNT = "document.querySelector('#count').textContent"
ROWS = "[...document.querySelectorAll('.grid tbody [data-row]')].map((x) => +x.dataset.row)"
TITLE = "document.querySelector('#case-title')?.textContent ?? ''"
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"


@pytest.fixture
def shown(browser, tmp_path):
    """Open the page of a table; at the end, check that there were no errors and no requests."""
    address = (tmp_path / "report.html").as_uri()

    def show(table, columns=COLUMNS, motions=(), text=TEXT):
        write_study_report(tmp_path, table, columns, motions, text)
        browser.resize(1200, 900)
        browser.dark(False)
        browser.problems.clear()
        browser.requests.clear()
        browser.open(address)
        browser.run(DRAWN)
        return browser

    yield show
    assert browser.problems == []
    assert [url for url in browser.requests if url != "about:srcdoc"] == [address]


def field(page, name, text):
    page.run(
        f"(() => {{ const f = document.querySelector('input[aria-label={json.dumps(name)}]');"
        f"f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input')); }})()"
    )
    page.run(DRAWN)


def test_filters_are_linked_and_keys_work(shown):
    page = shown(fake_table(200), motions=fake_motions([0]))
    assert page.run(COUNT) == "200 of 200 cases shown"
    assert page.run("document.querySelectorAll('img').length") == 0
    note = "document.querySelectorAll('#planes [role=status]')[0].textContent"
    assert "Knee: case" in page.run(note)
    front = page.run(note)

    field(page, "Filter payload [kg]", "3..5")
    assert page.run(COUNT) == "30 of 200 cases shown"
    assert page.run(note) != front
    assert page.run(ROWS)[:3] == [30, 31, 32]
    assert page.run("document.querySelectorAll('.shown .filter').length") == 1
    assert page.run("document.querySelectorAll('.lines .brush:not([hidden])').length") == 1
    assert page.run("document.querySelectorAll('.bars .brush:not([hidden])').length") == 1
    field(page, "Filter payload [kg]", "3..")  # not understood yet: the filter stays
    assert page.run(COUNT) == "30 of 200 cases shown"
    field(page, "Filter person", "<B>")
    assert page.run(COUNT) == "10 of 200 cases shown"
    page.run("document.querySelector('#all').click()")
    page.run(DRAWN)
    assert page.run(COUNT) == "200 of 200 cases shown"

    # a brush by keys: the upper part of the axis of the mix, then back
    page.run("document.querySelectorAll('.lines .axis')[1].focus()")
    page.press("ArrowUp", 38)
    page.run(DRAWN)
    assert page.run(COUNT) != "200 of 200 cases shown"
    page.press("Escape", 27)
    page.run(DRAWN)
    assert page.run(COUNT) == "200 of 200 cases shown"

    # cases without a result, for one reason
    page.run("document.querySelector('[data-reason] button').click()")
    page.run(DRAWN)
    assert page.run(COUNT) == "20 of 200 cases shown"
    assert page.run(ROWS)[:2] == [3, 13]
    page.run("document.querySelector('.shown .filter').click()")
    page.run(DRAWN)

    # sorting; missing values come last in both directions
    sorter = "[...document.querySelectorAll('.grid thead button')][4]"
    page.run(f"{sorter}.click()")
    assert page.run(ROWS)[0] == 0
    page.run(f"{sorter}.click()")
    assert page.run(ROWS)[0] == 189
    assert page.run("document.querySelectorAll('[aria-sort=descending]').length") == 1

    # the table by keys, and a case without a motion
    page.run("document.querySelector('.grid').focus()")
    page.press("ArrowDown", 40)
    page.press("Enter", 13)
    assert page.run(TITLE) == "Case 189"
    assert "was not kept" in page.run("document.querySelector('dialog .message').textContent")
    page.press("Escape", 27)
    page.wait_for("!document.querySelector('dialog').open")


def test_a_click_on_a_point_opens_its_motion(shown):
    page = shown(fake_table(20), motions=fake_motions(range(0, 20)))
    page.wait_for("document.querySelectorAll('.multiples button').length === 12")
    key = "[...document.querySelectorAll('.multiples + .key li')].map((x) => x.textContent)"
    assert page.run(key) == ["joint1", "joint2"]
    # the point of the first plot that lies farthest to the left: the first of the front
    box = page.run(
        "(() => { const c = document.querySelector('.plane canvas'); c.scrollIntoView();"
        "const b = c.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
    )
    x = box[0] + 58 + (box[2] - 72) * 0.04 / 1.08
    y = box[1] + 14 + (box[3] - 50) * (1 - (100 - 40.6 + 0.04 * 64.4) / (64.4 * 1.08))
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    page.mouse("mouseReleased", x, y, button="left", buttons=0, clickCount=1)
    page.wait_for("document.querySelector('dialog iframe') !== null")
    assert page.run(TITLE) == "Case 0"
    assert "payload 0 kg" in page.run("document.querySelector('dialog .facts').textContent")
    frame = page.run("document.querySelector('dialog iframe').getAttribute('sandbox')")
    assert frame == "allow-scripts allow-downloads"
    assert page.run("document.querySelector('dialog iframe').srcdoc.length") > 600_000
    page.run("document.querySelector('#close').click()")
    page.wait_for("!document.querySelector('dialog iframe')")


def test_ten_thousand_rows_are_fast(shown):
    page = shown(fake_table(10_000))
    assert page.run("document.querySelectorAll('.grid tbody tr').length") < 60
    page.run("document.querySelector('.grid').scrollTop = 1e9")
    page.run(DRAWN)
    assert page.run(ROWS)[-1] == 9999
    start = time.perf_counter()
    field(page, "Filter mix", ">0.45")
    assert page.run(COUNT) == "5,000 of 10,000 cases shown"
    assert time.perf_counter() - start < 5.0


@pytest.mark.parametrize("count", [0, 1, 4])
def test_small_and_failed_studies(shown, count):
    table = fake_table(count, failed=False)
    if count == 4:
        table["status"][:] = "invalid"
        for name in ("duration", "effort"):
            table[name][:] = float("nan")
    page = shown(table, text=None)
    if count:
        assert page.run(COUNT) == f"{count} of {count} cases shown"
    assert page.run("document.documentElement.scrollWidth <= innerWidth")

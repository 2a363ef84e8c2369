"""The page of a study as text: self-contained, complete, within its limits."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from gzip import decompress

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from fake_study import COLUMNS, ODD, TEXT, fake_motions, fake_table
from predyn.errors import FileError
from predyn.view.study_columns import PageColumn, front_rows, reasons_of, states_of
from predyn.view.study_motions import MOST_BYTES, coded, embed_motions, motion_data
from predyn.view.study_page import PageText, study_html, view_command, write_study_report
from view.html_page import Page

EMPTY = {"charts": {"charts": []}, "scene": {"motions": []}}  # of a motion


def unpacked(page, name):
    packed = re.search(f'id="{name}">([^<]*)<', page)[1]
    return decompress(b64decode(packed)).decode()


def test_page_is_self_contained_and_safe(tmp_path):
    path = write_study_report(tmp_path, fake_table(40), COLUMNS, fake_motions([0, 7]), TEXT)
    html = path.read_text("utf-8")
    page = Page(html)
    assert path == tmp_path / "report.html"
    assert "img" not in {tag for tag, _, _ in page.attributes}
    loading = [(tag, value) for tag, key, value in page.attributes
               if key in ("src", "href") and value[:1] != "#"]  # fmt: skip
    assert loading == [("link", "data:,")]
    policy = next(value for _, _, value in page.attributes if "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.findall(r"https?://(?!www\.w3\.org)", html)
    assert "35 of 40 solved" in page.text
    assert "lifts </script>" in page.text  # as words
    assert str(tmp_path) in json.dumps(page.data["opens"])


def test_table_is_complete_and_short():
    table = fake_table(30)
    table["duration"][4] = np.inf
    data = Page(study_html(table, COLUMNS, text=TEXT)).data
    columns = {column["name"]: column for column in data["columns"]}
    assert data["cases"] == list(range(30))
    assert columns["effort"]["unit"] == "N² m² s"
    assert columns["duration"]["values"][3:6] == [None, None, 0.85]
    person = columns["person"]
    assert [person["words"][k] for k in person["values"][:3]] == ["p5", "p50 <b>", "p95"]
    assert [x["role"] for x in data["columns"]][:4] == ["varied"] * 3 + ["collected"]
    assert {"status", "message"} <= set(columns)
    assert data["motions"] == [0] * 30
    rows = study_html(fake_table(10_000), COLUMNS)
    assert len(rows.encode()) < 1_500_000


def test_failed_cases_are_grouped_by_reason():
    table = fake_table(30)
    states = states_of(table, 30)
    first, second = reasons_of(table, states)
    assert (first.status, first.rows) == ("infeasible", [3, 13, 23])  # numbers differ
    assert (second.status, second.rows) == ("set_aside", [29])
    page = Page(study_html(table, COLUMNS))
    assert "3, 13, 23" in page.text
    assert page.data["reasons"] == [[3, 13, 23], [29]]
    assert page.data["states"].count(2) == 1


@pytest.mark.parametrize("count", [0, 1])
def test_few_cases(count):
    page = Page(study_html(fake_table(count, failed=False), COLUMNS))
    assert f"{count} of {count} solved" in page.text
    assert ("This study has no cases yet." in page.text) == (count == 0)


def test_all_failed():
    table = fake_table(4, failed=False)
    table["status"][:] = "invalid"
    table["message"][:] = ""
    page = Page(study_html(table, COLUMNS))
    assert "✗ 0 of 4 solved" in page.text
    assert page.data["reasons"] == [[0, 1, 2, 3]]


def test_flags_and_a_column_that_says_what_is_solved():
    table = fake_table(4, failed=False) | {"solved": np.array([True, False, True, True])}
    table["dominated"] = np.array([False, True, True, False])
    columns = [*COLUMNS, PageColumn("dominated", kind="flag"), PageColumn("solved", kind="flag")]
    data = Page(study_html(table, columns)).data
    assert data["states"] == [0, 1, 0, 0]
    flags = next(column for column in data["columns"] if column["name"] == "dominated")
    assert flags["words"] == ["no", "yes"]
    assert flags["values"] == [0, 1, 1, 0]
    assert "solved" not in {column["name"] for column in data["columns"]}


def test_motions_are_whole_and_share_what_is_common():
    solution = fake_solution()
    curves = tuple(curve._replace(duration=2.0) for curve in solution.curves)
    other = replace(solution, curves=curves)
    html = study_html(fake_table(20), COLUMNS, [(2, lambda: solution), (5, lambda: other)])
    common = json.loads(unpacked(html, "common"))
    second = json.loads(unpacked(html, "motion-5"))
    assert json.loads(unpacked(html, "motion-2")) == {} or second == {}
    assert {"scene", "charts", "clock", "times"} <= set(common)
    assert "solids" not in json.loads(unpacked(html, "motion-2")).get("scene", {})
    assert 'id="data">{}<' in unpacked(html, "player")
    data = Page(html).data
    assert [row for row, kind in enumerate(data["motions"]) if kind == 2] == [2, 5]
    angle = data["curves"][0]
    assert (angle["title"], angle["unit"], angle["end"]) == ("Joint angle", "°", 2.0)
    assert angle["low"] == pytest.approx(np.rad2deg(-2.37), abs=0.1)


def test_motions_keep_their_digits():
    data = motion_data(fake_solution())
    short = coded(data)
    for plain, coarse, width in (
        (data["scene"]["motions"][0]["poses"][1], short["scene"]["motions"][0]["poses"][1], 7),
        (
            data["charts"]["charts"][0]["series"][0]["y"],
            short["charts"]["charts"][0]["series"][0]["y"],
            1,
        ),
    ):
        steps = np.array(coarse["steps"]).reshape(width, -1)
        values = np.cumsum(np.cumsum(steps, axis=1), axis=1).T.ravel() * 10.0 ** -coarse["places"]
        assert values == pytest.approx(plain, abs=0.51 * 10.0 ** -coarse["places"])
        assert coarse["width"] == width
    gaps = {"title": "gap", "series": [{"y": [1.0, None, 2.0]}]}
    short = coded({"scene": {"motions": []}, "charts": {"charts": [gaps]}})
    assert short["charts"]["charts"][0]["series"][0]["y"] == [1.0, None, 2.0]


def test_what_does_not_fit_is_named(monkeypatch):
    monkeypatch.setattr("predyn.view.study_motions.motion_data", lambda _: EMPTY)
    loaded = []
    solution = fake_solution()

    def loader(case):
        return lambda: (loaded.append(case), solution)[1]

    motions = [(case, loader(case)) for case in range(20)]
    size = len(embed_motions([(0, loader(0))], []).packed[0])
    loaded.clear()
    table = fake_table(20)
    html = study_html(table, COLUMNS, motions, TEXT, "my runs", most_bytes=6 * size)
    data = Page(html).data
    assert data["motions"].count(2) == 6
    assert data["motions"].count(1) == 14
    front = front_rows(table["duration"], table["effort"])
    assert loaded[:6] == front[:6]  # the front comes first
    assert len(loaded) <= 7
    text = Page(html).text
    assert "14 kept motions would make this page too large" in text
    assert "predyn view 'my runs'/solutions/0000" in text
    assert MOST_BYTES == 12_000_000


def test_the_others_are_spread_over_the_cases(monkeypatch):
    monkeypatch.setattr("predyn.view.study_motions.motion_data", lambda _: EMPTY)
    monkeypatch.setattr("predyn.view.study_motions.MOST_MOTIONS", 8)
    solution = fake_solution()
    found = embed_motions([(row, lambda: solution) for row in range(64)], [])
    assert sorted(found.packed) == list(range(0, 64, 8))
    assert len(found.too_many) == 56


def test_unreadable_and_infinite_motions_are_named():
    def broken():
        raise FileError("solutions/000002.h5: damaged")

    solution = fake_solution()
    curves = tuple(c._replace(control=np.full_like(c.control, np.nan)) for c in solution.curves)
    bad = replace(solution, curves=curves)
    page = Page(study_html(fake_table(9), COLUMNS, [(2, broken), (4, lambda: bad)]))
    assert "1 kept motion could not be read" in page.text
    assert "1 kept motion contain" in page.text
    assert page.data["motions"][2] == 1


def test_front():
    x = np.array([1.0, 2.0, 2.0, 3.0, 4.0, np.nan, 0.5])
    y = np.array([5.0, 3.0, 4.0, 3.0, 1.0, 0.0, np.inf])
    assert front_rows(x, y) == [0, 1, 4]
    assert front_rows(x[:0], y[:0]) == []


def test_bad_input():
    table = fake_table(5)
    with pytest.raises(predyn.InputError, match="expected a column 'speed'"):
        study_html(table, [PageColumn("speed")])
    with pytest.raises(predyn.InputError, match="one length"):
        study_html(table | {"mix": np.zeros(3)}, COLUMNS)
    with pytest.raises(predyn.InputError, match="did you mean 'duration'"):
        study_html(table, COLUMNS, text=PageText(pareto=(("durations", "min"), ("effort", "min"))))
    with pytest.raises(predyn.InputError, match="expected 'min' or 'max'"):
        study_html(table, COLUMNS, text=PageText(pareto=(("duration", "less"), ("effort", "min"))))
    assert view_command("out", 12) == "predyn view out/solutions/000012.h5"
    assert ODD in table

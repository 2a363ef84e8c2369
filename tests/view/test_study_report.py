"""The report of a study from its folder: study.json, parts, kept solutions."""

import json

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from fake_study import fake_table
from predyn.view.study_report import study_report
from view.html_page import Page


@pytest.fixture
def folder(tmp_path):
    """Six of eight cases have ended; two motions are kept, one of them damaged."""
    from predyn.study.folder import Description, describe, make_parts
    from predyn.study.study import Column
    from predyn.study.table import columns_of, part_path, write_part

    columns = columns_of(
        (Column("payload", "kg"), Column("person", kind="text")),
        (Column("duration", "s"), Column("peak", "N m")),
    )
    about = Description(
        "lifts", "with payloads", "f" * 64, 8, columns, {"varied": ["payload", "person"]}
    )
    describe(tmp_path, about, {"task": "name = 'lift'"})
    make_parts(tmp_path)
    table = fake_table(6)
    rows = [{name: values[k] for name, values in table.items()} for k in (4, 5, 0, 1, 2, 3)]
    for row in rows:
        row["solved"] = row["status"] == "optimal"
        row["peak"] = row["effort"] if row["solved"] else None
    write_part(part_path(tmp_path, 1), columns, rows[:4], about.fingerprint)
    write_part(part_path(tmp_path, 2), columns, rows[4:], about.fingerprint)
    (tmp_path / "solutions").mkdir()
    fake_solution().save(tmp_path / "solutions" / "000001.h5")
    (tmp_path / "solutions" / "000002.h5").write_bytes(b"damaged")
    (tmp_path / "solutions" / "notes.h5").write_bytes(b"")
    return tmp_path


def test_report_of_a_folder(folder):
    page = Page(study_report(folder).read_text("utf-8"))
    assert page.data["cases"] == [0, 1, 2, 3, 4, 5]
    assert page.data["motions"] == [0, 2, 1, 0, 0, 0]
    assert page.data["states"] == [0, 0, 0, 1, 0, 2]
    columns = {column["name"]: column for column in page.data["columns"]}
    assert [column["role"] for column in page.data["columns"]][:5] == [
        "varied", "varied", "collected", "collected", "collected",
    ]  # fmt: skip
    assert "words" in columns["person"]
    assert columns["guess"]["values"] == [None] * 6
    names = list(columns)
    assert [names[k] for k, _ in page.data["pareto"]] == ["duration", "peak"]
    assert "4 of 6 solved" in page.text
    assert "1 kept motion could not be read" in page.text
    assert "name = 'lift'" in page.text
    assert '"predyn"' in page.text  # its version


def test_fronts_show_their_costs(folder):
    tree = json.loads((folder / "study.json").read_text("utf-8"))
    (folder / "study.json").write_text(
        json.dumps(tree | {"between": ["peak", "duration"]}), "utf-8"
    )
    page = Page(study_report(folder).read_text("utf-8"))
    names = [column["name"] for column in page.data["columns"]]
    assert [names[k] for k, _ in page.data["pareto"]] == ["peak", "duration"]


def test_no_study(tmp_path):
    with pytest.raises(predyn.FileError, match=r"no study\.json"):
        study_report(tmp_path)
    assert not np.any(list(tmp_path.iterdir()))

"""The published example through the command: its figures, its errors, all files or none."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from predyn import cli
from predyn.estimate.result_file import load_estimate
from predyn.results.trujillo import METHODS, PaperRun, at_joints, on_links, run_paper, write_paper
from predyn.view.paper_report import paper_html
from view.html_page import Page, assert_self_contained

FILES = {"hanging.h5", "upright.h5", "torques.csv", "summary.json", "report.html"}


@pytest.fixture(scope="module")
def hanging() -> PaperRun:
    return run_paper("hanging")


def test_the_command_writes_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.app, ["estimate", "trujillo-two-link"])
    assert result.exit_code == 0, result.output
    folder = Path("trujillo-two-link")
    assert {path.name for path in folder.iterdir()} == FILES
    assert "upright: smoother" in result.stderr
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["success"] is True
    for start, worst in (("hanging", 0.095), ("upright", 0.13)):
        errors = summary["rmse"][start]
        assert errors["published"] < worst
        assert errors["switching"] < errors["estimate"] < errors["published"] < errors["filtered"]
        assert f"{errors['estimate']:.4f}" in result.stdout
        assert 0.92 <= summary["coverage"][start] <= 0.999
        assert load_estimate(folder / f"{start}.h5").success
    with open(folder / "torques.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 400
    assert {row["case"] for row in rows} == {"hanging", "upright"}
    apart = [float(row["T1 published [N m]"]) - float(row["T1 true [N m]"]) for row in rows]
    assert 0.0 < np.sqrt(np.mean(np.square(apart))) < 0.13


def test_the_report_has_every_figure(hanging: PaperRun) -> None:
    html = paper_html([hanging])
    assert_self_contained(html)
    page = Page(html)
    titles = [spec["title"] for specs in page.data["charts"].values() for spec in specs]
    for k in range(2, 8):
        assert any(title.startswith(f"Figure {k}: ") for title in titles)
    for name in METHODS.values():
        assert name in page.text
    places = {value for tag, key, value in page.attributes if (tag, key) == ("div", "id")}
    assert set(page.data["charts"]) <= places
    (curve,) = [s for s in page.data["charts"]["hanging-published"] if "Figure 7" in s["title"]]
    assert any(mark["label"] == "B = 0.0001" for mark in curve["marks"])


def test_the_page_runs(hanging: PaperRun, browser: object, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(paper_html([hanging]), encoding="utf-8")
    browser.problems.clear()
    browser.open(path.as_uri())
    browser.run("dispatchEvent(new Event('beforeprint'))")
    drawn = "document.querySelectorAll('.printed .curve, .printed .cloud').length"
    assert browser.run(drawn) == 2 + 2 + 4 + 4 + 4 + 2 + 2 + 1 + 8
    assert browser.run("document.querySelectorAll('.printed .band').length") == 2
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.problems == []


def test_link_and_joint_torques_are_each_other_s_inverse() -> None:
    tau = np.array([[3.0, 1.0], [-2.0, 5.0]])
    assert on_links(tau).tolist() == [[2.0, 1.0], [-7.0, 5.0]]
    assert at_joints(on_links(tau)).tolist() == tau.tolist()


def test_all_or_nothing(hanging: PaperRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise OSError("no space")

    monkeypatch.setattr("predyn.view.paper_report.paper_html", broken)
    with pytest.raises(OSError, match="no space"):
        write_paper([hanging], tmp_path)
    assert not list(tmp_path.iterdir())

"""predyn study and predyn pareto: files, exit codes, messages."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import predyn
from fake_cases import Inside, fake_study, run_inside
from predyn import cli
from predyn.study import CaseSolver, read_study

STUDY = """
name = "small"
task = "two-link-lifting"
[[vary]]
key = "forces[0].force[1]"
values = [-30.0, -20.0, -10.0, -5.0]
[collect]
durations = ["phase 1"]
[solve]
keep = "all"
"""


@pytest.fixture(autouse=True)
def _in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("predyn.study.running.chosen_workers", lambda setup, *_: Inside(setup))
    Path("study.toml").write_text(STUDY)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def test_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("study", "study.toml", "--out", "out", "--no-report")
    assert done.exit_code == 0, done.output
    assert "4 of 4 cases ended, 4 solved, 0 failed" in done.stdout
    assert "4 of 4" in done.stderr  # progress
    results = predyn.StudyResults("out")
    study = read_study("study.toml")
    solver = CaseSolver(study)
    assert np.sum(results.table["guess"] < 0) == 1
    for k, source in enumerate(results.table["guess"].tolist()):  # as predyn.solve does it
        guess = None if source < 0 else results.solution(source)
        alone = predyn.solve(solver.problem(k), guess=guess, verbose=False)
        assert alone.objective == results.table["objective"][k]
        np.testing.assert_array_equal(alone.x, results.solution(k).x)
    again = run("study", "study.toml", "--out", "out", "--no-report", "--quiet")
    assert again.exit_code == 0
    assert again.stderr == ""
    Path("study.toml").write_text(STUDY.replace("-5.0", "-6.0"))
    other = run("study", "study.toml", "--out", "out")
    assert other.exit_code == 2
    assert "choose another folder" in other.stderr


def test_a_study_is_described_and_is_no_task() -> None:
    Path("study.toml").write_text(
        STUDY.replace(
            "[collect]", '[[vary]]\npeople = "sex"\nvalues = ["female", "male"]\n[collect]'
        )
        .replace("two-link-lifting", "human-sit-to-stand")
        .replace("forces[0].force[1]", "movement.duration")
        .replace("-30.0, -20.0, -10.0, -5.0", "1.5, 2.0, 2.5")
        .replace('["phase 1"]', "true")
    )
    done = run("check", "study.toml")
    assert done.exit_code == 0, done.output
    assert "study 'small': 6 cases of the task human-sit-to-stand\n" in done.stdout
    assert "varies: movement.duration: 3 values from 1.5 to 2.5\n" in done.stdout
    assert "varies: sex: female, male\n" in done.stdout
    assert "collected: duration [s]" in done.stdout
    assert "solutions are kept: yes" in done.stdout
    assert done.stdout == f"{read_study('study.toml')}\n"
    for command in ("check", "study"):
        Path("bad.toml").write_text(STUDY.replace("force[1]", "farce[1]"))
        wrong = run(command, "bad.toml", *(["--out", "out"] if command == "study" else []))
        assert wrong.exit_code == 2
        assert "did you mean" in wrong.stderr
    for command in (["solve", "study.toml"], ["pareto", "study.toml", "--out", "out"]):
        wrong = run(*command)
        assert wrong.exit_code == 2
        assert "is a study, not a task; run it with predyn study study.toml" in wrong.stderr


def test_the_page_is_written_again() -> None:
    assert run("study", "study.toml", "--out", "out", "--no-report", "--quiet").exit_code == 0
    done = run("report", "out")
    assert done.exit_code == 0, done.output
    assert Path("out/report.html").read_text().count("two-link-lifting")
    other = run("report", "out", "--out", "other.html")
    assert other.exit_code == 2
    assert "has no options" in other.stderr
    wrong = run("view", "out", "--no-browser")
    assert wrong.exit_code == 2
    assert "out: contains a study; open its report.html" in wrong.stderr
    assert "000000.h5" in wrong.stderr


def test_no_case_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    run_inside(fake_study(3, fails=[0, 1, 2]), Path("fake"))
    fake = predyn.StudyResults("fake")
    monkeypatch.setattr("predyn.study.running.run_cases", lambda *_: fake)
    done = run("study", "study.toml", "--out", "out", "--no-report")
    assert done.exit_code == 3
    assert "infeasible: 3 (case 0, 1, 2)\n    case 0: " in done.stdout


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("predyn.study.running.run_cases", stopped)
    done = run("study", "study.toml", "--out", "out")
    assert done.exit_code == 130
    assert "interrupted; to continue: " in done.stderr


def test_bad_input() -> None:
    for arguments, text in (
        (("study", "none.toml", "--out", "x"), "none.toml"),
        (("study", "study.toml"), "--out"),
        (("study", "study.toml", "--out", "x", "--workers", "0"), "--workers"),
        (("study", "study.toml", "--out", "x", "--workers", "2", "--scheduler", "tcp://a:1"),
         "expected one of them"),
        (("pareto", "two-link-lifting", "--out", "x", "--points", "2"), "--points"),
        (("pareto", "two-link-lifting", "--out", "x", "--between", "time", "jrk"), "unknown cost"),
        (("pareto", "no-task", "--out", "x"), "unknown task"),
    ):  # fmt: skip
        done = run(*arguments)
        assert done.exit_code == 2, arguments
        assert text in done.stderr


def test_pareto() -> None:
    done = run(
        *("pareto", "two-link-lifting", "--between", "effort", "time", "--points", "4"),
        *("--out", "front", "--no-report"),
    )
    assert done.exit_code == 0, done.output
    assert "knee: case" in done.stdout
    assert "4 of 4" in done.stderr
    table = predyn.StudyResults("front").table
    assert np.all(np.diff(table["effort"]) > 0.0)

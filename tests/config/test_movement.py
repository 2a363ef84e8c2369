"""Task files of movements: options, their types, and what may be changed beside them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import predyn
from predyn.cli import app
from predyn.config import problem_of_text, read_task
from predyn.errors import FileError, InputError

BASE = 'name = "walk"\n[movement]\nkind = "human-walk"\nsegments = 4\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "walk.toml"
    path.write_text(text)
    return path


def test_options_replace_those_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, BASE + "speed = 1.0  # m/s\n[transcription]\nsegments = 3\n")
    options = {"speed": "1.4", "sex": "female", "height": "1.6", "mass": "55", "lock": '["neck"]'}
    task = read_task(path, options=options)
    total = sum(float(phase.duration) for phase in task.problem.phases)  # type: ignore[arg-type]
    assert task.problem.cycle.advance[0] / total == pytest.approx(1.4)
    assert task.problem.transcription.segments == 3
    assert "woman of 1.6 m and 55 kg" in " ".join(task.problem.model.notes)
    assert "clavicle_elevation_r" in task.problem.model.joint_names
    again = problem_of_text(task.text, task.problem.model, "walk")
    assert again.cycle.advance == task.problem.cycle.advance
    assert tomllib.loads(task.text)["movement"]["speed"] == 1.4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("movement = 3\n", r"\[movement\]: expected a table, got 3|movement.*expected a table"),
        ("[movement]\n", "kind.*expected one of 'human-walk', 'human-sit-to-stand', .*got None"),
        ('[movement]\nkind = ["a"]\n', "kind.*expected one of"),
        ('[movement]\nkind = "run"\n', "kind.*expected one of .* got 'run'"),
        (BASE + "pace = 1.0\n", "pace"),
        (BASE + "speed = 9.0\n", "speed: expected .* m/s for a person of 1.75 m who walks, got 9"),
        (BASE + "[model]\n", "model"),
        (BASE + '[transcription]\nmethod = "midpoint"\n', "unknown method 'midpoint'"),
        (BASE + "[transcription]\nsteps = 3\n", "steps"),
        (BASE + "[transcription]\nknot = 3\n", "knot"),
        (BASE + '[transcription]\nrefine = "maybe"\n', "refine"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message) as caught:
        read_task(written(tmp_path, text))
    assert len(str(caught.value).splitlines()) <= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": "1.4\n[solver]\ntolerance = 1.0"}, "expected a number, true, false, a word"),
        ({"pace": "1.0"}, "pace"),
        ({"speed": "fast"}, "speed: expected a number above 0 in m/s, got 'fast'"),
    ],
)
def test_options_that_are_none(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises((InputError, FileError), match=message):
        read_task(written(tmp_path, BASE), options=options)


def test_other_tasks_have_no_options() -> None:
    with pytest.raises(InputError, match="no options"):
        read_task("two-link-lifting", options={"speed": "1.0"})


def test_the_command_names_wrong_options() -> None:
    result = CliRunner().invoke(app, ["solve", "human-walk", "--set", "speed"])
    assert result.exit_code == 2
    assert "expected KEY=VALUE" in result.output


def test_movements_are_tasks() -> None:
    names = {"human-walk", "human-sit-to-stand", "human-lift-box"}
    assert names <= set(predyn.config.task_names())


def test_other_methods(tmp_path: Path) -> None:
    """Options that methods share stay; those of a method's own are its defaults."""
    lift = '[movement]\nkind = "human-lift-box"\nsteps = 30\n[transcription]\n'
    own = read_task(written(tmp_path, lift)).problem.transcription
    assert (own.method, own.steps) == ("dmoc", 30)
    order = read_task(written(tmp_path, lift + "order = 4\n")).problem.transcription
    assert (order.method, order.steps, order.order) == ("dmoc", 30, 4)
    spline = read_task(written(tmp_path, lift + 'method = "spline"\n')).problem.transcription
    assert type(spline) is predyn.Spline
    assert (spline.degree, spline.segments) == (own.degree, own.segments)

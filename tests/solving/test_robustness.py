"""Input that once ended in a bug report, in a wrong answer or in silence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from predyn import cli, solve
from predyn.config import load_task
from predyn.errors import FileError, InputError
from predyn.models import two_link
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.results import stored as results
from predyn.terms import Effort, JointTorque, TotalTime

HUGE = 10**400  # a whole number beyond all floats
TASK = """
name = "move"
[model]
builtin = "two_link"
[[phases]]
duration = {{ min = 0.1, max = 3.0, guess = 0.8 }}
start = {{ q = {start}, v = 0.0 }}
end = {{ q = [0.5, 0.5], v = 0.0 }}
[[cost]]
term = {cost}
[transcription]
segments = 6
"""


def task(folder: Path, start: str = "[0.0, 0.0]", cost: str = '"time"') -> Path:
    path = folder / "task.toml"
    path.write_text(TASK.format(start=start, cost=cost))
    return path


def problem(duration: object = None, cost: Cost | None = None, **options: object) -> Problem:
    phase = Phase(
        duration if duration is not None else Duration(0.1, 3.0, 0.8),  # type: ignore[arg-type]
        State([0.0, 0.0], [0.0, 0.0]),
        State([0.5, 0.5], [0.0, 0.0]),
    )
    return Problem(two_link(), (phase,), (cost or Cost(TotalTime()),), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("start", [str(HUGE), f"[0.0, {HUGE}]", f"{{ joint1 = {HUGE} }}"])
def test_huge_whole_numbers_in_a_task(tmp_path: Path, start: str) -> None:
    with pytest.raises(FileError, match=r"start\.q.*expected a number"):
        load_task(task(tmp_path, start=start))


@pytest.mark.parametrize("mix", ["", "\nmix = 0.5"])
def test_a_huge_weight(tmp_path: Path, mix: str) -> None:
    kind = '"time_effort"' if mix else '"effort"'
    with pytest.raises(FileError, match=r"weight.*expected a finite number"):
        load_task(task(tmp_path, cost=f"{kind}{mix}\nweight = {HUGE}"))


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = task(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_task(path).name == "move"


def test_a_word_is_not_a_boolean(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="normalised: expected true or false, got 'no'"):
        load_task(task(tmp_path, cost='"effort"\nnormalised = "no"'))
    with pytest.raises(InputError, match="normalised: expected true or false, got 1"):
        Effort(normalised=1)  # type: ignore[arg-type]


def test_a_file_of_functions_that_exits_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\nsys.exit(0)\n")
    path = task(tmp_path, cost='"user"\nfunction = "mine.py:f"\nchannels = ["q"]')
    with pytest.raises(FileError, match=r"mine\.py: SystemExit"):
        load_task(path, allow_code=True)


def test_folder_names_fit_the_file_system() -> None:
    name = results.folder_name("é" * 400)
    assert 0 < len(name.encode()) <= 255
    assert results.folder_name("../../x") == "x"


def test_names_too_long_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["x" * 5000], [str(task(tmp_path)), "--out", "x" * 5000]):
        got = CliRunner().invoke(cli.app, ["solve", *arguments, "--quiet"])
        assert got.exit_code == 2
        assert "this should not have happened" not in got.output
    assert [path.name for path in tmp_path.iterdir()] == ["task.toml"]


def test_too_little_memory_is_not_reported_as_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("predyn.solving.solve", full)
    out = tmp_path / "out"
    got = CliRunner().invoke(cli.app, ["solve", str(task(tmp_path)), "--out", str(out)])
    assert got.exit_code == 2
    assert "not enough memory" in got.output
    assert not out.exists()


@pytest.mark.parametrize("bad", [None, "x", 1j, [], np.zeros(3)], ids=repr)
@pytest.mark.parametrize("name", ["min", "max", "guess"])
def test_a_duration_that_is_not_a_number(name: str, bad: object) -> None:
    given = {"min": 0.1, "max": 3.0, "guess": 0.8} | {name: bad}
    wrong = problem(Duration(**given)).validate()  # type: ignore[arg-type]
    assert any(f"duration.{name}: expected seconds" in message for message in wrong)


def test_huge_bounds_and_instants() -> None:
    torque = JointTorque()
    for constraint, said in (
        (Constraint(torque, upper=HUGE), "upper: expected one number or 2 (joint1, joint2), got 1"),
        (Constraint(torque, upper=9.0, at=[HUGE]), "fractions from 0 to 1"),
    ):
        (message,) = problem(constraints=(constraint,)).validate()
        assert said in message


@pytest.mark.parametrize(("degree", "a"), [(3, None), (5, [0.0, 0.0])])
def test_a_free_duration_alone_keeps_the_limits(degree: int, a: list[float] | None) -> None:
    """With one segment the boundary values fix the curve, and only the time is left to choose."""
    phase = Phase(
        Duration(0.1, 3.0, 0.8),
        State([0.0, 0.0], [0.0, 0.0], a),
        State([0.5, 0.5], [0.0, 0.0], a),
    )
    spline = Spline(degree=degree, segments=1, limit_points=20)
    found = solve(Problem(two_link(), (phase,), (Cost(TotalTime()),), transcription=spline))
    assert found.check().n_variables == 1
    effort = np.abs(found.tau).max()
    assert effort == pytest.approx(10.0, rel=1e-6)  # the limit decides, and is kept


def test_maximal_effort_is_bounded_by_the_limits() -> None:
    """A negative weight is a valid task; more points keep the excess between them small."""
    found = solve(problem(cost=Cost(Effort(), -1.0), transcription=Spline(segments=6)))
    assert found.max_violation < 1e-6
    assert 0.01 < found.max_violation_dense < 0.05
    assert "limits were imposed at 6 points per segment instead of 3" in found.message
    assert "between the points" in found.message


def test_words_are_not_booleans() -> None:
    problem = load_task("two-link-lifting")
    spline = replace(problem.transcription, refine="no")
    assert any(
        "refine: expected true or false" in x
        for x in replace(problem, transcription=spline).validate()
    )
    bound = Constraint(Effort(), upper=1.0, integral="no")
    wrong = replace(problem, constraints=(bound,)).validate()
    assert any("integral: expected true or false" in x for x in wrong)

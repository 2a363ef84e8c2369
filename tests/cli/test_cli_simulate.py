"""`predyn simulate`: replay of a solution, free motion of a task, exit codes and files."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import predyn
from fake_solution import fake_solution
from predyn import cli, tasks

TASK = "two-link-lifting"
TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def table(path: str) -> tuple[list[str], np.ndarray]:
    header, *rows = csv.reader(Path(path).read_text().splitlines())
    return header, np.array(rows, float)


def test_a_solution_is_replayed() -> None:
    solution = fake_solution()
    solution.save("motion.h5")
    result = run("simulate", "motion.h5", "--out", "out")
    assert result.exit_code == 0
    assert "two-link-lifting, replayed by forward simulation: finished" in result.stdout
    assert "largest imbalance of energy" in result.stdout
    assert "wrote out/simulation.csv" in result.stdout
    header, rows = table("out/simulation.csv")
    assert header[:3] == ["t [s]", "q.joint1 [rad]", "q.joint2 [rad]"]
    assert header[-1] == "dv.joint2 [rad/s]"
    expected = predyn.replay(solution)
    assert np.array_equal(rows[:, 1:3], expected.q)
    assert np.array_equal(rows[:, 5:7], expected.tau)
    assert np.array_equal(rows[:, -2:], expected.dv)


def test_a_folder_with_a_solution_comes_before_a_task_of_that_name() -> None:
    Path(TASK).mkdir()
    fake_solution().save(f"{TASK}/solution.h5")
    replayed = run("simulate", TASK)
    assert "replayed by forward simulation" in replayed.stdout
    assert replayed.stderr == f"predyn: replaying the solution in folder ./{TASK}\n"
    assert sorted(path.name for path in Path(TASK).iterdir()) == ["solution.h5"]


@pytest.mark.parametrize("option", [["--torque", "joint1=1"], ["--seconds", "1"], ["--rate", "10"]])
def test_an_option_for_tasks_takes_the_task_of_that_name(option: list[str]) -> None:
    Path(TASK).mkdir()
    fake_solution().save(f"{TASK}/solution.h5")
    result = run("simulate", TASK, *option)
    assert result.exit_code == 0
    assert "simulated from its initial state" in result.stdout
    assert result.stderr == f"predyn: simulating the task {TASK}\n"
    refused = run("simulate", f"./{TASK}", *option)
    assert refused.exit_code == 2
    assert "is a solution" in refused.stderr


def test_a_torque_at_a_joint_without_a_motor_gives_a_warning() -> None:
    options = ("simulate", "acrobot-swingup", "--seconds", "0.1")
    told = "note: joint1: no motor in this task; the torque is applied anyway"
    pushed = run(*options, "--torque", "joint1=1")
    assert pushed.exit_code == 0
    assert told in pushed.stderr
    assert "no motor" not in run(*options, "--torque", "joint2=1").stderr


def test_a_task_falls_freely_for_its_duration() -> None:
    result = run("simulate", TASK, "--out", "out")
    assert result.exit_code == 0
    assert "two-link-lifting, simulated from its initial state: finished" in result.stdout
    assert "the task's external forces act" in result.stdout
    header, rows = table("out/simulation.csv")
    problem = predyn.load_task(TASK)
    assert header[0] == "t [s]"
    assert header[-1] == "tau.joint2 [N m]"
    assert np.array_equal(rows[0, 1:5], [1.32, -2.37, 0.0, 0.0])
    assert rows[-1, 0] == problem.phases[0].duration.guess
    assert np.abs(np.diff(rows[:, 0]) - 0.01).max() < 1e-12
    same = predyn.simulate(
        problem.model, [1.32, -2.37], [0.0, 0.0], None, rows[:, 0], forces=problem.forces
    )
    assert np.array_equal(rows[:, 1:3], same.q)


def test_torques_duration_and_rate_of_a_task() -> None:
    options = ["--torque", "joint2=1.5", "--torque", "joint1=-2", "--seconds", "0.3"]
    result = run("simulate", TASK, *options, "--rate", "50", "--out", "out")
    assert result.exit_code == 0
    _, rows = table("out/simulation.csv")
    assert np.array_equal(rows[:, 5:], np.tile([-2.0, 1.5], (16, 1)))
    assert np.allclose(rows[:, 0], np.linspace(0.0, 0.3, 16), rtol=0, atol=1e-15)


def test_values_left_free_by_the_task_are_zero_with_a_note() -> None:
    text = tasks.path_of(TASK).read_text().replace("v = [0.0, 0.0]", "", 1)
    text = text.replace("q = [1.32, -2.37],", "q = { joint1 = 1.32 }", 1)
    Path("open.toml").write_text(text)
    result = run("simulate", "open.toml", "--seconds", "0.1")
    assert result.exit_code == 0
    assert "note: the task leaves the initial position of joint2 free: 0 is used" in result.stderr
    assert "note: the task leaves the initial velocity of joint1, joint2 free" in result.stderr


def test_a_simulation_that_diverges_is_written_and_code_3() -> None:
    solution = fake_solution()
    (curve,) = solution.curves
    replace(solution, curves=(curve._replace(control=1e7 * curve.control),)).save("far.h5")
    result = run("simulate", "far.h5", "--out", "out")
    assert result.exit_code == 3
    assert "replayed by forward simulation: diverged: at t = " in result.stdout
    assert "predyn: not finished: diverged\n" in result.stderr
    assert Path("out/simulation.csv").is_file()
    fast = run("simulate", TASK, "--torque", "joint1=1e9", "--seconds", "1")
    assert fast.exit_code == 3
    assert fast.output.count("velocity of joint 'joint2' was") == 1
    assert "; check the model and the torques\n" in fast.stdout
    assert "rk4" not in fast.output
    assert "Traceback" not in fast.output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["two-link-lift"], "did you mean 'two-link-lifting'"),
        (["missing.h5"], "missing.h5"),
        (["missing.toml"], "missing.toml: no such file"),
        ([TESTS / "problems/bad/misspelt_key.toml"], "did you mean 'weight'?"),
        ([TASK, "--torque", "joint3=1"], "unknown joint in --torque 'joint3'"),
        ([TASK, "--torque", "joint1"], "--torque: expected JOINT=NUMBER, got 'joint1'"),
        ([TASK, "--torque", "joint1=nan"], "control: expected finite numbers"),
        ([TASK, "--seconds", "-1"], "--seconds: expected a finite number above 0, got -1.0"),
        ([TASK, "--rate", "0"], "--rate: expected a finite number above 0"),
        ([TASK, "--rate", "1e12"], "gives more than 10000000 rows"),
        (
            [TESTS / "problems/good/press_on_wall.toml"],
            "the force on 'tip' is signal 'wall', and a task is simulated with constant",
        ),
        ([TESTS / "problems/good/shared_duration.toml"], "the force on 'tip' is a curve, and a"),
    ],
)
def test_bad_input_is_one_message_and_code_2(
    args: list[str | Path], message: str, tmp_path: Path
) -> None:
    result = run("simulate", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("predyn: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_system_of_the_first_phase_is_simulated() -> None:
    result = run("simulate", "two-link-pick-place", "--seconds", "0.1")
    assert result.exit_code == 0, result.output
    assert "note: the system of the first phase is simulated; later phases have" in result.stderr


def test_options_of_a_task_are_refused_for_a_solution() -> None:
    fake_solution().save("motion.h5")
    for option in (["--torque", "joint1=1"], ["--seconds", "1"], ["--rate", "10"]):
        result = run("simulate", "motion.h5", *option)
        assert result.exit_code == 2
        assert "--torque, --seconds and --rate are for tasks" in result.stderr


def test_a_file_in_place_of_the_folder() -> None:
    Path("out").write_text("precious")
    result = run("simulate", TASK, "--seconds", "0.1", "--out", "out")
    assert result.exit_code == 2
    assert "expected a folder, this is a file" in result.stderr
    assert Path("out").read_text() == "precious"

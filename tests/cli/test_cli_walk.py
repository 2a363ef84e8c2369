"""Walking on the command line: ground forces for OpenSim, norms in the report."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import predyn
from predicted_walk import predicted_step
from predyn import cli


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("walk") / "step.h5"
    predicted_step().save(path)
    return path


def test_export_of_ground_forces(step, tmp_path):
    motion, forces, loads = (tmp_path / name for name in ("q.mot", "grf.mot", "loads.xml"))
    options = ("--to", motion, "--grf", forces, "--loads", loads, "--repeat", "2", "--rate", "100")
    done = run("export", step, *options)
    assert done.exit_code == 0, done.output
    assert done.output.split() == ["wrote", str(motion), "wrote", str(forces), "wrote", str(loads)]
    recording = predyn.load_measurements(forces, axes="x-zy")
    assert recording.t[-1] == pytest.approx(1.0)
    up = sum(recording.forces[name].force[:, 2] for name in predyn.load_external_loads(loads).links)
    assert up.mean() == pytest.approx(75.0 * 9.81, rel=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "expected --to FILE for the motion or --grf FILE"),
        (("--to", "a.mot", "--loads", "b.xml"), "--loads: it needs --grf"),
        (("--grf", "a.csv"), "expected a file that ends in .mot or .sto"),
        (("--to", "a.mot", "--grf", "b.csv"), "expected a file that ends in .mot or .sto"),
        (("--to", "a.mot", "--grf", "missing/b.mot"), "make the folder first"),
        (("--to", "a.txt", "--grf", "b.mot"), "suffix"),
        (("--to", "a.mot", "--grf", "b.mot", "--loads", "missing/c.xml"), "make the folder first"),
        (("--to", "a.mot", "--grf", "./a.mot"), "expected different files"),
    ],
)
def test_export_options_that_do_not_fit(step, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    done = run("export", step, *options)
    assert done.exit_code == 2
    assert message in done.output
    assert not list(tmp_path.iterdir())


def test_check_with_options_of_a_movement(step):
    slow, fast = (run("check", "human-walk", "--set", f"speed={x}") for x in (1.0, 1.5))
    assert slow.exit_code == fast.exit_code == 0, slow.output + fast.output
    assert slow.output != fast.output
    assert "np.float64" not in slow.output
    assert run("check", "human-walk", "--set", "speed").exit_code == 2
    other = run("check", step, "--set", "speed=1.0")
    assert other.exit_code == 2
    assert "only the movement of a task has options" in other.output


def test_report_with_norms(step, tmp_path):
    rows = "\n".join(f"{k},0,5" for k in range(0, 101, 20))
    for column, code in (("knee_angle", 0), ("elbow_angle", 2)):
        norms = tmp_path / f"{column}.csv"
        norms.write_text(f"percent,{column}_mean,{column}_sd\n{rows}\n")
        page = tmp_path / f"{column}.html"
        done = run("report", step, "--out", page, "--norms", norms)
        assert done.exit_code == code, done.output
        assert page.exists() == (code == 0)
    assert "norm" in (tmp_path / "knee_angle.html").read_text(encoding="utf-8")


def test_a_standing_task_is_not_simulated(step):
    done = run("simulate", "planar-walker")
    assert done.exit_code == 2
    assert "stands on contact points" in done.output
    replayed = run("simulate", step)
    assert replayed.exit_code == 0, replayed.output
    assert "in windows of at most 0.05 s" in replayed.output

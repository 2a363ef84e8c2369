"""The scripts of examples/ run, and the task next to them solves."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SLOW = {"published_gait"}  # half a minute
SCRIPTS = [
    pytest.param(path, marks=pytest.mark.verify if path.stem in SLOW else ())
    for path in sorted(EXAMPLES.glob("*.py"))
]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_gallery_has_scripts() -> None:
    assert len(SCRIPTS) >= 5


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs_and_says_what_it_teaches(script: Path, tmp_path: Path) -> None:
    assert "You will learn:" in script.read_text("utf-8")
    done = run([str(script)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_own_task_solves_and_asks_before_it_runs_code(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "own_task", tmp_path / "own")
    solve = ["-m", "predyn", "solve", "own/task.toml", "--out", "result", "--quiet", "--no-report"]
    refused = run(solve, tmp_path)
    assert refused.returncode == 2
    assert "--allow-code" in refused.stderr
    assert not (tmp_path / "result").exists()
    done = run([*solve, "--allow-code"], tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "result" / "summary.json").read_text("utf-8"))
    assert summary["success"]
    assert {"via", "column"} & {name.split()[0] for name in summary["active_limits"]}


def test_the_recording_gives_torques_without_a_warning(tmp_path: Path) -> None:
    files = [str(EXAMPLES / "recording" / name) for name in ("leg.urdf", "walk.csv")]
    done = run(["-m", "predyn", "estimate", *files, "--quiet", "--out", "walk"], tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "walk" / "summary.json").read_text())
    assert summary["status"] == "converged"
    assert summary["warnings"] == []
    noise = 0.2 * math.pi / 180.0  # what the angles were given; 105 to 111 samples
    assert all(abs(sd / noise - 1.0) < 0.25 for sd in summary["noise"].values())

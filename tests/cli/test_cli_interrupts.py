"""Ctrl-C with several starts: the best so far is kept, no traceback, no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from predyn.solution.file import load_solution

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def children(process: subprocess.Popen[str]) -> int:
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    return sum(len(path.read_text().split()) for path in tasks)


def group_is_gone(leader: int, seconds: float = 20.0) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("moment", [1, 2, 3, "a start ended"])
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_with_several_starts(moment: int | str, times: int, tmp_path: Path) -> None:
    """As a terminal sends it, to all processes, once that many have been started."""
    command = [sys.executable, "-m", "predyn", "solve", "acrobot-swingup-far", "--starts", "19"]
    process = subprocess.Popen(
        [*command, "--no-report", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    if isinstance(moment, int):
        while children(process) < min(moment, 1 + (os.cpu_count() or 1)):
            assert process.poll() is None
    else:
        while "start 1: " not in process.stderr.readline():
            assert process.poll() is None
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    for word in ("Traceback", "Exception", "Error", "leaked"):
        assert word not in stderr, stderr
    assert group_is_gone(process.pid)
    if isinstance(moment, str) and times == 1:
        assert "predyn: not solved: interrupted" in stderr
        found = load_solution(tmp_path / "out" / "solution.h5")
        assert found.status == "interrupted"
        assert found.starts
    elif "wrote" not in stdout:
        assert stderr.endswith("predyn: interrupted\n")
        assert not (tmp_path / "out").exists()

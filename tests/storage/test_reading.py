"""Only regular files are opened: a named pipe would keep every reader waiting."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from predyn import cli, tasks
from predyn.errors import FileError
from predyn.recordings.loading import READERS
from predyn.storage.reading import refuse_irregular
from predyn.view.server import page_of

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
PIPE = "expected a file, this is a named pipe; write its output to a file"
SECONDS = 20


@pytest.fixture(autouse=True)
def _in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reader that waits for a writer fails, and does not keep the tests waiting."""

    def too_late(*_: object) -> None:
        pytest.fail(f"still waiting after {SECONDS} s")

    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(name: str) -> str:
    Path(name).parent.mkdir(exist_ok=True)
    os.mkfifo(name)
    return name


def refused(*args: str) -> str:
    result = CliRunner().invoke(cli.app, args)
    assert result.exit_code == 2, result.output
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("suffix", [".toml", ".urdf", ".xml", ".h5", ".hdf5", *READERS])
def test_check(suffix: str) -> None:
    assert f"pipe{suffix}: {PIPE}" in refused("check", pipe(f"pipe{suffix}"))


@pytest.mark.parametrize("command", ["report", "view", "export"])
def test_results(command: str) -> None:
    more = ["--to", "out.csv"] if command == "export" else []
    assert f"pipe.h5: {PIPE}" in refused(command, pipe("pipe.h5"), *more)


def test_results_in_a_folder() -> None:
    pipe("folder/solution.h5")
    for command in ("report", "view"):
        assert f"solution.h5: {PIPE}" in refused(command, "folder")


def test_report_to_view() -> None:
    with pytest.raises(FileError, match=PIPE):
        page_of(pipe("report.html"))


def test_solve_simulate_and_estimate() -> None:
    shutil.copy(tasks.path_of("two-link-lifting"), "task.toml")
    Path("good.csv").write_text("time,joint1,joint2\ns,rad,rad\n0,0,0\n0.1,0,0\n0.2,0,0\n")
    h5, csv = pipe("pipe.h5"), pipe("pipe.csv")
    toml, urdf = pipe("pipe.toml"), pipe("pipe.urdf")
    for option in ("--guess", "--resume-from"):
        assert PIPE in refused("solve", "task.toml", "--quiet", option, h5)
    assert PIPE in refused("simulate", h5)
    assert PIPE in refused("solve", toml)
    assert PIPE in refused("simulate", toml)
    assert PIPE in refused("estimate", toml, "good.csv")
    assert PIPE in refused("estimate", urdf, "good.csv")
    assert PIPE in refused("estimate", "trujillo-two-link", csv)
    assert PIPE in refused("estimate", "trujillo-two-link", "good.csv", "--forces-from", csv)


def test_files_that_a_task_names() -> None:
    text = tasks.path_of("two-link-lifting").read_text()
    for name in ("pipe.urdf", "pipe.h5", "pipe.py"):
        pipe(name)
    Path("urdf.toml").write_text('model = {urdf = "pipe.urdf"}\n[[phases]]\nduration = 1.0\n')
    assert PIPE in refused("check", "urdf.toml")
    Path("guess.toml").write_text(text + '\n[guess]\nsolution = "pipe.h5"\n')
    assert PIPE in refused("check", "guess.toml")
    code = '\n[[cost]]\nterm = "user"\nfunction = "pipe.py:f"\nchannels = ["q"]\nrows = 2\n'
    Path("code.toml").write_text(text + code)
    assert PIPE in refused("check", "code.toml", "--allow-code")


def test_other_kinds() -> None:
    with pytest.raises(FileError, match="this is a folder; name a file in it"):
        refuse_irregular(".")
    with pytest.raises(FileError, match="this is a device"):
        refuse_irregular("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(FileError, match="this is a socket"):
            refuse_irregular("socket")
    Path("file").touch()
    os.symlink("file", "link")
    for path in ("file", "link", "missing", "with\0nul"):
        refuse_irregular(path)
    reader, writer = os.pipe()
    with pytest.raises(FileError, match="this is a named pipe"):  # as of <(...) in a shell
        refuse_irregular(f"/dev/fd/{reader}")
    os.close(reader)
    os.close(writer)

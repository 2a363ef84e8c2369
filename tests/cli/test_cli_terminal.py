"""Names from untrusted files cannot control the terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from predyn import cli
from predyn.cli.guard import harmless
from predyn.estimate.progress import shown_progress
from predyn.solvers.live_table import CLEAR

EVIL = "\x1b]0;title\x07\x9b2J\u202eknee"  # sets a title, clears the screen, writes leftwards
SHOWN = r"\x1b]0;title\x07\x9b2J\u202eknee"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff]")
IN_TOML = r"\u001b]0;title\u0007\u009b2J\u202eknee"
IN_XML = "\x9b2J\u202eknee"  # XML has no other control characters
DATA = Path(__file__).parents[1] / "load" / "data"
TASK = f"""\
name = "{IN_TOML}"
[model]
names = ["{IN_TOML} link", "forearm"]
joint_names = ["{IN_TOML}", "elbow"]
dh = [
    {{ a = 0.5, mass = 1.0, com = [-0.2, 0.0, 0.0], inertia = [0.0, 0.02, 0.02] }},
    {{ a = 0.5, mass = 1.0, com = [-0.2, 0.0, 0.0], inertia = [0.0, 0.02, 0.02] }},
]
[[phases]]
name = "{IN_TOML} phase"
duration = 1.0
start = {{ q = [0.0, 0.0], v = 0.0 }}
end = {{ q = [0.5, 0.5], v = 0.0 }}
[[cost]]
term = "effort"
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str) -> Result:
    result = CliRunner().invoke(cli.app, args)
    assert not RAW.search(result.output), ascii(result.output)
    return result


def written(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_escaped_characters() -> None:
    every = "".join(
        map(
            chr,
            [*range(0xA0), *range(0x200E, 0x2030), *range(0x2065, 0x206A), *range(0xDC80, 0xDD00)],
        )
    )
    assert not RAW.search(harmless(every))
    assert harmless(EVIL) == SHOWN
    plain = "Größe τ₁ ≤ 5 N m\n\t→ knee 膝 \\x1b"
    assert harmless(plain) == plain


def test_check_of_a_task() -> None:
    result = run("check", written("task.toml", TASK))
    assert result.exit_code == 0, result.output
    assert SHOWN in result.stdout
    assert f"{SHOWN} link" in result.stdout


def test_check_of_a_model() -> None:
    text = (DATA / "arm.urdf").read_text()
    result = run("check", written("arm.urdf", text.replace("shoulder", IN_XML)))
    assert result.exit_code == 0, result.output
    assert r"\x9b2J\u202eknee" in result.stdout


def test_check_of_a_recording() -> None:
    """Names of channels must be printable; that of the file may be anything."""
    name = f"{EVIL}.csv"
    result = run("check", written(name, "time,knee_deg\n0,1\n0.1,2\n0.2,3\n"))
    assert result.exit_code == 0, result.output
    result = run("check", written(name, f"time,{EVIL}\n0,1\n0.1,2\n"))
    assert result.exit_code == 2
    assert f"{SHOWN}.csv" in result.stderr


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('term = "effort"', f'term = "{IN_TOML}"'),
        ('term = "effort"', f'term = "effort"\njoints = ["{IN_TOML} other"]'),
        ("start = { q = [0.0, 0.0]", f'start = {{ q = {{ "{IN_TOML}" = "x" }}'),
        ("duration = 1.0", "duration = -1.0"),
        ("mass = 1.0", "mass = -1.0"),
        ("[[cost]]", f"[{IN_TOML}]"),
    ],
)
def test_errors_of_check_and_solve(before: str, after: str) -> None:
    assert before in TASK
    path = written("task.toml", TASK.replace(before, after))
    for command in ("check", "solve", "simulate"):
        assert run(command, path).exit_code == 2
        assert run("--debug", command, path).exit_code == 2


def test_solve_and_what_reads_its_result() -> None:
    result = run("solve", written("task.toml", TASK), "--out", "out")
    assert result.exit_code == 0, result.output
    assert SHOWN in result.stdout
    for command in (["check", "out"], ["report", "out"], ["simulate", "out"]):
        assert run(*command).exit_code == 0
    assert SHOWN in run("check", "out").stdout


def test_paths() -> None:
    assert f"{SHOWN}.toml: no such file" in run("solve", f"{EVIL}.toml").stderr
    assert SHOWN in run("check", f"{EVIL}.xyz").stderr
    assert SHOWN in run("export", f"{EVIL}.h5", "--to", "out.csv").stderr


def test_progress_keeps_its_own_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with shown_progress(True, None) as progress:
        progress(1, 2.0, 3.0, EVIL)
    table = capsys.readouterr().err.split("\n", 1)[1]
    assert table.startswith(CLEAR)
    assert table.endswith("\n")
    assert table.removeprefix(CLEAR).removesuffix("\n").isprintable()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_on_a_terminal() -> None:
    """A terminal, where escape sequences would take effect."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "predyn", "check", written("task.toml", TASK)]
    done = subprocess.run(command, stdout=theirs, stderr=theirs, timeout=60)
    os.close(theirs)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0, text
    assert SHOWN in text
    assert not RAW.search(text.replace("\r\n", "\n"))

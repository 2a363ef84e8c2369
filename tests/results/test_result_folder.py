"""Folders of results: kills at every step, two writers, leftovers, folders of version 0.2."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from fake_estimate import fake_estimate
from fake_solution import fake_solution
from predyn.errors import FileError
from predyn.estimate.result_file import load_estimate
from predyn.results import stored as results
from predyn.results.estimates import write_estimate
from predyn.results.folder import COMMIT, complete, locked, replace_together
from predyn.results.stored import load_result, write_results
from predyn.solution.file import load_solution
from predyn.storage import files

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL and no fork")

# Fills folder k of `base` like `before`, then runs the job there in a process that is killed right
# before its k-th change of the file system, until one runs to its end.
KILLER = """
import os, shutil, signal, sys
from pathlib import Path

base, before = Path(sys.argv[1]), Path(sys.argv[2])
CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate"}

def hook(event, args):
    global left
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
    if event in CHANGES or writes:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

%s

for left in range(1000):
    folder = base / f"{left:03d}"
    shutil.copytree(before, folder)
    child = os.fork()
    if child == 0:
        sys.addaudithook(hook)
        job(folder)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""
SOLVE = """
from dataclasses import replace
from fake_solution import fake_solution
from predyn.results.folder import locked
from predyn.results.stored import write_results
import h5py, filelock, predyn.solution.file

solution = replace(fake_solution(STATUS), objective=2.0)

def job(folder):
    with locked(folder):
        write_results(solution, folder)
"""
ESTIMATE = """
from dataclasses import replace
from fake_estimate import fake_estimate
from predyn.results.folder import locked
from predyn.results.estimates import write_estimate
import h5py, filelock, predyn.view.estimate_report

estimate = replace(fake_estimate(), iterations=2)

def job(folder):
    with locked(folder):
        write_estimate(estimate, folder)
"""
CHECKPOINT = """
from dataclasses import replace
from fake_solution import fake_solution
import h5py

solution = replace(fake_solution(), objective=2.0)

def job(folder):
    solution.save(folder / "checkpoint.h5")
"""


def killed(job: str, before: Path, base: Path) -> list[Path]:
    """The folders left by killed processes, and last that of the one that was not killed."""
    base.mkdir()
    path = os.pathsep.join(sys.path)
    code = KILLER % textwrap.dedent(job)
    subprocess.run(
        [sys.executable, "-c", code, base, before],
        check=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=120,
    )
    return sorted(base.iterdir())


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".predyn*")]


def solution_state(folder: Path) -> tuple[float, float | None, str | None]:
    """Objective of the solution, of its summary if there is one, and the report."""
    summary, report = folder / "summary.json", folder / "report.html"
    return (
        load_solution(folder / "solution.h5").objective,
        json.loads(summary.read_text())["objective"] if summary.exists() else None,
        report.read_text() if report.exists() else None,
    )


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A converged result with all its files."""
    folder = tmp_path / "before"
    with locked(folder):
        write_results(replace(fake_solution(), objective=1.0), folder)
        (folder / "report.html").write_text("of 1")
        (folder / "notes.txt").write_text("the user's")
    return folder


@posix
def test_files_of_a_solution_are_consistent_after_a_kill_at_any_step(
    before: Path, tmp_path: Path
) -> None:
    folders = killed(SOLVE.replace("STATUS", ""), before, tmp_path / "killed")
    assert len(folders) > 20
    seen = set()
    for folder in folders:
        objective, summary, report = solution_state(folder)
        assert summary in (None, objective)
        assert report is None or objective == 1.0
        decided = (folder / COMMIT).exists() or objective == 2.0
        seen.add((objective, summary, report, decided))
        complete(folder)
        if decided:
            assert solution_state(folder) == (2.0, 2.0, None)
        else:
            assert solution_state(folder) == (1.0, 1.0, "of 1")
        with locked(folder):
            assert set(hidden(folder)) == {".predyn-lock"}
        assert hidden(folder) == []
        assert (folder / "notes.txt").read_text() == "the user's"
    assert {(1.0, 1.0, "of 1", False), (1.0, None, None, True), (2.0, None, None, True)} <= seen
    assert solution_state(folders[-1]) == (2.0, 2.0, None)


@posix
def test_a_failed_run_killed_at_any_step_keeps_the_converged_result(
    before: Path, tmp_path: Path
) -> None:
    failed = replace(fake_solution(status="diverged"), objective=3.0)
    for folder in killed(SOLVE.replace("STATUS", "status='diverged'"), before, tmp_path / "killed"):
        assert solution_state(folder) == (1.0, 1.0, "of 1")
        with locked(folder):
            write_results(failed, folder)
        assert solution_state(folder) == (1.0, 1.0, "of 1")
        assert load_solution(folder / "not-converged" / "solution.h5").objective == 3.0
        assert hidden(folder) == []


@posix
def test_a_failed_run_after_a_kill_does_not_replace_a_converged_result(tmp_path: Path) -> None:
    """Success is stored in the solution: a summary may be missing, or of another run."""
    before, failed = tmp_path / "before", fake_solution(status="diverged")
    with locked(before):
        write_results(failed, before)
    for folder in killed(SOLVE.replace("STATUS", ""), before, tmp_path / "killed"):
        decided = (folder / COMMIT).exists() or load_solution(folder / "solution.h5").success
        if decided:
            with locked(folder):
                write_results(failed, folder)
            assert load_solution(folder / "solution.h5").success
    assert decided
    (before / "summary.json").write_text('{"success": false}')
    fake_solution().save(before / "solution.h5")
    assert results.holds_success(before, "solution.h5")


@posix
def test_files_of_an_estimate_are_consistent_after_a_kill_at_any_step(tmp_path: Path) -> None:
    before = tmp_path / "before"
    with locked(before):
        write_estimate(replace(fake_estimate(), iterations=1), before)
    old = {path.name: path.read_bytes() for path in before.iterdir()}
    folders = killed(ESTIMATE, before, tmp_path / "killed")
    new = {path.name: path.read_bytes() for path in folders[-1].iterdir()}
    assert set(new) == set(old) == {"result.h5", "torques.csv", "summary.json", "report.html"}
    differing = {name for name in old if old[name] != new[name]}
    assert {"result.h5", "summary.json"} <= differing
    for folder in folders:
        shown = (path for path in folder.iterdir() if not path.name.startswith(".predyn-"))
        now = {path.name: path.read_bytes() for path in shown}
        which = new if load_estimate(folder / "result.h5").iterations == 2 else old
        assert all(which[name] == data for name, data in now.items())
        complete(folder)
        with locked(folder):
            pass
        now = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert now in (old, new)


@posix
def test_a_checkpoint_is_complete_after_a_kill_at_any_step(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    replace(fake_solution(), objective=1.0).save(before / "checkpoint.h5")
    folders = killed(CHECKPOINT, before, tmp_path / "killed")
    found = [load_solution(folder / "checkpoint.h5").objective for folder in folders]
    assert found == sorted(found)
    assert set(found) == {1.0, 2.0}
    assert any(hidden(folder) for folder in folders)
    for folder in folders:
        with locked(folder):  # who writes next cleans up
            pass
        assert [path.name for path in folder.iterdir()] == ["checkpoint.h5"]


def test_obstacles_to_writing_are_found_before_the_solve(before: Path) -> None:
    (before / "report.html").unlink()
    (before / "report.html").mkdir()
    (before / "not-converged").touch()
    with pytest.raises(FileError, match=r"report.html: cannot be written: it is a folder"):
        locked(before, ("solution.h5", "report.html")).__enter__()
    with pytest.raises(FileError, match="not-converged: expected a folder"):
        results.refuse_obstacles(before)
    assert hidden(before) == []


@posix
def test_a_committed_result_is_found_by_its_file_name(before: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    for part in ("new", "stale"):
        (folder / COMMIT / part).mkdir(parents=True)
    shutil.copy(before / "solution.h5", folder / COMMIT / "new")
    assert load_result(results.result_path(folder / "solution.h5")).objective == 1.0


def test_only_one_process_writes_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with locked(folder):
        message = r"out: another predyn process is writing there; wait"
        with pytest.raises(FileError, match=message), locked(folder):
            pass
        assert folder.is_dir()
    assert not folder.exists()  # it stayed empty
    with locked(folder):
        (folder / "a").touch()
    with locked(folder):
        pass
    assert [path.name for path in folder.iterdir()] == ["a"]


@posix
def test_a_killed_process_does_not_keep_the_folder_locked(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from predyn.results.folder import locked
with locked(Path({str(tmp_path)!r})):
    print("locked", flush=True)
    signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        with pytest.raises(FileError, match="another predyn process"), locked(tmp_path):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        with locked(tmp_path):
            pass
    assert hidden(tmp_path) == []


def test_a_reader_does_not_touch_a_replacement_in_progress(before: Path) -> None:
    with locked(before):
        (before / COMMIT / "new").mkdir(parents=True)
        (before / COMMIT / "stale").mkdir()
        (before / COMMIT / "new" / "summary.json").write_text("{}")
        complete(before)
        assert (before / COMMIT).exists()
    complete(before)
    assert not (before / COMMIT).exists()
    assert (before / "summary.json").read_text() == "{}"


@pytest.mark.parametrize("call", ["replace", "rename", "unlink"])
@pytest.mark.parametrize("fails", range(5))
def test_a_failure_at_any_step_loses_nothing(
    call: str, fails: int, before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the commit the folder is unchanged; after it the next command completes it."""
    old = {path.name: path.read_bytes() for path in before.iterdir()}
    new = {"b.h5": b"new", "solution.h5": b"new", "summary.json": b"new"}
    owner, name = (Path, "unlink") if call == "unlink" else (os, call)
    original, calls = getattr(owner, name), []

    def failing(*args: object, **options: object) -> None:
        calls.append(args)
        if len(calls) == fails + 1:
            raise OSError(28, "No space left on device")
        original(*args, **options)

    def write(path: Path) -> None:
        path.write_bytes(b"new")

    with locked(before):
        monkeypatch.setattr(owner, name, failing)
        with contextlib.suppress(FileError):
            replace_together(before, dict.fromkeys(new, write), stale=("report.html",))
        monkeypatch.undo()
    decided = (before / COMMIT).exists() or (before / "b.h5").exists()
    assert decided == (call != "rename" or fails > 0)
    with locked(before):
        pass
    expected = {"notes.txt": old["notes.txt"], **new} if decided else old
    assert {path.name: path.read_bytes() for path in before.iterdir()} == expected


def test_a_commit_folder_of_others_is_not_touched(before: Path, tmp_path: Path) -> None:
    """Following it would move files from elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    for part in ("new", "stale"):
        (elsewhere / part).mkdir(parents=True)
    (elsewhere / "new" / "summary.json").write_text("{}")
    odd = before / COMMIT
    for make in (
        lambda: odd.symlink_to(elsewhere),
        lambda: odd.write_text(""),
        lambda: (odd.mkdir(), (odd / "stale").mkdir(), (odd / "new").symlink_to(elsewhere / "new")),
        lambda: (odd.mkdir(), (odd / "new").mkdir()),
    ):
        make()
        complete(before)
        assert load_result(results.result_path(before)).objective == 1.0
        with (
            pytest.raises(
                FileError, match="expected a folder written by predyn; move or remove it"
            ),
            locked(before),
        ):
            pass
        shutil.rmtree(odd) if odd.is_dir() and not odd.is_symlink() else odd.unlink()
    assert (elsewhere / "new" / "summary.json").exists()
    assert hidden(before) == []


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_lock_that_cannot_be_taken_is_named(before: Path, tmp_path: Path, kind: str) -> None:
    lock = before / ".predyn-lock"
    lock.mkdir() if kind == "folder" else lock.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileError, match="predyn-lock: cannot be locked"), locked(before):
        pass


@posix
def test_leftovers_are_removed_only_if_unused(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    mine, host = files.temporary_name(), files._host()
    dead = f".predyn-{process.pid}-{host}-00000000"
    elsewhere = f".predyn-{process.pid}-aaaaaaaa"
    kept = [
        *(mine, f"{elsewhere}-00000000.h5", ".predyn-settings", ".predyn-database.sqlite"),
        *(".predyn", ".predyn-commit", ".predyn-lock", f"{dead}.h5.bak", f"{dead}00"),
    ]
    gone = [dead, f"{dead}.h5", f"{elsewhere}-1111aaaa"]
    for name in kept + gone:
        (tmp_path / name).touch()
    folder = tmp_path / dead.replace("-00000000", "-00000001")
    folder.mkdir()
    (folder / "solution.h5").touch()
    folder.with_name(dead.replace("-00000000", "-00000002")).symlink_to(tmp_path / ".predyn-notes")
    for name in (*kept[2:4], gone[-1]):
        os.utime(tmp_path / name, (1e9, 1e9))
    files.remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(kept)


DATA = Path(__file__).parents[1] / "data" / "version-0.2"


def test_folders_of_version_0_2_still_open(tmp_path: Path) -> None:
    for kind, file in (("solution", "solution.h5"), ("estimate", "result.h5")):
        folder = Path(shutil.copytree(DATA / kind, tmp_path / kind))
        result = load_result(results.result_path(folder))
        assert result.success
        summary = json.loads((folder / "summary.json").read_text())
        assert {key: result.summary()[key] for key in ("status", "iterations", "name")} == {
            key: summary[key] for key in ("status", "iterations", "name")
        }
        assert results.holds_success(folder, file)
    with locked(tmp_path / "solution"):
        write_results(fake_solution(status="diverged"), tmp_path / "solution")
    assert load_solution(tmp_path / "solution" / "solution.h5").success

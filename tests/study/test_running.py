"""Studies run to the end: whatever the workers do, the table is the same and nothing is lost."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import predyn
from fake_cases import FakeSolver, Inside, fake_study, run_inside, same_tables
from predyn.errors import FileError, InputError
from predyn.storage import files
from predyn.study import CaseSolver
from predyn.study import table as study_table
from predyn.study.case_tree import tree_of_values
from predyn.study.case_worker import Setup, Task, begin
from predyn.study.running import run_cases
from predyn.study.study_progress import ShownProgress, StudyProgress
from predyn.workers.events import Failed, NoWorkers
from predyn.workers.local_workers import LocalWorkers

HERE = Path(__file__).parents[1]


def test_the_table_does_not_depend_on_workers_or_jobs(tmp_path: Path, monkeypatch: Any) -> None:
    study = fake_study(36, fails=[3, 30], invalid=[7, 8], words=("a", "b"))
    runs = [run_inside(study, tmp_path / str(count), count) for count in (1, 3)]
    monkeypatch.setattr("predyn.study.schedule.MOST", 1)
    runs.append(run_inside(study, tmp_path / "single"))
    assert len(runs[0].workers[0].tasks) < 30
    assert len(runs[-1].workers[0].tasks) == 36
    for run in runs:
        assert same_tables(run.table, runs[0].table)
        assert run.table["case"].tolist() == list(range(36))
    for name in ("1", "3", "single"):
        assert not (tmp_path / name / "guesses").exists()


def test_cases_start_from_their_guesses(tmp_path: Path) -> None:
    """The column `guess` tells how to solve a case alone."""
    study = fake_study(16, fails=[11, 12, 13], keep=True)
    table = run_inside(study, tmp_path / "s", 3).table
    solver, results = FakeSolver(study), predyn.StudyResults(tmp_path / "s")
    assert np.sum(table["guess"] < 0) == 1
    for k, guess in enumerate(table["guess"].tolist()):
        near = None if guess < 0 else results.solution(guess)
        assert solver.solve(k, near).row["objective"] == table["objective"][k]
        assert near is None or near.success


def test_results(tmp_path: Path) -> None:
    study = fake_study(20, fails=[2], invalid=[3], raises=[5], keep=True)
    run_inside(study, tmp_path / "s")
    results = predyn.StudyResults(tmp_path / "s")
    assert len(results) == 20
    assert results.failed.tolist() == [2, 3, 5]
    assert results.set_aside.tolist() == []
    assert results.table["status"][[2, 3, 5]].tolist() == ["infeasible", "invalid", "error"]
    assert "case 5 raises" in results.table["message"][5]
    assert results.table["x0"][3] == study.values["x0"][3]
    assert results.to_pandas().loc[4, "word"] == "case 4"
    assert "20 of 20 cases ended, 17 solved, 3 failed" in str(results)
    assert results.solution(4).objective == results.table["objective"][4]
    with pytest.raises(FileError, match="no such file"):
        results.solution(5)
    for wrong in (20, -1, 1.0, True, "1"):
        with pytest.raises(InputError, match="from 0 to 19"):
            results.solution(wrong)  # type: ignore[arg-type]
    about = json.loads((tmp_path / "s" / "study.json").read_text())
    assert about["fingerprint"] == study.fingerprint
    roles = {x["name"]: x["role"] for x in about["columns"]}
    assert roles["x0"] == "varied"
    assert roles["twice"] == "collected"
    assert roles["status"] == "outcome"


def test_poison_and_lost_workers(tmp_path: Path) -> None:
    """Every seventh job takes its worker along, and one case always does."""
    study = fake_study(64)
    calm = run_inside(study, tmp_path / "calm")
    tried: dict[int, int] = {}

    def dies(task: Task, number: int) -> bool:
        if 57 in task.job.cases:
            tried[len(task.job.cases)] = tried.get(len(task.job.cases), 0) + 1
            return True
        return number % 7 == 0 and len(task.job.cases) > 1

    run = run_inside(study, tmp_path / "s", 2, dies)
    results = predyn.StudyResults(tmp_path / "s")
    assert results.set_aside.tolist() == [57]
    assert results.failed.tolist() == [57]
    assert tried[1] == 2
    assert "died twice" in results.table["message"][57]
    assert any("case 57 is set aside" in text for text in run.messages)
    assert 57 not in calm.table["guess"]  # so all others are as in the undisturbed run
    rest = np.arange(64) != 57
    one, other = ({k: v[rest] for k, v in x.table.items()} for x in (calm, run))
    assert same_tables(one, other)


class Interrupted(Inside):
    """Ctrl-C after some jobs."""

    def wait(self, seconds: float | None = None) -> list:
        if len(self.tasks) >= 6:
            raise KeyboardInterrupt
        return super().wait(seconds)


def test_a_run_continues_where_it_stopped(tmp_path: Path) -> None:
    study, folder = fake_study(24, fails=[9]), tmp_path / "s"
    whole = run_inside(study, tmp_path / "whole", 2).table
    done = 0
    for _ in range(40):
        made: list[Interrupted] = []

        def start(setup: Setup, made: list = made) -> Any:
            made.append(Interrupted(setup, 2))
            return made[-1]

        try:
            run_cases(study, folder, FakeSolver, start, lambda _: None)
        except KeyboardInterrupt:
            now = len(predyn.StudyResults(folder).table["case"])
            assert now > done
            done = now
            continue
        break
    assert same_tables(predyn.StudyResults(folder).table, whole)
    last = run_inside(study, folder)
    assert not last.workers  # nothing was left to do
    assert not (folder / "guesses").exists()


def test_missing_guesses_of_failed_parents(tmp_path: Path, monkeypatch: Any) -> None:
    """The cases that others would start from are solved again, failed ones between them too."""
    monkeypatch.setattr("predyn.study.schedule.MOST", 1)
    tree = tree_of_values(fake_study(40).values, (), 40, warm=True)
    root, *later = tree.order.tolist()
    fails = [k for k in later if tree.parents[k] == root and k in tree.parents]
    study, folder = fake_study(40, fails=fails), tmp_path / "s"
    whole = run_inside(study, tmp_path / "whole").table
    with pytest.raises(KeyboardInterrupt):
        run_cases(study, folder, FakeSolver, Interrupted, False)
    table = predyn.StudyResults(folder).table
    ended = set(table["case"].tolist())
    assert root in ended
    open_failed = {
        k for k in set(fails) & ended
        if set(np.flatnonzero(tree.parents == k).tolist()) - ended
    }  # fmt: skip
    assert open_failed
    (folder / "guesses" / f"{root:06d}.h5").unlink()
    run = run_inside(study, folder)
    assert "cases are solved again: others start from their solutions" in run.messages[0]
    again = [k for task in run.workers[0].tasks for k in task.job.cases]
    assert {root} | open_failed <= set(again)
    assert len(again) == len(set(again)) < 40
    assert same_tables(run.table, whole)


def test_cases_with_other_seeds_are_no_guesses(tmp_path: Path) -> None:
    """From the solution of a case with another seed, all seeds would give the same."""
    masses = {"quantity": "mass of link2", "values": [0.3, 0.4, 0.5, 0.6]}
    vary = [{"name": "start", "seed": 3}, masses]
    study = predyn.study_of({"task": "two-link-lifting", "vary": vary, "solve": {"starts": 2}})
    assert study.apart == ("start",)
    guess = run_inside(study, tmp_path).table["guess"]
    assert np.sum(guess < 0) == 3  # the first case of each seed
    warm = np.flatnonzero(guess >= 0)
    seeds = study.values["start"]
    np.testing.assert_array_equal(seeds[warm], seeds[guess[warm].astype(int)])


def test_damaged_parts_and_missing_guesses(tmp_path: Path) -> None:
    study, folder = fake_study(40), tmp_path / "s"
    whole = run_inside(study, folder).table
    parts = sorted((folder / "parts").iterdir())
    for damaged in (parts[0], parts[len(parts) // 2], parts[-1]):
        damaged.write_bytes(damaged.read_bytes()[:-20])
        run = run_inside(study, folder)
        assert f"{damaged.name}: damaged" in run.messages[0]
        assert same_tables(run.table, whole)
        assert (folder / f"part-{damaged.stem}.damaged").exists()
        assert not list((folder / "parts").glob("*.damaged"))  # others read the whole folder


def test_a_changed_description_is_replaced_or_refused(tmp_path: Path) -> None:
    study = fake_study(9)
    whole = run_inside(study, tmp_path).table
    path = tmp_path / "study.json"
    tree = json.loads(path.read_text())
    for changes in ({"cases": 3}, {"columns": [*tree["columns"], {"name": "z", "kind": "number"}]}):
        path.write_text(json.dumps(tree | changes))
        assert same_tables(run_inside(study, tmp_path).table, whole)
    for changes in ({"cases": float("inf")}, {"cases": 10**30}, {"columns": tree["columns"][1:]}):
        path.write_text(json.dumps(tree | changes))
        with pytest.raises(FileError, match=r"damaged.*remove this file and run the study again"):
            predyn.StudyResults(tmp_path)
    path.unlink()
    assert same_tables(run_inside(study, tmp_path).table, whole)


def test_a_guess_that_changes_while_the_study_runs(tmp_path: Path) -> None:
    study, whole = fake_study(40), run_inside(fake_study(40), tmp_path / "whole").table

    def damages(task: Task, number: int) -> bool:
        for path in (tmp_path / "s" / "guesses").glob("*.h5"):
            path.write_bytes(path.read_bytes()[:-8] + b"8 bytes.")
        return False

    with pytest.raises(FileError, match=r"h5: .*changed.*run the study again to solve this case"):
        run_inside(study, tmp_path / "s", 1, damages)
    assert same_tables(run_inside(study, tmp_path / "s").table, whole)


class Late(Inside):
    """Workers that join late, and are lost early with their scheduler."""

    waits = 0

    def wait(self, seconds: float | None = None) -> Any:
        self.waits += 1
        if self.waits < 3:
            return []
        if len(self.tasks) > 3:
            raise NoWorkers("the scheduler at tcp://10.0.0.5:8786 is lost")
        return super().wait(seconds)


def test_late_workers_and_a_lost_scheduler(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("predyn.study.runner.PATIENCE", 0.0)
    messages: list[str] = []
    with pytest.raises(NoWorkers, match=r"8786 is lost\. What was written stays readable"):
        run_cases(fake_study(40), tmp_path, FakeSolver, Late, lambda x: messages.append(x.message))
    assert sum("no worker has joined yet" in message for message in messages) == 1
    assert len(predyn.StudyResults(tmp_path).table["case"]) > 0


def test_another_study_or_result_in_the_folder(tmp_path: Path) -> None:
    run_inside(fake_study(5), tmp_path)
    with pytest.raises(FileError, match=r"another study.*choose another folder"):
        run_inside(fake_study(6), tmp_path)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "solution.h5").touch()
    with pytest.raises(FileError, match="another kind of result"):
        run_inside(fake_study(5), tmp_path / "t")


def test_a_full_disk_leaves_what_was_written(tmp_path: Path, monkeypatch: Any) -> None:
    study, folder, calls = fake_study(40), tmp_path / "s", 0
    write = files.write_bytes

    def full(path: Any, data: bytes) -> None:
        nonlocal calls
        calls += 1
        if calls > 5:
            raise files.not_written(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        write(path, data)

    monkeypatch.setattr(study_table, "write_bytes", full)
    with pytest.raises(FileError, match=r"free some space.*continues from there"):
        run_inside(study, folder)
    assert len(predyn.StudyResults(folder).table["case"]) > 0
    monkeypatch.undo()
    assert same_tables(run_inside(study, folder).table, run_inside(study, tmp_path / "whole").table)


def test_messages_are_shown_whole(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = ShownProgress(True)
    reason = "worker tcp://10.0.0.5:4711 is not used: numpy 1.26.4 there and 2.1.0 here"
    shown(StudyProgress(1, 3, 0, 0, 0.5, 4.0, reason))
    shown.close()
    text = capsys.readouterr().err
    assert " ".join(text.replace("\r\x1b[K", "").split()).startswith(reason)
    assert text.count("set aside") == 1


def test_one_run_at_a_time(tmp_path: Path) -> None:
    study = fake_study(4)

    def start(setup: Setup) -> Any:
        with pytest.raises(FileError, match="another predyn process is writing"):
            run_inside(study, tmp_path)
        return Inside(setup)

    run_cases(study, tmp_path, FakeSolver, start, False)


def test_wrong_arguments(tmp_path: Path) -> None:
    study = fake_study(4)
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(InputError, match="workers: expected a whole number"):
            predyn.run_study(study, tmp_path, workers=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="scheduler: expected an address"):
        predyn.run_study(study, tmp_path, scheduler="")
    with pytest.raises(InputError, match="expected one of them"):
        predyn.run_study(study, tmp_path, workers=2, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="--yes"):
        predyn.run_study(fake_study(10_001, columns=1), tmp_path)
    with pytest.raises(InputError, match="path: expected a str or a Path, got NoneType"):
        predyn.run_study(study, None)  # type: ignore[arg-type]


def test_no_more_processes_than_cases(tmp_path: Path, monkeypatch: Any) -> None:
    counts = []

    def chosen(setup: Setup, count: int, *_: Any) -> Any:
        counts.append(count)
        return Inside(setup._replace(make=FakeSolver))

    monkeypatch.setattr("predyn.study.running.chosen_workers", chosen)
    predyn.run_study(fake_study(4), tmp_path, workers=1_000_000)
    assert counts == [4]


class Unable(Inside):
    """Workers whose preparation raises."""

    def __enter__(self) -> Any:
        self._events.append(Failed(1, "no such model"))
        return self


def test_workers_that_cannot_begin(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="could not begin: no such model"):
        run_cases(fake_study(4), tmp_path, FakeSolver, Unable, False)


@pytest.mark.verify
def test_a_thousand_motions_are_those_of_single_solves(tmp_path: Path) -> None:
    """Whatever the number of workers, and with Dask's as with those of predyn."""
    study = predyn.study_of(
        {
            "task": "two-link-lifting",
            "vary": [
                {"name": "load", "key": "forces[0].force[1]", "from": 0, "to": -12, "count": 40},
                {"key": "cost.effort.weight", "from": 0.001, "to": 0.1, "count": 25},
            ],
            "collect": {"durations": True, "peaks": ["tau"]},
            "solve": {"keep": "all"},
        }
    )
    assert len(study) == 1000
    tables = [
        predyn.run_study(study, tmp_path / "1", workers=1).table,
        predyn.run_study(study, tmp_path / "2", workers=2).table,
        run_cases(study, tmp_path / "3", CaseSolver, two_processes, None).table,
    ]
    assert all(same_tables(x, tables[0]) for x in tables)
    solver, results = CaseSolver(study), predyn.StudyResults(tmp_path / "2")
    for k in range(0, 1000, 9):
        source = int(tables[0]["guess"][k])
        guess = None if source < 0 else results.solution(source)
        alone = predyn.solve(solver.problem(k), guess=guess, verbose=False)
        assert alone.objective == tables[0]["objective"][k]


def two_processes(setup: Setup) -> Any:
    return LocalWorkers(begin, setup, 2)


def test_killed_processes(tmp_path: Path) -> None:
    """Real processes: a poison case from which others would start, and one kill from outside."""
    study = fake_study(24)
    tree = tree_of_values(study.values, study.apart, 24, warm=True)
    disturbed(24, int(tree.order[0]), 0.0, tmp_path, kills=1)


@pytest.mark.verify
def test_many_killed_processes(tmp_path: Path) -> None:
    disturbed(200, 123, 0.15, tmp_path, kills=20)


def disturbed(cases: int, poison: int, sleep: float, folder: Path, kills: int) -> None:
    """Run on two processes that are killed at random; compare with a run inside this process."""
    study = fake_study(cases, poison=[poison], sleep=sleep)
    calm = run_inside(fake_study(cases, poison=[poison]), folder / "calm").table
    rng, killed = np.random.default_rng(5), list[int]()
    made: list[LocalWorkers] = []

    def start(setup: Setup) -> Any:
        made.append(LocalWorkers(begin, setup, 2))
        return made[-1]

    def kill(progress: Any) -> None:
        if len(killed) < kills and progress.done > len(killed) * cases // (2 * kills):
            pids = list(made[0].pids.values())
            killed.append(pids[int(rng.integers(len(pids)))])
            os.kill(killed[-1], signal.SIGKILL)

    results = run_cases(study, folder / "s", FakeSolver, start, kill)
    assert len(killed) == kills
    assert results.table["case"].tolist() == list(range(cases))
    assert results.set_aside.tolist() == [poison]
    assert results.failed.tolist() == [poison]
    assert same_tables(results.table, calm)


def test_a_killed_run_is_continued(tmp_path: Path) -> None:
    """Killed in the middle of a job; in one process, since workers are killed in other tests."""
    (written,) = killed_at(tmp_path, cases=20, sleep=0.0, moments=1, workers=0, at=7)
    assert 0 < written < 7


@pytest.mark.verify
def test_a_run_killed_at_twenty_moments(tmp_path: Path) -> None:
    killed_at(tmp_path, cases=200, sleep=0.15, moments=20, workers=2)


def killed_at(
    folder: Path, cases: int, sleep: float, moments: int, workers: int, at: int | None = None
) -> list[int]:
    """Kill the parent again and again: no case in the table is solved again.

    It is killed in the case that it begins as number `at`, or at random moments. Returns the
    numbers of cases in the table after each kill.
    """
    study, log = fake_study(cases, sleep=sleep, log=str(folder / "log")), folder / "log"
    calm = run_inside(fake_study(cases), folder / "calm").table
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    command = [sys.executable, "-m", "case_processes", str(folder / "s"), str(cases), str(sleep)]
    command += [str(log), str(workers)]
    rng, written, done = np.random.default_rng(6), list[int](), set[int]()
    log.touch()
    for _ in range(moments):
        before = len(log.read_text().split())
        process = subprocess.Popen([*command, str(at or 0)], env=environment)
        ends = time.monotonic() + 60.0
        while len(log.read_text().split()) < before + (at or 1) and process.poll() is None:
            assert time.monotonic() < ends, "no case was begun"
            time.sleep(0.01)
        if at is None:
            time.sleep(rng.uniform(0.05, 1.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        begun = [int(x) for x in log.read_text().split()]
        assert not done & set(begun[before:])
        done = set(predyn.StudyResults(folder / "s").table["case"].tolist())
        written.append(len(done))
    before = len(log.read_text().split())
    assert subprocess.run([*command, "0"], env=environment).returncode == 0
    begun = [int(x) for x in log.read_text().split()]
    assert not done & set(begun[before:])
    assert set(begun) == set(range(cases))
    results = predyn.StudyResults(folder / "s")
    assert results.description.fingerprint == study.fingerprint
    assert same_tables(results.table, calm)
    return written

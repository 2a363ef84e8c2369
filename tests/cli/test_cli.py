"""The command line: exit codes, output files, and that no good result is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import predyn
from fake_solution import fake_solution
from predyn import cli, tasks
from predyn.errors import FileError
from predyn.kernels import kernel_cache
from predyn.solution import Solution
from predyn.solution.file import load_solution

TESTS = Path(__file__).parents[1]
TASK = "two-link-lifting"
FILES = {"solution.h5", "summary.json", "report.html"}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("solved") / "result"
    assert run("solve", TASK, "--out", folder, "--quiet").exit_code == 0
    return folder


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def stopped_early() -> Path:
    """A task that ends after three iterations."""
    path = Path("short.toml")
    path.write_text(tasks.path_of(TASK).read_text() + "max_iterations = 3\n")
    return path


def start(*args: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "predyn", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("command", ["--help", "examples", "solve --help"])
def test_quick_commands_import_no_heavy_packages(command: str) -> None:
    code = (
        "import sys; from predyn.cli import app\n"
        f"try:\n    app({command.split()!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([x for x in ('numba', 'numpy', 'scipy', 'casadi', 'h5py', 'matplotlib') "
        "if x in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_module_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "predyn", "--version"], capture_output=True)
    assert (done.returncode, done.stdout.decode().strip()) == (0, f"predyn {predyn.__version__}")


def test_examples_lists_every_task() -> None:
    output = run("examples").output
    for name in tasks.NAMES:
        assert f"{name} " in output
    assert str(tasks.FOLDER) in output


def test_solve_writes_all_files_and_lists_them(tmp_path: Path) -> None:
    result = run("solve", TASK)
    assert result.exit_code == 0
    folder = tmp_path / TASK
    assert {path.name for path in folder.iterdir()} == FILES
    summary = json.loads((folder / "summary.json").read_text())
    for key in ("name", "status", "success", "objective", "duration", "iterations", "solve_seconds",
                "max_violation", "max_violation_dense", "n_variables", "n_constraints",
                "predyn_version"):  # fmt: skip
        assert key in summary
    assert summary["success"] is True
    assert summary["objective"] == pytest.approx(0.8449415, rel=1e-6)
    for name in FILES:
        assert f"wrote {TASK}/{name}" in result.stdout
    assert "optimal" in result.stdout
    assert "iteration" in result.stderr
    solution = load_solution(folder / "solution.h5")
    assert solution.provenance["task"] == tasks.path_of(TASK).read_text(encoding="utf-8")
    assert solution.verification is not None
    checks = summary["verification"]
    assert checks == solution.summary()["verification"]
    assert (checks["replay"], checks["warnings"]) == ("finished", [])
    for key in ("max_position_error", "end_position_error", "max_velocity_error",
                "end_velocity_error", "max_energy_error"):  # fmt: skip
        assert 0.0 <= checks[key] < 1e-7


def test_quiet_without_report(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("of an earlier motion")
    result = run("solve", TASK, "--quiet", "--no-report", "--out", "out", "--segments", "10")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    assert json.loads(Path("out/summary.json").read_text())["n_variables"] == 2 * (13 - 4) + 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["solve", "two-link-lift"], "did you mean 'two-link-lifting'"),
        (["solve", "missing.toml"], "missing.toml: no such file"),
        (["solve", TESTS / "problems/bad/misspelt_key.toml"], "did you mean 'weight'?"),
        (["solve", TASK, "--tolerance", "-1"], "tolerance: expected a number from 1e-13"),
        (["solve", TASK, "--segments", "1", "--guess", "no.h5"], "no.h5"),
        (
            ["solve", TASK, "--resume"],
            "nothing to resume from: expected checkpoint.h5 or solution.h5",
        ),
        (["solve", "arm-2r-min-effort", "--segments", "1"], "no freedom left"),
        (["check", "missing.urdf"], "missing.urdf"),
        (["check", "photo.png"], "expected a task (.toml"),
        (["check", TESTS / "problems/bad/three_at_once.toml"], "3 problems"),
        (["report", "missing.h5"], "missing.h5"),
        (["view", "missing.h5"], "missing.h5"),
        (["export", "missing.h5", "--to", "a.csv"], "missing.h5"),
    ],
)
def test_bad_input_is_one_message_and_code_2(
    args: list[str | Path], message: str, tmp_path: Path
) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("predyn: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args", [["slove"], ["solve"], ["solve", TASK, "--starts", "0"], ["solve", TASK, "--no"]]
)
def test_wrong_usage_is_code_2(args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_a_file_in_place_of_the_folder() -> None:
    Path("out").write_text("precious")
    result = run("solve", TASK, "--out", "out")
    assert result.exit_code == 2
    assert "expected a folder, this is a file" in result.stderr
    assert Path("out").read_text() == "precious"


def test_results_without_convergence_are_written_with_code_3() -> None:
    result = run("solve", stopped_early(), "--out", "out")
    assert result.exit_code == 3
    assert "predyn: not solved: iteration_limit\n" in result.stderr
    message = load_solution("out/solution.h5").message
    assert (result.stdout.count(message), result.stderr.count(message)) == (1, 0)
    assert "--resume-from out/solution.h5" in result.stderr
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["success"] is False
    assert summary["verification"] is None  # only converged motions are replayed
    again = run("solve", TASK, "--out", "out", "--resume", "--quiet")
    assert again.exit_code == 0
    assert json.loads(Path("out/summary.json").read_text())["success"] is True


def test_a_failed_run_keeps_the_earlier_result(solved: Path) -> None:
    before = contents(solved)
    result = run("solve", stopped_early(), "--out", solved)
    assert result.exit_code == 3
    assert contents(solved) == before
    aside = solved / "not-converged"
    assert {path.name for path in aside.iterdir()} == FILES
    assert load_solution(aside / "solution.h5").status == "iteration_limit"
    assert run("solve", TASK, "--out", solved, "--tolerance", "7").exit_code == 2
    assert contents(solved) == before


def test_a_failed_write_keeps_the_earlier_result(
    solved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(solved)

    def full(_solution: object, path: Path) -> None:
        raise FileError(f"{path}: cannot be written: No space left on device")

    monkeypatch.setattr("predyn.solution.Solution.save", full)
    result = run("solve", TASK, "--out", solved, "--segments", "10", "--quiet")
    assert result.exit_code == 2
    assert f"{solved / 'solution.h5'}: cannot be written: No space left" in result.stderr
    assert contents(solved) == before
    assert not list(solved.glob(".predyn*"))


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, FileError("no space"), ValueError("odd")])
def test_an_error_in_the_report_keeps_the_solution(
    trouble: type[BaseException] | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report of the previous motion is removed: it would show another one."""
    assert run("solve", TASK, "--out", "out", "--quiet").exit_code == 0

    def stop(*_: object) -> str:
        raise trouble

    with monkeypatch.context() as patched:
        patched.setattr("predyn.view.showing.report_html", stop)
        result = run("solve", TASK, "--out", "out", "--quiet", "--segments", "10")
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    assert len(load_solution("out/solution.h5").curves[0].control) == 13
    assert json.loads(Path("out/summary.json").read_text())["n_variables"] == 2 * (13 - 4) + 1
    assert "optimal" in result.stdout
    assert result.stdout.splitlines()[-2:] == ["wrote out/solution.h5", "wrote out/summary.json"]
    if trouble is KeyboardInterrupt:
        assert result.exit_code == 130
        (line,) = result.stderr.splitlines()
        told = "interrupted while writing the report; to write it: predyn report out"
        assert line == f"predyn: {told}"
    else:
        assert result.exit_code == (2 if isinstance(trouble, FileError) else 1)
        assert str(trouble) in result.stderr
    assert run("report", "out").exit_code == 0
    assert {path.name for path in Path("out").iterdir()} == FILES


@pytest.mark.parametrize("report", [True, False])
@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RuntimeError("odd")])
def test_what_stops_the_verification_leaves_the_solution(
    trouble: type[BaseException] | Exception, report: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("solve", TASK, "--out", "out", "--quiet").exit_code == 0

    def stop(*_: object, **__: object) -> None:
        raise trouble

    options = ("--quiet", "--segments", "10", *(() if report else ("--no-report",)))
    with monkeypatch.context() as patched:
        patched.setattr("predyn.simulation.verification.replay", stop)
        result = run("solve", TASK, "--out", "out", *options)
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    solution = load_solution("out/solution.h5")
    assert len(solution.curves[0].control) == 13
    assert solution.success
    assert solution.verification is None
    assert json.loads(Path("out/summary.json").read_text())["verification"] is None
    assert result.stdout.splitlines()[-2:] == ["wrote out/solution.h5", "wrote out/summary.json"]
    if trouble is KeyboardInterrupt:
        assert result.exit_code == 130
        assert result.stderr == (
            "predyn: interrupted during verification; the solution was saved without it; to verify "
            "it and write the report: predyn report out\n"
        )
    else:
        assert result.exit_code == 1
        assert "RuntimeError: odd" in result.stderr
    assert run("report", "out").exit_code == 0
    assert "largest imbalance" in Path("out/report.html").read_text("utf-8")


def test_reports_show_the_stored_verification(
    solved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replay takes place once, while the task is solved."""

    def again(*_: object, **__: object) -> None:
        raise AssertionError("replayed again")

    monkeypatch.setattr("predyn.simulation.verification.replay", again)
    assert run("report", solved, "--out", "again.html").exit_code == 0
    assert Path("again.html").read_bytes() == (solved / "report.html").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(
    ("verified", "message", "code"),
    [(False, "interrupted during verification", 130), (True, "while writing the report", 0)],
)
def test_ctrl_c_while_files_are_written_waits_for_them(
    monkeypatch: pytest.MonkeyPatch, verified: bool, message: str, code: int
) -> None:
    """The solution is written before and after its verification."""
    save = Solution.save

    def interrupted(solution: Solution, path: Path) -> None:
        if (solution.verification is not None) == verified:
            os.kill(os.getpid(), signal.SIGINT)
        save(solution, path)

    monkeypatch.setattr("predyn.solution.Solution.save", interrupted)
    result = run("solve", TASK, "--out", "out", "--quiet")
    assert result.exit_code == 130
    assert {path.name for path in Path("out").iterdir()} == FILES - {"report.html"}
    assert load_solution("out/solution.h5").success
    assert message in result.stderr
    assert run("solve", TASK, "--out", "out", "--quiet", "--no-report").exit_code == code


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on file sizes")
def test_a_disk_that_fills_up_keeps_the_earlier_result(solved: Path) -> None:
    before = contents(solved)
    command = f"ulimit -f 40; exec {sys.executable} -m predyn solve {TASK} --quiet --out {solved}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "solution.h5: cannot be written: File too large" in line
    assert contents(solved) == before
    assert not list(solved.glob(".predyn*"))


def test_a_bug_is_reported_briefly_and_in_full_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise RuntimeError("a screw came loose")

    monkeypatch.setattr("predyn.config.read_task", broken)
    result = run("solve", TASK)
    assert result.exit_code == 1
    assert "RuntimeError: a screw came loose" in result.stderr
    assert "Please report it" in result.stderr
    assert "Traceback" not in result.stderr
    assert isinstance(run("--debug", "solve", TASK).exception, RuntimeError)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_saves_the_best_iterate_and_is_code_130() -> None:
    process = start("solve", "arm6-pick", "--segments", "400", "--out", "out")
    assert process.stderr is not None
    while not process.stderr.readline().startswith("iteration"):
        assert process.poll() is None
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "predyn: not solved: interrupted" in stderr
    assert "Traceback" not in stderr
    assert "wrote out/solution.h5" in stdout
    assert load_solution("out/solution.h5").status == "interrupted"


def test_compilation_of_uncached_kernels_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "predyn: compiling kernels; they are cached on disk, so this happens only once\n"
    options = ("solve", TASK, "--no-report", "--segments", "10")
    Path("empty").mkdir()
    monkeypatch.setattr(kernel_cache, "folder", lambda: Path("empty"))
    kernels = [kernel_cache.KernelCache(name) for name in ("first", "second")]

    def compiling(*_: object, **__: object) -> Solution:
        assert [kernel.load_overload("sig", None) for kernel in kernels] == [None, None]
        return fake_solution()

    monkeypatch.setattr("predyn.solving.solve", compiling)
    assert run(*options).stderr == told
    assert run(*options, "--quiet").stderr == ""
    monkeypatch.setattr("predyn.solving.solve", lambda *_, **__: fake_solution())
    assert run(*options).stderr == ""


def test_check_names_passive_joints_and_the_method() -> None:
    said = run("check", "gymnast-swing").stdout
    assert "passive (no motor): grip\n" in said
    assert "hybrid: spline of degree 3, passive joints by multiple shooting in 10 or more" in said
    assert "guess curve" in said
    assert "passive" not in run("check", TASK).stdout


def test_check_names_unknowns_systems_and_forces() -> None:
    good = TESTS / "problems" / "good"
    wall = run("check", good / "press_on_wall.toml").stdout
    assert "signal 'wall': x -20 .. -5, y 0, z 0 N; degree 2; all phases\n" in wall
    assert "force on 'tip' at (0, 0, 0): signal 'wall' N, (0, 0, 0) N m, world axes\n" in wall
    shared = run("check", good / "shared_duration.toml").stdout
    assert "parameter 'T': 0.2 to 2 s, guess 1.1\n" in shared
    assert "phase 1 'there': parameter 'T', 0.2 to 2 s, guess 1.1 s, 20 segments\n" in shared
    assert "integral of effort() <= 30, over the whole motion\n" in shared
    assert "curve from 0 to 1 of the phase, in N" in shared
    loaded = run("check", good / "pick_up_by_impact.toml").stdout
    assert "system 'loaded':\n  carries 0.4 kg on 'tip' at (0.02, 0, 0)\n  limits" in loaded
    assert "  system 'loaded', picked up by an impact\n" in loaded


def test_method_overrides_that_of_the_task(tmp_path: Path) -> None:
    task = tasks.path_of("cart-pole-swingup").read_text(encoding="utf-8")
    (tmp_path / "pole.toml").write_text(task)
    for method, kind in (("spline", "Spline("), ("hybrid", "Hybrid(")):
        options = ("--method", method, "--segments", "20", "--quiet", "--no-report")
        result = run("solve", "pole.toml", *options, "--out", method)
        assert result.exit_code == 0, result.output
        solution = load_solution(tmp_path / method / "solution.h5")
        assert solution.provenance["transcription"].startswith(kind)
        assert solution.passive == ("hinge",)
    assert run("solve", TASK, "--method", "hybrid", "--quiet", "--no-report").exit_code == 0
    refused = run("solve", "pole.toml", "--method", "hybird")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("predyn: unknown --method 'hybird': did you mean 'hybrid'?")


def test_check_of_a_task_a_model_and_a_solution(solved: Path) -> None:
    task = run("check", "arm6-pick")
    assert task.exit_code == 0
    for text in (
        "0.2 to 4 s",
        "frame_pose",
        "wrist_roll",
        "±15 N m",
        "±3.6 rad/s",
        "note: joint 'tool_mount'",
    ):
        assert text in task.stdout
    model = run("check", tasks.FOLDER / "arm6.urdf")
    assert model.exit_code == 0
    assert "model 'arm6': 6 joints, 17.35 kg" in model.stdout
    jig = run("check", Path(__file__).parents[1] / "load" / "data" / "jig_v3.osim")
    assert jig.exit_code == 0
    assert "model 'jig': 21 joints, 11.3 kg, gravity (0, -9.80665, 0) m/s^2" in jig.stdout
    assert "note: not read: forces: 1 CoordinateLimitForce ('stop')" in jig.stdout
    for path in (solved, solved / "solution.h5"):
        result = run("check", path)
        assert result.exit_code == 0
        assert "status" in result.stdout
    Path(TASK).mkdir()
    (Path(TASK) / "solution.h5").write_bytes((solved / "solution.h5").read_bytes())
    named = run("check", TASK)
    assert "status" not in named.stdout
    assert f"this is the task; to check its solution: predyn check ./{TASK}" in named.stderr
    assert "status" in run("check", f"./{TASK}").stdout
    Path("broken.urdf").write_text("<robot name='x'><link/></robot>")
    assert run("check", "broken.urdf").exit_code == 2


def test_warnings_of_a_model_are_printed_in_one_line() -> None:
    Path("odd.urdf").write_text(
        "<robot name='odd'><link name='base'/><link name='a'><inertial><mass value='1'/>"
        "<inertia ixx='1' iyy='1' izz='9' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        "<joint name='j' type='continuous'><parent link='base'/><child link='a'/></joint></robot>"
    )
    done = subprocess.run(
        [sys.executable, "-m", "predyn", "check", "odd.urdf"], capture_output=True, text=True
    )
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("predyn: warning: ")


def test_warnings_of_a_task_are_printed_by_check_and_solve(tmp_path: Path) -> None:
    text = Path(tasks.__file__).with_name(f"{TASK}.toml").read_text()
    Path("free.toml").write_text(text[: text.index("[[cost]]")] + "[transcription]\nsegments = 6")
    for command in (["check"], ["solve", "--quiet", "--no-report"]):
        done = subprocess.run(
            [sys.executable, "-m", "predyn", *command, "free.toml"], capture_output=True, text=True
        )
        lines = [x for x in done.stderr.splitlines() if x.startswith("predyn: warning: ")]
        assert len(lines) == 1
        assert "there is no cost" in lines[0]


def test_report_export_and_view(solved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("report", solved, "--out", "page.html").exit_code == 0
    assert "<html" in Path("page.html").read_text()
    assert run("export", solved, "--to", "motion.csv", "--rate", "100").exit_code == 0
    assert len(Path("motion.csv").read_text().splitlines()) >= 39
    assert run("export", solved, "--to", "motion.xls").exit_code == 2
    shown: dict[str, object] = {}
    monkeypatch.setattr(
        "predyn.view.server.serve", lambda source, **options: shown.update(options, source=source)
    )
    assert run("view", solved, "--port", "8000", "--no-browser").exit_code == 0
    assert shown["source"] == solved
    assert (shown["port"], shown["open_browser"]) == (8000, False)


def test_folder_name_contains_no_path() -> None:
    from predyn.results.stored import folder_name

    assert folder_name("two-link-lifting") == "two-link-lifting"
    for name in ("../../etc", "/etc", "..", "", "a/b", "a\\b", "con\0"):
        assert Path(folder_name(name)).name == folder_name(name)
        assert folder_name(name) not in ("", ".", "..")


def test_parameters_of_the_model_from_task_to_report(tmp_path: Path) -> None:
    task = TESTS / "problems" / "good" / "quantities.toml"
    checked = run("check", task)
    assert checked.exit_code == 0
    assert "'load': 0.4 to 0.6 kg, guess 0.5; payload of tip" in " ".join(checked.stdout.split())
    assert run("solve", task, "--out", "result", "--quiet").exit_code == 0
    summary = json.loads(Path("result/summary.json").read_text())
    solution = load_solution(Path("result/solution.h5"))
    assert summary["parameters"]["k"]["unit"] == "N m/rad"
    k, load = (solution.parameters[x] for x in ("k", "load"))
    assert summary["parameters"]["k"]["value"] == pytest.approx(k)
    assert list(solution.model.stiffness) == [k, k]
    assert solution.system(0).payloads[0].mass == load == pytest.approx(0.4, abs=1e-6)
    assert "N m/rad" in Path("result/report.html").read_text("utf-8")


def test_export_for_robots(tmp_path: Path) -> None:
    fake_solution().save(tmp_path / "m.h5")
    assert run("export", "m.h5", "--to", "m.json", "--format", "ros", "--rate", "50").exit_code == 0
    assert len(json.loads(Path("m.json").read_text())["points"]) == 61
    for options, message in [
        (("--to", "m.json"), "format: expected 'ros'"),
        (("--to", "n.script"), "expected a robot with 6 revolute joints"),
        (("--grf", "n.mot", "--format", "ros"), "--format: it needs --to"),
    ]:
        done = run("export", "m.h5", *options)
        assert done.exit_code == 2
        assert message in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"m.h5", "m.json"}

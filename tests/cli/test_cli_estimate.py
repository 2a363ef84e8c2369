"""predyn estimate: output files, exit codes, messages; no partial or lost results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from analysis.walkers import walking_estimate
from fake_estimate import WARNING, fake_estimate
from fake_solution import fake_solution
from predyn import cli
from predyn.cli import estimate_command
from predyn.errors import FileError
from predyn.estimate.result import Estimate
from predyn.estimate.result_file import load_estimate

FILES = {"result.h5", "torques.csv", "summary.json", "report.html"}
Calls = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    t = np.linspace(0.0, 1.0, 6)
    lines = ["time [s],joint1 [rad],joint2 [deg]", *(f"{x},{x},{10.0 * x}" for x in t)]
    Path("trial.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Callable[[Estimate], Calls]:
    """Makes the estimator return this estimate; the list records its arguments."""

    def answer(estimate: Estimate) -> Calls:
        calls: Calls = []

        def estimate_torques(model: Any, data: Any, *, report: Any, **options: Any) -> Estimate:
            calls.append({"model": model, "data": data, **options})
            if report is not None:
                report(1, 12.5, 0.25, "order 1, joints")
                report(2, 11.5, 1e-9, "order 1, joints")
            return estimate

        module = types.ModuleType("predyn.estimate.estimating")
        module.estimate_torques = estimate_torques  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return calls

    return answer


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def test_everything_is_written_and_listed(answered: Callable[[Estimate], Calls]) -> None:
    calls = answered(fake_estimate())
    result = run("estimate", "two-link", "trial.csv", "--out", "out")
    assert result.exit_code == 0, result.output
    assert {path.name for path in Path("out").iterdir()} == FILES
    for name in FILES:
        assert f"wrote out/{name}" in result.stdout
    assert WARNING in result.stdout
    assert "12.5" in result.stderr
    assert json.loads(Path("out/summary.json").read_text())["success"] is True
    assert np.array_equal(load_estimate("out/result.h5").tau, fake_estimate().tau)
    assert len(Path("out/torques.csv").read_text().splitlines()) == 61
    (call,) = calls
    assert call["model"].name == "two_link"
    assert call["data"].angles["joint2"][-1] == pytest.approx(np.radians(10.0))
    assert call["name"] == "trial"
    told = {"order", "independent", "weight", "noise", "forces", "guess", "step", "cutoff"}
    assert all(call[key] is None for key in told)
    assert call["unactuated"] == ()


def test_options_reach_the_estimator(answered: Callable[[Estimate], Calls]) -> None:
    calls = answered(fake_estimate())
    options = (
        "--order 1 --total-variation --independent links --weight 0.5 --noise joint1=0.01 "
        "--noise tip=1e-3 --unactuated joint1 --unactuated joint2 --force plate=link2 --cutoff 6 "
        "--step 0.02 --guess joint1=0.3 --base-residual 0.02"
    )
    result = run("estimate", "two_link", "trial.csv", "--quiet", "--no-report", *options.split())
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert {path.name for path in Path("trial").iterdir()} == FILES - {"report.html"}
    (call,) = calls
    del call["model"], call["data"]
    assert call == {
        "order": 1,
        "total_variation": True,
        "independent": "links",
        "weight": 0.5,
        "noise": {"joint1": 0.01, "tip": 1e-3},
        "unactuated": ("joint1", "joint2"),
        "base_residual": 0.02,
        "forces": {"plate": "link2"},
        "cutoff": 6.0,
        "step": 0.02,
        "guess": {"joint1": 0.3},
        "name": "trial",
        "verbose": False,
    }


def test_norms_and_feet_of_gait_cycles(
    answered: Callable[[Estimate], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = answered(walking_estimate())
    person = walking_estimate().model
    monkeypatch.setattr(estimate_command, "load_model", lambda *_: person)
    rows = [f"{p},{p},2" for p in range(0, 101, 5)]
    Path("norms.csv").write_text("\n".join(["percent,knee_angle_mean,knee_angle_sd", *rows]) + "\n")
    feet = ("--foot", "left=heel_l", "--foot", "right=heel_r")
    result = run("estimate", "two-link", "trial.csv", "--norms", "norms.csv", *feet)
    assert result.exit_code == 0, result.output
    assert "wrote trial/gait.csv" in result.stdout
    assert '"name":"norm"' in Path("trial/report.html").read_text("utf-8")
    summary = json.loads(Path("trial/summary.json").read_text())
    assert summary["gait"]["feet"] == {"left": "heel_l", "right": "heel_r"}
    for options, message in (
        (("--foot", "left=heel_l"), "feet: expected"),
        (("--foot", "left=heel_l", "--foot", "right=heal"), "right foot 'heal': did you mean"),
        (("--foot", "left"), "expected SIDE=LINK"),
        (("--norms", "absent.csv"), "absent.csv: cannot be read"),
    ):
        calls.clear()
        result = run("estimate", "two-link", "trial.csv", *options)
        assert message in result.stderr
        assert result.exit_code == 2
        assert not calls  # nothing was estimated
    answered(fake_estimate())
    result = run("estimate", "two-link", "trial.csv", "--norms", "norms.csv", "--out", "arm")
    assert result.exit_code == 0
    assert "no gait cycles as asked for by --norms or --foot" in result.stderr


def test_forces_come_from_a_file_of_their_own(answered: Callable[[Estimate], Calls]) -> None:
    calls = answered(fake_estimate())
    rows = "".join(f"{0.1 * k},0,0,700,0.1,0,0\n" for k in range(20))
    Path("plates.csv").write_text(
        "time,plate_fx,plate_fy,plate_fz,plate_px,plate_py,plate_pz\ns,N,N,N,m,m,m\n" + rows
    )
    told = ("--forces-from", "plates.csv", "--force", "plate=link2")
    assert run("estimate", "two-link", "trial.csv", *told).exit_code == 0
    assert calls[0]["data"].forces["plate"].force[3].tolist() == [0.0, 0.0, 700.0]
    assert calls[0]["data"].angles.keys() == {"joint1", "joint2"}
    result = run("estimate", "two-link", "trial.csv", "--forces-from", "trial.csv")
    assert result.exit_code == 2
    assert "contains no forces" in result.stderr


@pytest.mark.parametrize(
    ("status", "code"), [("unidentifiable", 3), ("iteration_limit", 3), ("interrupted", 130)]
)
def test_an_invalid_estimate_is_written_and_reported(
    answered: Callable[[Estimate], Calls], status: str, code: int
) -> None:
    answered(fake_estimate(status))
    result = run("estimate", "two-link", "trial.csv")
    assert result.exit_code == code
    assert {path.name for path in Path("trial").iterdir()} == FILES
    assert f"predyn: no valid estimate: {status}: the data do not tell" in result.stderr
    assert run("check", "trial").exit_code == 3


def test_a_failure_never_replaces_a_valid_estimate(answered: Callable[[Estimate], Calls]) -> None:
    answered(fake_estimate())
    assert run("estimate", "two-link", "trial.csv").exit_code == 0
    answered(fake_estimate("interrupted"))
    assert run("estimate", "two-link", "trial.csv").exit_code == 130
    assert load_estimate("trial/result.h5").success
    assert load_estimate("trial/not-converged/result.h5").status == "interrupted"
    assert {path.name for path in Path("trial/not-converged").iterdir()} == FILES


def test_all_or_nothing(
    answered: Callable[[Estimate], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(fake_estimate())
    assert run("estimate", "two-link", "trial.csv").exit_code == 0
    before = {path.name: path.read_bytes() for path in Path("trial").iterdir()}
    answered(replace(fake_estimate(), iterations=99))

    def broken(*_: object) -> str:
        raise FileError("trial: no space")

    monkeypatch.setattr("predyn.view.estimate_report.estimate_html", broken)
    result = run("estimate", "two-link", "trial.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert {path.name: path.read_bytes() for path in Path("trial").iterdir()} == before
    assert run("estimate", "two-link", "trial.csv", "--out", "new").exit_code == 2
    assert not Path("new").exists()


def test_an_obstructing_folder_leaves_the_rest_unchanged(
    answered: Callable[[Estimate], Calls],
) -> None:
    answered(fake_estimate())
    Path("out/report.html").mkdir(parents=True)
    Path("out/torques.csv").write_text("before")
    for more in ([], ["--no-report"]):
        result = run("estimate", "two-link", "trial.csv", "--out", "out", *more)
        assert result.exit_code == 2
        assert "out/report.html: cannot be written: it is a folder" in result.stderr
        assert {path.name for path in Path("out").iterdir()} == {"report.html", "torques.csv"}
        assert Path("out/torques.csv").read_text() == "before"


def test_files_that_could_not_be_moved_are_moved_by_the_next_command(
    answered: Callable[[Estimate], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(fake_estimate())
    assert run("estimate", "two-link", "trial.csv").exit_code == 0
    answered(replace(fake_estimate(), iterations=99))
    assert run("estimate", "two-link", "trial.csv", "--out", "whole").exit_code == 0
    whole = {path.name: path.read_bytes() for path in Path("whole").iterdir()}
    move = os.replace
    for blocked in whole:
        answered(fake_estimate())
        assert run("estimate", "two-link", "trial.csv").exit_code == 0
        answered(replace(fake_estimate(), iterations=99))

        def failing(source: Path, target: Path, blocked: str = blocked) -> None:
            if Path(target) == Path("trial") / blocked:
                raise OSError(28, "No space left on device")
            move(source, target)

        with monkeypatch.context() as patched:
            patched.setattr("predyn.results.folder.os.replace", failing)
            result = run("estimate", "two-link", "trial.csv")
        assert result.exit_code == 2
        assert "could not be moved into place: No space left on device" in result.stderr
        assert run("check", "trial").exit_code == 0
        assert {path.name: path.read_bytes() for path in Path("trial").iterdir()} == whole


def test_output_that_cannot_be_written_is_reported(
    answered: Callable[[Estimate], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(fake_estimate())

    def full(_: Estimate) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("predyn.results.estimates.estimate_text", full)
    result = run("estimate", "two-link", "trial.csv")
    assert result.exit_code == 2
    assert "predyn: cannot write the output: No space left on device" in result.stderr
    assert {path.name for path in Path("trial").iterdir()} == FILES


def test_no_report_removes_an_earlier_one(answered: Callable[[Estimate], Calls]) -> None:
    answered(fake_estimate())
    run("estimate", "two-link", "trial.csv")
    run("estimate", "two-link", "trial.csv", "--no-report")
    assert {path.name for path in Path("trial").iterdir()} == FILES - {"report.html"}


def test_a_solution_is_not_mistaken_for_an_estimate(
    answered: Callable[[Estimate], Calls],
) -> None:
    calls = answered(fake_estimate())
    Path("trial").mkdir()
    fake_solution().save("trial/solution.h5")
    result = run("estimate", "two-link", "trial.csv")
    assert result.exit_code == 2
    assert "contains another kind of result, solution.h5" in result.stderr
    assert calls == []
    Path("other").mkdir()
    fake_estimate().save("other/result.h5")
    result = run("solve", "two-link-lifting", "--out", "other")
    assert result.exit_code == 2
    assert "contains another kind of result, result.h5" in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["two-link"], "expected a recording after two-link; only trujillo-two-link"),
        (["two-lynx", "trial.csv"], "unknown model 'two-lynx': did you mean 'two-link'"),
        (["random-tree", "trial.csv"], "unknown model 'random-tree'"),
        (["missing.urdf", "trial.csv"], "missing.urdf"),
        (["missing.toml", "trial.csv"], "missing.toml"),
        (["two-link", "missing.csv"], "missing.csv"),
        (["two-link", "trial.xls"], "got '.xls'"),
        (["two-link", "trial.csv", "--axes", "xxz"], "xxz"),
        (["two-link", "trial.csv", "--noise", "low"], "--noise: expected a number, got 'low'"),
        (["two-link", "trial.csv", "--noise", "1", "--noise", "2"], "expected NAME=NUMBER"),
        (["two-link", "trial.csv", "--weight", "a=1", "--weight", "a=2"], "'a' is given twice"),
        (["two-link", "trial.csv", "--force", "plate"], "--force: expected PLATE=LINK"),
        (["two-link", "trial.csv", "--out", ""], "expected a path, got an empty string"),
        (["two-link", "trial.csv", "--out", "x" * 5000], "File name too long"),
        (["two-link", "trial.csv", "--out", "trial.csv"], "expected a folder, this is a file"),
    ],
)
def test_bad_input_is_one_message_and_leaves_nothing(
    answered: Callable[[Estimate], Calls], args: list[str], message: str
) -> None:
    answered(fake_estimate())
    result = run("estimate", *args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert message in result.stderr
    assert [path.name for path in Path().iterdir()] == ["trial.csv"]


def test_the_model_of_a_task_or_urdf(answered: Callable[[Estimate], Calls]) -> None:
    calls = answered(fake_estimate())
    urdf = Path(__file__).parents[1] / "load" / "data"
    for source in ("two-link-lifting", sorted(urdf.glob("*.urdf"))[0]):
        assert run("estimate", source, "trial.csv", "--no-report").exit_code == 0
    assert calls[0]["model"].n == 2
    assert len(calls) == 2


JIG = Path(__file__).parents[1] / "load" / "data" / "jig_v4.osim"
LOADS = """<OpenSimDocument Version="40000"><ExternalLoads name="l"><objects>
<ExternalForce name="a"><applied_to_body>plate</applied_to_body>
<force_identifier>ground_force_v</force_identifier>
<point_identifier>ground_force_p</point_identifier></ExternalForce></objects>
<datafile>{}</datafile></ExternalLoads></OpenSimDocument>"""


def test_opensim_models_and_external_loads(answered: Callable[[Estimate], Calls]) -> None:
    calls = answered(fake_estimate())
    columns = "\t".join(f"ground_force_{part}{axis}" for part in "vp" for axis in "xyz")
    rows = "\n".join(f"{t}\t1\t2\t3\t0\t0\t0" for t in (0, 1, 2))
    Path("grf.mot").write_text(f"endheader\ntime\t{columns}\n{rows}\n")
    Path("loads.xml").write_text(LOADS.format("grf.mot"))
    arguments = ("estimate", JIG, "trial.csv", "--no-report", "--loads", "loads.xml")
    assert run(*arguments).exit_code == 0
    assert calls[0]["model"].n == 21
    assert calls[0]["forces"] == {"ground": "plate"}
    assert calls[0]["data"].forces["ground"].force[0].tolist() == [1.0, 2.0, 3.0]
    assert run(*arguments, "--force", "ground=drone").exit_code == 0
    assert calls[1]["forces"] == {"ground": "drone"}
    Path("loads.xml").write_text(LOADS.format("none.mot"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert "data file 'none.mot': not found" in result.stderr
    assert "add --forces-from" in result.stderr
    assert run(*arguments, "--forces-from", "grf.mot").exit_code == 0
    assert calls[2]["forces"] == {"ground": "plate"}


def test_report_and_check_take_estimates(answered: Callable[[Estimate], Calls]) -> None:
    answered(fake_estimate())
    run("estimate", "two-link", "trial.csv", "--no-report")
    result = run("report", "trial")
    assert (result.exit_code, result.stdout) == (0, "wrote trial/report.html\n")
    assert "arm-trial" in Path("trial/report.html").read_text(encoding="utf-8")
    for source in ("trial", "trial/result.h5"):
        result = run("check", source)
        assert result.exit_code == 0
        assert "differences of torques of joints" in result.stdout
        assert "model 'two_link'" in result.stdout


def test_export_takes_estimates(answered: Callable[[Estimate], Calls]) -> None:
    answered(fake_estimate())
    run("estimate", "two-link", "trial.csv", "--no-report")
    for name in ("a.csv", "a.sto", "a.mot", "a.h5"):
        result = run("export", "trial", "--to", name)
        assert (result.exit_code, result.stdout) == (0, f"wrote {name}\n")
        assert Path(name).stat().st_size > 100
    result = run("export", "trial", "--to", "b.csv", "--rate", "100")
    assert result.exit_code == 2
    assert "an estimate is written at its own times" in result.stderr
    assert not Path("b.csv").exists()
    result = run("export", "trial", "--to", "b.xls")
    assert result.exit_code == 2
    assert "'.sto'" in result.stderr or ".sto" in result.stderr
    assert not Path("b.xls").exists()


def test_the_text_has_units_and_bands(answered: Callable[[Estimate], Calls]) -> None:
    estimate = fake_estimate()
    answered(estimate)
    told = run("estimate", "two-link", "trial.csv", "--no-report").stdout.splitlines()
    (line,) = [line for line in told if line.startswith("joint1 ")]
    rms = float(np.sqrt(np.mean(estimate.tau[:, 0] ** 2)))
    band = 1.959964 * float(estimate.tau_sd[:, 0].mean())
    assert line.split() == ["joint1", f"{rms:.4g}", "N", "m", f"±{band:.3g}", "N", "m"]


def test_other_files_of_a_folder_are_named() -> None:
    Path("both").mkdir()
    for name in ("upright", "hanging"):
        fake_estimate().save(f"both/{name}.h5")
    Path("both/report.html").write_text("of both")
    for command in ("check", "view", "report"):
        result = run(command, "both")
        assert result.exit_code == 2
        told = f"predyn {command} both/hanging.h5"
        assert result.stderr == (
            "predyn: both: contains neither solution.h5 nor result.h5, but hanging.h5, upright.h5; "
            f"name the file: {told}\n"
        )
        if command != "view":
            assert run(*told.split()[1:]).exit_code == 0
    assert Path("both/report.html").read_text() == "of both"
    assert "arm-trial" in Path("both/hanging.html").read_text(encoding="utf-8")
    Path("none").mkdir()
    assert "none/solution.h5" in run("report", "none").stderr


def test_help_imports_no_heavy_packages() -> None:
    code = (
        "import sys; from predyn.cli import app\n"
        "try:\n    app(['estimate', '--help'])\nexcept SystemExit:\n    pass\n"
        "print([x for x in ('numba', 'numpy', 'scipy', 'h5py') if x in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "--total-variation" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]", done.stderr

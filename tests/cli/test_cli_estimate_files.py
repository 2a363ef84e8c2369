"""predyn estimate with files of every kind recovers the torques of a known motion."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

import predyn
from predyn import cli
from predyn.dynamics.kinematics import frame_kinematics
from predyn.estimate.result_file import load_estimate
from recordings.c3d_writing import write_c3d

Floats = NDArray[np.float64]
MODEL = predyn.models.trujillo_two_link()
RATE, COUNT = 100.0, 101
NOISE = 1e-3  # m
FILES = {"result.h5", "torques.csv", "summary.json", "report.html"}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def motion(t: Floats) -> tuple[Floats, Floats]:
    """Angles and torques of a smooth motion."""
    w = np.array([4.0, 5.0])
    q, v, a = np.sin(t[:, None] * w), w * np.cos(t[:, None] * w), -(w**2) * np.sin(t[:, None] * w)
    return q, predyn.inverse_dynamics(MODEL, q, v, a)


def recorded(count: int = COUNT) -> tuple[Floats, dict[str, Floats]]:
    """Times and noisy markers."""
    t = np.arange(count) / RATE
    random = np.random.default_rng(5)
    q, _ = motion(t)
    places = {name: frame_kinematics(MODEL, name, q).p for name in ("end1", "end2")}
    return t, {k: p + NOISE * random.standard_normal(p.shape) for k, p in places.items()}


def write_trc(path: Path, t: Floats, markers: dict[str, Floats]) -> None:
    """As a camera system exports it, in mm."""
    keys = ["DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate",
            "OrigDataStartFrame", "OrigNumFrames"]  # fmt: skip
    values = [RATE, RATE, len(t), len(markers), "mm", RATE, 1, len(t)]
    names = [cell for name in markers for cell in (name, "", "")]
    axes = [f"{axis}{k + 1}" for k in range(len(markers)) for axis in "XYZ"]
    rows = [["PathFileType", "4", "(X/Y/Z)", path.name], keys, values,
            ["Frame#", "Time", *names], ["", "", *axes], []]  # fmt: skip
    rows += [
        [k + 1, time, *(1e3 * x for name in markers for x in markers[name][k])]
        for k, time in enumerate(t.tolist())
    ]
    path.write_text("\n".join("\t".join(map(str, row)) for row in rows) + "\n")


def write_csv(path: Path, t: Floats, markers: dict[str, Floats]) -> None:
    """In two dimensions, every seventh sample of the first marker missing."""
    lines = ["time [s]," + ",".join(f"{name}_{axis} [m]" for name in markers for axis in "xy")]
    for k, time in enumerate(t.tolist()):
        cells = [f"{x!r}" for name in markers for x in markers[name][k, :2].tolist()]
        lines.append(",".join([repr(time), *(["", ""] if k % 7 == 3 else cells[:2]), *cells[2:]]))
    path.write_text("\n".join(lines) + "\n")


def write(suffix: str, count: int = COUNT) -> Path:
    path = Path(f"trial{suffix}")
    t, markers = recorded(count)
    if suffix == ".c3d":
        write_c3d(path, {name: 1e3 * p for name, p in markers.items()}, rate=RATE)
    else:
        {".trc": write_trc, ".csv": write_csv}[suffix](path, t, markers)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".trc", ".c3d"])
def test_torques_are_recovered(suffix: str) -> None:
    result = run("estimate", "trujillo-two-link", write(suffix), "--noise", NOISE)
    assert result.exit_code == 0, result.output
    assert {path.name for path in Path("trial").iterdir()} == FILES
    found = load_estimate("trial/result.h5")
    assert found.success
    _, truth = motion(found.t_tau - found.t[0])
    away = np.abs(found.tau - truth)
    inside = away[3:-3] < 3.0 * found.tau_sd[3:-3] + np.abs(found.grid_error[3:-3])
    assert inside.mean() > 0.97
    assert np.sqrt(np.mean(away**2)) < 0.15 * np.sqrt(np.mean(truth**2))
    missing = 14 if suffix == ".csv" else 0
    assert len(found.channels[0].t) == COUNT - missing
    assert len(found.channels) == (4 if suffix == ".csv" else 6)


@pytest.mark.parametrize("suffix", [".csv", ".trc", ".c3d"])
def test_check_lists_the_contents_of_a_recording(suffix: str) -> None:
    path = write(suffix)
    result = run("check", path)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert "101 samples from 0 to 1 s, 100 per second" in result.stdout
    assert lines[1] == ["name", "kind", "missing", "smallest", "largest"]
    gaps = {line[0]: line[2] for line in lines[2:] if "marker" in line}
    assert set(gaps) == {f"{name}.{axis}" for name in ("end1", "end2") for axis in "xyz"}
    assert gaps["end1.x"] == ("13.9%" if suffix == ".csv" else "none")  # 14 of 101
    assert gaps["end2.z"] == ("all" if suffix == ".csv" else "none")
    largest = np.nanmax(predyn.load_measurements(path).markers["end2"][:, 0])
    (row,) = [line for line in lines if line[0] == "end2.x"]
    assert row[-2:] == [f"{largest:.4g}", "m"]


def test_check_lists_units_forces_and_problems() -> None:
    rows = ["time,knee_deg,slide,plate_fx,plate_fy,plate_px,plate_py", "s,,mm,N,N,m,m"]
    rows += [f"{0.01 * k},{k},{10 * k},{5 - k},0,0.1,0" for k in range(5)]
    Path("trial.csv").write_text("\n".join(rows) + "\n")
    shown = {
        line.split()[0]: line.split() for line in run("check", "trial.csv").stdout.splitlines()
    }
    assert shown["knee"] == ["knee", "joint", "none", "0", "deg", "4", "deg"]
    assert shown["slide"] == ["slide", "joint", "none", "0", "m", "0.04", "m"]
    assert shown["plate.x"] == ["plate.x", "force", "none", "1", "N", "5", "N"]
    Path("cut.c3d").write_bytes(b"\x02\x50")
    result = run("check", "cut.c3d")
    assert result.exit_code == 2
    assert "cut.c3d" in result.stderr


def test_options_of_recordings() -> None:
    """Names with a prefix, no unit, a part of the time, and one plate for both links in turn."""
    text = write(".trc").read_text().replace("\tmm\t", "\t\t").replace("end", "S:end")
    Path("trial.trc").write_text(text)
    times = np.arange(120) / 100.0
    rows = [f"{t},0,{20.0 * (t < 0.5) + 1.0},0.1,0" for t in times.tolist()]
    head = "t [s],p_fx [N],p_fy [N],p_px [m],p_py [m]"
    Path("plate.csv").write_text("\n".join([head, *rows]) + "\n")
    links = [MODEL.link_names[0], MODEL.link_names[1]]
    result = run(
        "estimate", "trujillo-two-link", "trial.trc", "--units", "mm", "--rename", "S:*=*",
        "--start", "0.1", "--end", "0.9", "--forces-from", "plate.csv", "--force-shift", "-0.1",
        "--force-threshold", "5", "--rename", "p=plate", "--noise", str(NOISE),
        "--force", f"plate={links[0]}@-0.2-0.3,{links[1]}@0.3-2",
    )  # fmt: skip
    assert result.exit_code in (0, 3), result.output
    folder = "trial" if result.exit_code == 0 else "trial/not-converged"
    found = load_estimate(
        Path(folder) / "result.h5" if Path(folder).is_dir() else "trial/result.h5"
    )
    data = found.measurements
    assert data.t[[0, -1]] == pytest.approx([0.1, 0.9])
    assert set(data.markers) == {"end1", "end2"}
    assert np.abs(data.markers["end2"]).max() < 5.0
    assert found.force_links == {f"plate@{link}": link for link in links}
    first, second = (data.forces[f"plate@{link}"] for link in links)
    assert first.force[first.t < 0.299, 1] == pytest.approx(21.0)
    assert np.abs(first.force[first.t > 0.301]).max() == 0.0
    assert second.force[(second.t > 0.301) & (second.t < 0.395), 1] == pytest.approx(21.0)
    assert np.abs(second.force[second.t > 0.405]).max() == 0.0  # below the threshold


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--units", "inch"], "units: unknown unit 'inch'"),
        (["--rename", "a"], "--rename: expected OLD=NEW, got 'a'"),
        (["--rename", "a=b"], "unknown name to rename 'a'"),
        (["--start", "7"], "no samples from 7 to inf s"),
        (["--force-shift", "1"], "the file contains no forces"),
        (["--force-units", "mm"], "--force-units: applies to the file of --forces-from"),
        (["--force-baseline", "0,b"], "--force-baseline: expected a number, got 'b'"),
        (["--force", "p=a@0-1,b"], "--force: expected LINK@START-END with times in s for every"),
    ],
)
def test_bad_options_of_recordings(options: list[str], message: str) -> None:
    result = run("estimate", "trujillo-two-link", write(".trc"), *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_check_takes_units() -> None:
    write(".trc")
    Path("trial.trc").write_text(Path("trial.trc").read_text().replace("\tmm\t", "\t\t"))
    result = run("check", "trial.trc")
    assert result.exit_code == 2
    assert "units='mm', or --units mm" in " ".join(result.stderr.split())
    assert "unit of length as given: mm" in run("check", "trial.trc", "--units", "mm").stdout


def test_one_sample_is_described_but_not_estimated() -> None:
    write(".csv", 1)
    assert "1 sample at 0 s" in run("check", "trial.csv").stdout
    result = run("estimate", "trujillo-two-link", "trial.csv")
    assert result.exit_code == 2
    assert "1 samples; expected at least 8 to estimate torques" in " ".join(result.stderr.split())


def test_unmatched_names_are_reported_with_similar_ones() -> None:
    text = write(".csv").read_text().replace("end2_", "end3_").replace("end1_", "toe_")
    Path("trial.csv").write_text(text)
    result = run("estimate", "trujillo-two-link", "trial.csv")
    assert result.exit_code == 2
    assert "end3 (similar: end2" in result.stderr
    assert not Path("trial").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is a signal here")
def test_ctrl_c_keeps_the_current_result() -> None:
    write(".csv", 12_001)
    process = subprocess.Popen(
        [sys.executable, "-m", "predyn", "estimate", "trujillo-two-link", "trial.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "order" not in process.stderr.readline():
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert "predyn: no valid estimate: interrupted" in stderr
    assert "wrote trial/result.h5" in stdout
    assert {path.name for path in Path("trial").iterdir()} == FILES
    assert load_estimate("trial/result.h5").status == "interrupted"

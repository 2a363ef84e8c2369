"""predyn plan and predyn certify: results, exit codes, and one-line errors that leave no file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from scipy.interpolate import PPoly
from typer.testing import CliRunner, Result

import predyn
from predyn import cli

URDF = Path(__file__).parents[1] / "data" / "two_bars.urdf"
BOX = {"name": "box", "kind": "box", "size": [0.3, 0.3, 1.0], "position": [1.5, 0, 0]}
SCENE: dict[str, Any] = {
    "format": "predyn-scene-1",
    "joints": ["elbow", "shoulder"],  # not the order of the model
    "start": [0.0, 0.6],
    "goal": [0.0, -0.6],
    "obstacles": [BOX],
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def scene(name: str = "scene.json", **changes: Any) -> str:
    Path(name).write_text(json.dumps(SCENE | changes))
    return name


def refused(code: int, message: str, *args: str | Path) -> None:
    """One line of errors, no traceback, and no new file."""
    before = {path.name for path in Path().iterdir()}
    done = run(*args)
    assert done.exit_code == code, done.stderr
    lines = [x for x in done.stderr.splitlines() if "compiling kernels" not in x]
    assert len(lines) == 1, lines
    assert lines[0].startswith("predyn: ")
    assert message in lines[0]
    assert "internal error" not in lines[0]
    assert {path.name for path in Path().iterdir()} == before


def test_plan_writes_corners_and_curve() -> None:
    done = run("plan", URDF, scene(), "--margin", "0.01", "--out", "path.csv")
    assert done.exit_code == 0, done.stderr
    assert "certified, margin 10 mm" in done.stdout
    assert "wrote path.csv" in done.stdout
    assert Path("path.csv").read_text().splitlines()[0] == "shoulder [rad],elbow [rad]"
    corners = np.loadtxt("path.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(corners[[0, -1]], [[0.6, 0.0], [-0.6, 0.0]])
    assert run("plan", URDF, scene(), "--margin", "0.01", "--out", "path.json").exit_code == 0
    content = json.loads(Path("path.json").read_text())
    assert (content["variable"], content["unit"], content["breaks"][-1]) == ("path", "1", 1.0)
    c = np.moveaxis(np.array(content["coefficients"]), (0, 1, 2), (2, 1, 0))[::-1]
    q = PPoly(c, content["breaks"])(np.linspace(0.0, 1.0, 2001))
    checker = predyn.collision.Checker(predyn.load_urdf(URDF), predyn.load_scene("scene.json"))
    assert checker.distances(q).min() > 0.01
    np.testing.assert_allclose(q[[0, -1]], corners[[0, -1]], atol=1e-12)


def test_options_replace_the_fields_of_the_scene() -> None:
    options = ("--start", "-1.0,0.1", "--goal", "elbow=0.1", "--goal", "shoulder=-0.9")
    assert run("plan", URDF, scene(), *options, "--out", "p.csv").exit_code == 0
    corners = np.loadtxt("p.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(corners[[0, -1]], [[-1.0, 0.1], [-0.9, 0.1]])
    pose = ("--goal-pose", "tool=1.2,-1.0,0.0")
    assert run("plan", URDF, scene(), *pose, "--out", "p.csv").exit_code == 0
    q = np.loadtxt("p.csv", delimiter=",", skiprows=1)[-1]
    tip = [np.cos(q[0]) + np.cos(q.sum()), np.sin(q[0]) + np.sin(q.sum())]
    np.testing.assert_allclose(tip, [1.2, -1.0], atol=1e-6)
    several = scene("several.json", goal=[[0.0, -0.6], [0.0, 0.7]])
    assert run("plan", URDF, several, "--out", "p.csv").exit_code == 0
    assert np.loadtxt("p.csv", delimiter=",", skiprows=1)[-1, 0] in (-0.6, 0.7)


def test_plan_retime_export_certify() -> None:
    done = run("plan", URDF, scene(), "--retime", "--out", "motion.h5")
    assert done.exit_code == 0, done.stderr
    assert "duration" in done.stdout
    done = run("certify", "motion.h5", "scene.json")
    assert done.exit_code == 0, done.stderr
    for text in ("certified", "nearest: ", "nearest points: ", "guaranteed at all times: "):
        assert text in done.stdout
    assert run("export", "motion.h5", "--to", "m.csv", "--rate", "100").exit_code == 0
    csv = ("certify", "m.csv", "scene.json", "--model", URDF, "--interpolation")
    assert run(*csv, "cubic").exit_code == 0
    assert run(*csv, "linear").exit_code == 0
    done = run(*csv, "linear", "--margin", "0.5")
    assert done.exit_code == 4
    assert done.stdout.startswith("within the margin")
    assert "closer than the margin of 500 mm: " in done.stdout
    refused(2, "add --interpolation", *csv[:-1])
    refused(2, "add --model", *csv[:3])
    refused(2, "this solution has no scene; name one", "certify", "motion.h5")
    refused(2, "a .csv file has no scene", "certify", "m.csv", *csv[3:], "linear")
    Path("hit.csv").write_text("time,shoulder,elbow\n0,0.6,0\n1,-0.6,0\n")
    done = run("certify", "hit.csv", *csv[2:], "linear")
    assert done.exit_code == 4
    assert done.stdout.startswith("collision, margin 0 mm")
    assert "in contact: " in done.stdout
    assert "predyn: not certified: collision" in done.stderr
    refused(2, "for .csv files only", "certify", "motion.h5", "scene.json",
            "--interpolation", "linear")  # fmt: skip
    refused(2, "expected the joints of the solution, shoulder, elbow, got joint1", "certify",
            "motion.h5", "scene.json", "--model", "two-link")  # fmt: skip


def test_scene_and_margin_of_the_solution_unless_given() -> None:
    done = run("plan", URDF, scene(), "--retime", "--margin", "0.01", "--out", "motion.h5")
    assert done.exit_code == 0, done.stderr
    solution = predyn.load_solution("motion.h5")
    around = predyn.load_scene("scene.json")
    proof = predyn.certify(solution, around, margin=0.01)
    replace(solution, scene=around, certificate=proof).save("whole.h5")
    done = run("certify", "whole.h5")
    assert done.exit_code == 0, done.stderr
    told = "of the solution: scene (1 obstacle, 0 parts) and margin (10 mm)"
    assert done.stdout.splitlines()[0] == told
    assert "certified, margin 10 mm" in done.stdout
    done = run("certify", "whole.h5", "--margin", "0.5")
    assert done.exit_code == 4
    assert "margin (" not in done.stdout
    assert "within the margin" in done.stdout


def test_a_path_without_times_names_the_command() -> None:
    assert run("plan", URDF, scene(), "--out", "path.csv").exit_code == 0
    options = ("--model", URDF, "--interpolation", "linear")
    refused(
        2, "predyn plan --retime --out motion.h5", "certify", "path.csv", "scene.json", *options
    )


def test_check_describes_a_scene() -> None:
    ball = {"name": "ball", "kind": "sphere", "radius": 0.1,
            "path": {"times": [0, 2], "positions": [[0, 0, 1], [0, 1, 1]]}}  # fmt: skip
    bar = {
        "name": "bar",
        "kind": "cylinder",
        "radius": 0.1,
        "length": 2.0,
        "rpy": [0, np.pi / 2, 0],
    }
    tool = {"name": "pen", "link": "fore", "kind": "capsule", "radius": 0.01, "length": 0.1}
    scene(obstacles=[BOX, ball, bar], parts=[tool], allowed=[["bar", "upper"]])
    done = run("check", "scene.json")
    assert done.exit_code == 0, done.stderr
    for text in (
        "scene: 1 box, 1 sphere, 1 cylinder; 1 part, 1 allowed pair",
        "x from -1 to 1.65, y from -0.15 to 1.1, z from -0.5 to 1.1 m",
        "obstacle 'ball' (sphere 0.1 m), moves from 0 to 2 s",
        "part 'pen' (capsule 0.01 x 0.1 m) on 'fore'",
        "may touch: 'bar' and 'upper'",
        "note: fields that describe a task",
    ):
        assert text in done.stdout
    Path("scene.toml").write_text('format = "predyn-scene-1"\nobstacles = []\n')
    assert "no obstacles" in run("check", "scene.toml").stdout
    scene(obstacles=[BOX | {"kind": "torus"}])
    refused(2, "unknown kind of obstacles[0] 'torus'", "check", "scene.json")


def test_undecided_is_neither() -> None:
    """Beside an edge of a mesh, distances are lower bounds: a touch of them proves nothing."""
    trimesh.creation.box((0.3, 0.3, 1.0)).export("box.stl")
    Path("m.csv").write_text("time,shoulder,elbow\n0,0.24,0\n1,0.23,0\n")
    mesh = {"name": "rock", "kind": "mesh", "file": "box.stl", "position": [2.16, 0.15, 0.0]}
    options = ("--model", URDF, "--interpolation", "linear")
    done = run("certify", "m.csv", scene(obstacles=[mesh]), *options, "--margin", "0.2")
    assert done.exit_code == 4, done.stdout
    assert done.stdout.startswith("undecided")


def test_meshes_need_capsules_and_their_files() -> None:
    trimesh.creation.capsule(height=0.9, radius=0.04).export("bar.stl")
    mesh = URDF.read_text().replace(
        '<cylinder radius="0.04" length="0.9"/>', '<mesh filename="bar.stl"/>'
    )
    Path("meshes.urdf").write_text(mesh)
    Path("lost.urdf").write_text(mesh.replace("bar.stl", "package://arm/bar.stl"))
    Path("outside.urdf").write_text(mesh.replace("bar.stl", "../bar.stl"))
    refused(2, "'upper' has a collision mesh; add --capsules 3", "plan", "meshes.urdf", scene())
    assert run("plan", "meshes.urdf", "scene.json", "--capsules", "1").exit_code == 0
    lost = ("plan", "lost.urdf", "scene.json", "--capsules", "1", "--out", "x.csv")
    refused(2, "'package://arm/bar.stl' was not found; name the folder", *lost)
    refused(2, "leads out of", "plan", "outside.urdf", "scene.json", "--capsules", "1")
    assert run(*lost, "--packages", "arm").exit_code == 2
    Path("arm").mkdir()
    Path("bar.stl").rename("arm/bar.stl")
    assert run(*lost, "--packages", "arm").exit_code == 0


WALLS = [
    {"name": "right", "kind": "box", "size": [1.9, 0.02, 1], "position": [1.2, 0, 0]},
    {"name": "left", "kind": "box", "size": [1.9, 0.02, 1], "position": [-1.2, 0, 0]},
]
OPTIONS: list[tuple[int, str, tuple[str, ...]]] = [
    (2, "'shoulder' is -9, outside its position limits", ("--start", "-9,0")),
    (3, "start_in_collision: start: 'fore' and 'box' overlap by 190 mm", ("--start", "0,0")),
    (3, "goal_in_collision: goal: 'fore' and 'box' overlap by 190 mm", ("--goal", "0,0")),
    (2, "--start: expected 2 numbers, for shoulder, elbow; got 1", ("--start", "0")),
    (2, "--start: expected a position of every joint, none for", ("--start", "elbow=1")),
    (2, "unknown joint of --start 'elbo': did you mean 'elbow'", ("--start", "elbo=1")),
    (2, "--start: expected a number, got 'x'", ("--start", "x,1")),
    (2, "start: expected finite numbers, got nan", ("--start", "nan,0")),
    (2, "the same as start", ("--goal", "0.6,0")),
    (2, "expected FRAME=X,Y,Z", ("--goal-pose", "tool=1,0")),
    (2, "expected FRAME=X,Y,Z", ("--goal-pose", "1,0,0")),
    (2, "unknown frame or link 'tol': did you mean 'tool'", ("--goal-pose", "tol=1,0,0")),
    (3, "goal_out_of_reach", ("--goal-pose", "tool=5,0,0")),
    (
        3,
        "time_limit: goal: no joint positions for the pose of 'tool' in 1e-06 s and 1 descents",
        ("--goal-pose", "tool=5,0,0", "--max-seconds", "1e-6"),
    ),
    (2, "position: expected at most 1e+12 m", ("--goal-pose", "tool=1e300,0,0")),
    (2, "goal: 'world' is fixed to the world", ("--goal-pose", "world=0,0,0")),
    (2, "margin: expected a distance of at least 0 m, at most 10000 m", ("--margin", "1e308")),
    (2, "--goal or --goal-pose, got both", ("--goal", "0,1", "--goal-pose", "tool=1,0,0")),
    (2, "margin: expected a distance of at least 0 m", ("--margin", "-1")),
    (2, "--max-seconds: expected a finite number above 0, got nan", ("--max-seconds", "nan")),
    (2, "--max-seconds: expected a finite number above 0, got 0", ("--max-seconds", "0")),
    (2, "expected a file that ends in .csv, .json", ("--out", "x.txt")),
    (2, "expected a file that ends in .csv, .json (add --retime)", ("--out", "x.yaml")),
    (2, "make the folder first", ("--out", "none/x.csv")),
    (2, "expected a robot with 6 revolute joints", ("--retime", "--out", "x.script")),
]
FIELDS: list[tuple[int, str, dict[str, Any]]] = [
    (2, "unknown joint of scene.json: start 'wrist'", {"joints": ["elbow", "wrist"]}),
    (2, "start: expected 1 numbers, one for each of `joints`", {"joints": ["elbow"]}),
    (2, "joints: expected different names", {"joints": [["elbow"], 2]}),
    (2, "start: expected real numbers", {"start": ["a", 0]}),
    (2, "start: expected finite numbers", {"start": [float("nan"), 0]}),
    (2, "expected --start, or a field 'start' of scene.json", {"start": None}),
    (2, "goal: expected 2 numbers", {"goal": [[0, -0.6], 3]}),
    (2, "unknown kind of obstacles[0] 'torus'", {"obstacles": [BOX | {"kind": "torus"}]}),
    (2, "no such file", {"obstacles": [{"name": "o", "kind": "mesh", "file": "no.stl"}]}),
    (2, "leads out of", {"obstacles": [{"name": "o", "kind": "mesh", "file": "../o.stl"}]}),
    (3, "start: 'upper' and 'all' overlap",
     {"obstacles": [{"name": "all", "kind": "sphere", "radius": 5}]}),
    (3, "time_limit: no path in 0.1 s", {"obstacles": WALLS}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "message", "options"), OPTIONS)
def test_bad_options(code: int, message: str, options: tuple[str, ...]) -> None:
    out = () if "--out" in options else ("--out", "x.csv")
    refused(code, message, "plan", URDF, scene(), *options, *out)


@pytest.mark.parametrize(("code", "message", "changes"), FIELDS)
def test_bad_scenes(code: int, message: str, changes: dict[str, Any]) -> None:
    options = ("--max-seconds", "0.1", "--out", "x.csv")
    refused(code, message, "plan", URDF, scene(**changes), *options)


def test_missing_files() -> None:
    scene()
    refused(2, "none.urdf: cannot be read", "plan", "none.urdf", "scene.json")
    refused(2, "none.json: cannot be read", "plan", URDF, "none.json")
    refused(2, "no collision shapes", "plan", "two-link", "scene.json", "--start", "0,0",
            "--goal", "1,1")  # fmt: skip
    options = ("--model", URDF, "--interpolation", "linear")
    refused(2, "none.csv: cannot be read", "certify", "none.csv", "scene.json", *options)
    refused(2, "none.h5: cannot be read", "certify", "none.h5", "scene.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,shoulder\n0,1\n1,2\n", "expected a column for joint 'elbow'"),
        ("shoulder,elbow\n0,1\n1,2\n", "expected a column 'time'"),
        ("time,shoulder,elbow\n0,1,1\n1,nan,1\n", "line 3: expected finite numbers"),
        ("time,shoulder,elbow\n0,1,1\n1,x,1\n", "line 3: expected a number in each column"),
        ("time,shoulder,elbow\n0,1,1\n0,1,1\n", "increasing"),
        ("time,shoulder,elbow\n0,1,1\n", "K > 1"),
        ("time,shoulder [deg],elbow\n0,1,1\n1,1,1\n", "got 'deg'"),
        ("t [ms],shoulder,elbow\n0,1,1\n1,1,1\n", "got 'ms'"),
        ("time,q.elbow [rad],shoulder,elbow\n0,1,1,1\n1,1,1,1\n", "one column 'elbow'"),
        (f"time,shoulder,elbow\n0,{'1' * 200_000},1\n", "not a valid CSV file"),
    ],
)  # fmt: skip
def test_bad_tables(text: str, message: str) -> None:
    Path("m.csv").write_text(text)
    refused(2, message, "certify", "m.csv", scene(), "--model", URDF, "--interpolation", "linear")

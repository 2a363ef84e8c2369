"""predyn plan, predyn certify: robots among obstacles."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from predyn.cli.guard import (
    NOT_CERTIFIED,
    NOT_CONVERGED,
    AllowAbsolute,
    AllowCode,
    Capsules,
    Packages,
    place,
    report_compiling,
    say,
    show,
)
from predyn.cli.model_source import load_model, with_capsules
from predyn.cli.option_values import in_joint_order, read_pose, read_positions
from predyn.cli.stored import load
from predyn.errors import FileError, InputError
from predyn.storage.files import not_written

if TYPE_CHECKING:
    from predyn.collision import Checker, JointPath, Scene
    from predyn.model import Model
    from predyn.planning import Plan, Retiming
    from predyn.solution import Solution

Interpolation = Literal["linear", "cubic"]
PLAN_SUFFIXES = (".csv", ".json")
TIMED_SUFFIXES = (".h5", ".csv", ".sto", ".mot", ".yaml", ".yml", ".json", ".script")
RETIME = "; to write the motion: predyn plan --retime --out motion.h5"
SceneFile = Annotated[Path, typer.Argument(help="A scene: .json or .toml.", metavar="SCENE")]


def plan(
    model: Annotated[
        str,
        typer.Argument(
            help="A .urdf file, a task (.toml or name) for its model, or the name of a model.",
            metavar="MODEL_OR_TASK",
        ),
    ],
    scene: SceneFile,
    start: Annotated[
        list[str] | None,
        typer.Option(
            help="Joint positions, rad or m: numbers with commas in the order of the joints, or "
            "JOINT=NUMBER (repeatable; default: `start` of the scene)."
        ),
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(help="The same for the goal (default: `goal` of the scene)."),
    ] = None,
    goal_pose: Annotated[
        str | None,
        typer.Option(help="FRAME=X,Y,Z or FRAME=X,Y,Z,ROLL,PITCH,YAW as the goal, m and rad."),
    ] = None,
    margin: Annotated[float, typer.Option(help="Distance to keep, m.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    max_seconds: Annotated[float, typer.Option(help="Time limit of the search, s.")] = 10.0,
    capsules: Capsules = None,
    retime: Annotated[
        bool, typer.Option("--retime", help="Time the path: least time within all limits.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place,
            metavar="FILE",
            help="Write the corners (.csv) or the curve (.json); with --retime the motion: .h5, "
            ".csv, .sto, .mot, .json (polynomials), .yaml (ROS) or .script (URScript).",
        ),
    ] = None,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    packages: Packages = None,
) -> None:
    """Find a collision-free path for a robot, proved between samples.

    Exit code 0: found; 2: invalid input; 3: no path, or no timing of it. Nothing is written
    without a path.
    """
    from predyn.collision import Checker, load_scene
    from predyn.planning import plan as find_path

    _check_out(out, TIMED_SUFFIXES if retime else PLAN_SUFFIXES)
    if not 0.0 < max_seconds < math.inf:
        raise InputError(f"--max-seconds: expected a finite number above 0, got {max_seconds:g}")
    obstacles = load_scene(scene)
    robot = with_capsules(load_model(model, allow_absolute, allow_code, packages), capsules)
    if out is not None and out.suffix.lower() == ".script":
        from predyn.solution.urscript import servo_rate

        servo_rate(robot, None)  # refuses other robots before the search
    first = _positions("start", start, scene, obstacles, robot)
    last = _goal(goal, goal_pose, scene, obstacles, robot)
    _tell_base_pose(scene, obstacles)
    report_compiling(False)
    checker = Checker(robot, obstacles)
    found = find_path(
        robot, checker, first, last, margin=margin, seed=seed, max_seconds=max_seconds
    )
    show(str(found))
    if not found.success:
        say(f"predyn: no path: {found.status}: {found.message}")
        raise typer.Exit(NOT_CONVERGED)
    motion = _retimed(found, checker) if retime else found
    if out is not None:
        _write(motion, out)
        show(f"\nwrote {out}")


def certify(
    motion: Annotated[
        Path,
        typer.Argument(
            help="A solution.h5 or its folder, or a .csv file with a column `time` and one for "
            "each joint.",
            metavar="MOTION",
        ),
    ],
    scene: Annotated[
        Path | None,
        typer.Argument(
            help="A scene: .json or .toml (default: that of the solution).", metavar="SCENE"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The robot, as for `predyn plan` (default: that of the solution; .csv files need "
            "it)."
        ),
    ] = None,
    interpolation: Annotated[
        Interpolation | None,
        typer.Option(help="Of a .csv file, which needs it: linear or cubic."),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Distance to keep, m (default: that of the solution, else 0)."),
    ] = None,
    capsules: Capsules = None,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    packages: Packages = None,
) -> None:
    """Prove that a motion keeps clear of a scene and of itself at all times.

    Exit code 0: certified; 2: invalid input; 4: a collision, within the margin, or undecided.
    """
    from predyn.collision import certify as check_motion
    from predyn.collision import load_scene

    obstacles = None if scene is None else load_scene(scene)
    given = None if model is None else load_model(model, allow_absolute, allow_code, packages)
    moving, robot = _motion(motion, given, interpolation)
    robot = with_capsules(robot, capsules)
    if scene is not None and obstacles is not None:
        _tell_base_pose(scene, obstacles)
    obstacles, kept = _conditions(motion, moving, obstacles, margin)
    report_compiling(False)
    found = check_motion(moving, obstacles, robot, margin=kept)
    show(str(found))
    if found.status != "certified":
        say(f"predyn: not certified: {found.verdict}")
        raise typer.Exit(NOT_CERTIFIED)


def _conditions(
    path: Path, motion: Solution | JointPath, scene: Scene | None, margin: float | None
) -> tuple[Scene, float]:
    """Scene and margin, where they are not given those of the solution, which is told."""
    from predyn.results.scene_text import counted

    certificate = getattr(motion, "certificate", None)
    taken = []
    if scene is None:
        scene = getattr(motion, "scene", None)
        if scene is None:
            what = "a .csv file" if path.suffix.lower() == ".csv" else "this solution"
            raise InputError(
                f"{path}: {what} has no scene; name one: predyn certify {path} scene.json"
            )
        taken.append(
            f"scene ({counted(scene.obstacles, 'obstacle')}, {counted(scene.parts, 'part')})"
        )
    if margin is None:
        margin = 0.0 if certificate is None else certificate.margin
        if certificate is not None:
            taken.append(f"margin ({1e3 * margin:g} mm)")
    if taken:
        show(f"of the solution: {' and '.join(taken)}")
    return scene, margin


def _motion(
    path: Path, model: Model | None, interpolation: Interpolation | None
) -> tuple[Solution | JointPath, Model]:
    """The motion in a file, and the robot that moves."""
    from predyn.collision import load_joint_path

    if path.suffix.lower() == ".csv":
        if model is None:
            raise InputError(f"{path}: a .csv file has no model; add --model FILE")
        if interpolation is None:
            raise InputError(
                f"{path}: add --interpolation linear or --interpolation cubic, what happens "
                "between its rows"
            )
        try:
            return load_joint_path(path, model, interpolation), model
        except FileError as error:
            untimed = "expected a column 'time'" in str(error)
            raise FileError(f"{error}{RETIME if untimed else ''}") from None
    if interpolation is not None:
        raise InputError("--interpolation: for .csv files only; a solution has its own curves")
    solution = load(path)
    if not solution.success:
        say(f"predyn: note: the solution is not a success: {solution.status}")
    if model is not None and model.joint_names != solution.model.joint_names:
        raise InputError(
            f"--model: expected the joints of the solution, {', '.join(solution.model.joint_names)}"
            f", got {', '.join(model.joint_names)}"
        )
    return solution, solution.model if model is None else model


def _positions(name: str, given: list[str] | None, path: Path, scene: Scene, model: Model) -> Any:
    """Joint positions of an option, or of the field of the scene with its name."""
    positions = read_positions(f"--{name}", given, model.joint_names)
    if positions is not None:
        return positions
    stored, joints = scene.extra.get(name), scene.extra.get("joints")
    if stored is None:
        raise InputError(f"expected --{name}, or a field {name!r} of {path}")
    where = f"{path}: {name}"
    if joints is None:
        return stored
    rows = stored if isinstance(stored, list) and stored and isinstance(stored[0], list) else None
    ordered = [_in_order(where, row, joints, model) for row in rows or [stored]]
    return ordered if rows else ordered[0]


def _in_order(where: str, values: Any, joints: Any, model: Model) -> list[float]:
    """Values in the order of the scene's `joints`, in that of the model."""
    names = isinstance(joints, list) and all(isinstance(joint, str) for joint in joints)
    if not names or len(set(joints)) < len(joints):
        raise InputError(f"{where}: joints: expected different names, got {joints!r:.80}")
    if not isinstance(values, list) or len(values) != len(joints):
        raise InputError(
            f"{where}: expected {len(joints)} numbers, one for each of `joints`, got {values!r:.80}"
        )
    return in_joint_order(where, dict(zip(joints, values, strict=True)), model.joint_names)


def _goal(goal: list[str] | None, pose: str | None, path: Path, scene: Scene, model: Model) -> Any:
    """A PoseGoal, or joint positions of one goal or several."""
    if pose is None:
        return _positions("goal", goal, path, scene, model)
    if goal:
        raise InputError("expected --goal or --goal-pose, got both")
    from predyn.planning import PoseGoal

    frame, position, orientation = read_pose("--goal-pose", pose)
    model.frame(frame)
    return PoseGoal(frame, position, orientation)


def _tell_base_pose(path: Path, scene: Scene) -> None:
    if "base_pose" in scene.extra:
        say(f"predyn: note: {path}: base_pose is not applied; the model must stand there already")


def _retimed(found: Plan, checker: Checker) -> Retiming:
    """The path with its best timing, proved again: the motion is another spline."""
    from predyn.collision import certify as check_motion
    from predyn.planning import retime

    assert found.curve is not None
    motion = retime(found.model, found.curve)
    show(str(motion))
    if not motion.success:
        say(f"predyn: no timing: {motion.status}: {motion.message}")
        raise typer.Exit(NOT_CONVERGED)
    certificate = check_motion(motion.to_solution(), checker, margin=found.margin)
    show(str(certificate))
    if certificate.status != "certified":
        say("predyn: the timed motion is not certified; plan with a slightly larger --margin")
        raise typer.Exit(NOT_CONVERGED)
    return motion


def _check_out(out: Path | None, suffixes: tuple[str, ...]) -> None:
    """Raise an error before the search if its result could not be written."""
    if out is None:
        return
    suffix = out.suffix.lower()
    if suffix not in suffixes:
        hint = " (add --retime)" if suffix in TIMED_SUFFIXES else ""
        raise InputError(f"--out {out}: expected a file that ends in {', '.join(suffixes)}{hint}")
    if not out.parent.is_dir():
        number = errno.ENOTDIR if out.parent.exists() else errno.ENOENT
        raise not_written(out, OSError(number, os.strerror(number)))


def _write(motion: Plan | Retiming, out: Path) -> None:
    from predyn.planning import Retiming

    if isinstance(motion, Retiming) and out.suffix.lower() == ".json":
        motion.export(out, format="polynomials")
    else:
        motion.export(out)

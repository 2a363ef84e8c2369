"""predyn check, report, view, export: commands that read files."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from predyn import tasks
from predyn.cli.guard import (
    NOT_CONVERGED,
    AllowAbsolute,
    AllowCode,
    MovementOptions,
    NormsFile,
    Packages,
    ResultFile,
    place,
    say,
    show,
)
from predyn.cli.option_values import read_movement_options
from predyn.cli.stored import is_study_folder, load_any, path_of_result
from predyn.errors import InputError


def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A task (.toml or name), a study (.toml), a model (.urdf, .osim), a scene "
            "(.json, .toml), a recording (.csv, .trc, .c3d, .mot, .sto) or a result (.h5)."
        ),
    ],
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    packages: Packages = None,
    units: Annotated[
        list[str] | None,
        typer.Option(help="Unit of a recording that states none: mm, deg (repeatable)."),
    ] = None,
    set_: MovementOptions = None,
) -> None:
    """Show what a file contains and what is wrong with it."""
    from predyn.load import model_files
    from predyn.recordings.loading import READERS, load_measurements
    from predyn.results import descriptions

    suffix = Path(file).suffix.lower()
    content = _toml(Path(file)) if suffix == ".toml" else {}
    is_scene = suffix == ".json" or str(content.get("format", "")).startswith("predyn-scene")
    is_study = "vary" in content
    is_task = (suffix == ".toml" and not is_scene and not is_study) or file in tasks.NAMES
    if set_ and not is_task:
        raise InputError(f"--set: {file} is no task; only the movement of a task has options")
    if suffix in model_files.SUFFIXES:
        show(descriptions.model_text(model_files.load_model_file(file, packages)))
    elif is_scene:
        from predyn.collision import load_scene
        from predyn.results.scene_text import scene_text

        show(scene_text(load_scene(file)))
    elif is_study:
        from predyn.study import read_study
        from predyn.study.study_text import study_text

        study = read_study(file, allow_absolute=allow_absolute, allow_code=allow_code)
        show(study_text(study))
    elif suffix in READERS:
        show(descriptions.recording_text(load_measurements(file, units=units)))
    elif file not in tasks.NAMES and (
        suffix in (".h5", ".hdf5") or (Path(file).is_dir() and path_of_result(Path(file)).is_file())
    ):
        _check_result(Path(file))
    elif is_task:
        from predyn.config import read_task
        from predyn.problem.plausibility import warn_if_implausible

        options = read_movement_options(set_)
        problem = read_task(
            file, allow_absolute=allow_absolute, allow_code=allow_code, options=options
        ).problem
        if (Path(file) / "solution.h5").is_file():
            say(f"predyn: note: this is the task; to check its solution: predyn check ./{file}")
        show(descriptions.problem_text(problem))
        show(descriptions.model_text(problem.model, problem.limits))
        warn_if_implausible(problem)
    else:
        raise InputError(
            f"{file}: expected a task (.toml, or a name from `predyn examples`), a study (.toml), "
            f"a model (.urdf, .osim), a scene (.json, .toml), a recording ({', '.join(READERS)}) "
            "or a result (.h5)"
        )


def _toml(file: Path) -> dict[str, Any]:
    """The contents of a .toml file, which show whether it is a task, a study or a scene."""
    import tomllib

    from predyn.storage.reading import refuse_irregular

    refuse_irregular(file)
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except (OSError, ValueError, RecursionError):
        return {}  # reading the task tells what is wrong


def _check_result(path: Path) -> None:
    from predyn.results import descriptions
    from predyn.results.solutions import solution_text
    from predyn.solution import Solution

    result = load_any(path)
    if isinstance(result, Solution):
        show(solution_text(result))
        show(descriptions.model_text(result.model, result.limits))
    else:
        from predyn.results.estimates import estimate_text

        show(estimate_text(result))
        show(descriptions.model_text(result.model))
    if not result.success:
        what = "solution" if isinstance(result, Solution) else "estimate"
        say(f"predyn: no valid {what}: {result.status}")
        raise typer.Exit(NOT_CONVERGED)


def report(
    result: ResultFile,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place,
            metavar="PATH",
            help="HTML file (default: report.html next to the result; NAME.html next to NAME.h5).",
        ),
    ] = None,
    norms: NormsFile = None,
) -> None:
    """Write the report of a solution, an estimate or a study: one self-contained HTML file."""
    from predyn.analysis.cycles import gait_cycles
    from predyn.analysis.norms import load_norms
    from predyn.results.folder import locked
    from predyn.results.stored import ESTIMATE, REPORT, SOLUTION
    from predyn.storage.files import write_text
    from predyn.view.server import html_of

    if is_study_folder(result):
        if out is not None or norms is not None:
            raise InputError(f"{result}: contains a study, whose report has no options")
        from predyn.view.study_report import study_report

        show(f"wrote {study_report(result)}")
        return
    bands = None if norms is None else load_norms(norms)
    path = path_of_result(result, "report")
    usual = path.name in (SOLUTION, ESTIMATE)  # a folder may hold several other files
    target = out or (path.with_name(REPORT) if usual else path.with_suffix(".html"))
    beside = path.is_file() and target.parent.resolve() == path.parent.resolve()
    with (
        locked(path.parent) if beside else nullcontext()
    ):  # so that the result is not replaced meanwhile
        loaded = load_any(path)
        gait = None if bands is None else gait_cycles(loaded, norms=bands)
        write_text(target, html_of(loaded, gait))
    show(f"wrote {target}")


def view(
    result: ResultFile,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Show a solution or estimate in the browser, served on this machine only."""
    from predyn.view.server import serve

    path_of_result(result, "view")
    serve(result, port=port, open_browser=browser)


def export(
    result: ResultFile,
    to: Annotated[
        Path | None,
        typer.Option(help="File: .csv, .sto, .mot, .h5; for robots .yaml, .script, .json."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="For robots: ros, ros-effort, urscript or polynomials (solutions only)."),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Samples per second (solutions only).")] = None,
    grf: Annotated[
        Path | None,
        typer.Option(help="Write the predicted ground forces for OpenSim: .mot or .sto, y up."),
    ] = None,
    loads: Annotated[
        Path | None, typer.Option(help="With --grf: also write an external-loads file (.xml).")
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, help="Cyclic motions: how often, 2 for both steps of a stride.")
    ] = 1,
) -> None:
    """Export the motion of a solution or estimate, or its ground forces, for other programs."""
    from predyn.solution import Solution
    from predyn.solution.force_export import force_texts
    from predyn.storage.files import write_texts

    if to is None and grf is None:
        raise InputError("expected --to FILE for the motion or --grf FILE for the ground forces")
    if loads is not None and grf is None:
        raise InputError("--loads: it needs --grf, whose columns it names")
    if format is not None and to is None:
        raise InputError("--format: it needs --to, the file of the motion")
    targets = [path.resolve() for path in (to, grf, loads) if path is not None]
    if len(set(targets)) < len(targets):
        raise InputError("--to, --grf, --loads: expected different files")
    loaded = load_any(path_of_result(result, "export"))
    if isinstance(loaded, Solution):
        motion = loaded.repeated(repeat) if repeat > 1 else loaded
        texts = [] if grf is None else force_texts(motion, grf, rate, loads)
        write_texts(texts, None if to is None else partial(motion.export, to, rate, format=format))
    elif rate is not None:
        raise InputError("--rate: an estimate is written at its own times; omit this option")
    elif format is not None:
        raise InputError("--format: expected a solution; estimates have no formats for robots")
    elif grf is not None or repeat > 1:
        raise InputError("--grf, --repeat: expected a solution; an estimate has measured forces")
    elif to is not None:
        loaded.export(to)
    show("\n".join(f"wrote {path}" for path in (to, grf, loads) if path is not None))
    if not loaded.success:
        say(f"predyn: note: the result is not a success: {loaded.status}")

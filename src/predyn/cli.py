"""The command line: predyn examples | solve | check | simulate | report | view | export."""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from predyn import __version__, tasks
from predyn.errors import InputError, PredynError, unknown_name

if TYPE_CHECKING:
    from predyn.problem import Problem
    from predyn.replaying import Replay
    from predyn.solution import Solution
    from predyn.trajectories import Trajectory

BUG, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130

P = ParamSpec("P")
R = TypeVar("R")

app = typer.Typer(
    name="predyn",
    help="Optimal motions of mechanisms: a task file in, a motion with its forces out.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
_debug = False

SolutionFile = Annotated[
    Path, typer.Argument(help="A solution.h5, or the folder that holds it.", metavar="SOLUTION")
]
AllowAbsolute = Annotated[
    bool, typer.Option(help="Let the task read files that are not beside or below it.")
]
AllowCode = Annotated[bool, typer.Option(help="Let the task run the Python functions it names.")]


def main() -> None:
    """Entry point of the command `predyn`."""
    app()


def _guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Errors of a command become one message and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return command(*args, **kwargs)
        except PredynError as error:
            if _debug:
                traceback.print_exc()
            _say(f"predyn: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError:
            _say("predyn: not enough memory; use fewer segments, limit points or starts")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            _say("predyn: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if _debug:
                raise
            _say(
                f"predyn: this should not have happened: {type(error).__name__}: {error}\n"
                f"Please report it with the task file and the output of `predyn --debug "
                f"{' '.join(sys.argv[1:])}` (predyn {__version__})."
            )
            raise typer.Exit(BUG) from None

    return run


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"predyn: warning: {message}")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"predyn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    global _debug
    _debug = debug


@app.command()
@_guarded
def examples() -> None:
    """List the tasks that come with predyn."""
    import tomllib

    width = max(len(name) for name in tasks.NAMES)
    for name in tasks.NAMES:
        task = tomllib.loads(tasks.path_of(name).read_text(encoding="utf-8"))
        typer.echo(f"{name:<{width}}  {task['description']}")
    typer.echo(f"\nSolve one: predyn solve {tasks.NAMES[1]}\nTheir files: {tasks.FOLDER}")


@app.command()
@_guarded
def solve(
    task: Annotated[str, typer.Argument(help="A .toml file, or a name from `predyn examples`.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; ./NAME unless told.")
    ] = None,
    starts: Annotated[int, typer.Option(min=1, help="How many guesses to try.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the guesses after the first.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the latest in DIR.")] = False,
    resume_from: Annotated[
        Path | None, typer.Option(help="Go on from this checkpoint or solution.")
    ] = None,
    guess: Annotated[Path | None, typer.Option(help="A solution.h5 to start near.")] = None,
    refine: Annotated[
        bool | None, typer.Option(help="Refine until limits hold between the points too.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="spline or hybrid, in place of the task's own.")
    ] = None,
    segments: Annotated[int | None, typer.Option(min=1, help="Spline segments per phase.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Of the solver.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Time limit of the solver.")] = None,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
) -> None:
    """Find the optimal motion of a task.

    Writes solution.h5, summary.json and report.html. Exit code 0: solved; 2: something is wrong in
    the input; 3: not converged; 130: interrupted. What was reached is written in the last two
    cases too, but never in the place of a result that converged.
    """
    from predyn import results
    from predyn.config import read_task
    from predyn.config.schema import METHODS

    if method is not None and method not in METHODS:
        raise unknown_name("--method", method, METHODS)
    read = read_task(task, allow_absolute=allow_absolute, allow_code=allow_code, method=method)
    problem = _changed(read.problem, segments, tolerance, max_seconds)
    folder = out or Path(results.folder_name(problem.name))
    checkpoint = folder / results.CHECKPOINT
    if resume:
        if resume_from is not None:
            raise InputError("expected --resume or --resume-from, got both")
        resume_from = results.latest(folder)
    near = None if guess is None else _load(guess)
    with results.prepared(folder):
        solution = _solved(
            problem,
            quiet=quiet,
            guess=near,
            starts=starts,
            seed=seed,
            checkpoint=checkpoint if starts == 1 else None,
            resume=resume_from,
            refine=refine,
        )
        solution = replace(solution, provenance={**solution.provenance, "task": read.text})
        written, cut_short = _written(solution, folder, not no_report)
    if solution.success and not cut_short:
        return
    if cut_short:
        made = f"`predyn report {written[0].parent}` makes it"
        _say(f"predyn: interrupted while writing the report; {made}")
    if not solution.success:
        _say(f"predyn: not solved: {solution.status}")
        _say(f"predyn: to go on from there: predyn solve {task} --resume-from {written[0]}")
    stopped = cut_short or solution.status == "interrupted"
    raise typer.Exit(INTERRUPTED if stopped else NOT_CONVERGED)


def _written(solution: Solution, folder: Path, report: bool) -> tuple[list[Path], bool]:
    """Write what was found, then its report, and tell both; whether Ctrl-C left no report.

    Whatever happens while the report is made, solution and summary are there.
    """
    from predyn import results
    from predyn.interrupts import held_back

    written: list[Path] = []
    cut_short = False
    try:
        with held_back():
            written += results.write_results(solution, folder)
            if solution.success:
                (folder / results.CHECKPOINT).unlink(missing_ok=True)
        if report:
            from predyn.view.report import write_report

            write_report(solution, written[0].with_name(results.REPORT))
            written.append(written[0].with_name(results.REPORT))
    except KeyboardInterrupt:
        if not written:
            raise
        cut_short = report
    finally:
        if written:
            typer.echo(str(solution))
            typer.echo("\n".join(["", *(f"wrote {path}" for path in written)]))
    return written, cut_short


def _changed(
    problem: Problem, segments: int | None, tolerance: float | None, max_seconds: float | None
) -> Problem:
    """The problem with what the command line says in place of the file."""
    spline, solver = problem.transcription, problem.solver
    phases = problem.phases
    if segments is not None:
        spline = replace(spline, segments=segments)
        phases = tuple(replace(phase, segments=None) for phase in phases)
        if not isinstance(spline.knots, str):
            raise InputError("--segments: the task gives its own knots; change those")
    if tolerance is not None:
        solver = replace(solver, tolerance=tolerance)
    if max_seconds is not None:
        solver = replace(solver, max_seconds=max_seconds)
    changed = replace(problem, phases=phases, transcription=spline, solver=solver)
    wrong = changed.validate()
    if wrong:
        raise InputError("\n  ".join(wrong))
    return changed


def _solved(problem: Problem, *, quiet: bool, **options: Any) -> Solution:
    from predyn.dynamics import kernel_cache
    from predyn.solvers.progress import Progress
    from predyn.solving import solve

    if quiet:
        return solve(problem, **options)
    kernels = kernel_cache.folder()
    if kernels is None or not any(kernels.iterdir()):
        _say("predyn: compiling kernels, once, about half a minute")
    with Progress() as progress:
        return solve(problem, report=progress, **options)


@app.command()
@_guarded
def check(
    file: Annotated[
        str, typer.Argument(help="A task (.toml or name), a model (.urdf) or a solution (.h5).")
    ],
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
) -> None:
    """Say what a file holds and what is wrong in it."""
    from predyn import descriptions

    suffix = Path(file).suffix.lower()
    if suffix in (".urdf", ".xml"):
        from predyn.load.urdf import load_urdf

        typer.echo(descriptions.model_text(load_urdf(file)))
    elif file not in tasks.NAMES and (
        suffix in (".h5", ".hdf5") or (Path(file) / "solution.h5").is_file()
    ):
        solution = _load(Path(file))
        typer.echo(str(solution))
        kinds = solution.model.limits._fields
        limits = solution.model.limits._replace(**{k: solution.limits[k] for k in kinds})
        typer.echo(descriptions.model_text(solution.model, limits))
        if not solution.success:
            _say(f"predyn: not a solution: {solution.status}")
            raise typer.Exit(NOT_CONVERGED)
    elif suffix == ".toml" or file in tasks.NAMES:
        from predyn.config import load_task

        problem = load_task(file, allow_absolute=allow_absolute, allow_code=allow_code)
        if (Path(file) / "solution.h5").is_file():
            _say(f"predyn: note: this is the task; its solution: predyn check ./{file}")
        typer.echo(descriptions.problem_text(problem))
        typer.echo(descriptions.model_text(problem.model, problem.limits))
    else:
        raise InputError(
            f"{file}: expected a task (.toml, or a name from `predyn examples`), a model (.urdf) "
            "or a solution (.h5)"
        )


@app.command()
@_guarded
def simulate(
    source: Annotated[
        str,
        typer.Argument(
            help="A solution.h5 or its folder; or a task (.toml or name).",
            metavar="TASK_OR_SOLUTION",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for simulation.csv.")] = None,
    torque: Annotated[
        list[str] | None, typer.Option(help="Of a task: JOINT=VALUE, held; repeat it.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Of a task: how long.")] = None,
    rate: Annotated[float | None, typer.Option(help="Of a task: rows per second (100).")] = None,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
) -> None:
    """Simulate forward in time, independently of the solver.

    A solution is replayed: its torques drive the mechanism, and the table says how far the motion
    is from the predicted one. The mechanism of a task moves from the task's first state on, under
    no torques unless told. A name whose folder is here means that solution, unless an option is
    for tasks. Exit code 3: the simulation diverged; what there is is written.
    """
    from predyn import results, simulation_results
    from predyn.files import write_text

    path = Path(source)
    in_folder = (path / results.SOLUTION).is_file()
    asked = bool(torque) or seconds is not None or rate is not None
    by_name = source in tasks.NAMES and asked
    motion: Replay | Trajectory
    if path.suffix.lower() in (".h5", ".hdf5") or (in_folder and not by_name):
        from predyn.replaying import replay

        if asked:
            raise InputError(
                f"{source} is a solution: --torque, --seconds and --rate are for tasks; "
                "predyn.simulate in Python takes a solution's torques and anything else"
            )
        solution = _load(path)
        place = f"folder {os.path.join('.', path)}" if in_folder else source
        _say(f"predyn: replaying the solution in {place}")
        motion = simulation_results.told_for_commands(replay(solution))
        text = str(motion)
    else:
        from predyn.config import load_task

        problem = load_task(source, allow_absolute=allow_absolute, allow_code=allow_code)
        motion, notes = simulation_results.simulate_task(problem, torque or (), seconds, rate)
        _say(f"predyn: simulating the task {source}")
        for note in notes:
            _say(f"predyn: note: {note}")
        motion = simulation_results.told_for_commands(motion)
        text = simulation_results.trajectory_text(problem.name, motion)
    typer.echo(text)
    if out is not None:
        with results.prepared(out):
            write_text(out / simulation_results.CSV, simulation_results.motion_csv(motion))
        typer.echo(f"\nwrote {out / simulation_results.CSV}")
    if motion.status != "finished":
        _say(f"predyn: not finished: {motion.status}")
        raise typer.Exit(NOT_CONVERGED)


@app.command()
@_guarded
def report(
    solution: SolutionFile,
    out: Annotated[
        Path | None, typer.Option(help="HTML file; report.html beside the solution unless told.")
    ] = None,
) -> None:
    """Write the report of a solution: one HTML file that needs nothing but a browser."""
    from predyn.view.report import write_report

    path = _solution_path(solution)
    target = out or path.with_name("report.html")
    write_report(_load(path), target)
    typer.echo(f"wrote {target}")


@app.command()
@_guarded
def view(
    solution: SolutionFile,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Show a solution in the browser, served to this machine only."""
    from predyn.view.server import serve

    _solution_path(solution)
    serve(solution, port=port, open_browser=browser)


@app.command()
@_guarded
def export(
    solution: SolutionFile,
    to: Annotated[Path, typer.Option(help="File to write: .csv, .sto, .mot or .h5.")],
    rate: Annotated[float | None, typer.Option(help="Samples per second.")] = None,
) -> None:
    """Write the motion for other programs."""
    _load(solution).export(to, rate)
    typer.echo(f"wrote {to}")


def _solution_path(path: Path) -> Path:
    if str(path) in tasks.NAMES and not path.exists():
        raise InputError(f"{path} is a built-in task without a result here: predyn solve {path}")
    return path / "solution.h5" if path.is_dir() else path


def _load(path: Path) -> Solution:
    from predyn.solution_file import load_solution

    return load_solution(_solution_path(path))

"""predyn examples, predyn solve"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from predyn import tasks
from predyn.cli.guard import (
    INTERRUPTED,
    NOT_CONVERGED,
    AllowAbsolute,
    AllowCode,
    MovementOptions,
    NormsFile,
    place,
    report_compiling,
    say,
    show,
)
from predyn.cli.option_values import read_movement_options
from predyn.cli.stored import load
from predyn.errors import InputError, PredynError, unknown_name

if TYPE_CHECKING:
    from predyn.analysis.gait import GaitCycles
    from predyn.analysis.norms import Norms
    from predyn.problem import Problem
    from predyn.solution import Solution


def examples() -> None:
    """List the tasks that come with predyn."""
    import tomllib

    width = max(len(name) for name in tasks.NAMES)
    for name in tasks.NAMES:
        task = tomllib.loads(tasks.path_of(name).read_text(encoding="utf-8"))
        typer.echo(f"{name:<{width}}  {task['description']}")
    typer.echo(f"\nSolve one: predyn solve {tasks.NAMES[1]}\nTask files: {tasks.FOLDER}")


def solve(
    task: Annotated[str, typer.Argument(help="A .toml file, or a name from `predyn examples`.")],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place, metavar="PATH", help="Folder for the results (default: ./NAME)."
        ),
    ] = None,
    starts: Annotated[
        int, typer.Option(min=1, help="Number of starts from different guesses.")
    ] = 1,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed for the starts after the first.")
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the latest result in the folder.")
    ] = False,
    resume_from: Annotated[
        Path | None, typer.Option(help="Continue from this checkpoint or solution.")
    ] = None,
    guess: Annotated[
        Path | None, typer.Option(help="A solution.h5 to use as the initial guess.")
    ] = None,
    refine: Annotated[
        bool | None, typer.Option(help="Refine until limits also hold between the limit points.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="spline or hybrid; overrides the task.")
    ] = None,
    segments: Annotated[int | None, typer.Option(min=1, help="Spline segments per phase.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Solver tolerance.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Time limit of the solver, s.")] = None,
    set_: MovementOptions = None,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    norms: NormsFile = None,
) -> None:
    """Find the optimal motion of a task.

    Writes solution.h5, summary.json and report.html. Exit code 0: solved; 2: invalid input; 3: not
    converged, or limits are exceeded between their points; 130: interrupted. Partial results are
    written for 3 and 130 too, but never replace a result that is a success.
    """
    from predyn.config import read_task
    from predyn.config.schema import METHODS
    from predyn.results import stored as results
    from predyn.results.folder import locked
    from predyn.solving import solve as find_motion

    if method is not None and method not in METHODS:
        raise unknown_name("--method", method, METHODS)
    read = read_task(
        task,
        allow_absolute=allow_absolute,
        allow_code=allow_code,
        method=method,
        options=read_movement_options(set_),
    )
    problem = _changed(read.problem, segments, tolerance, max_seconds)
    folder = out or Path(results.folder_name(problem.name))
    if resume and resume_from is not None:
        raise InputError("expected --resume or --resume-from, got both")
    near = None if guess is None else load(guess)
    plain = starts == 1 and problem.scene is None  # others keep their best without checkpoints
    bands = None
    if norms is not None:
        from predyn.analysis.norms import load_norms

        bands = load_norms(norms)
    with locked(folder, (results.SOLUTION, results.SUMMARY, results.REPORT)):
        results.refuse_other(folder, results.ESTIMATE)
        results.refuse_obstacles(folder)
        if resume:
            resume_from = results.latest(folder)
        report_compiling(quiet)
        solution = find_motion(
            problem,
            verbose=not quiet,
            guess=near,
            starts=starts,
            seed=seed,
            checkpoint=folder / results.CHECKPOINT if plain else None,
            resume=resume_from,
            refine=refine,
        )
        solution = replace(solution, provenance={**solution.provenance, "task": read.text})
        written, cut_short = _written(solution, folder, not no_report, bands)
    if solution.success and not cut_short:
        return
    if cut_short:
        say(f"predyn: interrupted {cut_short}: predyn report {written[0].parent}")
    if not solution.success:
        say(f"predyn: not solved: {solution.status}")
        from predyn.solution import EXCEEDS

        refining = " --refine" if solution.status == EXCEEDS else ""
        same = "".join(f" --set {shlex.quote(option)}" for option in set_ or ())
        again = f"predyn solve {task}{same}{refining} --resume-from {written[0]}"
        say(f"predyn: to continue from there: {again}")
    stopped = cut_short or solution.status == "interrupted"
    raise typer.Exit(INTERRUPTED if stopped else NOT_CONVERGED)


def _written(
    solution: Solution, folder: Path, report: bool, norms: Norms | None = None
) -> tuple[list[Path], str]:
    """Write the solution, verify it, write it again, then its report, and print all.

    Returns the paths, and what Ctrl-C cut short, if anything. The first writing is for a process
    that is killed during the verification, which may take seconds.
    """
    from predyn.results import stored as results
    from predyn.results.solutions import solution_text
    from predyn.solution import CONVERGED
    from predyn.storage.interrupts import held_back

    written: list[Path] = []
    cut_short = ""
    try:
        with held_back():
            written += results.write_results(solution, folder)
            if solution.success:
                (folder / results.CHECKPOINT).unlink(missing_ok=True)
        if solution.status in CONVERGED:
            from predyn.simulation.verification import verify

            solution = verify(solution)
            with held_back():
                results.write_results(solution, folder)
        if report:
            solution.report(written[0].with_name(results.REPORT), gait=_gait(solution, norms))
            written.append(written[0].with_name(results.REPORT))
    except KeyboardInterrupt:
        if not written:
            raise
        if solution.status in CONVERGED and solution.verification is None:
            cut_short = (
                "during verification; the solution was saved without it; to verify it and write "
                "the report"
            )
        elif report:
            cut_short = "while writing the report; to write it"
    finally:
        if written:
            show(solution_text(solution))
            show("\n".join(["", *(f"wrote {path}" for path in written)]))
    return written, cut_short


def _gait(solution: Solution, norms: Norms | None) -> GaitCycles | None:
    """Gait cycles with norms; a message if that cannot be."""
    from predyn.analysis.cycles import gait_cycles

    if norms is None:
        return None  # found by the report, if there are any
    try:
        return gait_cycles(solution, norms=norms)
    except PredynError as error:  # the solution is not lost by it
        say(f"predyn: no gait cycles as asked for by --norms: {error}")
        return None


def _changed(
    problem: Problem, segments: int | None, tolerance: float | None, max_seconds: float | None
) -> Problem:
    """The problem with the options of the command line in place of those of the file."""
    spline, solver = problem.transcription, problem.solver
    phases = problem.phases
    if segments is not None:
        spline = replace(spline, segments=segments)
        phases = tuple(replace(phase, segments=None) for phase in phases)
        if not isinstance(spline.knots, str):
            raise InputError("--segments: the task defines its own knots; change those in the task")
    if tolerance is not None:
        solver = replace(solver, tolerance=tolerance)
    if max_seconds is not None:
        solver = replace(solver, max_seconds=max_seconds)
    changed = replace(problem, phases=phases, transcription=spline, solver=solver)
    wrong = changed.validate()
    if wrong:
        raise InputError("\n  ".join(wrong))
    return changed

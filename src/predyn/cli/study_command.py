"""predyn study, predyn pareto"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from predyn.cli.guard import (
    INTERRUPTED,
    NOT_CONVERGED,
    AllowAbsolute,
    AllowCode,
    place,
    report_compiling,
    say,
    show,
)
from predyn.errors import PredynError

MANY = 50  # motions, which take the report several seconds

if TYPE_CHECKING:
    from predyn.study.study_results import StudyResults

Folder = Annotated[
    Path,
    typer.Option("--out", parser=place, metavar="DIR", help="Folder for the results."),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes on this machine (default: one for each processor)."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.html.")]


def study(
    study_file: Annotated[Path, typer.Argument(help="A study: .toml.", metavar="STUDY")],
    out: Folder,
    workers: Workers = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Use the workers of a running Dask scheduler, such as tcp://10.0.0.5:8786.",
        ),
    ] = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Start Dask's dashboard on 127.0.0.1.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run more than 10,000 cases too.")] = False,
    no_report: NoReport = False,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Solve many cases of one task.

    Writes a table of the cases as Parquet files while they end, then report.html. After an
    interruption, the same command continues. Exit code 0: all cases ended, of which some may have
    failed; 2: invalid input; 3: no case was solved; 130: interrupted.
    """
    from predyn.study import read_study
    from predyn.study.running import run_study

    made = read_study(study_file, allow_absolute=allow_absolute, allow_code=allow_code)
    report_compiling(quiet)
    try:
        results = run_study(
            made,
            out,
            workers=workers,
            scheduler=scheduler,
            yes=yes,
            dashboard=dashboard,
            progress=not quiet,
        )
    except KeyboardInterrupt:
        _say_how_to_continue()
        raise typer.Exit(INTERRUPTED) from None
    _end(results, str(results), not no_report)


def pareto(
    task: Annotated[str, typer.Argument(help="A .toml file, or a name from `predyn examples`.")],
    out: Folder,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="COST COST", help="The names of two costs (default: the two of the task)."
        ),
    ] = None,
    points: Annotated[int, typer.Option(min=3, max=1000, help="Number of weights.")] = 20,
    no_report: NoReport = False,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Find the Pareto front between two costs of a task.

    Writes a table of the front as `predyn study` does. Exit codes are the same.
    """
    from predyn.study.pareto import front_text, pareto_front

    report_compiling(quiet)
    results = pareto_front(
        task,
        out,
        between=between,
        points=points,
        progress=not quiet,
        allow_absolute=allow_absolute,
        allow_code=allow_code,
    )
    _end(results, front_text(results), not no_report)


def _say_how_to_continue() -> None:
    from predyn.study.folder import command_line

    say(f"predyn: interrupted; to continue: {command_line()}")


def _end(results: StudyResults, text: str, report: bool) -> None:
    """Print what was found, write the report, set the exit code."""
    show(text)
    show(f"\nwrote {results.folder}")
    if report:
        _write_report(results.folder)
    if not results.table["solved"].any():
        raise typer.Exit(NOT_CONVERGED)


def _write_report(folder: Path) -> None:
    """The report; the results are safe whatever happens to it."""
    from predyn.study.folder import SOLUTIONS
    from predyn.view.study_report import study_report

    motions = len(list((folder / SOLUTIONS).glob("*.h5")))
    if motions > MANY:
        say(f"predyn: writing the report with motions of up to {motions} cases")
    try:
        show(f"wrote {study_report(folder)}")
    except PredynError as error:
        say(f"predyn: no report: {error}")
    except KeyboardInterrupt:
        say(f"predyn: interrupted while writing the report of {folder}; the results are complete")
        raise typer.Exit(INTERRUPTED) from None
    sys.stdout.flush()

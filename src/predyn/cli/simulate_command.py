"""predyn simulate"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from predyn import tasks
from predyn.cli.guard import NOT_CONVERGED, AllowAbsolute, AllowCode, place, say, show
from predyn.cli.stored import load
from predyn.errors import InputError

if TYPE_CHECKING:
    from predyn.simulation.replaying import Replay
    from predyn.simulation.trajectories import Trajectory


def simulate(
    source: Annotated[
        str,
        typer.Argument(
            help="A solution.h5 or its folder, or a task (.toml or name).",
            metavar="TASK_OR_SOLUTION",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=place, metavar="PATH", help="Folder for simulation.csv (default: not written)."
        ),
    ] = None,
    torque: Annotated[
        list[str] | None, typer.Option(help="Tasks only: constant torque JOINT=VALUE (repeatable).")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Tasks only: duration, s.")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Tasks only: rows per second (default: 100).")
    ] = None,
    allow_absolute: AllowAbsolute = False,
    allow_code: AllowCode = False,
) -> None:
    """Simulate forward in time, independently of the solver.

    A solution is replayed: its torques drive the mechanism, and the table shows how far the motion
    is from the predicted one. A task is simulated from its initial state, without torques by
    default. If a folder has the name of a built-in task, its solution is replayed, unless an option
    for tasks is given. Exit code 3: the simulation diverged; partial results are written.
    """
    from predyn.results import simulations as simulation_results
    from predyn.results import stored as results
    from predyn.results.folder import locked
    from predyn.storage.files import write_text

    path = Path(source)
    in_folder = path.is_dir() and results.result_path(path) == path / results.SOLUTION
    in_folder = in_folder and (path / results.SOLUTION).is_file()
    task_options = bool(torque) or seconds is not None or rate is not None
    by_name = source in tasks.NAMES and task_options
    motion: Replay | Trajectory
    if path.suffix.lower() in (".h5", ".hdf5") or (in_folder and not by_name):
        from predyn.simulation.replaying import replay

        if task_options:
            raise InputError(
                f"{source} is a solution: --torque, --seconds and --rate are for tasks; "
                "predyn.simulate in Python accepts any torques, also those of a solution"
            )
        solution = load(path)
        place = f"folder {os.path.join('.', path)}" if in_folder else source
        say(f"predyn: replaying the solution in {place}")
        motion = simulation_results.with_cli_advice(replay(solution))
        text = str(motion)
    else:
        from predyn.config import load_task

        problem = load_task(source, allow_absolute=allow_absolute, allow_code=allow_code)
        motion, notes = simulation_results.simulate_task(problem, torque or (), seconds, rate)
        say(f"predyn: simulating the task {source}")
        for note in notes:
            say(f"predyn: note: {note}")
        motion = simulation_results.with_cli_advice(motion)
        text = simulation_results.trajectory_text(problem.name, motion)
    show(text)
    if out is not None:
        with locked(out):
            write_text(out / simulation_results.CSV, simulation_results.motion_csv(motion))
        show(f"\nwrote {out / simulation_results.CSV}")
    if motion.status != "finished":
        say(f"predyn: not finished: {motion.status}")
        raise typer.Exit(NOT_CONVERGED)

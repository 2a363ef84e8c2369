"""Run a study: all cases of it, on workers, into a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from predyn.errors import FileError, InputError
from predyn.storage.files import checked_path
from predyn.study.case_tree import tree_of_values
from predyn.study.case_worker import CaseSolving, Setup, begin
from predyn.study.cases import CaseSolver
from predyn.study.folder import (
    DESCRIPTION,
    Description,
    describe,
    make_parts,
    read_description,
    study_folder,
)
from predyn.study.runner import Plan, Runner, Workers
from predyn.study.study import Study, check_size
from predyn.study.study_file import read_study
from predyn.study.study_progress import Meter, Report, ShownProgress
from predyn.study.study_results import StudyResults
from predyn.study.table import OUTCOME, columns_of, part_numbers, read_parts
from predyn.workers.events import NoWorkers

Progress = bool | Report | None
CONTINUES = (
    "What was written stays readable; the same study with the same folder continues from there"
)


def run_study(
    study: Study | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    yes: bool = False,
    progress: Progress = None,
    dashboard: bool = False,
) -> StudyResults:
    """Solve all cases of a study; returns what is in its folder then.

    study      a Study, or the path of a study file
    out        folder for the results (docs/studies-runner.md); if it holds results of the same
               study, the run continues from there
    workers    number of processes on this machine, each with one thread; None: one for each
               processor
    scheduler  address of a Dask scheduler that you have started, to use its workers instead; needs
               `pip install "predyn[cluster]"`
    yes        run studies of more than 10,000 cases too
    progress   whether to show progress on standard error, or in the notebook (None: on a terminal);
               or a function that is called with a StudyProgress
    dashboard  whether Dask's dashboard is started, on 127.0.0.1 (with Dask only)

    The results do not depend on the number of workers, nor on when they finish: what a case starts
    from is fixed by the values of all cases. They are those of `predyn.solve` for the same case
    with the same guess, which the column `guess` names.

    A case that fails does not stop the others; see `failed`. A case that kills its worker is tried
    twice alone, then set aside. Ctrl-C, a full disk or a killed process lose at most the cases that
    were running. Not guaranteed: equal results on different processors or versions of libraries.

    A script must call this under `if __name__ == "__main__":`.
    """
    if not isinstance(study, Study):
        study = read_study(study)
    check_size(study, yes)
    count = min(_checked_count(workers, scheduler), len(study))

    def start(setup: Setup) -> Workers:
        return chosen_workers(setup, count, scheduler, dashboard)

    return run_cases(study, checked_path(out), CaseSolver, start, progress)


def run_cases(
    study: Study,
    folder: Path,
    make: Callable[[Study], CaseSolving],
    start: Callable[[Setup], Workers],
    progress: Progress = None,
) -> StudyResults:
    """The same with any solver of cases and any workers."""
    columns = _columns(study)
    shown = None if callable(progress) else ShownProgress(progress)
    report = progress if callable(progress) else shown
    meter = Meter(len(study), report)
    with study_folder(folder):
        _same_study(folder, study, columns)
        make_parts(folder)
        try:
            read = read_parts(folder, columns, len(study), study.fingerprint)
            for path, message in read.damaged.items():
                meter.tell(f"{message}; its cases are solved again")
                _move_away(path)
            tree = tree_of_values(study.values, study.apart, len(study), study.warm)
            plan = Plan(
                folder, study.fingerprint, columns, study.case_values, tree, study.keep_solutions
            )
            runner = Runner(plan, meter)
            runner.begin(read.table)
            if not runner.finished:
                runner.run(start(Setup(study, make, study.keep_solutions)))
        except FileError as error:
            raise FileError(f"{error}. {CONTINUES}") from error
        except NoWorkers as error:  # at the start, nothing has been written
            raise NoWorkers(
                f"{error}. {CONTINUES}" if part_numbers(folder) else str(error)
            ) from None
        finally:
            if shown is not None:
                shown.close()
    return StudyResults(folder)


def _columns(study: Study) -> tuple[Any, ...]:
    known = {x.name for x in OUTCOME}
    columns = columns_of(study.varied, (x for x in study.collected if x.name not in known))
    names = [x.name for x in columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"study {study.name!r}: two columns are called {name!r}; name the varied one "
                "otherwise"
            )
    return columns


def _same_study(folder: Path, study: Study, columns: tuple[Any, ...]) -> None:
    """Write study.json, or check that it is that of this study; a changed one is replaced."""
    if os.path.lexists(folder / DESCRIPTION):
        found = read_description(folder)
        if found.fingerprint != study.fingerprint:
            raise FileError(
                f"{folder}: holds the results of another study ({found.name!r}, {found.cases} "
                "cases), or of this one with other files or values, or with other versions of "
                "predyn, Python or the libraries that compute; choose another folder, or remove "
                "this one"
            )
        if found.columns == columns and found.cases == len(study):
            return
    strange = [name for name in ("solution.h5", "result.h5") if (folder / name).exists()]
    if strange:
        raise FileError(
            f"{folder}: contains another kind of result, {strange[0]}; choose another folder"
        )
    more = {"varied": [x.name for x in study.varied], "warm": study.warm}
    more["keep_solutions"] = study.keep_solutions
    about = Description(study.name, study.description, study.fingerprint, len(study), columns, more)
    describe(folder, about, _texts(study))


def _texts(study: Study) -> dict[str, str]:
    """The texts that the study was made from."""
    found = {"study": study.text, "task": study.source.text}
    found |= {f"sha256 of {key}": x for key, x in study.files.items()}
    return {name: text for name, text in found.items() if text}


def _move_away(path: Path) -> None:
    """Out of the folder of parts, which other programs read as a whole."""
    try:
        os.replace(path, path.parents[1] / f"part-{path.stem}.damaged")
    except OSError as error:
        raise FileError(f"{path}: cannot be renamed: {error.strerror}") from error


def _checked_count(workers: Any, scheduler: Any) -> int:
    if scheduler is not None:
        if workers is not None:
            raise InputError(
                "workers and scheduler: expected one of them; workers of a scheduler are started "
                "by Dask's tools"
            )
        if not isinstance(scheduler, str) or not scheduler.strip():
            raise InputError(
                f"scheduler: expected an address such as tcp://10.0.0.5:8786, got {scheduler!r:.60}"
            )
        return 0
    if workers is None:
        return _processors()
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers: expected a whole number from 1, got {workers!r:.60}")
    return workers


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chosen_workers(setup: Setup, count: int, scheduler: str | None, dashboard: bool) -> Workers:
    """Dask's workers if it is asked for or installed, else processes of this machine."""
    if scheduler is not None or dashboard or find_spec("distributed") is not None:
        from predyn.workers.dask_workers import DaskWorkers

        return DaskWorkers(
            begin, setup, count=count or None, scheduler=scheduler, dashboard=dashboard
        )
    from predyn.workers.local_workers import LocalWorkers

    return LocalWorkers(begin, setup, count)

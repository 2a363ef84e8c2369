"""The Pareto front of a task in a folder like that of a study."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from predyn import __version__
from predyn.config import read_task
from predyn.errors import FileError, InputError
from predyn.problem import Cost, Problem
from predyn.problem.problem import name_of
from predyn.solution.file import bytes_of_solution
from predyn.storage.files import checked_path, not_written, temporary_name
from predyn.study.folder import (
    DESCRIPTION,
    REPORT,
    SOLUTIONS,
    Description,
    SolutionFiles,
    describe,
    make_parts,
    read_description,
    study_folder,
)
from predyn.study.front import FrontPoint, chosen_costs, dominated, find_front, knee, margin
from predyn.study.study import Column
from predyn.study.study_progress import Meter, Report, ShownProgress
from predyn.study.study_results import StudyResults
from predyn.study.table import FLAG, PARTS, columns_of, part_path, write_part

WEIGHT = "weight"
DOMINATED, KNEE = "dominated", "knee"
LEAST, MOST = 3, 1000


def pareto_front(
    task: Problem | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    between: Sequence[str] | None = None,
    points: int = 20,
    keep: bool = True,
    progress: bool | Report | None = None,
    allow_absolute: bool = False,
    allow_code: bool = False,
) -> StudyResults:
    """Find the Pareto front between two costs of a task; returns its table.

    task      a Problem, or the name or path of a task file
    out       folder for the results: like that of a study (docs/studies-runner.md), one case for
              each weight; an earlier front in it is replaced
    between   the names of two costs; None: those of a task that has two. Others keep their weights
    points    number of weights, from 1.8 to 98.2 % of the sum of both costs, each relative to its
              value in the optimum of the task as it is
    keep      whether the motions are kept (`StudyResults.solution`)
    progress  as for `predyn.run_study`
    allow_absolute, allow_code  as for `predyn.load_task`

    In the table, `weight` is that of the second cost; both costs have columns of their own, in the
    units of the task. `dominated` marks points that another one beats: it is better in one cost and
    not worse in the other, where differences within 1e-6 of the range of a cost do not count.
    `knee` marks the point farthest from the line between the ends, where a little of one cost saves
    much of the other.

    Each point is solved from its neighbour's solution, with its multipliers; each is an optimum of
    the whole task. Weighted sums find the convex part of a front only, and each point is a local
    optimum: branches that neither a neighbour nor the task's guess leads to are not found.
    """
    text = ""
    if not isinstance(task, Problem):
        read = read_task(task, allow_absolute=allow_absolute, allow_code=allow_code)
        task, text = read.problem, read.text
    whole = isinstance(points, int | np.integer) and not isinstance(points, bool)
    if not whole or not LEAST <= points <= MOST:
        raise InputError(
            f"points: expected a whole number from {LEAST} to {MOST}, got {points!r:.60}"
        )
    names = chosen_costs(task, between)
    columns = _columns(names)
    shown = None if callable(progress) else ShownProgress(progress)
    meter = Meter(points, progress if callable(progress) else shown)
    folder = checked_path(out)
    with study_folder(folder):
        _refuse_others(folder)
        before = (0, 0)

        def report(done: int, failed: int) -> None:
            nonlocal before
            meter.add(done - before[0], failed - before[1])
            before = done, failed

        meter.begin(0, 0, 0)
        try:
            front = find_front(task, names, int(points), report)
        finally:
            if shown is not None:
                shown.close()
        _write(folder, task, names, columns, front, keep, text)
    return StudyResults(folder)


def front_text(results: StudyResults) -> str:
    """The knee and what is dominated, in words."""
    table = results.table
    first, second = results.description.more["between"]
    lines = [str(results)]
    for k in np.flatnonzero(table[KNEE]).tolist():
        lines.append(
            f"knee: case {k}, {first} {table[first][k]:.6g}, {second} {table[second][k]:.6g} "
            f"(weight of {second}: {table[WEIGHT][k]:.4g})"
        )
    best = table["solved"] & ~table[DOMINATED]
    if best.any() and any(
        np.ptp(x[best]) <= margin(x[best]) for x in (table[first], table[second])
    ):
        case = int(table["case"][best][0])
        lines.append(f"{first} and {second} do not conflict: case {case} is best in both")
    worse = table["case"][table[DOMINATED]].tolist()
    if worse:
        lines.append(f"dominated by other points: case {', '.join(map(str, worse))}")
    return "\n".join(lines)


def _refuse_others(folder: Path) -> None:
    """A front replaces a front, nothing else."""
    if os.path.lexists(folder / DESCRIPTION):
        if "between" not in read_description(folder).more:
            raise FileError(f"{folder}: holds the results of a study; choose another folder")
        return
    others = [name for name in ("solution.h5", "result.h5", PARTS) if (folder / name).exists()]
    if others:
        raise FileError(
            f"{folder}: contains another kind of result, {others[0]}; choose another folder"
        )


def _columns(names: tuple[str, str]) -> tuple[Column, ...]:
    """The columns of the table; the names of costs must not be those of others."""
    collected = (
        *(Column(name) for name in names),
        Column("duration", "s"),
        Column(DOMINATED, "", FLAG),
        Column(KNEE, "", FLAG),
    )
    columns = columns_of((Column(WEIGHT),), collected)
    taken = [x.name for x in columns]
    for name in names:
        if taken.count(name) > 1:
            raise InputError(
                f"cost {name!r}: give it another name; the table has a column of this one"
            )
    return columns


def _write(
    folder: Path,
    problem: Problem,
    names: tuple[str, str],
    columns: tuple[Column, ...],
    front: list[FrontPoint],
    keep: bool,
    text: str,
) -> None:
    """All files of the front, in the place of an earlier one only when all are written."""
    units = _weights(problem, names)
    solved = np.array([x.solved for x in front])
    a = np.where(solved, [x.a / units[0] for x in front], np.nan)
    b = np.where(solved, [x.b / units[1] for x in front], np.nan)
    worse, best = dominated(a, b), knee(a, b)
    rows = [
        _row(k, point, dict(zip(names, (a[k], b[k]), strict=True)), bool(worse[k]), k == best)
        for k, point in enumerate(front)
    ]
    digest = hashlib.sha256(repr((__version__, names, len(front), text or repr(problem))).encode())
    fingerprint = digest.hexdigest()
    more = {"varied": [WEIGHT], "between": list(names), "keep_solutions": keep}
    about = Description(
        f"{problem.name}: {names[0]} against {names[1]}", "", fingerprint, len(front), columns, more
    )
    waiting = folder / temporary_name()
    try:
        waiting.mkdir()
        describe(waiting, about, {"task": text} if text else {})
        files = SolutionFiles(waiting, keep=True)
        for k, point in enumerate(front if keep else []):
            files.write(k, bytes_of_solution(point.solution, f"case {k}"))
        make_parts(waiting)
        write_part(part_path(waiting, 1), columns, rows, fingerprint)
        _replace(folder, waiting)
    except FileError as error:
        raise FileError(str(error).replace(str(waiting), str(folder))) from error
    except OSError as error:
        raise not_written(folder, error) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def _replace(folder: Path, new: Path) -> None:
    """Put the files of a front into its folder; the table, which makes it valid, comes last."""
    (folder / REPORT).unlink(missing_ok=True)
    for name in (PARTS, SOLUTIONS):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in (DESCRIPTION, SOLUTIONS, PARTS):
        if (new / name).exists():
            os.replace(new / name, folder / name)


def _row(
    k: int, point: FrontPoint, costs: dict[str, float], worse: bool, best: bool
) -> dict[str, Any]:
    solution = point.solution
    return {
        "case": k,
        WEIGHT: point.weight,
        "status": solution.status,
        "solved": point.solved,
        "message": solution.message,
        "objective": solution.objective,
        "iterations": solution.iterations,
        "seconds": point.seconds,
        "max_violation": solution.max_violation,
        **costs,
        "duration": solution.duration if point.solved else None,
        DOMINATED: worse,
        KNEE: best,
    }


def _weights(problem: Problem, names: tuple[str, str]) -> tuple[float, float]:
    """By which the task multiplies each cost; 1 where several of the same name differ."""
    costs: list[Cost] = [*problem.costs, *(x for phase in problem.phases for x in phase.costs)]
    found = []
    for name in names:
        weights = {float(x.weight) for x in costs if name_of(x) == name}
        found.append(weights.pop() if len(weights) == 1 else 1.0)
    return found[0], found[1]

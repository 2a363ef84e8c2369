"""Task files: TOML in, Problem out, and everything that is wrong told at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from predyn import tasks
from predyn.config.findings import Findings
from predyn.config.joints import bounds_of, values_of
from predyn.config.lines import Path
from predyn.config.model import Folder, forces_of, model_of
from predyn.config.schema import (
    METHODS,
    Between,
    LimitsTable,
    PhaseTable,
    StateTable,
    TaskTable,
    checked,
)
from predyn.config.terms import Context, constraints_of, costs_of
from predyn.errors import FileError, InputError, unknown_name
from predyn.model import Limits, Model
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.problem.check_problems import find_problems
from predyn.storage.reading import refuse_irregular

LARGEST = 5_000_000  # bytes of a task file


@dataclass(frozen=True, eq=False)
class Task:
    """A task file as it was read."""

    problem: Problem
    text: str
    path: FilePath


def task_names() -> tuple[str, ...]:
    """Names of the tasks that come with predyn."""
    return tasks.NAMES


def load_task(
    task: str | os.PathLike[str], *, allow_absolute: bool = False, allow_code: bool = False
) -> Problem:
    """The problem of a task file, given by its path or by the name of a built-in task.

    A task file may read files beside it or below; allow_absolute lets it read any file, allow_code
    lets it run the Python functions it names. Raises FileError with everything that is wrong.
    """
    return read_task(task, allow_absolute=allow_absolute, allow_code=allow_code).problem


def read_task(
    task: str | os.PathLike[str],
    *,
    allow_absolute: bool = False,
    allow_code: bool = False,
    method: str | None = None,
) -> Task:
    """As load_task, with the text that was read; `method` replaces that of the transcription."""
    path = task_path(task)
    text = _text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path}: not TOML: {error}") from None
    except RecursionError:
        raise FileError(f"{path}: not a task file: brackets are nested too deep") from None
    found = Findings(str(path), text)
    if method is not None and isinstance(raw.setdefault("transcription", {}), dict):
        raw["transcription"]["method"] = method
    table = checked(raw, found)
    found.tell()
    assert table is not None
    folder = Folder(path.parent, allow_absolute)
    model = model_of(table.model, folder, found)
    found.tell()
    assert model is not None
    problem, origins = _problem(table, model, folder, allow_code, path.stem, found)
    found.tell()
    for where, message in find_problems(problem):
        found.add(_in_file(where, origins), message)
    found.tell()
    return Task(problem, text, path)


def task_path(task: str | os.PathLike[str]) -> FilePath:
    """The file of a built-in task or of a path."""
    if not isinstance(task, str | os.PathLike):
        raise InputError(f"task: expected a path or a name, got {type(task).__name__}")
    if task in tasks.NAMES:
        return tasks.path_of(str(task))
    path = FilePath(task)
    if path.suffix != ".toml" and not os.path.exists(path) and len(path.parts) <= 1:
        unknown = unknown_name("task", str(task), tasks.NAMES)
        raise InputError(f"{unknown}; or give the path of a .toml file")
    return path


def _text(path: FilePath) -> str:
    refuse_irregular(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {error}") from None
    if len(data) > LARGEST:
        raise FileError(f"{path}: larger than {LARGEST // 10**6} MB, not a task file")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(f"{path}: not UTF-8 text (line {line})") from None


Origins = dict[Path, Path]


def _problem(
    table: TaskTable, model: Model, folder: Folder, allow_code: bool, stem: str, found: Findings
) -> tuple[Problem, Origins]:
    """The problem, and where in the file each of its costs and constraints comes from."""
    origins: Origins = {}
    durations = [_duration(phase) for phase in table.phases]
    here = Context(model, folder, allow_code, found, durations)
    phases = []
    for k, phase in enumerate(table.phases):
        where: Path = ("phases", k)
        inside = here._replace(durations=[durations[k]])
        costs = costs_of(phase.cost, (*where, "cost"), inside)
        constraints = constraints_of(phase.constraint, (*where, "constraint"), inside)
        _remember(origins, where, costs, constraints)
        phases.append(
            Phase(
                durations[k],
                _state(model, phase.start, (*where, "start"), found),
                _state(model, phase.end, (*where, "end"), found),
                tuple(cost for _, cost in costs),
                tuple(constraint for _, constraint in constraints),
                phase.segments,
                phase.name,
            )
        )
    costs = costs_of(table.cost, ("cost",), here)
    constraints = constraints_of(table.constraint, ("constraint",), here)
    _remember(origins, (), costs, constraints)
    limits, jerk = _limits(model, table.limits, found)
    spline, solver = Spline(), SolverOptions()
    with found.at(("transcription",)):
        spline = _transcription(table.transcription, table.passive)
    with found.at(("solver",)):
        solver = SolverOptions(**_fields(table.solver, SolverOptions))
    problem = Problem(
        model,
        tuple(phases),
        tuple(cost for _, cost in costs),
        tuple(constraint for _, constraint in constraints),
        forces_of(table.forces, model, found),
        limits,
        jerk,
        table.continuity,
        _guess(table, folder, found),
        spline,
        solver,
        table.name or stem,
        tuple(table.passive),
    )
    return problem, origins


def _remember(
    origins: Origins,
    where: Path,
    costs: Sequence[tuple[Path, Cost]],
    constraints: Sequence[tuple[Path, Constraint]],
) -> None:
    for field, made in (("costs", costs), ("constraints", constraints)):
        for k, (place, _) in enumerate(made):
            origins[(*where, field, k)] = place


def _in_file(where: Path, origins: Origins) -> Path:
    """A path in the problem as a path in the file."""
    for size in range(len(where), 0, -1):
        if where[:size] in origins:
            return (*origins[where[:size]], *where[size:])
    return ("limits", "jerk") if where[:1] == ("jerk_limit",) else where


def _duration(phase: PhaseTable) -> float | Duration:
    given = phase.duration
    if isinstance(given, Between):
        guess = 0.5 * (given.min + given.max) if given.guess is None else given.guess
        return Duration(given.min, given.max, guess)
    return float(given)


def _state(model: Model, table: StateTable, where: Path, found: Findings) -> State:
    return State(*(values_of(model, table, key, where, found) for key in ("q", "v", "a")))


def _limits(
    model: Model, table: LimitsTable, found: Findings
) -> tuple[Limits | None, np.ndarray | None]:
    where: Path = ("limits",)
    pairs = {
        key: bounds_of(model, table, key, where, found, getattr(model.limits, key))
        for key in Limits._fields
    }
    jerk = values_of(model, table, "jerk", where, found)
    if jerk is not None:
        jerk = np.where(np.isnan(jerk), np.inf, jerk)  # a joint that is not named has none
    if all(value is None for value in pairs.values()):
        return None, jerk
    return (
        Limits(*(getattr(model.limits, k) if v is None else v for k, v in pairs.items())),
        jerk,
    )


def _transcription(table: Any, passive: Any) -> Spline:
    """What is said, and the method's own defaults for the rest."""
    kind = METHODS[table.method or ("hybrid" if passive else "spline")]
    given = table.model_fields_set
    said = {key: value for key, value in _fields(table, kind).items() if key in given}
    return kind(**said)


def _fields(table: Any, kind: type) -> dict[str, Any]:
    """What a table says of the fields of a dataclass."""
    return {f.name: getattr(table, f.name) for f in fields(kind)}


def _guess(table: TaskTable, folder: Folder, found: Findings) -> object:
    given = [key for key in ("kind", "curve", "solution") if getattr(table.guess, key) is not None]
    if len(given) > 1:
        found.add(("guess",), f"expected one of kind, curve or solution, got {', '.join(given)}")
    guess = table.guess
    if guess.curve is not None:
        try:
            return np.array(guess.curve.s, float), np.array(guess.curve.q, float)
        except ValueError:
            found.add(("guess", "curve", "q"), "rows of different lengths")
    elif guess.solution is not None:
        with found.at(("guess", "solution")):
            from predyn.solution.file import load_solution

            return load_solution(folder.file(guess.solution))
    return guess.kind or "linear"

"""Task files: read TOML, build a Problem, and report all errors at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from predyn import tasks
from predyn.config.findings import Findings
from predyn.config.model import Folder, model_of
from predyn.config.movement import is_movement, movement_of, text_of, with_options
from predyn.config.problem import Origins, place_in_file, problem_of
from predyn.config.schema import TaskTable, checked
from predyn.errors import FileError, InputError, unknown_name
from predyn.model import Model
from predyn.problem import Problem
from predyn.problem.check_problems import find_problems
from predyn.storage.reading import refuse_irregular

LARGEST = 5_000_000  # maximum size of a task file in bytes


@dataclass(frozen=True, eq=False)
class Task:
    """The problem read from a task file, with the file's text and path."""

    problem: Problem
    text: str
    path: FilePath


def task_names() -> tuple[str, ...]:
    """Names of the built-in tasks."""
    return tasks.NAMES


def load_task(
    task: str | os.PathLike[str], *, allow_absolute: bool = False, allow_code: bool = False
) -> Problem:
    """Read the problem from a task file, given by its path or by the name of a built-in task.

    A task file may read files in its own folder and below; allow_absolute lets it read any file,
    allow_code lets it run the Python functions it names. Raises a FileError that lists all errors.
    """
    return read_task(task, allow_absolute=allow_absolute, allow_code=allow_code).problem


def read_task(
    task: str | os.PathLike[str],
    *,
    allow_absolute: bool = False,
    allow_code: bool = False,
    method: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Task:
    """As load_task, but also return the file's text.

    method   replaces the transcription method
    options  replace values in the table [movement], written as in TOML
    """
    text, tree, path = parse_task(task)
    if method is not None and isinstance(tree.setdefault("transcription", {}), dict):
        tree["transcription"]["method"] = method
    if options:
        tree = with_options(tree, options)
        text = text_of(tree)
    return Task(
        problem_of_tree(tree, text, path, allow_absolute=allow_absolute, allow_code=allow_code),
        text,
        path,
    )


def parse_task(task: str | os.PathLike[str]) -> tuple[str, dict[str, Any], FilePath]:
    """Text, contents and path of a task file; the contents are not checked."""
    path = task_path(task)
    text = _text(path)
    raw = _raw(text, Findings(str(path), text))
    if "vary" in raw:
        raise FileError(
            f"{path}: is a study, not a task; run it with predyn study {path} --out DIR"
        )
    return text, raw, path


def problem_of_tree(
    tree: dict[str, Any],
    text: str,
    path: FilePath,
    *,
    allow_absolute: bool = False,
    allow_code: bool = False,
    model: Model | None = None,
) -> Problem:
    """The problem of the contents of a task file, which may differ from its text.

    text   for the line numbers in messages
    model  the one that the table [model] describes, if it is known already
    """
    findings = Findings(str(path), text)
    if is_movement(tree):
        return _checked(movement_of(tree, path.stem, findings), {}, findings)
    table = _table(tree, findings)
    folder = Folder(path.parent, allow_absolute)
    if model is None:
        model = model_of(table.model, folder, findings)
        findings.raise_if_any()
    assert model is not None
    return _problem(table, model, folder, allow_code, path.stem, findings)


def problem_of_text(text: str, model: Model, name: str) -> Problem:
    """The problem in the text of a task whose model is known; other files and code are not read."""
    findings = Findings(f"the task of {name!r}", text)
    raw = _raw(text, findings)
    if is_movement(raw):
        return _checked(movement_of(raw, name, findings), {}, findings)
    table = _table(raw, findings)
    return _problem(table, model, Folder(FilePath(), False), False, name, findings)


def _raw(text: str, findings: Findings) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{findings.file}: not TOML: {error}") from None
    except RecursionError:
        raise FileError(
            f"{findings.file}: not a task file: brackets are nested too deeply"
        ) from None


def _table(raw: dict[str, Any], findings: Findings) -> TaskTable:
    table = checked(raw, findings)
    findings.raise_if_any()
    assert table is not None
    return table


def _problem(
    table: TaskTable, model: Model, folder: Folder, allow_code: bool, stem: str, findings: Findings
) -> Problem:
    problem, origins = problem_of(table, model, folder, allow_code, stem, findings)
    findings.raise_if_any()
    return _checked(problem, origins, findings)


def _checked(problem: Problem, origins: Origins, findings: Findings) -> Problem:
    """The problem, if it has no errors."""
    for where, message in find_problems(problem):
        findings.add(place_in_file(where, origins), message)
    findings.raise_if_any()
    return problem


def task_path(task: str | os.PathLike[str]) -> FilePath:
    """Path of a task file, given by its path or by the name of a built-in task."""
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

"""Read a study from a TOML file or from a mapping of the same form."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from predyn import tasks
from predyn.config import parse_task, problem_of_tree
from predyn.config.findings import Findings
from predyn.config.model import Folder
from predyn.errors import FileError, InputError
from predyn.problem import Problem
from predyn.problem.task_quantities import number_unit
from predyn.storage.reading import read_at_most
from predyn.study.collect_file import read_collect
from predyn.study.knobs import checked_knobs
from predyn.study.read_files import digests_of
from predyn.study.recorded import collect_estimate, recorded_source
from predyn.study.sampling import METHODS, Distribution
from predyn.study.study import (
    QUANTITY,
    Column,
    Knob,
    SolveOptions,
    Source,
    Study,
)
from predyn.study.varying import RESERVED, Varied, all_values, read_entry

KEYS = (
    "name", "description", "task", "recording", "model", "load", "estimate", "vary", "sample",
    "collect", "solve",
)  # fmt: skip
LARGEST = 5_000_000  # bytes of a study file
MOST_SAMPLES = 1_000_000


def read_study(
    path: str | os.PathLike[str], *, allow_absolute: bool = False, allow_code: bool = False
) -> Study:
    """The study of a TOML file.

    allow_absolute, allow_code are those of load_task, and hold for the study's own files too.
    Raises a FileError that lists all errors.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"study: expected a path, got {type(path).__name__}")
    place = FilePath(path)
    try:
        text = read_at_most(os.fspath(place), LARGEST, "not a study file").decode("utf-8-sig")
        tree = tomllib.loads(text.replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise FileError(f"{place}: not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{place}: not TOML: {error}") from None
    except ValueError:  # Python reads whole numbers of up to 4300 digits
        raise FileError(f"{place}: a whole number has thousands of digits; write 1e400") from None
    except RecursionError:
        raise FileError(f"{place}: not a study: brackets are nested too deeply") from None
    folder = Folder(place.absolute().parent, allow_absolute)
    return _study_of(tree, text, place.stem, folder, allow_code, Findings(str(place), text))


def study_of(
    study: Mapping[str, Any],
    folder: str | os.PathLike[str] = ".",
    *,
    allow_absolute: bool = False,
    allow_code: bool = False,
) -> Study:
    """The study of a mapping with the keys of a study file; names of files are relative to folder.

    Raises a FileError that lists all errors.
    """
    if not isinstance(study, Mapping):
        raise InputError(f"study: expected a mapping, got {type(study).__name__}")
    place = Folder(FilePath(folder).absolute(), allow_absolute)
    try:
        tree = _plain(study)
    except RecursionError:
        raise InputError("study: expected tables and lists, got one that contains itself") from None
    text = json.dumps(tree, indent=1, default=str)
    return _study_of(tree, text, "study", place, allow_code, Findings("the study", ""))


def _plain(value: Any) -> Any:
    """Mappings, tuples, arrays and numbers of NumPy as TOML would give them."""
    if isinstance(value, Mapping):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(x) for x in value] if isinstance(value, list | tuple | range) else value


def _study_of(
    tree: dict[str, Any],
    text: str,
    stem: str,
    folder: Folder,
    allow_code: bool,
    findings: Findings,
) -> Study:
    for key in tree.keys() - {*KEYS}:
        findings.unknown_key((key,), KEYS)
    for key in ("name", "description"):
        if not isinstance(tree.get(key, ""), str):
            findings.add((key,), f"expected text, got {tree[key]!r:.60}")
    source, problem = _source(tree, text, folder, allow_code, findings)
    entries = _entries(tree.get("vary"), folder, findings)
    samples, method, seed = _sample(tree.get("sample"), entries, findings)
    options, warm, keep = _solve(tree.get("solve", {}), findings)
    findings.raise_if_any()
    assert source is not None
    if problem is None:
        collect, collected = collect_estimate(tree.get("collect", {}), source, findings)
        warm = False
    else:
        collect, collected = read_collect(tree.get("collect", {}), problem, findings)
    knobs = checked_knobs(entries, source, problem, options, folder, findings)
    findings.raise_if_any()
    varied = tuple(_with_unit(entry.column, knob, problem) for entry, knob in knobs)
    _check_names(varied, collected, findings)
    with findings.at(("vary",)):
        values = all_values(entries, samples, method, seed)
    findings.raise_if_any()
    return Study(
        name=tree.get("name", stem),
        description=tree.get("description", ""),
        varied=varied,
        values=values,
        collected=collected,
        warm=warm,
        keep_solutions=keep,
        knobs=tuple(knob for _, knob in knobs),
        source=source,
        collect=collect,
        options=options,
        files=digests_of(source, [x for _, x in knobs], values),
        text=text,
    )


def _source(
    tree: dict[str, Any], text: str, folder: Folder, allow_code: bool, findings: Findings
) -> tuple[Source | None, Problem | None]:
    """The task and its problem as it is written, or the recording."""
    given = [key for key in ("task", "recording") if key in tree]
    if len(given) != 1:
        got = " and ".join(given) or "neither"
        findings.add((), f"expected a task or a recording, got {got}")
        return None, None
    if given == ["recording"]:
        return recorded_source(tree, text, folder, allow_code, findings), None
    for key in ("model", "load", "estimate"):
        if key in tree:
            findings.add((key,), "is for recordings; a task has its own")
    task = tree["task"]
    with findings.at(("task",)):
        if not isinstance(task, str):
            raise InputError(f"expected the name or path of a task, got {task!r:.60}")
        path: str | FilePath = (
            task if task in tasks.NAMES or not _is_path(task) else folder.file(task)
        )
        own, contents, place = parse_task(path)
        absolute = folder.anywhere
        name = task if task in tasks.NAMES else str(place)
        source = Source("task", own, contents, name, str(folder.path), absolute, allow_code)
        problem = problem_of_tree(
            contents, own, place, allow_absolute=absolute, allow_code=allow_code
        )
        return source, problem
    return None, None  # type: ignore[unreachable] # after an error


def _is_path(task: str) -> bool:
    return task.endswith(".toml") or "/" in task or os.sep in task


def _entries(given: Any, folder: Folder, findings: Findings) -> list[Varied]:
    if not isinstance(given, list) or not given:
        got = "" if given is None else f" (in double brackets), got {given!r:.60}"
        where = ("vary",) if given is not None else ()
        findings.add(where, f"expected one or more tables [[vary]]{got}; nothing varies")
        return []
    read = [read_entry(entry, ("vary", k), folder, findings) for k, entry in enumerate(given)]
    return [entry for entry in read if entry is not None]


def _sample(table: Any, entries: list[Varied], findings: Findings) -> tuple[int, str, int]:
    """Count, method and seed of the sampled entries."""
    sampled = [entry for entry in entries if isinstance(entry.values, Distribution)]
    if table is None:
        if sampled:
            name = sampled[0].column.name
            findings.add((), f"{name!r} has a distribution; add a table [sample] with a count")
        return 0, METHODS[0], 0
    if not isinstance(table, dict):
        findings.add(("sample",), f"expected a table, got {table!r:.60}")
        return 0, METHODS[0], 0
    for key in table.keys() - {"method", "count", "seed"}:
        findings.unknown_key(("sample", key), ("method", "count", "seed"))
    if not sampled and not findings:  # or an entry with a distribution has an error
        findings.add(
            ("sample",), "no entry of [[vary]] has a distribution, such as uniform = [0, 1]"
        )
    count: Any = table.get("count")
    seed = table.get("seed", 0)
    method = table.get("method", METHODS[0])
    _whole(count, 1, MOST_SAMPLES, ("sample", "count"), findings)
    _whole(seed, 0, 2**63, ("sample", "seed"), findings)
    if method not in METHODS:
        choices = ", ".join(map(repr, METHODS))
        findings.add(("sample", "method"), f"expected one of {choices}, got {method!r:.60}")
    return count, method, seed


def _whole(value: Any, low: int, high: int, where: tuple[str, ...], findings: Findings) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        findings.add(where, f"expected a whole number from {low} to {high:,}, got {value!r:.60}")


def _solve(table: Any, findings: Findings) -> tuple[SolveOptions, bool, bool]:
    """Options of solve, whether starts are warm, and whether solutions are kept."""
    known = ("starts", "seed", "refine", "warm", "keep")
    if not isinstance(table, dict):
        findings.add(("solve",), f"expected a table, got {table!r:.60}")
        return SolveOptions(), True, False
    for key in table.keys() - {*known}:
        findings.unknown_key(("solve", key), known)
    for key in ("refine", "warm"):
        if not isinstance(table.get(key, True), bool):
            findings.add(("solve", key), f"expected true or false, got {table[key]!r:.60}")
    if table.get("keep", "none") not in ("none", "all"):
        findings.add(("solve", "keep"), f"expected 'none' or 'all', got {table['keep']!r:.60}")
    starts, seed = table.get("starts", 1), table.get("seed", 0)
    _whole(starts, 1, 10_000, ("solve", "starts"), findings)
    _whole(seed, 0, 2**63, ("solve", "seed"), findings)
    options = SolveOptions(starts, seed, table.get("refine"))
    return options, table.get("warm", True), table.get("keep") == "all"


def _with_unit(column: Column, knob: Knob, problem: Problem | None) -> Column:
    """The unit of a quantity is known; others are what the study says."""
    if column.unit or knob.kind != QUANTITY or problem is None:
        return column
    unit = number_unit(problem, str(knob.target[0]))
    return column._replace(unit="" if unit == "1" else unit)


def _check_names(
    varied: tuple[Column, ...], collected: tuple[Column, ...], findings: Findings
) -> None:
    seen: set[str] = set()
    for k, column in enumerate(varied):
        if column.name in seen:
            findings.add(("vary", k), f"two entries have the name {column.name!r}; give one a name")
        seen.add(column.name)
    for column in collected:
        if column.name in seen:
            findings.add(("collect",), f"{column.name!r} is the name of a varied column too")
        if column.name in RESERVED:
            text = f"{column.name!r} is a column of every study; give this one another name"
            findings.add(("collect",), text)

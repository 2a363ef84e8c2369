"""Find in a task what the entries of a study change, and refuse names that it does not have."""

from __future__ import annotations

from typing import Any

from predyn.config import problem_of_tree
from predyn.config.findings import Findings
from predyn.config.functions import FileFunction
from predyn.config.model import Folder
from predyn.errors import InputError, PredynError
from predyn.problem import Problem
from predyn.problem.task_quantities import number_value
from predyn.study.key_paths import exists, resolved, with_value
from predyn.study.recorded import problem_keys
from predyn.study.sampling import Distribution
from predyn.study.study import FUNCTION, HELD, KEY, PERCENTILE, QUANTITY, Knob, SolveOptions, Source
from predyn.study.values import case_value
from predyn.study.varying import Varied


def checked_knobs(
    entries: list[Varied],
    source: Source,
    problem: Problem | None,
    options: SolveOptions,
    folder: Folder,
    findings: Findings,
) -> list[tuple[Varied, Knob]]:
    """The entries with the places of what they change in this task."""
    made: list[tuple[Varied, Knob]] = []
    for k, entry in enumerate(entries):
        knob = entry.knob
        with findings.at(("vary", k)):
            if knob.kind == KEY:
                knob = _found_key(knob, entry, source)
            elif knob.kind == QUANTITY:
                knob = _found_quantity(knob, source, problem)
            elif knob.kind == FUNCTION:
                knob = _found_function(knob, source, folder)
            elif problem is None or (options.starts == 1 and problem.scene is None):
                raise InputError(
                    "seed: has no effect here; seeds decide between starts ([solve] starts = 2 or "
                    "more) and plan paths among obstacles"
                )
            if any(knob[:2] == other[:2] for _, other in made):
                raise InputError(f"{entry.column.name!r} changes what another entry changes")
            made.append((entry, knob))
    return made


def _found_key(knob: Knob, entry: Varied, source: Source) -> Knob:
    """The key with the places of named entries; a key that is new in the file must be valid."""
    target = knob.target
    is_person = target[0] == "people"
    if is_person:
        if len(target) != 2:
            raise InputError("people: expected what varies, such as people = 'percentile'")
        target = ("movement" if "movement" in source.tree else "model", *target[1:])
        if target[1] == "percentile":
            knob = knob._replace(values=PERCENTILE)
    if source.kind != "task":
        problem_keys(target)
    target = resolved(source.tree, target)
    found = knob._replace(target=target)
    if source.kind == "task" and not exists(source.tree, target):
        first = entry.values.first if isinstance(entry.values, Distribution) else entry.values[0]
        try:
            _try_key(source, found, case_value(found.values, first))
        except InputError as error:
            if not is_person:
                raise
            raise InputError(
                f"the task has no person with a {target[1]}; expected a table [movement] or the "
                f"model 'human': {error}"
            ) from None
    return found


def _try_key(source: Source, knob: Knob, value: Any) -> None:
    """Raise an InputError if the task has no such key; other errors belong to single cases."""
    try:
        problem_of_tree(
            with_value(source.tree, knob.target, value),
            source.text,
            source.place,
            allow_absolute=source.allow_absolute,
            allow_code=source.allow_code,
        )
    except PredynError as error:
        text = str(error).removeprefix(f"{source.place}: ")
        if "unknown key" in text:
            raise InputError(text) from None


def _found_quantity(knob: Knob, source: Source, problem: Problem | None) -> Knob:
    """A free parameter of the task, which is held at the value, or a number of its problem."""
    text = str(knob.target[0])
    if problem is None:
        raise InputError(f"{text!r}: quantities are those of a task; vary a key such as model.mass")
    names = [parameter.name for parameter in problem.parameters]
    if text in names and "parameters" in source.tree:
        return Knob(KEY, ("parameters", names.index(text)), HELD)
    try:
        number_value(problem, text)
    except InputError as error:
        own = f"; parameters of the task: {', '.join(names)}" if names else ""
        raise InputError(f"{error}{own}") from None
    return knob


def _found_function(knob: Knob, source: Source, folder: Folder) -> Knob:
    file, name = map(str, knob.target)
    if not source.allow_code:
        raise InputError(
            f"function: runs code in {file}; allow it with --allow-code (allow_code=True)"
        )
    FileFunction(folder.file(file), name)
    return knob

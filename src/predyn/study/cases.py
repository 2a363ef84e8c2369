"""Solve single cases of a study, keeping what they share.

The results of a case are those of `predyn.solve` of its problem: they depend on its values and its
guess alone, not on the cases before it.
"""

from __future__ import annotations

import copy
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from predyn.config import problem_of_tree
from predyn.config.functions import FileFunction
from predyn.config.model import Folder
from predyn.errors import InputError, PredynError
from predyn.model import Model
from predyn.problem import Problem
from predyn.problem.task_quantities import with_number
from predyn.solution import Solution
from predyn.solving import solve
from predyn.solving.several_starts import starts_in_this_process
from predyn.study.collecting import NOTE, Row, collected_values, missing
from predyn.study.key_paths import with_value
from predyn.study.recorded import built_model, estimate_case, estimate_row
from predyn.study.study import (
    ERROR,
    FUNCTION,
    HELD,
    INVALID,
    KEY,
    PERCENTILE,
    QUANTITY,
    SEED,
    Knob,
    Study,
)
from predyn.study.values import case_value

MOST_KEPT = 16  # models
MOST_MESSAGE = 2000  # characters


class CaseResult(NamedTuple):
    """What a case yields: its row of the table, and its solution if there is one.

    row: status, message, objective, iterations, seconds (of the solve), max_violation and the
    collected columns; NaN or "" where there is no value
    warm: whether it started from the guess given, which a neighbour with other joints cannot be
    """

    row: Row
    solution: Solution | None
    warm: bool = False


class CaseSolver:
    """Solves cases of one study, one after the other; one for each process."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._models: list[tuple[Any, Model]] = []
        self._last: tuple[Any, Problem] | None = None
        self._functions: dict[tuple[str | int, ...], FileFunction] = {}

    def solve(self, k: int, guess: Solution | None = None) -> CaseResult:
        """Case k from a guess, or as the task says. A case that cannot be solved is no error."""
        with warnings.catch_warnings():
            # the study was checked as it is written; a warning for each case would bury the others
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            try:
                if self.study.source.kind == "recording":
                    return self._estimated(k)
                problem = self.problem(k)
                began = time.perf_counter()
                solution, warm = self._solved(k, problem, guess)
            except PredynError as error:
                return self._failed(INVALID, str(error), time.perf_counter() - began)
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                return self._failed(ERROR, text, time.perf_counter() - began)
            return CaseResult(self._row(solution, time.perf_counter() - began), solution, warm)

    def problem(self, k: int) -> Problem:
        """The problem of case k. Raises a FileError or InputError for impossible values."""
        source = self.study.source
        tree, made = self._tree(k)
        problem = self._built(tree) if made is None else made
        assert source.kind == "task"
        for knob, value in self._knobs(k):
            if knob.kind == QUANTITY:
                problem = with_number(problem, str(knob.target[0]), value)
        return problem

    def seed(self, k: int) -> int:
        """The random seed of case k."""
        for knob, value in self._knobs(k):
            if knob.kind == SEED:
                return int(value)
        return self.study.options.seed

    def _knobs(self, k: int) -> list[tuple[Knob, Any]]:
        """What varies, with the values of case k."""
        study = self.study
        if not 0 <= k < len(study):
            raise InputError(f"case: expected a number from 0 to {len(study) - 1}, got {k!r:.40}")
        return [
            (knob, case_value(knob.values, study.values[column.name][k]))
            for knob, column in zip(study.knobs, study.varied, strict=True)
        ]

    def _tree(self, k: int) -> tuple[dict[str, Any], Problem | None]:
        """The contents of the task file of case k, or the problem that a function made."""
        tree, problem = self.study.source.tree, None
        knobs = self._knobs(k)
        for knob, _ in knobs:
            if knob.values == PERCENTILE:  # height and mass come from it, or from other entries
                table = tree.get(str(knob.target[0]), {})
                rest = {key: x for key, x in table.items() if key not in ("height", "mass")}
                tree = with_value(tree, knob.target[:1], rest)
        for knob, value in knobs:
            if knob.kind == KEY:
                if knob.values == HELD:
                    entry = tree["parameters"][knob.target[1]]
                    value = {**entry, "min": value, "max": value, "guess": value}
                tree = with_value(tree, knob.target, value)
        for knob, value in knobs:
            if knob.kind != FUNCTION:
                continue
            if problem is not None:
                raise InputError("a function returned a problem; it must be the only, or the last")
            given = copy.deepcopy(tree)  # the function may change it
            made = self._function(knob)(given, value)
            if isinstance(made, Problem):
                problem = made
            elif made is None or isinstance(made, dict):
                tree = given if made is None else made
            else:
                raise InputError(
                    f"{knob.target[1]}: expected a task (dict), a Problem or None, got "
                    f"{type(made).__name__}"
                )
        return tree, problem

    def _function(self, knob: Knob) -> FileFunction:
        if knob.target not in self._functions:
            source = self.study.source
            folder = Folder(Path(source.folder), source.allow_absolute)
            file, name = map(str, knob.target)
            self._functions[knob.target] = FileFunction(folder.file(file), name)
        return self._functions[knob.target]

    def _built(self, tree: dict[str, Any]) -> Problem:
        """The problem of a task, and of one that is the same, the same."""
        if self._last is not None and _same(self._last[0], tree):
            return self._last[1]
        source, table = self.study.source, tree.get("model")
        known = next((model for given, model in self._models if _same(given, table)), None)
        problem = problem_of_tree(
            tree,
            source.text,
            source.place,
            allow_absolute=source.allow_absolute,
            allow_code=source.allow_code,
            model=known,
        )
        if known is None and table is not None:
            self._models = [*self._models[1 - MOST_KEPT :], (table, problem.model)]
        self._last = tree, problem
        return problem

    def _solved(self, k: int, problem: Problem, guess: Solution | None) -> tuple[Solution, bool]:
        """The solution, and whether it started from the guess."""
        options = self.study.options
        arguments: dict[str, Any] = {
            "starts": options.starts,
            "seed": self.seed(k),
            "refine": options.refine,
            "verbose": False,
        }
        with starts_in_this_process():
            if guess is not None:
                try:
                    return solve(problem, guess=guess, **arguments), True
                except InputError:  # a neighbour with other joints or phases is no guess
                    pass
            return solve(problem, **arguments), False

    def _row(self, solution: Solution, seconds: float) -> Row:
        """The row of a case. Numbers of a motion that is no solution would mislead: NaN."""
        study = self.study
        row: Row = {
            "status": solution.status,
            "message": solution.message,
            "objective": float(solution.objective),
            "iterations": float(solution.iterations),
            "seconds": seconds,
            "max_violation": float(solution.max_violation),
        }
        if not solution.success:
            return row | {column.name: missing(column) for column in study.collected}
        collected = collected_values(study.collect, study.collected, solution)
        note = collected.pop(NOTE, "")
        if note:
            row["message"] = f"{solution.message}; not collected: {note}"[:MOST_MESSAGE]
        return row | collected

    def _failed(self, status: str, message: str, seconds: float) -> CaseResult:
        nan = float("nan")
        message = message.removeprefix(f"{self.study.source.place}: ")  # differs between machines
        row: Row = {"status": status, "message": message[:MOST_MESSAGE], "objective": nan}
        row |= {"iterations": nan, "seconds": seconds, "max_violation": nan}
        row |= {column.name: missing(column) for column in self.study.collected}
        return CaseResult(row, None)

    def _estimated(self, k: int) -> CaseResult:
        """Case k of a recording."""
        study = self.study
        tree, _ = self._tree(k)
        table = tree["model"]
        model = next((x for given, x in self._models if _same(given, table)), None)
        if model is None:
            model = built_model(study.source, tree)
            self._models = [*self._models[1 - MOST_KEPT :], (table, model)]
        began = time.perf_counter()
        estimate = estimate_case(study.source, tree, model)
        row: Row = {
            "status": estimate.status,
            "message": "; ".join([estimate.message, *estimate.warnings])[:MOST_MESSAGE],
            "objective": float("nan"),
            "iterations": float(estimate.iterations),
            "seconds": time.perf_counter() - began,
            "max_violation": float("nan"),
        }
        if not estimate.success:
            row |= {column.name: missing(column) for column in study.collected}
            return CaseResult(row, None)
        return CaseResult(row | estimate_row(study.collect, study.collected, estimate), None)


def _same(one: Any, other: Any) -> bool:
    """Whether two tables are the same, numbers with their types: 1, 1.0 and true differ."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)

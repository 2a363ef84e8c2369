"""Study: which motions to compute, as plain data that can be sent to other processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn import tasks
from predyn.errors import InputError
from predyn.workers.versions import releases

NUMBER, TEXT = "number", "text"
ASK_ABOVE = 10_000  # cases; larger studies are run only if the user says so

# Statuses of cases beside those of solutions: no problem could be built; an error that predyn did
# not expect; its worker died twice
INVALID, ERROR, SET_ASIDE = "invalid", "error", "set_aside"

# How the values of a varied column change a case
KEY, QUANTITY, FUNCTION, SEED = "key", "quantity", "function", "seed"

# Values of a key that change more than the key
HELD, PERCENTILE = "held", "percentile"


class Column(NamedTuple):
    """A column of the table of a study."""

    name: str
    unit: str = ""
    kind: str = NUMBER  # or "text"


class Knob(NamedTuple):
    """What a varied column changes, and how its values are to be read.

    kind    "key" of the task file, "quantity" of its problem, "function" of the user, "seed"
    target  the key as a path; the quantity; file and name of the function; nothing
    values  "number"; "whole" (a number that the file wants without decimals); "text"; "json",
            lists and truth values, which are texts in the table; "held", of a free parameter;
            "percentile" of people, instead of the height and mass in the file
    """

    kind: str
    target: tuple[str | int, ...]
    values: str = NUMBER


class Source(NamedTuple):
    """The task, or the recording, that all cases are made from."""

    kind: str  # "task" or "recording"
    text: str  # of the task file
    tree: dict[str, Any]  # its contents
    path: str  # of the task file, or of the study; the name of a built-in task
    folder: str  # of the study: where its own files are
    allow_absolute: bool
    allow_code: bool

    @property
    def place(self) -> Path:
        """Of the task file on this machine: built-in ones are where predyn is installed."""
        return tasks.path_of(self.path) if self.path in tasks.NAMES else Path(self.path)


class Collect(NamedTuple):
    """What to keep of a solved case beside objective and status; names are checked already."""

    durations: tuple[str, ...] = ()  # names of phases; "" is the whole motion
    peaks: tuple[tuple[str, int], ...] = ()  # channel and component
    channels: tuple[tuple[str, int, tuple[Any, ...]], ...] = ()  # channel, component, when
    bounds: tuple[str, ...] = ()  # starts of names of limits
    active: bool = False  # the names of all limits that hold with equality
    sensitivities: tuple[str, ...] = ()
    gait: tuple[tuple[str, str], ...] = ()  # parameter and side
    ergonomics: tuple[str, ...] = ()  # loads of a lift
    costs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()  # free parameters of the task
    estimate: tuple[str, ...] = ()  # numbers of an estimate


class SolveOptions(NamedTuple):
    """Arguments of predyn.solve."""

    starts: int = 1
    seed: int = 0
    refine: bool | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """All that a study is: one task, the values varied in it, and what to keep of each case.

    varied      columns of `values`
    values      (n,) numbers or words of each varied column; one row for each case
    collected   columns that each solved case yields, in this order, after those of `values`
    warm        whether cases start from solutions of their neighbours
    keep_solutions  whether the full solution of each case is kept
    files       SHA-256 of the files that the study reads, by name
    text        of the study file
    """

    name: str
    description: str
    varied: tuple[Column, ...]
    values: Mapping[str, NDArray[Any]]
    collected: tuple[Column, ...]
    warm: bool
    keep_solutions: bool
    knobs: tuple[Knob, ...]
    source: Source
    collect: Collect = field(default_factory=Collect)
    options: SolveOptions = field(default_factory=SolveOptions)
    files: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    def __len__(self) -> int:
        return len(next(iter(self.values.values()))) if self.values else 1

    def __str__(self) -> str:
        """What it is, for a terminal; `repr` has every value."""
        from predyn.study.study_text import study_text

        return study_text(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that decides the results."""
        parts: dict[str, Any] = {
            "versions": releases(),
            "task": [self.source.kind, self.source.tree],
            "files": sorted(self.files.items()),
            "knobs": self.knobs,
            "columns": [self.varied, self.collected],
            "collect": self.collect,
            "options": [self.options, self.warm, self.keep_solutions],
            "values": [_digest(self.values[column.name]) for column in self.varied],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def apart(self) -> tuple[str, ...]:
        """Columns of words and seeds: cases that differ in them do not start from each other.

        From a neighbour's solution, no random number is drawn: all seeds would give the same.
        """
        knobs = zip(self.varied, self.knobs, strict=False)
        seeds = (x.name for x, knob in knobs if knob.kind == SEED)
        return (*(x.name for x in self.varied if x.kind == TEXT), *seeds)

    def case_values(self, k: int) -> dict[str, float | str]:
        """The varied values of case k."""
        return {column.name: self.values[column.name][k].item() for column in self.varied}


def check_size(study: Study, yes: bool = False) -> None:
    """Raise an InputError for a study with very many cases that was not asked for explicitly."""
    if len(study) > ASK_ABOVE and not yes:
        raise InputError(
            f"study {study.name!r} has {len(study):,} cases; above {ASK_ABOVE:,}, confirm with "
            "--yes (yes=True), or vary less: grids multiply, samples do not"
        )


def _digest(values: NDArray[Any]) -> str:
    numbers = values.dtype.kind == "f"
    data = (
        np.ascontiguousarray(values).tobytes() if numbers else json.dumps(values.tolist()).encode()
    )
    return hashlib.sha256(data).hexdigest()

"""Costs and constraints of a task file. The keys of a term are the fields of its class."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from predyn.config.findings import Findings
from predyn.config.functions import FileFunction
from predyn.config.joints import is_number, radians
from predyn.config.lines import Path
from predyn.config.model import Folder
from predyn.errors import FileError, InputError, unknown_name
from predyn.problem import At, Constraint, Cost, Duration
from predyn.problem.check_bindings import Binder
from predyn.terms import TERMS
from predyn.terms.term import Residual, Term

Row = dict[str, Any]
MIXED = "time_effort"  # (1 - mix) times the duration plus mix times the effort
WHEN = ("throughout", "start", "end")
PLACE_KEYS = ("at", "fractions", "times")
COST_KEYS = ("term", *PLACE_KEYS, "name", "weight", "loss")
CONSTRAINT_KEYS = (
    *("term", *PLACE_KEYS, "name", "lower", "upper", "target", "tolerance", "integral", "over"),
)
PART_KEYS = ("term", "factor")  # of a term in a sum
BOUND_KEYS = ("lower", "upper", "target", "tolerance")
ANGULAR = ("angular", "orientation")  # angles of terms that have lengths too
LOSSES = ("linear", "square", "abs")


class Context(NamedTuple):
    """What the entries of a task file are read with."""

    folder: Folder
    allow_code: bool
    found: Findings
    durations: Sequence[float | Duration]  # of the phases they hold in
    phases: Sequence[int]
    binder: Binder


def costs_of(rows: Sequence[Row], where: Path, c: Context) -> list[tuple[Path, Cost]]:
    """Each with the path of its entry."""
    made = []
    for k, row in enumerate(rows):
        place = (*where, k)
        for term, weight in _weighted_terms(row, place, c):
            at, name = _at(row, term, place, c), _text(row, "name", place, c.found)
            loss = _text(row, "loss", place, c.found)
            if loss is not None and loss not in LOSSES:
                c.found.add((*place, "loss"), str(unknown_name("loss", loss, LOSSES)))
            made.append((place, Cost(term, weight, at, loss, name)))  # type: ignore[arg-type]
    return made


def constraints_of(rows: Sequence[Row], where: Path, c: Context) -> list[tuple[Path, Constraint]]:
    """Each with the path of its entry."""
    made = []
    for k, row in enumerate(rows):
        place = (*where, k)
        if row.get("term") == MIXED:
            c.found.add((*place, "term"), f"{MIXED!r} is a cost only; bound 'time' or 'effort'")
            continue
        term = _term(row, place, c, CONSTRAINT_KEYS)
        if term is None:
            continue
        integral = row.get("integral", False)
        if not isinstance(integral, bool):
            c.found.add((*place, "integral"), f"expected true or false, got {integral!r:.60}")
        constraint = Constraint(
            term,
            **_bounds(row, term, place, c),
            at=_at(row, term, place, c),
            integral=bool(integral),
            name=_text(row, "name", place, c.found),
            over=row.get("over", "phase"),
        )
        made.append((place, constraint))
    return made


def _weighted_terms(row: Row, where: Path, c: Context) -> list[tuple[Term, float]]:
    weight = row.get("weight", 1.0)
    if not is_number(weight):
        kind = "a finite number" if isinstance(weight, int) else "a number"
        c.found.add((*where, "weight"), f"expected {kind}, got {weight!r:.60}")
        weight = 1.0
    if row.get("term") != MIXED:
        term = _term(row, where, c, COST_KEYS)
        return [] if term is None else [(term, weight)]
    mix: Any = row.get("mix")
    if not is_number(mix) or not 0.0 <= mix <= 1.0:
        got = "it is missing" if mix is None else f"got {mix!r:.60}"
        c.found.add((*where, "mix"), f"expected a number from 0 (time) to 1 (effort), {got}")
        return []
    rest = {key: value for key, value in row.items() if key != "mix"} | {"term": "effort"}
    effort = _term(rest, where, c, (*COST_KEYS, "mix"))
    if effort is None:
        return []
    both = [(TERMS["time"](), weight * (1.0 - mix)), (effort, weight * mix)]
    return [(term, share) for term, share in both if share != 0.0]


def _term(row: Row, where: Path, c: Context, keys: Sequence[str]) -> Term | None:
    """The term of an entry, or None after saying what is wrong with it."""
    kind = row.get("term")
    kinds = [*TERMS, MIXED]
    if kind is None:
        c.found.add(where, f"'term' is missing; there are {', '.join(kinds)}")
        return None
    if not isinstance(kind, str) or kind not in TERMS:
        c.found.add((*where, "term"), str(unknown_name("term", kind, kinds)))
        return None
    fields = {f.name: f for f in dataclasses.fields(TERMS[kind]) if f.init}  # type: ignore[arg-type]
    values: Row = {}
    degrees = []
    good = True
    for key, value in row.items():
        plain = key.removesuffix("_deg")
        if key in fields:
            values[key] = value
        elif plain != key and plain in fields:
            degrees.append(key)
            good &= plain not in row or _twice(where, key, plain, c.found)
            values[plain] = radians(value, (*where, key), c.found)
        elif key not in keys and not (plain in BOUND_KEYS and plain in keys):
            angular = [f"{name}_deg" for name in BOUND_KEYS if name in fields or name in keys]
            c.found.unknown_key((*where, key), [*fields, *keys, *angular])
    for name, f in fields.items():
        if (
            name not in values
            and f.default is dataclasses.MISSING
            and f.default_factory is dataclasses.MISSING
        ):
            c.found.add(where, f"term {kind!r} needs {name!r}")
            good = False
    if not good:
        return None
    try:
        if kind == "user":
            values["function"] = _function(values["function"], c)
        if kind == "weighted_sum":
            values["terms"] = _parts(values["terms"], (*where, "terms"), c)
            if None in values["terms"]:
                return None
        term = TERMS[kind](**values)
        residual, message = c.binder.bind(term, c.phases)
    except (InputError, FileError) as error:
        c.found.add(where, str(error))
        return None
    except (TypeError, ValueError) as error:
        c.found.add(where, f"a parameter of term {kind!r} does not fit: {error}")
        return None
    if message is not None:
        c.found.add(where, message)
        return None
    for key in degrees:
        _check_angles(residual, (*where, key), c.found)
    return term


def _parts(rows: Any, where: Path, c: Context) -> list[tuple[float, Term] | None]:
    """The terms of a sum with their factors; None after saying what is wrong with one."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("terms: expected a list of tables such as { factor = 1.0, term = 'time' }")
    made: list[tuple[float, Term] | None] = []
    for k, row in enumerate(rows):
        factor: Any = row.get("factor", 1.0)
        if not is_number(factor):
            c.found.add((*where, k, "factor"), f"expected a number, got {factor!r:.60}")
            factor = 1.0
        term = _term(row, (*where, k), c, PART_KEYS)
        made.append(None if term is None else (float(factor), term))
    return made


def _bounds(row: Row, term: Term, where: Path, c: Context) -> dict[str, Any]:
    """lower and upper of a constraint; neither if nothing is said of them."""
    own = {f.name for f in dataclasses.fields(term)}  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for key in BOUND_KEYS:
        for name in (key, f"{key}_deg"):
            if name not in row or key in own:
                continue
            if key in given:
                _twice(where, name, key, c.found)
            value = row[name]
            if name != key:
                value = radians(value, (*where, name), c.found)
                residual, _ = c.binder.bind(term, c.phases)
                _check_angles(residual, (*where, name), c.found, bound=True)
            elif not (is_number(value) or _is_list(value)):
                c.found.add(
                    (*where, name), f"expected a number or a list of numbers, got {value!r:.60}"
                )
                value = 0.0
            given[key] = np.array(value, dtype=float)
    if not given:
        return {}
    bounds = sorted({"lower", "upper"} & given.keys())
    around = sorted({"target", "tolerance"} & given.keys())
    if bounds and around:
        c.found.add(
            (*where, around[0]),
            f"expected lower and upper, or target and tolerance, got {bounds[0]} and {around[0]}",
        )
        return {}
    if bounds:
        return {
            "lower": given.get("lower", np.array(-math.inf)),
            "upper": given.get("upper", np.array(math.inf)),
        }
    target, tolerance = given.get("target", np.zeros(())), given.get("tolerance", np.zeros(()))
    if np.any(tolerance < 0.0):
        c.found.add((*where, "tolerance"), f"expected numbers not below 0, got {tolerance}")
    try:
        return {"lower": target - tolerance, "upper": target + tolerance}
    except ValueError:
        c.found.add(
            (*where, "tolerance"),
            f"expected one number or as many as in target ({target.size}), got {tolerance.size}",
        )
        return {}


def _at(row: Row, term: Term, where: Path, c: Context) -> At:
    own = {f.name for f in dataclasses.fields(term)}  # type: ignore[arg-type]
    given = [key for key in PLACE_KEYS if key in row and key not in own]
    if len(given) > 1:
        c.found.add((*where, given[1]), f"expected one of {', '.join(PLACE_KEYS)}, got {given}")
    if not given:
        return "throughout"
    key, value = given[0], row[given[0]]
    place = (*where, key)
    if key == "at":
        if not isinstance(value, str) or value not in WHEN:
            c.found.add(
                place,
                f"expected 'throughout', 'start' or 'end', got {value!r:.60}; for other instants "
                "write fractions = [...] (0 to 1) or times = [...] (s)",
            )
            return "throughout"
        return value  # type: ignore[return-value]
    if not _is_list(value) or not value:
        c.found.add(place, f"expected a list of numbers, got {value!r:.60}")
        return "throughout"
    if key == "fractions":
        return tuple(float(x) for x in value)
    return _fractions(value, place, c)


def _fractions(times: Sequence[float], where: Path, c: Context) -> At:
    """Times in seconds as fractions of the only phase, whose duration must be fixed."""
    if len(c.durations) != 1:
        c.found.add(
            where,
            f"times count from the start of a phase and there are {len(c.durations)}; "
            "move the entry into its phase ([[phases.cost]], [[phases.constraint]])",
        )
        return "throughout"
    duration = c.durations[0]
    if isinstance(duration, Duration):
        c.found.add(
            where,
            "times need a fixed duration, and this one is free "
            f"({duration.min:g} to {duration.max:g} s); write fractions = [...] (0 to 1)",
        )
        return "throughout"
    if not all(0.0 <= t <= duration for t in times):
        c.found.add(where, f"expected times from 0 to {duration:g} s, got {list(times)!r:.60}")
        return "throughout"
    return tuple(t / duration for t in times) if duration > 0.0 else "throughout"


def _function(name: Any, c: Context) -> FileFunction:
    """The function that an entry names, if its code may run."""
    file, colon, function = str(name).rpartition(":")
    if not isinstance(name, str) or not colon or not function.isidentifier():
        raise InputError(f"function: expected 'file.py:name', got {name!r:.60}")
    if not c.allow_code:
        raise InputError(
            f"function {name!r} would run code from {file!r}; if you trust it, allow that "
            "(--allow-code, allow_code=True)"
        )
    return FileFunction(c.folder.file(file).resolve(), function)


def _twice(where: Path, key: str, plain: str, found: Findings) -> bool:
    found.add((*where, key), f"both {plain!r} and '{plain}_deg' are given")
    return False


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(is_number(x) for x in value)


def _check_angles(
    residual: Residual | None, where: Path, found: Findings, bound: bool = False
) -> None:
    """Degrees are for what turns. An orientation's rows are sines and cosines, of unit 1: its
    parameters may be angles, its bounds are not.
    """
    if residual is None:  # told with the signals that it looks at
        return
    key = str(where[-1])
    turning = [unit.startswith("rad") or (unit == "1" and not bound) for unit in residual.units]
    if all(turning) or (any(turning) and key.removesuffix("_deg") in ANGULAR):
        return
    k = turning.index(False)
    found.add(
        where,
        f"{residual.rows[k]!r} is in {residual.units[k]}, not an angle: "
        f"write {key.removesuffix('_deg')!r} in SI units",
    )


def _text(row: Row, key: str, where: Path, found: Findings) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        found.add((*where, key), f"expected a text in quotes, got {value!r:.60}")
        return None
    return value

"""Costs and constraints of a task file. The keys of a term are the fields of its class."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from predyn.config.contacts import points_of
from predyn.config.findings import Findings
from predyn.config.functions import FileFunction
from predyn.config.joints import is_number, radians
from predyn.config.lines import Path
from predyn.config.model import Folder
from predyn.errors import FileError, InputError, unknown_name
from predyn.problem import At, Constraint, Cost, Duration
from predyn.problem.check_bindings import Binder
from predyn.problem.problem import When
from predyn.terms import TERMS
from predyn.terms.term import LOSSES, Loss, Residual, Term

Row = dict[str, Any]
MIXED = "time_effort"  # (1 - mix) * duration + mix * effort
WHEN: tuple[When, ...] = get_args(When)
PLACE_KEYS = ("at", "fractions", "times")
COST_KEYS = ("term", *PLACE_KEYS, "name", "weight", "loss", "average")
CONSTRAINT_KEYS = (
    *("term", *PLACE_KEYS, "name", "lower", "upper", "target", "tolerance", "integral", "over"),
    "imposed_at",
)
PART_KEYS = ("term", "factor")  # keys of a term in a sum
BOUND_KEYS = ("lower", "upper", "target", "tolerance")
ANGULAR = ("angular", "orientation")  # angles in terms that also have lengths


class Context(NamedTuple):
    """Context for reading the costs and constraints of a task file."""

    folder: Folder
    allow_code: bool
    findings: Findings
    durations: Sequence[float | Duration]  # of the phases that they apply to
    phases: Sequence[int]
    binder: Binder


def costs_of(rows: Sequence[Row], where: Path, c: Context) -> list[tuple[Path, Cost]]:
    """Costs, each with the path of its entry."""
    made = []
    for k, row in enumerate(rows):
        place = (*where, k)
        for term, weight in _weighted_terms(row, place, c):
            at, name = _at(row, term, place, c), _text(row, "name", place, c.findings)
            loss, average = _loss(row, place, c), row.get("average", False)
            made.append((place, Cost(term, weight, at, loss, name, average)))
    return made


def _loss(row: Row, where: Path, c: Context) -> Loss | None:
    given = _text(row, "loss", where, c.findings)
    for loss in LOSSES:
        if loss == given:
            return loss
    if given is not None:
        c.findings.add((*where, "loss"), str(unknown_name("loss", given, LOSSES)))
    return None


def constraints_of(rows: Sequence[Row], where: Path, c: Context) -> list[tuple[Path, Constraint]]:
    """Constraints, each with the path of its entry."""
    made = []
    for k, row in enumerate(rows):
        place = (*where, k)
        if row.get("term") == MIXED:
            c.findings.add((*place, "term"), f"{MIXED!r} is a cost only; bound 'time' or 'effort'")
            continue
        term = _term(row, place, c, CONSTRAINT_KEYS)
        if term is None:
            continue
        integral = row.get("integral", False)
        if not isinstance(integral, bool):
            c.findings.add((*place, "integral"), f"expected true or false, got {integral!r:.60}")
        imposed_at = None
        with c.findings.at((*place, "imposed_at")):
            imposed_at = points_of(row.get("imposed_at"))
        constraint = Constraint(
            term,
            **_bounds(row, term, place, c),
            at=_at(row, term, place, c),
            integral=bool(integral),
            name=_text(row, "name", place, c.findings),
            over=row.get("over", "phase"),
            imposed_at=imposed_at,
        )
        made.append((place, constraint))
    return made


def _weighted_terms(row: Row, where: Path, c: Context) -> list[tuple[Term, float]]:
    weight = row.get("weight", 1.0)
    if not is_number(weight):
        kind = "a finite number" if isinstance(weight, int) else "a number"
        c.findings.add((*where, "weight"), f"expected {kind}, got {weight!r:.60}")
        weight = 1.0
    if row.get("term") != MIXED:
        term = _term(row, where, c, COST_KEYS)
        return [] if term is None else [(term, weight)]
    mix: Any = row.get("mix")
    if not is_number(mix) or not 0.0 <= mix <= 1.0:
        got = "it is missing" if mix is None else f"got {mix!r:.60}"
        c.findings.add((*where, "mix"), f"expected a number from 0 (time) to 1 (effort), {got}")
        return []
    rest = {key: value for key, value in row.items() if key != "mix"} | {"term": "effort"}
    effort = _term(rest, where, c, (*COST_KEYS, "mix"))
    if effort is None:
        return []
    both = [(TERMS["time"](), weight * (1.0 - mix)), (effort, weight * mix)]
    return [(term, share) for term, share in both if share != 0.0]


def _term(row: Row, where: Path, c: Context, keys: Sequence[str]) -> Term | None:
    """Build the term of an entry; None if there are errors."""
    kind = row.get("term")
    kinds = [*TERMS, MIXED]
    if kind is None:
        c.findings.add(where, f"'term' is missing; valid terms: {', '.join(kinds)}")
        return None
    if not isinstance(kind, str) or kind not in TERMS:
        c.findings.add((*where, "term"), str(unknown_name("term", kind, kinds)))
        return None
    fields = {f.name: f for f in _fields(TERMS[kind]) if f.init}
    values: Row = {}
    degrees = []
    good = True
    for key, value in row.items():
        plain = key.removesuffix("_deg")
        if key in fields:
            values[key] = value
        elif plain != key and plain in fields:
            degrees.append(key)
            good &= plain not in row or _twice(where, key, plain, c.findings)
            values[plain] = radians(value, (*where, key), c.findings)
        elif key not in keys and not (plain in BOUND_KEYS and plain in keys):
            angular = [f"{name}_deg" for name in BOUND_KEYS if name in fields or name in keys]
            c.findings.unknown_key((*where, key), [*fields, *keys, *angular])
    for name, f in fields.items():
        if (
            name not in values
            and f.default is dataclasses.MISSING
            and f.default_factory is dataclasses.MISSING
        ):
            c.findings.add(where, f"term {kind!r} needs {name!r}")
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
        c.findings.add(where, str(error))
        return None
    except (TypeError, ValueError) as error:
        c.findings.add(where, f"a parameter of term {kind!r} is not valid: {error}")
        return None
    if message is not None:
        c.findings.add(where, message)
        return None
    for key in degrees:
        _check_angles(residual, (*where, key), c.findings)
    return term


def _parts(rows: Any, where: Path, c: Context) -> list[tuple[float, Term] | None]:
    """The terms of a sum with their factors; None for each term with errors."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("terms: expected a list of tables such as { factor = 1.0, term = 'time' }")
    made: list[tuple[float, Term] | None] = []
    for k, row in enumerate(rows):
        factor: Any = row.get("factor", 1.0)
        if not is_number(factor):
            c.findings.add((*where, k, "factor"), f"expected a number, got {factor!r:.60}")
            factor = 1.0
        term = _term(row, (*where, k), c, PART_KEYS)
        made.append(None if term is None else (float(factor), term))
    return made


def _fields(term: Any) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a term or of its class: all of these are dataclasses."""
    return dataclasses.fields(term)


def _bounds(row: Row, term: Term, where: Path, c: Context) -> dict[str, Any]:
    """Bounds of a constraint as keyword arguments; empty if none are given."""
    own = {f.name for f in _fields(term)}
    given: dict[str, Any] = {}
    for key in BOUND_KEYS:
        for name in (key, f"{key}_deg"):
            if name not in row or key in own:
                continue
            if key in given:
                _twice(where, name, key, c.findings)
            value = row[name]
            if name != key:
                value = radians(value, (*where, name), c.findings)
                residual, _ = c.binder.bind(term, c.phases)
                _check_angles(residual, (*where, name), c.findings, bound=True)
            elif not (is_number(value) or _is_list(value)):
                c.findings.add(
                    (*where, name), f"expected a number or a list of numbers, got {value!r:.60}"
                )
                value = 0.0
            given[key] = np.array(value, dtype=float)
    if not given:
        return {}
    bounds = sorted({"lower", "upper"} & given.keys())
    around = sorted({"target", "tolerance"} & given.keys())
    if bounds and around:
        c.findings.add(
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
        c.findings.add((*where, "tolerance"), f"expected numbers not below 0, got {tolerance}")
    try:
        return {"lower": target - tolerance, "upper": target + tolerance}
    except ValueError:
        c.findings.add(
            (*where, "tolerance"),
            f"expected one number or as many as in target ({target.size}), got {tolerance.size}",
        )
        return {}


def _at(row: Row, term: Term, where: Path, c: Context) -> At:
    own = {f.name for f in _fields(term)}
    given = [key for key in PLACE_KEYS if key in row and key not in own]
    if len(given) > 1:
        c.findings.add((*where, given[1]), f"expected one of {', '.join(PLACE_KEYS)}, got {given}")
    if not given:
        return "throughout"
    key, value = given[0], row[given[0]]
    place = (*where, key)
    if key == "at":
        for when in WHEN:
            if when == value:
                return when
        c.findings.add(
            place,
            f"expected 'throughout', 'start' or 'end', got {value!r:.60}; for other instants "
            "write fractions = [...] (0 to 1) or times = [...] (s)",
        )
        return "throughout"
    if not _is_list(value) or not value:
        c.findings.add(place, f"expected a list of numbers, got {value!r:.60}")
        return "throughout"
    if key == "fractions":
        return tuple(float(x) for x in value)
    return _fractions(value, place, c)


def _fractions(times: Sequence[float], where: Path, c: Context) -> At:
    """Convert times (s) to fractions of the single phase, whose duration must be fixed."""
    if len(c.durations) != 1:
        c.findings.add(
            where,
            f"times count from the start of a phase, but there are {len(c.durations)} phases; "
            "move the entry into its phase ([[phases.cost]], [[phases.constraint]])",
        )
        return "throughout"
    duration = c.durations[0]
    if isinstance(duration, Duration):
        c.findings.add(
            where,
            "times need a fixed duration, but this one is free "
            f"({duration.min:g} to {duration.max:g} s); write fractions = [...] (0 to 1)",
        )
        return "throughout"
    if not all(0.0 <= t <= duration for t in times):
        c.findings.add(where, f"expected times from 0 to {duration:g} s, got {list(times)!r:.60}")
        return "throughout"
    return tuple(t / duration for t in times) if duration > 0.0 else "throughout"


def _function(name: Any, c: Context) -> FileFunction:
    """Load the function named in an entry, if running code is allowed."""
    file, colon, function = str(name).rpartition(":")
    if not isinstance(name, str) or not colon or not function.isidentifier():
        raise InputError(f"function: expected 'file.py:name', got {name!r:.60}")
    if not c.allow_code:
        raise InputError(
            f"function {name!r} would run code from {file!r}; if you trust it, allow code "
            "(--allow-code, allow_code=True)"
        )
    return FileFunction(c.folder.file(file).resolve(), function)


def _twice(where: Path, key: str, plain: str, findings: Findings) -> bool:
    findings.add((*where, key), f"both {plain!r} and '{plain}_deg' are given")
    return False


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(is_number(x) for x in value)


def _check_angles(
    residual: Residual | None, where: Path, findings: Findings, bound: bool = False
) -> None:
    """Check that a value in degrees is an angle.

    The rows of an orientation are sines and cosines, of unit 1: its parameters may be angles, its
    bounds may not.
    """
    if residual is None:  # errors in its signals are reported elsewhere
        return
    key = str(where[-1])
    turning = [unit.startswith("rad") or (unit == "1" and not bound) for unit in residual.units]
    if all(turning) or (any(turning) and key.removesuffix("_deg") in ANGULAR):
        return
    k = turning.index(False)
    findings.add(
        where,
        f"{residual.rows[k]!r} is in {residual.units[k]}, not an angle: "
        f"write {key.removesuffix('_deg')!r} in SI units",
    )


def _text(row: Row, key: str, where: Path, findings: Findings) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        findings.add((*where, key), f"expected a string in quotes, got {value!r:.60}")
        return None
    return value

"""Tasks that are movements of people: a function makes the problem from the options of the file."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from predyn.config.findings import Findings
from predyn.config.schema import METHODS
from predyn.errors import InputError, unknown_name
from predyn.problem import Problem, Spline

MOVEMENTS = {  # kind: module and function
    "human-walk": ("predyn.movements.walking", "human_walk"),
    "human-sit-to-stand": ("predyn.movements.standing", "human_sit_to_stand"),
    "human-lift-box": ("predyn.movements.lift_problem", "human_lift_box"),
}
KEYS = ("name", "description", "movement", "transcription", "solver")


def is_movement(raw: Mapping[str, Any]) -> bool:
    return "movement" in raw


def with_options(raw: dict[str, Any], options: Mapping[str, str]) -> dict[str, Any]:
    """The contents of a task file with other values in its table [movement]."""
    if not isinstance(raw.get("movement"), dict):
        raise InputError(
            "--set: this task has no options (no table [movement]); copy the task file and edit "
            "the copy"
        )
    values = {key: _value(key, text) for key, text in options.items()}
    return {**raw, "movement": {**raw["movement"], **values}}


def text_of(raw: Mapping[str, Any]) -> str:
    """A task file with these contents, whose tables hold numbers, words and lists of these."""
    tables = {key: value for key, value in raw.items() if isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in raw.items() if key not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(x)}" for key, x in table.items())]
    return "\n".join(lines) + "\n"


def _value(key: str, text: str) -> Any:
    """A value as in TOML; words need no quotes."""
    try:
        read = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        read = {"value": text}
    if read.keys() != {"value"} or (isinstance(read["value"], str) and len(text.splitlines()) > 1):
        raise InputError(
            f"--set {key}={text!r:.60}: expected a number, true, false, a word or a list such as "
            '["neck"]'
        )
    return read["value"]


def movement_of(raw: Mapping[str, Any], stem: str, findings: Findings) -> Problem:
    """The problem of a file with a table [movement]; raises a FileError that lists all errors."""
    for key in raw.keys() - {*KEYS}:
        findings.unknown_key((key,), list(KEYS))
    table = raw["movement"]
    if not isinstance(table, dict):
        findings.add(("movement",), f"expected a table, got {table!r:.60}")
        findings.raise_if_any()
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in MOVEMENTS:
        choices = ", ".join(map(repr, MOVEMENTS))
        findings.add(("movement", "kind"), f"expected one of {choices}, got {kind!r:.40}")
    findings.raise_if_any()
    make = _function(kind)
    options = {key: value for key, value in table.items() if key != "kind"}
    known = list(inspect.signature(make).parameters)
    for key in options.keys() - {*known}:
        findings.unknown_key(("movement", key), ["kind", *known])
    findings.raise_if_any()
    changes: dict[str, Any] = {"name": str(raw.get("name", stem))}
    problem = None
    with findings.at(("movement",)):
        problem = make(**options)
    findings.raise_if_any()
    assert problem is not None
    for key in ("transcription", "solver"):
        with findings.at((key,)):
            changes[key] = _changed(getattr(problem, key), raw.get(key, {}))
    findings.raise_if_any()
    return replace(problem, **changes)


def _function(kind: str) -> Callable[..., Problem]:
    module, name = MOVEMENTS[kind]
    function: Callable[..., Problem] = getattr(import_module(module), name)
    return function


def _changed(options: Any, given: Any) -> Any:
    """Options of a method or a solver with other values, or those of another method."""
    if not isinstance(given, dict):
        raise InputError(f"expected a table, got {given!r:.60}")
    kind, values = type(options), {key: x for key, x in given.items() if key != "method"}
    if "method" in given:
        if not hasattr(options, "method"):
            raise unknown_name("key", "method", [x.name for x in fields(options)])
        method = given["method"]
        if not isinstance(method, str) or method not in METHODS:
            raise unknown_name("method", method, METHODS)
        kind = METHODS[method]
    known = [field.name for field in fields(kind)]
    for key in values:
        if key not in known:
            raise unknown_name("key", key, known)
    if kind is type(options):
        return replace(options, **values)
    kept = {x.name: getattr(options, x.name) for x in fields(options) if x.name in known}
    own = [x.name for x in fields(kind) if x.name not in {y.name for y in fields(Spline)}]
    return kind(**{key: x for key, x in kept.items() if key not in own} | values)

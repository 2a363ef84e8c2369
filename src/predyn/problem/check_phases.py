"""Check the phases of a problem: durations and boundary values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from predyn.errors import listed, unknown_name
from predyn.model import Limits, Model
from predyn.model.parts import LARGEST, Array
from predyn.problem.unknowns import Parameter

if TYPE_CHECKING:
    from predyn.problem.problem import Phase, Problem

T = TypeVar("T")
Path = tuple[str | int, ...]
Finding = tuple[Path, str]

LIMIT = {"q": "position", "v": "velocity", "a": "acceleration"}
MOST_SEGMENTS = 100_000
SHORTEST, LONGEST = 1e-6, 1e9
SECONDS = "seconds above 0 (1e-6 to 1e9)"
ROUNDING = 1e-9  # relative tolerance by which a boundary value may exceed a limit


def phase_problems(
    problem: Problem, limits: Limits, k: int, states: list[dict[str, Array]]
) -> Iterator[Finding]:
    """Errors in phase k under its limits; its boundary values are appended to `states`."""
    model, phase, where = problem.model, problem.phases[k], ("phases", k)
    longest, bad = _duration(problem, phase)
    yield from (((*where, *place), message) for place, message in bad)
    if phase.segments is not None and not whole(phase.segments, 1, MOST_SEGMENTS):
        yield (
            (*where, "segments"),
            f"expected a whole number from 1 to {MOST_SEGMENTS}, got {phase.segments!r:.60}",
        )
    yield from name_problems(phase.name, where)
    found: dict[str, Array] = {}
    for end in ("start", "end"):
        yield from _state(model, limits, getattr(phase, end), (*where, end), end, found)
    states.append(found)
    if bad:
        return
    distance = found["end.q"] - found["start.q"]
    speed = np.where(distance < 0.0, -limits.velocity[:, 0], limits.velocity[:, 1])
    for j in np.flatnonzero(np.abs(distance) > 0.0):  # NaN where an end is free
        needed = abs(distance[j]) / speed[j] if speed[j] > 0.0 else np.inf
        if needed > longest * (1.0 + ROUNDING):
            yield (
                (*where, "end", "q"),
                f"joint {model.joint_names[j]!r} cannot get there in time: {distance[j]:g} at no "
                f"more than {speed[j]:g} per second takes {needed:g} s, and {longest:g} s are "
                "allowed; allow more time, or a higher velocity",
            )


def _duration(problem: Problem, phase: Phase) -> tuple[float, list[Finding]]:
    """The longest allowed duration, and errors."""
    from predyn.problem.problem import Duration

    given: Any = phase.duration
    if isinstance(given, str):
        return _named_duration(problem, given)
    if not isinstance(given, Duration):
        if not is_duration(given):
            other = ", or Duration(min, max, guess)" if isinstance(given, tuple | list) else ""
            return 0.0, [(("duration",), f"expected {SECONDS}{other}, got {given!r:.60}")]
        return float(given), []
    wrong: list[Finding] = []
    for name in ("min", "max", "guess"):
        value = getattr(given, name)
        if not is_duration(value):
            wrong.append((("duration", name), f"expected {SECONDS}, got {value!r:.60}"))
    if not wrong and given.min > given.max:
        message = f"min {given.min:g} s is above max {given.max:g} s"
        wrong.append((("duration",), message))
    elif not wrong and not given.min <= given.guess <= given.max:
        message = f"expected {given.min:g} to {given.max:g} s (min, max), got {given.guess:g} s"
        wrong.append((("duration", "guess"), message))
    return float(given.max) if not wrong else 0.0, wrong


def _named_duration(problem: Problem, name: str) -> tuple[float, list[Finding]]:
    """As _duration, for a parameter; its values are checked with the parameter."""
    parameters = of_kind(problem.parameters, Parameter)
    known = {x.name: x.max for x in parameters}
    given: Any = problem.parameters
    sound = isinstance(given, tuple | list) and len(parameters) == len(given)
    if name in known or not sound:
        longest = known.get(name)
        return float(longest) if longest is not None and is_duration(longest) else LONGEST, []
    if known:
        return 0.0, [(("duration",), str(unknown_name("parameter", name, known)))]
    message = f"expected {SECONDS}, got {name!r:.60}, which is not the name of a parameter"
    return 0.0, [(("duration",), message)]


def is_duration(value: Any) -> bool:
    """Whether the value is a valid duration of a phase, in seconds."""
    return finite(value) and SHORTEST <= value <= LONGEST


def _state(
    model: Model, limits: Limits, state: Any, where: Path, end: str, found: dict[str, Array]
) -> Iterator[Finding]:
    """Errors in a state; its values (n,) of q, v and a go to `found`, NaN where free."""
    from predyn.problem.problem import State

    for key in LIMIT:
        found[f"{end}.{key}"] = np.full(model.n, np.nan)
    if not isinstance(state, State):
        yield where, f"expected a State, got {type(state).__name__}; write State(q=..., v=...)"
        return
    for key, kind in LIMIT.items():
        given = getattr(state, key)
        if given is None:
            continue
        values = numbers(given)
        place = (*where, key)
        if values is None or values.shape != (model.n,):
            got = f"{given!r:.60}" if values is None else f"shape {values.shape}"
            order = listed(model.joint_names, 6)
            yield (
                place,
                f"expected {model.n} numbers, one per joint ({order}; NaN: free), got {got}",
            )
            continue
        if np.isinf(values).any():
            yield place, "contains infinity; leave it out, or use NaN, where it is free"
            continue
        if (np.abs(values) > LARGEST).any():
            yield place, f"expected numbers up to {LARGEST:g}, got {np.nanmax(np.abs(values)):g}"
            continue
        found[f"{end}.{key}"] = values
        lower, upper = getattr(limits, kind).T
        room = ROUNDING * (1.0 + np.abs(values))
        for j in np.flatnonzero((values < lower - room) | (values > upper + room)):
            yield (
                place,
                f"joint {model.joint_names[j]!r}: {values[j]:g} is outside its {kind} limits "
                f"{lower[j]:g} to {upper[j]:g}",
            )


def name_problems(name: Any, where: Path) -> Iterator[Finding]:
    """Errors in a name, which must be valid in tables and files."""
    if name is not None and (not isinstance(name, str) or "\0" in name):
        yield (*where, "name"), f"expected a string without NUL characters, got {name!r:.60}"


def not_a_list(kind: type, given: Any) -> str:
    """The error in an argument that should be a list of instances of a class."""
    name, got = kind.__name__, type(given).__name__
    hint = f"; write [{name}(...)]" if isinstance(given, kind) else ""
    return f"expected a list of {name}, got {got}{hint}"


def of_kind(given: Any, kind: type[T]) -> tuple[T, ...]:
    """The entries of a list that are of the given type; others are reported elsewhere."""
    return tuple(x for x in given if isinstance(x, kind)) if isinstance(given, tuple | list) else ()


def whole(value: Any, least: int, most: int = 2**31) -> bool:
    """Whether the value is an integer from `least` to `most`."""
    is_whole = isinstance(value, int | np.integer) and type(value) is not bool
    return is_whole and least <= int(value) <= most


def finite(value: Any) -> bool:
    """Whether the value is a finite number."""
    real = isinstance(value, int | float | np.integer | np.floating) and type(value) is not bool
    try:
        return real and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def numbers(value: Any) -> Array | None:
    """Convert to an array of real numbers; None if that is not possible."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            return None
        return array.astype(float)
    except (TypeError, ValueError):
        return None


def spans(s: Array) -> bool:
    """Whether the numbers increase from 0 to 1."""
    return bool(s[0] == 0.0 and s[-1] == 1.0 and (np.diff(s) > 0.0).all())

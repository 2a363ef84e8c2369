"""Check the unknowns of a problem besides its motion: signals and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import unknown_name
from predyn.model.parts import Array
from predyn.problem.check_limits import bound_problem
from predyn.problem.check_phases import (
    MOST_SEGMENTS,
    ROUNDING,
    SECONDS,
    Finding,
    Path,
    finite,
    is_duration,
    not_a_list,
    numbers,
    spans,
    whole,
)
from predyn.problem.offers import phase_name
from predyn.problem.unknowns import Parameter, Signal
from predyn.samples.registry import TORQUES

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

LONGEST_NAME = 60  # characters, in tables and files
HIGHEST_DEGREE = 5
HIGHEST_CONTINUITY = 1


def unknown_problems(problem: Problem) -> Iterator[Finding]:
    """Errors in signals and parameters, and names that are used twice."""
    wrong = list(_unknown_problems(problem))
    yield from wrong
    if not wrong and any(x.quantity not in ((), None) for x in problem.parameters):
        from predyn.problem.check_parameters import quantity_problems

        yield from quantity_problems(problem, problem.parameters)


def _unknown_problems(problem: Problem) -> Iterator[Finding]:
    from predyn.problem.problem import Dmoc, Hybrid

    names: dict[str, str] = {}
    for field, kind in (("signals", Signal), ("parameters", Parameter)):
        given: Any = getattr(problem, field)
        if not isinstance(given, tuple | list):
            yield (field,), not_a_list(kind, given)
            continue
        if given and field == "signals" and isinstance(problem.transcription, Hybrid):
            yield (field,), "method 'hybrid' does not support signals; use method 'spline'"
        for k, unknown in enumerate(given):
            where: Path = (field, k)
            if not isinstance(unknown, kind):
                yield where, f"expected a {kind.__name__}, got {type(unknown).__name__}"
                continue
            yield from _name(unknown.name, f"{kind.__name__.lower()} {k + 1}", where, names)
            if not isinstance(unknown.unit, str) or not unknown.unit.isprintable():
                yield (*where, "unit"), f"expected printable text, got {unknown.unit!r:.60}"
            components = tuple(getattr(unknown, "components", ()))
            own = isinstance(problem.transcription, Dmoc)
            if unknown.name == TORQUES and not (own and components == problem.model.joint_names):
                yield (*where, "name"), f"{TORQUES!r} is the name of the torques; use another one"
            if isinstance(unknown, Signal):
                yield from _signal(problem, unknown, where)
            else:
                yield from _parameter(problem, unknown, where)


def _name(name: Any, called: str, where: Path, names: dict[str, str]) -> Iterator[Finding]:
    """Errors in a name, which must be unique; `names` has those so far."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        yield (
            (*where, "name"),
            f"expected a printable string of 1 to {LONGEST_NAME} characters, got {name!r:.60}",
        )
    elif name in names:
        yield (*where, "name"), f"{name!r:.60} is already the name of {names[name]}"
    else:
        names[name] = called


def _signal(problem: Problem, signal: Signal, where: Path) -> Iterator[Finding]:
    if not whole(signal.degree, 0, HIGHEST_DEGREE):
        got = f"got {signal.degree!r:.60}"
        yield (*where, "degree"), f"expected a whole number from 0 to {HIGHEST_DEGREE}, {got}"
    elif not whole(signal.continuity, -1, HIGHEST_CONTINUITY):
        yield (
            (*where, "continuity"),
            "expected -1 (it may jump), 0 (values agree) or 1 (rates too), got "
            f"{signal.continuity!r:.60}",
        )
    elif signal.continuity >= signal.degree:
        yield (
            (*where, "continuity"),
            f"a signal of degree {signal.degree} has at most continuity {signal.degree - 1}, got "
            f"{signal.continuity}; use a higher degree",
        )
    knots = None if signal.knots is None else numbers(signal.knots)
    if signal.knots is not None and (
        knots is None or knots.ndim != 1 or len(knots) < 2 or not spans(knots)
    ):
        yield (
            (*where, "knots"),
            f"expected break points that rise from 0 to 1, got {signal.knots!r:.60}",
        )
    elif knots is not None and signal.segments is not None:
        yield (*where, "knots"), "expected segments or knots, got both"
    if signal.segments is not None and not whole(signal.segments, 1, MOST_SEGMENTS):
        yield (
            (*where, "segments"),
            f"expected a whole number from 1 to {MOST_SEGMENTS}, got {signal.segments!r:.60}",
        )
    yield from _phases(problem, signal.phases, (*where, "phases"))
    names: Any = signal.components
    if isinstance(names, str) or not isinstance(names, tuple | list) or not names:
        got = f"got {names!r:.60}"
        yield (*where, "components"), f"expected names such as ['x', 'y', 'z'], {got}"
    elif not all(isinstance(x, str) and 0 < len(x) <= LONGEST_NAME for x in names):
        yield (*where, "components"), f"expected texts that are not empty, got {names!r:.60}"
    elif not all(x.isprintable() for x in names) or len(set(names)) < len(names):
        yield (*where, "components"), f"expected different printable names, got {names!r:.60}"
    else:
        yield from _values(signal, where)


def _phases(problem: Problem, given: Any, where: Path) -> Iterator[Finding]:
    if given is None:
        return
    if isinstance(given, str) or not isinstance(given, tuple | list) or not given:
        yield where, f"expected names of phases, got {given!r:.60}; leave it out for all phases"
        return
    known = [phase_name(problem, p) for p in range(len(problem.phases))]
    for name in given:
        if name not in known:
            yield where, str(unknown_name("phase", name, known))


def _values(signal: Signal, where: Path) -> Iterator[Finding]:
    """Bounds, scale and guess of a signal whose components have names."""
    found = {}
    for key in ("lower", "upper", "scale"):
        values = _per_component(getattr(signal, key), signal)
        if values is None:
            yield (*where, key), f"{_expected(signal)}, got {getattr(signal, key)!r:.60}"
        elif key == "scale" and not (np.isfinite(values) & (values > 0.0)).all():
            yield (*where, key), f"expected finite numbers above 0, got {signal.scale!r:.60}"
        else:
            found[key] = values
    if not {"lower", "upper"} <= found.keys():
        return
    bounds = zip(found["lower"].tolist(), found["upper"].tolist(), strict=True)
    wrong = _grouped(signal, [bound_problem(*pair) for pair in bounds])
    for message, names in wrong.items():
        yield (*where, "lower"), f"{', '.join(names)}: {message}"
    if not wrong:
        yield from _guess(signal, found["lower"], found["upper"], (*where, "guess"))


def _grouped(signal: Signal, messages: Sequence[str | None]) -> dict[str, list[str]]:
    """Names of the components with errors, by message."""
    found: dict[str, list[str]] = {}
    for name, message in zip(signal.components, messages, strict=True):
        if message is not None:
            found.setdefault(message, []).append(repr(name))
    return found


def _guess(signal: Signal, lower: Array, upper: Array, where: Path) -> Iterator[Finding]:
    if not isinstance(signal.guess, Mapping):
        yield from _guess_values(signal, signal.guess, lower, upper, where)
        return
    for phase in signal.phases or ():
        if phase not in signal.guess:
            yield where, f"expected a guess for each phase of the signal; {phase!r} has none"
        else:
            yield from _guess_values(signal, signal.guess[phase], lower, upper, where)


def _guess_values(
    signal: Signal, guess: Any, lower: Array, upper: Array, where: Path
) -> Iterator[Finding]:
    m = len(signal.components)
    s = numbers(guess[0]) if isinstance(guess, tuple) and len(guess) == 2 else None
    values: Array | None
    if isinstance(guess, tuple) and s is not None and s.ndim == 1:
        values = numbers(guess[1])
        if len(s) < 2 or not (np.diff(s) > 0.0).all() or s[0] < 0.0 or s[-1] > 1.0:
            yield (*where, "s"), f"expected increasing numbers from 0 to 1, got {guess[0]!r:.60}"
            return
        if values is None or values.shape != (len(s), m):
            got = "no numbers" if values is None else f"shape {values.shape}"
            yield (*where, "values"), f"expected numbers of shape ({len(s)}, {m}), got {got}"
            return
    else:
        values = _per_component(guess, signal)
        if values is None:
            yield where, f"{_expected(signal)}, or a curve (s, values), got {guess!r:.60}"
            return
    values = values.reshape(-1, m)
    if not np.isfinite(values).all():
        yield where, f"expected finite numbers, got {guess!r:.60}"
        return
    room = ROUNDING * (1.0 + np.abs(values))
    outside = ((values < lower - room) | (values > upper + room)) & (lower < upper)
    excluded = np.logical_or.reduce(outside, axis=0).tolist()
    worst = values[np.argmax(outside, axis=0), np.arange(m)]
    messages = [
        f"{x:g} is outside {low:g} to {high:g}; give a guess between them" if out else None
        for x, low, high, out in zip(worst, lower, upper, excluded, strict=True)
    ]
    for message, names in _grouped(signal, messages).items():
        yield where, f"bounds exclude the guess of {', '.join(names)}: {message}"


def _parameter(problem: Problem, parameter: Parameter, where: Path) -> Iterator[Finding]:
    wrong = False
    for key in ("min", "max", "guess"):
        value = getattr(parameter, key)
        infinite = isinstance(value, float) and np.isinf(value)
        if not finite(value) and (key == "guess" or not infinite):
            wrong = True
            kind = "a finite number" if key == "guess" else "a number"
            yield (*where, key), f"expected {kind}, got {value!r:.60}"
    if wrong:
        return
    low, high, guess = parameter.min, parameter.max, parameter.guess
    if low > high:
        yield (*where, "min"), f"min {low:g} is above max {high:g}"
    elif not low <= guess <= high:
        yield (
            (*where, "guess"),
            f"bounds exclude the guess: {guess:g} is outside {low:g} to {high:g}; give a guess "
            "between them",
        )
    timed = [p for p, phase in enumerate(problem.phases) if phase.duration == parameter.name]
    for key in ("min", "max", "guess"):
        value = getattr(parameter, key)
        if timed and not is_duration(value):
            phase = phase_name(problem, timed[0])
            yield (
                (*where, key),
                f"it is the duration of {phase!r}: expected {SECONDS}, got {value!r:.60}",
            )


def _per_component(value: Any, signal: Signal) -> Array | None:
    """(components,) from one number or one per component; None if it is neither."""
    m, values = len(signal.components), numbers(value)
    if values is None or values.shape not in ((), (m,)):
        return None
    return np.broadcast_to(values, (m,))


def _expected(signal: Signal) -> str:
    return f"expected a number or {len(signal.components)} ({', '.join(signal.components)})"

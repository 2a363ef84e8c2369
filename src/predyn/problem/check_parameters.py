"""Check the numbers of the model that parameters stand for, and whether their bounds are possible.

A link's inertia is possible where [[m 1, S(h)], [S(h)^T, I]] is positive semidefinite, a convex set
of (m, h, I). The bounds of parameters are a box, so that all of it is possible if its corners are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import InputError, ModelError, ModelWarning
from predyn.problem.check_phases import Finding, Path, finite
from predyn.problem.offers import phase_name
from predyn.problem.quantities import quantity_value, split_quantity, with_parameters
from predyn.problem.system import system_of
from predyn.problem.unknowns import Parameter

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

MOST_TOGETHER = 6  # parameters of one link whose bounds are combined in all ways


def quantity_problems(problem: Problem, parameters: Sequence[Parameter]) -> Iterator[Finding]:
    """Errors in the quantities of parameters whose names and bounds are valid."""
    claimed: dict[str, str] = {}
    found = False
    for k, parameter in enumerate(parameters):
        for where, message in _own_problems(problem, parameter, ("parameters", k), claimed):
            found = True
            yield where, message
    if not found and claimed:
        yield from _impossible(problem, parameters)


def _own_problems(
    problem: Problem, parameter: Parameter, where: Path, claimed: dict[str, str]
) -> Iterator[Finding]:
    given: Any = () if parameter.quantity is None else parameter.quantity
    at = (*where, "quantity")
    if not isinstance(given, str | tuple | list) or not all(isinstance(x, str) for x in given):
        yield at, f"expected text such as 'mass of LINK', or a list of texts, got {given!r:.60}"
        return
    if not parameter.quantities:
        return
    timed = [p for p, phase in enumerate(problem.phases) if phase.duration == parameter.name]
    if timed:
        yield (
            at,
            f"{parameter.name!r} is the duration of {phase_name(problem, timed[0])!r}, so that it "
            "cannot stand for numbers of the model; use two parameters",
        )
    for text in parameter.quantities:
        try:
            quantity_value(problem, text)
        except InputError as error:
            yield at, str(error)
            continue
        except ModelError as error:
            yield at, f"{text}: {error}"
            continue
        for taken in _taken(problem, text):
            if taken in claimed:
                other = claimed[taken]
                by = "it names it twice" if other == parameter.name else f"{other!r} does too"
                yield at, f"{parameter.name!r} determines {taken}, and {by}; keep one of them"
                break
            claimed[taken] = parameter.name
        quantity, _ = split_quantity(problem, text)
        if parameter.min < quantity.least or (text.startswith("length") and parameter.min <= 0.0):
            least = "more than 0" if text.startswith("length") else f"at least {quantity.least:g}"
            yield (
                (*where, "min"),
                f"the bounds make the model impossible: {text} must be {least}, and min is "
                f"{parameter.min:g}",
            )
        elif parameter.guess == 0.0 and _scales_inertia(problem, text):
            yield (
                (*where, "guess"),
                f"{text} scales the inertia, which is not known at 0; give a guess above 0",
            )


def _scales_inertia(problem: Problem, text: str) -> bool:
    """Whether there is inertia in proportion to a mass."""
    kind, name = text.split(" of ", 1)
    loads = (load for system in problem.systems.values() for load in system.payloads)
    carried = any(load.link == name and load.inertia is not None for load in loads)
    return kind == "mass" or (kind == "payload" and carried)


def _taken(problem: Problem, text: str) -> list[str]:
    """The quantities that a quantity determines: itself, and where a length places joints."""
    kind, name = text.split(" of ", 1)
    if kind != "length":
        return [text]
    model = problem.model
    children = np.flatnonzero(model.parent == model.link_index(name))
    places = [f"origin.{x} of {model.expanded.joint_names[j]}" for j in children for x in "xyz"]
    return [text, *places]


def _impossible(problem: Problem, parameters: Sequence[Parameter]) -> Iterator[Finding]:
    """Values within the bounds at which there is no such model, one for each parameter."""
    used = [x for x in parameters if x.quantities]
    seen: set[str] = set()
    for values in _corners(problem, used):
        message = _model_problem(problem, values)
        if message is None:
            continue
        alone = [x.name for x in used if _model_problem(problem, _with_one(used, values, x.name))]
        names = alone[:1] or list(values)
        if names[0] not in seen:
            seen.add(names[0])
            (k,) = (k for k, x in enumerate(parameters) if x.name == names[0])
            at = ", ".join(f"{name} = {values[name]:g}" for name in names)
            yield ("parameters", k), f"its bounds make the model impossible: with {at}, {message}"


def _with_one(used: Sequence[Parameter], values: dict[str, float], name: str) -> dict[str, float]:
    return {x.name: values[name] if x.name == name else float(x.guess) for x in used}


def _corners(problem: Problem, used: Sequence[Parameter]) -> Iterator[dict[str, float]]:
    """Corners of the box of bounds that need a check; infinite bounds count as the guess."""
    middle = {x.name: float(x.guess) for x in used}
    ends = {
        x.name: [float(b) if finite(b) else float(x.guess) for b in (x.min, x.max)] for x in used
    }
    yield middle
    for side in (0, 1):
        yield {name: ends[name][side] for name in ends}
    for name in ends:
        for value in ends[name]:
            yield middle | {name: value}
    for names in _per_link(problem, used):
        if 1 < len(names) <= MOST_TOGETHER:
            for values in product(*(ends[name] for name in names)):
                yield middle | dict(zip(names, values, strict=True))


def _per_link(problem: Problem, used: Sequence[Parameter]) -> list[tuple[str, ...]]:
    """Names of the parameters that act on the inertia of each link."""
    found: dict[int, list[str]] = {}
    for parameter in used:
        for text in parameter.quantities:
            quantity, name = split_quantity(problem, text)
            if quantity.owner in ("link", "payload") and not text.startswith("length"):
                link = problem.model.frame(name).link
                found.setdefault(link, []).append(parameter.name)
    return [tuple(dict.fromkeys(names)) for names in found.values()]


def _model_problem(problem: Problem, values: dict[str, float]) -> str | None:
    """Why there is no model with these values, None if there is one in every phase."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            changed = with_parameters(problem, values)
            for p in range(len(problem.phases)):
                system_of(changed, p)
        except (ModelError, InputError) as error:
            return str(error)
    return None

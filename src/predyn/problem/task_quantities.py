"""Numbers of the task itself by name: "end q of elbow", "effort limit of elbow", "weight of time".

They extend the quantities of the model and its loads (quantities.py). A free parameter cannot stand
for them, but sensitivities can be taken with respect to all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.model import PRISMATIC, Limits
from predyn.problem.offers import phase_names
from predyn.problem.problem import Cost, Phase, Problem, State, name_of
from predyn.problem.quantities import (
    QUANTITIES,
    quantity_unit,
    quantity_value,
    split_text,
    with_quantity,
)

STATES = {"q": "rad", "v": "rad/s", "a": "rad/s^2"}
LIMITS = {"velocity": "rad/s", "acceleration": "rad/s^2", "effort": "N m"}
SLIDE_UNITS = {"rad": "m", "rad/s": "m/s", "rad/s^2": "m/s^2", "N m": "N"}  # of prismatic joints


class TaskQuantity(NamedTuple):
    """One kind of number of a task: its unit, how to read and to replace it."""

    unit: str  # that of revolute joints
    value: Callable[[Problem, str], float]
    changed: Callable[[Problem, str, float], Problem]


def number_value(problem: Problem, text: str) -> float:
    """The present value of a quantity of the model, its loads or the task."""
    kind, name = _split(problem, text)
    if kind in TASK_QUANTITIES:
        return float(TASK_QUANTITIES[kind].value(problem, name))
    return quantity_value(problem, text)


def with_number(problem: Problem, text: str, value: float) -> Problem:
    """The problem with another value of a quantity of the model, its loads or the task."""
    kind, name = _split(problem, text)
    if kind in TASK_QUANTITIES:
        return TASK_QUANTITIES[kind].changed(problem, name, value)
    return with_quantity(problem, text, value)


def number_unit(problem: Problem, text: str) -> str:
    """The unit of a quantity, for the kind of its joint."""
    kind, name = _split(problem, text)
    if kind not in TASK_QUANTITIES:
        return quantity_unit(problem, text)
    unit, model = TASK_QUANTITIES[kind].unit, problem.model
    joint = name if name in model.joint_names else name.rpartition(" in ")[0]
    slides = joint in model.joint_names and model.kind[model.joint_index(joint)] == PRISMATIC
    return SLIDE_UNITS.get(unit, unit) if slides else unit


def _split(problem: Problem, text: Any) -> tuple[str, str]:
    """Kind and name, from "KIND of NAME"."""
    examples = (
        f"'mass of {problem.model.link_names[0]}' or 'end q of {problem.model.joint_names[0]}'"
    )
    return split_text(text, [*TASK_QUANTITIES, *QUANTITIES], examples)


# -- boundary values --------------------------------------------------------------------------


def _joint_and_phase(problem: Problem, name: str, end: str) -> tuple[int, int]:
    """Joint and phase of "JOINT", at the start or end of the motion, or of "JOINT in PHASE"."""
    joints = problem.model.joint_names
    joint, _, phase = (name, "", "") if name in joints else name.rpartition(" in ")
    if joint not in joints:
        raise unknown_name("joint", joint or name, joints)
    if not phase:
        return joints.index(joint), 0 if end == "start" else len(problem.phases) - 1
    phases = phase_names(problem)
    if phase not in phases:
        raise unknown_name("phase", phase, phases)
    return joints.index(joint), phases.index(phase)


def _boundary(end: str, channel: str, unit: str) -> TaskQuantity:
    """A given boundary value of a joint."""

    def given(problem: Problem, name: str) -> tuple[int, int, Any]:
        j, p = _joint_and_phase(problem, name, end)
        values = getattr(getattr(problem.phases[p], end), channel)
        n = problem.model.n
        known = np.broadcast_to(np.asarray(np.nan if values is None else values, float), (n,))
        if not np.isfinite(known[j]):
            raise InputError(
                f"{end} {channel} of {name}: the task leaves it free; name a boundary value that "
                "is given"
            )
        return j, p, known.copy()

    def value(problem: Problem, name: str) -> float:
        j, _, known = given(problem, name)
        return float(known[j])

    def changed(problem: Problem, name: str, x: float) -> Problem:
        j, p, known = given(problem, name)
        known[j] = x
        state: State = replace(getattr(problem.phases[p], end), **{channel: known})
        sides: dict[str, Any] = {end: state}
        return _with_phase(problem, p, replace(problem.phases[p], **sides))

    return TaskQuantity(unit, value, changed)


def _with_phase(problem: Problem, p: int, phase: Phase) -> Problem:
    return replace(problem, phases=(*problem.phases[:p], phase, *problem.phases[p + 1 :]))


# -- limits -----------------------------------------------------------------------------------


def _limit(kind: str, unit: str) -> TaskQuantity:
    """The larger of a joint's two bounds; both change by the same factor, in all systems."""

    def present(problem: Problem, j: int) -> float:
        every = [problem.limits or problem.model.limits]
        every += [x.limits for x in problem.systems.values() if x.limits is not None]
        for limits in every:
            bounds = np.abs(np.asarray(getattr(limits, kind), float)[j])
            if np.isfinite(bounds).any() and bounds[np.isfinite(bounds)].max() > 0.0:
                return float(bounds[np.isfinite(bounds)].max())
        name = problem.model.joint_names[j]
        raise InputError(f"{kind} limit of {name}: the joint has no {kind} limit other than zero")

    def value(problem: Problem, name: str) -> float:
        return present(problem, problem.model.joint_index(name))

    def changed(problem: Problem, name: str, x: float) -> Problem:
        j = problem.model.joint_index(name)
        factor = x / present(problem, j)

        def scaled(limits: Limits) -> Limits:
            bounds = np.array(getattr(limits, kind), float)
            bounds[j] *= factor
            return limits._replace(**{kind: bounds})

        systems = {
            key: system if system.limits is None else replace(system, limits=scaled(system.limits))
            for key, system in problem.systems.items()
        }
        return replace(
            problem, limits=scaled(problem.limits or problem.model.limits), systems=systems
        )

    return TaskQuantity(unit, value, changed)


# -- durations and weights --------------------------------------------------------------------


def _fixed_phase(problem: Problem, name: str) -> int:
    phases = phase_names(problem)
    if name not in phases:
        raise unknown_name("phase", name, phases)
    p = phases.index(name)
    if isinstance(problem.phases[p].duration, float | int):
        return p
    raise InputError(f"duration of {name}: it is free, and part of the solution; fix it, or leave "
                     "it out")  # fmt: skip


def _duration(problem: Problem, name: str) -> float:
    given: Any = problem.phases[_fixed_phase(problem, name)].duration
    return float(given)


def _with_duration(problem: Problem, name: str, x: float) -> Problem:
    p = _fixed_phase(problem, name)
    return _with_phase(problem, p, replace(problem.phases[p], duration=x))


def _weighted(problem: Problem, name: str) -> Cost:
    every = [*problem.costs, *(cost for phase in problem.phases for cost in phase.costs)]
    found = [cost for cost in every if name_of(cost) == name]
    if not found:
        raise unknown_name("cost", name, dict.fromkeys(name_of(cost) for cost in every))
    if len(found) > 1:
        raise InputError(f"weight of {name}: {len(found)} costs have this name; give them others")
    return found[0]


def _with_weight(problem: Problem, name: str, x: float) -> Problem:
    chosen = _weighted(problem, name)

    def weighted(costs: Sequence[Cost]) -> tuple[Cost, ...]:
        return tuple(replace(cost, weight=x) if cost is chosen else cost for cost in costs)

    phases = tuple(replace(phase, costs=weighted(phase.costs)) for phase in problem.phases)
    return replace(problem, costs=weighted(problem.costs), phases=phases)


TASK_QUANTITIES: dict[str, TaskQuantity] = {
    **{
        f"{end} {channel}": _boundary(end, channel, unit)
        for end in ("start", "end")
        for channel, unit in STATES.items()
    },
    **{f"{kind} limit": _limit(kind, unit) for kind, unit in LIMITS.items()},
    "duration": TaskQuantity("s", _duration, _with_duration),
    "weight": TaskQuantity(
        "1", lambda problem, name: float(_weighted(problem, name).weight), _with_weight
    ),
}

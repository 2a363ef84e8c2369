"""Check the systems of a problem and their use in phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.dynamics.system import Payload
from predyn.errors import PredynError, unknown_name
from predyn.problem.check_phases import Finding, Path, not_a_list, of_kind
from predyn.problem.offers import phase_name
from predyn.problem.system import System

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


def system_problems(problem: Problem) -> Iterator[Finding]:
    """Errors in the names and payloads of systems, and in the systems of phases."""
    systems: Any = problem.systems
    if not isinstance(systems, Mapping):
        got = type(systems).__name__
        yield ("systems",), f"expected systems by name ({{'loaded': System(...)}}), got {got}"
        return
    given = [phase.system for phase in problem.phases if phase.system is not None]
    used = {name for name in given if isinstance(name, str)}
    for name, system in systems.items():
        where: Path = ("systems", name if isinstance(name, str) else repr(name))
        if not isinstance(name, str) or not name or "\0" in name:
            yield ("systems",), f"expected a non-empty string as name, got {name!r:.60}"
        elif not isinstance(system, System):
            yield where, f"expected a System, got {type(system).__name__}"
        else:
            yield from _payloads(problem, system.payloads, (*where, "payloads"))
            sound = len(used) == len(set(map(str, given))) and used <= systems.keys()
            if name not in used and sound:  # otherwise a phase may have a misspelt name
                yield where, f"no phase has the system {name!r}; name it in a phase, or remove it"
    for k, phase in enumerate(problem.phases):
        name = phase.system
        if name is not None and (not isinstance(name, str) or name not in systems):
            yield (
                ("phases", k, "system"),
                str(
                    unknown_name("system", phase.system, [x for x in systems if isinstance(x, str)])
                ),
            )


def impact_problems(problem: Problem) -> Iterator[Finding]:
    """Errors in phases that begin with an impact; the systems must be valid."""
    for k, phase in enumerate(problem.phases):
        where: Path = ("phases", k, "impact")
        impact: Any = phase.impact
        if type(impact) is not bool:
            yield where, f"expected true or false, got {impact!r:.60}"
        elif impact and k == 0:
            yield where, "the first phase cannot begin with an impact, as no phase precedes it"
        elif impact:
            yield from _impact(problem, k, where)


def system_in(problem: Problem, p: int) -> tuple[Path, System]:
    """The system of phase p and its path; an empty system if the phase has no valid one."""
    name, systems = problem.phases[p].system, problem.systems
    if isinstance(name, str) and isinstance(systems, Mapping):
        system = systems.get(name)
        if isinstance(system, System):
            return ("systems", name), system
    return (), System()


def jerk_limit_in(problem: Problem, p: int) -> tuple[Path, Any]:
    """The jerk limit of phase p and its path."""
    where, system = system_in(problem, p)
    if system.jerk_limit is not None:
        return (*where, "jerk_limit"), system.jerk_limit
    return ("jerk_limit",), problem.jerk_limit


def _payloads(problem: Problem, payloads: Any, where: Path) -> Iterator[Finding]:
    if not isinstance(payloads, tuple | list):
        yield where, not_a_list(Payload, payloads)
        return
    for k, load in enumerate(payloads):
        if not isinstance(load, Payload):
            yield (*where, k), f"expected a Payload, got {type(load).__name__}"
            continue
        try:
            problem.model.attach_payload(load.link, load.mass, load.point, load.inertia)
        except PredynError as error:
            yield (*where, k), str(error)


def _impact(problem: Problem, k: int, where: Path) -> Iterator[Finding]:
    before, now = (of_kind(system_in(problem, p)[1].payloads, Payload) for p in (k - 1, k))
    left = list(now)
    for load in before:
        same = [x for x in left if _same(load, x)]
        if not same:
            yield (
                where,
                f"{phase_name(problem, k - 1)!r} carries {load.mass:g} kg on {load.link!r} that "
                f"{phase_name(problem, k)!r} does not; put it down in a phase of its own, without "
                "an impact",
            )
            return
        left.remove(same[0])
    if not left:
        yield (
            where,
            f"an impact has no effect here: {phase_name(problem, k)!r} carries nothing that "
            f"{phase_name(problem, k - 1)!r} does not; name a system with a payload, or remove it",
        )


def _same(one: Payload, other: Payload) -> bool:
    """Whether two payloads are equal by value."""
    return (
        one.link == other.link
        and one.mass == other.mass
        and np.array_equal(np.asarray(one.point, float), np.asarray(other.point, float))
        and (one.inertia is None) == (other.inertia is None)
        and np.array_equal(_matrix(one), _matrix(other))
    )


def _matrix(load: Payload) -> np.ndarray:
    """The inertia as a matrix, given as a matrix or by its diagonal."""
    inertia = np.zeros(3) if load.inertia is None else np.asarray(load.inertia, float)
    return np.diag(inertia) if inertia.ndim == 1 else inertia

"""Check external forces, which may be numbers, curves or signals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.curves.profile import Profile
from predyn.errors import PredynError, unknown_name
from predyn.kernels.forces import ExternalForce, placed_forces, signal_of, vector
from predyn.problem.check_phases import Finding, Path, finite, not_a_list, of_kind
from predyn.problem.check_systems import system_in
from predyn.problem.offers import exists_in, phase_name
from predyn.problem.unknowns import Parameter, Signal

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

PARTS = ("force", "moment")


def force_problems(problem: Problem, sound: bool) -> Iterator[Finding]:
    """Errors in the forces of the problem and its systems.

    sound: whether the signals and systems are valid.
    """
    acting: dict[Path, tuple[Any, list[int]]] = {("forces",): (problem.forces, [])}
    for p in range(len(problem.phases)):
        where, system = system_in(problem, p)
        if system.forces is None:
            acting[("forces",)][1].append(p)
        else:
            acting.setdefault((*where, "forces"), (system.forces, []))[1].append(p)
    for place, (forces, phases) in acting.items():
        if not isinstance(forces, tuple | list):
            yield place, not_a_list(ExternalForce, forces)
            continue
        for k, force in enumerate(forces):
            yield from _force(problem, force, (*place, k), phases, sound)


def force_signals(problem: Problem) -> set[str]:
    """Channels of the signals that act as forces in any phase."""
    found = set()
    for p in range(len(problem.phases)):
        own = system_in(problem, p)[1].forces
        for force in of_kind(problem.forces if own is None else own, ExternalForce):
            names = [getattr(force, part) for part in PARTS]
            found |= {f"signal:{signal_of(name)[0]}" for name in names if isinstance(name, str)}
    return found


def has_profiles(problem: Problem) -> bool:
    """Whether a force of the problem is a given curve."""
    return any(
        isinstance(getattr(force, part), Profile)
        for force in of_kind(problem.forces, ExternalForce)
        for part in PARTS
    )


def _force(
    problem: Problem, force: Any, where: Path, phases: Sequence[int], sound: bool
) -> Iterator[Finding]:
    try:
        placed_forces(problem.model, [force])
        for part in PARTS:
            value = getattr(force, part)
            if not isinstance(value, str | Profile):
                vector(part, value)
    except PredynError as error:
        message = str(error).removeprefix("forces[0].").removeprefix("forces[0]: ")
        curve = any(np.ndim(getattr(force, part, 0.0)) == 2 for part in PARTS)
        yield where, f"{message}; for a curve of time give a Profile" if curve else message
        return
    for part in PARTS:
        value = getattr(force, part)
        if isinstance(value, Profile):
            yield from _profile(problem, value, (*where, part), phases)
        elif isinstance(value, str) and sound:
            yield from _signal(problem, signal_of(value)[0], (*where, part), phases)


def _profile(
    problem: Problem, profile: Profile, where: Path, phases: Sequence[int]
) -> Iterator[Finding]:
    try:
        profile.check(str(where[-1]), 3)
    except PredynError as error:
        yield where, str(error).removeprefix(f"{where[-1]}: ")
        return
    free = [p for p in phases if _is_free(problem, p)]
    if profile.over == "time" and free:
        yield (
            where,
            f"a curve over time needs a fixed duration, but that of "
            f"{phase_name(problem, free[0])!r} is free; give its times as fractions of the phase, "
            "from 0 to 1 (over = 'phase')",
        )


def _is_free(problem: Problem, p: int) -> bool:
    """Whether the duration of a phase may change."""
    given: Any = problem.phases[p].duration
    for parameter in of_kind(problem.parameters, Parameter):
        if parameter.name == given:
            given = parameter
    bounds = (getattr(given, "min", given), getattr(given, "max", given))
    return not finite(bounds[0]) or bounds[0] != bounds[1]


def _signal(problem: Problem, name: str, where: Path, phases: Sequence[int]) -> Iterator[Finding]:
    from predyn.problem.problem import Hybrid

    if isinstance(problem.transcription, Hybrid):
        yield (
            where,
            f"method 'hybrid' does not support unknown forces (signal {name!r:.60}); give numbers "
            "or a curve, or use method 'spline'",
        )
        return
    signals = {signal.name: signal for signal in of_kind(problem.signals, Signal)}
    if name not in signals:
        yield where, str(unknown_name("signal", name, signals))
        return
    components: Any = signals[name].components
    if len(components) != 3:
        yield (
            where,
            f"expected a signal with 3 components (x, y, z), but {name!r} has {len(components)} "
            f"({', '.join(components)})",
        )
    missing = [p for p in phases if not exists_in(signals[name].phases, problem, p)]
    if missing:
        yield (
            where,
            f"the force acts in {phase_name(problem, missing[0])!r}, where signal {name!r} does "
            f"not exist (phases: {', '.join(signals[name].phases or ())}); add the phase to the "
            "signal, or give the force to a system of the others",
        )

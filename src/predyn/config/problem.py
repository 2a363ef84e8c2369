"""From the tables of a task file to a Problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from predyn.config.findings import Findings
from predyn.config.joints import bounds_of, values_of
from predyn.config.lines import Path
from predyn.config.model import Folder, forces_of
from predyn.config.schema import (
    METHODS,
    Between,
    LimitsTable,
    PhaseTable,
    StateTable,
    TaskTable,
)
from predyn.config.terms import Context, constraints_of, costs_of
from predyn.config.unknowns import parameters_of, signals_of
from predyn.dynamics.system import Payload
from predyn.model import Limits, Model
from predyn.nlp import SolverOptions
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Phase,
    Problem,
    Spline,
    State,
    System,
    duration_of,
)
from predyn.problem.check_bindings import Binder
from predyn.problem.check_problems import unknowns_of

Origins = dict[Path, Path]


def problem_of(
    table: TaskTable, model: Model, folder: Folder, allow_code: bool, stem: str, found: Findings
) -> tuple[Problem, Origins]:
    """The problem, and where in the file each of its costs and constraints comes from."""
    bare = _without_entries(table, model, folder, stem, found)
    durations = [_resolved(bare, phase) for phase in bare.phases]
    every = range(len(bare.phases))
    binder = Binder(bare, not unknowns_of(bare))
    here = Context(folder, allow_code, found, durations, every, binder)
    origins: Origins = {}
    phases = []
    for k, phase in enumerate(table.phases):
        where: Path = ("phases", k)
        inside = here._replace(durations=[durations[k]], phases=(k,))
        costs = costs_of(phase.cost, (*where, "cost"), inside)
        constraints = constraints_of(phase.constraint, (*where, "constraint"), inside)
        _remember(origins, where, costs, constraints)
        phases.append(
            replace(
                bare.phases[k],
                costs=tuple(cost for _, cost in costs),
                constraints=tuple(constraint for _, constraint in constraints),
            )
        )
    costs = costs_of(table.cost, ("cost",), here)
    constraints = constraints_of(table.constraint, ("constraint",), here)
    _remember(origins, (), costs, constraints)
    problem = replace(
        bare,
        phases=tuple(phases),
        costs=tuple(cost for _, cost in costs),
        constraints=tuple(constraint for _, constraint in constraints),
    )
    return problem, origins


def place_in_file(where: Path, origins: Origins) -> Path:
    """A path in the problem as a path in the file."""
    for size in range(len(where), 0, -1):
        if where[:size] in origins:
            return (*origins[where[:size]], *where[size:])
    if where[-1:] == ("jerk_limit",):
        return (*where[:-1], "limits", "jerk")
    return where


def _without_entries(
    table: TaskTable, model: Model, folder: Folder, stem: str, found: Findings
) -> Problem:
    """Everything but costs and constraints: what these are bound to."""
    limits, jerk = _limits(model, table.limits, ("limits",), found, model.limits)
    spline, solver = Spline(), SolverOptions()
    with found.at(("transcription",)):
        own = [name for system in table.systems.values() for name in system.passive or ()]
        spline = _transcription(table.transcription, [*table.passive, *own])
    with found.at(("solver",)):
        solver = SolverOptions(**_fields(table.solver, SolverOptions))
    return Problem(
        model,
        tuple(
            Phase(
                _duration(phase),
                _state(model, phase.start, ("phases", k, "start"), found),
                _state(model, phase.end, ("phases", k, "end"), found),
                segments=phase.segments,
                name=phase.name,
                system=phase.system,
                impact=phase.impact,
            )
            for k, phase in enumerate(table.phases)
        ),
        forces=forces_of(table.forces, model, ("forces",), found),
        limits=limits,
        jerk_limit=jerk,
        continuity=table.continuity,
        guess=_guess(table, folder, found),
        transcription=spline,
        solver=solver,
        name=table.name or stem,
        passive=tuple(table.passive),
        signals=signals_of(table.signals, found),
        parameters=parameters_of(table.parameters, found),
        systems=_systems(table, model, limits or model.limits, jerk, found),
    )


def _systems(
    table: TaskTable, model: Model, usual: Limits, jerk: np.ndarray | None, found: Findings
) -> dict[str, System]:
    """By name; limits that a system does not give are those of the task."""
    made = {}
    for name, system in table.systems.items():
        where: Path = ("systems", name)
        limits, own = _limits(model, system.limits, (*where, "limits"), found, usual, jerk)
        forces = system.forces
        made[name] = System(
            tuple(Payload(x.link, x.mass, x.point, x.inertia) for x in system.payloads),
            None if forces is None else forces_of(forces, model, (*where, "forces"), found),
            None if system.passive is None else tuple(system.passive),
            limits,
            own,
        )
    return made


def _remember(
    origins: Origins,
    where: Path,
    costs: Sequence[tuple[Path, Cost]],
    constraints: Sequence[tuple[Path, Constraint]],
) -> None:
    for field, made in (("costs", costs), ("constraints", constraints)):
        for k, (place, _) in enumerate(made):
            origins[(*where, field, k)] = place


def _resolved(problem: Problem, phase: Phase) -> float | Duration:
    """The duration of a phase; any, if its parameter does not exist, which is told later."""
    known = [parameter.name for parameter in problem.parameters]
    if isinstance(phase.duration, str) and phase.duration not in known:
        return Duration(0.0, np.inf, 1.0)
    return duration_of(problem, phase)


def _duration(phase: PhaseTable) -> float | Duration | str:
    given = phase.duration
    if isinstance(given, str):
        return given
    if isinstance(given, Between):
        guess = 0.5 * (given.min + given.max) if given.guess is None else given.guess
        return Duration(given.min, given.max, guess)
    return float(given)


def _state(model: Model, table: StateTable, where: Path, found: Findings) -> State:
    return State(*(values_of(model, table, key, where, found) for key in ("q", "v", "a")))


def _limits(
    model: Model,
    table: LimitsTable,
    where: Path,
    found: Findings,
    usual: Limits,
    usual_jerk: np.ndarray | None = None,
) -> tuple[Limits | None, np.ndarray | None]:
    """Limits and the limit of the jerk, None where nothing is said; joints that are not named keep
    the usual ones.
    """
    pairs = {
        key: bounds_of(model, table, key, where, found, np.asarray(getattr(usual, key)))
        for key in Limits._fields
    }
    jerk = values_of(model, table, "jerk", where, found)
    if jerk is not None:
        jerk = np.where(np.isnan(jerk), np.inf if usual_jerk is None else usual_jerk, jerk)
    if all(value is None for value in pairs.values()):
        return None, jerk
    return (
        Limits(*(getattr(usual, k) if v is None else v for k, v in pairs.items())),
        jerk,
    )


def _transcription(table: Any, passive: Any) -> Spline:
    """What is said, and the method's own defaults for the rest."""
    kind = METHODS[table.method or ("hybrid" if passive else "spline")]
    given = table.model_fields_set
    said = {key: value for key, value in _fields(table, kind).items() if key in given}
    return kind(**said)


def _fields(table: Any, kind: type) -> dict[str, Any]:
    """What a table says of the fields of a dataclass."""
    return {f.name: getattr(table, f.name) for f in fields(kind)}


def _guess(table: TaskTable, folder: Folder, found: Findings) -> object:
    given = [key for key in ("kind", "curve", "solution") if getattr(table.guess, key) is not None]
    if len(given) > 1:
        found.add(("guess",), f"expected one of kind, curve or solution, got {', '.join(given)}")
    guess = table.guess
    if guess.curve is not None:
        try:
            return np.array(guess.curve.s, float), np.array(guess.curve.q, float)
        except ValueError:
            found.add(("guess", "curve", "q"), "rows of different lengths")
    elif guess.solution is not None:
        with found.at(("guess", "solution")):
            from predyn.solution.file import load_solution

            return load_solution(folder.file(guess.solution))
    return guess.kind or "linear"

"""Build a Problem from the tables of a task file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from predyn.config.contacts import contacts_of, cycle_of, ground_of
from predyn.config.findings import Findings
from predyn.config.joints import bounds_of, values_of
from predyn.config.lines import Path
from predyn.config.model import Folder, forces_of
from predyn.config.scene import scene_of
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
from predyn.problem.check_contacts import contact_problems
from predyn.problem.check_loops import loop_problems
from predyn.problem.check_problems import needed_for_contacts, unknowns_of
from predyn.problem.contact_program import written_out

Origins = dict[Path, Path]


def problem_of(
    table: TaskTable, model: Model, folder: Folder, allow_code: bool, stem: str, findings: Findings
) -> tuple[Problem, Origins]:
    """The problem, and the path in the file of each of its costs and constraints."""
    bare = _without_entries(table, model, folder, stem, findings)
    durations = [_resolved(bare, phase) for phase in bare.phases]
    every = range(len(bare.phases))
    wrong = needed_for_contacts(bare) or [*loop_problems(bare), *contact_problems(bare)]
    for place, message in wrong:
        findings.add(place, message)
    if wrong:  # terms on contacts would fail too, and hide the cause
        findings.raise_if_any()
    touching = written_out(bare)
    binder = Binder(touching, not unknowns_of(touching))
    here = Context(folder, allow_code, findings, durations, every, binder)
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
    """Convert a path in the problem to a path in the file."""
    for size in range(len(where), 0, -1):
        if where[:size] in origins:
            return (*origins[where[:size]], *where[size:])
    if where[-1:] == ("jerk_limit",):
        return (*where[:-1], "limits", "jerk")
    return where


def _without_entries(
    table: TaskTable, model: Model, folder: Folder, stem: str, findings: Findings
) -> Problem:
    """The problem without costs and constraints, which are then bound to it."""
    limits, jerk = _limits(model, table.limits, ("limits",), findings, model.limits)
    spline, solver = Spline(), SolverOptions()
    with findings.at(("transcription",)):
        own = [name for system in table.systems.values() for name in system.passive or ()]
        spline = _transcription(table.transcription, [*table.passive, *own])
    with findings.at(("solver",)):
        solver = SolverOptions(**_fields(table.solver, SolverOptions))
    return Problem(
        model,
        tuple(
            Phase(
                _duration(phase),
                _state(model, phase.start, ("phases", k, "start"), findings),
                _state(model, phase.end, ("phases", k, "end"), findings),
                segments=phase.segments,
                name=phase.name,
                system=phase.system,
                impact=phase.impact,
                contacts=contacts_of(phase.contacts, ("phases", k, "contacts"), findings),
                loops=phase.loops,
            )
            for k, phase in enumerate(table.phases)
        ),
        forces=forces_of(table.forces, model, ("forces",), findings),
        limits=limits,
        jerk_limit=jerk,
        continuity=table.continuity,
        guess=_guess(table, folder, findings),
        transcription=spline,
        solver=solver,
        name=table.name or stem,
        passive=tuple(table.passive),
        signals=signals_of(table.signals, findings),
        parameters=parameters_of(table.parameters, findings),
        systems=_systems(table, model, limits or model.limits, jerk, findings),
        ground=ground_of(table.ground),
        cycle=cycle_of(table.cycle),
        scene=scene_of(table.scene, folder, findings),
        margin=0.0 if table.scene is None else table.scene.margin,
    )


def _systems(
    table: TaskTable, model: Model, usual: Limits, jerk: np.ndarray | None, findings: Findings
) -> dict[str, System]:
    """Systems by name; limits that a system does not give default to those of the task."""
    made = {}
    for name, system in table.systems.items():
        where: Path = ("systems", name)
        limits, own = _limits(model, system.limits, (*where, "limits"), findings, usual, jerk)
        forces = system.forces
        made[name] = System(
            tuple(Payload(x.link, x.mass, x.point, x.inertia) for x in system.payloads),
            None if forces is None else forces_of(forces, model, (*where, "forces"), findings),
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
    """The duration of a phase; any duration if its parameter is unknown (reported later)."""
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


def _state(model: Model, table: StateTable, where: Path, findings: Findings) -> State:
    return State(*(values_of(model, table, key, where, findings) for key in ("q", "v", "a")))


def _limits(
    model: Model,
    table: LimitsTable,
    where: Path,
    findings: Findings,
    usual: Limits,
    usual_jerk: np.ndarray | None = None,
) -> tuple[Limits | None, np.ndarray | None]:
    """Limits and jerk limit, None where not given; joints that are not named keep the usual
    limits.
    """
    pairs = {
        key: bounds_of(model, table, key, where, findings, np.asarray(getattr(usual, key)))
        for key in Limits._fields
    }
    jerk = values_of(model, table, "jerk", where, findings)
    if jerk is not None:
        jerk = np.where(np.isnan(jerk), np.inf if usual_jerk is None else usual_jerk, jerk)
    if all(value is None for value in pairs.values()):
        return None, jerk
    return (
        Limits(*(getattr(usual, k) if v is None else v for k, v in pairs.items())),
        jerk,
    )


def _transcription(table: Any, passive: Any) -> Spline:
    """The given options, with the method's own defaults for the others."""
    kind = METHODS[table.method or ("hybrid" if passive else "spline")]
    given = table.model_fields_set
    options = {key: value for key, value in _fields(table, kind).items() if key in given}
    return kind(**options)


def _fields(table: Any, kind: type) -> dict[str, Any]:
    """Values of a table for the fields of a dataclass."""
    return {f.name: getattr(table, f.name) for f in fields(kind)}


def _guess(table: TaskTable, folder: Folder, findings: Findings) -> object:
    given = [key for key in ("kind", "curve", "solution") if getattr(table.guess, key) is not None]
    if len(given) > 1:
        findings.add(("guess",), f"expected one of kind, curve or solution, got {', '.join(given)}")
    guess = table.guess
    if guess.curve is not None:
        try:
            return np.array(guess.curve.s, float), np.array(guess.curve.q, float)
        except ValueError:
            findings.add(("guess", "curve", "q"), "rows of different lengths")
    elif guess.solution is not None:
        with findings.at(("guess", "solution")):
            from predyn.solution.file import load_solution

            return load_solution(folder.file(guess.solution))
    return guess.kind or "auto"

"""Check a whole problem before anything is computed, and collect all errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from predyn.collision.scene import Scene
from predyn.errors import unknown_name
from predyn.model import Limits, Model
from predyn.model.parts import Array
from predyn.nlp import SolverOptions
from predyn.problem.check_bindings import Binder, unused_problems
from predyn.problem.check_contacts import contact_problems
from predyn.problem.check_entries import entry_problems
from predyn.problem.check_forces import force_problems, force_signals
from predyn.problem.check_freedom import freedom_problems, meeting_problems
from predyn.problem.check_limits import check_limits, jerk_problems
from predyn.problem.check_loops import loop_problems
from predyn.problem.check_passive import integration_problems, passive_problems
from predyn.problem.check_phases import (
    Finding,
    Path,
    name_problems,
    not_a_list,
    numbers,
    phase_problems,
    spans,
    whole,
)
from predyn.problem.check_scenes import scene_problems
from predyn.problem.check_systems import impact_problems, system_in, system_problems
from predyn.problem.check_transcriptions import average_problems, transcription_problems
from predyn.problem.check_unknowns import unknown_problems
from predyn.problem.contact_program import written_out
from predyn.problem.free_floating import momentum_problems
from predyn.problem.offers import phase_name
from predyn.problem.system import System

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


def problems_of(problem: Problem) -> list[str]:
    """All errors, one message each."""
    return [f"{_written(where)}: {message}" for where, message in find_problems(problem)]


def find_problems(problem: Problem) -> list[Finding]:
    """All errors, each with the path of the value that it is about."""
    from predyn.problem.problem import Phase

    model: Any = problem.model
    if not isinstance(model, Model):
        return [(("model",), f"expected a Model, got {type(model).__name__}")]
    phases: Any = problem.phases
    if not isinstance(phases, tuple | list):
        return [(("phases",), not_a_list(Phase, phases))]
    if not phases:
        return [(("phases",), "expected at least one Phase, got none")]
    wrong: list[Finding] = [
        (("phases", k), f"expected a Phase, got {type(phase).__name__}")
        for k, phase in enumerate(phases)
        if not isinstance(phase, Phase)
    ]
    if wrong:
        return wrong
    try:
        wrong = needed_for_contacts(problem) or [
            *loop_problems(problem),
            *contact_problems(problem),
        ]
        return wrong or list(_all(written_out(problem)))
    except (AttributeError, KeyError, TypeError, ValueError):
        # something beside the contacts and loops has a wrong type, which is found without them
        bare = tuple(replace(phase, contacts=(), loops=()) for phase in phases)
        wrong = list(_all(replace(problem, phases=bare, cycle=None)))
        if not wrong:
            raise
        return wrong


def needed_for_contacts(problem: Problem) -> list[Finding]:
    """Errors in what loops, contacts and cycles are written out with."""
    touching = any(phase.contacts for phase in problem.phases)
    if problem.cycle is None and not touching and not problem.model.loops:
        return []
    # free knots are refused with the contacts as the reason
    method = [x for x in transcription_problems(problem) if x[0][-1] != "knots"]
    wrong = [*method, *_continuity(problem)]
    return wrong + [*unknown_problems(problem), *system_problems(problem)]


def _continuity(problem: Problem) -> Iterator[Finding]:
    if not whole(problem.continuity, 0, 2):
        yield ("continuity",), f"expected 0, 1 or 2 (q, v, a), got {problem.continuity!r:.60}"


def _all(problem: Problem) -> Iterator[Finding]:
    yield from name_problems(problem.name, ())
    names = [phase_name(problem, k) for k in range(len(problem.phases))]
    for k, name in enumerate(names):
        if isinstance(name, str) and name in names[:k]:
            yield ("phases", k, "name"), f"{name!r:.60} is the name of an earlier phase"
    method = list(transcription_problems(problem))
    yield from method
    yield from average_problems(problem)
    unknowns = unknowns_of(problem)
    yield from unknowns
    joints = list(_passive(problem))
    yield from joints
    solver: Any = problem.solver
    if not isinstance(solver, SolverOptions):
        yield (
            ("solver",),
            (f"expected SolverOptions, got {type(solver).__name__}; write SolverOptions(...)"),
        )
    continuity = list(_continuity(problem))
    yield from continuity
    meets = not continuity
    limits, wrong = _limits(problem)
    yield from wrong
    masks = [] if joints else [_mask(problem, p) for p in range(len(problem.phases))]
    if not method and not joints:
        yield from integration_problems(problem, masks)
    states: list[dict[str, Array]] = []
    for k in range(len(problem.phases)):
        yield from phase_problems(problem, limits[k], k, states)
    if meets:
        yield from meeting_problems(problem, states)
    if meets and not method and not joints and not unknowns:
        yield from freedom_problems(problem, states, masks)
    forces = list(force_problems(problem, not unknowns))
    yield from forces
    if not (method or joints or unknowns or wrong or forces):
        yield from momentum_problems(problem, states)
    yield from _guess(problem)
    scene: Any = problem.scene
    yield from scene_problems(problem)
    if not isinstance(scene, Scene | None):
        return  # terms are bound to it
    binder = Binder(problem, not unknowns and not method)
    every = range(len(problem.phases))
    yield from entry_problems(binder, (), every, problem.costs, problem.constraints)
    for k, phase in enumerate(problem.phases):
        yield from entry_problems(binder, ("phases", k), (k,), phase.costs, phase.constraints)
    if not (unknowns or forces or binder.failed):
        yield from unused_problems(problem, binder.seen | force_signals(problem))


def unknowns_of(problem: Problem) -> list[Finding]:
    """Errors in the signals, parameters and systems that terms are bound to."""
    wrong = [*unknown_problems(problem), *system_problems(problem)]
    return wrong or list(impact_problems(problem))


def _passive(problem: Problem) -> Iterator[Finding]:
    """Errors in the passive joints of the problem and its systems."""
    yield from passive_problems(problem.model, problem.passive, ("passive",))
    for where, system in _systems(problem):
        if system.passive is not None:
            yield from passive_problems(problem.model, system.passive, (*where, "passive"))


def _mask(problem: Problem, p: int) -> NDArray[np.bool_]:
    """Which joints have no motor in phase p."""
    own = system_in(problem, p)[1].passive
    return np.isin(problem.model.joint_names, list(problem.passive if own is None else own))


def _limits(problem: Problem) -> tuple[list[Limits], list[Finding]]:
    """The limits of each phase, and errors in those of the problem and its systems."""
    model = problem.model
    usual, wrong = check_limits(model, problem.limits, ("limits",))
    wrong += jerk_problems(model, problem.jerk_limit, ("jerk_limit",))
    own: dict[Path, Limits] = {}
    for where, system in _systems(problem):
        if system.limits is not None:
            own[where], more = check_limits(model, system.limits, (*where, "limits"))
            wrong += more
        wrong += jerk_problems(model, system.jerk_limit, (*where, "jerk_limit"))
    places = [system_in(problem, p)[0] for p in range(len(problem.phases))]
    return [own.get(where, usual) for where in places], wrong


def _systems(problem: Problem) -> list[tuple[Path, System]]:
    """The valid systems of a problem, with their paths."""
    known: Any = problem.systems
    named = known.items() if isinstance(known, Mapping) else ()
    return [(("systems", str(name)), x) for name, x in named if isinstance(x, System)]


def _guess(problem: Problem) -> Iterator[Finding]:
    from predyn.problem.problem import GUESSES

    guess, n = problem.guess, problem.model.n
    if isinstance(guess, str):
        if guess not in GUESSES:
            yield ("guess",), str(unknown_name("guess", guess, GUESSES))
        return
    if isinstance(guess, tuple | list) and len(guess) == 2:
        s, q = numbers(guess[0]), numbers(guess[1])
        if s is None or s.ndim != 1 or len(s) < 2 or not spans(s):
            yield ("guess", "curve", "s"), "expected numbers that increase from 0 to 1"
        elif q is None or q.shape != (len(s), n) or not np.isfinite(q).all():
            got = "no numbers" if q is None else f"shape {q.shape}"
            yield (
                ("guess", "curve", "q"),
                f"expected finite numbers of shape ({len(s)}, {n}), a row of joint positions for "
                f"each s, got {got}",
            )
        return
    model = getattr(guess, "model", None)
    if not isinstance(model, Model) or not hasattr(guess, "curves"):
        yield (
            ("guess",),
            "expected 'auto', 'linear', 'inverse_kinematics', a curve (s, q) or a Solution, "
            f"got {type(guess).__name__}",
        )
    elif model.n != n:
        yield ("guess",), f"the solution has {model.n} joints, the model {n}"


def _written(where: Sequence[str | int]) -> str:
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text

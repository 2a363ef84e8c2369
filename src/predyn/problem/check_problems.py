"""What is wrong with a problem, all of it at once, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import PredynError, unknown_name
from predyn.kernels.forces import placed_forces, vector
from predyn.model import Limits, Model
from predyn.model.parts import Array
from predyn.nlp import SolverOptions
from predyn.problem.check_entries import entry_problems
from predyn.problem.check_passive import integration_problems, passive_problems
from predyn.problem.check_phases import (
    Finding,
    freedom_problems,
    meeting_problems,
    name_problems,
    numbers,
    phase_problems,
    spans,
    whole,
)
from predyn.problem.check_transcriptions import transcription_problems

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

GUESSES = ("linear", "inverse_kinematics")


def problems_of(problem: Problem) -> list[str]:
    """Everything that is wrong, one message each."""
    return [f"{_written(where)}: {message}" for where, message in find_problems(problem)]


def find_problems(problem: Problem) -> list[Finding]:
    """Everything that is wrong, each with the path of what it is about."""
    from predyn.problem.problem import Phase

    model: Any = problem.model
    if not isinstance(model, Model):
        return [(("model",), f"expected a Model, got {type(model).__name__}")]
    if not isinstance(problem.phases, tuple | list) or not problem.phases:
        return [(("phases",), f"expected at least one Phase, got {problem.phases!r:.60}")]
    wrong: list[Finding] = [
        (("phases", k), f"expected a Phase, got {type(phase).__name__}")
        for k, phase in enumerate(problem.phases)
        if not isinstance(phase, Phase)
    ]
    return wrong or list(_all(problem))


def _all(problem: Problem) -> Iterator[Finding]:
    model = problem.model
    yield from name_problems(problem.name, ())
    spline = list(transcription_problems(problem))
    yield from spline
    passive = list(passive_problems(problem))
    yield from passive
    solver: Any = problem.solver
    if not isinstance(solver, SolverOptions):
        yield ("solver",), f"expected SolverOptions, got {type(solver).__name__}"
    if not whole(problem.continuity, 0):
        yield ("continuity",), f"expected 0, 1 or 2, got {problem.continuity!r:.60}"
    elif problem.continuity > 2:
        yield ("continuity",), f"expected 0, 1 or 2 (q, v, a), got {problem.continuity}"
    limits, bad_limits = _limits(problem)
    yield from bad_limits
    yield from _jerk(problem)
    if not spline and not passive:
        yield from integration_problems(problem)
    states: list[dict[str, Array]] = []
    for k, phase in enumerate(problem.phases):
        yield from phase_problems(model, limits, phase, ("phases", k), states)
    yield from meeting_problems(model, problem, states)
    if not spline and not passive:
        yield from freedom_problems(problem, states)
    forces: Any = problem.forces
    if not isinstance(forces, tuple | list):
        yield ("forces",), f"expected a list of ExternalForce, got {type(forces).__name__}"
    else:
        for k, force in enumerate(forces):
            try:
                placed_forces(model, [force])
                vector("force", force.force)
                vector("moment", force.moment)
            except PredynError as error:
                yield (
                    ("forces", k),
                    str(error).removeprefix("forces[0].").removeprefix("forces[0]: "),
                )
    yield from _guess(problem)
    yield from entry_problems(model, (), problem.costs, problem.constraints)
    for k, phase in enumerate(problem.phases):
        yield from entry_problems(model, ("phases", k), phase.costs, phase.constraints)


def _limits(problem: Problem) -> tuple[Limits, list[Finding]]:
    """The limits that hold, and what is wrong with them."""
    model = problem.model
    given: Any = problem.limits
    if given is None:
        return model.limits, []
    if not isinstance(given, Limits):
        return model.limits, [(("limits",), f"expected Limits, got {type(given).__name__}")]
    wrong: list[Finding] = []
    pairs = []
    for name, value in zip(Limits._fields, given, strict=True):
        pair = numbers(value)
        usual = getattr(model.limits, name)
        if pair is None or pair.shape != (model.n, 2):
            shape = "no numbers" if pair is None else f"shape {pair.shape}"
            wrong.append((("limits", name), f"expected shape ({model.n}, 2), got {shape}"))
            pairs.append(usual)
            continue
        bad = _bad_pairs(model, pair)
        wrong += [(("limits", name), message) for message in bad]
        pairs.append(usual if bad else pair)
    return Limits(*pairs), wrong


def _jerk(problem: Problem) -> Iterator[Finding]:
    if problem.jerk_limit is None:
        return
    n, jerk = problem.model.n, numbers(problem.jerk_limit)
    if jerk is None or jerk.shape not in ((), (n,)) or not (jerk > 0.0).all():
        yield (
            ("jerk_limit",),
            f"expected a number above 0 (plus and minus that), or {n}, one per joint, "
            f"got {problem.jerk_limit!r:.60}",
        )


def _bad_pairs(model: Model, pairs: Array) -> list[str]:
    wrong = []
    for name, (lower, upper) in zip(model.joint_names, pairs.tolist(), strict=True):
        if np.isnan(lower) or np.isnan(upper):
            wrong.append(f"joint {name!r}: NaN is no bound; use infinity for none")
        elif lower > upper:
            wrong.append(f"joint {name!r}: lower {lower:g} is above upper {upper:g}")
        elif lower == np.inf or upper == -np.inf:
            wrong.append(f"joint {name!r}: nothing lies between {lower:g} and {upper:g}")
    return wrong


def _guess(problem: Problem) -> Iterator[Finding]:
    guess, n = problem.guess, problem.model.n
    if isinstance(guess, str):
        if guess not in GUESSES:
            yield ("guess",), str(unknown_name("guess", guess, GUESSES))
        return
    if isinstance(guess, tuple | list) and len(guess) == 2:
        s, q = numbers(guess[0]), numbers(guess[1])
        if s is None or s.ndim != 1 or len(s) < 2 or not spans(s):
            yield ("guess", "curve", "s"), "expected numbers that rise from 0 to 1"
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
            "expected 'linear', 'inverse_kinematics', a curve (s, q) or a Solution, "
            f"got {type(guess).__name__}",
        )
    elif model.n != n:
        yield ("guess",), f"the solution has {model.n} joints, the model {n}"


def _written(where: Sequence[str | int]) -> str:
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text

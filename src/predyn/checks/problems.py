"""What is wrong with a problem, all of it at once, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.checks.entries import entry_problems
from predyn.checks.phases import (
    MOST_SEGMENTS,
    Finding,
    finite,
    freedom_problems,
    meeting_problems,
    name_problems,
    numbers,
    phase_problems,
    spans,
    whole,
)
from predyn.dynamics.forces import placed_forces, vector
from predyn.errors import PredynError, unknown_name
from predyn.model import Limits, Model
from predyn.model_parts import Array
from predyn.nlp import SolverOptions

if TYPE_CHECKING:
    from predyn.problem import Problem

GUESSES = ("linear", "inverse_kinematics")


def problems_of(problem: Problem) -> list[str]:
    """Everything that is wrong, one message each."""
    return [f"{_written(where)}: {message}" for where, message in find_problems(problem)]


def find_problems(problem: Problem) -> list[Finding]:
    """Everything that is wrong, each with the path of what it is about."""
    from predyn.problem import Phase

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
    spline = list(_spline(problem.transcription))
    if not spline and problem.transcription.knots == "free":
        spline += [(("transcription", "knots"), message) for message in free_knots(problem)]
    yield from spline
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
    states: list[dict[str, Array]] = []
    for k, phase in enumerate(problem.phases):
        yield from phase_problems(model, limits, phase, ("phases", k), states)
    yield from meeting_problems(model, problem, states)
    if not spline:
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


def free_knots(problem: Problem) -> Iterator[str]:
    """What free knots cannot be used with."""
    if len(problem.phases) != 1:
        yield f"'free' takes a single phase, got {len(problem.phases)}; use 'clamped'"
        return
    (phase,) = problem.phases
    entries: tuple[Any, ...] = (*problem.costs, *problem.constraints)
    for entry in (*entries, *phase.costs, *phase.constraints):
        pairs = getattr(entry.term, "pairs", False)
        if pairs or not isinstance(entry.at, str) or getattr(entry, "integral", False):
            yield (
                f"'free' does not go with {entry.name or entry.term.kind!r}: it takes what holds "
                "throughout, at the start or at the end, not pairs, fractions or integrals"
            )


def _spline(spline: Any) -> Iterator[Finding]:
    from predyn.problem import Spline

    at = "transcription"
    if not isinstance(spline, Spline):
        yield (at,), f"expected a Spline, got {type(spline).__name__}"
        return
    if not whole(spline.degree, 3) or spline.degree > 5:
        yield (at, "degree"), f"expected 3, 4 or 5, got {spline.degree!r:.60}"
    for name, most in (("segments", MOST_SEGMENTS), ("limit_points", 1000), ("gauss_points", 100)):
        if not whole(getattr(spline, name), 1, most):
            got = f"got {getattr(spline, name)!r:.60}"
            yield (at, name), f"expected a whole number from 1 to {most}, {got}"
    refine: Any = spline.refine
    if type(refine) is not bool:
        yield (at, "refine"), f"expected true or false, got {spline.refine!r:.60}"
    if not whole(spline.max_refinements, 0):
        got = f"got {spline.max_refinements!r:.60}"
        yield (at, "max_refinements"), f"expected a whole number from 0, {got}"
    if not finite(spline.refine_tolerance) or spline.refine_tolerance <= 0.0:
        yield (at, "refine_tolerance"), f"expected a number above 0, got {spline.refine_tolerance}"
    if isinstance(spline.knots, str):
        kinds = ("clamped", "uniform", "free")
        if spline.knots not in kinds:
            yield (at, "knots"), str(unknown_name("knots", spline.knots, kinds))
        return
    knots = numbers(spline.knots)
    if knots is None or knots.ndim != 1 or len(knots) < 2 or not spans(knots):
        yield (
            (at, "knots"),
            "expected 'clamped', 'uniform', 'free' or break points that rise from 0 to 1, "
            f"got {spline.knots!r:.60}",
        )


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

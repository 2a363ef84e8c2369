"""Widths within which a problem rounds off its kinks: of costs, of integrals, of dry friction.

They are known by name: that of a cost or constraint, "coulomb_speed JOINT" for friction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from predyn.model import PRISMATIC
from predyn.problem import Constraint, Cost, Problem, name_of
from predyn.problem.offers import name_in, offer_in
from predyn.terms.kinked import Kinked
from predyn.terms.sums import WeightedSum
from predyn.terms.term import Term
from predyn.transcribe.motion import motion_of
from predyn.transcribe.program import Program
from predyn.transcribe.recheck import residual_values

Floats = NDArray[np.float64]
Entry = TypeVar("Entry", Cost, Constraint)
FRICTION = "coulomb_speed"  # and the name of a joint
STILL = 1e-4  # rad or m; the power of such a motion counts as that of one which stands still
INSTANTS = np.linspace(0.0, 1.0, 201)


def asked_widths(problem: Problem) -> dict[str, float | None]:
    """The widths that a problem asks for; None where they are to be chosen."""
    found: dict[str, float | None] = {}
    for name, term, _ in _kinked(problem):
        wider = [x for x in (found.get(name), term.width) if x is not None]
        found[name] = float(max(wider)) if wider else None
    model = problem.model
    for j in model.coulomb.nonzero()[0]:
        found[f"{FRICTION} {model.joint_names[j]}"] = float(model.coulomb_speed[j])
    return found


def used_widths(problem: Problem) -> dict[str, float]:
    """The widths of the program of a problem."""
    asked = asked_widths(problem)
    used = {name: width for name, width in asked.items() if width is not None}
    if len(used) < len(asked):
        for name, term, phases in _kinked(problem):
            if name not in used:
                used[name] = term.bind_summed(offer_in(problem, phases[0]))[1].width
    return used


def with_widths(problem: Problem, widths: Mapping[str, float]) -> Problem:
    """The same problem with other widths; those without a new one are kept."""
    if asked_widths(problem).items() <= dict(widths).items():
        return problem

    def changed(prefix: str) -> Callable[[Sequence[Entry]], tuple[Entry, ...]]:
        return lambda entries: tuple(
            replace(entry, term=_with_width(entry, widths.get(prefix + name_of(entry))))
            for entry in entries
        )

    everywhere = changed("")
    phases = []
    for p, phase in enumerate(problem.phases):
        here = changed(name_in(problem, p, ""))
        phases.append(replace(phase, costs=here(phase.costs), constraints=here(phase.constraints)))
    model, speed = problem.model, problem.model.coulomb_speed.copy()
    for j, name in enumerate(model.joint_names):
        speed[j] = widths.get(f"{FRICTION} {name}", speed[j])
    if not np.array_equal(speed, model.coulomb_speed):
        model = replace(model, coulomb_speed=speed)
    return replace(
        problem,
        model=model,
        phases=tuple(phases),
        costs=everywhere(problem.costs),
        constraints=everywhere(problem.constraints),
    )


def sizes_at(program: Program, x: Floats) -> dict[str, float]:
    """The size of each rounded quantity: root mean squares over time, summed over the rows; of
    friction, the largest root mean square of the joints' speeds.
    """
    problem, motion = program.problem, motion_of(program, x)
    samples = [motion.samples(p, INSTANTS, ("tau",)) for p in range(len(motion.curves))]
    sizes: dict[str, float] = {}
    for name, term, phases in _kinked(problem):
        for p in phases:
            residual, loss = term.bind_summed(offer_in(problem, p))
            rounded = np.broadcast_to(loss.bent, len(residual.rows)) != 0.0
            r = residual_values(residual, samples[p], len(INSTANTS))[rounded]
            size = float(np.sqrt(np.mean(r * r, axis=1)).sum())
            if "v" in residual.channels:  # of a motion that stands still, only rounding errors
                speed = STILL / motion.curves[p].duration
                size = max(size, speed * float(np.abs(samples[p]["tau"]).max()))
            if not 0.0 < size < np.inf:
                size = float(residual.scale[rounded].sum())
            sizes[name] = max(sizes.get(name, 0.0), size)
    return sizes | _speeds(program, [here["v"] for here in samples])


def _speeds(program: Program, v: list[Floats]) -> dict[str, float]:
    """Typical speeds of the joints with dry friction, one for those that turn, one for others."""
    model, T = program.model, sum(phase.T for phase in program.phases)
    rms = np.sqrt(np.max([np.mean(x * x, axis=1) for x in v], axis=0))
    limit = np.abs(model.limits.velocity).max(axis=1)
    speeds = {}
    for j in np.flatnonzero(model.coulomb):
        alike = (model.kind == PRISMATIC) == (model.kind[j] == PRISMATIC)
        speed = float(rms[alike].max())
        if not 0.0 < speed < np.inf:
            speed = float(limit[j]) if 0.0 < limit[j] < np.inf else 1.0 / T
        speeds[f"{FRICTION} {model.joint_names[j]}"] = speed
    return speeds


def _kinked(problem: Problem) -> Iterator[tuple[str, Kinked, range]]:
    """Terms with a kink, their names, and the phases in which they count."""
    every = range(len(problem.phases))
    entries: tuple[Cost | Constraint, ...] = (*problem.costs, *problem.constraints)
    for entry in entries:
        for term in _kinks_of(entry):
            yield name_of(entry), term, every
    for p, phase in enumerate(problem.phases):
        entries = (*phase.costs, *phase.constraints)
        for entry in entries:
            for term in _kinks_of(entry):
                yield name_in(problem, p, name_of(entry)), term, range(p, p + 1)


def rounded_costs(problem: Problem) -> set[str]:
    """Names of the costs with a kink, as in Solution.costs."""
    return {
        name_in(problem, p, name_of(cost))
        for p, phase in enumerate(problem.phases)
        for cost in (*problem.costs, *phase.costs)
        if _kinks_of(cost)
    }


def bounds_kinks(problem: Problem) -> bool:
    """Whether a constraint bounds a term with a kink: a wider rounding is another bound then."""
    entries = (*problem.constraints, *(c for phase in problem.phases for c in phase.constraints))
    return any(_kinks_of(entry) for entry in entries)


def _kinks_of(entry: Cost | Constraint) -> list[Kinked]:
    """The terms of an entry that have a kink."""
    term = entry.term
    if isinstance(term, WeightedSum):
        return [x for _, x in term.parts if isinstance(x, Kinked) and x.kinked]
    if not isinstance(term, Kinked):
        return []
    own = term.kinked and term.loss == "linear"  # in the residual itself
    if isinstance(entry, Constraint):
        return [term] if own or (term.kinked and entry.integral) else []
    rounded = entry.loss == "abs" or (term.kinked and entry.loss in (None, term.loss))
    return [term] if own or rounded else []


def _with_width(entry: Cost | Constraint, width: float | None) -> Term:
    """The term of an entry with another width, if it has a kink."""
    term = entry.term
    kinks = _kinks_of(entry)
    if width is None or not kinks:
        return term
    if isinstance(term, WeightedSum):
        parts = [
            (factor, x.with_width(width) if isinstance(x, Kinked) and x in kinks else x)
            for factor, x in term.parts
        ]
        return replace(term, terms=parts)
    (kinked,) = kinks
    return kinked.with_width(width)

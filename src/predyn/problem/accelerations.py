"""Whether terms look at accelerations, which in a discrete motion are differences of its nodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from predyn.errors import InputError
from predyn.problem.offers import offer_in
from predyn.problem.problem import Constraint, Cost, Problem
from predyn.problem.system import system_of
from predyn.samples import FRAME_PARTS, split_side
from predyn.terms.sums import SumTerm
from predyn.terms.term import Residual, Term

# channels of positions, velocities and forces alone
SLOW = ("q", "v", "t", "tau", "momentum", "lagrangian", "generalized_force", "holding")
SLOW_FAMILIES = ("signal", "rate", "parameter")


def looks_at_accelerations(residual: Residual) -> bool:
    """Whether a residual depends on accelerations or jerks."""
    for _, channel, x in residual.entries:
        name = split_side(channel)[1]
        family = name.partition(":")[0]
        if family == "frame":
            if x >= FRAME_PARTS["alpha"].start:
                return True
        elif name not in SLOW and family not in SLOW_FAMILIES:
            return True
    return False


def needs_accelerations(problem: Problem) -> bool:
    """Whether any cost, constraint, limit or end of a problem depends on accelerations."""
    for p, phase in enumerate(problem.phases):
        if phase.start.a is not None or phase.end.a is not None:
            return True
        if np.isfinite(system_of(problem, p).limits.acceleration).any():
            return True
        entries: tuple[Cost | Constraint, ...] = (*problem.costs, *problem.constraints)
        for entry in (*entries, *phase.costs, *phase.constraints):
            if any(looks_at_accelerations(x) for x in _residuals(problem, p, entry.term)):
                return True
    return False


def _residuals(problem: Problem, p: int, term: Term) -> Iterator[Residual]:
    offer = offer_in(problem, p, anywhere=True)
    for part in [x for _, x in term.parts] if isinstance(term, SumTerm) else [term]:
        try:
            yield part.bind_to(offer)
        except InputError:  # it looks at forces of contacts or loops that have no signals yet
            continue

"""Further attempts after a solve that ended without a motion.

A start from the multipliers of a guess is repeated without them. If the solver reports an optimum
that the optimality conditions do not confirm, or makes no further progress, other paths to the
optimum are tried: a smaller scaled objective, second derivatives without those of residuals, a
perturbed initial point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predyn.nlp import Multipliers
from predyn.solution import CONVERGED, Solution
from predyn.solving.totals import Totals
from predyn.transcribe.guess import perturbed
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
Run = Callable[[Program, Floats, Multipliers | None], Solution]
Attempt = tuple[str, Program, Floats]  # what is different
FAILED = ("infeasible", "diverged", "evaluation_error")
FACTOR = 100.0  # by which the scaled objective is made smaller
SIZE = 0.1  # rad or m, of the perturbation


def run_with_retries(
    run: Run, program: Program, x0: Floats, multipliers: Multipliers | None
) -> Solution:
    """The first attempt that succeeds, or the first one; the message lists what was tried."""
    first = last = run(program, x0, multipliers)
    totals, tried, options = Totals(first), [], program.problem.solver
    for what, other, x in _attempts(program, x0, multipliers, first):
        left = totals.seconds_left(options)
        if left is not None and left <= 0.0:
            break
        other.problem = replace(
            other.problem, solver=replace(other.problem.solver, max_seconds=left)
        )
        last = run(other, x, None)
        tried.append(what)
        totals.add(last)
        if last.status not in FAILED:
            break
    if not tried:
        return first
    if last.status not in (*CONVERGED, "interrupted"):
        note, best = f"also tried {' and '.join(tried)}", first
    else:
        note, best = f"found {tried[-1]}; the first attempt ended with {first.status}", last
    return totals.of(replace(best, message=f"{best.message}; {note}"))


def _attempts(
    program: Program, x0: Floats, multipliers: Multipliers | None, first: Solution
) -> Iterator[Attempt]:
    if first.status not in FAILED:
        return
    if multipliers is not None:
        yield "without the multipliers of the guess", program, x0
    if first.status == "diverged":
        f_scale = program.f_scale
        program.f_scale = FACTOR * f_scale
        yield "with a smaller scaled objective", program, x0
        program.f_scale = f_scale
        problem = program.problem
        if problem.solver.hessian == "exact":
            solver = replace(problem.solver, hessian="gauss_newton")
            other = transcribe(replace(problem, solver=solver))
            other.f_scale = f_scale
            yield "with Gauss-Newton second derivatives", other, x0
        yield "from a perturbed initial point", program, perturbed(program, x0, SIZE)

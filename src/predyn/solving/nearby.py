"""Solve a problem close to one that is solved: with the few constraints that matter there.

Of the limits at all points of a motion, most are far from their bounds, and stay so when a weight
changes a little; yet they make each iteration of the solver several times as expensive. They are
left out at first. Those that the motion then exceeds or comes close to are added, until there is
none: a motion that is optimal with some of the constraints, and meets all, is optimal with all.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from predyn.nlp import NLP, Multipliers, SolverOptions
from predyn.nlp.nlp import kkt_error
from predyn.problem import Problem
from predyn.solution import CONVERGED, Solution
from predyn.solution.later_samples import revised
from predyn.solvers.ipopt import SolverResult, solve_nlp
from predyn.solving.single_solve import history_of, scale_objective, with_transcription
from predyn.transcribe.guess import first_guess
from predyn.transcribe.program import Program
from predyn.transcribe.unpack import multipliers_of, unpack

Floats = NDArray[np.float64]
NEAR = 0.1  # of its range (of its size, with one bound): a constraint this close is not left out
BARRIER = 1e-4  # initial barrier parameter
ROUNDS = 5


class SomeRows(NLP):
    """A program with some of its constraints."""

    def __init__(self, whole: NLP, kept: NDArray[np.bool_]) -> None:
        self._whole = whole
        self._kept = np.flatnonzero(kept)
        self.x_lower, self.x_upper, self.x_scale = whole.x_lower, whole.x_upper, whole.x_scale
        self.g_lower, self.g_upper = whole.g_lower[kept], whole.g_upper[kept]
        self.g_scale, self.f_scale = whole.g_scale[kept], whole.f_scale
        rows, columns = whole.jacobian_pattern
        self._entries = np.flatnonzero(kept[rows])
        numbers = np.cumsum(kept) - 1
        self.jacobian_pattern = (
            numbers[rows[self._entries]].astype(np.int32),
            columns[self._entries],
        )
        self.hessian_pattern = whole.hessian_pattern
        self._g, self._jacobian = np.empty(whole.m), np.empty(len(rows))
        self._multipliers = np.zeros(whole.m)

    def move(self, x: Floats) -> None:
        self._whole.move(x)

    def objective(self) -> float:
        return self._whole.objective()

    def gradient(self, out: Floats) -> None:
        self._whole.gradient(out)

    def constraints(self, out: Floats) -> None:
        self._whole.constraints(self._g)
        out[:] = self._g[self._kept]

    def jacobian(self, out: Floats) -> None:
        self._whole.jacobian(self._jacobian)
        out[:] = self._jacobian[self._entries]

    def hessian(self, sigma: float, multipliers: Floats, out: Floats) -> None:
        self._multipliers[self._kept] = multipliers
        self._whole.hessian(sigma, self._multipliers, out)

    def x_name(self, i: int) -> str:
        return self._whole.x_name(i)

    def g_name(self, i: int) -> str:
        return self._whole.g_name(int(self._kept[i]))


@np.errstate(all="ignore")
def solve_nearby(program: Program, problem: Problem, guess: Solution) -> Solution | None:
    """The optimum of `problem` near a solution of another one with the same pattern.

    program: of a problem with the same pattern; it gets the numbers of this one. None if this way
    fails: then solve it as any other. Ctrl-C raises KeyboardInterrupt.
    """
    if problem.scene is not None:
        return None
    began = perf_counter()
    program.retarget(problem)
    x = first_guess(program, guess)
    multipliers = multipliers_of(program, guess)
    if multipliers is None:
        return None
    scale_objective(program, x)
    prepared = perf_counter() - began
    options = problem.solver
    if options.mu_init is None:
        options = replace(options, mu_init=BARRIER)
    with program.following_kinks():
        result = _with_growing_rows(program, x, multipliers, options)
    if result is None:
        return None
    timings = {"solve": perf_counter() - began - prepared, "evaluate": result.evaluation_seconds}
    solution = unpack(
        program,
        result.x,
        status=result.status,
        message=result.message,
        objective=result.f,
        costs=program.cost_parts(),
        g=result.g,
        multipliers=result.multipliers,
        history=history_of(result),
        timings=timings,
    )
    solution = revised(solution, iterations=result.iterations)
    return with_transcription(solution, prepared) if solution.success else None


def _with_growing_rows(
    program: Program, x: Floats, multipliers: Multipliers, options: SolverOptions
) -> SolverResult | None:
    """The result for the whole program; None if it is not optimal within the tolerance."""
    program.move(x)
    kept = _near(program) | (program.g_lower == program.g_upper)
    iterations, seconds = 0, 0.0
    began, limit = perf_counter(), options.max_seconds
    for _ in range(ROUNDS):
        if limit is not None:
            left = limit - (perf_counter() - began)
            if left <= 0.0:
                return None
            options = replace(options, max_seconds=left)
        part = SomeRows(program, kept)
        start = multipliers._replace(g=multipliers.g[kept])
        found = solve_nlp(part, x, options, start)
        if found.status == "interrupted":  # no reason to solve it in another way
            raise KeyboardInterrupt
        if found.status not in CONVERGED:
            return None
        iterations, seconds = iterations + found.iterations, seconds + found.evaluation_seconds
        x = found.x
        program.move(x)
        full = np.zeros(program.m)
        full[kept] = found.multipliers.g
        multipliers = found.multipliers._replace(g=full)
        error = kkt_error(program, x, multipliers, options.tolerance)
        if error.largest <= options.tolerance:
            g = np.empty(program.m)
            program.constraints(g)
            return replace(
                found, g=g, multipliers=multipliers, kkt=error, iterations=iterations,
                evaluation_seconds=seconds,
            )  # fmt: skip
        more = _near(program) & ~kept
        if not more.any():
            return None
        kept |= more
    return None


def _near(program: NLP) -> NDArray[np.bool_]:
    """The constraints at their bounds, beyond or close to them at the current point."""
    g = np.empty(program.m)
    program.constraints(g)
    size = program.g_upper - program.g_lower
    size = np.where(np.isfinite(size), size, program.g_scale)
    margin = np.minimum(g - program.g_lower, program.g_upper - g)
    return np.asarray(margin < NEAR * size)

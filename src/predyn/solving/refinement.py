"""Finer motions from a motion: more segments, or segments of free duration."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from time import perf_counter

import numpy as np

from predyn.curves.bspline import BSpline
from predyn.problem import Dmoc, Problem
from predyn.solution import CONVERGED, EXCEEDS, Solution
from predyn.solving.denser_points import with_more_points
from predyn.solving.single_solve import (
    NEAR,
    Output,
    evaluate_all,
    run_program,
    scale_objective,
    solve_once,
    stopped,
    with_transcription,
)
from predyn.solving.totals import Totals
from predyn.transcribe.arrange import PASSIVE_TORQUE
from predyn.transcribe.free_knots import joined, split
from predyn.transcribe.guess import first_guess

EPS = float(np.finfo(float).eps)


def refined(problem: Problem, solution: Solution, output: Output) -> Solution:
    """Halve the segments until limits hold between the points and the objective settles.

    A motion that exceeds its limits between the points is refined too, with more limit points. The
    result is the finest success, or the finest converged motion if there is none; if interrupted,
    with the status "interrupted".
    """
    options, totals = problem.transcription, Totals(solution)
    coarser = solution  # the finest success so far
    for k in range(options.max_refinements):
        if solution.status not in CONVERGED:
            break
        problem = halved(problem)
        output.announce(f"refinement {k + 1} of at most {options.max_refinements}")
        if solution.status == EXCEEDS and PASSIVE_TORQUE not in solution.dense_violations[0].name:
            problem = with_more_points(problem)
        try:
            finer = solve_once(problem, solution, output, mu_init=NEAR)
        except KeyboardInterrupt:
            solution = stopped(solution, "during refinement")
            break
        totals.add(finer)
        if finer.status == "interrupted":
            solution = stopped(solution, "during refinement")
            break
        if finer.status not in CONVERGED:
            note = f"further refinement ended with {finer.status}: {finer.message}"
            solution = replace(solution, message=f"{solution.message}; {note}")
            break
        change = abs(finer.objective - solution.objective)
        solution = finer
        coarser = finer if finer.success else coarser
        small = options.refine_tolerance * max(abs(finer.objective), EPS)
        if finer.max_violation_dense <= options.refine_tolerance and change <= small:
            break
    if solution.status == EXCEEDS and coarser.success:
        excess = solution.dense_violations[0]
        note = (
            f"{excess.name} exceeds its bounds by {100 * excess.relative:.3g} % on finer segments"
        )
        solution = replace(coarser, message=f"{coarser.message}; {note}")
    return totals.of(solution)


def with_free_knots(problem: Problem, solution: Solution, output: Output) -> Solution:
    """Let the knots of a solution move."""
    when = "during the solve with free knots"
    try:
        freed = _run_with_free_knots(problem, solution, output)
        totals = Totals(solution, freed)
        if freed.success or (not solution.success and freed.status in CONVERGED):
            return joined(totals.of(freed), problem.name, problem)
    except KeyboardInterrupt:
        return stopped(solution, when)
    if freed.status == "interrupted":
        return totals.of(stopped(solution, when))
    note = f"the solve with free knots ended with {freed.status}; this motion has equal segments"
    return totals.of(replace(solution, message=f"{solution.message}; {note}"))


def _run_with_free_knots(problem: Problem, solution: Solution, output: Output) -> Solution:
    """A phase for each segment."""
    began = perf_counter()
    output.announce("free knots")
    (curve,) = solution.curves
    spline = replace(problem.transcription, segments=BSpline(curve.degree, curve.knots).segments)
    phases = tuple(replace(phase, segments=None) for phase in problem.phases)
    program = split(replace(problem, transcription=spline, phases=phases), solution.duration)
    x0 = first_guess(program, solution)
    scale_objective(program, x0)
    evaluate_all(program)
    seconds = perf_counter() - began
    output = output._replace(checkpoints=None)  # they would be of a program with more phases
    return with_transcription(run_program(program, x0, None, output), seconds)


def halved(problem: Problem) -> Problem:
    """The same problem with every segment or step split in two."""
    options = problem.transcription
    knots = options.knots
    if not isinstance(knots, str):
        middle = tuple(0.5 * (a + b) for a, b in pairwise(knots))
        knots = tuple(sorted((*knots, *middle)))
    phases = tuple(
        p if p.segments is None else replace(p, segments=2 * p.segments) for p in problem.phases
    )
    finer = replace(options, segments=2 * options.segments, knots=knots)
    if isinstance(finer, Dmoc) and finer.steps is not None:
        finer = replace(finer, steps=2 * finer.steps)
    return replace(problem, transcription=finer, phases=phases)

"""Finer motions from a motion: more segments, or segments of free duration."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from time import perf_counter

import numpy as np

from predyn.curves.bspline import BSpline
from predyn.problem import Hybrid, Problem
from predyn.solution import CONVERGED, EXCEEDS, Solution
from predyn.solving.single_solve import (
    Checkpoints,
    Report,
    evaluate_all,
    run_program,
    scale_objective,
    solve_once,
)
from predyn.transcribe.arrange import PASSIVE_TORQUE
from predyn.transcribe.free_knots import joined, split
from predyn.transcribe.guess import first_guess

EPS = float(np.finfo(float).eps)
DOUBLINGS = 2  # of the limit points, for a motion that exceeds limits between them
MOST_POINTS = 12  # limit points per segment that are added
NEAR = 1e-4  # barrier parameter at the start of a refinement: the coarser motion is close


def refined(
    problem: Problem,
    solution: Solution,
    refine: bool | None,
    text: str,
    report: Report | None = None,
    checkpoints: Checkpoints | None = None,
) -> Solution:
    """Halve the segments until limits hold between the points and the objective settles.

    A motion that exceeds its limits between the points is refined too, with more limit points. The
    result is the finest success, or the finest converged motion if there is none; if interrupted,
    with the status "interrupted".
    """
    options = problem.transcription
    if not (options.refine if refine is None else refine):
        return solution
    total, iterations = dict(solution.timings), solution.iterations
    coarser = solution  # the finest success so far
    for _ in range(options.max_refinements):
        if solution.status not in CONVERGED:
            break
        problem = halved(problem)
        if solution.status == EXCEEDS:
            problem = with_more_points(problem)
        try:
            finer = solve_once(problem, solution, text, report, checkpoints, mu_init=NEAR)
        except KeyboardInterrupt:
            solution = _stopped(solution, "during refinement")
            break
        for name, seconds in finer.timings.items():
            total[name] = total.get(name, 0.0) + seconds
        iterations += finer.iterations
        finer = replace(finer, starts=solution.starts, iterations=iterations)
        if finer.status == "interrupted":
            solution = _stopped(solution, "during refinement")
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
        solution = replace(coarser, message=f"{coarser.message}; {note}", iterations=iterations)
    return replace(solution, timings=total, solve_seconds=total["solve"])


def with_enough_points(
    problem: Problem,
    solution: Solution,
    text: str,
    report: Report | None = None,
    checkpoints: Checkpoints | None = None,
) -> tuple[Problem, Solution]:
    """Impose limits at more points while a motion exceeds them in between; the message says so.

    Returns the problem with the limit points that were used. Torques of passive joints are zero at
    given points of the spline, to which limit points add nothing.
    """
    first, given = solution, problem.transcription.limit_points
    for _ in range(DOUBLINGS):
        denser = with_more_points(problem)
        points, most = denser.transcription.limit_points, problem.solver.max_seconds
        left = None if most is None else most - solution.solve_seconds
        if (
            solution.status != EXCEEDS
            or (left is not None and left <= 0.0)
            or PASSIVE_TORQUE in solution.dense_violations[0].name
            or points == problem.transcription.limit_points
        ):
            break
        try:
            timed = replace(denser, solver=replace(denser.solver, max_seconds=left))
            finer = solve_once(timed, solution, text, report, checkpoints, mu_init=NEAR)
        except KeyboardInterrupt:
            return problem, _stopped(solution, "while limits were imposed at more points")
        total = {k: x + solution.timings.get(k, 0.0) for k, x in finer.timings.items()}
        finer = replace(
            finer,
            timings=total,
            solve_seconds=total["solve"],
            iterations=solution.iterations + finer.iterations,
            starts=solution.starts,
        )
        if finer.status == "interrupted":
            return problem, _stopped(solution, "while limits were imposed at more points")
        if finer.status not in CONVERGED:
            note = (
                f"with limits at {points} points per segment, the solve ended with {finer.status}"
            )
            return problem, replace(solution, message=f"{solution.message}; {note}")
        worst = first.dense_violations[0]
        note = (
            f"limits were imposed at {points} points per segment instead of {given}, because "
            f"{worst.name} exceeded its bounds by {100 * worst.relative:.3g} % between these"
        )
        problem, solution = denser, replace(finer, message=f"{finer.message}; {note}")
    return problem, solution


def with_free_knots(
    problem: Problem, solution: Solution, text: str, report: Report | None
) -> Solution:
    """Let the knots of a solution move."""
    when = "during the solve with free knots"
    try:
        freed = _run_with_free_knots(problem, solution, text, report)
        if freed.success or (not solution.success and freed.status in CONVERGED):
            total = {k: x + solution.timings.get(k, 0.0) for k, x in freed.timings.items()}
            seconds = total["solve"]
            freed = replace(freed, timings=total, solve_seconds=seconds, starts=solution.starts)
            return joined(freed, problem.name, problem)
    except KeyboardInterrupt:
        return _stopped(solution, when)
    if freed.status == "interrupted":
        return _stopped(solution, when)
    note = f"the solve with free knots ended with {freed.status}; this motion has equal segments"
    return replace(solution, message=f"{solution.message}; {note}")


def _run_with_free_knots(
    problem: Problem, solution: Solution, text: str, report: Report | None
) -> Solution:
    """A phase for each segment."""
    began = perf_counter()
    (curve,) = solution.curves
    spline = replace(problem.transcription, segments=BSpline(curve.degree, curve.knots).segments)
    phases = tuple(replace(phase, segments=None) for phase in problem.phases)
    program = split(replace(problem, transcription=spline, phases=phases), solution.duration)
    x0 = first_guess(program, solution)
    scale_objective(program, x0)
    evaluate_all(program)
    return run_program(program, x0, None, text, report, None, perf_counter() - began)


def _stopped(solution: Solution, when: str) -> Solution:
    """The last converged motion before an interrupt."""
    message = f"interrupted {when}; this is the last converged motion: {solution.message}"
    return replace(solution, status="interrupted", message=message)


def halved(problem: Problem) -> Problem:
    """The same problem with every segment split in two."""
    options = problem.transcription
    knots = options.knots
    if not isinstance(knots, str):
        middle = tuple(0.5 * (a + b) for a, b in pairwise(knots))
        knots = tuple(sorted((*knots, *middle)))
    phases = tuple(
        p if p.segments is None else replace(p, segments=2 * p.segments) for p in problem.phases
    )
    finer = replace(options, segments=2 * options.segments, knots=knots)
    return replace(problem, transcription=finer, phases=phases)


def with_more_points(problem: Problem) -> Problem:
    """The same problem with twice the limit points per segment, within reason."""
    options = problem.transcription
    steps = options.steps if isinstance(options, Hybrid) else None  # limits hold at steps
    most = min(MOST_POINTS, steps or MOST_POINTS)
    points = max(options.limit_points, min(2 * options.limit_points, most))
    return replace(problem, transcription=replace(options, limit_points=points))

"""Finer motions from a motion: more segments, or segments of free duration."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from time import perf_counter

import numpy as np

from predyn.curves.bspline import BSpline
from predyn.problem import Constraint, Hybrid, Problem
from predyn.solution import CONVERGED, EXCEEDS, Solution
from predyn.solution.evaluation import phase_starts
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
from predyn.transcribe.limits import LIMIT_TERMS

EPS = float(np.finfo(float).eps)
ROUNDS = 3  # of solves with more points, for a motion that needs them
MOST_POINTS = 12  # limit points per segment that are added
MOST_GAUSS = 20  # quadrature points per segment
MOST_INACCURATE = 0.01  # error of an integral, relative to the objective
WORTH_A_POINT = 0.01  # relative excess
WITH_MORE_POINTS = "during a solve with more points per segment"
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
    """Impose limits at more points while a motion exceeds them in between, and integrate costs with
    more points while they are inaccurate; the message says so.

    Returns the problem with the points that were used. Torques of passive joints are zero at given
    points of the spline, to which limit points add nothing.
    """
    for _ in range(ROUNDS):
        denser, note = _denser(problem, solution)
        most = problem.solver.max_seconds
        left = None if most is None else most - solution.solve_seconds
        if not note or (left is not None and left <= 0.0):
            break
        try:
            timed = replace(denser, solver=replace(denser.solver, max_seconds=left))
            same = denser.transcription == problem.transcription  # the multipliers fit
            barrier = None if same else NEAR
            finer = solve_once(timed, solution, text, report, checkpoints, mu_init=barrier)
        except KeyboardInterrupt:
            return problem, _stopped(solution, WITH_MORE_POINTS)
        total = {k: x + solution.timings.get(k, 0.0) for k, x in finer.timings.items()}
        finer = replace(
            finer,
            timings=total,
            solve_seconds=total["solve"],
            iterations=solution.iterations + finer.iterations,
            starts=solution.starts,
        )
        if finer.status == "interrupted":
            return problem, _stopped(solution, WITH_MORE_POINTS)
        if finer.status not in CONVERGED:
            ended = f"a solve with more points per segment ended with {finer.status}"
            return problem, replace(solution, message=f"{solution.message}; {ended}")
        problem, solution = denser, replace(finer, message=f"{finer.message}; {note}")
    return problem, solution


def _denser(problem: Problem, solution: Solution) -> tuple[Problem, str]:
    """The problem with more points where the solution needs them, and why; '' if nowhere."""
    notes, denser = [], problem
    if solution.status == EXCEEDS and PASSIVE_TORQUE not in solution.dense_violations[0].name:
        denser, worst = at_peaks(with_more_points(problem), solution), solution.dense_violations[0]
        points, given = denser.transcription.limit_points, problem.transcription.limit_points
        where = "at the peaks" if points == given else f"at {points} points per segment"
        if points > given or denser.phases != problem.phases:
            notes.append(
                f"limits were imposed {where} instead of {given}, because "
                f"{worst.name} exceeded its bounds by {100 * worst.relative:.3g} % between these"
            )
    options, worst_cost = denser.transcription, _worst_integral(solution)
    if worst_cost and not isinstance(options, Hybrid) and options.gauss_points < MOST_GAUSS:
        points = min(2 * options.gauss_points, MOST_GAUSS)
        notes.append(
            f"costs were integrated with {points} points per segment instead of "
            f"{options.gauss_points}, because {worst_cost} was inaccurate"
        )
        denser = replace(denser, transcription=replace(options, gauss_points=points))
    return denser, "; ".join(notes)


def _worst_integral(solution: Solution) -> str:
    """The cost whose integral is inaccurate by more than MOST_INACCURATE of the objective."""
    if solution.status not in CONVERGED:
        return ""
    errors = {
        name: abs(exact - solution.costs[name])
        for name, exact in solution.unsmoothed.items()
        if name in solution.costs and name not in solution.widths
    }
    worst = max(errors, key=errors.__getitem__, default="")
    return worst if worst and errors[worst] > MOST_INACCURATE * abs(solution.objective) else ""


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


def at_peaks(problem: Problem, solution: Solution) -> Problem:
    """The same problem with limits of joints also imposed where the solution exceeds them most.

    Peaks of dry friction are narrower than any reasonable distance of points.
    """
    method = problem.transcription
    if isinstance(method, Hybrid) or method.knots == "free":  # which have no other instants
        return problem
    phases, begin = list(problem.phases), phase_starts(solution)
    for violation in solution.dense_violations:
        name, p = violation.name, 0
        for k, phase in enumerate(solution.phase_names):
            if len(phases) > 1 and name.startswith(f"{phase}: "):
                name, p = name[len(phase) + 2 :], k
        kind, _, joint = name.partition(" ")
        known = kind in LIMIT_TERMS and joint in problem.model.joint_names
        if known and violation.relative > WORTH_A_POINT:
            s = (violation.time - begin[p]) / solution.curves[p].duration
            bounds, at = (violation.lower, violation.upper), (float(np.clip(s, 0.0, 1.0)),)
            added = Constraint(LIMIT_TERMS[kind](joints=(joint,)), *bounds, at=at, name=kind)
            phases[p] = replace(phases[p], constraints=(*phases[p].constraints, added))
    return replace(problem, phases=tuple(phases))


def with_more_points(problem: Problem) -> Problem:
    """The same problem with twice the limit points per segment, within reason."""
    options = problem.transcription
    steps = options.steps if isinstance(options, Hybrid) else None  # limits hold at steps
    most = min(MOST_POINTS, steps or MOST_POINTS)
    points = max(options.limit_points, min(2 * options.limit_points, most))
    return replace(problem, transcription=replace(options, limit_points=points))

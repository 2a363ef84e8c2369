"""More points per segment where a motion exceeds its limits between them, or where the integrals of
its costs are inaccurate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predyn.problem import Constraint, Dmoc, Hybrid, Problem, Spline
from predyn.problem.offers import name_in
from predyn.solution import CONVERGED, EXCEEDS, Solution
from predyn.solution.evaluation import phase_starts
from predyn.solving.single_solve import NEAR, Output, solve_once, stopped
from predyn.solving.totals import Totals
from predyn.transcribe.arrange import PASSIVE_TORQUE
from predyn.transcribe.limits import LIMIT_TERMS
from predyn.transcribe.widths import rounded_costs

ROUNDS = 3  # solves at most
MOST_POINTS = 12  # limit points per segment that are added
MOST_GAUSS = 20  # quadrature points per segment
MOST_INACCURATE = 0.01  # error of an integral, relative to the objective
WORTH_A_POINT = 0.01  # relative excess
WHEN = "during a solve with more points per segment"


def with_enough_points(
    problem: Problem, solution: Solution, output: Output
) -> tuple[Problem, Solution]:
    """Impose limits at more points while a motion exceeds them in between, and integrate costs with
    more points while they are inaccurate; the message says so.

    Returns the problem with the points that were used. Torques of passive joints are zero at given
    points of the spline, to which limit points add nothing.
    """
    totals, given = Totals(solution), problem.transcription
    notes: dict[str, str] = {}
    for round_ in range(ROUNDS):
        denser, more = _denser(problem, solution, given)
        if not more and round_ == 0:
            return problem, solution
        left = totals.seconds_left(problem.solver)
        if not more or (left is not None and left <= 0.0):
            break
        output.announce(f"more points, round {round_ + 1} of at most {ROUNDS}")
        timed = replace(denser, solver=replace(denser.solver, max_seconds=left))
        same = denser.transcription == problem.transcription  # the multipliers fit
        barrier = None if same else NEAR
        try:
            finer = solve_once(timed, solution, output, mu_init=barrier)
        except KeyboardInterrupt:
            solution = stopped(solution, WHEN)
            break
        totals.add(finer)
        if finer.status == "interrupted":
            solution = stopped(solution, WHEN)
            break
        if finer.status not in CONVERGED:
            ended = f"a solve with more points per segment ended with {finer.status}"
            solution = replace(solution, message=f"{solution.message}; {ended}")
            break
        notes |= more
        message = "; ".join((finer.message, *notes.values()))
        problem, solution = denser, replace(finer, message=message)
    return problem, totals.of(solution)


def _denser(problem: Problem, solution: Solution, given: Spline) -> tuple[Problem, dict[str, str]]:
    """The problem with more points where the solution needs them, and how that differs from the
    given points and why, for limits and for costs; nothing if the points suffice.
    """
    notes: dict[str, str] = {}
    denser = problem
    if isinstance(problem.transcription, Dmoc):  # limits hold at its nodes; more steps are finer
        return problem, notes
    if solution.status == EXCEEDS and PASSIVE_TORQUE not in solution.dense_violations[0].name:
        denser, worst = at_peaks(with_more_points(problem), solution), solution.dense_violations[0]
        points, before = denser.transcription.limit_points, problem.transcription.limit_points
        more = f"at {points} points per segment instead of {given.limit_points}"
        where = more if points > given.limit_points else "also at the peaks"
        if points > before or denser.phases != problem.phases:
            notes["limits"] = (
                f"limits were imposed {where}, because {worst.name} exceeded its bounds by "
                f"{100 * worst.relative:.3g} % between the points"
            )
    options, worst_cost = denser.transcription, _worst_integral(problem, solution)
    if worst_cost and not isinstance(options, Hybrid) and options.gauss_points < MOST_GAUSS:
        points = min(2 * options.gauss_points, MOST_GAUSS)
        notes["costs"] = (
            f"costs were integrated with {points} points per segment instead of "
            f"{given.gauss_points}, because {worst_cost} was inaccurate"
        )
        denser = replace(denser, transcription=replace(options, gauss_points=points))
    return denser, notes


def _worst_integral(problem: Problem, solution: Solution) -> str:
    """The cost whose integral is inaccurate by more than MOST_INACCURATE of the objective."""
    if solution.status not in CONVERGED:
        return ""
    rounded = rounded_costs(problem)  # differ by their rounding, which points do not reduce
    errors = {
        name: abs(exact - solution.costs[name])
        for name, exact in solution.unsmoothed.items()
        if name in solution.costs and name not in rounded
    }
    worst = max(errors, key=errors.__getitem__, default="")
    return worst if worst and errors[worst] > MOST_INACCURATE * abs(solution.objective) else ""


def at_peaks(problem: Problem, solution: Solution) -> Problem:
    """The same problem with limits of joints also imposed where the solution exceeds them most.

    Peaks of dry friction are narrower than any reasonable distance of points.
    """
    options = problem.transcription
    if isinstance(options, Hybrid) or options.knots == "free":  # without rows at any fraction
        return problem
    phases, begin = list(problem.phases), phase_starts(solution)
    limits = {
        name_in(problem, p, f"{kind} {joint}"): (p, kind, joint)
        for p in range(len(phases))
        for kind in LIMIT_TERMS
        for joint in problem.model.joint_names
    }
    for violation in solution.dense_violations:
        if violation.name in limits and violation.relative > WORTH_A_POINT:
            p, kind, joint = limits[violation.name]
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

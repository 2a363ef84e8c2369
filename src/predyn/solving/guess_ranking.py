"""The point where a solve starts: the best of several branches of inverse kinematics.

The nearest branch is taken if straight lines to it are within all bounds on postures. Otherwise
others are searched for, and the shortest one within the bounds is taken. If none is, coarse
programs decide (few segments, a loose tolerance, few iterations), and the solve starts at the best
of their motions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.problem import Problem, Spline
from predyn.solvers.ipopt import SolverResult, solve_nlp
from predyn.transcribe.branches import (
    Route,
    has_branches,
    measured_route,
    nearest_route,
    routes,
)
from predyn.transcribe.guess import (
    first_guess,
    motion_guess,
    neighbour,
    random_guess,
    route_guess,
    searches,
)
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
FEW = 4  # routes that coarse programs compare
SEGMENTS, LIMIT_POINTS = 8, 2
TOLERANCE, ITERATIONS = 1e-4, 60
FEASIBLE = 1e-3  # dimensionless violation of a coarse solution


def starting_point(program: Program, start: tuple[int, int], near: bool, guess: Any) -> Floats:
    """Decision variables of a start (seed, number): near a solution, or from the guess."""
    if near:
        return neighbour(program, *start, guess)
    if start[1] > 0:
        return random_guess(program, *start, guess)
    if searches(program, guess) and has_branches(program.problem):
        return best_branch(program)
    return first_guess(program, guess)


def best_branch(program: Program) -> Floats:
    """Decision variables on the best branch; on the nearest one if a straight line to it is within
    all bounds on postures.
    """
    nearest = measured_route(program, nearest_route(program.problem, search=True))
    found = [nearest] if nearest.clear else routes(program)
    if found[0].clear or len(found) == 1:
        return route_guess(program, found[0].points)
    coarse = transcribe(coarse_problem(program.problem))
    results = [_coarse_solution(coarse, route) for route in found[:FEW]]
    feasible = [x for x in results if x.kkt.feasibility <= FEASIBLE and np.isfinite(x.f)]
    if not feasible:
        return route_guess(program, found[0].points)
    best = min(feasible, key=lambda x: x.f)
    return motion_guess(program, coarse.curves(best.x))


def _coarse_solution(coarse: Program, route: Route) -> SolverResult:
    result = solve_nlp(coarse, route_guess(coarse, route.points), coarse.problem.solver)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


def coarse_problem(problem: Problem) -> Problem:
    """The problem with few segments and a loose tolerance; with its own segments if the others do
    not fit its fractions, equations or break points.
    """
    solver = replace(
        problem.solver,
        tolerance=max(TOLERANCE, problem.solver.tolerance),
        max_iterations=min(ITERATIONS, problem.solver.max_iterations),
    )
    loose = replace(problem, solver=solver)
    own: Spline = problem.transcription
    fewer = replace(
        own,
        segments=min(SEGMENTS, own.segments),
        limit_points=min(LIMIT_POINTS, own.limit_points),
        knots="clamped" if own.knots == "free" else own.knots,
    )
    phases = tuple(
        x if x.segments is None else replace(x, segments=min(SEGMENTS, x.segments))
        for x in problem.phases
    )
    coarse = replace(loose, transcription=fewer, phases=phases)
    return loose if coarse.validate() else coarse

"""Predicted steps, solved once in each process."""

from dataclasses import replace
from functools import cache

import predyn
from predyn.movements.walking import human_walk
from predyn.simulation.verification import verify
from predyn.solution import Solution


@cache
def predicted_step() -> Solution:
    """Of the planar walker."""
    return verify(predyn.solve("planar-walker", verbose=False).check())


@cache
def unsolved_person() -> Solution:
    """A step of a person after one iteration: not a solution, but a motion with contacts."""
    problem = human_walk(segments=2)
    solver = replace(problem.solver, max_iterations=1)
    return predyn.solve(replace(problem, solver=solver), verbose=False)

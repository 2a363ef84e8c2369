"""The problem that a solution solves: kept by the solution, in its task text, or given."""

from __future__ import annotations

from dataclasses import replace

from predyn.config import problem_of_text
from predyn.errors import FileError, InputError
from predyn.problem import Problem
from predyn.solution import Solution
from predyn.solving.continuation import settled
from predyn.solving.refinement import halved
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program


def solved_program(solution: Solution, problem: Problem | None) -> Program:
    """The program of a solution, with exact second derivatives, its refinements and its widths."""
    problem = settled(problem or solution.problem or _written(solution), solution)
    if problem.transcription.knots == "free":
        raise InputError(
            f"{solution.name!r}: its knots are free, which sensitivities do not support; use knots "
            "'clamped', or the break points that were found"
        )
    problem = replace(problem, solver=replace(problem.solver, hessian="exact"))
    size = (solution.n_variables, solution.n_constraints)
    for _ in range(problem.transcription.max_refinements + 1):
        program = transcribe(problem)
        if (program.n, program.m) == size:
            return program
        if program.n > solution.n_variables:
            break
        problem = halved(problem)
    raise InputError(
        f"problem: it does not belong to the solution {solution.name!r}, whose program has "
        f"{size[0]} variables and {size[1]} constraints; give the problem that was solved"
    )


def _written(solution: Solution) -> Problem:
    """The problem in the task text that a solution of a file carries."""
    text = solution.provenance.get("task", "")
    advice = "give the problem that was solved: problem=..."
    if not text:
        raise InputError(f"{solution.name!r}: its file holds no task; {advice}")
    try:
        return problem_of_text(text, solution.model, solution.name)
    except FileError as error:
        raise InputError(
            f"{solution.name!r}: its task cannot be read again ({error}); {advice}"
        ) from None

"""Transcription methods, by the class of their options."""

from __future__ import annotations

from collections.abc import Callable

from predyn.errors import InputError
from predyn.problem import Dmoc, Hybrid, Problem, Spline
from predyn.problem.check_contacts import can_be_written_out
from predyn.problem.contact_program import written_out
from predyn.transcribe.program import Program, require_problem, require_valid
from predyn.transcribe.spline import SplineProgram


def _hybrid(problem: Problem) -> Program:
    method = problem.transcription
    assert isinstance(method, Hybrid)
    if method.steps is None:
        from predyn.transcribe.shooting.step_choice import with_chosen_steps

        require_valid(problem)
        problem = with_chosen_steps(problem)
    if str(method.shooting) == "single":  # kernels are loaded on demand
        from predyn.transcribe.shooting.single_shooting import SingleShooting

        return SingleShooting(problem)
    from predyn.transcribe.shooting.hybrid import HybridProgram

    return HybridProgram(problem)


def _dmoc(problem: Problem) -> Program:
    from predyn.transcribe.discrete.dmoc import DmocProgram  # kernels are loaded on demand

    return DmocProgram(problem)


METHODS: dict[type[Spline], Callable[[Problem], Program]] = {
    Spline: SplineProgram,
    Hybrid: _hybrid,
    Dmoc: _dmoc,
}


def register_method(options: type[Spline], program: Callable[[Problem], Program]) -> None:
    """Add a method of your own: the class of its options, and what makes a program of a problem."""
    if not isinstance(options, type) or not issubclass(options, Spline) or not callable(program):
        raise InputError("method: expected a subclass of Spline and a function of a Problem")
    if options in METHODS:
        raise InputError(f"method {options.method!r}: a method with these options already exists")
    METHODS[options] = program


def transcribe(problem: Problem) -> Program:
    """Build the nonlinear program of a problem. Raises an InputError that lists all errors."""
    require_problem(problem)
    if can_be_written_out(problem):
        problem = written_out(problem)
    for kind in type(problem.transcription).__mro__:
        if kind in METHODS:
            return METHODS[kind](problem)
    return SplineProgram(problem)  # which reports invalid options

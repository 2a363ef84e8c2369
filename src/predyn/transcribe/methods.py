"""The method that a problem asks for."""

from __future__ import annotations

from predyn.problem import Hybrid, Problem
from predyn.transcribe.program import Program
from predyn.transcribe.spline import SplineProgram


def transcribe(problem: Problem) -> Program:
    """The nonlinear program of a problem; an InputError lists all that is wrong with it."""
    method = problem.transcription
    if not isinstance(method, Hybrid):
        return SplineProgram(problem)
    if str(method.shooting) == "single":
        from predyn.transcribe.shooting.single_shooting import SingleShooting

        return SingleShooting(problem)
    from predyn.transcribe.shooting.hybrid import HybridProgram  # kernels load when asked for

    return HybridProgram(problem)

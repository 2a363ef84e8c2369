"""What a problem lets terms look at, phase by phase."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from predyn.problem.problem import Hybrid, Problem
from predyn.problem.system import system_of
from predyn.samples import Further, Offer


def offer_in(problem: Problem, p: int) -> Offer:
    """The channels of phase p: those of the method, and the signals and parameters there."""
    method, further = problem.transcription, {}
    if not isinstance(method, Hybrid):
        for signal in problem.signals:
            if exists_in(signal.phases, problem, p):
                size = _sizes(signal.scale, len(signal.components))
                known = Further(tuple(signal.components), signal.unit, size)
                further[f"signal:{signal.name}"] = further[f"rate:{signal.name}"] = known
        for parameter in problem.parameters:
            size = (max(abs(float(parameter.guess)), 1e-9),)
            further[f"parameter:{parameter.name}"] = Further(
                (parameter.name,), parameter.unit, size
            )
    return Offer(system_of(problem, p).model, method.method, further, method.without)


def exists_in(phases: tuple[str, ...] | None, problem: Problem, p: int) -> bool:
    """Whether a list of names of phases (None: all) has phase p."""
    return phases is None or (problem.phases[p].name or f"phase {p + 1}") in phases


def _sizes(scale: ArrayLike, count: int) -> tuple[float, ...]:
    return tuple(np.broadcast_to(np.asarray(scale, float), (count,)).tolist())

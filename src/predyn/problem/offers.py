"""The channels that a problem provides to terms in each phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from predyn.collision.scene import Scene
from predyn.problem.problem import Hybrid, Problem
from predyn.problem.quantities import unit_of
from predyn.problem.system import model_in
from predyn.samples import Further, Offer
from predyn.samples.surroundings import Surroundings


def offer_in(problem: Problem, p: int, anywhere: bool = False) -> Offer:
    """The channels of phase p: those of the method, and its signals and parameters.

    anywhere: include the signals of all phases.
    """
    method, further = problem.transcription, {}
    if not isinstance(method, Hybrid):
        for signal in problem.signals:
            if anywhere or exists_in(signal.phases, problem, p):
                count = len(signal.components)
                bounds = [_sizes(x, count) for x in (signal.lower, signal.upper)]
                fixed = tuple(low == high for low, high in zip(*bounds, strict=True))
                size = _sizes(signal.scale, count)
                known = Further(tuple(signal.components), signal.unit, size, fixed)
                further[f"signal:{signal.name}"] = further[f"rate:{signal.name}"] = known
    durations = [phase.duration for phase in problem.phases]
    for parameter in problem.parameters:
        if isinstance(method, Hybrid) and parameter.name in durations:
            continue
        size = (max(abs(float(parameter.guess)), 1e-9),)
        further[f"parameter:{parameter.name}"] = Further(
            (parameter.name,), unit_of(problem, parameter), size
        )
    around = surroundings_of(problem, p)
    return Offer(model_in(problem, p), method.method, further, method.without, around)


def surroundings_of(problem: Problem, p: int) -> Surroundings | None:
    """The model in the scene of phase p; payloads have no shape."""
    if not isinstance(problem.scene, Scene):
        return None
    from predyn.collision.clearance import Neighbourhood  # few problems have a scene

    scene = problem.scene.in_phase(phase_name(problem, p))
    return Neighbourhood(problem.model, scene, problem.margin)


def exists_in(phases: Sequence[str] | None, problem: Problem, p: int) -> bool:
    """Whether a list of phase names (None: all) includes phase p."""
    return phases is None or phase_name(problem, p) in phases


def phase_name(problem: Problem, p: int) -> str:
    """The given name of phase p, or one made from its number."""
    return problem.phases[p].name or f"phase {p + 1}"


def phase_names(problem: Problem) -> list[str]:
    return [phase_name(problem, p) for p in range(len(problem.phases))]


def name_in(problem: Problem, p: int, name: str) -> str:
    """The name of something in phase p: after that of the phase, if there are several."""
    return name if len(problem.phases) == 1 else f"{phase_name(problem, p)}: {name}"


def _sizes(scale: ArrayLike, count: int) -> tuple[float, ...]:
    return tuple(np.broadcast_to(np.asarray(scale, float), (count,)).tolist())

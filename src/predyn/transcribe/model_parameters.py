"""Which numbers of a phase's model and loads follow the parameters of a problem."""

from __future__ import annotations

from predyn.dynamics.free_numbers import FreeNumber, ModelParameters
from predyn.problem import Problem, system_of
from predyn.problem.quantities import owners
from predyn.transcribe.layout import Components, parameter_size


def model_parameters(problem: Problem, p: int, components: Components) -> ModelParameters | None:
    """The parameters that act on the model or the forces of phase p; None without any."""
    if not any(parameter.quantities for parameter in problem.parameters):
        return None
    system = system_of(problem, p)
    free: list[FreeNumber] = []
    places: list[int] = []
    sizes: list[float] = []
    for parameter in problem.parameters:
        own = []
        for text in parameter.quantities:
            kind = text.split(" of ", 1)[0]
            own += [FreeNumber(kind, i, len(places)) for i in owners(system, text)]
        if own:
            free += own
            places.append(components.direct[f"parameter:{parameter.name}"][0])
            sizes.append(parameter_size(parameter))
    if not free:
        return None
    return ModelParameters(
        problem.model, system.payloads, len(system.forces), tuple(free), tuple(places), tuple(sizes)
    )

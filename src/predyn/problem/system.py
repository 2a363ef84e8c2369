"""Systems as problems state them: what is special about some phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from predyn.dynamics.system import Payload, PhaseSystem, loaded_model
from predyn.errors import unknown_name
from predyn.kernels.forces import ExternalForce
from predyn.model import Limits, Model

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class System:
    """What is special about some phases; None leaves what the problem says.

    payloads    bodies that the mechanism carries, besides what belongs to the model
    forces      external forces; each constant, a given curve (Profile) or a signal's name
    passive     names of the joints without a motor
    limits      limits of position, velocity, acceleration and effort
    jerk_limit  plus and minus this, a number or one for each joint
    """

    payloads: tuple[Payload, ...] = ()
    forces: tuple[ExternalForce, ...] | None = None
    passive: tuple[str, ...] | None = None
    limits: Limits | None = None
    jerk_limit: ArrayLike | None = None


def system_of(problem: Problem, p: int) -> PhaseSystem:
    """The system of phase p, from what the phase and the problem say."""
    own = _own_system(problem, p)
    return PhaseSystem(
        model_in(problem, p),
        tuple(own.payloads),
        tuple(problem.forces if own.forces is None else own.forces),
        tuple(problem.passive if own.passive is None else own.passive),
        own.limits or problem.limits or problem.model.limits,
        problem.jerk_limit if own.jerk_limit is None else own.jerk_limit,
    )


def model_in(problem: Problem, p: int) -> Model:
    """The model with what it carries in phase p."""
    return loaded_model(problem.model, tuple(_own_system(problem, p).payloads))


def _own_system(problem: Problem, p: int) -> System:
    """What is special about phase p; an InputError lists the names there are."""
    name = problem.phases[p].system
    if name is None:
        return System()
    if name not in problem.systems:
        raise unknown_name("system", name, problem.systems)
    return problem.systems[name]

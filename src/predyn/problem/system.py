"""Systems as problems state them: what is special about some phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

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


_KNOWN: WeakKeyDictionary[Problem, dict[str | None, PhaseSystem]] = WeakKeyDictionary()


def system_of(problem: Problem, p: int) -> PhaseSystem:
    """The system of phase p, from what the phase and the problem say; made once."""
    name = problem.phases[p].system
    known = _KNOWN.setdefault(problem, {})
    if name not in known:
        known[name] = _system(problem, name)
    return known[name]


def model_in(problem: Problem, p: int) -> Model:
    """The model with what it carries in phase p; the rest of the problem may be wrong."""
    return loaded_model(problem.model, tuple(_named(problem, problem.phases[p].system).payloads))


def _system(problem: Problem, name: str | None) -> PhaseSystem:
    own = _named(problem, name)
    return PhaseSystem(
        loaded_model(problem.model, tuple(own.payloads)),
        tuple(own.payloads),
        tuple(problem.forces if own.forces is None else own.forces),
        tuple(problem.passive if own.passive is None else own.passive),
        own.limits or problem.limits or problem.model.limits,
        problem.jerk_limit if own.jerk_limit is None else own.jerk_limit,
    )


def _named(problem: Problem, name: str | None) -> System:
    """A system by its name; an InputError lists the names there are."""
    if name is None:
        return System()
    if name not in problem.systems:
        raise unknown_name("system", name, problem.systems)
    return problem.systems[name]

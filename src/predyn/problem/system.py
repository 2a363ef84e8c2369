"""Systems of a problem: payloads, forces, passive joints and limits of some phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from predyn.dynamics.system import Payload, PhaseSystem, loaded_model
from predyn.errors import unknown_name
from predyn.kernels.forces import ExternalForce
from predyn.model import Limits, Model
from predyn.model.parts import inertia_matrix
from predyn.problem.unknowns import freeze_lists

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class System:
    """Properties of the mechanism in some phases; None keeps the value of the problem.

    payloads    bodies that the mechanism carries, in addition to those of the model
    forces      external forces; each constant, a given curve (Profile) or a signal's name
    passive     names of the joints without a motor
    limits      limits of position, velocity, acceleration and effort
    jerk_limit  symmetric limits (plus and minus), one number or one per joint
    """

    payloads: Sequence[Payload] = ()
    forces: Sequence[ExternalForce] | None = None
    passive: Sequence[str] | None = None
    limits: Limits | None = None
    jerk_limit: ArrayLike | None = None

    def __post_init__(self) -> None:
        freeze_lists(self, "payloads", "forces", "passive")


_PLAIN = System()
_LOADED: WeakKeyDictionary[System, tuple[Model, Model]] = (
    WeakKeyDictionary()
)  # model without and with payloads


def system_of(problem: Problem, p: int) -> PhaseSystem:
    """The system of phase p, with the defaults of the problem filled in."""
    own = _named(problem, problem.phases[p].system)
    limits = own.limits or problem.limits or problem.model.limits
    return PhaseSystem(
        model_in(problem, p),
        tuple(_written_out(load) for load in own.payloads),
        tuple(problem.forces if own.forces is None else own.forces),
        tuple(problem.passive if own.passive is None else own.passive),
        Limits(*(np.asarray(x, float) for x in limits)),
        problem.jerk_limit if own.jerk_limit is None else own.jerk_limit,
    )


def model_in(problem: Problem, p: int) -> Model:
    """The model with its payloads in phase p; the rest of the problem need not be valid."""
    own = _named(problem, problem.phases[p].system)
    if not own.payloads:
        return problem.model
    known = _LOADED.get(own)
    if known is None or known[0] is not problem.model:
        known = _LOADED[own] = (problem.model, loaded_model(problem.model, tuple(own.payloads)))
    return known[1]


def _written_out(load: Payload) -> Payload:
    """The payload with its inertia as a full matrix."""
    if load.inertia is None:
        return load
    return replace(load, inertia=inertia_matrix(load.inertia, "payload inertia"))


def _named(problem: Problem, name: str | None) -> System:
    """A system by its name. Raises an InputError that lists the names if it is unknown."""
    if name is None:
        return _PLAIN
    if name not in problem.systems:
        raise unknown_name("system", name, problem.systems)
    return problem.systems[name]

"""Numbers of a problem by name: "stiffness of elbow", "mass of forearm", "force.z of tool".

A free parameter may stand for such numbers, and sensitivities are taken with respect to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from predyn.dynamics.system import Payload
from predyn.errors import InputError, unknown_name
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.problem.system import System

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

AXES = "xyz"
MOMENTS = ("xx", "xy", "yy", "xz", "yz", "zz")  # in the order of model.inertia


class Quantity(NamedTuple):
    """One kind of number: what it belongs to, its unit, how to read and to replace it.

    linear: whether torques are linear in it, all else being equal.
    """

    owner: str  # "link", "joint", "payload" or "force": what the name after "of" refers to
    unit: str  # N m and rad become N and m for prismatic joints
    linear: bool
    value: Callable[[Problem, str], float]
    changed: Callable[[Problem, str, float], Problem]


def split_quantity(problem: Problem, text: Any) -> tuple[Quantity, str]:
    """The kind of a quantity and the name of its owner, from "KIND of NAME"."""
    if not isinstance(text, str) or " of " not in text:
        raise InputError(
            f"quantity: expected text such as 'stiffness of {problem.model.joint_names[0]}', got "
            f"{text!r:.60}"
        )
    kind, name = text.split(" of ", 1)
    if kind not in QUANTITIES:
        raise unknown_name("quantity", kind, QUANTITIES)
    return QUANTITIES[kind], name


def quantity_value(problem: Problem, text: str) -> float:
    """The present value of a quantity."""
    quantity, name = split_quantity(problem, text)
    return float(quantity.value(problem, name))


def with_quantity(problem: Problem, text: str, value: float) -> Problem:
    """The problem with another value of a quantity. Raises ModelError for impossible models."""
    quantity, name = split_quantity(problem, text)
    return quantity.changed(problem, name, value)


def with_parameters(problem: Problem, values: dict[str, float]) -> Problem:
    """The problem with the quantities of its parameters set to values by the parameter's name."""
    for parameter in problem.parameters:
        if parameter.name in values:
            for text in parameter.quantities:
                problem = with_quantity(problem, text, values[parameter.name])
    return problem


# -- the model --------------------------------------------------------------------------------


def _of_model(
    owner: str,
    unit: str,
    linear: bool,
    value: Callable[[Model, str], float],
    changed: Callable[[Model, str, float], Model],
) -> Quantity:
    return Quantity(
        *(owner, unit, linear),
        lambda problem, name: value(problem.model, name),
        lambda problem, name, x: replace(problem, model=changed(problem.model, name, x)),
    )


def _inertial(k: int, unit: str) -> Quantity:
    """One of the ten numbers of a link; the others stay."""

    def changed(model: Model, name: str, x: float) -> Model:
        inertia = model.inertia.copy()
        inertia[model.link_index(name), k] = x
        return replace(model, inertia=inertia)

    return _of_model(
        "link", unit, True, lambda model, name: model.inertia[model.link_index(name), k], changed
    )


def _placed(k: int) -> Quantity:
    """A coordinate of a joint in its parent's link frame."""

    def changed(model: Model, name: str, x: float) -> Model:
        p = model.p[model.joint_index(name)].copy()
        p[k] = x
        return model.with_placement(name, p=p)

    return _of_model(
        "joint", "m", False, lambda model, name: model.p[model.joint_index(name), k], changed
    )


def _per_joint(field: str, unit: str) -> Quantity:
    def changed(model: Model, name: str, x: float) -> Model:
        values = getattr(model, field).copy()
        values[model.joint_index(name)] = x
        return replace(model, **{field: values})

    return _of_model(
        *("joint", unit, True),
        lambda model, name: getattr(model, field)[model.joint_index(name)],
        changed,
    )


def _length(model: Model, name: str) -> float:
    """Distance from the link's origin to the end that Model.with_length moves."""
    j = model.link_index(name)
    ends = [model.p[k] for k in np.flatnonzero(model.parent == j)]
    ends = ends or [frame.p for frame in model.frames if frame.link == j]
    length = float(np.linalg.norm(ends[0])) if ends else 0.0
    model.with_length(name, length or 1.0)  # raises where the end is not unique
    return length


# -- loads ------------------------------------------------------------------------------------


def _with_systems(problem: Problem, change: Callable[[System], System]) -> Problem:
    systems = {name: change(system) for name, system in problem.systems.items()}
    return replace(problem, systems=systems)


def _payloads(problem: Problem, name: str) -> list[Payload]:
    every = [load for system in problem.systems.values() for load in system.payloads]
    found = [load for load in every if load.link == name]
    if not found:
        raise unknown_name("link with a payload", name, dict.fromkeys(x.link for x in every))
    return found


def _with_payload(problem: Problem, name: str, mass: float) -> Problem:
    """All payloads on a link or frame; their inertia scales with the mass."""
    _payloads(problem, name)

    def scaled(load: Payload) -> Payload:
        if load.link != name:
            return load
        inertia = load.inertia
        if inertia is not None:
            inertia = np.asarray(inertia, float) * (mass / load.mass)
        return replace(load, mass=mass, inertia=inertia)

    return _with_systems(
        problem, lambda x: replace(x, payloads=tuple(scaled(load) for load in x.payloads))
    )


def _given(force: ExternalForce, part: str, name: str) -> bool:
    """Whether a force acts on a link with numbers that do not vary."""
    return force.link == name and np.shape(getattr(force, part)) == (3,)


def _forces(problem: Problem, part: str, name: str) -> list[ExternalForce]:
    every = list(problem.forces)
    for system in problem.systems.values():
        every += system.forces or ()
    found = [force for force in every if _given(force, part, name)]
    if not found:
        raise unknown_name(
            f"link with a constant {part}", name, dict.fromkeys(x.link for x in every)
        )
    return found


def _pushed(part: str, k: int, unit: str) -> Quantity:
    """A component of the external forces on a link."""

    def moved(force: ExternalForce, name: str, x: float) -> ExternalForce:
        if not _given(force, part, name):
            return force
        values = np.array(getattr(force, part), float)
        values[k] = x
        pushed: dict[str, Any] = {part: tuple(values)}
        return replace(force, **pushed)

    def changed(problem: Problem, name: str, x: float) -> Problem:
        _forces(problem, part, name)
        problem = replace(problem, forces=tuple(moved(f, name, x) for f in problem.forces))

        def change(system: System) -> System:
            if system.forces is None:
                return system
            return replace(system, forces=tuple(moved(f, name, x) for f in system.forces))

        return _with_systems(problem, change)

    return Quantity(
        *("force", unit, True),
        lambda problem, name: np.asarray(getattr(_forces(problem, part, name)[0], part))[k],
        changed,
    )


QUANTITIES: dict[str, Quantity] = {
    "mass": _of_model(
        *("link", "kg", True),
        lambda model, name: model.inertia[model.link_index(name), 0],
        lambda model, name, x: model.with_mass(name, x),
    ),
    **{f"first_moment.{x}": _inertial(1 + k, "kg m") for k, x in enumerate(AXES)},
    **{f"inertia.{x}": _inertial(4 + k, "kg m^2") for k, x in enumerate(MOMENTS)},
    "length": _of_model(
        "link", "m", False, _length, lambda model, name, x: model.with_length(name, x)
    ),
    **{f"origin.{x}": _placed(k) for k, x in enumerate(AXES)},
    "stiffness": _per_joint("stiffness", "N m/rad"),
    "rest": _per_joint("rest", "rad"),
    "damping": _per_joint("damping", "N m s/rad"),
    "armature": _per_joint("armature", "kg m^2"),
    "coulomb": _per_joint("coulomb", "N m"),
    "payload": Quantity(
        "payload", "kg", True, lambda problem, name: _payloads(problem, name)[0].mass, _with_payload
    ),
    **{f"force.{x}": _pushed("force", k, "N") for k, x in enumerate(AXES)},
    **{f"moment.{x}": _pushed("moment", k, "N m") for k, x in enumerate(AXES)},
}

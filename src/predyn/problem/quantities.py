"""Numbers of a problem by name: "stiffness of elbow", "mass of forearm", "force.z of tool".

A free parameter may stand for such numbers, and sensitivities are taken with respect to them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from predyn.dynamics.free_numbers import AXES, INERTIA, PER_JOINT
from predyn.dynamics.system import Payload, PhaseSystem
from predyn.errors import InputError, ModelWarning, unknown_name
from predyn.kernels.forces import ExternalForce
from predyn.model import PRISMATIC, Model
from predyn.problem.system import System
from predyn.problem.unknowns import Parameter

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


class Quantity(NamedTuple):
    """One kind of number: what it belongs to, its unit, how to read and to replace it."""

    owner: str  # "link", "joint", "payload" or "force": what the name after "of" refers to
    unit: str  # of a revolute joint
    value: Callable[[Problem, str], float]
    change: Callable[[Draft, str, float], None]
    least: float = -np.inf  # below, no model is possible
    slide_unit: str = ""  # of a prismatic joint, if it differs


def split_quantity(problem: Problem, text: Any) -> tuple[Quantity, str]:
    """The kind of a quantity and the name of its owner, from "KIND of NAME"."""
    kind, name = split_text(text, QUANTITIES, f"'stiffness of {problem.model.joint_names[0]}'")
    return QUANTITIES[kind], name


def split_text(text: Any, kinds: Iterable[str], examples: str) -> tuple[str, str]:
    """Kind and name, from "KIND of NAME"."""
    if not isinstance(text, str) or " of " not in text:
        raise InputError(f"quantity: expected text such as {examples}, got {text!r:.60}")
    kind, name = text.split(" of ", 1)
    if kind not in kinds:
        raise unknown_name("quantity", kind, kinds)
    return kind, name


def quantity_value(problem: Problem, text: str) -> float:
    """The present value of a quantity."""
    quantity, name = split_quantity(problem, text)
    return float(quantity.value(problem, name))


def quantity_unit(problem: Problem, text: str) -> str:
    """The unit of a quantity."""
    quantity, name = split_quantity(problem, text)
    model = problem.model
    if quantity.slide_unit and model.kind[model.joint_index(name)] == PRISMATIC:
        return quantity.slide_unit
    return quantity.unit


def unit_of(problem: Problem, parameter: Parameter) -> str:
    """The unit of a parameter: as given, or that of the numbers it stands for."""
    if parameter.unit == "1" and parameter.quantities:
        return quantity_unit(problem, parameter.quantities[0])
    return parameter.unit


def with_quantity(problem: Problem, text: str, value: float) -> Problem:
    """The problem with another value of a quantity. Raises ModelError for impossible models."""
    return with_quantities(problem, [(text, value)])


def with_quantities(problem: Problem, changes: Iterable[tuple[str, float]]) -> Problem:
    """The problem with other values of some quantities.

    A mass scales the first moments and the inertia of its link, except for those that change too.
    """
    draft = Draft(problem)
    for text, value in sorted(changes, key=lambda x: not x[0].startswith("mass of ")):
        quantity, name = split_quantity(problem, text)
        quantity.change(draft, name, float(value))
    return draft.finish()


def with_parameters(problem: Problem, values: Mapping[str, float]) -> Problem:
    """The problem with the quantities of its parameters set to values by the parameter's name."""
    changes = [
        (text, values[parameter.name])
        for parameter in problem.parameters
        if parameter.name in values
        for text in parameter.quantities
    ]
    if not changes:
        return problem
    with warnings.catch_warnings():  # given when the problem's own model was made
        warnings.simplefilter("ignore", ModelWarning)
        return with_quantities(problem, changes)


def at_guesses(problem: Problem) -> Problem:
    """The problem with all quantities at the guesses of their parameters."""
    return with_parameters(problem, {x.name: float(x.guess) for x in problem.parameters})


def owners(system: PhaseSystem, text: str) -> list[int]:
    """Numbers of the links, joints, payloads or forces in a phase that a quantity belongs to."""
    kind, name = text.split(" of ", 1)
    owner = QUANTITIES[kind].owner
    if owner == "link":
        return [system.model.link_index(name)]
    if owner == "joint":
        return [system.model.joint_index(name)]
    if owner == "payload":
        return [i for i, load in enumerate(system.payloads) if load.link == name]
    part = kind.split(".")[0]
    return [i for i, force in enumerate(system.forces) if _given(force, part, name)]


class Draft:
    """A problem whose numbers are being replaced; `finish` checks them together."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.model = problem, problem.model
        self._fields: dict[str, Any] = {}  # of the model
        self.frames = list(problem.model.frames)
        self.systems, self.forces = dict(problem.systems), tuple(problem.forces)

    def field(self, name: str) -> Any:
        """An array of the model, to be changed in place."""
        return self._fields.setdefault(name, getattr(self.model, name).copy())

    def change_systems(self, change: Callable[[System], System]) -> None:
        self.systems = {name: change(system) for name, system in self.systems.items()}

    def finish(self) -> Problem:
        """The problem. Raises ModelError if its model is impossible."""
        fields = dict(self._fields)
        if "p" in fields:
            fields |= {"frames": tuple(self.frames), "dh": None}
        model = replace(self.model, **fields) if fields else self.model
        return replace(self.problem, model=model, systems=self.systems, forces=self.forces)


# -- the model --------------------------------------------------------------------------------


def _mass(draft: Draft, name: str, x: float) -> None:
    """The centre of mass and the radii of gyration stay."""
    model = draft.model
    i = model.link_index(name)
    if not model.inertia[i, 0] > 0.0:
        raise InputError(
            f"mass of {name}: the link is massless, so its inertia cannot be scaled; give it a mass"
        )
    draft.field("inertia")[i] = model.inertia[i] * (x / model.inertia[i, 0])


def _inertial(k: int, unit: str) -> Quantity:
    """One of the ten numbers of a link; the others stay."""

    def change(draft: Draft, name: str, x: float) -> None:
        draft.field("inertia")[draft.model.link_index(name), k] = x

    least = 0.0 if INERTIA[k] in ("inertia.xx", "inertia.yy", "inertia.zz") else -np.inf
    return Quantity("link", unit, _row(k), change, least)


def _row(k: int) -> Callable[[Problem, str], float]:
    return lambda problem, name: problem.model.inertia[problem.model.link_index(name), k]


def _moved_link(model: Model, joint: str) -> int:
    """Number of the link that an independent joint moves."""
    model.joint_index(joint)  # raises an InputError that lists the joints
    return model.expanded.joint_index(joint)


def _placed(k: int) -> Quantity:
    """A coordinate of a joint in its parent's link frame."""

    def change(draft: Draft, name: str, x: float) -> None:
        draft.field("p")[_moved_link(draft.model, name), k] = x

    def value(problem: Problem, name: str) -> float:
        return float(problem.model.p[_moved_link(problem.model, name), k])

    return Quantity("joint", "m", value, change)


def _per_joint(field: str, unit: str, slide_unit: str) -> Quantity:
    def change(draft: Draft, name: str, x: float) -> None:
        draft.field(field)[draft.model.joint_index(name)] = x

    def value(problem: Problem, name: str) -> float:
        return float(getattr(problem.model, field)[problem.model.joint_index(name)])

    least = -np.inf if field in ("rest", "stiffness") else 0.0
    return Quantity("joint", unit, value, change, least, slide_unit)


def _length(problem: Problem, name: str) -> float:
    """Distance from the link's origin to the end that Model.with_length moves."""
    model: Model = problem.model
    j = model.link_index(name)
    ends = [model.p[k] for k in np.flatnonzero(model.parent == j)]
    ends = ends or [frame.p for frame in model.frames if frame.link == j]
    length = float(np.linalg.norm(ends[0])) if ends else 0.0
    model.with_length(name, length or 1.0)  # raises where the end is not unique
    return length


def _lengthen(draft: Draft, name: str, x: float) -> None:
    model = draft.model
    longer = model.with_length(name, x)
    p = draft.field("p")
    moved = (longer.p != model.p).any(axis=1)
    p[moved] = longer.p[moved]
    for k, (old, new) in enumerate(zip(model.frames, longer.frames, strict=True)):
        if (old.p != new.p).any():
            draft.frames[k] = new


# -- loads ------------------------------------------------------------------------------------


def _payloads(problem: Problem, name: str) -> list[Payload]:
    every = [load for system in problem.systems.values() for load in system.payloads]
    found = [load for load in every if load.link == name]
    if not every:
        raise InputError(
            f"payload of {name}: the problem has no payloads; give a phase a system with one"
        )
    if not found:
        raise unknown_name("link with a payload", name, dict.fromkeys(x.link for x in every))
    return found


def _with_payload(draft: Draft, name: str, mass: float) -> None:
    """All payloads on a link or frame; their inertia scales with the mass."""
    for load in _payloads(draft.problem, name):
        if load.inertia is not None and not load.mass > 0.0:
            raise InputError(
                f"payload of {name}: it has inertia but no mass, so its inertia cannot be scaled"
            )

    def scaled(load: Payload) -> Payload:
        if load.link != name:
            return load
        inertia = load.inertia
        if inertia is not None:
            inertia = np.asarray(inertia, float) * (mass / load.mass)
        return replace(load, mass=mass, inertia=inertia)

    draft.change_systems(lambda x: replace(x, payloads=tuple(scaled(load) for load in x.payloads)))


def _given(force: ExternalForce, part: str, name: str) -> bool:
    """Whether a force acts on a link with numbers that do not vary."""
    return force.link == name and np.shape(getattr(force, part)) == (3,)


def _forces(problem: Problem, part: str, name: str) -> list[ExternalForce]:
    every = list(problem.forces)
    for system in problem.systems.values():
        every += system.forces or ()
    found = [force for force in every if _given(force, part, name)]
    if not every:
        raise InputError(f"{part} of {name}: the problem has no external forces; add one")
    if any(force.link == name for force in every) and not found:
        raise InputError(f"{part} of {name}: it varies over time; a constant {part} is needed")
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

    def change(draft: Draft, name: str, x: float) -> None:
        _forces(draft.problem, part, name)
        draft.forces = tuple(moved(f, name, x) for f in draft.forces)

        def in_system(system: System) -> System:
            if system.forces is None:
                return system
            return replace(system, forces=tuple(moved(f, name, x) for f in system.forces))

        draft.change_systems(in_system)

    def value(problem: Problem, name: str) -> float:
        return float(np.asarray(getattr(_forces(problem, part, name)[0], part))[k])

    return Quantity("force", unit, value, change)


_JOINT_UNITS = {
    "stiffness": ("N m/rad", "N/m"),
    "rest": ("rad", "m"),
    "damping": ("N m s/rad", "N s/m"),
    "coulomb": ("N m", "N"),
    "armature": ("kg m^2", "kg"),
}
QUANTITIES: dict[str, Quantity] = {
    "mass": Quantity("link", "kg", _row(0), _mass, 0.0),
    **{INERTIA[k]: _inertial(k, "kg m" if k < 4 else "kg m^2") for k in range(1, 10)},
    "length": Quantity("link", "m", _length, _lengthen, 0.0),
    **{f"origin.{x}": _placed(k) for k, x in enumerate(AXES)},
    **{name: _per_joint(name, *_JOINT_UNITS[name]) for name in PER_JOINT},
    "payload": Quantity(
        "payload",
        "kg",
        lambda problem, name: _payloads(problem, name)[0].mass,
        _with_payload,
        0.0,
    ),
    **{f"force.{x}": _pushed("force", k, "N") for k, x in enumerate(AXES)},
    **{f"moment.{x}": _pushed("moment", k, "N m") for k, x in enumerate(AXES)},
}

"""Quantities of the whole mechanism along a motion: centre of mass, momentum, energy, power."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from predyn.solution.parts import Floats

if TYPE_CHECKING:
    from predyn.kernels.forces import ExternalForce
    from predyn.model import Model

States = tuple[Floats, Floats, Floats]  # q, v, a, each (K, n)
AXES = ("x", "y", "z")


class Quantity(NamedTuple):
    """A quantity that terms cannot look at: (K, components) for q, v, a and forces."""

    values: Callable[[Model, States, list[ExternalForce]], Floats]
    unit: str
    components: tuple[str, ...] = ()  # empty: one for each joint


def _centroidal(field: str) -> Callable[[Model, States, list[ExternalForce]], Floats]:
    def values(model: Model, states: States, forces: list[ExternalForce]) -> Floats:
        from predyn.dynamics.momentum import spatial_momentum

        return np.asarray(getattr(spatial_momentum(model, *states), field))

    return values


def _linear_momentum(model: Model, states: States, forces: list[ExternalForce]) -> Floats:
    from predyn.dynamics.momentum import spatial_momentum

    motion = spatial_momentum(model, *states)
    return np.asarray(motion.mass * motion.velocity)


def _kinetic(model: Model, states: States, forces: list[ExternalForce]) -> Floats:
    from predyn.dynamics.energy import kinetic_energy

    return np.asarray(kinetic_energy(model, *states[:2])[:, None])


def _potential(model: Model, states: States, forces: list[ExternalForce]) -> Floats:
    from predyn.dynamics.energy import potential_energy

    return np.asarray(potential_energy(model, states[0])[:, None])


def _energy(model: Model, states: States, forces: list[ExternalForce]) -> Floats:
    return _kinetic(model, states, forces) + _potential(model, states, forces)


def _power(model: Model, states: States, forces: list[ExternalForce]) -> Floats:
    from predyn.dynamics.rnea import inverse_dynamics

    return np.asarray(inverse_dynamics(model, *states, forces=forces) * states[1])


QUANTITIES = {
    "power": Quantity(_power, "W"),
    "kinetic_energy": Quantity(_kinetic, "J", ("kinetic_energy",)),
    "potential_energy": Quantity(_potential, "J", ("potential_energy",)),
    "energy": Quantity(_energy, "J", ("energy",)),
    "com": Quantity(_centroidal("com"), "m", AXES),
    "com_velocity": Quantity(_centroidal("velocity"), "m/s", AXES),
    "com_acceleration": Quantity(_centroidal("acceleration"), "m/s^2", AXES),
    "linear_momentum": Quantity(_linear_momentum, "N s", AXES),
    "angular_momentum": Quantity(_centroidal("angular_momentum"), "N m s", AXES),
    "angular_momentum_rate": Quantity(_centroidal("angular_momentum_rate"), "N m", AXES),
}

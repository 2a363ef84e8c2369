"""What moves in a phase: the mechanism, what it carries, what acts on it, what it may do."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from predyn.kernels.forces import ExternalForce
from predyn.model import Limits, Model


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body carried by a link, as in Model.attach_payload.

    link     name of the link, or of a frame fixed to it
    mass     kg
    point    (3,) m, its centre of mass in the axes of `link`
    inertia  (3, 3), or the three on the diagonal, kg m^2 about its centre of mass; None: a point
             mass
    """

    link: str
    mass: float
    point: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike | None = None


def loaded_model(model: Model, payloads: tuple[Payload, ...]) -> Model:
    """The model with everything it carries."""
    for load in payloads:
        model = model.attach_payload(load.link, load.mass, load.point, load.inertia)
    return model


@dataclass(frozen=True, eq=False)
class PhaseSystem:
    """A system with nothing left open: that of one phase."""

    model: Model  # with its payloads
    payloads: tuple[Payload, ...]
    forces: tuple[ExternalForce, ...]
    passive: tuple[str, ...]
    limits: Limits
    jerk_limit: ArrayLike | None

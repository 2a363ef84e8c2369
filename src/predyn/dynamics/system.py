"""The system of a phase: the mechanism, its payloads, external forces, motors and limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.kernels.forces import ExternalForce
from predyn.model import Limits, Model

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body carried by a link, as in Model.attach_payload.

    link     name of the link, or of a frame fixed to it
    mass     kg
    point    (3,) m, centre of mass in the axes of `link`
    inertia  (3, 3), or its diagonal (3,), kg m^2 about the centre of mass; None: a point mass
    """

    link: str
    mass: float
    point: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike | None = None


def loaded_model(model: Model, payloads: tuple[Payload, ...]) -> Model:
    """The model with all payloads attached."""
    for load in payloads:
        model = model.attach_payload(load.link, load.mass, load.point, load.inertia)
    return model


def limits_by_kind(limits: Limits, jerk_limit: ArrayLike | None) -> dict[str, Floats]:
    """Lower and upper bounds (n, 2) of each kind."""
    found = {kind: np.array(bounds, float) for kind, bounds in limits._asdict().items()}
    jerk = jerk_limits(jerk_limit, len(limits.position))
    if jerk is not None:
        found["jerk"] = np.stack([-jerk, jerk], axis=1)
    return found


def jerk_limits(given: ArrayLike | None, n: int) -> Floats | None:
    """One for each joint (n,), if there are any."""
    return None if given is None else np.broadcast_to(np.asarray(given, float), (n,)).copy()


@dataclass(frozen=True, eq=False)
class PhaseSystem:
    """The complete system of one phase, without defaults to fill in."""

    model: Model  # payloads included
    payloads: tuple[Payload, ...]
    forces: tuple[ExternalForce, ...]
    passive: tuple[str, ...]
    limits: Limits
    jerk_limit: ArrayLike | None

"""External forces along a motion, added up for each link or frame that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.solution.parts import Floats

if TYPE_CHECKING:
    from predyn.kernels.forces import ExternalForce
    from predyn.model import Model
    from predyn.solution.solution import Solution


def loaded_frames(solution: Solution) -> list[str]:
    """Names of the links and frames on which a force acts in some phase."""
    if solution.systems:
        names = [force.link for system in solution.systems for force in system.forces]
    else:
        names = [force["link"] for force in solution.forces]
    return list(dict.fromkeys(names))


def external_load(model: Model, frame: str, q: Floats, forces: list[ExternalForce]) -> Floats:
    """Moment about the origin of the frame, and force (K, 6), along world axes."""
    from predyn.dynamics.kinematics import frame_kinematics

    R, out = frame_kinematics(model, frame, q).R, np.zeros((len(q), 6))
    for load in forces:
        if load.link != frame:
            continue
        given: tuple[Any, Any] = (load.force, load.moment)  # numbers, not names of signals
        force, moment = (np.broadcast_to(x, (len(q), 3)) for x in given)
        if load.frame == "link":
            force, moment = (np.einsum("kij,kj->ki", R, x) for x in (force, moment))
        arm = R @ np.asarray(load.point, float)
        out += np.concatenate((moment + np.cross(arm, force), force), axis=1)
    return out

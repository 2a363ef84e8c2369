"""Arrows of external forces and moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.curves.profile import Profile
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.solution import Solution
from predyn.solution.evaluation import forces_in, parts_of
from predyn.solution.ground import Sole, feet_of, ground_loads, touches_ground
from predyn.view.solids import Floats

FORCES, AT_POINTS = "Forces", "Forces at points"
SMALL = 0.01  # of the largest force or moment: less is not drawn where it changes
UNITS = {"force": "N", "moment": "N m"}


class Arrow(NamedTuple):
    """A constant load on a link: where it acts, and a vector as long as it is drawn."""

    kind: str  # "force" or "moment"
    label: str
    link: int
    point: Floats
    vector: Floats  # m, world axes if `world`, else link axes
    world: bool


class MovingArrow(NamedTuple):
    """A load that changes: its arrow in each frame, world axes; NaN where none is."""

    kind: str
    labels: list[str]
    feet: Floats  # (F, 3)
    tips: Floats
    option: str = FORCES  # by which it is switched on and off
    thin: bool = False

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(F,) whether there is an arrow."""
        return np.asarray(np.isfinite(self.tips).all(axis=1))


def ground_arrows(solution: Solution, times: Floats) -> list[MovingArrow]:
    """Forces of the ground, 1 m long for one body weight: on each foot, and on each point."""
    if not touches_ground(solution):
        return []
    weight, model = solution.model.weight, solution.model
    points = [Sole(x.name, x.name, (x.name,)) for x in model.contact_points]
    arrows = []
    for soles, option in ((feet_of(model), FORCES), (points, AT_POINTS)):
        thin = option == AT_POINTS
        for load in ground_loads(solution, times, soles):
            size = np.linalg.norm(load.force, axis=1) / weight
            seen = (size > SMALL) & load.touching
            if seen.any():
                tips = np.where(seen[:, None], load.pressure + load.force / weight, np.nan)
                labels = ["" if thin else f"{x:.2f} BW" for x in size]
                arrows.append(MovingArrow("force", labels, load.pressure, tips, option, thin))
    return arrows


def forces_over(solution: Solution, times: Floats) -> list[ExternalForce]:
    """External forces in numbers: (3,) where one acts alike throughout, else (F, 3) at the times,
    NaN in phases that do not have it. Those of the ground are left out.
    """
    points = {x.name for x in solution.model.contact_points} if touches_ground(solution) else set()
    systems = [solution.system(k) for k in range(len(solution.curves))]
    keys = [[_key(force) for force in system.forces] for system in systems]
    common = [key for key in keys[0] if key and all(key in other for other in keys)]
    found = [f for f, key in zip(systems[0].forces, keys[0], strict=True) if key in common]
    for part in parts_of(solution, times):
        for force, key in zip(forces_in(solution, part), keys[part.phase], strict=True):
            if key not in common and force.link not in points:
                vector, moment = (np.full((len(times), 3), np.nan) for _ in range(2))
                vector[part.rows] = np.asarray(force.force)
                moment[part.rows] = np.asarray(force.moment)
                found.append(replace(force, force=vector, moment=moment))
    return found


def _key(force: ExternalForce) -> tuple[object, ...] | None:
    """What tells constant forces apart; None for one that changes."""
    values = force.force, force.moment, force.point
    if any(isinstance(value, str | Profile) for value in values):
        return None
    return (force.link, force.frame, *(tuple(np.asarray(x, float).tolist()) for x in values))


def arrows_of(
    model: Model, forces: Sequence[ExternalForce], length: float, R: Floats, p: Floats
) -> tuple[list[Arrow], list[MovingArrow]]:
    """Loads that are not zero; the largest force and the largest moment have this length.

    R, p: poses (n, F, ...) of the links.
    """
    arrows, moving = [], []
    for kind, unit in UNITS.items():
        vectors = [np.asarray(getattr(f, kind), float) for f in forces]
        sizes = [np.linalg.norm(vector, axis=-1) for vector in vectors]
        largest = max((float(np.nanmax(size)) for size in sizes), default=0.0)
        for f, vector, size in zip(forces, vectors, sizes, strict=True):
            if not np.any(size > 0.0):
                continue
            frame, world = model.frame(f.link), f.frame == "world"
            drawn = (vector if world else vector @ frame.R.T) * (length / largest)
            point = frame.p + frame.R @ np.asarray(f.point, dtype=float)
            if vector.ndim == 1:
                label = f"{size:.4g} {unit}"
                arrows.append(Arrow(kind, label, frame.link, point, drawn, world))
                continue
            feet = R[frame.link] @ point + p[frame.link]
            turned = drawn if world else np.einsum("fij,fj->fi", R[frame.link], drawn)
            seen = np.where((size > SMALL * largest)[:, None], turned, np.nan)
            labels = [f"{x:.3g} {unit}" for x in size]
            moving.append(MovingArrow(kind, labels, feet, feet + seen))
    return arrows, moving

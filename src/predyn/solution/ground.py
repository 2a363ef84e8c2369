"""Forces of the ground along a motion: on each patch, on each foot, and where they act.

A foot is a link with contact points, together with links of its own that have some, such as the
forefoot. Only the analysis of gait distinguishes left and right feet, by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.solution.evaluation import forces_in, parts_of
from predyn.solution.parts import Floats

if TYPE_CHECKING:
    from predyn.solution.solution import Solution

NEAR = 1e-3  # m: points that touch are on the ground
LIGHT = 1e-4  # of body weight: below, the centre of pressure is that of the touching points


class GroundPlane(NamedTuple):
    """What contact points touch: see predyn.problem.Ground."""

    friction: float
    cone: str  # "pyramid" or "cone"
    slope: float
    height: float  # m
    steps: tuple[tuple[float, float], ...] = ()  # (x, height) m, from x on

    @property
    def lowest(self) -> float:
        """m."""
        return min(self.height, *(height for _, height in self.steps), self.height)


class Sole(NamedTuple):
    """A foot or a patch: contact points that touch the ground together."""

    name: str  # of the link, or the patch
    link: str
    points: tuple[str, ...]


class GroundLoad(NamedTuple):
    """The force of the ground on a sole over time, world axes."""

    sole: Sole
    t: Floats  # (K,) s
    touching: NDArray[np.bool_]  # (K,) whether any of its points touches
    force: Floats  # (K, 3) N
    pressure: Floats  # (K, 3) m, the centre of pressure, on the ground; NaN where nothing touches
    moment: Floats  # (K,) N m about the vertical through the centre of pressure


def touches_ground(solution: Solution) -> bool:
    """Whether any phase has forces on contact points."""
    return bool(_touching_points(solution))


def patches_as_soles(model: Model) -> list[Sole]:
    links = {point: model.link_names[model.frame(point).link] for point in _names(model)}
    return [Sole(patch, links[points[0]], points) for patch, points in model.patches.items()]


def feet_of(model: Model) -> list[Sole]:
    """Links with contact points, each with those of the links that it carries directly."""
    owners: dict[int, list[str]] = {}
    with_points = {model.frame(point).link for point in _names(model)}
    for point in _names(model):
        link = model.frame(point).link
        above = _carrier(model, link)
        while above in with_points:
            link, above = above, _carrier(model, above)
        owners.setdefault(link, []).append(point)
    return [Sole(model.link_names[link], model.link_names[link], tuple(points))
            for link, points in owners.items()]  # fmt: skip


def _carrier(model: Model, link: int) -> int:
    """The first link with mass that carries this one; -1: the world."""
    above = int(model.parent[link])
    while above >= 0 and not model.inertia[above, 0] > 0.0:
        above = int(model.parent[above])
    return above


def ground_loads(
    solution: Solution,
    t: Floats,
    soles: Sequence[Sole] | None = None,
    phases: NDArray[np.int64] | None = None,
) -> list[GroundLoad]:
    """The forces of the ground on soles (default: feet) at times t (K,), or in given phases."""
    from predyn.dynamics.kinematics import frame_kinematics

    model, ground = solution.model, plane_of(solution)
    soles = feet_of(model) if soles is None else soles
    count = len(t)
    shape = (len(soles), count)
    force, arm, moment = np.zeros((*shape, 3)), np.zeros((*shape, 3)), np.zeros((*shape, 3))
    middle, number = np.zeros((*shape, 3)), np.zeros(shape)
    for part in parts_of(solution, t, phases):
        acting = forces_in(solution, part)
        rows = np.flatnonzero(part.rows)
        q = _positions(solution, part.phase, part.s)
        for k, sole in enumerate(soles):
            for name in dict.fromkeys(x.link for x in acting if x.link in sole.points):
                p = frame_kinematics(model, name, q).p
                middle[k, rows] += p
                number[k, rows] += 1.0
                for load in acting:
                    if load.link == name:
                        pushed = np.broadcast_to(np.asarray(load.force, float), (len(rows), 3))
                        force[k, rows] += pushed
                        moment[k, rows] += np.cross(p, pushed)
    weight = model.weight
    found = []
    for k, sole in enumerate(soles):
        touching = number[k] > 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = middle[k] / number[k][:, None]
            flat = np.abs(centre[:, 2] - ground.height) < NEAR
            level = np.where(flat, ground.height, centre[:, 2])  # of a step, or a seat
            normal = force[k, :, 2]
            x = (level * force[k, :, 0] - moment[k, :, 1]) / normal
            y = (level * force[k, :, 1] + moment[k, :, 0]) / normal
            pressed = np.stack([x, y], axis=1)
        loaded = normal > LIGHT * weight
        arm[k, :, :2] = np.where(loaded[:, None], pressed, centre[:, :2])
        arm[k, :, 2] = np.where(touching, level, np.nan)
        about = moment[k, :, 2] - arm[k, :, 0] * force[k, :, 1] + arm[k, :, 1] * force[k, :, 0]
        about = np.where(touching, about, 0.0)
        found.append(GroundLoad(sole, t, touching, force[k], arm[k], about))
    return found


def plane_of(solution: Solution) -> GroundPlane:
    """The ground of the motion; an InputError if nothing touches it."""
    if not touches_ground(solution):
        raise InputError(
            f"{solution.name!r} has no contacts: no force of the ground acts on it; state contacts "
            "in the phases of its problem"
        )
    return solution.ground or GroundPlane(np.inf, "cone", 0.0, 0.0)  # a file without it


def _names(model: Model) -> list[str]:
    return [point.name for point in model.contact_points]


def _touching_points(solution: Solution) -> set[str]:
    points = set(_names(solution.model))
    return {
        force.link
        for system in solution.systems
        for force in system.forces
        if force.link in points and isinstance(force.force, str)
    }


def _positions(solution: Solution, phase: int, s: Floats) -> Floats:
    from predyn.curves.bspline import BSpline

    curve = solution.curves[phase]
    spline = BSpline(curve.degree, curve.knots)
    return np.asarray(spline.evaluate(curve.control, s, curve.duration, 0)[0])

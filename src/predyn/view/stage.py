"""The mechanism in space over time: link poses, its bodies, paths of the ends, first view.

In world axes and SI units, at equal time steps; the page interpolates between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from predyn.dynamics.kinematics import frame_kinematics
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.model.couplings import joint_positions
from predyn.solution import Solution
from predyn.solution.ground import GroundPlane, plane_of, touches_ground
from predyn.view.arrows import Arrow, MovingArrow, arrows_of, forces_over, ground_arrows
from predyn.view.bodies import (
    Bar,
    End,
    bare_links,
    base_solids,
    ends_of,
    floating_chain,
    link_solids,
    skeleton,
)
from predyn.view.goals import Goal, goals_of
from predyn.view.payloads import payload_solids
from predyn.view.sight import TURNS, turn_to_see
from predyn.view.solids import Floats, Solid, sphere_points
from predyn.view.surroundings import (
    Surroundings,
    ground_height,
    nothing_around,
    plates,
    surroundings_of,
)

FRAMES_FEW, FRAMES_MANY, FEW_JOINTS = 121, 61, 12
MOST_PATHS = 6
ASIDE = 0.3  # m of steps beyond the motion
WEIGHT = 0.35  # length of a body weight over the height of the motion
ARROW = 0.1  # length of the largest force over the diagonal of the box around the motion
FLAT = 1e-3  # a motion this thin, relative to its size, is planar
DIRECTIONS = 160  # in which the extent of a motion is measured
TRAVELS = 0.35  # of the radius: a mechanism that moves as far can be followed
LOW = 0.2  # of the radius: a mechanism whose lowest point is this near height 0 is on the ground


@dataclass(frozen=True, eq=False)
class View:
    """Where to look from: angles about the up axis, and the box that holds the motion."""

    up: Floats
    east: Floats  # the horizontal axes from which azimuth counts
    north: Floats
    azimuth: float
    elevation: float
    planar: bool
    front: float  # azimuth of the view toward the plane that holds most of the motion
    centre: Floats
    radius: float
    half: Floats  # half width and height of the motion on the screen, m
    points: Floats  # (P, 3) the outermost points of all that is to be seen

    @property
    def toward(self) -> Floats:
        """Unit vector from the mechanism to the eye."""
        level = np.cos(self.azimuth) * self.east + np.sin(self.azimuth) * self.north
        return np.asarray(np.cos(self.elevation) * level + np.sin(self.elevation) * self.up)

    @property
    def right(self) -> Floats:
        return np.asarray(-np.sin(self.azimuth) * self.east + np.cos(self.azimuth) * self.north)


class Follow(NamedTuple):
    """What a camera needs that follows a mechanism which travels."""

    path: Floats  # (F, 3) m, of the centre of mass
    points: Floats  # (P, 3) outermost points of the bodies, relative to it


@dataclass(frozen=True, eq=False)
class Stage:
    """A motion laid out in space; F frames at equal time steps."""

    model: Model  # with every joint independent
    times: Floats  # (F,)
    R: Floats  # (n, F, 3, 3) of all links, then of moving obstacles
    p: Floats  # (n, F, 3)
    q: Floats  # (F, n) of all joints, also those that follow others
    bars: list[Bar]
    solids: list[Solid]
    ends: list[End]
    paths: list[Floats]  # (F, 3) of each end
    arrows: list[Arrow]
    moving: list[MovingArrow]
    goals: list[Goal]
    view: View
    follow: Follow | None
    level: float  # m, height of the lowest point, or of the ground
    ground: bool  # whether the mechanism stands on the ground or moves just above it
    normal: Floats  # of the ground
    among: bool  # whether obstacles of a scene are around

    def placed(self, link: int, points: Floats) -> Floats:
        """Link-fixed points (..., 3) over time, (..., F, 3)."""
        return placed(self.R, self.p, link, points)


def placed(R: Floats, p: Floats, link: int, points: Floats) -> Floats:
    """Points (..., 3) of a link (-1: the world) with poses (n, F, ...), over time: (..., F, 3)."""
    points = np.asarray(points, float)[..., None, :]
    if link < 0:
        return np.broadcast_to(points, (*points.shape[:-2], R.shape[1], 3))
    return np.asarray(np.einsum("fij,...fj->...fi", R[link], points) + p[link])


def set_stage(solution: Solution, times: Floats | None = None) -> Stage:
    """The motion in space; it must be finite. times: default, equal steps over the motion."""
    model = solution.model
    if times is None:
        times = np.linspace(0.0, solution.duration, frame_count(model))
    within = np.clip(times, 0.0, solution.duration)
    q, forces = solution.channel("q", within), forces_over(solution, within)
    goals, carried = goals_of(solution), payload_solids(solution)
    plane = plane_of(solution) if touches_ground(solution) else None
    pushes, around = ground_arrows(solution, within), surroundings_of(solution, within)
    return lay_out(model, times, q, forces, goals, carried, pushes, plane, around)


def frame_count(model: Model) -> int:
    return FRAMES_FEW if model.n <= FEW_JOINTS else FRAMES_MANY


def lay_out(
    model: Model,
    times: Floats,
    q: Floats,
    forces: Sequence[ExternalForce] = (),
    goals: Sequence[Goal] = (),
    carried: Sequence[Solid] = (),
    pushes: Sequence[MovingArrow] = (),
    plane: GroundPlane | None = None,
    around: Surroundings | None = None,
) -> Stage:
    """A finite motion, given at equal time steps, in space; forces as `forces_over` gives them.

    pushes: arrows of `ground_arrows`, where a body weight is 1 m long; plane: what it stands on;
    around: what it must not touch.
    """
    q, model = joint_positions(model, q), model.expanded
    poses = [frame_kinematics(model, name, q) for name in model.link_names]
    R, p = np.stack([pose.R for pose in poses]), np.stack([pose.p for pose in poses])
    around = around or nothing_around(len(times))
    ends = ends_of(model)
    paths = [R[end.link] @ end.point + p[end.link] for end in ends]
    travel = [float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()) for path in paths]
    shown = sorted(sorted(range(len(ends)), key=lambda k: -travel[k])[:MOST_PATHS])
    seen = [j for j in range(model.n) if j not in bare_links(model)]
    points = np.concatenate([p[seen].reshape(-1, 3), *paths])
    size = 0.5 * float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    bars = skeleton(model, q, ends, size)
    solids = [*link_solids(model, bars, size), *carried, *around.solids]
    R, p = np.concatenate([R, around.R]), np.concatenate([p, around.p])
    up, _, _ = level_axes(model)
    cloud, lowest = _swept(solids, R, p, up, points)
    floating = bool(floating_chain(model))
    near = abs(lowest) <= LOW * size
    level = 0.0 if floating and near else min(0.0, lowest)
    solids += base_solids(model, solids, up, level)
    if not floating:
        cloud, lowest = _swept(solids, R, p, up, points)
        level, near = min(level, lowest), lowest >= -LOW * size
    length = ARROW * float(np.linalg.norm(np.ptp(cloud, axis=0)))
    arrows, moving = arrows_of(model, forces, length, R, p)
    for arrow in arrows:
        turned = arrow.vector if arrow.world else R[arrow.link] @ arrow.vector
        tips = R[arrow.link] @ arrow.point + p[arrow.link] + turned
        cloud = np.concatenate([cloud, tips])
    for each in moving:
        cloud = np.concatenate([cloud, each.tips[each.seen]])
    height = WEIGHT * float(np.ptp(cloud @ up))
    for each in pushes:
        moving.append(each._replace(tips=each.feet + height * (each.tips - each.feet)))
    if plane is not None:
        level, near = plane.lowest, True
        solids += _stairs(plane, cloud)
    floor = ground_height(around.planes, up)
    if floor is not None:
        level, near = floor, True
    cloud = np.concatenate([cloud, *(goal.p[None] for goal in goals)])
    view = first_view(model, cloud, points, np.concatenate(paths), around.solids)
    solids += plates(around.planes, up, view.centre, view.radius)
    return Stage(
        model, times, R, p, q, bars, solids,
        [ends[k] for k in shown], [paths[k] for k in shown], arrows, moving, list(goals),
        view, followed(model, R, p, solids, view.radius), level, bool(near and model.gravity.any()),
        up if plane is None else np.array([0.0, 0.0, 1.0]), bool(around.solids or around.planes),
    )  # fmt: skip


def _swept(
    solids: Sequence[Solid], R: Floats, p: Floats, up: Floats, others: Floats
) -> tuple[Floats, float]:
    """Points around all that moving solids pass through, others too; the lowest one's height."""
    cloud, lowest = [others], [float((others @ up).min())]
    for solid in solids:
        cloud.append(placed(R, p, solid.link, _corners(solid)).reshape(-1, 3))
        outline, radius = solid.outline
        lowest.append(float((placed(R, p, solid.link, outline) @ up).min()) - radius)
    return np.concatenate(cloud), min(lowest)


def _stairs(plane: GroundPlane, cloud: Floats) -> list[Solid]:
    """Blocks that reach from the lowest part of the ground to its steps."""
    low, high = cloud.min(axis=0) - ASIDE, cloud.max(axis=0) + ASIDE
    starts = [-np.inf, *(x for x, _ in plane.steps), np.inf]
    blocks = []
    for k, height in enumerate([plane.height, *(z for _, z in plane.steps)]):
        left, right = max(starts[k], low[0]), min(starts[k + 1], high[0])
        if height > plane.lowest and right > left:
            size = (right - left, high[1] - low[1], height - plane.lowest)
            middle = (left + right, low[1] + high[1], height + plane.lowest)
            place = 0.5 * np.array(middle)
            blocks.append(Solid(-1, "box", size, np.eye(3), place, "base"))
    return blocks


def _corners(solid: Solid) -> Floats:
    """(8, 3) of the box around it, in link axes."""
    outline, radius = solid.outline
    low, high = outline.min(axis=0) - radius, outline.max(axis=0) + radius
    return np.asarray(np.where(np.array(list(np.ndindex(2, 2, 2))), high, low))


def followed(
    model: Model, R: Floats, p: Floats, solids: Sequence[Solid], radius: float
) -> Follow | None:
    """The centre of mass and what is around it, if every link moves far."""
    mass, moment = model.inertia[:, 0], model.inertia[:, 1:4]
    if not mass.sum() > 0.0:
        return None
    own = slice(0, len(mass))  # without moving obstacles
    weighted = np.einsum("jfik,jk->fi", R[own], moment) + np.einsum("j,jfi->fi", mass, p[own])
    path = weighted / mass.sum()
    drawn = sorted({solid.link for solid in solids if solid.link >= 0})
    if np.linalg.norm(np.ptp(p[drawn], axis=1), axis=1).min() < TRAVELS * radius:
        return None
    around = [
        (placed(R, p, solid.link, _corners(solid)) - path).reshape(-1, 3)
        for solid in solids
        if solid.link >= 0
    ]
    return Follow(path, outermost(np.concatenate(around)))


def outermost(cloud: Floats) -> Floats:
    """Those of points (P, 3) that lie farthest out in some direction."""
    directions = sphere_points(DIRECTIONS)
    return np.asarray(cloud[np.unique(np.argmax(cloud @ directions.T, axis=0))])


def level_axes(model: Model) -> tuple[Floats, Floats, Floats]:
    """Unit vectors: up, against gravity (z without), and two level ones, right-handed after it."""
    g = float(np.linalg.norm(model.gravity))
    up = -model.gravity / g if g > 0.0 else np.array([0.0, 0.0, 1.0])
    east = np.eye(3)[(int(np.argmax(np.abs(up))) + 1) % 3]
    east = east - (east @ up) * up
    east /= np.linalg.norm(east)
    return up, east, np.cross(up, east)


def first_view(
    model: Model, cloud: Floats, moving: Floats, ends: Floats, solids: Sequence[Solid]
) -> View:
    """Up against gravity (z without); toward the plane that holds most of the motion, from a side
    where obstacles among the solids hide little of the points `ends` (P, 3)."""
    up, east, north = level_axes(model)
    _, spread, axes = np.linalg.svd(moving - moving.mean(axis=0), full_matrices=False)
    planar = bool(spread[2] <= FLAT * spread[0] < spread[1])
    normal = axes[2]
    right = np.cross(up, normal)
    front = -0.5 * np.pi
    if planar and np.linalg.norm(right) < FLAT:
        azimuth, elevation = front, 0.5 * np.pi  # from above
    else:
        if right[np.argmax(np.abs(right))] < 0.0:
            normal = -normal
        azimuth = float(np.arctan2(normal @ north, normal @ east))
        elevation = float(np.arcsin(np.clip(normal @ up, -1.0, 1.0)))
        front = azimuth
        if not planar:
            front = 0.5 * np.pi * np.round(azimuth / (0.5 * np.pi))  # along an axis
            azimuth, elevation = azimuth + np.deg2rad(32.0), np.deg2rad(20.0)
    guess = View(
        up, east, north, azimuth, elevation, planar, front, np.zeros(3), 1.0, np.ones(2), cloud
    )
    if not planar:
        turned = [replace(guess, azimuth=azimuth + turn) for turn in TURNS]
        guess = turned[turn_to_see([x.toward for x in turned], ends, solids)]
        azimuth = guess.azimuth
    screen = np.array([guess.right, np.cross(guess.toward, guess.right), guess.toward])
    low, high = (cloud @ screen.T).min(axis=0), (cloud @ screen.T).max(axis=0)
    centre = 0.5 * (low + high) @ screen
    radius = float(np.linalg.norm(cloud - centre, axis=1).max()) or 1.0
    half = np.maximum(0.5 * (high - low)[:2], 0.12 * radius)
    return View(
        up, east, north, azimuth, elevation, planar, front, centre, radius, half, outermost(cloud)
    )

"""The mechanism in space over time: link poses, its skeleton, paths of the ends, first view.

In world axes and SI units, at equal time steps; the page interpolates between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.curves.profile import Profile
from predyn.dynamics.kinematics import frame_kinematics
from predyn.kernels.forces import ExternalForce
from predyn.model import PRISMATIC, Model, Shape
from predyn.solution import Solution
from predyn.solution.evaluation import forces_in, parts_of

Floats = NDArray[np.float64]

FRAMES_FEW, FRAMES_MANY, FEW_JOINTS = 121, 61, 12
MOST_PATHS = 6
ARROW = 0.1  # length of the largest force over the diagonal of the box around the motion
SMALL = 0.01  # of the largest force: less is not drawn where it changes
FLAT = 1e-3  # a motion this thin, relative to its size, is planar


class Bar(NamedTuple):
    """A straight piece of a link's skeleton, in link axes (link -1: world axes)."""

    link: int
    start: Floats
    end: Floats
    rail: bool = False  # of a slide: where its joint passes


class End(NamedTuple):
    """A point whose path is drawn: a frame on the last link of a branch, or its centre of mass."""

    name: str
    link: int
    point: Floats


class Arrow(NamedTuple):
    """A constant external force on a link: where it acts, and a vector as long as it is drawn."""

    label: str
    link: int
    point: Floats
    vector: Floats  # m, world axes if `world`, else link axes
    world: bool


class MovingArrow(NamedTuple):
    """An external force that changes: its arrow in each frame, world axes; NaN where none is."""

    labels: list[str]
    feet: Floats  # (F, 3)
    tips: Floats

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(F,) whether there is an arrow."""
        return np.asarray(np.isfinite(self.tips).all(axis=1))


@dataclass(frozen=True, eq=False)
class View:
    """Where to look from: angles about the up axis, and the box that holds the motion."""

    up: Floats
    east: Floats  # the horizontal axes from which azimuth counts
    north: Floats
    azimuth: float
    elevation: float
    planar: bool
    centre: Floats
    radius: float
    half: Floats  # half width and height of the motion on the screen, m

    @property
    def toward(self) -> Floats:
        """Unit vector from the mechanism to the eye."""
        level = np.cos(self.azimuth) * self.east + np.sin(self.azimuth) * self.north
        return np.asarray(np.cos(self.elevation) * level + np.sin(self.elevation) * self.up)

    @property
    def right(self) -> Floats:
        return np.asarray(-np.sin(self.azimuth) * self.east + np.cos(self.azimuth) * self.north)


@dataclass(frozen=True, eq=False)
class Stage:
    """A motion laid out in space; F frames at equal time steps."""

    model: Model
    times: Floats  # (F,)
    R: Floats  # (n, F, 3, 3)
    p: Floats  # (n, F, 3)
    q: Floats  # (F, n)
    bars: list[Bar]
    ends: list[End]
    paths: list[Floats]  # (F, 3) of each end
    arrows: list[Arrow]
    moving: list[MovingArrow]
    view: View

    def placed(self, link: int, point: Floats) -> Floats:
        """A link-fixed point over time, (F, 3)."""
        if link < 0:
            return np.broadcast_to(point, (len(self.times), 3))
        return np.asarray(self.R[link] @ point + self.p[link])


def set_stage(solution: Solution) -> Stage:
    """The motion in space; it must be finite."""
    model = solution.model
    times = np.linspace(0.0, solution.duration, frame_count(model))
    return lay_out(model, times, solution.channel("q", times), forces_over(solution, times))


def frame_count(model: Model) -> int:
    return FRAMES_FEW if model.n <= FEW_JOINTS else FRAMES_MANY


def lay_out(model: Model, times: Floats, q: Floats, forces: Sequence[ExternalForce] = ()) -> Stage:
    """A finite motion, given at equal time steps, in space; forces as `forces_over` gives them."""
    poses = [frame_kinematics(model, name, q) for name in model.link_names]
    R, p = np.stack([pose.R for pose in poses]), np.stack([pose.p for pose in poses])
    ends = ends_of(model)
    paths = [R[end.link] @ end.point + p[end.link] for end in ends]
    travel = [float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()) for path in paths]
    shown = sorted(sorted(range(len(ends)), key=lambda k: -travel[k])[:MOST_PATHS])
    bars = bars_of(model, q, ends)
    points = [p.reshape(-1, 3), *paths]
    points += [np.array([bar.start, bar.end]) for bar in bars if bar.link < 0]
    for shape in bodies_of(model):
        reach = 0.5 * float(np.linalg.norm(shape.size))
        centre = shape.p if shape.link < 0 else R[shape.link] @ shape.p + p[shape.link]
        points += [centre + reach * d for d in (*np.eye(3), *-np.eye(3))]
    cloud = np.concatenate([np.atleast_2d(block) for block in points])
    length = ARROW * float(np.linalg.norm(np.ptp(cloud, axis=0)))
    arrows, moving = arrows_of(model, forces, length, R, p)
    for arrow in arrows:
        turned = arrow.vector if arrow.world else R[arrow.link] @ arrow.vector
        tips = R[arrow.link] @ arrow.point + p[arrow.link] + turned
        cloud = np.concatenate([cloud, tips])
    for each in moving:
        cloud = np.concatenate([cloud, each.tips[each.seen]])
    return Stage(
        model, times, R, p, q, bars,
        [ends[k] for k in shown], [paths[k] for k in shown], arrows, moving,
        first_view(model, cloud, np.concatenate([p.reshape(-1, 3), *paths])),
    )  # fmt: skip


def bodies_of(model: Model) -> list[Shape]:
    """Shapes that can be drawn: the visual ones, or those for collision where there are none."""
    solid = [shape for shape in model.shapes if shape.kind != "mesh"]
    seen = {shape.link for shape in solid if shape.role == "visual"}
    return [shape for shape in solid if shape.role == "visual" or shape.link not in seen]


def ends_of(model: Model) -> list[End]:
    """One end for every link without children: its farthest frame, else its centre of mass."""
    ends = []
    for j in sorted(set(range(model.n)) - set(model.parent.tolist())):
        mass, moment = model.inertia[j, 0], model.inertia[j, 1:4]
        best = End(model.link_names[j], j, moment / mass if mass > 0.0 else np.zeros(3))
        reach = 0.0
        for frame in model.frames:
            distance = float(np.linalg.norm(frame.p))
            if frame.link == j and distance >= reach and distance > 0.0:
                best, reach = End(frame.name, j, frame.p), distance
        ends.append(best)
    return ends


def forces_over(solution: Solution, times: Floats) -> list[ExternalForce]:
    """External forces in numbers: (3,) where one acts alike throughout, else (F, 3) at the times,
    NaN in phases that do not have it.
    """
    systems = [solution.system(k) for k in range(len(solution.curves))]
    keys = [[_key(force) for force in system.forces] for system in systems]
    common = [key for key in keys[0] if key and all(key in other for other in keys)]
    found = [f for f, key in zip(systems[0].forces, keys[0], strict=True) if key in common]
    for part in parts_of(solution, times):
        for force, key in zip(forces_in(solution, part), keys[part.phase], strict=True):
            if key not in common:
                vectors = np.full((len(times), 3), np.nan)
                vectors[part.rows] = np.asarray(force.force)
                found.append(replace(force, force=vectors))
    return found


def _key(force: ExternalForce) -> tuple[object, ...] | None:
    """What tells constant forces apart; None for one that changes."""
    if isinstance(force.force, str | Profile):
        return None
    vectors = (tuple(np.asarray(x, float).tolist()) for x in (force.force, force.point))
    return (force.link, force.frame, *vectors)


def arrows_of(
    model: Model, forces: Sequence[ExternalForce], length: float, R: Floats, p: Floats
) -> tuple[list[Arrow], list[MovingArrow]]:
    """The external forces that are not zero; the largest is drawn with this length.

    R, p: poses (n, F, ...) of the links.
    """
    arrows, moving = [], []
    sizes = [np.linalg.norm(np.asarray(f.force, float), axis=-1) for f in forces]
    largest = max((float(np.nanmax(size)) for size in sizes), default=0.0)
    for f, size in zip(forces, sizes, strict=True):
        force, frame, world = np.asarray(f.force, float), model.frame(f.link), f.frame == "world"
        if not np.any(size > 0.0):
            continue
        vector = (force if world else force @ frame.R.T) * (length / largest)
        point = frame.p + frame.R @ np.asarray(f.point, dtype=float)
        if force.ndim == 1:
            arrows.append(Arrow(f"{size:.4g} N", frame.link, point, vector, world))
        else:
            feet = R[frame.link] @ point + p[frame.link]
            turned = vector if world else np.einsum("fij,fj->fi", R[frame.link], vector)
            seen = np.where((size > SMALL * largest)[:, None], turned, np.nan)
            moving.append(MovingArrow([f"{x:.3g} N" for x in size], feet, feet + seen))
    return arrows, moving


def bars_of(model: Model, q: Floats, ends: list[End]) -> list[Bar]:
    """The skeleton: from each joint to the next ones and to the ends, and rails of slides."""
    bars = []
    for j in range(model.n):
        parent, start = int(model.parent[j]), model.p[j]
        if parent >= 0:
            bars.append(Bar(parent, np.zeros(3), start))
        if model.kind[j] == PRISMATIC:
            low, high = min(0.0, q[:, j].min()), max(0.0, q[:, j].max())
            axis = model.axis[j]
            bars.append(Bar(parent, start + low * axis, start + high * axis, rail=True))
    bars += [Bar(end.link, np.zeros(3), end.point) for end in ends]
    return [bar for bar in bars if np.linalg.norm(bar.end - bar.start) > 0.0]


def first_view(model: Model, cloud: Floats, moving: Floats) -> View:
    """Up against gravity (z without); toward the plane that holds most of the motion."""
    g = float(np.linalg.norm(model.gravity))
    up = -model.gravity / g if g > 0.0 else np.array([0.0, 0.0, 1.0])
    largest = int(np.argmax(np.abs(up)))
    east = np.eye(3)[(largest + 1) % 3]
    east = east - (east @ up) * up
    east /= np.linalg.norm(east)
    north = np.cross(up, east)
    _, spread, axes = np.linalg.svd(moving - moving.mean(axis=0), full_matrices=False)
    planar = bool(spread[2] <= FLAT * spread[0] < spread[1])
    normal = axes[2]
    right = np.cross(up, normal)
    if planar and np.linalg.norm(right) < FLAT:
        azimuth, elevation = -0.5 * np.pi, 0.5 * np.pi  # from above
    else:
        if right[np.argmax(np.abs(right))] < 0.0:
            normal = -normal
        azimuth = float(np.arctan2(normal @ north, normal @ east))
        elevation = float(np.arcsin(np.clip(normal @ up, -1.0, 1.0)))
        if not planar:
            azimuth, elevation = azimuth + np.deg2rad(32.0), np.deg2rad(20.0)
    guess = View(up, east, north, azimuth, elevation, planar, np.zeros(3), 1.0, np.ones(2))
    screen = np.array([guess.right, np.cross(guess.toward, guess.right), guess.toward])
    low, high = (cloud @ screen.T).min(axis=0), (cloud @ screen.T).max(axis=0)
    centre = 0.5 * (low + high) @ screen
    radius = float(np.linalg.norm(cloud - centre, axis=1).max()) or 1.0
    half = np.maximum(0.5 * (high - low)[:2], 0.12 * radius)
    return View(up, east, north, azimuth, elevation, planar, centre, radius, half)

"""The feet of a model, the pelvis between them, and the direction of walking."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from predyn.analysis.motions import Floats, Motion, loaded_links
from predyn.analysis.sides import LEFT, RIGHT, SIDES, find_pairs
from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import InputError, unknown_name
from predyn.model import Model

FOOT_WORDS = ("foot", "calcn", "calcaneus", "talus", "ankle", "toe")  # in this order
HEEL = re.compile(r"heel|calc|hee(?![a-z])", re.IGNORECASE)
TOE = re.compile(r"toe|hallux|mtp|ball", re.IGNORECASE)
WALKS = 0.2  # m/s of the pelvis above which a person walks over ground
STILL = 0.1  # m/s of a standing foot below which the ground does not move


class Foot(NamedTuple):
    """A foot: points of it along the way, m, and the sum of the forces on it."""

    side: str
    link: str  # as given: a link or a frame
    heel: Floats  # (K, 3) world
    toe: Floats  # (K, 3)
    points: tuple[str, str]  # names of the frames whose origins heel and toe are
    t_force: Floats  # (P,) s, empty without forces
    force: Floats  # (P, 3) N
    pressure: Floats | None = None  # (P, 3) m, centre of pressure where it is known


class Walk(NamedTuple):
    """A motion seen as walking: both feet, the pelvis and directions in the world."""

    left: Foot
    right: Foot
    pelvis: Floats  # (K, 3) m, the origin of the link that carries both legs; zero without one
    up: Floats  # (3,)
    forward: Floats  # (3,) horizontal
    sideways: Floats  # (3,) horizontal, to the left
    ahead: Floats  # (3,) forward along the ground: not horizontal on a slope

    def foot(self, side: str) -> Foot:
        return self.left if side == LEFT else self.right

    def along(self, points: Floats) -> Floats:
        """Components along the direction of walking, relative to the pelvis."""
        return np.asarray((points - self.pelvis) @ self.forward)


def walk_of(motion: Motion, feet: Mapping[str, str] | None) -> Walk:
    """The feet as given or found by name, with everything that events need."""
    model = motion.model
    names = find_feet(model, loaded_links(motion)) if feet is None else check_feet(model, feet)
    gravity = motion.model.gravity
    if not gravity.any():
        raise InputError("gait: the model has no gravity, so there is no vertical direction")
    up = -gravity / np.linalg.norm(gravity)
    left, right = (_foot(motion, side, names[side]) for side in SIDES)
    carrier = _common_link(motion.model, left.link, right.link)
    pelvis = np.zeros((len(motion.t), 3))
    if carrier >= 0:
        pelvis = frame_kinematics(motion.model, motion.model.link_names[carrier], motion.q).p
    forward = _direction(motion.t, pelvis, (left, right), up)
    ahead = forward
    if motion.normal is not None:
        climb = -(motion.normal @ forward) / (motion.normal @ up)
        ahead = (forward + climb * up) / np.hypot(1.0, climb)
    return Walk(left, right, pelvis, up, forward, np.cross(up, forward), ahead)


def find_feet(model: Model, loaded: Sequence[str]) -> dict[str, str]:
    """{"left": ..., "right": ...}: the links or frames that forces act on, else by name."""
    pairs = find_pairs(loaded)
    if len(pairs) == 1:
        return {LEFT: pairs[0].left, RIGHT: pairs[0].right}
    by_name = find_pairs(model.frame_names)
    for word in FOOT_WORDS:
        for pair in by_name:
            if word in pair.name.lower():
                return {LEFT: pair.left, RIGHT: pair.right}
    joints = dict(zip(model.expanded.joint_names, model.link_names, strict=True))
    for pair in find_pairs(model.joint_names):
        if "ankle" in pair.name.lower():
            return {LEFT: joints[pair.left], RIGHT: joints[pair.right]}
    raise InputError(
        "gait: found no left and right foot by name; give them as "
        'feet={"left": link or frame, "right": link or frame}'
    )


def check_feet(model: Model, feet: Mapping[str, str]) -> dict[str, str]:
    """The feet as given; an InputError if they are not a left and a right foot of the model."""
    if not isinstance(feet, Mapping) or set(feet) != set(SIDES):
        raise InputError(
            f'feet: expected {{"left": link or frame, "right": link or frame}}, got {feet!r:.80}'
        )
    for side, name in feet.items():
        if name not in model.frame_names or name == "world":
            raise unknown_name(f"link or frame of the {side} foot", name, model.frame_names[1:])
    if model.frame(feet[LEFT]).link == model.frame(feet[RIGHT]).link:
        raise InputError(f"feet: {feet[LEFT]!r} and {feet[RIGHT]!r} are on the same link")
    carrier = _common_link(model, feet[LEFT], feet[RIGHT])
    for side, name in feet.items():
        if model.frame(name).link == carrier:
            raise InputError(f"feet: {name!r}, given as the {side} foot, carries the other foot")
    if any(pair.left == feet[RIGHT] for pair in find_pairs((feet[LEFT], feet[RIGHT]))):
        raise InputError(
            f"feet: left and right look exchanged: left is {feet[LEFT]!r}, right {feet[RIGHT]!r}"
        )
    return dict(feet)


def _foot(motion: Motion, side: str, name: str) -> Foot:
    model = motion.model
    root = model.frame(name).link
    links = _subtree(model, root)
    frames = [x for x in model.frame_names[1:] if model.frame(x).link in links]
    heel = name if HEEL.search(name) else _named(frames, HEEL, name)
    toe = _named(frames, TOE, name)
    acting = [x for x in motion.forces if len(x.t) and model.frame(x.link).link in links]
    t, total = np.zeros(0), np.zeros((0, 3))
    if acting:
        t = acting[0].t
        total = sum(
            (_resampled(t, force.t, force.force) for force in acting), np.zeros((len(t), 3))
        )
    heel_p, toe_p = (frame_kinematics(model, x, motion.q).p for x in (heel, toe))
    pressure = acting[0].pressure if len(acting) == 1 else None
    return Foot(side, name, heel_p, toe_p, (heel, toe), t, total, pressure)


def _resampled(t: Floats, own: Floats, values: Floats) -> Floats:
    return np.stack([np.interp(t, own, column, 0.0, 0.0) for column in values.T], axis=1)


def _named(frames: list[str], words: re.Pattern[str], otherwise: str) -> str:
    return next((x for x in frames if words.search(x)), otherwise)


def links_of_foot(model: Model, name: str) -> set[int]:
    """The link of a foot, and those that it carries."""
    return _subtree(model, model.frame(name).link)


def _subtree(model: Model, root: int) -> set[int]:
    links = {root}
    for j in range(root + 1, len(model.parent)):  # parents come first
        if int(model.parent[j]) in links:
            links.add(j)
    return links


def _common_link(model: Model, one: str, other: str) -> int:
    """The last link that carries both, -1: the world."""
    above = []
    for name in (one, other):
        chain, j = [], model.frame(name).link
        while j >= 0:
            chain.append(j)
            j = int(model.parent[j])
        above.append(chain)
    return next((j for j in above[0] if j in above[1]), -1)


def _direction(t: Floats, pelvis: Floats, feet: tuple[Foot, Foot], up: Floats) -> Floats:
    """Horizontal unit vector of walking: the way of the pelvis, else that of the feet under it.

    On a treadmill the feet move along the belt, and forward while no force acts on them or, where
    forces are not known, while they are lifted.
    """
    travel = pelvis[-1] - pelvis[0]
    travel = travel - (travel @ up) * up
    if np.linalg.norm(travel) > WALKS * (t[-1] - t[0]):
        return np.asarray(travel / np.linalg.norm(travel))
    relative = np.concatenate(
        [foot.toe - pelvis - (foot.toe - pelvis).mean(axis=0) for foot in feet]
    )
    relative -= np.outer(relative @ up, up)
    _, size, axes = np.linalg.svd(relative, full_matrices=False)
    if not size[0] > 0.0:
        raise InputError("gait: the feet do not move relative to the pelvis")
    axis = axes[0]
    swing = 0.0  # whether the feet are free while they move along the axis
    for foot in feet:
        free = 0.5 * (foot.heel + foot.toe) @ up
        if foot.force.any():
            free = -np.interp(t, foot.t_force, foot.force @ up)
        moving = np.gradient((foot.toe - pelvis) @ axis, t)
        swing += float((free - free.mean()) @ moving) / (float(free.std()) or 1.0)
    return np.asarray(axis if swing > 0.0 else -axis)

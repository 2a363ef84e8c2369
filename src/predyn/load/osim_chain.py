"""Joints with several axes as chains of joints with one degree of freedom and massless links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from predyn.load.osim_joints import Axis
from predyn.load.osim_layout import GROUND, NO_POSE, Connection, Pose
from predyn.model.couplings import PiecewisePolynomial
from predyn.model.parts import Array, move_inertia, turn

TINY = 1e-15  # m, offset of a body's origin from the axis of its joint


class Motion(NamedTuple):
    """What moves an axis.

    A constant value without a joint; the coordinate `joint` itself, to which sign and offset are
    applied; or a joint that follows `source`, its position being function(source).
    """

    axis: Axis
    joint: str | None = None
    sign: float = 1.0
    offset: float = 0.0  # or the constant value
    source: str | None = None
    function: PiecewisePolynomial | None = None


@dataclass(eq=False)
class Link:
    """A link and its joint, as ModelBuilder.add_link takes them."""

    name: str
    parent: str
    joint: str
    kind: str
    axis: Array
    R: Array
    p: Array
    row: Array = field(default_factory=lambda: np.zeros(10))


class Chains:
    """Links from ground outwards, and where each body is: its link and its pose there."""

    def __init__(self, bodies: Iterable[str], pose: Pose) -> None:
        self.links: dict[str, Link] = {}
        self.places: dict[str, tuple[str, Pose]] = {GROUND: ("world", pose)}
        self.couplings: list[tuple[str, str, PiecewisePolynomial]] = []
        self._names = {"world", *bodies}

    def add_joint(self, joint: Connection, motions: Iterable[Motion]) -> None:
        """Append the axes of a joint; the body that it moves is on the last one that moves."""
        parent, pose = self.places[joint.parent]
        pose = _chain(pose, joint.parent_pose)
        last: Link | None = None
        for motion in motions:
            pose = _advance(motion.axis, motion.offset, pose)
            if motion.joint is None:
                continue
            name = self._name(f"{joint.child}_{motion.axis.name}")
            direction = motion.sign * motion.axis.direction
            last = Link(name, parent, motion.joint, motion.axis.kind, direction, *pose)
            self.links[name] = last
            if motion.source is not None and motion.function is not None:
                self.couplings.append((motion.joint, motion.source, motion.function))
            parent, pose = name, NO_POSE
        back = joint.child_pose[0].T
        pose = _chain(pose, (back, -back @ joint.child_pose[1]))
        if last is not None:
            parent, pose = self._settle(last, joint.child, pose)
        self.places[joint.child] = parent, pose

    def _settle(self, last: Link, body: str, pose: Pose) -> tuple[str, Pose]:
        """Name the last link after the body, with the body's frame as its own where it may be.

        The origin of a link that turns is on the axis of its joint. If that of the body is not, the
        link gets another name, and the body is a frame on it.
        """
        R, p = pose
        del self.links[last.name]
        off = p - last.axis * (last.axis @ p)
        if last.kind == "prismatic" or np.abs(off).max() <= TINY:
            last.R, last.p = _chain((last.R, last.p), pose)
            last.axis = R.T @ last.axis
            last.name, pose = body, NO_POSE
        else:
            last.name = self._name(f"{body}_link")
        self.links[last.name] = last
        return last.name, pose

    def add_inertias(self, rows: Mapping[str, Array], notes: list[str]) -> None:
        """Add the inertia of each body to its link."""
        fixed = []
        for body, row in rows.items():
            host, pose = self.places[body]
            if host != "world":
                self.links[host].row += move_inertia(row, *pose)
            elif row.any():
                fixed.append(body)
        if fixed:
            notes.append(f"fixed to ground, inertia ignored: {', '.join(fixed)}")

    def _name(self, name: str) -> str:
        """The name, with underscores if another link or body has it."""
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name


def _chain(first: Pose, second: Pose) -> Pose:
    """The pose `second` given in the frame `first`."""
    return first[0] @ second[0], first[0] @ second[1] + first[1]


def _advance(axis: Axis, value: float, pose: Pose) -> Pose:
    """The pose after a motion of the axis by a constant value."""
    if axis.kind == "prismatic":
        return _chain(pose, (np.eye(3), axis.direction * value))
    return _chain(pose, (turn(axis.direction, value), np.zeros(3)))

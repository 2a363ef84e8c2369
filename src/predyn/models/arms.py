"""Two invented robot arms: six axes for welding, seven for handling.

Every link consists of a few round pieces. They are its visual shapes, they give it its mass and
inertia, and a capsule around each is its collision shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.capsules import rotation_to
from predyn.model.parts import Array

Point = tuple[float, float, float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class Piece(NamedTuple):
    """A capsule from a to b (m, link axes), or a drum: the cylinder between its caps."""

    a: Point
    b: Point
    radius: float
    drum: bool = False

    @property
    def axis(self) -> Array:
        return np.subtract(self.b, self.a)

    @property
    def middle(self) -> Array:
        return 0.5 * np.add(self.a, self.b)


class Link(NamedTuple):
    """A link and the joint before it: its place in the link before, SI units, radians."""

    name: str
    joint: str
    axis: Point
    origin: Point
    mass: float
    position: tuple[float, float]
    velocity: float
    effort: float
    armature: float  # of the motor, at the joint
    pieces: Sequence[Piece]


BASE_6 = (Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.20), 0.14, drum=True),)
LINKS_6 = (
    Link("turret", "turn", Z, (0.0, 0.0, 0.25), 34.0, (-2.96, 2.96), 3.6, 700.0, 8.0, (
        Piece((0.0, 0.0, -0.02), (0.0, 0.0, 0.10), 0.13, drum=True),
        Piece((0.02, 0.0, 0.10), (0.15, 0.0, 0.20), 0.11),
        Piece((0.15, -0.11, 0.20), (0.15, 0.11, 0.20), 0.11, drum=True),
    )),
    Link("upper_arm", "shoulder", Y, (0.15, 0.0, 0.20), 21.0, (-1.6, 2.4), 3.3, 900.0, 10.0, (
        Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.60), 0.078),
    )),
    Link("elbow_block", "elbow", Y, (0.0, 0.0, 0.60), 17.0, (-2.1, 1.25), 3.6, 500.0, 4.0, (
        Piece((0.0, -0.09, 0.0), (0.0, 0.09, 0.0), 0.092, drum=True),
        Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.12), 0.085),
        Piece((-0.06, 0.0, 0.12), (0.18, 0.0, 0.12), 0.085),
    )),
    Link("forearm", "forearm_roll", X, (0.20, 0.0, 0.12), 9.0, (-3.2, 3.2), 6.4, 90.0, 0.6, (
        Piece((0.0, 0.0, 0.0), (0.28, 0.0, 0.0), 0.062),
    )),
    Link("wrist", "wrist_bend", Y, (0.42, 0.0, 0.0), 3.5, (-2.15, 2.15), 6.4, 90.0, 0.5, (
        Piece((0.0, -0.05, 0.0), (0.0, 0.05, 0.0), 0.048, drum=True),
        Piece((0.0, 0.0, 0.0), (0.045, 0.0, 0.0), 0.045),
    )),
    Link("flange_disc", "tool_roll", X, (0.08, 0.0, 0.0), 0.8, (-6.28, 6.28), 8.5, 50.0, 0.2, (
        Piece((0.008, 0.0, 0.0), (0.03, 0.0, 0.0), 0.036, drum=True),
    )),
)  # fmt: skip

BASE_7 = (Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.12), 0.088, drum=True),)
LINKS_7 = (
    Link("link1", "joint1", Z, (0.0, 0.0, 0.16), 5.5, (-2.9, 2.9), 2.2, 180.0, 1.2, (
        Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.16), 0.072),
    )),
    Link("link2", "joint2", Y, (0.0, 0.0, 0.18), 5.0, (-2.05, 2.05), 2.2, 180.0, 1.2, (
        Piece((0.0, -0.03, 0.0), (0.0, 0.03, 0.0), 0.07),
        Piece((0.0, 0.0, 0.02), (0.0, 0.0, 0.14), 0.066),
    )),
    Link("link3", "joint3", Z, (0.0, 0.0, 0.20), 4.0, (-2.9, 2.9), 2.4, 120.0, 0.8, (
        Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.16), 0.062),
    )),
    Link("link4", "joint4", Y, (0.0, 0.0, 0.20), 3.4, (-2.1, 2.1), 2.4, 120.0, 0.8, (
        Piece((0.0, -0.025, 0.0), (0.0, 0.025, 0.0), 0.06),
        Piece((0.0, 0.0, 0.02), (0.0, 0.0, 0.14), 0.056),
    )),
    Link("link5", "joint5", Z, (0.0, 0.0, 0.20), 2.4, (-2.9, 2.9), 3.1, 60.0, 0.3, (
        Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.11), 0.05),
    )),
    Link("link6", "joint6", Y, (0.0, 0.0, 0.20), 1.6, (-2.0, 2.0), 3.1, 40.0, 0.2, (
        Piece((0.0, -0.02, 0.0), (0.0, 0.02, 0.0), 0.05),
        Piece((0.0, 0.0, 0.0), (0.0, 0.0, 0.03), 0.045),
    )),
    Link("link7", "joint7", Z, (0.0, 0.0, 0.08), 0.5, (-3.0, 3.0), 3.8, 40.0, 0.1, (
        Piece((0.0, 0.0, 0.005), (0.0, 0.0, 0.03), 0.036, drum=True),
    )),
)  # fmt: skip


def six_axis_arm() -> Model:
    """An industrial arm with six axes, 85 kg, that reaches 1.38 m from its first axis to the wrist.

    It stands on the floor (z = 0); at zero the upper arm is upright and the forearm points along x.
    Frame "flange" is where a tool is mounted: its z axis points away from the wrist. The
    numbers are invented, not those of a real robot. Joints have no friction.
    """
    return _arm("six_axis_arm", BASE_6, LINKS_6, (0.04, 0.0, 0.0), X)


def seven_axis_arm() -> Model:
    """A light arm with seven axes, 22 kg, that reaches 0.93 m from its shoulder to the flange.

    At zero it is upright. Axes 1 to 3 meet in the shoulder and axes 5 to 7 in the wrist; axis 4 is
    the elbow, so that it can turn about the line between the two while the flange rests. Frame
    "flange" is where a gripper is mounted: its z axis points away from the wrist. The numbers
    are invented, not those of a real robot. Joints have no friction.
    """
    return _arm("seven_axis_arm", BASE_7, LINKS_7, (0.0, 0.0, 0.05), Z)


def _arm(
    name: str, base: Sequence[Piece], links: Sequence[Link], flange: Point, outward: Point
) -> Model:
    builder = ModelBuilder(name, (0.0, 0.0, -9.81))
    for piece in base:
        _add_shapes(builder, "world", piece)
    before = "world"
    for link in links:
        com, inertia = _mass_of(link.pieces, link.mass)
        builder.add_link(
            link.name, before, link.joint, axis=link.axis, origin=link.origin, mass=link.mass,
            com=com, inertia=inertia, position=link.position, velocity=link.velocity,
            effort=link.effort, armature=link.armature,
        )  # fmt: skip
        for piece in link.pieces:
            _add_shapes(builder, link.name, piece)
        before = link.name
    builder.add_frame("flange", before, flange, _outward(outward))
    return builder.build()


def _outward(axis: Point) -> Array:
    """Axes of a flange whose z points along the link's x or z."""
    return np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float) if axis == X else np.eye(3)


def _add_shapes(builder: ModelBuilder, link: str, piece: Piece) -> None:
    """The piece, and a capsule around it: the same one unless the piece is a drum."""
    size = (piece.radius, float(np.linalg.norm(piece.axis)))
    for role in ("visual", "collision"):
        kind = "cylinder" if piece.drum and role == "visual" else "capsule"
        builder.add_shape(kind, link, size, piece.middle, rotation_to(piece.axis), role=role)


def _mass_of(pieces: Sequence[Piece], mass: float) -> tuple[Array, Array]:
    """Centre of mass, and inertia about it, of pieces of equal density."""
    volumes = np.array([sum(_volumes(piece)) for piece in pieces])
    masses = mass * volumes / volumes.sum()
    middles = np.array([piece.middle for piece in pieces])
    com = masses @ middles / mass
    total = np.zeros((3, 3))
    for piece, m, middle in zip(pieces, masses, middles, strict=True):
        away = middle - com
        R = rotation_to(piece.axis)
        total += R @ np.diag(_moments(piece, float(m))) @ R.T
        total += m * ((away @ away) * np.eye(3) - np.outer(away, away))
    return com, total


def _volumes(piece: Piece) -> tuple[float, float]:
    """Volumes of the cylinder and of both caps."""
    r, length = piece.radius, float(np.linalg.norm(piece.axis))
    return np.pi * r**2 * length, 0.0 if piece.drum else 4.0 / 3.0 * np.pi * r**3


def _moments(piece: Piece, mass: float) -> Array:
    """Moments of inertia about the middle, the axis last, of a uniform cylinder with round caps."""
    r, length = piece.radius, float(np.linalg.norm(piece.axis))
    tube, caps = _volumes(piece)
    m, c = mass * tube / (tube + caps), mass * caps / (tube + caps)
    across = m * (length**2 / 12.0 + r**2 / 4.0)
    across += c * (0.4 * r**2 + length**2 / 4.0 + 3.0 * length * r / 8.0)
    return np.array([across, across, m * r**2 / 2.0 + 0.4 * c * r**2])

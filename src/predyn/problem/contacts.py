"""Contacts of a problem: which points touch the ground in a phase, the ground, and cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from predyn.problem.unknowns import freeze_lists

Coordinate = float | str | None  # m, the name of a parameter, or where the point touches down


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact point of the model that touches the ground in a phase.

    point   its name
    push    axes along which the ground pushes it, world axes: some of "xyz"
    hold    axes along which it stays in its place; together, the contacts of a rigid body should
            hold each of its freedoms once
    place   (x, y, z) in m; each a number, the name of a parameter, or None: where it stood in the
            phase before, or, if it touches down, wherever that is. None: all three
    shared  axes among those of `push` whose force belongs to the whole patch. It acts at this
            point, and it goes on when another point of the patch takes over
    """

    point: str
    push: str = "xyz"
    hold: str = "xyz"
    place: Sequence[Coordinate] | None = None
    shared: str = ""

    def __post_init__(self) -> None:
        freeze_lists(self, "place")


@dataclass(frozen=True)
class Ground:
    """What contact points touch: the plane z = height, in world axes.

    friction  coefficient of friction
    cone      "pyramid": |Fx| and |Fy| are bounded; "cone": sqrt(Fx^2 + Fy^2) is
    slope     rise of the plane in m for each m along x. World axes are those of the plane: x along
              the slope, z perpendicular to it, and gravity is inclined instead
    height    m; contact points that do not touch stay above it
    steps     ((x, height), ...): from x on, the ground has another height, such as on stairs
    ramp      m; for points that do not touch, a step is a ramp of this length on its lower side
    """

    friction: float = 0.8
    cone: Literal["pyramid", "cone"] = "pyramid"
    slope: float = 0.0
    height: float = 0.0
    steps: Sequence[tuple[float, float]] = ()
    ramp: float = 0.05

    def __post_init__(self) -> None:
        if isinstance(self.steps, list | tuple):
            steps = tuple(tuple(x) if isinstance(x, list) else x for x in self.steps)
            object.__setattr__(self, "steps", steps)

    def height_at(self, x: float) -> float:
        """Height of the ground at x, m."""
        heights = [self.height, *(height for at, height in self.steps if at <= x)]
        return float(heights[-1])


@dataclass(frozen=True, eq=False)
class Cycle:
    """The end of the last phase is the start of the first, moved on and possibly mirrored.

    It holds for positions and velocities, for accelerations of joints with motors and for contact
    forces.

    advance  (x, y, z) by which the floating base moves on, in m, or names of parameters
    swap     {"left_hip": "right_hip", "left_heel": "right_heel", ...}: joints, contact points and
             patches that change places, each pair named once
    signs    {"spine_roll": -1, ...}: joints that change sign in the mirror; name one of a pair
    mirror   the world axis, "x" or "y", along which forces and places change sign
    """

    advance: Sequence[float | str] = (0.0, 0.0, 0.0)
    swap: Mapping[str, str] = field(default_factory=dict)
    signs: Mapping[str, float] = field(default_factory=dict)
    mirror: Literal["x", "y"] | None = None

    def __post_init__(self) -> None:
        freeze_lists(self, "advance")

    def image(self, name: str) -> str:
        """The joint, point or patch that takes the place of the named one."""
        for one, other in self.swap.items():
            if name in (one, other):
                return other if name == one else one
        return name


class ImposedCycle(Cycle):
    """A cycle that the constraints of a problem already impose: it only says what repeats."""


def imposed(cycle: Cycle | None) -> ImposedCycle | None:
    """The same cycle, once constraints impose it."""
    if cycle is None or isinstance(cycle, ImposedCycle):
        return cycle
    return ImposedCycle(cycle.advance, cycle.swap, cycle.signs, cycle.mirror)

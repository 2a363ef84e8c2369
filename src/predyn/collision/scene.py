"""Scene: what a robot must not touch, and what it carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.collision.arguments import instants, lengths
from predyn.collision.solids import KINDS, check_solid
from predyn.errors import InputError, unknown_name
from predyn.model.numbers import real_numbers, shown
from predyn.model.orientations import rotation_of
from predyn.model.parts import Array, Triangles, frozen, rebuilt, text


@dataclass(frozen=True, eq=False)
class Path:
    """A given motion of an obstacle's frame: straight lines between positions (K, 3) in m at times
    (K,) in s, and rotations (K, 3, 3) between which it turns about a fixed axis at constant speed.

    Before the first and after the last time it rests. Without rotations it keeps its own.
    """

    times: Array
    positions: Array
    rotations: Array | None = None

    def __post_init__(self) -> None:
        times = instants(self.times, "path: times")
        count = len(times)
        positions = lengths(self.positions, "path: positions", (count, 3))
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "positions", positions)
        if self.rotations is not None:
            shape = (count, 3, 3)
            given = real_numbers(self.rotations, "path: rotations", f"numbers of shape {shape}")
            if given.shape != shape:
                raise InputError(f"path: rotations: expected shape {shape}, got {given.shape}")
            R = [rotation_of(x, f"path: rotations[{k}]") for k, x in enumerate(given)]
            object.__setattr__(self, "rotations", frozen(np.array(R), "rotations", shape))

    __reduce__ = rebuilt


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A solid in the world.

    kind      "box" (size x, y, z), "sphere" (radius), "cylinder" and "capsule" (radius, length
              along z, of a capsule without its caps), "half_space" (no size: all points with z <= 0
              in its frame) or "mesh" (no size: the convex hull of `triangles`); in m
    position  (3,) of its frame, at its centre, in the world; zero if not given
    rotation  (3, 3), or roll, pitch, yaw (rad); none if not given
    path      how the frame moves instead; `position` must then not be given
    phases    names of the phases of a motion in which it is there; in all of them if none is named
    """

    name: str
    kind: str
    size: tuple[float, ...] = ()
    position: ArrayLike | None = None
    rotation: ArrayLike | None = None
    triangles: Triangles | None = None
    path: Path | None = None
    phases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        what = f"obstacle {text(self.name, 'obstacle: name')!r:.60}"
        if self.path is not None:
            if not isinstance(self.path, Path):
                raise InputError(f"{what}: path: expected a Path, got {type(self.path).__name__}")
            if self.position is not None:
                raise InputError(f"{what}: expected a position or a path, got both")
            if self.kind == "half_space" and self.path.rotations is not None:
                raise InputError(f"{what}: a half-space must not turn: its points have no bound")
        _place(self, what)

    __reduce__ = rebuilt


@dataclass(frozen=True, eq=False)
class Part:
    """A solid fixed to a link or frame of the robot: a tool, a gripper, what it carries.

    Fields are those of Obstacle, in the axes of `link`. It is covered by capsules: exactly if it is
    a sphere or a capsule, by one capsule around it otherwise.
    """

    name: str
    link: str
    kind: str
    size: tuple[float, ...] = ()
    position: ArrayLike | None = None
    rotation: ArrayLike | None = None
    triangles: Triangles | None = None
    phases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        what = f"part {text(self.name, 'part: name')!r:.60}"
        text(self.link, f"{what}: link")
        if self.kind == "half_space":
            raise InputError(f"{what}: a half-space cannot be fixed to a link")
        _place(self, what)

    __reduce__ = rebuilt


def _place(solid: Any, what: str) -> None:
    """Check the fields of an obstacle or part, and freeze them."""
    if solid.kind not in KINDS:
        raise unknown_name(f"kind of {what}", solid.kind, KINDS)
    set_ = object.__setattr__
    set_(solid, "size", check_solid(what, solid.kind, solid.size, solid.triangles))
    p = np.zeros(3) if solid.position is None else solid.position
    position = lengths(p, f"{what}: position", (3,))
    R = np.eye(3) if solid.rotation is None else rotation_of(solid.rotation, f"{what}: rotation")
    if getattr(solid, "path", None) is None:
        set_(solid, "position", position)
    set_(solid, "rotation", frozen(R, f"{what}: rotation", (3, 3)))
    phases = items_of(solid.phases, f"{what}: phases", "a list of names")
    set_(solid, "phases", tuple(text(name, f"{what}: phases") for name in phases))


def items_of(value: Any, what: str, expected: str) -> tuple[Any, ...]:
    """The entries of a list or of another collection that is no text."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{what}: expected {expected}, got {shown(value)}")
    return tuple(value)


@dataclass(frozen=True, eq=False)
class Scene:
    """Obstacles, parts on the robot, and pairs of names that may touch.

    allowed  pairs (name, name) of links, parts or obstacles that are not checked against each
             other, such as a base and the table that it stands on
    notes    what a file had that is not part of the scene
    extra    those fields: start, goal and others

    Where solids name `phases`, `in_phase` is the scene of one of them. `certify` looks at phases by
    itself; a Checker of this scene has all solids at once.
    """

    obstacles: tuple[Obstacle, ...] = ()
    parts: tuple[Part, ...] = ()
    allowed: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: tuple[tuple[str, type[Obstacle] | type[Part], Any], ...] = (
            ("obstacles", Obstacle, self.obstacles),
            ("parts", Part, self.parts),
        )
        for what, kind, value in given:
            items = items_of(value, f"scene: {what}", f"a list of {kind.__name__} objects")
            for item in items:
                if not isinstance(item, kind):
                    raise InputError(
                        f"scene: {what}: expected {kind.__name__} objects, got {item!r:.60}"
                    )
            object.__setattr__(self, what, items)
        names = Counter([*(x.name for x in self.obstacles), *(x.name for x in self.parts)])
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise InputError(f"scene: the name {twice[0]!r:.60} is used {names[twice[0]]} times")
        pairs = []
        expected = "pairs of names"
        for pair in items_of(self.allowed, "scene: allowed", expected):
            both = items_of(pair, "scene: allowed", expected)
            if len(both) != 2:
                raise InputError(f"scene: allowed: expected {expected}, got {shown(pair)}")
            one, other = both
            pairs.append((text(one, "scene: allowed"), text(other, "scene: allowed")))
        object.__setattr__(self, "allowed", tuple(pairs))
        object.__setattr__(self, "notes", items_of(self.notes, "scene: notes", "a list of texts"))
        if not isinstance(self.extra, Mapping):
            raise InputError(f"scene: extra: expected a dictionary, got {shown(self.extra)}")

    __reduce__ = rebuilt

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of phases that solids name, in order; none if all are there all the time."""
        solids: list[Obstacle | Part] = [*self.obstacles, *self.parts]
        return tuple(dict.fromkeys(name for solid in solids for name in solid.phases))

    def in_phase(self, name: str) -> Scene:
        """The scene with the solids of one phase only; equal calls return the same object."""
        text(name, "in_phase: name of a phase")
        if not self.phases:
            return self
        if name not in self._by_phase:
            solids: list[Obstacle | Part] = [*self.obstacles, *self.parts]
            gone = {x.name for x in solids if x.phases and name not in x.phases}
            obstacles = tuple(replace(x, phases=()) for x in self.obstacles if x.name not in gone)
            parts = tuple(replace(x, phases=()) for x in self.parts if x.name not in gone)
            allowed = tuple(pair for pair in self.allowed if not gone & {*pair})
            self._by_phase[name] = Scene(obstacles, parts, allowed, self.notes, self.extra)
        return self._by_phase[name]

    def check_phases(self, names: Sequence[str]) -> None:
        """Raise an InputError if a solid names a phase that is not among `names`."""
        for name in self.phases:
            if name not in names:
                raise unknown_name("phase in the scene", name, names)

    @cached_property
    def _by_phase(self) -> dict[str, Scene]:
        return {}

    def __repr__(self) -> str:
        return f"Scene({len(self.obstacles)} obstacles, {len(self.parts)} parts)"

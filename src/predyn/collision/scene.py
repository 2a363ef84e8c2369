"""Scene: what a robot must not touch, and what it carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.collision.solids import KINDS, check_solid
from predyn.errors import InputError, unknown_name
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
        count = np.size(self.times)
        times = frozen(self.times, "path: times", (count,))
        positions = frozen(self.positions, "path: positions", (count, 3))
        if count < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise InputError("path: times: expected at least 2 finite, increasing numbers")
        if not np.isfinite(positions).all():
            raise InputError("path: positions: expected finite numbers")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "positions", positions)
        if self.rotations is not None:
            given = frozen(self.rotations, "path: rotations", (count, 3, 3))
            R = [rotation_of(x, f"path: rotations[{k}]") for k, x in enumerate(given)]
            object.__setattr__(self, "rotations", frozen(np.array(R), "rotations", (count, 3, 3)))

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
    """

    name: str
    kind: str
    size: tuple[float, ...] = ()
    position: ArrayLike | None = None
    rotation: ArrayLike | None = None
    triangles: Triangles | None = None
    path: Path | None = None

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
    position = frozen(p, f"{what}: position", (3,))
    if not np.isfinite(position).all():
        raise InputError(f"{what}: position: expected finite numbers, got {position.tolist()}")
    R = np.eye(3) if solid.rotation is None else rotation_of(solid.rotation, f"{what}: rotation")
    if getattr(solid, "path", None) is None:
        set_(solid, "position", position)
    set_(solid, "rotation", frozen(R, f"{what}: rotation", (3, 3)))


@dataclass(frozen=True, eq=False)
class Scene:
    """Obstacles, parts on the robot, and pairs of names that may touch.

    allowed  pairs (name, name) of links, parts or obstacles that are not checked against each
             other, such as a base and the table that it stands on
    notes    what a file had that is not part of the scene
    extra    those fields: start, goal and others
    """

    obstacles: tuple[Obstacle, ...] = ()
    parts: tuple[Part, ...] = ()
    allowed: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: tuple[tuple[str, type[Obstacle] | type[Part], tuple[Any, ...]], ...] = (
            ("obstacles", Obstacle, tuple(self.obstacles)),
            ("parts", Part, tuple(self.parts)),
        )
        for what, kind, items in given:
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
        for pair in self.allowed:
            if isinstance(pair, str) or len(tuple(pair)) != 2:
                raise InputError(f"scene: allowed: expected pairs of names, got {pair!r:.60}")
            one, other = pair
            pairs.append((text(one, "scene: allowed"), text(other, "scene: allowed")))
        object.__setattr__(self, "allowed", tuple(pairs))
        object.__setattr__(self, "notes", tuple(self.notes))

    __reduce__ = rebuilt

    def __repr__(self) -> str:
        return f"Scene({len(self.obstacles)} obstacles, {len(self.parts)} parts)"

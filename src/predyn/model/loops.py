"""Closed loops of a model: pairs of frames that are held together, as equations of a tree.

With p the position and x, y, z the axes of frames a and b in the world, the equations are

    point     p_a - p_b = 0                               origins coincide
    hinge     p_a - p_b = 0,  z_a.x_b = z_a.y_b = 0       and the z axes are the same
    weld      p_a - p_b = 0,  z_b.y_a = x_b.z_a = y_b.x_a = 0     and so are all axes
    distance  (|p_a - p_b|^2 - d^2) / (2 d) = 0           origins are d apart

The three products of a weld are the elements 32, 13 and 21 of R_b^T R_a. They also vanish if the
frames differ by a half turn about one of their axes, and those of a hinge if z_a = -z_b. These
false roots satisfy the equations but do not close the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.model.parts import LARGEST, Array, frozen, text

if TYPE_CHECKING:
    from predyn.model.model import Model

POSITION = ("x", "y", "z")
EQUATIONS = {
    "point": POSITION,
    "hinge": (*POSITION, "tilt x", "tilt y"),
    "weld": (*POSITION, "turn x", "turn y", "turn z"),
    "distance": ("distance",),
}
KINDS = tuple(EQUATIONS)
# axes of a and of b whose products vanish, in the order of the equations
PRODUCTS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "point": (),
    "hinge": ((2, 0), (2, 1)),
    "weld": ((1, 2), (2, 0), (0, 1)),
}
CLOSED = 1e-9  # m and rad, largest gap of a loop that a lock closes for good


@dataclass(frozen=True)
class Loop:
    """Two frames of a model that are held together.

    name               of the loop
    kind               "point": the origins coincide; "hinge": and so do the z axes; "weld": the
                       frames coincide; "distance": the origins are `distance` apart
    frame_a, frame_b   names of frames or links, or "world"
    distance           m, of kind "distance" alone
    """

    name: str
    kind: str
    frame_a: str
    frame_b: str
    distance: float | None = None

    def __post_init__(self) -> None:
        what = f"loop {text(self.name, 'loop name')!r:.60}"
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise unknown_name(f"kind of {what}", self.kind, KINDS)
        for side in ("frame_a", "frame_b"):
            text(getattr(self, side), f"{what}: {side}")
        if self.kind != "distance":
            if self.distance is not None:
                raise InputError(
                    f"{what}: distance {self.distance!r:.40} given, but only a loop of kind "
                    f"'distance' has one; it is of kind {self.kind!r}"
                )
        elif self.distance is None:
            raise InputError(f"{what}: expected the distance (m) of its frames, got none")
        else:
            d = float(frozen(self.distance, f"{what}: distance", ()))
            if not 0.0 < d <= LARGEST:
                raise InputError(
                    f"{what}: distance: expected a number above 0 and up to {LARGEST:g} m, got {d}"
                )
            object.__setattr__(self, "distance", d)

    @property
    def equations(self) -> tuple[str, ...]:
        """Names of its equations, such as "NAME x"."""
        return tuple(f"{self.name} {part}" for part in EQUATIONS[self.kind])


class Gap(NamedTuple):
    """How far a loop is from closed."""

    distance: Array  # (...) m
    angle: Array  # (...) rad, 0 .. pi; 0 for loops that leave rotations free

    @property
    def largest(self) -> Array:
        """The larger one."""
        return np.maximum(self.distance, self.angle)


def loop_values(loop: Loop, R_a: Array, p_a: Array, R_b: Array, p_b: Array) -> Array:
    """Left sides (..., m) of the equations, for poses R (..., 3, 3), p (..., 3) of the frames."""
    apart = p_a - p_b
    if loop.distance is not None:
        d = loop.distance
        return np.asarray(((apart * apart).sum(axis=-1, keepdims=True) - d * d) / (2.0 * d))
    products = [(R_a[..., i] * R_b[..., k]).sum(axis=-1) for i, k in PRODUCTS[loop.kind]]
    return np.concatenate((apart, *(x[..., None] for x in products)), axis=-1)


def loop_gap(loop: Loop, R_a: Array, p_a: Array, R_b: Array, p_b: Array) -> Gap:
    """How far apart the frames are, with false roots of the equations half a turn from closed."""
    length = np.linalg.norm(p_a - p_b, axis=-1)
    angle = np.zeros_like(length)
    if loop.distance is not None:
        length = np.abs(length - loop.distance)
    elif loop.kind == "hinge":
        x, y, z = (np.sum(R_a[..., 2] * R_b[..., k], axis=-1) for k in range(3))
        angle = np.arctan2(np.hypot(x, y), z)
    elif loop.kind == "weld":
        R = np.swapaxes(R_b, -1, -2) @ R_a
        sines = [R[..., i, k] - R[..., k, i] for i, k in ((2, 1), (0, 2), (1, 0))]
        angle = np.arctan2(
            np.linalg.norm(np.stack(sines, axis=-1), axis=-1),
            np.trace(R, axis1=-2, axis2=-1) - 1.0,
        )
    return Gap(length, angle)


def loop_problems(model: Model) -> list[str]:
    """Loops whose frames are missing or on one link, and names that occur twice."""
    problems, seen = [], set()
    given: tuple[Any, ...] = model.loops
    for loop in given:
        if not isinstance(loop, Loop):
            problems.append(f"loops: expected Loop, got {type(loop).__name__}")
            continue
        what = f"loop {loop.name!r:.60}"
        if loop.name in seen:
            problems.append(f"{what} is used twice: names must differ")
        seen.add(loop.name)
        frames = (loop.frame_a, loop.frame_b)
        known = model.frame_names
        missing = [unknown_name("frame", x, known) for x in frames if x not in known]
        problems += [f"{what}: {error}" for error in missing]
        if not missing:
            link = model.frame(loop.frame_a).link
            if link == model.frame(loop.frame_b).link:
                on = "the world" if link < 0 else f"link {model.link_names[link]!r:.60}"
                problems.append(
                    f"{what}: its frames {loop.frame_a!r:.60} and {loop.frame_b!r:.60} are both "
                    f"fixed to {on}; expected frames that move relative to each other"
                )
    return problems


def open_loops(model: Model, frames: Mapping[str, Any]) -> tuple[tuple[Loop, ...], list[str]]:
    """Loops that remain, and notes on those that do not, if their frames are now `frames`.

    A loop whose frames are on the same link stays closed and is dropped, or can never be closed,
    which is an error.
    """
    left, notes = [], []
    for loop in model.loops:
        a, b = frames[loop.frame_a], frames[loop.frame_b]
        if a.link != b.link:
            left.append(loop)
            continue
        gap = loop_gap(loop, a.R, a.p, b.R, b.p)
        if not gap.largest <= CLOSED:
            raise InputError(
                f"loop {loop.name!r:.60} cannot be closed: the locked joints leave its frames "
                f"{float(gap.distance):.3g} m and {float(gap.angle):.3g} rad apart; lock them at "
                "a pose with closed loops (predyn.close_loops)"
            )
        notes.append(f"loop {loop.name!r} is closed by locked joints and dropped")
    return tuple(left), notes


def named_loops(model: Model, names: str | Sequence[str] | None) -> tuple[Loop, ...]:
    """The loops with these names, in the model's order; all if None."""
    if names is None:
        return model.loops
    wanted = (names,) if isinstance(names, str) else tuple(names)
    known = {loop.name: loop for loop in model.loops}
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            raise unknown_name(f"loop of model {model.name!r:.60}", name, known)
    return tuple(loop for loop in model.loops if loop.name in wanted)

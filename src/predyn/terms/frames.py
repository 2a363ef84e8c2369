"""Position, velocity, orientation and axes of frames; all are linear in the frame's channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.model.orientations import rotation_of, zero_rounding
from predyn.samples import FRAME_PARTS
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import (
    AXES,
    Floats,
    check_choice,
    frame_channel,
    read_numbers,
    read_positive,
    read_real,
)
from predyn.terms.term import Term

Vector = ArrayLike | Sequence[float | None]  # None: free
Bounds = tuple[Floats | None, Floats | None]


@dataclass(frozen=True, eq=False)
class FramePosition(Term):
    """Position of a frame's origin minus a target, m, world axes.

    None or NaN in the target leaves an axis free.
    """

    frame: str
    target: Vector = (0.0, 0.0, 0.0)

    kind = "frame_position"

    def bind(self, model: Model) -> Linear:
        channel = frame_channel(model, self.frame, self.kind)
        axes, target = _find_axes(self.target, "frame_position: target")
        if not len(axes):
            raise InputError("frame_position: target leaves all axes free; give at least one")
        return Linear(
            tuple(f"{self.frame} {AXES[k]}" for k in axes),
            ("m",) * len(axes),
            np.ones(len(axes)),
            [Block(0, channel, FRAME_PARTS["p"].start + axes, np.ones(len(axes)))],
            target,
        )


@dataclass(frozen=True, eq=False)
class FrameVelocity(Term):
    """Velocity of a frame's origin (m/s) and angular velocity (rad/s) minus targets, world axes.

    None in place of a vector leaves that part free; None or NaN in a vector leaves an axis free.
    """

    frame: str
    linear: Vector | None = (0.0, 0.0, 0.0)
    angular: Vector | None = None

    kind = "frame_velocity"

    def bind(self, model: Model) -> Linear:
        channel = frame_channel(model, self.frame, self.kind)
        v, v_target = _find_axes(self.linear, "frame_velocity: linear")
        w, w_target = _find_axes(self.angular, "frame_velocity: angular")
        components = np.concatenate((FRAME_PARTS["v"].start + v, FRAME_PARTS["w"].start + w))
        if not len(components):
            raise InputError(
                "frame_velocity: linear and angular leave everything free; give at least one"
            )
        rows = [f"{self.frame} v{AXES[k]}" for k in v] + [f"{self.frame} w{AXES[k]}" for k in w]
        return Linear(
            tuple(rows),
            ("m/s",) * len(v) + ("rad/s",) * len(w),
            np.ones(len(rows)),
            [Block(0, channel, components, np.ones(len(rows)))],
            np.concatenate((v_target, w_target)),
        )


@dataclass(frozen=True, eq=False)
class FrameOrientation(Term):
    """Rotation of a frame away from a target: a rotation matrix, or roll, pitch, yaw in radians.

    form "equal"  sin(angle) times the axis of the rotation from the target, in target axes
                  (3 rows), and 1 - cos(angle), which is bounded by 1: otherwise a half turn would
                  be as good as none. As a square cost, the rows add up to 2 - 2 cos(angle).
         "angle"  1 - cos(angle) alone, bounded by its value at `tolerance` (rad; without one, a
                  constraint must give its own bounds).
    Roll, pitch, yaw are rotations about the world's x, then y, then z.
    """

    frame: str
    target: ArrayLike = (0.0, 0.0, 0.0)
    form: Literal["equal", "angle"] = "equal"
    tolerance: float | None = None

    kind = "frame_orientation"

    def __post_init__(self) -> None:
        _check_form(self.kind, self.form, self.tolerance)

    def bind(self, model: Model) -> Linear:
        channel = frame_channel(model, self.frame, self.kind)
        target = rotation_of(self.target, f"{self.kind}: target")
        names, matrix = _turn_rows(self.frame, target)
        bounds = _turn_bounds(3)
        if self.form == "angle":
            names, matrix = names[3:], matrix[3:]
            bounds = _angle_bounds(self.tolerance)
        offset = np.zeros(len(names))
        offset[-1] = -1.5  # 1 - cos(angle) = 3 / 2 - trace / 2
        return Linear(
            names,
            ("1",) * len(names),
            np.ones(len(names)),
            [Block(0, channel, np.arange(9), matrix)],
            offset,
            *bounds,
        )


@dataclass(frozen=True, eq=False)
class FramePose(Term):
    """Position and orientation of a frame: FramePosition and FrameOrientation ("equal") in one."""

    frame: str
    position: Vector = (0.0, 0.0, 0.0)
    orientation: ArrayLike = (0.0, 0.0, 0.0)

    kind = "frame_pose"

    def bind(self, model: Model) -> Linear:
        channel = frame_channel(model, self.frame, self.kind)
        axes, target = _find_axes(self.position, "frame_pose: position")
        orientation = rotation_of(self.orientation, f"{self.kind}: orientation")
        names, matrix = _turn_rows(self.frame, orientation)
        m = len(axes)
        blocks = [Block(m, channel, np.arange(9), matrix)]
        if m:
            blocks.append(Block(0, channel, FRAME_PARTS["p"].start + axes, np.ones(m)))
        return Linear(
            (*(f"{self.frame} {AXES[k]}" for k in axes), *names),
            ("m",) * m + ("1",) * 4,
            np.ones(m + 4),
            blocks,
            np.concatenate((target, [0.0, 0.0, 0.0, -1.5])),
            *_turn_bounds(m + 3),
        )


@dataclass(frozen=True, eq=False)
class FrameAxis(Term):
    """Deviation of an axis ("x", "y", "z") of a frame from a direction in the world.

    form "equal"  components of the axis along two directions perpendicular to the target, and
                  1 - cos(angle), which is bounded by 1; as a square cost they add up to
                  2 - 2 cos(angle)
         "angle"  1 - cos(angle) alone, bounded by its value at `tolerance` (rad; without one, a
                  constraint must give its own bounds)
    """

    frame: str
    axis: Literal["x", "y", "z"] = "z"
    direction: ArrayLike = (0.0, 0.0, 1.0)
    form: Literal["equal", "angle"] = "equal"
    tolerance: float | None = None

    kind = "frame_axis"

    def __post_init__(self) -> None:
        check_choice("axis", self.axis, tuple(AXES))
        _check_form(self.kind, self.form, self.tolerance)

    def bind(self, model: Model) -> Linear:
        channel = frame_channel(model, self.frame, self.kind)
        along = unit_direction(self.direction, "frame_axis: direction")
        side = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        side = zero_rounding(side / np.linalg.norm(side))
        matrix = np.stack((side, zero_rounding(np.cross(along, side)), -along))
        names = tuple(f"{self.frame} {self.axis} {part}" for part in ("side1", "side2", "1-cos"))
        bounds = _turn_bounds(2)
        if self.form == "angle":
            names, matrix = names[2:], matrix[2:]
            bounds = _angle_bounds(self.tolerance)
        offset = np.zeros(len(names))
        offset[-1] = -1.0
        return Linear(
            names,
            ("1",) * len(names),
            np.ones(len(names)),
            [Block(0, channel, AXES.index(self.axis) + np.array([0, 3, 6]), matrix)],
            offset,
            *bounds,
        )


def unit_direction(value: ArrayLike | str, what: str) -> Floats:
    """A unit vector (3,) from an axis name or any nonzero vector."""
    if isinstance(value, str):
        check_choice(what, value, tuple(AXES))
        return np.asarray(np.eye(3)[AXES.index(value)])
    vector = read_numbers(value, what, AXES)
    length = np.linalg.norm(vector)
    if np.ndim(value) != 1 or not length > 0.0:
        raise InputError(f"{what}: expected a nonzero vector (3,), got {value!r:.60}")
    return zero_rounding(vector / length)


def _find_axes(value: Vector | None, what: str) -> tuple[NDArray[np.int64], Floats]:
    """The axes with a number, and the numbers."""
    vector = np.full(3, np.nan) if value is None else read_real(value, what)
    if vector.shape != (3,) or np.any(np.isinf(vector)):
        raise InputError(
            f"{what}: expected (x, y, z), each a number or None to leave it free, got {value!r:.60}"
        )
    axes = np.flatnonzero(~np.isnan(vector))
    return axes, vector[axes]


def _turn_rows(frame: str, target: Floats) -> tuple[tuple[str, ...], Floats]:
    """Rows linear in R (9): vee of the antisymmetric part of E = target^T R, and -trace(E) / 2."""
    names = tuple(f"{frame} {part}" for part in ("turn x", "turn y", "turn z", "1-cos"))
    return names, np.einsum("ki,rij->rkj", target, _PICK).reshape(4, 9)


def _picked() -> Floats:
    """(4, 3, 3) factors of E in these rows."""
    pick = np.zeros((4, 3, 3))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        pick[k, j, i], pick[k, i, j] = 0.5, -0.5
    pick[3] = -0.5 * np.eye(3)
    return pick


_PICK = _picked()


def _check_form(kind: str, form: str, tolerance: float | None) -> None:
    check_choice(f"form of {kind}", form, ("equal", "angle"))
    if tolerance is not None:
        read_positive(tolerance, f"{kind}: tolerance", ("angle",))
        if form != "angle" or tolerance > np.pi:
            raise InputError(
                f"{kind}: a tolerance needs form 'angle' and is at most pi, "
                f"got {tolerance:g} with form {form!r}"
            )


def _turn_bounds(zeros: int) -> Bounds:
    """Zero for all rows but the last: 1 - cos(angle) is at most 1 and needs no lower bound."""
    return np.append(np.zeros(zeros), -np.inf), np.append(np.zeros(zeros), 1.0)


def _angle_bounds(tolerance: float | None) -> Bounds:
    """Bounds of 1 - cos(angle), without cancellation at small angles; none without a tolerance."""
    if tolerance is None:
        return None, None
    return np.array([-np.inf]), np.array([2.0 * np.sin(0.5 * tolerance) ** 2])

"""Capsules: the points within a radius of a segment, as collision shapes of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.model.parts import Array, Shape, frozen

if TYPE_CHECKING:
    from predyn.model.model import Model


class Capsule(NamedTuple):
    """The points within `radius` (m) of the segment from a to b (3,), in the axes of `link`, which
    names a link, a frame or "world". A sphere has a = b."""

    link: str
    a: ArrayLike
    b: ArrayLike
    radius: float


def rotation_to(direction: Array) -> Array:
    """A rotation (3, 3) whose z axis is the direction; the identity for the zero vector."""
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return np.eye(3)
    z = direction / length
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def capsule_shape(model: Model, k: int, capsule: Capsule) -> Shape:
    """The collision shape of capsule number k of a list."""
    try:
        link, a, b, radius = capsule
    except (TypeError, ValueError):
        raise InputError(
            f"capsules[{k}]: expected a predyn.Capsule (link, a, b, radius), got {capsule!r:.60}"
        ) from None
    frame, what = model.frame(link), f"capsules[{k}] on {link!r:.40}"
    ends = [frame.R @ frozen(x, f"{what}: end", (3,)) + frame.p for x in (a, b)]
    size = float(frozen(radius, f"{what}: radius", ()))
    if not (0.0 < size < np.inf and np.isfinite(ends).all()):
        raise InputError(f"{what}: expected finite ends and a positive radius, got {size}")
    axis = ends[1] - ends[0]
    length = float(np.linalg.norm(axis))
    middle = 0.5 * (ends[0] + ends[1])
    return Shape(frame.link, "capsule", rotation_to(axis), middle, (size, length), role="collision")

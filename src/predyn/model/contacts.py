"""Contact points of a model: frames that may touch the ground, grouped in patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predyn.model.model import Model


@dataclass(frozen=True)
class ContactPoint:
    """A point of a link that may touch the ground.

    name   of the frame at the point
    patch  the patch that it belongs to, such as a sole; friction holds for the whole patch
    """

    name: str
    patch: str


def patches_of(points: Sequence[ContactPoint]) -> dict[str, tuple[str, ...]]:
    """Names of the contact points of each patch, in their order."""
    found: dict[str, tuple[str, ...]] = {}
    for point in points:
        found[point.patch] = (*found.get(point.patch, ()), point.name)
    return found


def contact_point_problems(model: Model) -> list[str]:
    """Contact points that are no frames of moving links, or that occur twice."""
    problems, seen = [], set()
    frames = {frame.name: frame.link for frame in model.frames}
    given: tuple[Any, ...] = model.contact_points
    for point in given:
        if not isinstance(point, ContactPoint):
            problems.append(f"contact_points: expected ContactPoint, got {type(point).__name__}")
            continue
        what = f"contact point {point.name!r:.60}"
        if point.name in seen:
            problems.append(f"{what} is used twice: names must differ")
        elif point.name not in frames:
            problems.append(f"{what}: expected the name of a frame of the model")
        elif frames[point.name] < 0:
            problems.append(f"{what} is fixed to the world; give it to a moving link")
        if not isinstance(point.patch, str) or not point.patch.strip():
            problems.append(f"{what}: patch {point.patch!r:.40}: expected a nonempty string")
        seen.add(point.name)
    return problems

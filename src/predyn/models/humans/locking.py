"""Groups of joints that simpler models of a person hold at 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from predyn.errors import InputError, unknown_name

LOCK_GROUPS: dict[str, tuple[str, ...]] = {  # beginnings of joint names
    "neck": ("lower_neck", "upper_neck"),
    "clavicles": ("clavicle",),
    "wrists": ("wrist",),
    "upper spine": ("spine3", "spine4"),
}


def joints_to_lock(lock: Any, joints: Sequence[str]) -> list[str]:
    """The joints of groups and of single names, in the order of the model."""
    given = (lock,) if isinstance(lock, str) else lock
    if not isinstance(given, Iterable):
        raise InputError(f"lock: expected names of groups or joints, got {lock!r:.60}")
    found = set()
    for name in given:
        if isinstance(name, str) and name in LOCK_GROUPS:
            found |= {joint for joint in joints if joint.startswith(LOCK_GROUPS[name])}
        elif name in joints:
            found.add(name)
        else:
            raise unknown_name("group or joint in lock", name, [*LOCK_GROUPS, *joints])
    return [joint for joint in joints if joint in found]

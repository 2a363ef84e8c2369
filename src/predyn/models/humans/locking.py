"""Groups of joints that simpler models of a person hold at 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from predyn.errors import InputError, unknown_name
from predyn.models.humans.hands import DIGITS

LOCK_GROUPS: dict[str, tuple[str, ...]] = {  # beginnings of joint names
    "neck": ("lower_neck", "upper_neck"),
    "clavicles": ("clavicle",),
    "wrists": ("wrist",),
    "upper spine": ("spine3", "spine4"),
    "fingers": tuple(f"{digit}_" for digit in DIGITS),
}


def joints_to_lock(lock: Any, joints: Sequence[str]) -> list[str]:
    """The joints of groups and of single names, in the order of the model."""
    given = (lock,) if isinstance(lock, str) else lock
    if not isinstance(given, Iterable):
        raise InputError(f"lock: expected names of groups or joints, got {lock!r:.60}")
    found = set()
    for name in given:
        if isinstance(name, str) and name in LOCK_GROUPS:
            group = {joint for joint in joints if joint.startswith(_starts(name, joints))}
            if not group:
                raise InputError(f"lock: this person has no {name}; give detailed=True")
            found |= group
        elif name in joints:
            found.add(name)
        else:
            raise unknown_name("group or joint in lock", name, [*LOCK_GROUPS, *joints])
    return [joint for joint in joints if joint in found]


def _starts(group: str, joints: Sequence[str]) -> tuple[str, ...]:
    """Beginnings of the names; the upper spine is the upper half of a spine of six joints too."""
    if group == "upper spine" and any(joint.startswith("spine6") for joint in joints):
        return ("spine4", "spine5", "spine6")
    return LOCK_GROUPS[group]

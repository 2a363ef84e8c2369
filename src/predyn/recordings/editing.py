"""Changes to a recording after it was read: other names, and a part of its time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.recordings.measurements import MeasuredForce, Measurements

ANY = "*"
Channel = TypeVar("Channel")


def rename_channels(data: Measurements, rename: Mapping[str, str] | None) -> Measurements:
    """The recording with other names of joints, markers and forces.

    A `*` in an old name stands for any text, which replaces the `*` of the new one:
    `{"Subject:*": "*"}` removes a prefix. The first entry that matches a name applies.
    """
    if rename is None:
        return data
    if not isinstance(rename, Mapping) or not all(
        isinstance(x, str) and x.strip() and x.count(ANY) < 2
        for pair in rename.items()
        for x in pair
    ):
        raise InputError(
            "rename: expected a mapping, old name -> new name, each with at most one '*', got "
            f"{rename!r:.80}"
        )
    for old, new in rename.items():
        if ANY in new and ANY not in old:
            raise InputError(f"rename: {new!r:.60} has a '*', but {old!r:.60} has none")
    used: set[str] = set()
    new_names: dict[str, str] = {}

    def renamed(kind: str, channels: Mapping[str, Channel]) -> dict[str, Channel]:
        made: dict[str, Channel] = {}
        for name, values in channels.items():
            old, new = _apply(rename, name)
            used.add(old)
            if new in made:
                raise InputError(
                    f"rename: two {kind} would be named {new!r:.60}, one of them {name!r:.60}"
                )
            made[new] = values
            if new != name:
                new_names[name] = new
        return made

    result = replace(
        data,
        angles=renamed("joints", data.angles),
        markers=renamed("markers", data.markers),
        forces=renamed("forces", data.forces),
        units={_apply(rename, name)[1]: unit for name, unit in data.units.items()},
    )
    for old in rename:
        if old not in used:
            known = [*data.angles, *data.markers, *data.forces]
            raise unknown_name("name to rename", old, known)
    if not new_names:
        return data
    shown = [f"{old!r:.60} to {new!r:.60}" for old, new in list(new_names.items())[:6]]
    more = f" and {len(new_names) - 6} more" if len(new_names) > 6 else ""
    return replace(result, notes=(*data.notes, f"renamed: {', '.join(shown)}{more}"))


def _apply(rename: Mapping[str, str], name: str) -> tuple[str, str]:
    """The entry that matches a name, "" if none, and the new name."""
    for old, new in rename.items():
        head, star, tail = old.partition(ANY)
        if not star:
            if old == name:
                return old, new
        elif len(name) > len(head) + len(tail) and name.startswith(head) and name.endswith(tail):
            return old, new.replace(ANY, name[len(head) : len(name) - len(tail)])
    return "", name


def trim_recording(
    data: Measurements, start: float | None = None, end: float | None = None
) -> Measurements:
    """The samples from `start` to `end` (s, both included); None: no limit on that side.

    Forces keep one more sample on either side, so that they cover the motion.
    """
    if start is None and end is None:
        return data
    low = check_number("start", start, -math.inf)
    high = check_number("end", end, math.inf)
    if low > high:
        raise InputError(f"start, end: expected start before end, got {low:g} and {high:g} s")
    margin = 1e-9 * max(abs(float(data.t[0])), abs(float(data.t[-1])), 1e-9)
    inside = (data.t >= low - margin) & (data.t <= high + margin)
    if not inside.any():
        raise InputError(
            f"start, end: no samples from {low:g} to {high:g} s; the recording has "
            f"{data.t[0]:.6g} to {data.t[-1]:.6g} s"
        )
    return replace(
        data,
        t=data.t[inside],
        angles={name: x[inside] for name, x in data.angles.items()},
        markers={name: x[inside] for name, x in data.markers.items()},
        forces={name: _trim_force(force, low, high) for name, force in data.forces.items()},
        notes=(*data.notes, f"{int(inside.sum())} of {len(inside)} samples used, from "
               f"{data.t[inside][0]:.6g} to {data.t[inside][-1]:.6g} s"),
    )  # fmt: skip


def _trim_force(force: MeasuredForce, low: float, high: float) -> MeasuredForce:
    first = max(int(np.searchsorted(force.t, low, "right")) - 1, 0)
    last = min(int(np.searchsorted(force.t, high, "left")) + 1, len(force.t))
    part = slice(min(first, last - 1), last)
    return MeasuredForce(force.t[part], force.force[part], force.point[part], force.moment[part])


def check_number(what: str, value: object, default: float) -> float:
    """A finite number, or the default for None."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{what}: expected a number, got {value!r:.60}")
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{what}: expected a finite number, got {value!r:.60}")
    return number

"""Joint values in a task file: one number for all, a list in joint order, or a table by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from predyn.config.findings import Findings
from predyn.config.lines import Path
from predyn.errors import unknown_name
from predyn.model import PRISMATIC, Model
from predyn.model.parts import Array

DEGREE = math.pi / 180.0


def is_number(value: object) -> bool:
    """Whether the value is a number that a float can hold."""
    return isinstance(value, float) or (type(value) is int and value.bit_length() < 1024)


def radians(value: Any, where: Path, findings: Findings) -> Any:
    """Convert a number or nested lists of numbers from degrees to rad."""
    if is_number(value):
        return value * DEGREE
    if isinstance(value, list):
        return [radians(x, where, findings) for x in value]
    findings.add(where, f"expected numbers, got {value!r:.60}")
    return 0.0


def values_of(model: Model, table: Any, key: str, where: Path, findings: Findings) -> Array | None:
    """Values (n,) from `key` and `key`_deg, NaN where not given; None if both keys are absent."""
    return _filled(model, table, key, where, findings, np.full(model.n, np.nan))


def bounds_of(
    model: Model, table: Any, key: str, where: Path, findings: Findings, default: Array
) -> Array | None:
    """Bounds (n, 2) from `key` and `key`_deg; a single number x means -x to x."""
    return _filled(model, table, key, where, findings, default.copy())


def _filled(
    model: Model, table: Any, key: str, where: Path, findings: Findings, result: Array
) -> Array | None:
    assigned: set[int] = set()
    given = False
    for name, factor in ((key, 1.0), (f"{key}_deg", DEGREE)):
        value = getattr(table, name, None)
        if value is None:
            continue
        given = True
        for joint, entry, place in _entries(model, value, (*where, name), findings):
            joint_name = model.joint_names[joint]
            if joint in assigned:
                findings.add(place, f"joint {joint_name!r} is already given by {key!r}")
            elif factor != 1.0 and model.kind[joint] == PRISMATIC:
                findings.add(
                    place,
                    f"joint {joint_name!r} is prismatic and takes no degrees; use {key!r} in SI "
                    "units",
                )
            elif result.ndim == 2:
                result[joint] = factor * np.array(_pair(entry, place, findings))
            elif is_number(entry):
                result[joint] = factor * entry
            else:
                findings.add(place, f"expected a number, got {entry!r:.60}")
            assigned.add(joint)
    return result if given else None


def _entries(
    model: Model, value: Any, where: Path, findings: Findings
) -> Iterator[tuple[int, Any, Path]]:
    """Yield the index of each joint, its entry, and the path of the entry."""
    if is_number(value):
        for joint in range(model.n):
            yield joint, value, where
    elif isinstance(value, list):
        if len(value) != model.n:
            findings.add(
                where,
                f"expected {model.n} entries, one per joint ({_listed(model)}), got {len(value)}",
            )
            return
        for joint, entry in enumerate(value):
            yield joint, entry, (*where, joint)
    elif isinstance(value, dict):
        for name, entry in value.items():
            if name in model.joint_names:
                yield model.joint_names.index(name), entry, (*where, name)
            else:
                findings.add((*where, name), str(unknown_name("joint", name, model.joint_names)))
    else:
        findings.add(
            where,
            f"expected a number for all joints, a list of {model.n} or a table by joint name, "
            f"got {value!r:.60}",
        )


def _pair(entry: Any, where: Path, findings: Findings) -> tuple[float, float]:
    if is_number(entry):
        if entry < 0.0 or math.isnan(entry):
            findings.add(
                where,
                f"expected a number not below 0 (plus and minus) or [lower, upper], got {entry}",
            )
        return -entry, entry
    if isinstance(entry, list) and len(entry) == 2 and all(is_number(x) for x in entry):
        return entry[0], entry[1]
    findings.add(where, f"expected a number or [lower, upper], got {entry!r:.60}")
    return -math.inf, math.inf


def _listed(model: Model) -> str:
    names = ", ".join(model.joint_names[:6])
    return names + (", ..." if model.n > 6 else "")

"""Read contacts, the ground and the cycle of a task file."""

from __future__ import annotations

from typing import Any

from predyn.config.findings import Findings
from predyn.config.joints import is_number
from predyn.config.lines import Path
from predyn.config.schema import ContactTable, CycleTable, GroundTable
from predyn.errors import InputError
from predyn.problem import Contact, Cycle, Ground, Points

FREE = "free"  # a coordinate that a place leaves open
POINTS = ("limits", "motion")


def contacts_of(tables: list[ContactTable], where: Path, findings: Findings) -> tuple[Contact, ...]:
    """Contacts of a phase."""
    made = []
    for k, table in enumerate(tables):
        place: Any = table.place
        if place is not None:
            if not isinstance(place, list) or len(place) != 3:
                findings.add(
                    (*where, k, "place"),
                    f"expected three entries [x, y, z], each a number, the name of a parameter or "
                    f"{FREE!r}, got {place!r:.60}",
                )
                place = None
            else:
                place = tuple(None if x == FREE else x for x in place)
        made.append(Contact(table.point, table.push, table.hold, place, table.shared))
    return tuple(made)


def ground_of(table: GroundTable) -> Ground:
    steps: Any = tuple(tuple(step) for step in table.steps)
    cone: Any = table.cone
    return Ground(table.friction, cone, table.slope, table.height, steps, table.ramp)


def cycle_of(table: CycleTable | None) -> Cycle | None:
    if table is None:
        return None
    mirror: Any = table.mirror  # checked with the problem
    return Cycle(tuple(table.advance), table.swap, table.signs, mirror)


def points_of(value: Any) -> Points | None:
    """Where a constraint is imposed: {of = "motion", first = 3}."""
    if value is None:
        return None
    expected = "expected a table such as { of = 'motion', first = 3, last = 0 }"
    if not isinstance(value, dict) or value.keys() - {"of", "first", "last"}:
        raise InputError(f"{expected}, got {value!r:.60}")
    counts = [value.get(key, 0) for key in ("first", "last")]
    whole = all(is_number(x) and isinstance(x, int) and x >= 0 for x in counts)
    if value.get("of", "limits") not in POINTS or not whole:
        raise InputError(f"{expected} with of one of {', '.join(POINTS)}, got {value!r:.60}")
    return Points(value.get("of", "limits"), *counts)

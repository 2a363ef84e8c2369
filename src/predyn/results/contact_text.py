"""The contacts of a task and its model in words, for `predyn check`."""

from __future__ import annotations

from predyn.model import Model
from predyn.problem import Contact, Phase, Problem
from predyn.problem.contacts import Coordinate


def patch_lines(model: Model) -> list[str]:
    """The contact points of each patch."""
    return [f"contact patch {name!r}: {', '.join(x)}" for name, x in model.patches.items()]


def ground_lines(problem: Problem) -> list[str]:
    """The ground and the cycle of a problem with contacts."""
    if problem.cycle is None and not any(phase.contacts for phase in problem.phases):
        return []
    ground, cycle = problem.ground, problem.cycle
    words = [f"friction {ground.friction:g} ({ground.cone})"]
    words += [f"slope {ground.slope:g}"] if ground.slope else []
    words += [f"height {ground.height:g} m"] if ground.height else []
    words += [f"{len(ground.steps)} steps"] if ground.steps else []
    lines = [f"ground: {', '.join(words)}"]
    if cycle is not None:
        by = ", ".join(_coordinate(x) for x in cycle.advance)
        mirror = f", mirrored along {cycle.mirror}" if cycle.mirror else ""
        lines.append(f"cycle: moves on by ({by}) m, {len(cycle.swap)} pairs change places{mirror}")
    return lines


def contact_lines(phase: Phase) -> list[str]:
    """The contacts of a phase."""
    return [_contact(contact) for contact in phase.contacts]


def _contact(contact: Contact) -> str:
    shared = f", {contact.shared} shared by its patch" if contact.shared else ""
    hold = f"held along {contact.hold}" if contact.hold else "not held"
    place = ""
    if contact.place is not None:
        place = f" at ({', '.join(_coordinate(x) for x in contact.place)})"
    push = contact.push or "no axis"
    return f"contact {contact.point!r}: pushed along {push}{shared}, {hold}{place}"


def _coordinate(value: Coordinate) -> str:
    return "free" if value is None else value if isinstance(value, str) else f"{value:g}"

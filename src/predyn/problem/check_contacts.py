"""Check the contacts, the ground and the cycle of a problem before they are written out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from predyn.errors import PredynError, unknown_name
from predyn.problem.check_cycles import (
    base_problems,
    cycle_problems,
    image_problems,
    stuck_problems,
)
from predyn.problem.check_instants import instant_problems
from predyn.problem.check_loops import loop_problems
from predyn.problem.check_phases import Finding, Path, finite, not_a_list
from predyn.problem.check_support import (
    carrying_problems,
    motor_problems,
    shared_problems,
    step_problems,
)
from predyn.problem.contacts import Contact, Ground
from predyn.problem.offers import phase_name
from predyn.problem.stances import AXES, Neighbours, Stances
from predyn.problem.unknowns import Parameter

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

STEEPEST = 1.0  # slope


def can_be_written_out(problem: Problem) -> bool:
    """Whether the loops, the contacts, the ground and the cycle have no errors."""
    from predyn.problem.contact_program import written_out

    try:
        if list(loop_problems(problem)) or list(contact_problems(problem)):
            return False
        written_out(problem)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False  # something beside them has a wrong type
    return True


def contact_problems(problem: Problem) -> Iterator[Finding]:
    """Errors in the contacts, the ground and the cycle, each with its path."""
    from predyn.problem.problem import Phase

    phases: Any = problem.phases
    if not isinstance(phases, tuple | list) or not all(isinstance(x, Phase) for x in phases):
        return  # reported elsewhere
    yield from instant_problems(problem)
    if problem.cycle is None and not any(phase.contacts for phase in phases):
        return
    wrong = [*_method(problem), *_ground(problem), *_contacts(problem), *cycle_problems(problem)]
    yield from wrong
    if not wrong:
        yield from motor_problems(problem)
        yield from shared_problems(problem)
        yield from carrying_problems(problem)
        yield from base_problems(problem)
        yield from image_problems(problem)
        yield from _places(problem)


def _method(problem: Problem) -> Iterator[Finding]:
    from predyn.problem.problem import Hybrid

    if isinstance(problem.transcription, Hybrid):
        yield (
            ("transcription",),
            "method 'hybrid' does not support contacts and cycles; use method 'spline'",
        )
    knots = getattr(problem.transcription, "knots", None)
    if isinstance(knots, str) and knots in ("free", "uniform"):
        yield (
            ("transcription", "knots"),
            f"{knots!r} cannot be combined with contacts and cycles; use 'clamped'",
        )


def _ground(problem: Problem) -> Iterator[Finding]:
    ground: Any = problem.ground
    if not isinstance(ground, Ground):
        yield ("ground",), f"expected a Ground, got {type(ground).__name__}; write Ground(...)"
        return
    if not finite(ground.friction) or ground.friction <= 0.0:
        yield (
            ("ground", "friction"),
            f"expected a coefficient above 0, got {ground.friction!r:.40}; without friction, let "
            "the ground push along z only (push = 'z')",
        )
    if ground.cone not in ("pyramid", "cone"):
        yield ("ground", "cone"), str(unknown_name("cone", ground.cone, ("pyramid", "cone")))
    if not finite(ground.slope) or abs(ground.slope) > STEEPEST:
        got = f"{ground.slope!r:.40}"
        yield ("ground", "slope"), f"expected a rise from -1 to 1 m for each m along x, got {got}"
    steps: Any = ground.steps
    good = isinstance(steps, tuple | list) and all(
        isinstance(x, tuple | list) and len(x) == 2 and finite(x[0]) and finite(x[1]) for x in steps
    )
    if not good or any(a[0] >= b[0] for a, b in pairwise(steps)):
        yield (
            ("ground", "steps"),
            f"expected pairs (x, height) in m with increasing x, got {steps!r:.60}",
        )
    if not finite(ground.ramp) or ground.ramp <= 0.0:
        yield ("ground", "ramp"), f"expected a length above 0 in m, got {ground.ramp!r:.40}"
    if not finite(ground.height):
        yield ("ground", "height"), f"expected a number in m, got {ground.height!r:.40}"


def _contacts(problem: Problem) -> Iterator[Finding]:
    known = [point.name for point in problem.model.contact_points]
    pushes: dict[str, tuple[str, str, str]] = {}
    for p, phase in enumerate(problem.phases):
        where: Path = ("phases", p, "contacts")
        if not isinstance(phase.contacts, tuple | list):
            yield where, not_a_list(Contact, phase.contacts)
            continue
        seen: set[str] = set()
        for k, contact in enumerate(phase.contacts):
            place = (*where, k)
            if not isinstance(contact, Contact):
                yield place, f"expected a Contact, got {type(contact).__name__}"
                continue
            if contact.point not in known:
                if not known:
                    yield (
                        (*place, "point"),
                        f"model {problem.model.name!r} has no contact points; add them with "
                        "ModelBuilder.add_contact or Model.with_contact",
                    )
                else:
                    message = str(unknown_name("contact point", contact.point, known))
                    yield (*place, "point"), message
                continue
            if contact.point in seen:
                yield (*place, "point"), f"{contact.point!r} is listed twice in this phase"
            seen.add(contact.point)
            yield from _axes(contact, place)
            yield from _place(problem, contact, place)
            now = (contact.push, contact.shared, phase_name(problem, p))
            before = pushes.setdefault(contact.point, now)
            own = [{*x[0]} - {*x[1]} for x in (before, now) if isinstance(x[0], str)]
            if len(own) == 2 and own[0] != own[1] and own[0] and own[1]:
                yield (
                    (*place, "push"),
                    f"expected the axes of phase {before[2]!r}, {before[0]!r}, got "
                    f"{contact.push!r}: a contact point has the same unknown forces in all phases",
                )


def _axes(contact: Contact, where: Path) -> Iterator[Finding]:
    for field in ("push", "hold", "shared"):
        value: Any = getattr(contact, field)
        if not isinstance(value, str) or {*value} - {*AXES} or len({*value}) < len(value):
            yield (*where, field), f"expected some of 'xyz', each once, got {value!r:.40}"
            return
    if not contact.push and not contact.hold:
        yield where, "expected axes of push or hold, got neither: the contact has no effect"
    if {*contact.shared} - {*contact.push} or "z" in contact.shared:
        yield (
            (*where, "shared"),
            f"expected axes among x and y of push {contact.push!r}, got {contact.shared!r}",
        )


def _place(problem: Problem, contact: Contact, where: Path) -> Iterator[Finding]:
    place: Any = contact.place
    if place is None:
        return
    if not isinstance(place, tuple) or len(place) != 3:
        yield (*where, "place"), f"expected (x, y, z), got {place!r:.60}"
        return
    names = [x.name for x in problem.parameters if isinstance(x, Parameter)]
    for axis, value in zip(AXES, place, strict=True):
        if isinstance(value, str):
            if value not in names:
                yield (*where, "place"), str(unknown_name("parameter", value, names))
        elif value is not None and not finite(value):
            yield (
                (*where, "place"),
                f"{axis}: expected a number in m, the name of a parameter or None, got "
                f"{value!r:.40}",
            )


def _places(problem: Problem) -> Iterator[Finding]:
    neighbours = Neighbours(problem)
    stuck = list(stuck_problems(problem, neighbours))
    yield from stuck
    if stuck:
        return
    try:
        stances = Stances(problem, neighbours)
    except PredynError as error:
        yield ("phases",), str(error)
        return
    from predyn.problem.reach import reach_problems, state_problems

    wrong = [
        *reach_problems(problem, neighbours, stances),
        *state_problems(problem, neighbours, stances),
    ]
    yield from wrong or step_problems(problem, neighbours, stances)

"""Heel strikes and toe offs of both feet: from forces, and from the motion where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predyn.analysis.feet import Foot, Walk
from predyn.analysis.force_events import Contact, force_contacts
from predyn.analysis.kinematic_events import strikes_and_offs
from predyn.analysis.motions import Floats
from predyn.analysis.sides import SIDES
from predyn.errors import InputError, unknown_name

KINDS = STRIKE, OFF = "heel strike", "toe off"
SOURCES = FORCES, KINEMATICS, GIVEN, CONTACTS = "forces", "kinematics", "given", "contacts"
NEAR = 0.15  # s within which events from forces and from the motion are the same one


class Event(NamedTuple):
    """An event of one foot, and what it was found from."""

    time: float  # s
    side: str
    kind: str  # "heel strike" or "toe off"
    source: str = GIVEN


class FootEvents(NamedTuple):
    """The events of a foot in order, and the contacts that forces show."""

    events: list[Event]
    contacts: list[Contact]


def gait_events(t: Floats, walk: Walk, threshold: float, weight: float) -> dict[str, FootEvents]:
    """Events by side."""
    return {side: _of_foot(t, walk, walk.foot(side), threshold, weight) for side in SIDES}


def given_events(t: Floats, events: Sequence[Event]) -> dict[str, FootEvents]:
    """Events from elsewhere by side, checked."""
    by_side: dict[str, FootEvents] = {side: FootEvents([], []) for side in SIDES}
    if not isinstance(events, Sequence):
        raise InputError(f"events: expected predyn.analysis.Event of both feet, got {events!r:.80}")
    for event in events:
        if not isinstance(event, Event):
            raise InputError(f"events: expected predyn.analysis.Event, got {event!r:.80}")
        for what, got, valid in (("side", event.side, SIDES), ("kind", event.kind, KINDS)):
            if got not in valid:
                raise unknown_name(f"{what} of an event", got, valid)
        number = isinstance(event.time, int | float | np.number)
        if not number or not t[0] <= event.time <= t[-1]:
            raise InputError(
                f"events: expected times from {t[0]:.6g} to {t[-1]:.6g} s, got {event.time!r:.40}"
            )
        by_side[event.side].events.append(event._replace(source=GIVEN))
    for foot in by_side.values():
        foot.events.sort()
    return by_side


def _of_foot(t: Floats, walk: Walk, foot: Foot, threshold: float, weight: float) -> FootEvents:
    contacts = []
    if len(foot.t_force):
        contacts = force_contacts(foot.t_force, foot.force @ walk.up, threshold, weight)
    found = [
        Event(time, foot.side, kind, FORCES)
        for contact in contacts
        for kind, time in zip(KINDS, contact, strict=True)
        if np.isfinite(time)
    ]
    moved = strikes_and_offs(t, walk.along(foot.heel), walk.along(foot.toe))
    for kind, times in zip(KINDS, moved, strict=True):
        forces = np.array([event.time for event in found if event.kind == kind])
        late = _lateness(times, forces)
        found += [
            Event(float(time - late), foot.side, kind, KINEMATICS)
            for time in times
            if not _is_known(time - late, forces, contacts)
        ]
    inside = [event for event in found if t[0] <= event.time <= t[-1]]
    return FootEvents(sorted(inside), contacts)


def _lateness(times: Floats, forces: Floats) -> float:
    """By how much events from the motion are later than those of the same foot from forces, s."""
    if not len(times) or not len(forces):
        return 0.0
    apart = times[:, None] - forces
    near = apart[np.abs(apart) < NEAR]
    return float(np.median(near)) if len(near) else 0.0


def _is_known(time: float, forces: Floats, contacts: list[Contact]) -> bool:
    """Whether forces show this event, or that the foot stands on a plate at this time."""
    if len(forces) and np.abs(forces - time).min() < NEAR:
        return True
    return any(contact.start - NEAR < time < contact.end + NEAR for contact in contacts)

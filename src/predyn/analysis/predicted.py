"""Gait of a predicted motion: events from its contacts, and a cyclic step as a whole gait cycle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from predyn.analysis.events import CONTACTS, OFF, STRIKE, Event, FootEvents
from predyn.analysis.feet import Walk, links_of_foot
from predyn.analysis.sides import SIDES
from predyn.solution import Solution
from predyn.solution.ground import touches_ground

STEPS, STRIDES = 4, 2  # repetitions in which each foot has a whole cycle


def unrolled(solution: Solution) -> Solution:
    """A cyclic motion, as often as each foot needs from one heel strike to the next."""
    if solution.cycle is None or not touches_ground(solution):
        return solution
    return solution.repeated(STEPS if solution.cycle.mirrored else STRIDES)


def contact_events(solution: Solution, walk: Walk) -> dict[str, FootEvents]:
    """Heel strikes and toe offs where phases with and without contacts of a foot meet."""
    ends = np.cumsum([0.0, *(curve.duration for curve in solution.curves)]).tolist()
    ends[-1] = solution.duration
    points = {point.name for point in solution.model.contact_points}
    found = {}
    for side in SIDES:
        links = links_of_foot(solution.model, walk.foot(side).link)
        own = {x for x in points if solution.model.frame(x).link in links}
        touching = [any(f.link in own for f in system.forces) for system in solution.systems]
        # before its start, a cyclic motion is as it is at its end
        before = touching[-1] if solution.cycle is not None else touching[0]
        events = []
        for time, (earlier, later) in zip(ends, pairwise([before, *touching]), strict=False):
            if earlier != later:
                events.append(Event(float(time), side, STRIKE if later else OFF, CONTACTS))
        if solution.cycle is not None and touching[0] != touching[-1]:
            kind = STRIKE if touching[0] else OFF
            events.append(Event(solution.duration, side, kind, CONTACTS))
        found[side] = FootEvents(events, [])
    return found

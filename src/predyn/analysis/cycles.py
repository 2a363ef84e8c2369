"""gait_cycles: angles, moments and powers over the gait cycle, left and right.

A cycle lasts from a heel strike of a foot to the next one of the same foot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from predyn.analysis.curves import cycle_curves
from predyn.analysis.events import (
    CONTACTS,
    FORCES,
    GIVEN,
    KINEMATICS,
    OFF,
    STRIKE,
    Event,
    FootEvents,
    gait_events,
    given_events,
)
from predyn.analysis.feet import Walk, find_feet, walk_of
from predyn.analysis.gait import Cycle, GaitCycles
from predyn.analysis.motions import Motion, loaded_links, motion_of, not_a_motion
from predyn.analysis.norms import Norms
from predyn.analysis.parameters import spatiotemporal
from predyn.analysis.predicted import contact_events, unrolled
from predyn.analysis.sides import LEFT, RIGHT, SIDES
from predyn.errors import InputError, PredynError
from predyn.estimate.result import Estimate
from predyn.solution import Solution
from predyn.solution.ground import touches_ground

SHORTEST, LONGEST = 0.4, 3.0  # s, of a cycle of walking
THRESHOLD = 20.0  # N
EVEN = 1.5  # longest over shortest cycle of clear walking
MIDDLE = (0.2, 0.8)  # share of a cycle after which the other foot strikes


def gait_cycles(
    result: Estimate | Solution | Motion,
    *,
    feet: Mapping[str, str] | None = None,
    pairs: Mapping[str, Sequence[str]] | None = None,
    signs: Mapping[str, float] | None = None,
    norms: Norms | None = None,
    mass: float | None = None,
    threshold: float = THRESHOLD,
    events: Sequence[Event] | None = None,
) -> GaitCycles:
    """Curves over 0 to 100 % of the gait cycle, events, peaks, and times and lengths of steps.

    feet       {"left": ..., "right": ...}: link or frame of each foot; by default those on which
               forces act, else found by name
    pairs      {name: (left joint, right joint)}; by default found by name
    signs      {"knee_moment": -1, "hip": -1}: factors 1 or -1 of single curves, or of angle and
               moment of a joint; by default the signs of the model
    norms      from `load_norms`, drawn as bands
    mass       kg, that moments, powers and forces are divided by; by default that of the model
    threshold  N, of the vertical force at heel strike and toe off
    events     heel strikes and toe offs of both feet, where they are known: nothing is searched

    Events of a prediction come from its contacts, others from the forces on each foot; where there
    are none, from the motion. A cyclic prediction is repeated until each foot has a whole cycle,
    left and right exchanged as its problem states: one step gives the cycles of both legs. Moments,
    powers and reactions are given only for cycles whose stance was measured by forces: without
    the force of the ground they are wrong. Raises an InputError if there is no cycle.
    """
    whole = unrolled(result) if isinstance(result, Solution) else result
    motion = motion_of(whole)
    if norms is not None and not isinstance(norms, Norms):
        raise InputError(f"norms: expected those of load_norms, got {norms!r:.60}")
    _check_positive("threshold", threshold, "N")
    body = motion.model.mass if mass is None else mass
    _check_positive("mass", body, "kg")
    if not all(np.isfinite(x).all() for x in (motion.q, motion.v)):
        raise InputError(f"gait: the motion of {motion.name!r} is not finite")
    walk = walk_of(motion, feet)
    weight = body * float(np.linalg.norm(motion.model.gravity))
    by_side = _events(whole, motion, walk, threshold, weight, events)
    loaded = {side: bool(walk.foot(side).force.any()) for side in SIDES}
    found = {side: _cycles(side, by_side, loaded) for side in SIDES}
    repeats = whole is not result  # all cycles of a foot are the same
    if repeats:
        found = {side: x._replace(cycles=x.cycles[:1]) for side, x in found.items()}
    cycles = tuple(cycle for side in SIDES for cycle in found[side].cycles)
    if not cycles:
        raise InputError(_no_cycles(motion, walk, by_side))
    curves = cycle_curves(motion, walk, cycles, body, pairs, signs)
    notes = (*_notes(walk, cycles, threshold), *found[LEFT].notes, *found[RIGHT].notes)
    parameters = spatiotemporal(motion, walk, cycles, by_side)
    if repeats:
        notes = (*_repeated(result), *notes)
        parameters = {
            name: x._replace(left=x.left[:1], right=x.right[:1]) for name, x in parameters.items()
        }
    return GaitCycles(
        name=motion.name,
        mass=body,
        weight=weight,
        signs=dict(signs or {}),
        feet={side: walk.foot(side).link for side in SIDES},
        events=tuple(sorted(e for side in SIDES for e in by_side[side].events)),
        cycles=cycles,
        curves=curves,
        parameters=parameters,
        norms={} if norms is None else norms.matched(curves),
        notes=notes,
    )


def _events(
    result: Estimate | Solution | Motion,
    motion: Motion,
    walk: Walk,
    threshold: float,
    weight: float,
    events: Sequence[Event] | None,
) -> dict[str, FootEvents]:
    """As given; else those of a prediction from its contacts, of others from forces and motion."""
    if events is not None:
        return given_events(motion.t, events)
    if isinstance(result, Solution) and touches_ground(result):
        return contact_events(result, walk)
    return gait_events(motion.t, walk, threshold, weight)


def _repeated(result: object) -> list[str]:
    assert isinstance(result, Solution)
    assert result.cycle is not None
    what = "mirrored" if result.cycle.mirrored else "the same"
    return [
        f"Of each gait cycle, {result.duration:.4g} s were predicted; the rest is their "
        f"continuation, {what} and moved on."
    ]


def find_gait(result: Estimate | Solution | Motion) -> GaitCycles | None:
    """The gait cycles of a motion that is clearly walking; None of any other motion.

    Both feet have cycles of similar length, and in each the other foot strikes once, in the middle.
    """
    if not isinstance(result, Estimate | Solution | Motion):
        raise not_a_motion(result)
    try:
        find_feet(result.model, loaded_links(result))  # without computing any forces
        gait = gait_cycles(result)
    except PredynError:
        return None
    return gait if _is_walking(gait) else None


def _is_walking(gait: GaitCycles) -> bool:
    durations = [cycle.duration for cycle in gait.cycles]
    if {cycle.side for cycle in gait.cycles} != set(SIDES) or max(durations) > EVEN * min(
        durations
    ):
        return False
    for cycle in gait.cycles:
        between = [
            (event.time - cycle.start) / cycle.duration
            for event in gait.events
            if event.kind == STRIKE
            and event.side != cycle.side
            and cycle.start <= event.time <= cycle.end
        ]
        if len(between) != 1 or not MIDDLE[0] <= between[0] <= MIDDLE[1]:
            return False
    return True


def _check_positive(name: str, value: object, unit: str) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 < float(value) < np.inf:  # type: ignore[arg-type]
        raise InputError(f"{name}: expected a number above 0 {unit}, got {value!r:.40}")


class _Found(NamedTuple):
    cycles: list[Cycle]
    notes: list[str]


def _cycles(side: str, by_side: Mapping[str, FootEvents], loaded: Mapping[str, bool]) -> _Found:
    """From each heel strike to the next, with one toe off between them."""
    opposite = RIGHT if side == LEFT else LEFT
    events, other = by_side[side].events, by_side[opposite].events
    cycles, notes = [], []
    for first, last in pairwise([event for event in events if event.kind == STRIKE]):
        offs = [e for e in events if e.kind == OFF and first.time < e.time < last.time]
        if len(offs) != 1 or not SHORTEST <= last.time - first.time <= LONGEST:
            notes.append(
                f"Skipped from {first.time:.3f} to {last.time:.3f} s ({side}): expected one toe "
                f"off and {SHORTEST:g} to {LONGEST:g} s between two heel strikes, found "
                f"{len(offs)} in {last.time - first.time:.3f} s."
            )
            continue
        kinetic = loaded[side] and KINEMATICS not in (first.source, offs[0].source)
        unseen = not loaded[opposite] or any(
            e.source == KINEMATICS and first.time <= e.time <= last.time for e in other
        )
        ends = (first.time, offs[0].time, last.time)
        sources = tuple(dict.fromkeys(e.source for e in (first, offs[0], last)))
        cycles.append(Cycle(side, *ends, sources, kinetic, kinetic and not unseen))
    return _Found(cycles, notes)


def _notes(walk: Walk, cycles: Sequence[Cycle], threshold: float) -> list[str]:
    notes = []
    sources = {source for cycle in cycles for source in cycle.sources}
    if FORCES in sources:
        notes.append(
            f"Heel strike and toe off from forces: where the vertical force on the foot crosses "
            f"{threshold:g} N."
        )
    if CONTACTS in sources:
        notes.append("Heel strike and toe off from the contacts of the prediction.")
    if GIVEN in sources:
        notes.append("Heel strike and toe off as given.")
    if KINEMATICS in sources:
        points = " and ".join(walk.left.points) + ", " + " and ".join(walk.right.points)
        begin = "Without a force: heel" if FORCES in sources else "Heel"
        notes.append(
            f"{begin} strike and toe off from the motion: heel farthest in front of the pelvis, "
            f"toe farthest behind it (Zeni 2008; heel and toe are {points})."
        )
    if not all(cycle.kinetic for cycle in cycles):
        count = sum(not cycle.kinetic for cycle in cycles)
        notes.append(
            f"{count} of {len(cycles)} cycles have no measured ground force during stance: their "
            "moments, powers and reactions are left out."
        )
    return notes


def _no_cycles(motion: Motion, walk: Walk, by_side: Mapping[str, FootEvents]) -> str:
    counts = ", ".join(
        f"{side} foot ({walk.foot(side).link}): "
        f"{sum(e.kind == STRIKE for e in by_side[side].events)} heel strikes and "
        f"{sum(e.kind == OFF for e in by_side[side].events)} toe offs"
        for side in SIDES
    )
    return (
        f"gait: {motion.name!r} has no complete gait cycle, which needs two heel strikes of a foot "
        f"with a toe off between them; found {counts}"
    )

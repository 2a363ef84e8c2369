"""Times and lengths of steps and strides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from predyn.analysis.events import OFF, STRIKE, Event, FootEvents
from predyn.analysis.feet import STILL, Walk
from predyn.analysis.gait import Cycle, Parameter
from predyn.analysis.motions import Floats, Motion, interpolated
from predyn.analysis.sides import LEFT, RIGHT, SIDES

FLAT = (0.2, 0.5)  # share of stance in which the foot stands flat


def spatiotemporal(
    motion: Motion, walk: Walk, cycles: Sequence[Cycle], events: Mapping[str, FootEvents]
) -> dict[str, Parameter]:
    """Numbers of each cycle (stride, stance, double support, speed) and step, by side.

    The speed is that of the pelvis relative to the ground, which on a treadmill moves as the
    standing foot does. A step of the left foot ends with its heel strike.
    """
    t = motion.t
    ground = _ground_speed(motion, walk, cycles)
    out: dict[str, dict[str, Floats]] = {}

    def add(name: str, side: str, values: list[float]) -> None:
        out.setdefault(name, {})[side] = np.array(values, float)

    for side in SIDES:
        own = [cycle for cycle in cycles if cycle.side == side]
        other = events[RIGHT if side == LEFT else LEFT].events
        pelvis = walk.pelvis @ walk.forward
        speeds = [
            float(np.diff(interpolated(t, pelvis, np.array([c.start, c.end])))[0]) / c.duration
            - ground
            for c in own
        ]
        steps = _steps(walk, side, t, events)
        add("stride time [s]", side, [c.duration for c in own])
        add("step time [s]", side, [duration for duration, _ in steps])
        add("cadence [steps/min]", side, [120.0 / c.duration for c in own])
        add("stance [% of the cycle]", side, [c.stance for c in own])
        both = [_double_support(c, other) for c in own]
        add("double support [% of the cycle]", side, [x for x in both if x is not None])
        add("walking speed [m/s]", side, speeds)
        strides = [speed * c.duration for speed, c in zip(speeds, own, strict=True)]
        add("stride length [m]", side, strides)
        add("step length [m]", side, [length for _, length in steps])
    return {
        name.partition(" [")[0]: Parameter(name.partition(" [")[2][:-1], x[LEFT], x[RIGHT])
        for name, x in out.items()
    }


def _ground_speed(motion: Motion, walk: Walk, cycles: Sequence[Cycle]) -> float:
    """m/s forward, of the feet while they stand; 0 over ground."""
    speeds = []
    for cycle in cycles:
        foot = walk.foot(cycle.side)
        middle = 0.5 * (foot.heel + foot.toe) @ walk.forward
        stance = cycle.toe_off - cycle.start
        ends = cycle.start + stance * np.array(FLAT)
        speeds.append(float(np.diff(interpolated(motion.t, middle, ends))[0] / np.diff(ends)[0]))
    speed = float(np.median(speeds))
    return speed if abs(speed) > STILL else 0.0


def _steps(
    walk: Walk, side: str, t: Floats, events: Mapping[str, FootEvents]
) -> list[tuple[float, float]]:
    """Time since the other foot's heel strike, and distance in front of its heel, at each one."""
    other = RIGHT if side == LEFT else LEFT
    before = np.array([e.time for e in events[other].events if e.kind == STRIKE])
    apart = (walk.foot(side).heel - walk.foot(other).heel) @ walk.forward
    steps = []
    strikes = [e.time for e in events[side].events if e.kind == STRIKE]
    for k, time in enumerate(strikes):
        earlier = before[before < time]
        if not len(earlier) or (k and earlier[-1] < strikes[k - 1]):
            continue  # a step of the other foot is missing
        length = float(interpolated(t, apart, np.array([time]))[0])
        steps.append((float(time - earlier[-1]), length))
    return steps


def _double_support(cycle: Cycle, other: Sequence[Event]) -> float | None:
    """Percent of the cycle with both feet on the ground; None if the other foot lacks an event."""
    offs = [e.time for e in other if e.kind == OFF and cycle.start <= e.time <= cycle.toe_off]
    strikes = [e.time for e in other if e.kind == STRIKE and cycle.start <= e.time <= cycle.toe_off]
    if len(offs) != 1 or len(strikes) != 1 or offs[0] > strikes[0]:
        return None
    return 100.0 * (offs[0] - cycle.start + cycle.toe_off - strikes[0]) / cycle.duration

"""Times and lengths of steps and strides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from predyn.analysis.curves import base_joints
from predyn.analysis.events import CONTACTS, OFF, STRIKE, Event, FootEvents
from predyn.analysis.feet import STILL, Walk
from predyn.analysis.gait import Cycle, Parameter
from predyn.analysis.motions import Floats, Motion, interpolated
from predyn.analysis.sides import LEFT, RIGHT, SIDES

FLAT = (0.2, 0.5)  # share of stance in which the foot stands flat
FLAT_WIDTH = 1e-6  # m, of the steps of a planar model
INSTANTS = 1001  # of an integral over the cycle


class Step(NamedTuple):
    """From the heel strike of the other foot to that of this one."""

    duration: float  # s
    length: float  # m between the heels, forward along the ground
    width: float  # m between the heels, sideways


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
        pelvis = walk.pelvis @ walk.ahead
        speeds = [
            float(np.diff(interpolated(t, pelvis, np.array([c.start, c.end])))[0]) / c.duration
            - ground
            for c in own
        ]
        steps = _steps(walk, side, t, events)
        add("stride time [s]", side, [c.duration for c in own])
        add("step time [s]", side, [step.duration for step in steps])
        add("cadence [steps/min]", side, [120.0 / c.duration for c in own])
        add("stance [% of the cycle]", side, [c.stance for c in own])
        both = [_double_support(c, other) for c in own]
        add("double support [% of the cycle]", side, [x for x in both if x is not None])
        add("walking speed [m/s]", side, speeds)
        strides = [speed * c.duration for speed, c in zip(speeds, own, strict=True)]
        add("stride length [m]", side, strides)
        add("step length [m]", side, [step.length for step in steps])
        if any(step.width > FLAT_WIDTH for step in steps):
            add("step width [m]", side, [step.width for step in steps])
        if any(c.whole for c in own):
            costs = [
                _cost_of_transport(motion, c, stride)
                for c, stride in zip(own, strides, strict=True)
                if c.whole and stride > 0.0
            ]
            add("mechanical cost of transport [1]", side, costs)
    return {
        name.partition(" [")[0]: Parameter(
            name.partition(" [")[2][:-1], *(x.get(side, np.zeros(0)) for side in SIDES)
        )
        for name, x in out.items()
    }


def _ground_speed(motion: Motion, walk: Walk, cycles: Sequence[Cycle]) -> float:
    """m/s ahead, of the feet while they stand; 0 over ground."""
    speeds = []
    for cycle in cycles:
        foot = walk.foot(cycle.side)
        middle = 0.5 * (foot.heel + foot.toe) @ walk.ahead
        stance = cycle.toe_off - cycle.start
        ends = cycle.start + stance * np.array(FLAT)
        speeds.append(float(np.diff(interpolated(motion.t, middle, ends))[0] / np.diff(ends)[0]))
    speed = float(np.median(speeds))
    return speed if abs(speed) > STILL else 0.0


def _steps(walk: Walk, side: str, t: Floats, events: Mapping[str, FootEvents]) -> list[Step]:
    """Time since the other foot's heel strike, and distances from its heel, at each one."""
    other = RIGHT if side == LEFT else LEFT
    before = np.array([e.time for e in events[other].events if e.kind == STRIKE])
    own, others = walk.foot(side).heel, walk.foot(other).heel
    predicted = any(e.source == CONTACTS for e in events[other].events)
    steps = []
    strikes = [e.time for e in events[side].events if e.kind == STRIKE]
    for k, time in enumerate(strikes):
        earlier = before[before < time]
        if not len(earlier) or (k and earlier[-1] < strikes[k - 1]):
            continue  # a step of the other foot is missing
        stands = earlier[-1] if predicted else time  # where a predicted heel has touched down
        between = (
            interpolated(t, own, np.array([time])) - interpolated(t, others, np.array([stands]))
        )[0]
        length, width = float(between @ walk.ahead), abs(float(between @ walk.sideways))
        steps.append(Step(float(time - earlier[-1]), length, width))
    return steps


def _cost_of_transport(motion: Motion, cycle: Cycle, stride: float) -> float:
    """Integral of the sizes of all joints' powers over the weight, with loads, and distance.

    Of the motors where they are known, else of the net moments; without the floating base.
    """
    model = motion.model
    efforts = motion.moments if motion.motors is None else motion.motors
    driven = np.setdiff1d(np.arange(model.n), list(base_joints(model)))
    times = np.linspace(cycle.start, cycle.end, INSTANTS)
    powers = np.abs(efforts * motion.v)[:, driven].sum(axis=1)
    work = float(np.trapezoid(interpolated(motion.t, powers, times), times))
    return work / (model.weight * stride)


def _double_support(cycle: Cycle, other: Sequence[Event]) -> float | None:
    """Percent of the cycle with both feet on the ground; None if the other foot lacks an event."""
    offs = [e.time for e in other if e.kind == OFF and cycle.start <= e.time <= cycle.toe_off]
    strikes = [e.time for e in other if e.kind == STRIKE and cycle.start <= e.time <= cycle.toe_off]
    if len(offs) != 1 or len(strikes) != 1 or offs[0] > strikes[0]:
        return None
    return 100.0 * (offs[0] - cycle.start + cycle.toe_off - strikes[0]) / cycle.duration

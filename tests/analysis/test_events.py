"""Events against closed forms: pulses of force, feet that swing as sine waves."""

from itertools import pairwise

import numpy as np
import pytest

from analysis.walkers import AMPLITUDE, SPEED, STRIDE, Pulse, strikes, walking
from predyn.analysis.events import FORCES, KINEMATICS, OFF, STRIKE, gait_events
from predyn.analysis.feet import walk_of
from predyn.analysis.force_events import force_contacts
from predyn.analysis.kinematic_events import farthest
from predyn.analysis.motions import GroundForce

WEIGHT = 700.0


def test_contacts_begin_and_end_where_the_force_crosses_the_threshold() -> None:
    t = np.arange(0.0, 3.0, 1e-3)
    pulses = [Pulse(0.2), Pulse(1.4)]
    found = force_contacts(t, sum(pulse(t) for pulse in pulses), 20.0, WEIGHT)
    # the error of a straight line is h^2 / 8 |F''| over the slope: below 1e-7 s here
    for contact, pulse in zip(found, pulses, strict=True):
        assert contact == pytest.approx(pulse.crossings(20.0), abs=1e-6)


def test_noise_at_the_threshold_makes_no_contacts() -> None:
    random = np.random.default_rng(1)
    t = np.arange(0.0, 2.0, 1e-3)
    force = Pulse(0.5)(t) + 3.0 * random.standard_normal(len(t))
    assert len(force_contacts(t, force, 20.0, WEIGHT)) == 1
    # slow rise through the threshold: noise of 3 N never bridges the 10 N of the hysteresis
    ramp = 20.0 + 100.0 * (t - 1.0) + 2.0 * np.sin(400.0 * t)
    assert len(force_contacts(t, ramp, 20.0, WEIGHT)) == 1


def test_short_light_and_cut_contacts() -> None:
    t = np.arange(0.0, 2.0, 1e-3)
    knock = np.where(np.abs(t - 1.0) < 0.03, 500.0, 0.0)
    touch = np.where(np.abs(t - 1.0) < 0.3, 60.0, 0.0)
    assert force_contacts(t, knock, 20.0, WEIGHT) == []
    assert force_contacts(t, touch, 20.0, WEIGHT) == []
    cut = force_contacts(t, Pulse(-0.3)(t) + Pulse(1.9)(t), 20.0, WEIGHT)
    assert [np.isfinite(contact).tolist() for contact in cut] == [[False, True], [True, False]]
    assert force_contacts(t, np.full(len(t), 700.0), 20.0, WEIGHT) == [(-np.inf, np.inf)]


def test_farthest_points_of_a_sine_wave() -> None:
    t = np.arange(0.0, 4.0, 1.0 / 60.0)
    along = 0.4 * np.sin(2.0 * np.pi * (t - 0.13) / STRIDE)
    expected = 0.13 + 0.25 * STRIDE + STRIDE * np.arange(4)
    # a parabola through three samples misses the maximum by at most h^3 w^3 / 12 / w ~ 2e-4 s
    assert farthest(t, along) == pytest.approx(expected[expected < 4.0], abs=2e-4)
    assert len(farthest(t, 0.1 * along)) == 0


def test_kinematic_events_without_forces() -> None:
    motion = walking(forces=False)
    events = gait_events(motion.t, walk_of(motion, None), 20.0, WEIGHT)
    assert {e.source for side in events.values() for e in side.events} == {KINEMATICS}
    for side in ("left", "right"):
        kinds = [e.kind for e in events[side].events]
        assert all(a != b for a, b in pairwise(kinds))


@pytest.mark.parametrize("treadmill", [False, True])
@pytest.mark.parametrize("forces", [False, True])
def test_direction_of_walking(treadmill: bool, forces: bool) -> None:
    motion = walking(treadmill=treadmill, forces=forces)
    walk = walk_of(motion, None)
    assert walk.forward == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
    assert walk.sideways == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)
    assert walk.left.points == ("heel_l", "toe_l")
    assert walk.pelvis[:, 0] == pytest.approx(0.0 if treadmill else SPEED * motion.t)
    reach = np.ptp(walk.along(walk.right.heel))
    assert 1.5 * AMPLITUDE * 0.8 < reach < 1.2


def test_forces_come_first_and_the_motion_fills_in() -> None:
    """The right plate is hit once; later heel strikes come from the motion, with its own delay."""
    motion = walking()
    once = [
        GroundForce(f.link, f.t, np.where((f.t < 1.2)[:, None], f.force, 0.0))
        if f.link == "foot_r"
        else f
        for f in motion.forces
    ]
    motion = type(motion)(**{**vars(motion), "forces": tuple(once)})
    found = gait_events(motion.t, walk_of(motion, None), 20.0, WEIGHT)["right"].events
    from_forces = [e for e in found if e.source == FORCES]
    assert [e.kind for e in from_forces] == [STRIKE, OFF]
    first = from_forces[0].time
    assert first == pytest.approx(Pulse(strikes("right", 1)[0]).crossings(20.0)[0], abs=1e-6)
    later = [e.time for e in found if e.kind == STRIKE and e.source == KINEMATICS]
    # a stride after it: both are periodic
    assert later == pytest.approx([first + STRIDE, first + 2.0 * STRIDE], abs=2e-3)

"""Forces that act on several links in turn."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from predyn.dynamics.kinematics import frame_kinematics
from predyn.dynamics.rnea import inverse_dynamics
from predyn.errors import InputError
from predyn.estimate.driving import acting, push
from predyn.estimate.force_links import assign_forces, plan_forces
from predyn.models import random_tree
from predyn.recordings.measurements import MeasuredForce, Measurements
from recorded_motions import recorded, sway

T = np.linspace(0.0, 1.0, 101)
MODEL = random_tree(6, 12)
MOTION = sway(6, 12)
Q, V, A = MOTION.at(T)
FEET = MODEL.link_names[-2:]
TIMES = ((0.1, 0.4), (0.55, 0.9))


def contact(link, start, end, seed):
    """700 N near the origin of a link from start to end, about a point far from it."""
    rng = np.random.default_rng(seed)
    inside = (np.clip(T, start, end) == T)[:, None]
    force = inside * (700.0 * np.array([0.1, -0.2, 0.97]) + 30.0 * rng.normal(size=(101, 3)))
    point = rng.normal(size=3) * np.ones((101, 3))
    near = frame_kinematics(MODEL, link, Q).p + 0.02 * rng.normal(size=(101, 3))
    return MeasuredForce(T, force, point, np.cross(near - point, force))


BOTH = [
    contact(foot, *times, seed) for seed, (foot, times) in enumerate(zip(FEET, TIMES, strict=True))
]
ONE = MeasuredForce(
    T,
    BOTH[0].force + BOTH[1].force,
    np.where(T[:, None] < 0.475, BOTH[0].point, BOTH[1].point),
    BOTH[0].moment + BOTH[1].moment,
)
DATA = replace(recorded(MODEL, T, Q), forces={"plate": ONE})


def torques(data, links):
    pushes = [push(T, link, data.forces[name]) for name, link in links.items()]
    return inverse_dynamics(MODEL, Q, V, A, forces=acting(MODEL, pushes, Q))


@pytest.mark.parametrize(
    "given",
    [
        list(FEET),
        tuple(reversed(FEET)),
        [(FEET[0], 0.05, 0.45), (FEET[1], 0.5, 1.0)],
        [(FEET[1], 0.5, 1.0), (FEET[0], 0.05, 0.45)],
    ],
)
def test_a_plate_for_both_feet_acts_as_two_plates(given):
    warnings: list[str] = []
    plan = plan_forces(MODEL, DATA, {"plate": given}, warnings)
    made, links = assign_forces(MODEL, DATA, plan, Q, warnings)
    assert not warnings
    assert links == {f"plate@{foot}": foot for foot in FEET}
    two = replace(DATA, forces=dict(zip(FEET, BOTH, strict=True)))
    expected = torques(two, {foot: foot for foot in FEET})
    assert torques(made, links) == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())
    assert any("force 'plate' acts on" in note for note in made.notes)


def test_one_link_keeps_the_name():
    for given in (FEET[0], [FEET[0]], list(FEET)):
        data = replace(DATA, forces={"plate": BOTH[0]})
        made, links = assign_forces(
            MODEL, data, plan_forces(MODEL, data, {"plate": given}, []), Q, []
        )
        assert links == {"plate": FEET[0]}
        assert made.forces["plate"] is BOTH[0]


def test_loads_outside_the_given_times_give_a_warning():
    warnings: list[str] = []
    plan = plan_forces(MODEL, DATA, {"plate": [(FEET[0], 0.0, 0.45)]}, warnings)
    _, links = assign_forces(MODEL, DATA, plan, Q, warnings)
    assert links == {f"plate@{FEET[0]}": FEET[0]}
    assert re.search(r"force plate: up to 7\d\d N outside the given times", warnings[0])


def test_links_that_are_equally_near_give_a_warning():
    middle = 0.5 * sum(frame_kinematics(MODEL, foot, Q).p for foot in FEET)
    moment = np.cross(middle - BOTH[0].point, BOTH[0].force)
    data = replace(DATA, forces={"plate": replace(BOTH[0], moment=moment)})
    warnings: list[str] = []
    assign_forces(MODEL, data, plan_forces(MODEL, data, {"plate": FEET}, []), Q, warnings)
    assert "are about equally near; give the times, as in --force plate=" in warnings[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "expected a link, several links, or (link, start, end)"),
        (3, "expected a link, several links, or (link, start, end)"),
        ([(FEET[0], 0.0)], "expected a link, several links, or (link, start, end)"),
        ([(FEET[0], 0.0, "a")], "expected a link, several links, or (link, start, end)"),
        ([(FEET[0], 0.0, np.nan)], "expected a link, several links, or (link, start, end)"),
        ([(FEET[0], 0.5, 0.5)], "expected start before end, got 0.5 to 0.5 s"),
        ([(FEET[0], 0.0, 0.5), (FEET[1], 0.4, 0.9)], "a force acts on one link at a time"),
        ([FEET[0], FEET[0]], "a link is named twice"),
        ([FEET[0], "foot"], "unknown frame or link 'foot'"),
        ([("foot", 0.0, 1.0)], "unknown frame or link 'foot'"),
        ([("world", 0.0, 1.0)], "fixed to the world"),
    ],
)
def test_bad_links(given, message):
    with pytest.raises(InputError, match=re.escape(message)):
        plan_forces(MODEL, DATA, {"plate": given}, [])


def test_a_plate_that_nothing_touches_needs_one_link():
    empty = MeasuredForce(T, *np.zeros((3, 101, 3)))
    data: Measurements = replace(DATA, forces={"plate": empty})
    plan = plan_forces(MODEL, data, {"plate": FEET}, [])
    with pytest.raises(InputError, match="no contact above 20 N during the motion"):
        assign_forces(MODEL, data, plan, Q, [])

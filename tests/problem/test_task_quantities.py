"""Numbers of a task by name: values, changes and units."""

from __future__ import annotations

import pytest

from predyn.config import load_task
from predyn.problem.task_quantities import number_unit, number_value, with_number


def test_numbers_of_a_task() -> None:
    problem = load_task("two-link-pick-place")
    for text, value in (
        ("start q of joint1", 1.32),
        ("end q of joint2", -2.37),
        ("end q of joint2 in carry", -1.6),
        ("start v of joint2", 0.0),
        ("effort limit of joint1", 10.0),
        ("weight of time", 0.99),
        ("mass of link1", 0.5),
    ):
        assert number_value(problem, text) == pytest.approx(value)
        changed = with_number(problem, text, value + 0.25)
        assert number_value(changed, text) == pytest.approx(value + 0.25)
        assert number_value(problem, text) == pytest.approx(value)
    fixed = load_task("gymnast-swing")
    longer = with_number(fixed, "duration of phase 1", 2.3)
    assert number_value(longer, "duration of phase 1") == 2.3


def test_units_of_numbers() -> None:
    problem = load_task("cart-pole-swingup")
    for text, unit in (
        ("end q of slide", "m"),
        ("end q of hinge", "rad"),
        ("start v of slide", "m/s"),
        ("effort limit of slide", "N"),
        ("end q of slide in phase 1", "m"),
        ("origin.x of slide", "m"),
        ("damping of slide", "N s/m"),
        ("armature of slide", "kg"),
        ("stiffness of slide", "N/m"),
        ("stiffness of hinge", "N m/rad"),
        ("duration of phase 1", "s"),
    ):
        assert number_unit(problem, text) == unit

"""Samples of solutions that are computed when they are first looked at."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predyn.problem import Problem
from predyn.solution import Solution
from predyn.solution.later_samples import SAMPLED, LaterSamples, revised


@cache
def solved() -> Solution:
    return predyn.solve("two-link-time-optimal")


def fresh() -> Solution:
    """The same solution, none of its samples looked at."""
    return revised(solved())


def waiting(solution: Solution) -> list[str]:
    return [name for name in SAMPLED if isinstance(vars(solution)[name], LaterSamples)]


def assert_same(one: Solution, other: Solution) -> None:
    for name in SAMPLED[:-1]:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert one.signals == other.signals == {}


def test_nothing_is_sampled_before_it_is_needed() -> None:
    solution = fresh()
    assert waiting(solution) == [*SAMPLED]
    assert waiting(revised(solution, message="other")) == [*SAMPLED]
    assert solution.q is solution.q
    assert waiting(solution) == [name for name in SAMPLED if name != "q"]
    at = solution.at(solution.t)
    for name in ("q", "v", "a", "tau", "reactions"):
        np.testing.assert_allclose(getattr(solution, name), getattr(at, name), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "copied", [replace, copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_have_all_samples(copied) -> None:  # type: ignore[no-untyped-def]
    solution = copied(fresh())
    assert waiting(solution) == []
    assert_same(solution, fresh())


def test_a_solution_keeps_no_earlier_one_alive() -> None:
    first = fresh()
    problem = replace(predyn.load_task("two-link-time-optimal"), guess=first)
    second = predyn.solve(problem)
    assert waiting(second) == [*SAMPLED]
    later = vars(second)["q"]
    motion = later._compute.__wrapped__.args[0]
    assert isinstance(motion.problem, Problem)
    assert motion.problem.guess == "auto"

"""Odd values of unknowns, systems and sums are findings of `validate`, never exceptions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import predyn
from predyn import terms
from predyn.errors import InputError
from predyn.problem import Constraint, Cost, Parameter, Phase, Problem, Signal, State, System
from predyn.samples.registry import Channel, register
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import register_method, transcribe

REST = (0.0, 0.0)
ENDS = (State((0.0, 0.0), REST), State((0.5, 0.3), REST))
PUSH = Signal("push", ("x", "y", "z"), -5.0, 5.0)
FORCE = (predyn.ExternalForce("tip", "push"),)


def problem(**changes: Any) -> Problem:
    phase = Phase(1.0, *ENDS)
    plain = Problem(predyn.models.two_link(), (phase,), (Cost(terms.Effort()),))
    return replace(plain, **changes)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "parameters None": (
        {"parameters": None, "phases": (Phase("p", *ENDS),)},
        "expected a list of Parameter, got NoneType",
    ),
    "no components": (
        {"signals": (PUSH,), "forces": FORCE, "costs": (Cost(terms.SignalValue("push", [])),)},
        "expected some of x, y, z",
    ),
    "components a number": (
        {"signals": (PUSH,), "forces": FORCE, "costs": (Cost(terms.SignalValue("push", 3)),)},
        "expected some of x, y, z",
    ),
    "sum of nothing": (
        {"constraints": (Constraint(terms.WeightedSum(None)),)},
        "expected pairs of a finite factor",
    ),
    "factor not finite": (
        {"constraints": (Constraint(terms.WeightedSum(((np.nan, terms.TotalTime()),))),)},
        "expected pairs of a finite factor",
    ),
    "name of a sum": (
        {"constraints": (Constraint(terms.WeightedSum(((1, terms.TotalTime()),), "a\0")),)},
        "expected printable text",
    ),
    "speed not finite": (
        {"constraints": (Constraint(terms.AverageSpeed("tip", np.inf)),)},
        "expected m/s",
    ),
    "knots that fall": (
        {"signals": (replace(PUSH, knots=(0.0, 0.6, 0.3, 1.0)),), "forces": FORCE},
        "expected break points that rise from 0 to 1",
    ),
    "knots and segments": (
        {"signals": (replace(PUSH, knots=(0.0, 1.0), segments=3),), "forces": FORCE},
        "expected segments or knots, got both",
    ),
    "system a list": ({"phases": (Phase(1.0, *ENDS, system=[]),)}, "expected a name (str)"),
    "name of a system": (
        {"systems": {3: System()}, "phases": (Phase(1.0, *ENDS, system="a"),)},
        "expected a non-empty string as name, got 3",
    ),
    "component with NUL": (
        {"signals": (Signal("push", ("x\0", "y", "z")),), "forces": FORCE},
        "expected different printable names",
    ),
    "two phases of one name": (
        {"phases": (Phase(1.0, ENDS[0], name="phase 2"), Phase(1.0, end=ENDS[1]))},
        "is the name of an earlier phase",
    ),
    "curve without Profile": (
        {"forces": (predyn.ExternalForce("tip", np.zeros((5, 3))),)},
        "for a curve of time give a Profile",
    ),
    "integral of a parameter": (
        {
            "parameters": (Parameter("k", 0.0, 2.0, 1.0),),
            "constraints": (Constraint(terms.ParameterValue("k"), 0.0, 1.0, integral=True),),
        },
        "is the same at all times",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_odd_values_are_findings(case: str) -> None:
    changes, expected = CASES[case]
    messages = problem(**changes).validate()
    assert any(expected in message for message in messages), messages


def test_a_parameter_starts_from_its_guess() -> None:
    k = Parameter("k", 1.0, 5.0, 3.0)
    costs = (Cost(terms.Effort()), Cost(terms.ParameterValue("k")))
    assert first_guess(transcribe(problem(parameters=(k,), costs=costs)))[-1] == 3.0


def test_a_solution_with_signals_of_any_degree_is_an_exact_guess() -> None:
    for degree in (0, 1, 3):
        push = replace(PUSH, degree=degree, segments=2)
        costs = (Cost(terms.Effort()), Cost(terms.SignalValue("push"), 0.1))
        asked = problem(signals=(push,), forces=FORCE, costs=costs)
        solution = predyn.solve(asked).check()
        x = first_guess(transcribe(replace(asked, guess=solution)))
        assert np.abs(x - solution.x).max() < 1e-7


def test_a_narrow_force_curve_counts_in_full() -> None:
    """A push of 0.04 s between the quadrature points of the motion's own segments."""
    curve = predyn.Profile((0.0, 0.02, 0.04, 1.0), [(0, 0, 0), (50, 0, 0), (0, 0, 0), (0, 0, 0)])
    solution = predyn.solve(problem(forces=(predyn.ExternalForce("tip", curve),)))
    t = np.linspace(0.0, 1.0, 40001)
    effort = np.trapezoid((solution.at(t).tau ** 2).sum(axis=1), t)
    assert solution.objective == pytest.approx(effort, rel=1e-5)


def test_wrong_registrations_are_refused() -> None:
    for channel in (
        None,
        Channel(None, len),  # type: ignore[arg-type]
        Channel("signal:", lambda model, member: ()),
        Channel("a:b", lambda model, member: ()),
        Channel("empty", lambda model, member: (), object()),
    ):
        with pytest.raises(InputError, match="channel"):
            register(channel)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="method"):
        register_method(None, None)  # type: ignore[arg-type]

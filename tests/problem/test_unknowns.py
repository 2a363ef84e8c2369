"""Signals, parameters and forces that depend on them: errors are reported by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from predyn import models
from predyn.curves.profile import Profile
from predyn.kernels.forces import ExternalForce
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Hybrid,
    Parameter,
    Phase,
    Problem,
    Signal,
    Spline,
    State,
)
from predyn.terms import (
    AverageSpeed,
    Effort,
    ParameterValue,
    Periodic,
    SignalRate,
    SignalValue,
    TotalTime,
)

MODEL = models.two_link()
REACH = Phase("T", State(q=(0.0, 0.0), v=(0.0, 0.0)), State(q=(1.0, 1.0)), name="reach")
HOLD = Phase(0.5, end=State(v=(0.0, 0.0)), name="hold")
PRESS = Signal("press", ("x", "y", "z"), -10.0, 10.0)
PROBLEM = Problem(
    MODEL,
    (REACH, HOLD),
    (Cost(Effort()), Cost(SignalValue("press"))),
    forces=(ExternalForce("tip", "press"),),
    signals=(PRESS,),
    parameters=(Parameter("T", 0.2, 2.0, 1.0, "s"),),
)


def signal(**changed: Any) -> dict[str, Any]:
    return {"signals": (replace(PRESS, **changed),)}


def parameter(*numbers: Any) -> dict[str, Any]:
    return {"parameters": (Parameter("T", *numbers),)}


def force(value: Any) -> dict[str, Any]:
    """A force that acts in addition to the signal."""
    return {"forces": (*PROBLEM.forces, ExternalForce("tip", moment=value))}


LINE = np.zeros((2, 3))
OVER_TIME = Profile((0.0, 1.0), LINE)
CASES: list[tuple[dict[str, Any], str]] = [
    ({"signals": PRESS}, "signals: expected a list of Signal, got Signal"),
    ({"signals": ("press",)}, "signals[0]: expected a Signal, got str"),
    (signal(name=""), "signals[0].name: expected a printable string of 1 to 60 characters, got ''"),
    (signal(name=3), "signals[0].name: expected a printable string of 1 to 60 characters, got 3"),
    ({"signals": (PRESS, PRESS)}, "signals[1].name: 'press' is already the name of signal 1"),
    (
        {"parameters": (*PROBLEM.parameters, Parameter("press", 0.0, 1.0, 0.5))},
        "parameters[1].name: 'press' is already the name of signal 1",
    ),
    (signal(unit=1), "signals[0].unit: expected printable text, got 1"),
    (signal(components=()), "signals[0].components: expected names such as ['x', 'y', 'z'], got"),
    (signal(components="xyz"), "signals[0].components: expected names such as ['x', 'y', 'z']"),
    (
        signal(components=("x", "x", "z")),
        "signals[0].components: expected different printable names",
    ),
    (signal(lower=(0, 1)), "signals[0].lower: expected a number or 3 (x, y, z), got (0, 1)"),
    (signal(upper="much"), "signals[0].upper: expected a number or 3 (x, y, z), got 'much'"),
    (signal(upper=(1, -20, 1)), "signals[0].lower: 'y': lower -10 is above upper -20"),
    (signal(upper=np.nan), "signals[0].lower: 'x', 'y', 'z': NaN is not a bound"),
    (signal(lower=np.inf, upper=np.inf), "lower: 'x', 'y', 'z': no value lies between"),
    (signal(guess=(1, 2)), "signals[0].guess: expected a number or 3 (x, y, z), or a curve"),
    (signal(guess=np.inf), "signals[0].guess: expected finite numbers, got inf"),
    (
        signal(guess=(0, 0, 11)),
        "signals[0].guess: bounds exclude the guess of 'z': 11 is outside -10 to 10; give a guess",
    ),
    (signal(lower=1.0), "bounds exclude the guess of 'x', 'y', 'z': 0 is outside 1 to 10"),
    (signal(guess=((0, 1), 11 + LINE)), "bounds exclude the guess of 'x', 'y', 'z': 11 is outside"),
    (signal(guess=((0, 2), LINE)), "signals[0].guess.s: expected increasing numbers from 0 to 1"),
    (signal(guess=((1, 0), LINE)), "signals[0].guess.s: expected increasing numbers from 0 to 1"),
    (
        signal(guess=((0, 0.5, 1), LINE)),
        "guess.values: expected numbers of shape (3, 3), got",
    ),
    (signal(scale=0.0), "signals[0].scale: expected finite numbers above 0, got 0.0"),
    (signal(scale=(1, 2)), "signals[0].scale: expected a number or 3 (x, y, z), got (1, 2)"),
    (signal(degree=6), "signals[0].degree: expected a whole number from 0 to 5, got 6"),
    (signal(degree=True), "signals[0].degree: expected a whole number from 0 to 5, got True"),
    (signal(segments=0), "signals[0].segments: expected a whole number from 1 to 100000, got 0"),
    (signal(continuity=2), "signals[0].continuity: expected -1 (it may jump), 0 (values agree)"),
    (
        signal(continuity=0, degree=0),
        "signals[0].continuity: a signal of degree 0 has at most continuity -1, got 0; use a",
    ),
    (signal(continuity=1), "a signal of degree 1 has at most continuity 0, got 1; use a higher"),
    (signal(phases="reach"), "signals[0].phases: expected names of phases, got 'reach'"),
    (signal(phases=()), "signals[0].phases: expected names of phases, got ()"),
    (signal(phases=("reech", "hold")), "signals[0].phases: unknown phase 'reech': did you mean"),
    ({"parameters": (1.0,)}, "parameters[0]: expected a Parameter, got float"),
    (parameter(0.2, 2.0, np.inf), "parameters[0].guess: expected a finite number, got inf"),
    (parameter(0.2, np.nan, 1.0), "parameters[0].max: expected a number, got nan"),
    (parameter("0.2", 2.0, 1.0), "parameters[0].min: expected a number, got '0.2'"),
    (parameter(True, 2.0, 1.0), "parameters[0].min: expected a number, got True"),
    (parameter(3.0, 2.0, 2.5), "parameters[0].min: min 3 is above max 2"),
    (
        parameter(0.2, 2.0, 3.0),
        "parameters[0].guess: bounds exclude the guess: 3 is outside 0.2 to 2; give a guess",
    ),
    (
        parameter(0.0, 2.0, 1.0),
        "parameters[0].min: it is the duration of 'reach': expected seconds above 0 (1e-6 to 1e9)",
    ),
    (parameter(0.1, np.inf, 1.0), "parameters[0].max: it is the duration of 'reach'"),
    (
        {"parameters": (*PROBLEM.parameters, Parameter("k", 0.0, 1.0, 0.5))},
        "parameters[1]: nothing depends on parameter 'k'; make it the duration of a phase, name",
    ),
    (
        {"costs": PROBLEM.costs[:1], "forces": ()},
        "signals[0]: nothing depends on signal 'press'; name it in a force or a term, or remove",
    ),
    (
        {"phases": (replace(REACH, duration="TT"), HOLD)},
        "phases[0].duration: unknown parameter 'TT': did you mean 'T'",
    ),
    (
        {"parameters": ()},
        "phases[0].duration: expected seconds above 0 (1e-6 to 1e9), got 'T', which is not the",
    ),
    (
        {"costs": (Cost(SignalValue("pres")),)},
        "costs[0].term: unknown signal 'pres': did you mean 'press'",
    ),
    (
        {"costs": (Cost(SignalValue("press", ("w",))),)},
        "costs[0].term: unknown component of 'signal:press' 'w': valid names: 'x', 'y', 'z'",
    ),
    (
        {"costs": (Cost(ParameterValue("t")),)},
        "costs[0].term: unknown parameter 't': valid names: 'T'",
    ),
    (
        {**signal(phases=("reach",)), "forces": ()},
        "costs[1].term: signal 'press' does not exist in 'hold' (phases: reach); give the entry",
    ),
    (
        {**signal(degree=0), "costs": (Cost(SignalRate("press")),)},
        "costs[0].term: signal 'press' has degree 0, constant pieces without a rate",
    ),
    (force("pres"), "forces[1].moment: unknown signal 'pres': did you mean 'press'"),
    (
        {**force("pair"), "signals": (PRESS, Signal("pair", ("x", "y")))},
        "forces[1].moment: expected a signal with 3 components (x, y, z), but 'pair' has 2 (x, y)",
    ),
    (
        {**signal(phases=("reach",)), "costs": PROBLEM.costs[:1]},
        "forces[0].force: the force acts in 'hold', where signal 'press' does not exist",
    ),
    (force(Profile((0, 1), np.zeros((2, 2)))), "forces[1].moment: values: expected finite numbers"),
    (force(Profile((1, 0), LINE)), "forces[1].moment: times: expected increasing numbers"),
    (force(Profile((0, 2), LINE, "phase")), "forces[1].moment: times: expected fractions of the"),
    (
        force(OVER_TIME),
        "forces[1].moment: a curve over time needs a fixed duration, but that of 'reach' is free; "
        "give its times as fractions of the phase, from 0 to 1 (over = 'phase')",
    ),
    (
        {"constraints": (Constraint(Effort(), upper=1.0, over="motion"),)},
        "constraints[0].over: only integrals add up over the whole motion; bound the integral",
    ),
    (
        {"constraints": (Constraint(Effort(), upper=1.0, integral=True, over="motoin"),)},
        "constraints[0].over: unknown over 'motoin': did you mean 'motion'",
    ),
    (
        {"constraints": (Constraint(Periodic(), integral=True, upper=1.0),)},
        "constraints[0].integral: term 'periodic' is on pairs of instants; leave `integral` out",
    ),
    (
        {
            "phases": (
                replace(
                    REACH,
                    constraints=(Constraint(Effort(), upper=1.0, integral=True, over="motion"),),
                ),
                HOLD,
            )
        },
        "phases[0].constraints[0].over: a constraint of a phase covers that phase; give it to the",
    ),
]


@pytest.mark.parametrize(("changed", "message"), CASES)
def test_each_error_gives_one_message(changed: dict[str, Any], message: str) -> None:
    (found,) = replace(PROBLEM, **changed).validate()
    assert found.startswith(message) or message in found


def test_several_errors_are_reported_together() -> None:
    problem = replace(
        PROBLEM,
        signals=(replace(PRESS, scale=-1.0), Signal("", ("x",))),
        parameters=(Parameter("T", 0.2, 2.0, 5.0), Parameter("k", 1.0, 0.0, 0.5)),
        costs=(Cost(Effort(joints=("knee",))), Cost(SignalValue("pres"))),
    )
    places = [text.split(":")[0] for text in problem.validate()]
    assert places == [
        "signals[0].scale",
        "signals[1].name",
        "parameters[0].guess",
        "parameters[1].min",
        "costs[0].term",
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        signal(lower=(1, -1, 0), upper=(2, 1, 0), guess=(1.5, 0, 9)),  # z is fixed, whatever is
        signal(guess=((0, 1), LINE), degree=0, segments=3, scale=(1, 2, 3)),  # guessed for it
        signal(degree=2, continuity=1),
        {**signal(phases=("reach", "hold")), "costs": (Cost(SignalRate("press")),)},
        {"costs": (Cost(ParameterValue("T")),)},
        force(replace(OVER_TIME, over="phase")),
        {
            **force(OVER_TIME),
            "phases": (replace(REACH, duration=1.0), HOLD),
            "parameters": (),
        },
        {"constraints": (Constraint(Effort(), upper=9.0, integral=True, over="motion"),)},
        {"constraints": (Constraint(AverageSpeed("tip", 0.1)),)},
        {"constraints": (Constraint(AverageSpeed("tip", 0.1), over="motion"),)},
        {  # phases without names are called by number
            **signal(phases=("phase 1", "phase 2")),
            "phases": (replace(REACH, name=None), replace(HOLD, name=None)),
        },
    ],
)
def test_valid_problems_give_no_message(changed: dict[str, Any]) -> None:
    assert replace(PROBLEM, **changed).validate() == []


def test_hybrid_method_refuses_signals_and_terms_on_durations() -> None:
    plain = replace(PROBLEM, transcription=Hybrid(), costs=PROBLEM.costs[:1])
    (message,) = plain.validate()
    assert message == "signals: method 'hybrid' does not support signals; use method 'spline'"
    (message,) = replace(plain, signals=()).validate()
    assert message.startswith(
        "forces[0].force: method 'hybrid' does not support unknown forces (signal 'press'); give"
    )
    timed = replace(plain, signals=(), forces=())
    assert timed.validate() == []  # durations may be parameters
    (message,) = replace(timed, costs=(Cost(ParameterValue("T")),)).validate()
    assert message.startswith(
        "costs[0].term: method 'hybrid' does not support terms on a duration, which parameter 'T'"
    )
    other = (*PROBLEM.parameters, Parameter("k", 0.0, 1.0, 0.5))
    used = replace(timed, parameters=other, costs=(*timed.costs, Cost(ParameterValue("k"))))
    assert used.validate() == []
    fixed = replace(timed, phases=(replace(REACH, duration=1.0), HOLD), parameters=())
    assert replace(fixed, forces=(ExternalForce("tip", OVER_TIME),)).validate() == []


def test_free_knots_refuse_signals_and_parameters() -> None:
    free = replace(
        PROBLEM,
        phases=(replace(REACH, duration=Duration(0.2, 2.0, 1.0)),),
        transcription=Spline(knots="free"),
        parameters=(),
    )
    (message,) = free.validate()
    assert message == "transcription.knots: 'free' cannot be combined with signals; use 'clamped'"
    timed = replace(free, phases=(REACH,), parameters=PROBLEM.parameters)
    assert [text.split("with ")[1] for text in timed.validate()] == [
        "signals; use 'clamped'",
        "parameters; use 'clamped'",
    ]
    curve = ExternalForce("tip", replace(OVER_TIME, over="phase"))
    bent = replace(free, forces=(curve,), signals=(), costs=(Cost(TotalTime()),))
    assert bent.validate() == [
        "transcription.knots: 'free' cannot be combined with forces that are curves; use 'clamped'"
    ]


def test_free_signal_counts_as_freedom() -> None:
    """Boundary values fix the motion, but the force is unknown."""
    fixed = Phase(1.0, State((0, 0), (0, 0)), State((1, 1), (0, 0)))
    problem = replace(PROBLEM, phases=(fixed,), parameters=(), transcription=Spline(segments=1))
    assert problem.validate() == []
    (message,) = replace(problem, signals=(replace(PRESS, lower=0.0, upper=0.0),)).validate()
    assert "no freedom left" in message

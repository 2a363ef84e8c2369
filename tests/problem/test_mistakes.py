"""What users write by mistake: each kind is refused with what was expected and how to write it.

Lists, tuples and arrays are interchangeable.
"""

import numpy as np
import pytest

import predyn
from predyn import (
    Constraint,
    Cost,
    ExternalForce,
    Parameter,
    Payload,
    Phase,
    Problem,
    Signal,
    Spline,
    State,
    System,
)
from predyn.errors import InputError
from predyn.terms import Effort, FramePosition, TotalTime

MODEL = predyn.models.two_link()
START, END = State(q=[0.1, 0.2], v=[0, 0]), State(q=[0.5, 0.6], v=[0, 0])
REACH = Phase(0.5, START, END)


def problem(**changes) -> Problem:
    given = {"model": MODEL, "phases": [REACH], "costs": [Cost(Effort())]} | changes
    return Problem(**given)


def phase(**changes) -> dict[str, list[Phase]]:
    return {"phases": [Phase(**{"duration": 0.5, "start": START, "end": END} | changes)]}


def at(instants) -> dict[str, list[Constraint]]:
    return {"constraints": [Constraint(FramePosition("tip"), upper=1.0, at=instants)]}


REFUSED = {
    "one in place of a list": [
        ({"phases": REACH}, "expected a list of Phase, got Phase; write [Phase(...)]"),
        ({"costs": Cost(Effort())}, "costs: expected a list of Cost, got Cost; write [Cost(...)]"),
        ({"forces": ExternalForce("tip")}, "write [ExternalForce(...)]"),
        ({"signals": Signal("f", "x")}, "write [Signal(...)]"),
        ({"parameters": Parameter("k", 1, 2, 1)}, "write [Parameter(...)]"),
        ({"systems": {"a": System(payloads=Payload("tip", 1.0))}, **phase(system="a")},
         "systems.a.payloads: expected a list of Payload, got Payload; write [Payload(...)]"),
        ({"passive": "joint1"}, "passive: expected a list of joint names, got 'joint1'"),
    ],
    "something else in place of a list": [
        ({"phases": None}, "phases: expected a list of Phase, got NoneType"),
        ({"costs": {"effort": 1.0}}, "costs: expected a list of Cost, got dict"),
        ({"phases": (x for x in [REACH])}, "phases: expected a list of Phase, got generator"),
    ],
    "a term without its cost": [
        ({"costs": [Effort()]}, "costs[0]: expected a Cost, got Effort; write Cost(Effort(...))"),
        ({"constraints": [FramePosition("tip")]}, "write Constraint(FramePosition(...))"),
        ({"costs": [Cost(Effort)]}, "got the class Effort: write Effort(...)"),
    ],
    "plain values in place of parts": [
        (phase(start=[0.0, 0.0]), "phases[0].start: expected a State, got list; write State(q="),
        (phase(duration=(0.1, 1.0)), "or Duration(min, max, guess), got (0.1, 1.0)"),
        ({"transcription": "hybrid"}, "expected a Spline, Hybrid or Dmoc, got str; write"),
        ({"solver": {"tolerance": 1e-6}}, "got dict; write SolverOptions(...)"),
        ({"limits": {"velocity": 2.0}}, "got dict; model.with_limits(velocity=...).limits"),
    ],
    "instants": [
        (at("middle"), "'start', 'end', or a list of fractions of the phase, such as [0.5]"),
        (at(0.5), "or a list of fractions from 0 to 1, such as [0.5], got 0.5"),
    ],
    "numbers by name or of another size": [
        (phase(start=State(q={"joint1": 0.1})), "one per joint (joint1, joint2; NaN: free), got {"),
        (phase(start=State(q=[0.1])), "one per joint (joint1, joint2; NaN: free), got shape (1,)"),
        ({"constraints": [Constraint(FramePosition("tip"), lower={"x": 0.0})]},
         "lower: expected one number or 3 (tip x, tip y, tip z), got {"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_mistakes_are_named_with_a_remedy(kind):
    for changes, message in REFUSED[kind]:
        found = problem(**changes).validate()
        assert any(message in text for text in found), (message, found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predyn.solve(MODEL), "problem: expected a Problem, or the name or path of a task"),
        (lambda: predyn.solve(problem(), guess="motion.h5"), r"such as load_solution\(path\)"),
        (lambda: predyn.inverse_dynamics(MODEL, None, [0, 0], [0, 0]), "q: .*, got None"),
        (lambda: predyn.inverse_dynamics(MODEL, "up", [0, 0], [0, 0]), "q: .*, got 'up'"),
        (lambda: MODEL.attach_payload("tip", "1 kg"), "mass: expected a number, got '1 kg'"),
        (lambda: MODEL.with_gravity("down"), "expected numbers of shape .3,., got 'down'"),
        (lambda: predyn.inverse_kinematics(MODEL, "tip", orientation=[1, 0, 0, 0]),
         "expected a rotation matrix .3, 3. or roll, pitch, yaw in radians, got"),
        (lambda: predyn.estimate_torques(MODEL, {"t": [0]}), "data: expected Measurements or the"),
    ],
)  # fmt: skip
def test_mistakes_in_calls_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_lists_tuples_and_arrays_mean_the_same():
    def asked(kind):
        ends = [kind([0.1, 0.2]), kind([0.0, 0.0])], [kind([0.5, 0.6]), kind([0.0, 0.0])]
        tip = FramePosition("tip", kind([0.0, -1.0, 0.0]))
        near = Constraint(tip, lower=kind([-1.0] * 3), upper=kind([2.0] * 3), at=kind([0.5]))
        part = Phase(0.5, State(*ends[0]), State(*ends[1]), name="reach")
        several = list if kind is np.array else kind
        return problem(
            phases=several([part]),
            costs=several([Cost(Effort(joints=several(["joint1", "joint2"])))]),
            constraints=several([near]),
            forces=several([ExternalForce("tip", kind([0, -1, 0]), point=kind([0, 0.1, 0]))]),
            jerk_limit=kind([1e4, 1e4]),
            guess=several([kind([0, 1]), kind([[0.1, 0.2], [0.5, 0.6]])]),
            transcription=Spline(knots=kind([0.0, 0.25, 0.5, 1.0])),
        )

    values = []
    for kind in (tuple, list, np.array):
        values.append(predyn.solve(asked(kind)).check().q)
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])


def test_none_leaves_a_joint_free():
    """At the end too, where the other joint is given."""
    some = phase(end=State(q=[0.5, None], v=(0.0, np.nan)))
    found = predyn.solve(problem(**some)).check()
    assert found.q[-1, 0] == pytest.approx(0.5, abs=1e-9)
    assert abs(found.q[-1, 1] - 0.6) > 1e-3


def test_a_problem_does_not_change_with_the_lists_it_was_made_of():
    phases, costs, names = [REACH], [Cost(TotalTime())], ["x"]
    given = problem(phases=phases, costs=costs)
    signal = Signal("f", names)
    phases.clear()
    costs.clear()
    names.append("y")
    assert (len(given.phases), len(given.costs), signal.components) == (1, 1, ("x",))


def test_counts_may_be_numbers_of_numpy():
    assert predyn.solve(problem(), starts=np.int64(1), seed=np.int32(3)).success


@pytest.mark.parametrize(
    "wrong", [{"phases": REACH}, {"phases": ["reach"]}, {"model": "two_link"}, {"costs": 3}]
)
def test_invalid_problems_can_be_printed(wrong: dict) -> None:
    problem = Problem(**({"model": MODEL, "phases": [REACH], "name": "x"} | wrong))
    assert repr(problem) == "Problem('x', invalid: validate() lists its errors)"
    assert problem.validate()

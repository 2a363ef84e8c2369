"""Parameters that stand for numbers of the model: their names, values and errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import predyn
from predyn.curves.profile import Profile
from predyn.dynamics import ExternalForce
from predyn.errors import InputError
from predyn.model import Model
from predyn.problem import (
    Constraint,
    Cost,
    Parameter,
    Phase,
    Problem,
    Spline,
    State,
    System,
)
from predyn.problem.quantities import (
    QUANTITIES,
    quantity_value,
    unit_of,
    with_parameters,
    with_quantity,
)
from predyn.terms import Effort, FramePosition, JointVelocity, ParameterValue

REST = (0.0, 0.0)


def arm() -> Model:
    """Two links whose bodies are not thin, so that their first moments can change."""
    model = predyn.models.two_link()
    for link in model.link_names:
        model = model.with_inertia(link, 0.5, (-0.2, 0.0, 0.0), (0.05, 0.1, 0.1))
    return model


LOAD = predyn.Payload("tip", 0.3, (0.1, 0.0, 0.0), (0.01, 0.01, 0.01))
PROBLEM = Problem(
    arm(),
    (
        Phase(0.5, State((1.0, -1.0), REST), State((0.5, -0.5), REST), name="reach"),
        Phase(0.5, end=State((1.0, -1.0), REST), system="loaded", name="carry"),
    ),
    costs=(Cost(Effort()),),
    forces=(
        ExternalForce("tip", (1.0, 2.0, 0.0)),
        ExternalForce("link1", Profile(times=(0.0, 1.0), values=np.zeros((2, 3)))),
    ),
    systems={"loaded": System(payloads=(LOAD,))},
    transcription=Spline(segments=4),
)
STIFF = Parameter("k", 0.0, 9.0, 1.0, quantity="stiffness of joint1")


def messages(*parameters: Any, **changed: Any) -> list[str]:
    return replace(PROBLEM, parameters=parameters, **changed).validate()


def test_names_of_the_example() -> None:
    assert PROBLEM.model.link_names == ("link1", "link2")
    assert PROBLEM.model.joint_names == ("joint1", "joint2")
    assert messages(STIFF) == []


@pytest.mark.parametrize("kind", QUANTITIES)
def test_values_can_be_replaced(kind: str) -> None:
    owner = {"joint": "joint2", "payload": "tip", "force": "tip"}.get(
        QUANTITIES[kind].owner, "link2"
    )
    text = f"{kind} of {owner}"
    value = quantity_value(PROBLEM, text)
    other = value * 1.01 + 1e-4
    changed = with_quantity(PROBLEM, text, other)
    assert quantity_value(changed, text) == pytest.approx(other, rel=1e-12)
    assert quantity_value(PROBLEM, text) == value
    assert changed.validate() == []


def test_a_mass_scales_what_is_not_a_parameter_itself() -> None:
    names = ("mass", "first_moment.x")
    parameters = tuple(
        Parameter(name, -1.0, 1.0, 0.1, quantity=f"{name} of link2") for name in names[::-1]
    )
    problem = replace(PROBLEM, parameters=parameters)
    row = with_parameters(problem, {"mass": 1.0, "first_moment.x": -0.15}).model.inertia[1]
    old = PROBLEM.model.inertia[1]
    assert row[0] == 1.0
    assert row[1] == -0.15
    assert np.allclose(row[2:], old[2:] / old[0], rtol=1e-14)


def test_units() -> None:
    assert unit_of(PROBLEM, STIFF) == "N m/rad"
    assert unit_of(PROBLEM, replace(STIFF, unit="N m/turn")) == "N m/turn"
    slide = replace(PROBLEM, model=predyn.models.prismatic_revolute())
    joint = slide.model.joint_names[0]
    assert unit_of(slide, replace(STIFF, quantity=f"stiffness of {joint}")) == "N/m"


def one(name: str, low: float, high: float, guess: float, quantity: Any) -> Parameter:
    return Parameter(name, low, high, guess, quantity=quantity)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([STIFF, STIFF], "parameters[1].name: 'k' is already the name of parameter 1"),
        (
            [one("k", 0, 9, 1, "stifness of joint1")],
            "parameters[0].quantity: unknown quantity 'stifness': did you mean 'stiffness'?",
        ),
        (
            [one("k", 0, 9, 1, "stiffness of joint3")],
            "parameters[0].quantity: unknown joint 'joint3'",
        ),
        ([one("k", 0, 9, 1, "mass of arm")], "parameters[0].quantity: unknown link 'arm'"),
        (
            [one("k", 0, 9, 1, "payload of link1")],
            "parameters[0].quantity: unknown link with a payload 'link1'",
        ),
        (
            [one("k", 0, 9, 1, "force.x of link1")],
            "parameters[0].quantity: force of link1: it varies over time; a constant",
        ),
        (
            [one("m", 0, 9, 0, "mass of link1")],
            "parameters[0].guess: mass of link1 scales the inertia, which is not known at 0; give",
        ),
        (
            [one("k", 0, 9, 1, None)],
            "parameters[0]: nothing depends on parameter 'k'",
        ),
        (
            [one("k", 0, 9, 1, "stiffness")],
            "parameters[0].quantity: quantity: expected text such as 'stiffness of joint1', got",
        ),
        (
            [one("k", 0, 9, 1, "")],
            "parameters[0].quantity: quantity: expected text such as 'stiffness of joint1', got ''",
        ),
        (
            [one("k", 0, 9, 1, 7)],
            "parameters[0].quantity: expected text such as 'mass of LINK', or a list of texts, got",
        ),
        (
            [one("k", 0, 9, 1, ("mass of link1", 7))],
            "parameters[0].quantity: expected text such as 'mass of LINK', or a list of texts, got",
        ),
        (
            [STIFF, replace(STIFF, name="c")],
            "parameters[1].quantity: 'c' determines stiffness of joint1, and 'k' does too; keep",
        ),
        (
            [one("k", 0, 9, 1, ("stiffness of joint1", "stiffness of joint1"))],
            "parameters[0].quantity: 'k' determines stiffness of joint1, and it names it twice",
        ),
        (
            [one("a", 0.1, 9, 1, "length of link1"), one("b", 0, 9, 1, "origin.x of joint2")],
            "parameters[1].quantity: 'b' determines origin.x of joint2, and 'a' does too; keep",
        ),
        (
            [one("m", -1, 9, 1, "mass of link1")],
            "parameters[0].min: the bounds make the model impossible: mass of link1 must be at "
            "least 0, and min is -1",
        ),
        (
            [one("c", -np.inf, 9, 1, "damping of joint1")],
            "parameters[0].min: the bounds make the model impossible: damping of joint1 must be at",
        ),
        (
            [one("L", 0, 9, 1, "length of link1")],
            "parameters[0].min: the bounds make the model impossible: length of link1 must be more",
        ),
        (
            [one("m", 0, 9, 1, "mass of link2")],
            "parameters[0]: its bounds make the model impossible: with m = 0, model 'two_link': "
            "mass matrix is singular: joint 'joint2' moves no inertia",
        ),
        (
            [one("h", -0.9, 0.9, 0.0, "first_moment.y of link2")],
            "parameters[0]: its bounds make the model impossible: with h = -0.9, model 'two_link': "
            "link 'link2': inertia about the centre of mass is not positive semidefinite",
        ),
    ],
)
def test_errors(parameters: list[Parameter], expected: str) -> None:
    (message, *_) = messages(*parameters)
    assert message.startswith(expected), message


def test_inertia_is_checked_where_bounds_meet() -> None:
    """Each of two parameters is possible alone, both together are not."""
    # about the centre of mass: Ixx = 0.05 - h^2/0.5, from above and with 0.02 in place of 0.05
    moment = one("h", 0.0, 0.12, 0.0, "first_moment.z of link2")
    inertia = one("I", 0.02, 0.06, 0.05, "inertia.xx of link2")
    assert messages(moment) == []
    assert messages(inertia) == []
    (message,) = messages(moment, inertia)
    assert message.startswith(
        "parameters[0]: its bounds make the model impossible: with h = 0.12, I = 0.02, model"
    )


def test_a_duration_does_not_stand_for_numbers_of_the_model() -> None:
    phases = (replace(PROBLEM.phases[0], duration="k"), PROBLEM.phases[1])
    forces = PROBLEM.forces[:1]
    (message,) = messages(replace(STIFF, min=0.5), phases=phases, forces=forces)
    assert message.startswith(
        "parameters[0].quantity: 'k' is the duration of 'reach', so that it cannot stand for"
    )


@pytest.mark.parametrize("quantity", ["damping of joint1", "mass of link2", "force.x of tip"])
def test_a_parameter_nothing_depends_on(quantity: str) -> None:
    """The cost and the constraint look at positions only, and efforts are not limited."""
    model = PROBLEM.model.with_limits(effort=np.inf)
    value = quantity_value(PROBLEM, quantity)
    parameter = Parameter("x", value, value + 1.0, value, quantity=quantity)
    problem = replace(
        PROBLEM,
        model=model,
        costs=(Cost(JointVelocity()),),
        constraints=(Constraint(FramePosition("tip", (0.5, 0.0, 0.0)), -9.0, 9.0),),
        parameters=(parameter,),
    )
    with pytest.raises(InputError, match=r"parameters\[0\]: nothing depends on parameter 'x' \("):
        predyn.solve(problem)
    # a length moves the frame
    length = Parameter("x", 0.3, 0.5, 0.4, quantity="length of link1")
    assert predyn.solve(replace(problem, parameters=(length,))).success
    unused = replace(problem, parameters=(Parameter("u", 0.0, 1.0, 0.5),))
    (message,) = unused.validate()
    assert message.startswith("parameters[0]: nothing depends on parameter 'u'; make it")


@pytest.mark.parametrize("quantity", ["rest of joint1", "origin.z of joint2", "moment.x of tip"])
def test_a_number_without_effect(quantity: str) -> None:
    """The rest position of a joint without spring, and what is perpendicular to the motion."""
    parameter = Parameter("x", -1.0, 1.0, 0.0, quantity=quantity)
    with pytest.raises(InputError, match=r"parameters\[0\]: nothing depends on parameter 'x' \("):
        predyn.solve(replace(PROBLEM, parameters=(parameter,)))


def test_an_impossible_model_at_the_end_is_a_status() -> None:
    """A centre of mass 5 m away from a link whose inertia does not allow for it."""
    free = Parameter("h", -np.inf, np.inf, 0.0, quantity="first_moment.y of link2")
    far = Constraint(ParameterValue("h"), 2.5, 2.5, name="far")
    solution = predyn.solve(replace(PROBLEM, parameters=(free,), constraints=(far,)))
    assert not solution.success
    assert solution.status == "evaluation_error"
    assert solution.message.startswith(
        "the model is impossible with h = 2.5: model 'two_link': link 'link2': inertia about the"
    )
    assert solution.parameters == {"h": pytest.approx(2.5)}
    assert solution.model.inertia[1, 2] == 0.0  # the guess

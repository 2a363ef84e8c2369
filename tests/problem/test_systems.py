"""Systems of phases, payloads and impacts: errors are reported by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from predyn import models
from predyn.curves.profile import Profile
from predyn.dynamics.system import Payload
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Hybrid,
    Phase,
    Problem,
    Signal,
    Spline,
    State,
    System,
)
from predyn.terms import Effort, JointJerk, SignalValue
from predyn.terms.term import Residual, Term
from predyn.terms.user import UserTerm

MODEL = models.two_link()
BOX = Payload("tip", 2.0, (0.0, 0.1, 0.0), (0.1, 0.1, 0.1))
UP = np.array([0.0, 0.1, 0.0])
LOADED = System((BOX,))
REACH = Phase(1.0, State(q=(0, 0), v=(0, 0)), State(q=(1, 1)), name="reach")
CARRY = Phase(1.0, State(), State(q=(0, 0), v=(0, 0)), name="carry", system="loaded")
PROBLEM = Problem(MODEL, (REACH, CARRY), (Cost(Effort()),), systems={"loaded": LOADED})
PAIR = np.array([[-1.0, 1.0]] * 2)
PRESS = Signal("press", ("x", "y", "z"))


def loaded(**changed: Any) -> dict[str, Any]:
    return {"systems": {"loaded": replace(LOADED, **changed)}}


def payload(*given: Any) -> dict[str, Any]:
    return loaded(payloads=(Payload(*given),))


def carry(**changed: Any) -> dict[str, Any]:
    return {"phases": (REACH, replace(CARRY, **changed))}


def limits(**changed: Any) -> dict[str, Any]:
    return loaded(limits=MODEL.limits._replace(**changed))


LINE = Profile((0.0, 1.0), np.zeros((2, 3)))
CASES: list[tuple[dict[str, Any], str]] = [
    ({"systems": (LOADED,)}, "systems: expected systems by name ({'loaded': System(...)}), got"),
    ({"systems": {"loaded": LOADED, "": LOADED}}, "systems: expected a non-empty string as name"),
    ({"systems": {"loaded": BOX}}, "systems.loaded: expected a System, got Payload"),
    (carry(system="loadet"), "phases[1].system: unknown system 'loadet': did you mean 'loaded'"),
    (carry(system=3), "phases[1].system: system: expected a name (str), got int 3"),
    (
        {"systems": {"loaded": LOADED, "spare": LOADED}},
        "systems.spare: no phase has the system 'spare'; name it in a phase, or remove it",
    ),
    (loaded(payloads=BOX), "systems.loaded.payloads: expected a list of Payload, got Payload"),
    (loaded(payloads=("box",)), "systems.loaded.payloads[0]: expected a Payload, got str"),
    (payload("tap", 1.0), "systems.loaded.payloads[0]: unknown frame or link 'tap': did you mean"),
    (payload("tip", -1.0), "systems.loaded.payloads[0]: payload mass: expected at least 0"),
    (payload("tip", 1.0, (0, 0)), "systems.loaded.payloads[0]: payload point: expected shape (3,)"),
    (payload("tip", 1.0, (0, 0, 0), "big"), "systems.loaded.payloads[0]: payload inertia"),
    (loaded(passive="joint1"), "systems.loaded.passive: expected a list of joint names"),
    (loaded(passive=("joint3",)), "systems.loaded.passive: unknown joint 'joint3': did you mean"),
    (loaded(limits=PAIR), "systems.loaded.limits: expected Limits, got ndarray"),
    (
        limits(velocity=PAIR * [[-1], [1]]),
        "loaded.limits.velocity: joint 'joint1': lower 1 is",
    ),
    (loaded(jerk_limit=-1.0), "systems.loaded.jerk_limit: expected a number above 0"),
    (
        limits(position=PAIR - [[2], [0]]),
        "phases[1].end.q: joint 'joint1': 0 is outside its position limits -3 to -1",
    ),
    (
        {**carry(start=State(q=(1, 1))), **limits(velocity=PAIR * [[0.5], [1]])},
        "phases[1].end.q: joint 'joint1' cannot get there in time: -1 at no more than 0.5",
    ),
    (loaded(forces=ExternalForce("tip")), "systems.loaded.forces: expected a list of External"),
    (
        loaded(forces=(ExternalForce("tap"),)),
        "systems.loaded.forces[0]: unknown frame or link 'tap'",
    ),
    (
        loaded(forces=(ExternalForce("tip", "press"),)),
        "systems.loaded.forces[0].force: unknown signal 'press': there are none",
    ),
    (
        {
            **loaded(forces=(ExternalForce("tip", "press"),)),
            "signals": (replace(PRESS, phases=("reach",)),),
        },
        "systems.loaded.forces[0].force: the force acts in 'carry', where signal 'press' does not "
        "exist (phases: reach); add the phase",
    ),
    (
        {**loaded(forces=(ExternalForce("tip", LINE),)), **carry(duration=Duration(1, 2, 1.5))},
        "systems.loaded.forces[0].force: a curve over time needs a fixed duration, but that of "
        "'carry' is free",
    ),
    (carry(impact="yes"), "phases[1].impact: expected true or false, got 'yes'"),
    (
        {"phases": (replace(CARRY, impact=True),)},
        "phases[0].impact: the first phase cannot begin with an impact",
    ),
    (
        {"phases": (replace(REACH, system="loaded"), replace(CARRY, impact=True))},
        "phases[1].impact: an impact has no effect here: 'carry' carries nothing that 'reach' does",
    ),
    (
        {
            "phases": (replace(REACH, system="loaded"), replace(CARRY, system="more", impact=True)),
            "systems": {"loaded": LOADED, "more": System((replace(BOX, mass=3.0),))},
        },
        "phases[1].impact: 'reach' carries 2 kg on 'tip' that 'carry' does not; put it down in a "
        "phase of its own, without an impact",
    ),
]


@pytest.mark.parametrize(("changed", "message"), CASES)
def test_each_error_gives_one_message(changed: dict[str, Any], message: str) -> None:
    (found,) = replace(PROBLEM, **changed).validate()
    assert message in found


@pytest.mark.parametrize(
    "changed",
    [
        {},
        carry(impact=True),
        {  # a second body, given in other words
            "phases": (replace(REACH, system="loaded"), replace(CARRY, system="more", impact=True)),
            "systems": {
                "loaded": LOADED,
                "more": System(
                    (
                        Payload("link1", 1.0),
                        replace(BOX, inertia=0.1 * np.eye(3), point=[0, 0.1, 0]),
                    )
                ),
            },
        },
        {  # velocities jump at an impact
            "phases": (
                replace(REACH, end=State(q=(1, 1), v=(2, 2))),
                replace(CARRY, start=State(q=(1, 1), v=(1, 1)), impact=True),
            )
        },
        limits(position=np.array([[-0.5, 1.0]] * 2)),  # narrower than what "reach" keeps to
        loaded(passive=("joint1",), jerk_limit=1e3),
        {**loaded(forces=(ExternalForce("tip", "press"),)), "signals": (PRESS,)},
        {
            **loaded(forces=(ExternalForce("tip", "press"),)),
            "signals": (replace(PRESS, phases=("carry",)),),
        },
        loaded(forces=(ExternalForce("tip", LINE),)),
        {"transcription": Hybrid()},
    ],
)
def test_valid_problems_give_no_message(changed: dict[str, Any]) -> None:
    assert replace(PROBLEM, **changed).validate() == []


def test_without_an_impact_velocities_must_meet() -> None:
    phases = (
        replace(REACH, end=State(q=(1, 1), v=(2, 2))),
        replace(CARRY, start=State(v=(1, 2))),
    )
    (message,) = replace(PROBLEM, phases=phases).validate()
    assert "phases[1].start.v: joint 'joint1' starts at 1, but the phase before ends" in message


def test_phase_without_freedom() -> None:
    """Its boundary values fix four control points; the other phase has more of them."""
    fixed = replace(REACH, end=State(q=(1, 1), v=(0, 0)), segments=1)
    problem = replace(PROBLEM, phases=(fixed, CARRY))
    (message,) = problem.validate()
    assert message.startswith(
        "phases[0]: nothing is free in 'reach': the boundary values fix all 4 control points"
    )
    costs = (Cost(SignalValue("press")),)
    in_reach = replace(PRESS, phases=("reach",))
    in_carry = replace(PRESS, phases=("carry",))
    reach = replace(fixed, costs=costs)
    assert replace(problem, phases=(reach, CARRY), signals=(in_reach,)).validate() == []
    other = (fixed, replace(CARRY, costs=costs))
    assert len(replace(problem, phases=other, signals=(in_carry,)).validate()) == 1
    free = replace(fixed, duration=Duration(0.5, 2.0, 1.0))
    assert replace(problem, phases=(free, CARRY)).validate() == []


def test_jerk_needs_an_active_joint_in_its_phase() -> None:
    """With the hybrid method, jerk is available only for joints that are active in the phase."""
    hybrid = replace(PROBLEM, transcription=Hybrid(), **loaded(passive=("joint1",)))
    jerk = (Cost(JointJerk()),)
    assert replace(hybrid, phases=(replace(REACH, costs=jerk), CARRY)).validate() == []
    (message,) = replace(hybrid, phases=(REACH, replace(CARRY, costs=jerk))).validate()
    assert message.startswith("phases[1].costs[0].term: 'jerk' of the passive joint 'joint1'")
    (message,) = replace(hybrid, **loaded(passive=("joint1",), jerk_limit=5.0)).validate()
    assert message.startswith("systems.loaded.jerk_limit: 'jerk' of the passive joint 'joint1'")


def test_free_knots_refuse_systems() -> None:
    one = (replace(CARRY, start=REACH.start, end=State(q=(1, 1))),)
    (message,) = replace(PROBLEM, phases=one, transcription=Spline(knots="free")).validate()
    assert message == "transcription.knots: 'free' cannot be combined with systems; use 'clamped'"


@dataclass(frozen=True)
class Distance(Term):
    """A term that is curved in a pair of instants; its residual is that of a curved user term."""

    kind = "distance"
    pairs: ClassVar[bool] = True

    def bind(self, model: Model) -> Residual:
        return UserTerm(lambda s: s["q"][0] ** 2, ("q",), name="distance").bind(model)


def test_hybrid_method_refuses_curved_pairs() -> None:
    problem = replace(PROBLEM, constraints=(Constraint(Distance(), 0.0, 1.0),))
    assert problem.validate() == []
    (message,) = replace(problem, transcription=Hybrid()).validate()
    assert message.startswith(
        "constraints[0].term: 'distance' is not linear in the channels of its two instants"
    )

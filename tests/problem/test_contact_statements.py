"""Contact statements that would be altered or ignored are named, and odd ones are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import predyn
from predyn import Contact, Cost, Cycle, Ground, Phase, Problem, Spline
from predyn.config import read_task
from predyn.problem.contact_program import written_out
from predyn.terms import ContactForceRate, Effort

WALK = read_task("planar-walker").problem
FLAT = WALK.phases[0].contacts


def with_contacts(p: int, *contacts: Contact) -> Problem:
    """The walk with other contacts in a phase."""
    phases = list(WALK.phases)
    phases[p] = replace(phases[p], contacts=contacts)
    return replace(WALK, phases=tuple(phases))


def hopper(base: bool = True) -> predyn.Model:
    """A leg whose foot is a patch of its own, on a floating base or on a vertical rail."""
    builder = predyn.ModelBuilder("hopper")
    parent = "world"
    if base:
        builder.add_link("x", joint="x", kind="prismatic", axis=(-1.0, 0.0, 0.0))
        parent = "x"
    builder.add_link("z", parent, joint="z", kind="prismatic", axis=(0.0, 0.0, 1.0))
    inertia = (0.1, 0.1, 0.1)
    turn = {"axis": (0.0, -1.0, 0.0), "inertia": inertia}
    builder.add_link("body", "z", joint="tilt", mass=10.0, com=(0.0, 0.0, 0.1), **turn)
    builder.add_link("thigh", "body", joint="hip", mass=1.0, effort=80.0, **turn)
    builder.add_link(
        "shank", "thigh", joint="knee", origin=(0.0, 0.0, -0.3), mass=0.5, effort=80.0, **turn
    )
    builder.add_contact("foot", "shank", (0.0, 0.0, -0.3))
    return builder.build()


def hopping(*contacts: Contact, model: predyn.Model | None = None, **options: Any) -> Problem:
    phases = [Phase(0.3, name="one", contacts=contacts)]
    return Problem(hopper() if model is None else model, phases, **options)


FOOT = Contact("foot", "xz", "xz", (0.0, None, 0.0))
STATEMENTS = {
    "a rail with a motor": (
        hopping(Contact("foot", "z", "z"), model=hopper(base=False)),
        "slide 'z' holds the body and would have a motor without limit",
    ),
    "shear without a normal force": (
        hopping(Contact("foot", "x", "x")),
        "patch 'foot' is pushed along 'x' without z",
    ),
    "two shared forces": (
        with_contacts(0, FLAT[0], Contact("right_toe", "xz", "z", shared="x")),
        "'right_heel' and 'right_toe' both share in this phase",
    ),
    "other shared axes": (
        with_contacts(1, Contact("right_toe", "xyz", "xz", (0.0, None, 0.0), "xy")),
        "shared: expected 'x', as for patch 'right_sole' in phase 'flat', got 'xy'",
    ),
    "a mirror that the base does not follow": (
        replace(WALK, cycle=replace(WALK.cycle, mirror="x")),
        "joint 'x' slides along x, which the mirror turns",
    ),
    "steps that the cycle does not follow": (
        replace(
            WALK,
            ground=Ground(steps=((0.3, 0.1),)),
            cycle=replace(WALK.cycle, advance=(0.6, 0.0, 0.0)),
        ),
        "let the steps of the ground and the advance of the cycle agree",
    ),
    "a term whose points never touch": (
        replace(WALK, costs=(Cost(ContactForceRate(("left_toe",))), *WALK.costs)),
        "left_toe does not touch the ground",
    ),
    "an unknown system": (
        replace(WALK, phases=(replace(WALK.phases[0], system="moon"), *WALK.phases[1:])),
        "moon",
    ),
    "one bad option": (
        replace(WALK, transcription=replace(WALK.transcription, refine="maybe")),
        "refine: expected true or false",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_without_effect_are_named(name: str) -> None:
    problem, message = STATEMENTS[name]
    found = problem.validate()
    assert any(message in line for line in found), found
    assert len(found) <= 3


def test_a_shared_force_of_a_single_point_is_its_own() -> None:
    alone, shared = (written_out(hopping(replace(FOOT, shared=x))) for x in ("", "x"))
    assert [x.name for x in shared.signals] == ["foot"]
    assert np.array_equal(alone.signals[0].upper, shared.signals[0].upper)


def test_a_cycle_without_contacts_keeps_motors() -> None:
    problem = written_out(hopping(cycle=Cycle()))
    assert problem.passive == ()
    assert not problem.phases[0].constraints


def test_slides_that_point_backwards_move_on() -> None:
    problem = written_out(hopping(cycle=Cycle((0.4, 0.0, 0.0))))
    (term,) = (x.term for x in problem.constraints if x.term.channels == ("q", "v"))
    assert term.offset == {"x": -0.4}


def test_a_point_that_stood_before_may_stand_elsewhere() -> None:
    phases = [
        Phase(0.2, name="first", contacts=(Contact("foot", "xz", "xz"),)),
        Phase(0.2, name="flight"),
        Phase(0.2, name="second", contacts=(Contact("foot", "xz", "xz"),)),
    ]
    problem = Problem(hopper(), phases)
    assert problem.validate() == []
    names = [x.name for x in written_out(problem).parameters]
    assert names == ["place of foot x", "place of foot x in second"]


def test_a_point_that_slides_before_is_new_along_that_axis() -> None:
    phases = [
        Phase(0.2, name="slide", contacts=(Contact("foot", "xz", "z"),)),
        Phase(0.2, name="stick", contacts=(FOOT,)),
    ]
    rows = [x for x in written_out(Problem(hopper(), phases)).phases[1].constraints]
    first = {tuple(x.term.place): x.imposed_at.first for x in rows if x.name == "place"}
    assert first == {("z",): 3, ("x",): 0}


def test_payloads_of_a_system_go_on_with_contacts() -> None:
    systems = {"loaded": predyn.System((predyn.Payload("trunk", 5.0),))}
    phases = tuple(replace(phase, system="loaded") for phase in WALK.phases)
    problem = replace(WALK, systems=systems, phases=phases)
    assert problem.validate() == []
    program = written_out(problem)
    assert all(len(x.payloads) == 1 and x.forces for x in program.systems.values())


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (hopping(Contact("foot", "xz", "")), "is held along z"),
        (hopping(FOOT, model=hopper().with_gravity((0.0, -9.81, 0.0))), "turn the model so that z"),
        (hopping(FOOT, transcription=Spline(degree=5, knots="uniform")), "'uniform' cannot be"),
        (
            hopping(FOOT, forces=(predyn.ExternalForce("body", force="foot"),)),
            "is the force of the ground on a contact point",
        ),
        (hopping(FOOT, costs=(Cost(ContactForceRate(("knee",))),)), "knee"),
        (hopping(FOOT, costs=(Cost(ContactForceRate(5)),)), "expected a list of names"),
        (hopping(FOOT, systems=None), "systems"),
        (hopping(FOOT, continuity="2"), "continuity: expected 0, 1 or 2"),
        (hopping(FOOT, costs=(Cost(Effort(), average=True, at="end"),)), "average"),
    ],
)
def test_further_statements(problem: Problem, message: str) -> None:
    found = problem.validate()
    assert any(message in line for line in found), found


def test_hybrid_does_not_average() -> None:
    problem = predyn.load_task("acrobot-swingup")
    costs = tuple(replace(x, average=True) for x in problem.costs)
    assert any("only integrates" in x for x in replace(problem, costs=costs).validate())

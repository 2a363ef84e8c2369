"""Contacts of problems: where they stand, what they are written out as, and mistakes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predyn import Constraint, Contact, Cycle, Ground, Hybrid, Parameter, Phase, Points, Problem
from predyn.config import read_task
from predyn.errors import InputError
from predyn.problem.contact_program import written_out
from predyn.problem.reach import largest_distance
from predyn.problem.stances import Neighbours, Node, Stances
from predyn.terms import JointPosition
from predyn.terms.contact import Place


@cache
def walk() -> Problem:
    return read_task("planar-walker").problem


def with_contacts(p: int, *contacts: Contact) -> Problem:
    """The walk with other contacts in a phase."""
    phases = list(walk().phases)
    phases[p] = replace(phases[p], contacts=contacts)
    return replace(walk(), phases=tuple(phases))


def cycling(**changes: object) -> Problem:
    assert walk().cycle is not None
    return replace(walk(), cycle=replace(walk().cycle, **changes))


def imposed(points: object, **more: object) -> Problem:
    constraint = Constraint(JointPosition(("trunk",)), -1.0, 1.0, imposed_at=points, **more)
    return replace(walk(), constraints=(constraint,))


FLAT, TOE, DOUBLE = (phase.contacts for phase in walk().phases)
PLANAR = Contact("right_toe", "xz", "xz", (0.0, None, 0.0), "x")
MISTAKES = {
    "unknown point": (
        with_contacts(1, Contact("rigt_toe")),
        "phases[1].contacts[0].point: unknown contact point 'rigt_toe': did you mean 'right_toe'",
    ),
    "a link is no point": (with_contacts(1, Contact("right_foot")), "unknown contact point"),
    "model without points": (
        Problem(predyn.models.two_link(), (Phase(1.0, contacts=(Contact("tip"),)),)),
        "model 'two_link' has no contact points; add them with ModelBuilder.add_contact",
    ),
    "step longer than the legs": (
        cycling(advance=(2.6, 0.0, 0.0)),
        "'right_toe' and 'left_heel' touch 2.39 m apart in phase 'double', but the links between "
        "them reach 1.99172 m; shorten the step",
    ),
    "heel and toe of one foot": (
        with_contacts(0, replace(FLAT[0], place=(-0.5, None, 0.0)), FLAT[1]),
        "touch 0.5 m apart in phase 'flat', but they are 0.21 m apart on one link",
    ),
    "heel and toe too near": (
        with_contacts(0, replace(FLAT[0], place=(-0.2, None, 0.0)), FLAT[1]),
        "touch 0.2 m apart in phase 'flat', but they are 0.21 m apart on one link",
    ),
    "below the ground": (
        with_contacts(1, replace(TOE[0], place=(0.0, None, -0.2))),
        "the place of 'right_toe' in phase 'toe' is at z = -0.2 m, below the ground at 0 m",
    ),
    "a posture beside its place": (
        replace(walk(), phases=(replace(walk().phases[0], start=predyn.State(q=np.zeros(9))),)),
        "phases[0].start.q: this posture has 'right_heel' at x = -0.06, z = -0.937 m, but its "
        "place is x = -0.21, z = 0 m; move the posture or the place",
    ),
    "below a step": (
        replace(walk(), ground=Ground(steps=((-0.1, 0.2),))),
        "the place of 'right_toe' in phase 'toe' is at z = 0 m, below the ground at 0.2 m",
    ),
    "contradictory places": (
        with_contacts(2, replace(DOUBLE[0], place=(0.1, None, 0.0)), DOUBLE[1]),
        "contact 'right_toe' in phase 'double': its place along x is 0.1, but it has not left the "
        "ground since phase 'toe', which implies 0 m",
    ),
    "contradiction over the end of the cycle": (
        with_contacts(2, DOUBLE[0], replace(DOUBLE[1], place=(0.3, None, 0.0))),
        "its place along x is -0.21, but it has not left the ground since phase 'double', which "
        "implies -0.3 m",
    ),
    "a foot that never leaves": (
        replace(walk(), cycle=Cycle((0.6, 0.0, 0.0))),
        "contact 'right_toe' touches in all phases, but the cycle moves it on by 0.6 m along x",
    ),
    "no friction": (
        replace(walk(), ground=Ground(0.0)),
        "ground.friction: expected a coefficient above 0, got 0.0; without friction, let the "
        "ground push along z only",
    ),
    "unknown cone": (replace(walk(), ground=Ground(cone="circle")), "unknown cone 'circle'"),
    "steep": (replace(walk(), ground=Ground(slope=2.0)), "expected a rise from -1 to 1 m"),
    "high": (replace(walk(), ground=Ground(height=np.nan)), "ground.height: expected a number"),
    "ground": (replace(walk(), ground=0.8), "ground: expected a Ground, got float"),
    "motors": (
        replace(walk(), passive=("z",)),
        "passive: joints trunk, x of the floating base would have motors",
    ),
    "hybrid": (
        replace(walk(), transcription=Hybrid()),
        "transcription: method 'hybrid' does not support contacts and cycles; use method 'spline'",
    ),
    "free knots": (
        replace(walk(), transcription=replace(walk().transcription, knots="free")),
        "transcription.knots: 'free' cannot be combined with contacts",
    ),
    "twice": (with_contacts(1, PLANAR, PLANAR), "'right_toe' is listed twice in this phase"),
    "names": (with_contacts(1, "right_toe"), "contacts[0]: expected a Contact, got str"),
    "text": (
        replace(walk(), phases=(replace(walk().phases[0], contacts="right_toe"),)),
        "contacts: expected a list of Contact, got str",
    ),
    "axes": (with_contacts(1, replace(PLANAR, push="xw")), "expected some of 'xyz', each once"),
    "no axes": (
        with_contacts(1, Contact("right_toe", "", "")),
        "expected axes of push or hold, got neither",
    ),
    "shared": (
        with_contacts(1, replace(PLANAR, shared="z")),
        "shared: expected axes among x and y of push 'xz', got 'z'",
    ),
    "other forces": (
        with_contacts(1, replace(PLANAR, shared="")),
        "push: expected the axes of phase 'flat', 'z', got 'xz'",
    ),
    "place": (with_contacts(1, replace(PLANAR, place=(0.0, 0.0))), "expected (x, y, z)"),
    "place of nothing": (
        with_contacts(1, replace(PLANAR, place=("toe", None, 0.0))),
        "place: unknown parameter 'toe': there are none",
    ),
    "place at infinity": (
        with_contacts(1, replace(PLANAR, place=(np.inf, None, 0.0))),
        "x: expected a number in m, the name of a parameter or None, got inf",
    ),
    "advance": (cycling(advance=("step", 0.0, 0.0)), "advance: unknown parameter 'step'"),
    "advance of two": (cycling(advance=(0.6, 0.0)), "advance: expected (x, y, z) in m"),
    "mirror": (cycling(mirror="z"), "cycle.mirror: expected 'x', 'y' or None, got 'z'"),
    "sides": (
        cycling(swap={k: v for k, v in walk().cycle.swap.items() if "heel" not in k}),
        "contact point 'right_heel' moves with joint 'right_ankle', which changes places",
    ),
    "patches": (
        cycling(swap={k: v for k, v in walk().cycle.swap.items() if "sole" not in k}),
        "but its patch 'right_sole' does not change places with 'left_sole'; add the patches",
    ),
    "swap": (cycling(swap={"hip": "left_hip"}), "unknown joint, contact point or patch 'hip'"),
    "pairs twice": (
        cycling(swap={**walk().cycle.swap, "left_hip": "right_hip"}),
        "expected each pair once, and each name in one pair; left_hip, right_hip occurs twice",
    ),
    "signs": (cycling(signs={"trunk": 2}), "cycle.signs: sign of 'trunk': expected 1 or -1, got 2"),
    "cycle": (replace(walk(), cycle=True), "cycle: expected a Cycle, got bool"),
    "instants": (imposed("motion"), "imposed_at: expected Points such as"),
    "unknown instants": (imposed(Points("knots")), "imposed_at: expected Points such as"),
    "no number": (imposed(Points("motion", first=True)), "with numbers from 0 on, got Points"),
    "no instants": (imposed(Points("motion", 9, 4)), "below the 13 points, got 13"),
    "no limit points": (imposed(Points("limits", 25)), "below the 25 points, got 25"),
    "instants of an end": (imposed(Points("motion"), at="end"), "constraints throughout a phase"),
}  # fmt: skip


def test_the_walk_is_valid() -> None:
    assert walk().validate() == []
    raised = Parameter("height", 0.0, 0.5, 0.3)
    toe = with_contacts(1, replace(TOE[0], place=(0.0, None, "height")))
    high = replace(toe, parameters=(raised,), ground=Ground(height=0.1))
    assert not [line for line in high.validate() if "below the ground" in line and "toe" in line]


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_before_the_solve(name: str) -> None:
    problem, message = MISTAKES[name]
    found = problem.validate()
    assert any(message in line for line in found), found
    assert len(found) <= 2
    with pytest.raises(InputError):
        predyn.solve(problem)


# -- places and reach ---------------------------------------------------------------------------


def test_a_stance_goes_on_over_the_end_of_the_cycle() -> None:
    """The left heel lands where the right heel stood, one step further on."""
    stances = Stances(walk(), Neighbours(walk()))
    assert stances.place(Node(2, "left_heel"), "x").number == pytest.approx(0.39, abs=1e-15)
    assert stances.place(Node(0, "right_toe"), "x") == Place(0.0)  # from the phases after it
    assert stances.parameters == []


def test_unknown_places_are_parameters() -> None:
    free = with_contacts(0, replace(FLAT[0], place=None), FLAT[1])
    assert free.cycle is not None
    step = Parameter("step", 0.5, 0.7, 0.6)
    moving = replace(
        free, parameters=(step,), cycle=replace(free.cycle, advance=("step", 0.0, 0.0))
    )
    stances = Stances(moving, Neighbours(moving))
    assert [x.name for x in stances.parameters] == ["place of right_heel x"]
    assert stances.place(Node(2, "left_heel"), "x") == Place(
        0.0, {"place of right_heel x": 1.0, "step": 1.0}
    )
    assert stances.place(Node(2, "left_heel"), "z") == Place(0.0)


def test_in_a_mirror_places_change_sign() -> None:
    model = walk().model
    mirrored = Cycle(
        (0.6, 0.0, 0.0), {"right_heel": "left_heel", "right_sole": "left_sole"}, {}, "y"
    )
    first = Phase(0.5, contacts=(Contact("right_heel", place=(0.0, -0.1, 0.0)),))
    second = Phase(0.5, contacts=(Contact("left_heel"),))
    problem = Problem(model, (first, second), cycle=mirrored)
    stances = Stances(problem, Neighbours(problem))
    place = [stances.place(Node(1, "left_heel"), axis).number for axis in "xyz"]
    assert place == pytest.approx([0.6, 0.1, 0.0], abs=1e-15)


def test_the_reach_of_two_points_is_that_of_the_links_between() -> None:
    """Stretched legs: no random posture reaches farther, one of them nearly as far."""
    model = walk().model
    reach, rigid = largest_distance(model, "right_toe", "left_heel")
    foot = [np.hypot(0.15, 0.07), np.hypot(0.06, 0.07)]
    assert reach == pytest.approx(2 * (0.4244 + 0.4426) + sum(foot), abs=1e-12)
    assert not rigid
    assert largest_distance(model, "right_toe", "right_heel") == (pytest.approx(0.21), True)
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (2000, model.n))
    ends = [
        predyn.dynamics.frame_kinematics(model, name, q).p for name in ("right_toe", "left_heel")
    ]
    apart = np.linalg.norm(ends[0] - ends[1], axis=-1)
    assert 0.8 * reach < apart.max() <= reach


# -- what they are written out as ---------------------------------------------------------------


def test_a_base_that_stands_has_no_motors() -> None:
    assert written_out(walk()).passive == ("x", "z", "trunk")
    assert written_out(replace(walk(), passive=("x", "z", "trunk"))).passive == ("x", "z", "trunk")
    assert written_out(walk()) is written_out(walk())


def test_forces_are_signals_of_the_phases_in_which_they_act() -> None:
    signals = {x.name: x for x in written_out(walk()).signals}
    phases = {name: tuple(signal.phases) for name, signal in signals.items()}
    assert phases == {
        "right_heel": ("flat",),
        "right_sole": ("flat", "toe", "double"),
        "right_toe": ("flat", "toe", "double"),
        "left_heel": ("double",),
        "left_sole": ("double",),
    }
    up = signals["right_toe"].guess
    assert [up[name][2] for name in ("flat", "toe", "double")] == pytest.approx(
        [735.75 / 2, 735.75, 735.75 / 2]
    )


def test_gravity_is_inclined_on_a_slope() -> None:
    tilted = written_out(replace(walk(), ground=Ground(slope=0.75))).model
    assert tilted.gravity == pytest.approx([-9.81 * 0.6, 0.0, -9.81 * 0.8], abs=1e-14)


def test_contacts_survive_edits_of_the_model() -> None:
    model = walk().model
    locked = model.lock({"left_ankle": 0.0})
    assert locked.patches == model.patches
    more = model.with_contact("hand", "trunk", (0.0, 0.0, 0.5))
    assert more.patches["hand"] == ("hand",)

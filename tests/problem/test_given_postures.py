"""Contacts at ends of a motion whose posture is given: where they stand, and contradictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from predyn import Contact, Phase, Problem, State
from predyn.config import load_task, read_task
from predyn.errors import FileError
from predyn.problem.contact_program import written_out
from predyn.problem.stances import Neighbours, Node, Stances
from predyn.tasks import path_of


def robot(start: State | None = None, end: State | None = None, *contacts: Contact) -> Problem:
    """The robot that stands up, with other ends or contacts."""
    problem = read_task("quadruped-stand-up").problem
    (phase,) = problem.phases
    changes = {"start": start, "end": end, "contacts": contacts}
    return replace(problem, phases=(replace(phase, **{k: x for k, x in changes.items() if x}),))


def moved(state: State, joint: int, by: float) -> State:
    q = np.array(state.q, float)
    q[joint] += by
    return replace(state, q=q)


def place(problem: Problem, point: str, axis: str) -> object:
    return Stances(problem, Neighbours(problem)).place(Node(0, point), axis)


def test_a_place_that_is_not_given_is_that_of_the_given_posture() -> None:
    problem = robot()
    assert place(problem, "front_left_foot", "x").number == pytest.approx(0.2)
    assert place(problem, "rear_right_foot", "y").number == pytest.approx(-0.12)
    assert not written_out(problem).parameters


def test_the_end_gives_the_place_if_the_start_is_free() -> None:
    phase: Phase = robot().phases[0]
    problem = robot(replace(phase.start, q=np.full(18, np.nan)))
    assert place(problem, "rear_left_foot", "x").number == pytest.approx(-0.2)


def test_a_place_is_unknown_if_neither_posture_is_given() -> None:
    phase: Phase = robot().phases[0]
    free = np.full(18, np.nan)
    problem = robot(replace(phase.start, q=free), replace(phase.end, q=free))
    assert [x.name for x in written_out(problem).parameters][:2] == [
        "place of front_left_foot x",
        "place of front_left_foot y",
    ]


def test_postures_that_contradict_a_place_are_named() -> None:
    phase: Phase = robot().phases[0]
    for message, problem in (
        ("end.q: this posture has 'front_left_foot'", robot(None, moved(phase.end, 0, 0.05))),
        ("at z = 0.01 m, but its place is z = 0 m", robot(moved(phase.start, 2, 0.01))),
    ):
        assert message in "\n".join(problem.validate())


def test_contact_points_in_a_task_file_are_checked(tmp_path) -> None:
    text = path_of("quadruped-stand-up").read_text()
    (tmp_path / "quadruped.urdf").write_text(path_of("x").with_name("quadruped.urdf").read_text())
    for old, new, message in (
        ('link = "front_left_shank"', 'link = "front_left_shnk"', "did you mean 'front_left_sha"),
        ('name = "rear_left_foot"', 'name = "front_left_foot"', "front_left_foot"),
        ("point = [0.0, 0.0, -0.2] ", "point = [0.0, -0.2] ", "point"),
    ):
        assert old in text
        (tmp_path / "task.toml").write_text(text.replace(old, new, 1))
        with pytest.raises(FileError, match=r"\[model\] contacts\[\d\]") as caught:
            load_task(tmp_path / "task.toml")
        assert message in str(caught.value)


def test_a_place_that_rounding_puts_below_the_ground_is_accepted() -> None:
    phase: Phase = robot().phases[0]
    for z, valid in ((-1e-16, True), (-1e-6, False)):
        foot = Contact("front_left_foot", place=(None, None, z))
        assert (not robot(None, None, foot, *phase.contacts[1:]).validate()) is valid

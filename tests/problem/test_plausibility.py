"""Warnings before solving: each for a case that is probably not meant, none for those that are."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn import ModelBuilder, tasks
from predyn.config import read_task
from predyn.errors import ProblemWarning
from predyn.model import Model
from predyn.models import two_link
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State, System
from predyn.problem.plausibility import implausible, like_degrees
from predyn.terms import (
    Effort,
    FrameOrientation,
    FramePosition,
    JointPosition,
    MechanicalEnergy,
    TotalTime,
)
from predyn.transcribe.methods import transcribe
from predyn.transcribe.rank import used_up_splines

REST = (0.0, 0.0)


def reach(**more: object) -> Problem:
    given: dict = {
        "model": two_link(),
        "phases": (Phase(1.0, State((0.2, 0.4), REST), State((0.8, 0.5), REST)),),
        "costs": (Cost(Effort()),),
        "transcription": Spline(segments=6),
    }
    return Problem(**(given | more))


@pytest.mark.parametrize("name", tasks.NAMES)
def test_built_in_tasks_give_no_warning(name: str) -> None:
    problem = read_task(name).problem
    assert implausible(problem) == []
    assert used_up_splines(transcribe(problem)) == []


def test_solve_warns_once_and_the_caller_is_named() -> None:
    asked = reach(costs=())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = predyn.solve(asked)
        predyn.solve(asked, guess=solution)
    (warning,) = caught
    assert warning.category is ProblemWarning
    assert warning.filename == __file__
    assert "problem 'problem': there is no cost" in str(warning.message)


def test_equations_are_warned_of_once_in_all_stages() -> None:
    """Energy is solved in stages, each with a program of its own."""
    half = Constraint(JointPosition(target=(0.3, 0.2)), 0.0, 0.0, at=(0.5,))
    asked = reach(
        costs=(Cost(MechanicalEnergy()),), constraints=(half, replace(half, name="again"))
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predyn.solve(asked)
    (warning,) = caught
    assert warning.filename == __file__
    assert "depend on each other" in str(warning.message)


# -- cost --------------------------------------------------------------------------------------


def test_a_problem_without_cost() -> None:
    (message,) = implausible(reach(costs=()))
    assert "there is no cost" in message
    (message,) = implausible(reach(costs=(Cost(Effort(), 0.0),)))
    assert "all costs have weight 0" in message
    phase = replace(reach().phases[0], costs=(Cost(Effort()),))
    assert implausible(reach(costs=(), phases=(phase,))) == []


# -- floating base -----------------------------------------------------------------------------


def planar_body(limit: float | None = None, mass: float = 0.0) -> Model:
    """Two slides and a rotation carry a body with a leg."""
    builder = ModelBuilder("body", (0.0, -9.81, 0.0))
    builder.add_link("x", kind="prismatic", axis=(1, 0, 0), position=limit, mass=mass)
    builder.add_link("y", "x", kind="prismatic", axis=(0, 1, 0), position=limit)
    builder.add_link("trunk", "y", mass=5.0, inertia=(0.1, 0.1, 0.1))
    builder.add_link("leg", "trunk", mass=1.0, com=(0, -0.2, 0), inertia=(0.01, 0.01, 0.01))
    return builder.build()


def still(model: Model, **more: object) -> Problem:
    q = np.zeros(model.n)
    return reach(model=model, phases=(Phase(1.0, State(q, q)),), **more)


def test_a_floating_base_with_motors() -> None:
    model = planar_body()
    base = ("x_joint", "y_joint", "trunk_joint")
    (message,) = implausible(still(model))
    assert "a floating base has motors: x_joint, y_joint, trunk_joint" in message
    assert "`passive`" in message
    (message,) = implausible(still(model, passive=base[1:]))
    assert "has motors: x_joint;" in message
    assert implausible(still(model, passive=base)) == []
    held = {"held": System(passive=base[:1])}
    phases = (Phase(1.0, name="fly"), Phase(1.0, name="stand", system="held"))
    (message,) = implausible(reach(model=model, phases=phases, systems=held, passive=base))
    assert "in 'stand': y_joint, trunk_joint" in message


def test_a_floating_urdf(tmp_path: Path) -> None:
    inertia = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    body = f"<inertial><mass value='2'/>{inertia}</inertial>"
    path = tmp_path / "body.urdf"
    path.write_text(
        f"<robot name='body'><link name='base'>{body}</link><link name='arm'>{body}</link>"
        "<joint name='j' type='continuous'><parent link='base'/><child link='arm'/></joint></robot>"
    )
    model = predyn.load_urdf(path, floating_base=True)
    (message,) = implausible(still(model))
    assert "base_tx, base_ty, base_tz, base_rz, base_ry, base_rx" in message
    assert implausible(still(model, passive=model.joint_names[:6])) == []


def test_driven_slides_are_no_floating_base() -> None:
    assert implausible(still(planar_body(limit=1.0))) == []  # a gantry has ends
    assert implausible(still(planar_body(mass=2.0))) == []  # and carriages have mass
    none = np.zeros((4, 2))
    none[3] = (-20.0, 20.0)
    assert implausible(still(planar_body().with_limits(effort=none))) == []


# -- degrees -----------------------------------------------------------------------------------


def test_which_angles_look_like_degrees() -> None:
    degrees = [10, 15, 45, 90, -180, 360, 37.5, 22.5, 720, 33]
    radians = [0, 1.57, -3.1, np.pi, 5, 6.2, 2 * np.pi, 6 * np.pi, -20.5 * np.pi, 7.3, 12, np.nan]
    assert like_degrees(np.array(degrees, float)).all()
    assert not like_degrees(np.array(radians)).any()


def bounded(low: float, high: float) -> Problem:
    return reach(model=two_link().with_limits(position=[(low, high)] * 2))


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        (reach(phases=(Phase(1.0, State((0.0, 0.4)), State((90.0, 0.5))),)), "end q joint1 = 90"),
        (reach(phases=(Phase(1.0, State((30.0, 45.0))),)), "start q joint2 = 45"),
        (bounded(-180.0, 180.0), "position limits of joint1 = -180 .. 180"),
        (bounded(0.0, 170.0), "position limits of joint2 = 0 .. 170"),
        (
            reach(constraints=(Constraint(JointPosition(("joint2",), 60.0), at="end"),)),
            "target of joint2 = 60",
        ),
        (
            reach(constraints=(Constraint(JointPosition(("joint1",)), -90.0, 90.0),)),
            "bound on joint1 = -90, bound on joint1 = 90",
        ),
        (
            reach(costs=(Cost(FrameOrientation("tip", (0.0, 0.0, 90.0))),)),
            "orientation of tip = (0, 0, 90)",
        ),
    ],
    ids=["end", "start", "limits", "one-sided limits", "target", "bounds", "orientation"],
)
def test_degrees_are_named(asked: Problem, place: str) -> None:
    (message,) = implausible(asked)
    assert "look like degrees" in message
    assert place in message
    assert "q_deg" in message


@pytest.mark.parametrize(
    "asked",
    [
        bounded(-2 * np.pi, 2 * np.pi),
        bounded(-4 * np.pi, 4 * np.pi),
        bounded(-100.0, 100.0),
        bounded(-1e3, 1e3),
        reach(phases=(Phase(1.0, State((0.0, 0.0)), State((4 * np.pi, 3 * np.pi))),)),
        reach(
            model=two_link().with_limits(position=[(-70.0, 71.5)] * 2),
            phases=(Phase(1.0, State((0.0, 0.0)), State((55.5, 40.0))),),  # a winch
        ),
        reach(constraints=(Constraint(FramePosition("tip", (90.0, 0.0, 0.0)), at="end"),)),
        reach(
            model=predyn.load_task("prismatic-revolute").model,
            phases=(Phase(1.0, State((90.0, 0.1))),),
        ),
    ],
    ids=["turn", "two turns", "no limit", "large", "turns", "winch", "metres", "slide"],
)
def test_radians_give_no_warning(asked: Problem) -> None:
    assert implausible(asked) == []


# -- equations ---------------------------------------------------------------------------------


def test_equations_that_use_up_the_spline() -> None:
    """Rest at both ends fixes 6 of 9 control points: a path in the plane takes the other 3."""
    start = State((0.2, 0.4), REST, REST)
    x, y = (0.4 * (f(0.2) + f(0.6)) for f in (np.cos, np.sin))
    path = Constraint(FramePosition("tip", (x, y, None)), name="path")
    asked = reach(
        phases=(Phase(Duration(0.5, 2.0, 1.0), start, State((0.2, 0.4), REST, REST)),),
        costs=(Cost(TotalTime()),),
    )
    (message,) = used_up_splines(transcribe(replace(asked, constraints=(path,))))
    assert "6 equations at instants (6 of path) use up all 6 free control points" in message
    assert "bounds with a tolerance" in message
    near = replace(path, lower=-0.5, upper=0.5)
    line = replace(path, term=FramePosition("tip", (None, y, None)))
    for constraint in (near, line):
        assert used_up_splines(transcribe(replace(asked, constraints=(constraint,)))) == []

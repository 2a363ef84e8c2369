"""Problems made in Python: all errors are reported before anything is computed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from predyn import models
from predyn.kernels.forces import ExternalForce
from predyn.model import Limits
from predyn.problem import Constraint, Cost, Duration, Hybrid, Phase, Problem, Spline, State
from predyn.solving import solve
from predyn.terms import (
    Effort,
    FramePosition,
    JointJerk,
    JointPosition,
    Periodic,
    TotalTime,
)

GOOD = sorted((Path(__file__).parents[1] / "problems" / "good").glob("*.toml"))
MODEL = models.two_link()
PHASE = Phase(1.0, State(q=(0.0, 0.0), v=(0.0, 0.0)), State(q=(1.0, 1.0), v=(0.0, 0.0)))
PROBLEM = Problem(MODEL, (PHASE,), (Cost(Effort()),))


def limits(**changed: Any) -> Limits:
    return MODEL.limits._replace(**changed)


def phase(**changed: Any) -> tuple[Phase, ...]:
    return (replace(PHASE, **changed),)


def spline(**changed: Any) -> Spline:
    return replace(Spline(), **changed)


def bounds(lower: Any, upper: Any) -> tuple[Constraint, ...]:
    return (Constraint(JointPosition(), lower, upper),)


PAIR = np.array([[-1.0, 1.0]] * 2)
NAN_PAIR = np.array([[-1.0, np.nan], [-1.0, 1.0]])
CASES: list[tuple[dict[str, Any], str]] = [
    ({"model": "two_link"}, "model: expected a Model, got str"),
    ({"phases": ()}, "phases: expected at least one Phase"),
    ({"phases": PHASE}, "phases: expected a list of Phase, got Phase; write [Phase(...)]"),
    ({"phases": (PHASE, 3)}, "phases[1]: expected a Phase, got int"),
    ({"phases": phase(duration=0)}, "phases[0].duration: expected seconds above 0 (1e-6 to"),
    ({"phases": phase(duration=float("nan"))}, "(1e-6 to 1e9), got nan"),
    ({"phases": phase(duration=True)}, "(1e-6 to 1e9), got True"),
    ({"phases": phase(duration="1 s")}, "(1e-6 to 1e9), got '1 s'"),
    ({"phases": phase(duration=Duration(0.0, 1.0, 0.5))}, "phases[0].duration.min"),
    ({"phases": phase(duration=Duration(1.0, np.inf, 2.0))}, "phases[0].duration.max"),
    ({"phases": phase(duration=Duration(2.0, 1.0, 1.5))}, "min 2 s is above max 1 s"),
    ({"phases": phase(duration=Duration(1.0, 2.0, 2.5))}, "duration.guess: expected 1 to 2 s"),
    ({"phases": phase(segments=2.0)}, "phases[0].segments: expected a whole number from 1"),
    ({"phases": phase(start=(0.0, 0.0))}, "phases[0].start: expected a State, got tuple"),
    ({"phases": phase(start=State(q=0.0))}, "start.q: expected 2 numbers, one per joint"),
    ({"phases": phase(end=State(v=(1, 2, 3)))}, "end.v: expected 2 numbers, one per joint"),
    ({"phases": phase(end=State(q=("a", "b")))}, "end.q: expected 2 numbers, one per joint"),
    ({"phases": phase(end=State(a=(np.inf, 0)))}, "end.a: contains infinity"),
    ({"phases": (PHASE, PHASE)}, "phases[1].start.q: joint 'joint1' starts at 0, but the phase"),
    ({"limits": PAIR}, "limits: expected Limits, got ndarray"),
    ({"limits": limits(position=(1, 2))}, "limits.position: expected shape (2, 2), got shape (2,)"),
    ({"limits": limits(effort=NAN_PAIR)}, "limits.effort: joint 'joint1': NaN is not a bound"),
    ({"limits": limits(velocity=-PAIR)}, "limits.velocity: joint 'joint1': lower 1 is above"),
    ({"limits": limits(position=PAIR - 2)}, "joint 'joint1': 0 is outside its position limits"),
    ({"limits": limits(velocity=0.5 * PAIR)}, "joint 'joint2' cannot get there in time"),
    ({"limits": limits(velocity=0.0 * PAIR)}, "takes inf s, and 1 s are allowed"),
    ({"jerk_limit": -1.0}, "jerk_limit: expected a number above 0"),
    ({"jerk_limit": (1, 2, 3)}, "jerk_limit: expected a number above 0"),
    ({"continuity": 3}, "continuity: expected 0, 1 or 2"),
    ({"continuity": 1.5}, "continuity: expected 0, 1 or 2"),
    ({"transcription": None}, "transcription: expected a Spline, Hybrid or Dmoc, got NoneType"),
    ({"transcription": spline(degree=6)}, "transcription.degree: expected 3, 4 or 5, got 6"),
    ({"transcription": spline(gauss_points=0)}, "gauss_points: expected a whole number from 1"),
    ({"transcription": spline(segments=True)}, "segments: expected a whole number from 1"),
    ({"transcription": spline(knots=(0.0, 0.5))}, "knots: expected 'clamped', 'uniform', 'free'"),
    ({"transcription": spline(knots="even")}, "transcription.knots: unknown knots 'even'"),
    ({"transcription": spline(refine_tolerance=0.0)}, "refine_tolerance: expected a number above"),
    ({"transcription": spline(max_refinements=-1)}, "max_refinements: expected a whole number"),
    ({"transcription": spline(segments=1)}, "no freedom left"),
    ({"transcription": spline(knots=(0.0, 1.0))}, "no freedom left"),
    ({"solver": {"tolerance": 1e-8}}, "solver: expected SolverOptions, got dict"),
    ({"forces": ExternalForce("link1")}, "forces: expected a list of ExternalForce"),
    ({"forces": (ExternalForce("link9"),)}, "forces[0]: unknown frame or link 'link9'"),
    ({"forces": (ExternalForce("link1", [[1, 2, 3]]),)}, "forces[0]: force: expected shape (3,)"),
    ({"forces": (ExternalForce("link1", (1, np.nan, 3)),)}, "holds NaN"),
    ({"costs": Cost(Effort())}, "costs: expected a list of Cost, got Cost"),
    ({"costs": (Effort(),)}, "costs[0]: expected a Cost, got Effort"),
    ({"costs": (Cost(Effort),)}, "got the class Effort: write Effort(...)"),
    ({"costs": (Cost("effort"),)}, "costs[0].term: expected a Term, got str"),
    ({"costs": (Cost(Effort(joints=("knee",))),)}, "costs[0].term: unknown joint 'knee'"),
    ({"costs": (Cost(Effort(), np.nan),)}, "costs[0].weight: expected a finite number, got nan"),
    ({"costs": (Cost(Effort(), loss="cubic"),)}, "costs[0].loss: unknown loss 'cubic'"),
    ({"costs": (Cost(Effort(), at="middle"),)}, "costs[0].at: unknown instant 'middle'"),
    ({"costs": (Cost(Effort(), at=(1.5,)),)}, "costs[0].fractions: expected 'throughout', 'start'"),
    ({"costs": (Cost(Effort(), at=()),)}, "costs[0].fractions: expected 'throughout', 'start'"),
    ({"costs": (Cost(Effort(), at=0.5),)}, "costs[0].fractions: expected 'throughout', 'start'"),
    (
        {"costs": (Cost(Periodic()),)},
        "'periodic' is a term on pairs of instants, which can only be a constraint",
    ),
    ({"constraints": (Cost(Effort()),)}, "constraints[0]: expected a Constraint, got Cost"),
    ({"constraints": bounds(1.0, 0.0)}, "constraints[0].lower: 'joint1': lower 1 is above upper 0"),
    ({"constraints": bounds(0.0, (1.0, -1.0))}, "'joint2': lower 0 is above upper -1"),
    ({"constraints": bounds((0, 0, 0), None)}, "lower: expected one number or 2 (joint1, joint2)"),
    ({"constraints": bounds(np.nan, 1.0)}, "lower: 'joint1': NaN is not a bound"),
    ({"constraints": bounds(np.inf, None)}, "no value lies between inf and inf"),
    ({"constraints": bounds(-np.inf, np.inf)}, "constraints[0]: has no effect"),
    (
        {"constraints": bounds("a", None)},
        "lower: expected one number or 2 (joint1, joint2)",
    ),
    ({"constraints": (Constraint(TotalTime(), 0, 1),)}, "bound its integral"),
    ({"constraints": (Constraint(Effort(), integral=True),)}, "give lower, upper or both"),
    ({"constraints": (Constraint(Periodic(), at=(0.5,)),)}, "its own pairs of instants"),
    ({"constraints": (Constraint(FramePosition("hand")),)}, "unknown frame or link 'hand'"),
    ({"phases": phase(costs=(Cost(Effort(), np.nan),))}, "phases[0].costs[0].weight: expected"),
    ({"guess": "random"}, "guess: unknown guess 'random'"),
    (
        {"guess": 3},
        "guess: expected 'auto', 'linear', 'inverse_kinematics', a curve (s, q) or a Solution",
    ),
    ({"guess": ((0.0, 2.0), np.zeros((2, 2)))}, "guess.curve.s: expected numbers that increase"),
    ({"guess": ((0.0, 1.0), np.zeros((2, 3)))}, "guess.curve.q: expected finite numbers of shape"),
    ({"guess": ((0.0, 1.0), np.full((2, 2), np.nan))}, "guess.curve.q: expected finite numbers"),
]


@pytest.mark.parametrize(("changed", "message"), CASES)
def test_each_error_gives_one_message(changed: dict[str, Any], message: str) -> None:
    found = [text for text in replace(PROBLEM, **changed).validate() if message in text]
    assert found, replace(PROBLEM, **changed).validate()


def test_all_errors_are_reported_at_once() -> None:
    problem = replace(
        PROBLEM,
        phases=phase(duration=-1.0, end=State(q=(1.0,))),
        costs=(Cost(Effort(joints=("knee",)), np.inf),),
        transcription=spline(degree=2, limit_points=0),
        guess="random",
    )
    assert len(problem.validate()) == 7


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"phases": phase(duration=Duration(1.0, 1.0, 1.0))},
        {"phases": phase(start=State(), end=State(q=(np.nan, 1.0)))},
        {"phases": (PHASE, replace(PHASE, start=State(), end=State(q=(0.0, 0.0))))},
        {"phases": (PHASE, replace(PHASE, start=PHASE.end, end=State()))},
        {"limits": limits(position=np.array([[0.0, 1.0], [0.0, 1.0]]))},
        {"limits": limits(velocity=PAIR)},  # 1 rad in 1 s, at 1 rad/s
        {"jerk_limit": (10.0, np.inf)},
        {"constraints": bounds(None, None)},
        {"constraints": bounds((-np.inf, 0.0), 1.0)},
        {"constraints": (Constraint(TotalTime(), 0, 1, integral=True),)},
        {"constraints": (Constraint(Periodic()),)},
        {"costs": ()},
        {"guess": ([0, 1], [[0, 0], [1, 1]])},
        {"transcription": spline(segments=np.int64(2), knots="uniform", degree=5)},
        {"transcription": spline(segments=2)},
        {"phases": phase(duration=Duration(1.0, 2.0, 1.5)), "transcription": spline(segments=1)},
    ],
)
def test_valid_problems_give_no_message(changed: dict[str, Any]) -> None:
    assert replace(PROBLEM, **changed).validate() == []


def test_freedom_over_two_phases() -> None:
    """2 x 4 control points, 3 tied between the phases: 5; 5 boundary values leave none."""
    first = Phase(1.0, State(q=(0, 0), v=(0, 0)), State(q=(1, 1)))
    second = Phase(1.0, State(q=(1, 1)), State(q=(2, 2), v=(0, 0)))
    problem = replace(PROBLEM, phases=(first, second), transcription=spline(segments=1))
    (message,) = problem.validate()
    assert "no freedom left: the boundary values fix all 5 control points" in message
    freer = replace(second, end=State(q=(2, 2)))
    assert replace(problem, phases=(first, freer)).validate() == []
    tied = replace(second, end=State(q=(2, 2), v=(0, 0), a=(0, 0)))
    messages = replace(problem, phases=(first, tied)).validate()
    assert any("6 boundary values for 5 control points" in text for text in messages)


HALF = {"passive": ("joint1",), "transcription": Hybrid()}
PASSIVE_CASES: list[tuple[dict[str, Any], str]] = [
    ({"passive": "joint1"}, "passive: expected a list of joint names, got 'joint1'"),
    ({"passive": ("knee",)}, "passive: unknown joint 'knee': valid names: 'joint1', 'joint2'"),
    ({"passive": (3,)}, "passive: joint: expected a name (str), got int 3"),
    ({"passive": ("joint1", "joint1")}, "passive: joint 'joint1' is named twice"),
    ({"passive": ("joint2", "joint1")}, "passive: no active joint: all 2 are passive"),
    ({"transcription": Hybrid(steps=0)}, "transcription.steps: expected a whole number from 1"),
    ({"transcription": Hybrid(steps=True)}, "transcription.steps: expected a whole number from 1"),
    ({"transcription": Hybrid(degree=6)}, "transcription.degree: expected 3, 4 or 5, got 6"),
    ({"transcription": Hybrid(shooting="singel")}, "unknown shooting 'singel': did you mean"),
    ({"transcription": Hybrid(knots="free")}, "expected 'clamped', 'uniform' or the break points"),
    ({**HALF, "jerk_limit": 5.0}, "jerk_limit: 'jerk' of the passive joint 'joint1' needs"),
    ({**HALF, "costs": (Cost(JointJerk()),)}, "costs[0].term: 'jerk' of the passive joint"),
    (
        {**HALF, "constraints": (Constraint(Periodic(channels=("jerk",))),)},
        "constraints[0].term: 'jerk' of the passive joint 'joint1'",
    ),
    (
        {**HALF, "phases": phase(costs=(Cost(Effort(), at=(0.001,)),))},
        "phases[0].costs[0].fractions: 0.001 is not at the end of an integration step; the "
        "nearest are 0 and 0.0025",
    ),
    (
        {"transcription": Hybrid(knots=(0.0, 0.1, 1.0)), "costs": (Cost(Effort(), at=(0.15,)),)},
        "the nearest are 0.1 and 0.19",
    ),
    (
        {
            **HALF,
            "transcription": Hybrid(shooting="single"),
            "phases": phase(start=State(q=(np.nan, 0.0), v=(0.0, 0.0))),
        },
        "phases[0].start.q: shooting = 'single' integrates from the start: give q of the passive",
    ),
    (
        {**HALF, "transcription": Hybrid(segments=1)},
        "no freedom left: the boundary values fix all 4 control points of every active joint",
    ),
]


@pytest.mark.parametrize(("changed", "message"), PASSIVE_CASES)
def test_passive_joints_and_their_method(changed: dict[str, Any], message: str) -> None:
    (found,) = replace(PROBLEM, **changed).validate()
    assert message in found


@pytest.mark.parametrize(
    "changed",
    [
        {"passive": ["joint1"]},
        {"transcription": Hybrid()},
        {**HALF, "transcription": Hybrid(limit_points=5, degree=5, steps=20, shooting="single")},
        {**HALF, "jerk_limit": (np.inf, 5.0)},
        {**HALF, "costs": (Cost(JointJerk(joints=("joint2",))), Cost(Effort()))},
        {
            **HALF,
            "costs": (Cost(Effort(), at=(0.0, 1 / 3, 1.0)),),
            "transcription": Hybrid(steps=6),
        },
        {"costs": (Cost(JointJerk()),), "transcription": Hybrid()},  # nothing is integrated
        {  # where a passive joint starts is something to choose
            **HALF,
            "transcription": Hybrid(segments=1),
            "phases": phase(start=State(q=(0.0, 0.0), v=(np.nan, 0.0))),
        },
        {  # a passive joint has no control points that boundary values could use up
            **HALF,
            "transcription": Hybrid(segments=1),
            "phases": phase(
                start=State(q=(0.0, np.nan), v=(0.0, np.nan), a=(0.0, np.nan)),
                end=State(q=(1.0, 0.0), v=(0.0, 0.0), a=(0.0, np.nan)),
            ),
        },
        {**HALF, "limits": limits(effort=np.array([[1.0, 2.0], [-1.0, 1.0]]))},  # none of joint1
    ],
)
def test_valid_passive_joints(changed: dict[str, Any]) -> None:
    assert replace(PROBLEM, **changed).validate() == []


def test_unreachable_in_either_direction() -> None:
    slow = limits(velocity=np.array([[-0.5, 9.0], [-9.0, 9.0]]))
    assert replace(PROBLEM, limits=slow).validate() == []
    back = phase(start=PHASE.end, end=PHASE.start)
    (message,) = replace(PROBLEM, limits=slow, phases=back).validate()
    assert "joint 'joint1' cannot get there in time: -1 at no more than 0.5 per second" in message
    assert "takes 2 s, and 1 s are allowed" in message


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_tasks_with_many_features_are_solved(path: Path) -> None:
    solution = solve(path)
    assert solution.success, solution.message
    assert solution.max_violation < 1e-7

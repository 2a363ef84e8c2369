"""Equations that depend on each other or are too many are named before the solve."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import predyn
from predyn.errors import InputError, ProblemWarning
from predyn.problem import Constraint, Cost, Phase, Problem, Spline, State
from predyn.terms import Effort, FramePosition, JointPosition, Periodic
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.rank import check_rank, dependent_rows

REST = (0.0, 0.0)
ON_A_LINE = Constraint(FramePosition("tip", (None, 0.3, None)), name="line")


def problem(*constraints: Constraint, segments: int = 6, end: State | None = None) -> Problem:
    return Problem(
        predyn.models.two_link(),
        (Phase(1.0, end=end or State()),),
        costs=(Cost(Effort()),),
        constraints=constraints,
        guess=(np.array([0.0, 1.0]), np.array([[0.2, 0.5], [0.6, 1.1]])),
        transcription=Spline(segments=segments),
    )


def said(asked: Problem) -> list[str]:
    program = transcribe(asked)
    x = first_guess(program)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_rank(program, x)
    return [str(w.message) for w in caught if w.category is ProblemWarning]


def test_independent_equations_pass_in_silence() -> None:
    assert said(problem(ON_A_LINE)) == []
    assert said(problem()) == []


@pytest.mark.parametrize("segments", [6, 150])  # dense and sparse
def test_the_same_equation_twice(segments: int) -> None:
    again = replace(ON_A_LINE, name="again")
    (message,) = said(problem(ON_A_LINE, again, segments=segments))
    count, unknowns = 2 * (segments + 1), 2 * (segments + 3)
    assert f"{count} equations on {unknowns} unknowns" in message
    assert "line tip y" in message
    assert "again tip y" in message


def test_what_follows_from_the_rest_is_found_and_nothing_else() -> None:
    """q at both ends and their difference: of three equations a joint, each follows from two."""
    first = Constraint(JointPosition(("joint1",), target=0.2), 0.0, 0.0, at=(0.0,), name="first")
    last = Constraint(JointPosition(("joint1",), target=0.6), 0.0, 0.0, at=(1.0,), name="last")
    gain = Constraint(Periodic(("q",), ("joint1",), offset=0.4), name="gain")
    own = Constraint(JointPosition(("joint2",), target=0.7), 0.0, 0.0, at=(0.5,), name="middle")
    (message,) = said(problem(first, last, gain, own))
    assert all(name in message for name in ("first joint1", "last joint1", "gain joint1 q"))
    assert "middle" not in message


def test_the_number_of_combinations_is_that_of_numpy() -> None:
    """Against the singular values of the dense Jacobian."""
    again = replace(ON_A_LINE, name="again")
    asked = problem(ON_A_LINE, again, end=State(v=REST))
    program = transcribe(asked)
    x = first_guess(program) + 0.01
    program.move(x)
    rows, columns = program.jacobian_pattern
    slopes = np.empty(len(rows))
    program.jacobian(slopes)
    J = np.zeros((program.m, program.n))
    J[rows, columns] = slopes
    equal = np.flatnonzero(program.g_lower == program.g_upper)
    rank = np.linalg.matrix_rank(J[equal], tol=1e-8)
    found = dependent_rows(program, equal, np.arange(program.n))
    assert rank == len(equal) - 7  # as many as there are knots
    assert len(found) > 0


def test_more_equations_than_unknowns() -> None:
    all_along = (
        ON_A_LINE,
        Constraint(FramePosition("tip", (0.9, None, None)), name="column"),
        Constraint(JointPosition(("joint1",), target=0.1), 0.0, 0.0, name="held"),
    )
    with pytest.raises(InputError, match=r"21 equations on 18 unknowns: 7 of line, 7 of column"):
        predyn.solve(problem(*all_along))


def test_equalities_throughout_are_as_many_as_the_spline_can_meet() -> None:
    """Position, velocity and acceleration at both ends leave 3 of 9 control points a joint: the
    6 - 1 inner knots would be too many for a row.
    """
    ends = State((0.2, 0.5), REST, REST)
    asked = replace(
        problem(Constraint(JointPosition(("joint2",), target=0.5), 0.0, 0.0, name="held")),
        phases=(Phase(1.0, start=ends, end=ends),),
        guess="linear",
    )
    program = transcribe(asked)
    held = [i for i in range(program.m) if program.g_quantity(i) == "held joint2"]
    assert len(held) == 3
    assert said(asked) == []
    solution = predyn.solve(asked).check()
    t = np.linspace(0.0, 1.0, 200)
    assert np.abs(solution.at(t).q[:, 1] - 0.5).max() < 1e-9


def test_a_stretched_arm_is_no_dependent_equation() -> None:
    """At a singular configuration slopes vanish without anything being wrong."""
    reach = Constraint(FramePosition("tip", (1.0, 0.0, None)), at="end", name="reach")
    stretched = replace(problem(reach), guess=(np.array([0.0, 1.0]), np.zeros((2, 2))))
    assert said(stretched) == []

"""Equations that depend on each other or are too many are named before the solve."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import predyn
from predyn.errors import InputError, ProblemWarning
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Signal, Spline, State
from predyn.terms import Effort, FramePosition, JointPosition, Periodic, SignalValue
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.rank import Slopes, check_rank, dependent_rows

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


def test_independent_equations_give_no_warning() -> None:
    assert said(problem(ON_A_LINE)) == []
    assert said(problem()) == []


@pytest.mark.parametrize("segments", [6, 150])  # dense and sparse
def test_duplicate_equation_is_found(segments: int) -> None:
    again = replace(ON_A_LINE, name="again")
    (message,) = said(problem(ON_A_LINE, again, segments=segments))
    count, unknowns = 2 * (segments + 1), 2 * (segments + 3)
    assert f"{count} equations on {unknowns} unknowns" in message
    assert "line tip y" in message
    assert "again tip y" in message


def test_exactly_the_redundant_equations_are_found() -> None:
    """q at both ends and their difference: of three equations a joint, each follows from two."""
    first = Constraint(JointPosition(("joint1",), target=0.2), 0.0, 0.0, at=(0.0,), name="first")
    last = Constraint(JointPosition(("joint1",), target=0.6), 0.0, 0.0, at=(1.0,), name="last")
    gain = Constraint(Periodic(("q",), ("joint1",), offset=0.4), name="gain")
    own = Constraint(JointPosition(("joint2",), target=0.7), 0.0, 0.0, at=(0.5,), name="middle")
    (message,) = said(problem(first, last, gain, own))
    assert all(name in message for name in ("first joint1", "last joint1", "gain joint1 q"))
    assert "middle" not in message


@pytest.mark.parametrize("count", [30, 260])  # dense and sparse
@pytest.mark.parametrize("surplus", [0, 1, 3])
def test_combinations_match_numpy(count: int, surplus: int) -> None:
    """Random banded rows, some of which are sums of others: only these take part."""
    rng = np.random.default_rng(count + surplus)
    n = 2 * count
    J = np.zeros((count, n))
    for i in range(count):
        J[i, 2 * i : 2 * i + 6] = rng.standard_normal(len(J[i, 2 * i : 2 * i + 6]))
    chosen = rng.choice(count // 3, surplus, replace=False) * 3
    for i in chosen:
        J[i + 1] = 2.0 * J[i] - 0.5 * J[i + 2]
    J /= np.linalg.norm(J, axis=1)[:, None]
    rows, columns = np.nonzero(J)
    found = dependent_rows(Slopes(rows, columns, J[rows, columns], J.shape))
    assert np.linalg.matrix_rank(J, tol=1e-9) == count - surplus
    assert {*found.tolist()} <= {int(i) + k for i in chosen for k in range(3)}
    assert len(found) >= (1 if surplus else 0)


def test_fine_grids_give_no_dependent_equations() -> None:
    """A slide on a spring, one of two driven: singular values fall with the grid, to 1e-7 here."""
    builder = predyn.ModelBuilder("slides")
    builder.add_link("cart", joint="slide", kind="prismatic", axis=(1, 0, 0), mass=1.0)
    builder.add_link(
        "load", parent="cart", joint="spring", kind="prismatic", axis=(1, 0, 0), mass=1.0,
        stiffness=50.0,
    )  # fmt: skip
    asked = Problem(
        builder.build(),
        (Phase(0.5, State((0.0, 0.0), REST), State((1.0, 0.0), REST)),),
        costs=(Cost(Effort(("slide",))),),
        passive=("spring",),
        transcription=Spline(segments=200),
    )
    assert said(asked) == []


def test_trivially_satisfied_equations_do_not_count() -> None:
    """A stop between two phases, given on both sides: most rows of continuity are 0 = 0."""
    stop = State((0.3, 0.2), REST)
    for segments in (2, 5):
        asked = Problem(
            predyn.models.two_link(),
            (
                Phase(Duration(0.2, 2.0, 1.0), State((0.0, 0.0), REST), stop),
                Phase(Duration(0.2, 2.0, 1.0), stop, State((0.6, 0.5), REST)),
            ),
            costs=(Cost(Effort()),),
            transcription=Spline(segments=segments),
        )
        assert said(asked) == []


def test_signal_equalities_match_its_control_points() -> None:
    for degree, segments, numbers in ((0, None, 6), (1, 2, 3), (2, 3, 5)):
        slack = Signal("slack", ("x",), degree=degree, segments=segments)
        held = Constraint(SignalValue("slack", target=3.0), 0.0, 0.0, name="held")
        asked = replace(problem(held), signals=(slack,))
        program = transcribe(asked)
        rows = [i for i in range(program.m) if program.g_quantity(i) == "held slack x"]
        assert len(rows) == numbers
        assert said(asked) == []


def test_more_equations_than_unknowns() -> None:
    all_along = (
        ON_A_LINE,
        Constraint(FramePosition("tip", (0.9, None, None)), name="column"),
        Constraint(JointPosition(("joint1",), target=0.1), 0.0, 0.0, name="held"),
    )
    with pytest.raises(InputError, match=r"21 equations on 18 unknowns: 7 of line, 7 of column"):
        predyn.solve(problem(*all_along))


def test_equalities_throughout_match_the_free_control_points() -> None:
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


def test_stretched_arm_gives_no_dependent_equation() -> None:
    """At a singular configuration slopes vanish although the problem is valid."""
    reach = Constraint(FramePosition("tip", (1.0, 0.0, None)), at="end", name="reach")
    stretched = replace(problem(reach), guess=(np.array([0.0, 1.0]), np.zeros((2, 2))))
    assert said(stretched) == []


def test_warnings_point_to_the_caller() -> None:
    again = replace(ON_A_LINE, name="again")
    with pytest.warns(ProblemWarning, match="depend on each other") as caught:
        predyn.solve(problem(ON_A_LINE, again))
    assert {w.filename for w in caught} == {__file__}

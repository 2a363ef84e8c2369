"""Optima of discrete mechanics, computed independently with CasADi and IPOPT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import predyn
from discrete_cases import (
    SWING,
    TIGHT,
    free_time,
    move_five_bar,
    reorient,
    steps,
    swing_up,
    turn_crank,
    two_link,
)
from predyn.problem import Problem

SAME = 1e-8  # relative
CONTINUOUS_CRANK = 2.462634  # of turn_crank
OPTIMA: dict[str, tuple[Callable[..., Problem], dict[int, float]]] = {
    "two links": (two_link, {20: 70.9329045195, 40: 71.6569961076, 80: 71.6802301488}),
    "four-bar": (turn_crank, {20: 2.4653986666, 40: 2.4634597795, 80: 2.4628464204}),
    "five-bar": (move_five_bar, {20: 5.6530846084}),
    "free body": (reorient, {20: 0.0866786749, 40: 0.0864026577}),
    "free duration": (free_time, {20: 174.0778433427, 40: 173.8097356085}),
}
CASES = [(name, count) for name, (_, found) in OPTIMA.items() for count in found]


@pytest.mark.parametrize(("name", "count"), CASES)
def test_known_optimum(name: str, count: int) -> None:
    make, found = OPTIMA[name]
    solution = predyn.solve(make(steps(count)), verbose=False).check()
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(found[count], rel=SAME)


def test_known_free_duration() -> None:
    for count, duration in ((20, 0.9826933965), (40, 0.9844066571)):
        solution = predyn.solve(free_time(steps(count)), verbose=False)
        assert solution.duration == pytest.approx(duration, rel=SAME)


def test_swing_ups_from_coarse_to_fine() -> None:
    """A coarse swing-up has several optima; the reference's is found in its units, SI."""
    problem = swing_up(steps(60), (SWING[:, 0], SWING[:, 1:]))
    assert predyn.solve(problem, verbose=False).check().objective < 7.6667903948
    own = replace(problem, solver=replace(TIGHT, scaling="none"))
    solution = predyn.solve(own, verbose=False).check()
    assert solution.objective == pytest.approx(7.6667903948, rel=SAME)
    coarse = solution.q[1:-1]
    for count, optimum in ((120, 8.1752687445), (240, 8.2030802688)):
        q = np.concatenate([[[-1.0, 0.0]], coarse, [[np.pi / 2, 0.0]]])
        problem = swing_up(steps(count), (np.linspace(0.0, 1.0, len(q)), q))
        solution = predyn.solve(problem, verbose=False).check()
        assert solution.objective == pytest.approx(optimum, rel=SAME)
        coarse = solution.q[1:-1]


def test_orders_of_convergence_on_a_closed_loop() -> None:
    errors = {}
    for order, counts in ((2, (20, 40, 80)), (4, (20, 40))):
        for count in counts:
            found = predyn.solve(turn_crank(steps(count, order)), verbose=False).check()
            errors[order, count] = abs(found.objective / CONTINUOUS_CRANK - 1.0)
            if order == 4 and count == 20:
                assert found.n_variables == 242
                assert errors[4, 20] < 1e-5
    assert errors[2, 20] / errors[2, 40] == pytest.approx(4.0, rel=0.3)
    assert errors[2, 40] / errors[2, 80] == pytest.approx(4.0, rel=0.3)
    assert errors[4, 20] / errors[4, 40] > 10.0  # 16, but the continuous value has seven digits


def test_redundant_equations_of_a_hinge_are_left_out() -> None:
    problem = turn_crank(steps(20), "hinge")
    solution = predyn.solve(problem, verbose=False).check()
    assert solution.objective == pytest.approx(2.4653986666, rel=SAME)
    assert set(solution.signals) == {"pin", "tau"}
    assert not solution.signals["pin"][:, 2].any()


def test_a_solution_is_its_own_guess() -> None:
    problem = turn_crank(steps(20))
    solution = predyn.solve(problem, verbose=False)
    again = predyn.solve(problem, guess=solution, verbose=False)
    assert again.iterations <= 3
    assert again.objective == pytest.approx(solution.objective, rel=1e-9)


def test_splines_approach_the_same_motion() -> None:
    spline, guess, errors = predyn.Spline(degree=5), None, []
    for segments in (10, 20, 80):
        problem = turn_crank(replace(spline, segments=segments))
        problem = replace(problem, solver=predyn.SolverOptions())
        guess = predyn.solve(problem, guess=guess, verbose=False).check()
        errors.append(abs(guess.objective / CONTINUOUS_CRANK - 1.0))
    assert errors[0] < 5e-3
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 0.1 * errors[1]

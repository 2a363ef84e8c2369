"""Random tasks: those that are feasible succeed, with motions that Pinocchio confirms; others fail.

The rates are those that the project promises. The seeds of other checks are different ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import pytest

import predyn
from predyn.errors import PredynError
from predyn.problem import Problem
from predyn.problem.quantities import with_quantity
from solving.pinocchio_check import errors_of
from solving.random_tasks import RandomTask, random_task, too_fast, too_heavy

# where motors cannot move a passive joint at the guess, equations depend on each other there
pytestmark = pytest.mark.filterwarnings("ignore::predyn.ProblemWarning")

FIRST = 100_000
QUICK, MANY = 30, 1000  # tasks
IMPOSSIBLE_QUICK, IMPOSSIBLE_MANY = 8, 150  # of both kinds
ACTUATED, PASSIVE, PASSIVE_WITH_STARTS = 0.99, 0.90, 0.97  # shares that succeed


class Outcome(NamedTuple):
    task: RandomTask
    status: str
    success: bool
    errors: list[str]

    def __str__(self) -> str:
        return f"{self.task.seed}: {self.status} {'; '.join(self.errors)}".strip()


def solved(task: RandomTask, starts: int = 1) -> Outcome:
    """A solve that ends in any way, but not in an exception other than our own."""
    try:
        solution = predyn.solve(task.problem, starts=starts)
    except PredynError as error:
        return Outcome(task, f"refused: {error!s:.200}", False, [])
    errors = errors_of(task.problem, solution) if solution.success else []
    return Outcome(task, solution.status, solution.success, errors)


def check(seeds: Iterable[int]) -> None:
    tasks = [task for task in map(random_task, seeds) if task is not None]
    outcomes = [solved(task) for task in tasks]
    assert not [str(x) for x in outcomes if x.errors]
    for kind, least in ((False, ACTUATED), (True, PASSIVE)):
        chosen = [x for x in outcomes if x.task.is_passive is kind]
        failures = [str(x) for x in chosen if not x.success]
        assert len(failures) <= (1.0 - least) * len(chosen) + 1e-9, failures
    passive = [x for x in outcomes if x.task.is_passive]
    again = [solved(x.task, starts=4) for x in passive if not x.success]
    assert not [str(x) for x in again if x.errors]
    failures = [str(x) for x in again if not x.success]
    assert len(failures) <= (1.0 - PASSIVE_WITH_STARTS) * len(passive) + 1e-9, failures


def check_impossible(problems: Iterable[Problem | None]) -> None:
    wrong = []
    for problem in problems:
        if problem is None:
            continue
        try:
            solution = predyn.solve(problem)
        except PredynError:
            continue
        if solution.success:
            wrong.append(f"{problem.name}: {solution.status}, {solution.max_violation_dense:.2g}")
    assert not wrong


def test_feasible_tasks() -> None:
    check(range(FIRST, FIRST + QUICK))


@pytest.mark.verify
def test_many_feasible_tasks() -> None:
    check(range(FIRST, FIRST + MANY))


def test_impossible_tasks() -> None:
    check_impossible(too_heavy(k) for k in range(IMPOSSIBLE_QUICK))
    check_impossible(too_fast(IMPOSSIBLE_QUICK))


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["heavy", "fast"])
def test_many_impossible_tasks(kind: str) -> None:
    if kind == "heavy":
        check_impossible(too_heavy(k) for k in range(IMPOSSIBLE_MANY))
    else:
        check_impossible(too_fast(IMPOSSIBLE_MANY))


def test_the_check_finds_errors() -> None:
    """Motions that are not the solution of their problem."""
    task = random_task(FIRST)
    assert task is not None
    solution = predyn.solve(task.problem)
    assert errors_of(task.problem, solution) == []
    first, *others = solution.curves
    for changed, wanted in (
        ({"control": first.control + 0.1}, "boundary q"),
        ({"control": 1.5 * first.control}, "objective"),
        ({"duration": 0.01 * first.duration}, "takes"),
        ({"duration": 0.01 * first.duration}, "effort j0"),
    ):
        curves = (first._replace(**changed), *others)
        assert wanted in "; ".join(errors_of(task.problem, replace(solution, curves=curves)))
    wrong = replace(
        solution, model=with_quantity(task.problem, "mass of l0", 99.0).model, systems=()
    )
    assert "tau is off" in "; ".join(errors_of(task.problem, wrong))


@pytest.mark.parametrize(
    ("seed", "duration", "effort", "position"),
    [
        (FIRST, 2.6653365100610538, 27.678480790974906, -0.9753198),
        (FIRST + 3, 0.9515656542400557, 1.0, -0.49695992),
    ],
)
def test_seeds_stay_the_same_tasks(
    seed: int, duration: float, effort: float, position: float
) -> None:
    """Numbers of the generator that these tasks were first measured with."""
    task = random_task(seed)
    assert task is not None
    assert task.is_passive is (seed == FIRST + 3)
    assert task.problem.phases[0].duration == pytest.approx(duration)
    assert task.problem.limits is not None
    assert task.problem.limits.effort[0, 1] == pytest.approx(effort)
    assert task.problem.limits.position[0, 0] == pytest.approx(position)

"""Pareto fronts: each point an optimum of its weight, found faster than from the task's guess."""

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import predyn
from predyn.errors import FileError, InputError
from predyn.problem import Cost
from predyn.solution import Solution
from predyn.solvers.ipopt import solve_nlp
from predyn.solving.continuation import solve_in_stages
from predyn.solving.nearby import SomeRows, solve_nearby
from predyn.solving.single_solve import Output
from predyn.storage import files
from predyn.study.front import _Front, chosen_costs, dominated, find_front, front_weights, knee
from predyn.study.pareto import front_text
from predyn.terms import Smoothness
from predyn.transcribe.methods import transcribe

TASK, NAMES = "two-link-lifting", ("time", "effort")


def test_dominated_points() -> None:
    a = np.array([1.0, 2.0, 3.0, 3.0, 2.0, np.nan])
    b = np.array([3.0, 2.0, 1.0, 2.5, 2.0 + 1e-9, 0.0])
    assert dominated(a, b).tolist() == [False, False, False, True, False, False]
    assert not dominated(np.full(2, np.nan), np.zeros(2)).any()


def test_the_knee_is_farthest_from_the_line_between_the_ends() -> None:
    a = np.array([0.0, 0.1, 0.5, 1.0, 0.05])
    b = np.array([100.0, 20.0, 10.0, 0.0, 200.0])
    assert knee(a, b) == 1
    assert knee(a[:2], b[:2]) is None
    line = np.linspace(0.0, 1.0, 5)
    assert knee(line, 1.0 - line) is None


def test_points_before_a_jump_are_on_the_better_branch() -> None:
    points = find_front(predyn.load_task(TASK), NAMES, 20)
    before = points[10].solution
    assert points[11].a - points[10].a > 0.1
    alone = predyn.solve(before.problem, verbose=False)
    assert before.objective < alone.objective * (1.0 + 1e-6)


def test_an_interrupted_point_ends_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    from predyn.solving import nearby

    def stopped(*arguments: object) -> object:
        return replace(solved(*arguments), status="interrupted")

    solved = nearby.solve_nlp
    monkeypatch.setattr(nearby, "solve_nlp", stopped)
    with pytest.raises(KeyboardInterrupt):
        find_front(predyn.load_task(TASK), NAMES, 3)


def test_costs_without_a_conflict(tmp_path: Path) -> None:
    a = 1.0 + 1e-9 * np.array([0.0, 1.0, 3.0])
    assert not dominated(a, a[::-1]).any()
    assert knee(a, a[::-1]) is None
    problem = predyn.load_task(TASK)
    twice = (replace(problem.costs[1], name="one"), replace(problem.costs[1], name="two"))
    results = predyn.pareto_front(replace(problem, costs=twice), tmp_path, points=3, progress=False)
    assert "one and two do not conflict: case 0 is best in both" in front_text(results)


def test_ctrl_c_in_the_first_solve_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = replace(predyn.solve(TASK, verbose=False), status="interrupted")
    monkeypatch.setattr("predyn.study.front.solve", lambda *_, **__: stopped)
    with pytest.raises(KeyboardInterrupt):
        find_front(predyn.load_task(TASK), NAMES, 3)


def test_ctrl_c_near_a_solution_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = predyn.load_task(TASK)
    guess, program = predyn.solve(problem, verbose=False), transcribe(problem)

    def stopped(*given: Any) -> Any:
        return replace(solve_nlp(*given), status="interrupted")

    monkeypatch.setattr("predyn.solving.nearby.solve_nlp", stopped)
    with pytest.raises(KeyboardInterrupt):
        solve_nearby(program, problem, guess)


def test_a_full_disk_leaves_the_earlier_front(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = predyn.pareto_front(TASK, tmp_path, points=3, progress=False).table

    def full(path: Path, *_: object) -> None:
        raise files.not_written(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    monkeypatch.setattr("predyn.study.pareto.write_part", full)
    with pytest.raises(FileError, match=r"parts/000001\.parquet: cannot be written.*free some"):
        predyn.pareto_front(TASK, tmp_path, points=3, progress=False)
    later = predyn.StudyResults(tmp_path)
    np.testing.assert_array_equal(later.table["objective"], earlier["objective"])
    assert later.solution(2).success
    assert sorted(x.name for x in tmp_path.iterdir()) == ["parts", "solutions", "study.json"]


def test_which_costs() -> None:
    problem = predyn.load_task(TASK)
    assert chosen_costs(problem, None) == NAMES
    assert chosen_costs(problem, ("effort", "time")) == ("effort", "time")
    three = replace(problem, costs=(*problem.costs, Cost(Smoothness())))
    with pytest.raises(InputError, match="has 3: 'time', 'effort', 'smoothness'"):
        chosen_costs(three, None)
    with pytest.raises(InputError, match="did you mean 'effort'"):
        chosen_costs(three, ("time", "efort"))
    for wrong in (("time", "time"), ("time",), "time", 5, {"time", "effort"}):
        with pytest.raises(InputError, match="between: expected"):
            chosen_costs(three, wrong)


def test_some_rows_are_those_of_the_whole_program() -> None:
    program = transcribe(predyn.load_task(TASK))
    rng = np.random.default_rng(1)
    kept = rng.uniform(size=program.m) < 0.4
    part = SomeRows(program, kept)
    x = rng.uniform(0.4, 0.6, program.n)
    assert part.check_derivatives(x).ok
    whole, some = np.empty(program.m), np.empty(part.m)
    program.constraints(whole)
    part.constraints(some)
    np.testing.assert_array_equal(some, whole[kept])
    assert part.g_name(0) == program.g_name(int(np.flatnonzero(kept)[0]))


def test_a_neighbour_is_solved_with_all_its_constraints() -> None:
    problem = predyn.load_task(TASK)
    guess = predyn.solve(problem, verbose=False)
    other = replace(problem, costs=tuple(replace(x, weight=w) for x, w in
                                         zip(problem.costs, (0.2, 0.8), strict=True)))  # fmt: skip
    cold = predyn.solve(other, verbose=False)
    near = solve_nearby(transcribe(problem), other, guess)
    assert near is not None
    assert near.success
    assert near.objective == pytest.approx(cold.objective, rel=1e-6)
    assert near.n_constraints == cold.n_constraints
    assert near.multipliers.keys() == cold.multipliers.keys()
    again = predyn.solve(other, guess=near, verbose=False)
    assert again.iterations <= 3


def _costs(solution: Solution) -> dict[str, float]:
    """Time and effort, each the sum over all phases."""
    costs = solution.costs.items()
    return {name: sum(x for key, x in costs if key.endswith(name)) for name in NAMES}


def check_points(task: str, results: predyn.StudyResults, cases: tuple[int, ...]) -> None:
    """Each is kept, and is the optimum of the weighted sum, solved as a task of its own."""
    problem, table = predyn.load_task(task), results.table
    own = _costs(predyn.solve(problem, verbose=False))
    for k in cases:
        weight = table["weight"][k]
        shares = {"time": 1.0 - weight, "effort": weight}
        factors = {name: sum(own.values()) * shares[name] / own[name] for name in NAMES}
        costs = [
            replace(x, weight=factors[name] * x.weight)
            for x, name in zip(problem.costs, NAMES, strict=True)
        ]
        alone = predyn.solve(replace(problem, costs=tuple(costs)), verbose=False)
        assert alone.success
        assert table["objective"][k] == pytest.approx(alone.objective, rel=1e-6)
        for name, cost in zip(NAMES, costs, strict=True):
            assert table[name][k] == pytest.approx(_costs(alone)[name] / cost.weight, rel=1e-3)
        motion = results.solution(k)
        assert motion.duration == table["duration"][k]
        assert motion.duration == pytest.approx(alone.duration, rel=1e-3)


def test_front_of_a_task_with_phases(tmp_path: Path) -> None:
    task = "two-link-pick-place"
    results = predyn.pareto_front(task, tmp_path, points=4, progress=False)
    table = results.table
    assert table["solved"].all()
    assert not table["dominated"].any()
    assert np.all(np.diff(table["time"]) > 0.0)
    assert np.all(np.diff(table["effort"]) < 0.0)
    assert results.solution(2).phase_names == ("reach", "carry", "return")
    check_points(task, results, (0, 2))


def test_front_of_a_task(tmp_path: Path) -> None:
    results = predyn.pareto_front(TASK, tmp_path, points=7, progress=False)
    table = results.table
    assert len(table["case"]) == 7
    assert table["solved"].all()
    assert not table["dominated"].any()
    assert table["knee"].sum() == 1
    assert np.all(np.diff(table["time"]) > 0.0)
    assert np.all(np.diff(table["effort"]) < 0.0)
    np.testing.assert_allclose(table["time"], table["duration"])
    assert results.description.more["between"] == ["time", "effort"]
    check_points(TASK, results, (1, 4))
    with pytest.raises(FileError, match="there is no"):
        predyn.StudyResults(tmp_path / "other")
    again = predyn.pareto_front(TASK, tmp_path, points=3, keep=False, progress=False)
    assert len(again.table["case"]) == 3
    assert not (tmp_path / "solutions").exists()


def test_wrong_input(tmp_path: Path) -> None:
    for wrong in (2, 1001, 5.0, True):
        with pytest.raises(InputError, match="points: expected a whole number"):
            predyn.pareto_front(TASK, tmp_path, points=wrong)  # type: ignore[arg-type]
    (tmp_path / "solution.h5").touch()
    with pytest.raises(FileError, match="another kind of result"):
        predyn.pareto_front(TASK, tmp_path)
    problem = predyn.load_task(TASK)
    named = replace(problem, costs=(replace(problem.costs[0], name="status"), problem.costs[1]))
    with pytest.raises(InputError, match="give it another name"):
        predyn.pareto_front(named, tmp_path / "x")


@pytest.mark.verify
def test_front_of_an_arm_is_not_dominated_by_several_starts() -> None:
    problem = predyn.load_task("arm6-pick")
    front = find_front(problem, NAMES, 20)
    assert all(point.solved for point in front)
    cold = _Front(problem, NAMES, front_weights(20), None)
    for point in front:
        weighted = cold._weighted(problem, point.weight)
        found = [solve_in_stages(weighted, None, Output(), start=(0, k)) for k in range(10)]
        best = min(x.objective for x in found if x.success)
        assert point.solution.objective < best + 1e-6 * abs(best)

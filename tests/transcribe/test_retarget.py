"""Another problem in a program: the same numbers as a program of its own, or a named error."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predyn import Constraint, InputError, tasks, terms
from predyn.kernels.forces import ExternalForce
from predyn.problem import Problem
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program

NAMES = ("arm6-pick", "two-link-pick-place", "manutec-min-time", "acrobot-swingup")


@cache
def problem(name: str) -> Problem:
    return predyn.load_task(tasks.path_of(name))


def heavier(task: Problem) -> Problem:
    model, k = task.model, int(np.argmax(task.model.inertia[:, 0]))
    mass = 1.1 * model.inertia[k, 0]
    return replace(task, model=model.with_mass(model.link_names[k], mass))


def farther(task: Problem) -> Problem:
    """Other boundary values, durations and weights."""
    phases = []
    for phase in task.phases:
        ends = [
            replace(x, q=None if x.q is None else 0.98 * np.asarray(x.q, float))
            for x in (phase.start, phase.end)
        ]
        duration = phase.duration
        if isinstance(duration, predyn.Duration):
            duration = predyn.Duration(duration.min, 1.1 * duration.max, 1.1 * duration.guess)
        phases.append(replace(phase, start=ends[0], end=ends[1], duration=duration))
    costs = tuple(replace(cost, weight=1.3 * cost.weight) for cost in task.costs)
    return replace(task, phases=tuple(phases), costs=costs)


def weaker(task: Problem) -> Problem:
    limits = task.limits or task.model.limits
    return replace(task, limits=limits._replace(effort=0.9 * np.asarray(limits.effort)))


def elsewhere(task: Problem) -> Problem:
    """Another goal of the tool."""
    (goal,) = task.constraints
    moved = replace(goal.term, position=(0.33, 0.47, 0.21))
    return replace(task, constraints=(replace(goal, term=moved),))


def assert_same(program: Program, wanted: Program) -> None:
    """All numbers at a random point."""
    rng = np.random.default_rng(0)
    for name in ("x_lower", "x_upper", "g_lower", "g_upper", "x_scale", "g_scale"):
        np.testing.assert_array_equal(getattr(program, name), getattr(wanted, name), name)
    x = np.clip(rng.uniform(-1.0, 1.0, wanted.n), wanted.x_lower, wanted.x_upper)
    multipliers = rng.standard_normal(wanted.m)
    found = []
    for made in (program, wanted):
        made.move(x)
        gradient, g = np.empty(made.n), np.empty(made.m)
        jacobian = np.empty(len(made.jacobian_pattern[0]))
        hessian = np.empty(len(made.hessian_pattern[0]))
        made.gradient(gradient)
        made.constraints(g)
        made.jacobian(jacobian)
        made.hessian(0.7, multipliers, hessian)
        found.append((np.array(made.objective()), gradient, g, jacobian, hessian))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13 * np.abs(b).max(initial=1.0))
    assert program.problem is wanted.problem or program.problem.name == wanted.problem.name


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_program_of_its_own(name: str) -> None:
    program = transcribe(problem(name))
    for change in (heavier, farther, weaker, lambda task: task):
        other = change(problem(name))
        program.retarget(other)
        assert_same(program, transcribe(other))


def test_goals_and_forces() -> None:
    task = problem("arm6-pick")
    pushed = replace(task, forces=(ExternalForce("tool", (0.0, 0.0, 5.0)),))
    program = transcribe(pushed)
    for other in (elsewhere(pushed), pushed, heavier(pushed)):
        program.retarget(other)
        assert_same(program, transcribe(other))
    stronger = replace(task, forces=(ExternalForce("tool", (0.0, 2.0, -7.0)),))
    program.retarget(stronger)
    assert_same(program, transcribe(stronger))


def test_a_program_is_solved_again_and_again() -> None:
    task = problem("arm6-pick")
    program = transcribe(task)
    first = predyn.solve(program).check()
    program.retarget(elsewhere(task))
    warm = predyn.solve(program, guess=first).check()
    alone = predyn.solve(elsewhere(task)).check()
    assert warm.objective == pytest.approx(alone.objective, rel=1e-6)
    assert warm.iterations < alone.iterations
    assert warm.problem.constraints[0].term.position == (0.33, 0.47, 0.21)


def test_a_solve_leaves_the_options_of_a_program() -> None:
    program = transcribe(problem("two-link-time-optimal"))
    options = program.problem.solver
    first = predyn.solve(program)
    predyn.solve(program, resume=first)
    assert program.problem.solver == options
    assert predyn.solve(program).iterations == first.iterations


def test_partials_that_were_zero() -> None:
    """Springs where there were none: the program is built anew."""
    task = problem("two-link-time-optimal")
    program = transcribe(task)
    sprung = replace(task, model=replace(task.model, stiffness=np.ones(task.model.n)))
    program.retarget(sprung)
    assert_same(program, transcribe(sprung))


def test_other_models_do_not_change_the_old_one() -> None:
    task = problem("manutec-min-time")
    program, untouched = transcribe(task), transcribe(task)
    program.retarget(heavier(task))
    assert_same(untouched, transcribe(task))


def test_parameters_and_signals_are_built_anew() -> None:
    task = problem("two-link-pick-place")
    sprung = predyn.Parameter(
        "k", 0.0, 5.0, 1.0, quantity=f"stiffness of {task.model.joint_names[0]}"
    )
    with_spring = replace(task, parameters=(*task.parameters, sprung))
    program = transcribe(with_spring)
    other = heavier(with_spring)
    program.retarget(other)
    assert_same(program, transcribe(other))


def test_another_pattern_is_refused_and_nothing_changes() -> None:
    task = problem("two-link-time-optimal")
    program = transcribe(task)
    finer = replace(task, transcription=replace(task.transcription, segments=21))
    with pytest.raises(InputError, match=r"has another pattern: .* transcribe it on its own"):
        program.retarget(finer)
    slow = Constraint(terms.JointVelocity(), -9.0, 9.0)
    with pytest.raises(InputError, match="has another pattern"):
        program.retarget(replace(task, constraints=(*task.constraints, slow)))
    with pytest.raises(InputError, match="problem"):
        program.retarget(replace(task, phases=()))
    with pytest.raises(InputError, match="problem: expected a Problem, got str"):
        program.retarget("two-link-time-optimal")  # type: ignore[arg-type]
    assert_same(program, transcribe(task))


def test_a_violated_row_without_freedom_changes_nothing() -> None:
    def near(x: float) -> Problem:
        tip = terms.FramePosition("tip", (x, None, None))
        return replace(
            problem("two-link-time-optimal"), constraints=(Constraint(tip, -1.0, 1.0, at="start"),)
        )

    program = transcribe(near(0.1))
    with pytest.raises(InputError, match="leave it no freedom"):
        program.retarget(near(9.0))
    assert_same(program, transcribe(near(0.1)))
    assert program.problem.constraints[0].term.target == (0.1, None, None)


def test_methods() -> None:
    task = problem("two-link-time-optimal")
    options = task.transcription
    hybrid = replace(task, transcription=predyn.Hybrid(options.degree, options.segments))
    single = replace(hybrid, transcription=replace(hybrid.transcription, shooting="single"))
    made = [task, hybrid, single]
    for mine in made:
        program = transcribe(mine)
        for other in made:
            if other is not mine:
                with pytest.raises(InputError, match="makes another kind of program"):
                    program.retarget(other)
        program.retarget(weaker(mine))  # with the number of steps left open
        assert_same(program, transcribe(weaker(mine)))

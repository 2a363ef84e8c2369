"""Another problem in a program: the same numbers as a program of its own, or a named error."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predyn import Constraint, Cost, InputError, tasks, terms
from predyn.kernels.forces import ExternalForce
from predyn.problem import Problem
from predyn.samples.samples import random_samples
from predyn.terms.linear import Block as LinearBlock
from predyn.terms.linear import Linear
from predyn.terms.term import Residual
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program
from terms.term_cases import CASES

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


@pytest.mark.parametrize("points", [2, 400])
def test_a_force_over_time_in_a_longer_phase(points: int) -> None:
    """The forces are the same objects, but not their values at the instants of the phase."""
    rng = np.random.default_rng(points)
    push = predyn.Profile(np.linspace(0.0, 3.0, points), rng.uniform(-1.0, 1.0, (points, 3)))
    task = problem("two-link-pick-place")
    task = replace(task, forces=(ExternalForce(task.model.link_names[-1], push),))
    short, long = (
        replace(task, phases=tuple(replace(x, duration=T) for x in task.phases)) for T in (0.8, 0.9)
    )
    program = transcribe(short)
    program.retarget(long)
    assert_same(program, transcribe(long))


def test_another_width_of_a_kink() -> None:
    task = problem("two-link-pick-place")
    wide, narrow = (
        replace(task, costs=(Cost(terms.MechanicalEnergy(width=width)),)) for width in (1.0, 0.01)
    )
    program = transcribe(wide)
    program.retarget(narrow)
    other = transcribe(narrow)
    with program.following_kinks(), other.following_kinks():
        assert_same(program, other)


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


def test_given_values_outside_new_bounds_change_nothing() -> None:
    task = problem("two-link-pick-place")
    near = Constraint(terms.JointPosition(), -10.0, 10.0, at="start")
    task, wrong = (
        replace(task, constraints=(*task.constraints, replace(near, lower=low)))
        for low in (-10.0, 5.0)
    )
    program = transcribe(task)
    with pytest.raises(InputError, match="the given values leave it no freedom"):
        program.retarget(replace(heavier(wrong), limits=weaker(task).limits))
    assert_same(program, transcribe(task))


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


class Weighted(terms.Term):
    """Positions times the mass of their link: a term that looks at masses when it is bound."""

    kind = "weighted"

    def bind(self, model: predyn.Model) -> Residual:
        masses = model.inertia[:, 0]
        block = LinearBlock(0, "q", np.arange(model.n), masses)
        return Linear(model.joint_names, ("kg rad",) * model.n, 1.0 + masses, [block])


def test_terms_that_look_at_masses_are_bound_again() -> None:
    task = problem("arm6-pick")
    joint = task.model.joint_names[2]
    entries = (
        Constraint(terms.JointReaction(joint), -1e6, 1e6),
        Constraint(terms.JointReaction(joint, part="force", form="magnitude"), 0.0, 1e6),
        Constraint(Weighted(), -1e4, 1e4),
    )
    for some in (*((entry,) for entry in entries), entries):
        given = replace(task, constraints=(*task.constraints, *some))
        program = transcribe(given)
        program.retarget(heavier(given))
        assert_same(program, transcribe(heavier(given)))
    summed = Constraint(Weighted(), -1e6, 1e6, integral=True)
    given = replace(
        task, costs=(*task.costs, Cost(Weighted())), constraints=(*task.constraints, summed)
    )
    program = transcribe(given)
    program.retarget(heavier(given))
    assert_same(program, transcribe(heavier(given)))


WEIGHING = (terms.JointReaction, terms.UserTerm, terms.ZeroMomentPoint, terms.GroundTorque)


@pytest.mark.parametrize("name", CASES)
def test_other_terms_do_not_look_at_masses(name: str) -> None:
    """As exchange.py assumes."""
    term, model = CASES[name]
    if isinstance(term, WEIGHING):
        return
    k = int(np.argmax(model.inertia[:, 0]))
    other = model.with_mass(model.link_names[k], 3.0 * model.inertia[k, 0])
    a, b = term.bind(model), term.bind(other)
    assert (a.rows, a.units, a.entries, a.curved) == (b.rows, b.units, b.entries, b.curved)
    np.testing.assert_array_equal(a.scale, b.scale)
    samples = random_samples(model, a.channels, 4, seed=1)
    found = []
    for x in (a, b):
        value, partials = np.empty((len(x.rows), 4)), np.empty((len(x.entries), 4))
        x.value(samples, value)
        x.partials(samples, partials)
        found.append((value, partials))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_forces_come_and_go() -> None:
    task = problem("arm6-pick")
    push = ExternalForce(task.model.link_names[-1], np.array([0.0, 0.0, -30.0]))
    pushed = replace(task, forces=(push,))
    program = transcribe(task)
    for other in (heavier(task), pushed, task, heavier(pushed), heavier(task), task):
        program.retarget(other)
        assert_same(program, transcribe(other))


def test_single_entries() -> None:
    task = problem("arm6-pick")
    (goal,), (effort, *others) = task.constraints, task.costs
    wide = Constraint(terms.JointVelocity(), -9.0, 9.0)
    given = replace(task, constraints=(goal, wide))
    program = transcribe(given)
    for other in (
        replace(given, constraints=(goal, replace(wide, upper=8.0))),
        replace(given, costs=(replace(effort, weight=2.0 * effort.weight), *others)),
        replace(heavier(given), constraints=(elsewhere(task).constraints[0], wide)),
        given,
    ):
        program.retarget(other)
        assert_same(program, transcribe(other))
    for wrong, named in (
        (replace(wide, upper=-10.0), "lower -9 is above upper -10"),
        (replace(wide, upper=(1.0, 2.0)), "expected one number or 6"),
        (replace(wide, term=terms.JointVelocity(joints=("nobody",))), "nobody"),
        ("slower", "expected a Constraint, got str"),
    ):
        with pytest.raises(InputError, match=named):
            program.retarget(replace(given, constraints=(goal, wrong)))
        assert_same(program, transcribe(given))

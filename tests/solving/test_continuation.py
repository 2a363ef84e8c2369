"""Problems with kinks, mechanical energy and dry friction: closed forms, trapezoids, SciPy."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn import Duration, ModelBuilder, Phase, Problem, Spline, State
from predyn.model import Model
from predyn.problem import Constraint, Cost
from predyn.solution import Solution
from predyn.solvers.ipopt_callbacks import Iterate
from predyn.solving import continuation
from predyn.terms import Effort, ElectricalEnergy, MechanicalEnergy, TotalTime, WeightedSum
from predyn.transcribe.methods import transcribe
from solving.energy_tasks import GOALS, WEIGHTS, energy_by_trapezoids, task

REST = np.zeros(1)


def slider(friction: float = 0.0, speed: float | None = None, size: float = 1.0) -> Model:
    """A mass of 2 kg on a horizontal rail, in units in which forces are `size` times larger."""
    builder = ModelBuilder("slider", gravity=(0.0, 0.0, 0.0))
    builder.add_link("cart", kind="prismatic", axis=(1, 0, 0), mass=2.0 * size, effort=40.0 * size,
                     velocity=2.0, coulomb=friction * size, coulomb_speed=speed)  # fmt: skip
    return builder.build()


def push(model: Model, *costs: Cost, duration: float | Duration = 1.0, **more: object) -> Problem:
    """From rest to rest over 0.5 m."""
    phase = Phase(duration, State([0.0], REST), State([0.5], REST))
    spline = Spline(segments=12)
    return Problem(model, (phase,), costs, transcription=spline, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_mass_at_the_lowest_top_speed(size: float) -> None:
    """Driving and braking cost m v^2 / 2 each for the top speed v, so that |f v| integrates to
    m v^2, and v is least if the mass moves at it most of the time: v >= d / T."""
    wide = predyn.solve(push(slider(size=size), Cost(MechanicalEnergy(), 1.0 / size))).check()
    top = float(np.abs(wide.at(np.linspace(0.0, 1.0, 4001)).v).max())
    exact = wide.unsmoothed["energy"]
    assert exact == pytest.approx(2.0 * top**2, rel=1e-4)
    assert 0.5 <= exact < 0.66  # the bound 0.5 J needs jumps of v; the spline's needs more
    assert wide.costs["energy"] < exact
    base = predyn.solve(push(slider(), Cost(MechanicalEnergy()))).check()
    assert wide.iterations == base.iterations  # units do not matter
    assert wide.widths["energy"] == pytest.approx(size * base.widths["energy"], rel=1e-5)


def test_work_of_friction_is_force_times_distance() -> None:
    """With regeneration of all, what is left of the energy is friction and copper loss."""
    model = slider(friction=3.0, speed=1e-3)
    term = ElectricalEnergy(copper_loss=0.01, regeneration=1.0)
    solution = predyn.solve(push(model, Cost(term, name="grid"))).check()
    assert solution.model is model
    t = np.linspace(0.0, 1.0, 200_001)
    heat = np.trapezoid(0.01 * solution.at(t).tau[:, 0] ** 2, t)
    assert solution.unsmoothed["grid"] == pytest.approx(3.0 * 0.5 + heat, rel=2e-3)


def test_electrical_energy_by_trapezoids() -> None:
    """From its definition: p / efficiency driving, regeneration efficiency p braking."""
    term = ElectricalEnergy(copper_loss=0.02, efficiency=0.8, regeneration=0.3)
    solution = predyn.solve(push(slider(1.0), Cost(term, 2.0))).check()
    t = np.linspace(0.0, 1.0, 200_001)
    sample = solution.at(t)
    tau, p = sample.tau[:, 0], (sample.tau * sample.v)[:, 0]
    power = 0.02 * tau**2 + np.where(p > 0.0, p / 0.8, 0.3 * 0.8 * p)
    exact = solution.unsmoothed["electrical_energy"]
    assert exact == pytest.approx(2.0 * np.trapezoid(power, t), rel=1e-6)
    assert exact > solution.costs["electrical_energy"]
    assert f"{exact:.8g} exact" in str(solution)
    assert solution.summary()["unsmoothed"] == {"electrical_energy": exact}


@pytest.mark.parametrize(("goal", "weight"), [(0, 0.02), (3, 0.1)])
def test_six_axis_arm(goal: int, weight: float, tmp_path: Path) -> None:
    solution = predyn.solve(task(goal, weight)).check()
    assert solution.status == "optimal"
    assert solution.iterations < 100
    exact = weight * energy_by_trapezoids(solution)
    assert solution.unsmoothed["energy"] == pytest.approx(exact, rel=1e-6)
    solution.save(tmp_path / "solution.h5")
    read = predyn.load_solution(tmp_path / "solution.h5")
    assert read.unsmoothed == solution.unsmoothed
    assert read.widths == solution.widths


@pytest.mark.verify
def test_energy_tasks_of_the_six_axis_arm() -> None:
    solutions = [predyn.solve(task(k, weight)) for k in range(len(GOALS)) for weight in WEIGHTS]
    assert all(solution.success for solution in solutions)
    assert np.median([solution.iterations for solution in solutions]) < 60
    for solution, weight in zip(solutions, WEIGHTS * len(GOALS), strict=True):
        exact = weight * energy_by_trapezoids(solution)
        assert solution.unsmoothed["energy"] == pytest.approx(exact, rel=1e-3)


def test_a_bounded_integral() -> None:
    """The fastest motion with 1 J of work, driving alone: the top speed of 2 kg is 1 m/s."""
    work = Constraint(MechanicalEnergy(form="positive"), upper=1.0, integral=True)
    problem = push(slider(), Cost(TotalTime()), duration=Duration(0.2, 3.0, 1.0),
                   constraints=(work,))  # fmt: skip
    solution = predyn.solve(problem).check()
    top = float(np.abs(solution.at(np.linspace(0.0, solution.duration, 4001)).v).max())
    exact = solution.unsmoothed["integral of energy"]
    assert exact == pytest.approx(0.5 * 2.0 * top**2, rel=1e-3)
    assert exact == pytest.approx(1.0, rel=0.02)  # the bound is on the rounded work


def test_a_term_of_a_sum_is_narrowed_too() -> None:
    total = WeightedSum([(1.0, MechanicalEnergy())], name="work", unit="J")
    problem = push(slider(), Cost(TotalTime()), duration=Duration(0.2, 3.0, 1.0),
                   constraints=(Constraint(total, upper=2.0),))  # fmt: skip
    solution = predyn.solve(problem).check()
    assert solution.widths["work"] < 0.1
    assert solution.unsmoothed["work"] == pytest.approx(2.0, rel=0.02)


def test_given_widths_are_reached_and_a_solution_leads_to_the_same() -> None:
    problem = push(slider(), Cost(MechanicalEnergy(width=1e-3)))
    solution = predyn.solve(problem).check()
    assert solution.widths == {"energy": 1e-3}
    chosen = predyn.solve(push(slider(), Cost(MechanicalEnergy()))).check()
    again = predyn.solve(push(slider(), Cost(MechanicalEnergy())), guess=chosen).check()
    assert again.widths == chosen.widths
    assert again.objective == pytest.approx(chosen.objective, rel=1e-6)


def test_narrow_friction_converges_to_the_model_that_was_given() -> None:
    problem = task(0, 0.2, Effort(normalised=True))
    model = problem.model
    limits = np.abs(model.limits.effort).max(axis=1)
    model = replace(model, coulomb=0.05 * limits, coulomb_speed=np.full(model.n, 1e-3))
    solution = predyn.solve(replace(problem, model=model)).check()
    assert solution.model is model
    assert solution.widths == {f"coulomb_speed {name}": 1e-3 for name in model.joint_names}
    tau = predyn.inverse_dynamics(model, solution.q, solution.v, solution.a)
    assert np.allclose(tau, solution.tau, rtol=0.0, atol=1e-9 * limits.max())


def _failing_below(width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stages with narrower friction or roundings end at an iteration limit."""
    solve_once = continuation.solve_once

    def limited(problem: Problem, *args: object, **options: object) -> Solution:
        solution: Solution = solve_once(problem, *args, **options)  # type: ignore[arg-type]
        if min(solution.widths.values()) >= width:
            return solution
        return replace(solution, status="iteration_limit", message="too slow")

    monkeypatch.setattr(continuation, "solve_once", limited)


def test_a_width_that_is_not_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _failing_below(0.01, monkeypatch)
    solution = predyn.solve(push(slider(), Cost(MechanicalEnergy(width=1e-4))))
    assert solution.status == "acceptable"
    assert solution.widths["energy"] >= 0.01
    assert f"energy {solution.widths['energy']:.3g} instead of 0.0001" in solution.message
    assert "iteration_limit" in solution.message


@pytest.mark.parametrize("most", range(8, 30, 3))
def test_a_loose_stage_is_no_success(most: int) -> None:
    """Stages before the last one are solved to 1e-2 only."""
    problem = push(slider(), Cost(MechanicalEnergy(width=1e-4)))
    enough = predyn.solve(problem).check()
    limited = replace(problem, solver=replace(problem.solver, max_iterations=most))
    solution = predyn.solve(limited)
    assert solution.iterations <= most
    assert solution.status == ("iteration_limit" if most < enough.iterations else enough.status)


def test_a_bound_on_a_wider_rounding_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    _failing_below(0.01, monkeypatch)
    work = Constraint(MechanicalEnergy(width=1e-4), upper=50.0, integral=True)
    solution = predyn.solve(push(slider(), Cost(Effort()), constraints=(work,)))
    assert solution.status == "iteration_limit"
    assert "instead of 0.0001" in solution.message


def test_friction_that_is_not_reached_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    _failing_below(0.01, monkeypatch)
    model = slider(friction=2.0, speed=1e-3)
    solution = predyn.solve(push(model, Cost(Effort())))
    reached = solution.widths["coulomb_speed cart_joint"]
    assert solution.status == "iteration_limit"
    assert reached >= 0.01
    assert f"coulomb_speed cart_joint {reached:.3g} instead of 0.001" in solution.message
    assert solution.model.coulomb_speed[0] == reached


@pytest.mark.parametrize("phases", [1, 2])
def test_a_wide_rounding_is_not_taken_for_inaccurate_integration(phases: int) -> None:
    """Names of costs and of widths differ: one width serves a cost of the problem in all phases."""
    costs = (Cost(MechanicalEnergy(width=0.3)),)
    ends = [State([0.5 * k / phases], REST if k in (0, phases) else None) for k in range(3)]
    parts = tuple(Phase(1.0 / phases, ends[k] if k == 0 else State(), ends[k + 1],
                        costs=costs if phases == 1 else ()) for k in range(phases))  # fmt: skip
    problem = Problem(slider(), parts, costs[: phases - 1], transcription=Spline(segments=12))
    solution = predyn.solve(problem).check()
    assert solution.widths == {"energy": 0.3}
    assert sum(solution.unsmoothed.values()) > 1.1 * sum(solution.costs.values())
    assert solution.problem is not None
    assert solution.problem.transcription == problem.transcription


def test_progress_counts_all_stages_and_stopping_keeps_a_motion() -> None:
    problem = push(slider(), Cost(MechanicalEnergy()))
    seen: list[int] = []
    solution = predyn.solve(problem, report=lambda iterate: seen.append(iterate.iteration))
    assert seen == sorted(seen)
    assert seen[-1] == solution.iterations
    first = next(k for k in range(1, len(seen)) if seen[k] == seen[k - 1])  # a stage begins

    def stop(iterate: Iterate, count: list[int] = [0]) -> bool:  # noqa: B006
        count[0] += 1
        return count[0] <= first + 2

    stopped = predyn.solve(problem, report=stop)
    assert stopped.status == "interrupted"
    assert stopped.finite
    assert "last converged motion" in stopped.message
    assert stopped.widths["energy"] > solution.widths["energy"]


def test_second_derivatives_at_kinks() -> None:
    """Exact outside of a solve and at its first point; later never below zero along a kink."""
    model = slider(1.0, 0.1)
    program = transcribe(push(model, Cost(MechanicalEnergy(width=0.5))))
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0.0, 0.5, (2, program.n))
    assert program.check_derivatives(x).ok

    def hessian(at: np.ndarray) -> np.ndarray:
        program.move(at)
        values = np.empty(len(program.hessian_pattern[0]))
        program.hessian(1.0, np.zeros(program.m), values)
        return values

    exact = [hessian(point) for point in (x, y)]
    with program.following_kinks():
        assert np.allclose(hessian(x), exact[0], rtol=1e-9, atol=1e-9)
        assert not np.allclose(hessian(y), exact[1], rtol=1e-3)
        for _ in range(2):  # at rest it becomes the exact one
            near = hessian(y + 1e-9)
            near = hessian(y)
        assert np.allclose(near, exact[1], rtol=1e-4, atol=1e-4 * np.abs(exact[1]).max())
    assert np.array_equal(hessian(y), exact[1])


def test_loaders_choose_the_speed_of_friction(tmp_path: Path) -> None:
    assert slider(friction=1.0).coulomb_speed[0] == pytest.approx(0.02 * 2.0)
    row = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "coulomb": 0.3}
    assert predyn.load_dh([row]).coulomb_speed[0] == 0.05
    assert predyn.load_dh([row], coulomb_speed=0.2).coulomb_speed[0] == 0.2
    assert predyn.load_dh([row | {"coulomb_speed": 0.1}], coulomb_speed=0.2).coulomb_speed[0] == 0.1
    text = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
      <limit lower="-1" upper="1" velocity="3" effort="5"/><dynamics friction="0.4"/></joint>
      </robot>"""
    path = tmp_path / "r.urdf"
    path.write_text(text, encoding="utf-8")
    model = predyn.load_urdf(path)
    assert model.coulomb_speed[0] == pytest.approx(0.06)
    assert any("0.4 tanh(v / 0.06)" in note for note in model.notes)
    assert predyn.load_urdf(os.fspath(path), coulomb_speed=0.01).coulomb_speed[0] == 0.01
    with pytest.raises(predyn.InputError, match="coulomb_speed: expected a speed above 0"):
        predyn.load_urdf(path, coulomb_speed=0.0)

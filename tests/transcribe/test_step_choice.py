"""The number of RK4 steps that stiff springs and strong damping of passive joints need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigvalsh

import predyn
from predyn import ModelBuilder, tasks
from predyn.config import read_task
from predyn.errors import ProblemWarning
from predyn.model import Model
from predyn.problem import Cost, Duration, Hybrid, Parameter, Phase, Problem, Spline, State
from predyn.terms import Effort, TotalTime
from predyn.transcribe.methods import transcribe
from predyn.transcribe.shooting.step_choice import STABLE, with_chosen_steps

J = 0.5 * 0.1**2 + 5e-3  # kg m^2, of the tip about its joint
T = 0.8  # s


def flexible_arm(stiffness: float, damping: float = 0.0, tips: int = 1) -> Model:
    """An arm with a motor, and light links on springs at its end."""
    builder = ModelBuilder("flexible", (0.0, -9.81, 0.0))
    builder.add_link("arm", mass=2.0, com=(0.25, 0, 0), inertia=(0.05, 0.05, 0.05), effort=60.0)
    for k in range(tips):
        builder.add_link(
            f"tip{k}", f"tip{k - 1}" if k else "arm", origin=(0.5 if k == 0 else 0.2, 0, 0),
            mass=0.5, com=(0.1, 0, 0), inertia=(5e-3, 5e-3, 5e-3),
            stiffness=stiffness, damping=damping,
        )  # fmt: skip
    return builder.build()


def swing(model: Model, **options: object) -> Problem:
    n = model.n
    end = State((1.2, *[np.nan] * (n - 1)), np.zeros(n))
    return Problem(
        model,
        (Phase(Duration(0.3, 2.0, T), State(np.zeros(n), np.zeros(n)), end),),
        costs=(Cost(Effort(("arm_joint",))), Cost(TotalTime(), 10.0)),
        passive=model.joint_names[1:],
        transcription=Hybrid(segments=20, **options),  # type: ignore[arg-type]
    )


def chosen(problem: Problem) -> int | None:
    method = with_chosen_steps(problem).transcription
    assert isinstance(method, Hybrid)
    return method.steps


def multiple_of_ten(x: float) -> int:
    return 10 * int(np.ceil(x / 10))


@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e6])
def test_steps_of_a_spring(stiffness: float) -> None:
    wanted = np.sqrt(stiffness / J) * T / 20 / 1.5
    assert chosen(swing(flexible_arm(stiffness))) == multiple_of_ten(wanted)


def test_steps_of_ligaments() -> None:
    """Two of them hold the tip at 0 with the stiffness of a spring."""
    moment, rate = 1e4 / 8.0, 4.0
    model = flexible_arm(0.0)
    ligaments = np.zeros((2, 2, 3))
    ligaments[1, :, :2] = moment, rate
    assert chosen(swing(replace(model, ligaments=ligaments))) == chosen(swing(flexible_arm(1e4)))


@pytest.mark.parametrize("damping", [1.3, 97.0])
def test_steps_of_a_damper(damping: float) -> None:
    assert chosen(swing(flexible_arm(0.0, damping))) == multiple_of_ten(damping / J * T / 20)


@pytest.mark.parametrize(("speed", "most"), [(0.06, 1000), (0.002, 100)])
def test_dry_friction_counts_as_damping_at_rest(speed: float, most: int) -> None:
    model = flexible_arm(0.0)
    rough = replace(model, coulomb=np.array([0.0, 0.5]), coulomb_speed=np.full(2, speed))
    wanted = min(multiple_of_ten(0.5 / speed / J * T / 20), most)
    assert chosen(swing(rough)) == wanted


def test_steps_are_stable_in_all_directions() -> None:
    z = STABLE * np.exp(1j * np.linspace(0.5 * np.pi, np.pi, 1000))
    assert np.abs(1.0 + z + z**2 / 2 + z**3 / 6 + z**4 / 24).max() < 1.0


def test_steps_of_coupled_springs() -> None:
    """The highest of the generalized eigenvalues of K and M, at the stiffest posture."""
    model = flexible_arm(1e5, tips=3)
    K = np.diag(model.stiffness)[1:, 1:]
    M = predyn.mass_matrix(model, np.zeros(4))[1:, 1:]
    wanted = np.sqrt(eigvalsh(K, M)[-1]) * T / 20 / 1.5
    assert chosen(swing(model)) == multiple_of_ten(wanted)


def test_a_free_spring_counts_with_its_guess() -> None:
    free = Parameter("k", 1.0, 1e5, 1e4, "N m", quantity="stiffness of tip0_joint")
    problem = replace(swing(flexible_arm(1.0)), parameters=(free,))
    assert chosen(problem) == chosen(swing(flexible_arm(1e4))) == 30


def test_soft_joints_take_ten_steps_and_given_ones_stay() -> None:
    assert chosen(swing(flexible_arm(0.0))) == 10
    assert chosen(swing(flexible_arm(1.0, 0.01))) == 10
    assert chosen(swing(flexible_arm(1e4), steps=37)) == 37
    unequal = replace(swing(flexible_arm(1e4)), transcription=Hybrid(knots=(0.0, 0.5, 0.6, 1.0)))
    assert chosen(unequal) == multiple_of_ten(np.sqrt(1e4 / J) * T / 2 / 1.5)
    program = transcribe(swing(flexible_arm(1e4)))
    assert program.problem.transcription == Hybrid(segments=20, steps=30)


def test_another_problem_in_a_program_has_steps_of_its_own() -> None:
    program = transcribe(swing(flexible_arm(1e4)))
    program.retarget(swing(flexible_arm(3e4)))
    wanted = transcribe(swing(flexible_arm(3e4)))
    assert program.problem.transcription == wanted.problem.transcription
    x = np.linspace(0.5, 1.0, program.n)
    both = np.empty((2, program.m))
    for made, out in zip((program, wanted), both, strict=True):
        made.move(x)
        made.constraints(out)
    assert np.array_equal(*both)
    with pytest.raises(predyn.InputError, match="makes another kind of program"):
        program.retarget(replace(swing(flexible_arm(1e4)), transcription=Spline()))


@pytest.mark.parametrize("name", tasks.NAMES)
def test_built_in_tasks_need_no_more_than_ten(name: str) -> None:
    problem = read_task(name).problem
    if isinstance(problem.transcription, Hybrid):
        assert (
            chosen(replace(problem, transcription=replace(problem.transcription, steps=None))) == 10
        )


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 20.0), (1e5, 0.0), (1e6, 100.0)])
def test_stiff_springs_converge_and_agree_with_the_replay(stiffness: float, damping: float) -> None:
    problem = swing(flexible_arm(stiffness, damping))
    found = predyn.solve(problem).check()
    assert found.status == "optimal"
    replay = predyn.replay(found, rtol=1e-6, atol=1e-9)
    # the spring bends by about 20 N m / k, and RK4 at 1.5 follows its motion to a few per cent
    assert replay.max_position_error < 0.05 * 20.0 / stiffness + 1e-5


def test_too_few_steps_are_named() -> None:
    problem = swing(flexible_arm(1e6), steps=10)
    enough = multiple_of_ten(np.sqrt(1e6 / J) * T / 20 / 1.5)
    with pytest.warns(
        ProblemWarning, match=rf"'tip0_joint'.* 1e\+04 1/s .*needs {enough} steps.* = 10"
    ):
        found = predyn.solve(problem)
    assert found.status == "evaluation_error"


def test_more_steps_than_possible_are_named() -> None:
    problem = swing(flexible_arm(1e9))
    with pytest.warns(ProblemWarning, match="more than 1000: use more segments, or lock the joint"):
        made = with_chosen_steps(problem, warn=True)
    assert made.transcription == Hybrid(segments=20, steps=1000)

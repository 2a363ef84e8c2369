"""Programs with integrated joints of coupled models, against an explicit reduction in CasADi."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from coupled_trees import coupled_tree
from predyn.dynamics import ExternalForce
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.couplings import PiecewisePolynomial
from predyn.nlp import SolverOptions
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Hybrid,
    Parameter,
    Phase,
    Problem,
    Spline,
    State,
    System,
)
from predyn.problem.quantities import quantity_value, with_parameters
from predyn.solution import Solution
from predyn.terms import Effort, FramePosition, FrameVelocity, JointReaction, JointTorque
from predyn.transcribe.methods import transcribe
from predyn.transcribe.shooting.step_choice import with_chosen_steps
from transcribe.hybrid_oracle import HybridCase
from transcribe.program_values import values

ROUNDING = 1e-12  # of the largest in a row
EXACT = SolverOptions(hessian="exact")


def problem_of(seed: int, passive: slice, shooting: str = "multiple") -> Problem:
    """A tree with springs, friction, a load and limits; its first joint moves two others."""
    model = coupled_tree(seed, links=5)
    model = model.with_limits(position=5.0, velocity=np.inf, effort=90.0)
    without = model.joint_names[passive]
    active = tuple(x for x in model.joint_names if x not in without)
    n, follower = model.n, model.couplings[0].joint
    return Problem(
        model,
        (Phase(Duration(0.5, 3.0, 1.3), State(np.full(n, 0.1), np.full(n, 0.2))),),
        (Cost(Effort(active), 0.1), Cost(JointReaction(follower), 0.01)),
        (
            Constraint(FramePosition("tool", (0.1, 0.2, 0.3)), -9.0, 9.0, at=(0.5, 1.0)),
            Constraint(FrameVelocity("tool"), -9.0, 9.0, at="end"),
            Constraint(JointTorque(active), -90.0, 90.0, at=(0.0, 0.5)),
        ),
        forces=(ExternalForce("tool", (1.0, 2.0, 3.0), (0.3, 0.2, 0.1), (0.1, 0.0, -0.2), "link"),),
        passive=without,
        transcription=Hybrid(segments=2, steps=2, limit_points=1, shooting=shooting),
        solver=EXACT,
        name="coupled",
    )


@pytest.mark.parametrize(
    ("seed", "passive", "shooting"),
    [
        (0, slice(1), "multiple"),  # followers of the passive joint
        (1, slice(1, 2), "multiple"),  # of the active one
        (2, slice(1), "single"),
        pytest.param(3, slice(1), "multiple", marks=pytest.mark.verify),
        pytest.param(4, slice(1, 2), "single", marks=pytest.mark.verify),
    ],
)
def test_values_and_derivatives(seed: int, passive: slice, shooting: str) -> None:
    case = HybridCase(problem_of(seed, passive, shooting))
    assert case.program.problem.model.n == 2
    assert {k: x for k, x in case.errors().items() if x > ROUNDING} == {}


@pytest.mark.parametrize("shooting", ["multiple", "single"])
def test_parameters_of_the_model(shooting: str) -> None:
    """Values are those of a model with these numbers, derivatives agree with differences."""
    problem = problem_of(0, slice(1), shooting)
    problem = replace(
        problem,
        phases=(replace(problem.phases[0], system="loaded"),),
        systems={"loaded": System(payloads=(predyn.Payload("tool", 0.7, (0.1, 0.2, 0.3)),))},
    )
    link, joint = problem.model.link_names[3], problem.model.joint_names[0]
    texts = (f"mass of {link}", f"stiffness of {joint}", "payload of tool", "force.y of tool")
    given = {text: quantity_value(problem, text) for text in texts}
    parameters = tuple(
        Parameter(f"p{k}", 0.5 * x, 2.0 * x, x, quantity=text)
        for k, (text, x) in enumerate(given.items())
    )
    program = transcribe(replace(problem, parameters=parameters))
    rng = np.random.default_rng(0)
    x = 0.3 * rng.standard_normal(program.n)
    x[program.phases[0].T_column] = 1.1
    numbers = {p.name: (1.1 + 0.1 * k) * p.guess for k, p in enumerate(parameters)}
    for name, column in program.parameter_columns().items():
        x[column] = numbers[name]
    report = program.check_derivatives(x)
    assert report.ok, str(report)
    fixed = with_parameters(program.problem, numbers)
    plain = transcribe(replace(fixed, parameters=()))
    lam = rng.standard_normal(program.m)
    count = plain.n
    found, wanted = values(program, x, 0.7, lam), values(plain, x[:count], 0.7, lam)
    assert found.f == pytest.approx(wanted.f, rel=1e-12)
    for mine, other in ((found.g, wanted.g), (found.jacobian[:, :count], wanted.jacobian),
                        (found.hessian[:count, :count], wanted.hessian)):  # fmt: skip
        assert np.abs(mine - other).max() <= 1e-10 * np.abs(other).max()


def geared_acrobot(**slide: float) -> Model:
    """A weight slides along the passive upper arm as it swings, a hand turns with the elbow."""
    rod = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.08, 0.08)}
    builder = ModelBuilder("geared acrobot", (0.0, -9.81, 0.0))
    builder.add_link("upper", joint="shoulder", **rod)
    builder.add_link("weight", "upper", joint="slide", kind="prismatic", axis=(1, 0, 0),
                     mass=0.5, inertia=(0.01, 0.01, 0.01), **slide)  # fmt: skip
    builder.add_link("fore", "upper", joint="elbow", origin=(1.0, 0.0, 0.0), **rod)
    builder.add_link("hand", "fore", joint="wrist", origin=(1.0, 0.0, 0.0),
                     mass=0.3, com=(0.1, 0.0, 0.0), inertia=(0.001, 0.003, 0.003))  # fmt: skip
    builder.couple("slide", "shoulder", PiecewisePolynomial.polynomial((0.5, 0.1, 0.05)))
    return builder.couple("wrist", "elbow", (-0.5, 0.1)).build()


def swing(model: Model, method: Spline) -> Problem:
    """From hanging down to an arm at rest, by the elbow alone."""
    rest = np.zeros(2)
    ends = State([-np.pi / 2, 0.0], rest), State([-1.0, np.nan], rest)
    return Problem(
        model, (Phase(1.2, *ends),), (Cost(Effort(("elbow",))),), transcription=method,
        passive=("shoulder",), solver=EXACT, name="geared acrobot",
    )  # fmt: skip


@cache
def solved() -> Solution:
    return predyn.solve(swing(geared_acrobot(), Hybrid(segments=48, steps=4))).check()


def test_optimum_agrees_with_splines() -> None:
    """The error of splines that hold the equation of motion at points is of second order."""
    coarse, fine = (
        predyn.solve(swing(geared_acrobot(), Spline(segments=x, refine=False))) for x in (48, 96)
    )
    limit = fine.objective + (fine.objective - coarse.objective) / 3.0
    assert solved().objective == pytest.approx(limit, rel=2e-3)
    t = np.linspace(0.0, 1.2, 61)
    apart = np.abs(solved().at(t).q - fine.at(t).q).max()
    assert apart < 1e-2


def test_single_shooting_finds_the_same() -> None:
    problem = swing(geared_acrobot(), Hybrid(segments=48, steps=4, shooting="single"))
    assert predyn.solve(problem).objective == pytest.approx(solved().objective, rel=1e-8)


def test_a_replay_reproduces_the_motion() -> None:
    run = predyn.replay(solved())
    assert run.status == "finished"
    assert run.max_position_error < 1e-6
    assert run.max_energy_error < 1e-8


def test_sensitivities_agree_with_other_optima() -> None:
    """The mass of the link that slides along the passive one."""
    problem, h = swing(geared_acrobot(), Hybrid(segments=12, steps=4)), 1e-3
    solution = predyn.solve(problem)
    found = predyn.sensitivities(solution, "mass of weight")
    at = Parameter("m", 0.1, 1.0, 0.5, quantity="mass of weight")
    both = []
    for mass in (0.5 - h, 0.5 + h):
        other = with_parameters(replace(problem, parameters=(at,)), {"m": mass})
        both.append(predyn.solve(replace(other, parameters=()), guess=solution).objective)
    assert found.objective[0] == pytest.approx((both[1] - both[0]) / (2.0 * h), rel=1e-5)


@pytest.mark.parametrize(("stiffness", "damping"), [(1e9, 0.0), (0.0, 3e6)])
def test_steps_follow_from_springs_and_dampers_of_followers(
    stiffness: float, damping: float
) -> None:
    """At the stiffest of the postures: of the ends and halfway between them."""
    model = geared_acrobot(stiffness=stiffness, damping=damping)
    chosen = with_chosen_steps(swing(model, Hybrid(segments=10))).transcription
    assert isinstance(chosen, Hybrid)
    f = model.couplings[0].function
    paces = []
    for q in (-np.pi / 2, -1.0, -(np.pi / 2 + 1.0) / 2):
        M = predyn.mass_matrix(model, [q, 0.0])[0, 0]
        K = stiffness * (f(q, 1) ** 2 + f(q, 2) * f(q))
        paces.append(max(np.sqrt(K / M) / 1.5, damping * f(q, 1) ** 2 / M))
    assert chosen.steps == 10 * int(np.ceil(max(paces) * 0.12 / 10))

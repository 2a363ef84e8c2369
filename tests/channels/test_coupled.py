"""Programs of coupled models: against an explicit reduction in CasADi, and against differences."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import predyn
from coupled_trees import coupled_tree
from oracles.casadi_couplings import CoupledMotion
from predyn.channels.derived import derived_channel
from predyn.dynamics import ExternalForce, frame_kinematics, mass_matrix
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.lanes import WIDTH
from predyn.model.builder import ModelBuilder
from predyn.model.couplings import PiecewisePolynomial
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Parameter,
    Phase,
    Problem,
    Signal,
    Spline,
    System,
)
from predyn.problem.quantities import quantity_value
from predyn.samples.registry import CHANNELS, Channel
from predyn.solution import Solution
from predyn.solving import solve
from predyn.terms import (
    Effort,
    FramePosition,
    FrameVelocity,
    GeneralizedMomentum,
    JointReaction,
    JointTorque,
)
from predyn.transcribe.methods import transcribe
from transcribe.program_values import values

FREE = Duration(0.5, 2.0, 1.0)
LOAD = predyn.Payload("tool", 0.7, (0.1, 0.2, 0.3), np.diag([0.01, 0.02, 0.015]))
PUSH = ExternalForce("tool", (1.0, 2.0, 3.0), (0.3, 0.2, 0.1), (0.1, 0.0, -0.2), "link")


def problem_of(seed: int, **more) -> Problem:
    """Two phases, the second with a payload after an impact, an unknown force, all channels."""
    model = coupled_tree(seed)
    model = model.with_limits(position=np.inf, velocity=np.inf, effort=np.inf)
    follower = model.couplings[0].joint
    return Problem(
        model,
        (
            Phase(FREE, segments=1, name="free"),
            Phase(FREE, segments=1, name="loaded", system="loaded", impact=True),
        ),
        costs=(Cost(Effort(), 1e-3),),
        constraints=(
            Constraint(JointTorque(), -1.0, 1.0, at=(0.2,)),
            Constraint(JointReaction(follower, "wrench"), -1.0, 1.0, at=(0.6,)),
            Constraint(FramePosition("tool", (0.0, 0.0, 0.0)), -1.0, 1.0, at=(0.5,)),
            Constraint(FrameVelocity("tool"), -1.0, 1.0, at=(0.7,)),
            Constraint(GeneralizedMomentum(), -1.0, 1.0, at=(0.3,)),
        ),
        forces=(PUSH, ExternalForce(model.link_names[4], "pull")),
        signals=(Signal("pull", ("x", "y", "z"), lower=-3.0, upper=3.0, degree=1),),
        systems={"loaded": System(payloads=(LOAD,))},
        transcription=Spline(limit_points=1, gauss_points=1),
        **more,
    )


def point(program, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, program.n)
    for phase in program.phases:
        x[phase.T_column] = rng.uniform(0.6, 1.4)
    return x


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_programs_agree_with_an_explicit_reduction(seed: int) -> None:
    problem = problem_of(seed)
    program = transcribe(problem)
    motion, x = CoupledMotion(program), point(program, seed)
    link = problem.model.expanded.joint_index(problem.model.couplings[0].joint)
    f, g = 0.0, []
    for p in range(2):
        for s, w in motion.gauss(p, 1):
            tau = motion.tau(p, s)
            f += 1e-3 * motion.T(p) * w * (tau.T @ tau)
        g += [motion.tau(p, 0.2), motion.wrench(p, 0.6)[6 * link : 6 * link + 6]]
        g += [motion.frame(p, "tool", 0.5)[1], motion.frame(p, "tool", 0.7)[3]]
        g.append(motion.momentum(p, 0.3))
    g.append(motion.state(1, 0.0, 0) - motion.state(0, 1.0, 0))
    g.append(motion.momentum(1, 0.0) - motion.momentum(0, 1.0))
    lam = np.random.default_rng(seed).standard_normal(program.m)
    motion.compare(f, g, x, values(program, x, 0.7, lam), 0.7, lam)


def test_a_curve_that_is_flat_nearly_everywhere_has_derivatives_where_it_is_not() -> None:
    """A smooth step between 2.5 and 3.5 rad: elsewhere the second link does not move."""
    builder = ModelBuilder("step")
    body = {"mass": 1.0, "com": (0.3, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
    builder.add_link("a", axis=(0, 1, 0), **body)
    builder.add_link("b", "a", axis=(0, 1, 0), origin=(1.0, 0.0, 0.0), **body)
    builder.couple("b_joint", "a_joint", PiecewisePolynomial([2.5, 3.5], [[0, 0, 0, 10, -15, 6]]))
    reach = Constraint(FramePosition("b", (0.0, 0.0, 0.0)), -3.0, 3.0, at=(0.5,))
    phase, costs = Phase(1.0, segments=3), (Cost(Effort(), 1.0),)
    program = transcribe(Problem(builder.build(), (phase,), costs=costs, constraints=(reach,)))
    k = np.arange(program.n)
    report = program.check_derivatives(2.4 + 1.2 * k / program.n + 0.05 * np.sin(k))
    assert report.ok, str(report)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.verify)])
def test_parameters_of_a_coupled_model_agree_with_differences(seed: int) -> None:
    problem = problem_of(seed)
    joints, links = problem.model.joint_names, problem.model.link_names
    texts = (f"mass of {links[3]}", f"stiffness of {joints[-1]}", f"rest of {joints[-1]}",
             f"armature of {joints[1]}", f"origin.x of {joints[-1]}", "payload of tool",
             "force.y of tool", f"length of {links[-1]}")  # fmt: skip
    parameters = []
    for k, text in enumerate(texts):
        value = quantity_value(problem, text)
        room = 1e-3 * max(abs(value), 1e-2)
        parameters.append(Parameter(f"p{k}", value - room, value + room, value, quantity=text))
    program = transcribe(replace(problem, parameters=tuple(parameters)))
    x = point(program, seed)
    for column, parameter in zip(program.parameter_columns().values(), parameters, strict=True):
        x[column] = 1.01 * parameter.guess + 0.01
    report = program.check_derivatives(x)
    assert report.ok, str(report)


@pytest.fixture(scope="module")
def solution() -> Solution:
    """A geared arm swings from rest to rest."""
    model = coupled_tree(4)
    rest = np.zeros(model.n)
    ends = predyn.State(q=rest, v=rest), predyn.State(q=rest + 0.5, v=rest)
    phase = Phase(1.0, start=ends[0], end=ends[1], segments=5)
    return solve(Problem(model, (phase,), costs=(Cost(Effort(), 1e-3),))).check()


def test_channels_of_a_solution_are_those_of_dynamics(solution: Solution) -> None:
    """Reactions belong to all links, torques and momenta to the coordinates."""
    model, t = solution.model, np.linspace(0.0, 1.0, 7)
    at, links = solution.at(t), len(model.parent)
    assert at.reactions.shape == (7, links, 6)
    assert solution.reactions.shape[1:] == (links, 6)
    M = mass_matrix(model, at.q)
    momenta = solution.channel("momentum", t)
    np.testing.assert_allclose(momenta, np.einsum("kij,kj->ki", M, at.v), rtol=0, atol=1e-10)
    names = solution.channels["reactions"].components
    assert names[6] == f"{model.expanded.joint_names[1]}.mx"
    table = solution.to_xarray("reactions", "q")
    assert table.sizes == {"t": len(solution.t), "link_joint": links, "wrench": 6, "joint": model.n}


def test_a_solution_survives_its_file(solution: Solution, tmp_path) -> None:
    solution.save(tmp_path / "a.h5")
    again = predyn.load_solution(tmp_path / "a.h5")
    assert [x.joint for x in again.model.couplings] == [x.joint for x in solution.model.couplings]
    t = np.linspace(0.0, 1.0, 5)
    np.testing.assert_array_equal(again.at(t).tau, solution.at(t).tau)


def test_a_replay_reproduces_the_motion_and_accounts_for_energy(solution: Solution) -> None:
    """Friction of joints that follow others takes energy too."""
    run = predyn.replay(solution)
    assert run.status == "finished"
    assert run.max_position_error < 2e-7 * np.abs(run.q).max()
    assert np.abs(run.work_friction).max() > 1e-2
    assert run.max_energy_error < 2e-7 * np.abs(run.work_torques).max()


def test_a_report_shows_every_link(solution: Solution, tmp_path) -> None:
    from predyn.view.stage import set_stage

    stage = set_stage(solution)
    assert len(stage.R) == len(solution.model.parent)
    poses = frame_kinematics(
        solution.model, solution.model.link_names[-1], solution.at(stage.times).q
    )
    np.testing.assert_allclose(stage.p[-1], poses.p, atol=1e-12)
    solution.report(tmp_path / "a.html")


def test_what_is_not_supported_is_refused_by_name(monkeypatch) -> None:
    problem = problem_of(0)
    own = Channel("own", lambda model, _: ("1",), SimpleNamespace(values=None, in_lanes=None))
    monkeypatch.setitem(CHANNELS, "own", own)
    states = tuple(aligned(1, problem.model.n, WIDTH) for _ in range(3))
    with pytest.raises(InputError, match=r"channel 'own': .*joints that follow others"):
        derived_channel(problem.model, "own", states, ())

"""Discrete mechanics as one of several methods: tasks, phases, contacts, results, refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import predyn
from closed_mechanisms import bennett, bennett_pose
from discrete_cases import (
    GRAVITY,
    arm,
    five_bar,
    four_bar,
    rest,
    rise,
    rod,
    steps,
    turn_crank,
    two_link,
)
from predyn import Cost, Dmoc, Duration, Phase, Problem, Signal, SolverOptions, State
from predyn.config import read_task
from predyn.dynamics import close_loops, frame_kinematics, inverse_dynamics, loop_equations
from predyn.errors import InputError
from predyn.results.descriptions import problem_text
from predyn.terms import JointAcceleration, JointReaction, JointTorque, Smoothness, TotalTime
from predyn.transcribe.methods import transcribe
from predyn.view.report import report_html

LOADED = 6.138021  # cost of order 4 with 60 steps in each phase


def solved(problem: Problem, **options: Any) -> predyn.Solution:
    return predyn.solve(problem, verbose=False, **options).check()


@cache
def cranked() -> predyn.Solution:
    return solved(turn_crank(steps(20)))


# -- one task, several methods --------------------------------------------------------------------


def task(name: str, method: str, **options: Any) -> Problem:
    problem = read_task(name, method=method).problem
    return replace(problem, transcription=replace(problem.transcription, **options))


def test_lifting_with_three_methods() -> None:
    fine = solved(task("two-link-lifting", "dmoc", steps=120, order=4)).objective
    coarse, finer = (
        [
            solved(task("two-link-lifting", "spline", segments=n)).objective,
            solved(task("two-link-lifting", "hybrid", segments=n)).objective,
            solved(task("two-link-lifting", "dmoc", steps=3 * n)).objective,
        ]
        for n in (10, 40)
    )
    for before, after in zip(coarse, finer, strict=True):
        assert abs(after - fine) < abs(before - fine)
        assert after == pytest.approx(fine, rel=2e-4)


def test_swing_up_with_three_methods() -> None:
    discrete = solved(task("acrobot-swingup", "dmoc", steps=240))
    errors = {}
    for method in ("hybrid", "spline"):
        for segments in (80, 160):
            problem = task("acrobot-swingup", method, segments=segments)
            found = predyn.solve(problem, guess=discrete, verbose=False)
            errors[method, segments] = abs(found.objective / discrete.objective - 1.0)
        assert errors[method, 160] < 0.5 * errors[method, 80]
        assert errors[method, 160] < 0.01


def test_walking_with_two_methods() -> None:
    """The jerk, of differences, converges with the step; so do the optima."""
    spline = solved(task("planar-walker", "spline", segments=16)).objective
    found = {n: solved(task("planar-walker", "dmoc", steps=n)) for n in (8, 16, 32)}
    errors = [abs(x.objective / spline - 1.0) for x in found.values()]
    assert errors[1] < 0.8 * errors[0]
    assert errors[2] < 0.7 * errors[1] < 0.03
    foot = found[16]
    flat = foot.phase == 0
    heel = frame_kinematics(foot.model, "right_heel", foot.q[flat]).p
    assert np.abs(heel[:, [0, 2]] - [-0.21, 0.0]).max() < 1e-8
    assert (foot.signals["right_heel"][flat, 2] > -1e-5).all()


# -- phases ---------------------------------------------------------------------------------------


@cache
def grasp() -> predyn.Model:
    """An arm, and a block on springs that it may take hold of."""
    builder = predyn.ModelBuilder("grasp", GRAVITY)
    builder.add_link("upper", "world", "j1", **rod(1.0))
    builder.add_link("lower", "upper", "j2", origin=(1, 0, 0), **rod(1.0))
    builder.add_frame("hand", "lower", (1, 0, 0))
    for up, name, axis, body in (
        ("world", "x", (1, 0, 0), {}),
        ("block_x", "y", (0, 1, 0), {"mass": 0.5, "inertia": (0.01, 0.01, 0.01)}),
    ):
        builder.add_link(f"block_{name}", up, f"block_{name}", "prismatic", axis=axis,
                         stiffness=50.0, rest={"x": 1.2, "y": 0.3}[name], **body)  # fmt: skip
    return builder.close_loop("grip", "point", "hand", "block_y").build()


@pytest.mark.parametrize("order", [2, 4])
def test_a_grasp_between_phases_is_without_impact(order: int) -> None:
    model = grasp()
    y = 0.3 - 0.5 * 9.81 / 50.0  # the block rests on its springs
    at_block = close_loops(model, [-0.6, 1.6, 1.2, y], hold=("block_x", "block_y"))
    lifted = close_loops(model, [0.2, 1.0, 1.1, 0.6], hold=("block_x", "block_y"))
    problem = Problem(
        model,
        (
            Phase(0.6, rest(-1.2, 1.8, 1.2, y), loops=(), name="reach"),
            Phase(0.8, end=rest(None, None, 1.1, 0.6), loops=("grip",), name="lift"),
        ),
        (Cost(JointTorque(joints=("j1", "j2")), 0.5),),
        passive=("block_x", "block_y"),
        transcription=Dmoc(steps=12 if order == 2 else 6, order=order),
        guess=([0.0, 0.43, 1.0], [[-1.2, 1.8, 1.2, y], at_block, lifted]),
    )
    found = solved(problem)
    hand = frame_kinematics(model, "hand", found.q, found.v)
    block = frame_kinematics(model, "block_y", found.q, found.v)
    held = found.phase == 1
    assert np.abs(hand.p - block.p)[held].max() < 1e-8
    first = np.flatnonzero(held)[0]
    assert np.abs(hand.v - block.v)[[first - 1, first]].max() < 1e-7
    assert np.isnan(found.signals["grip"][~held]).all()
    assert np.abs(hand.v[first]).max() < 1e-2  # the block was at rest
    replayed = predyn.replay(found)  # with the loop open, then closed
    assert replayed.status == "finished"
    assert replayed.max_position_error < 0.05


@pytest.mark.parametrize(
    ("method", "error"),
    [(steps(30), 1e-3), (steps(15, 4), 1e-5), (predyn.Spline(degree=5, segments=20), 1e-4)],
)
def test_forces_of_loops_jump_with_the_load(method: predyn.Spline, error: float) -> None:
    whole = turn_crank(method)
    (own,) = whole.phases
    load = predyn.Payload("coupler", 1.0, (0.5, 0.0, 0.0))
    problem = replace(
        whole,
        phases=(
            Phase(0.5, own.start, State((0.5 + np.pi / 2, None, None)), name="empty"),
            Phase(0.5, end=own.end, name="loaded", system="loaded"),
        ),
        systems={"loaded": predyn.System(payloads=(load,))},
        continuity=1,
        solver=SolverOptions(),
    )
    found = solved(problem)
    assert found.objective == pytest.approx(LOADED, rel=error)
    first = np.flatnonzero(found.phase == 1)[0]
    model = found.model
    loaded = model.attach_payload("coupler", 1.0, (0.5, 0.0, 0.0))
    for own, k in ((model, first - 1), (loaded, first)):
        q, v, a = found.q[k], found.v[k], found.a[k]
        rows = loop_equations(model, q, v).jacobian
        assert np.abs(rows @ v).max() < 1e-4
        if method.method == "spline":
            balance = inverse_dynamics(own, q, v, a) - rows.T @ found.signals["pin"][k]
            assert np.abs(balance[1:]).max() < 1e-6


def test_durations_that_are_parameters() -> None:
    problem = replace(
        two_link(steps(10)),
        phases=(
            Phase("half", rest(0.0, 0.0), State((0.7, None))),
            Phase("half", end=rest(np.pi / 2, 0.0)),
        ),
        parameters=(predyn.Parameter("half", 0.4, 2.0, 1.0),),
        costs=(Cost(JointTorque(), 0.5), Cost(TotalTime(), 30.0)),
        solver=SolverOptions(),
    )
    found = solved(problem)
    assert found.duration == pytest.approx(2.0 * found.parameters["half"])
    apart = replace(
        problem,
        phases=tuple(replace(x, duration=Duration(0.4, 2.0, 1.0)) for x in problem.phases),
        parameters=(),
    )
    assert solved(apart).objective < found.objective


# -- results --------------------------------------------------------------------------------------


def test_samples_are_those_of_the_nodes() -> None:
    found = cranked()
    assert len(found.t) == 21
    u = found.signal_curves["tau"].curves[0].control
    assert np.allclose(found.tau[1:-1], 0.5 * (u[1:] + u[:-1]))
    assert not found.tau[:, 1:].any()
    h = found.duration / 20
    assert np.allclose(found.a[1:-1], np.diff(found.q, 2, axis=0) / h**2)
    assert np.allclose(found.at(found.t).q, found.q, atol=1e-12)
    middle = found.t[:-1] + 0.5 * h
    assert np.array_equal(found.channel("tau", middle), u)
    assert np.allclose(found.channel("power", middle), u * found.at(middle).v)


def test_a_replay_of_the_torques_approaches_the_motion() -> None:
    both = cranked(), solved(turn_crank(steps(40)))
    errors = [predyn.replay(x).max_position_error for x in both]
    assert errors[1] < 0.3 * errors[0]  # second order: a quarter


def test_a_solution_is_stored_exported_and_reported(tmp_path: Path) -> None:
    cranked().save(tmp_path / "crank.h5")
    again = predyn.load_solution(tmp_path / "crank.h5")
    for name in ("q", "v", "a", "tau", "reactions"):
        assert np.array_equal(getattr(again, name), getattr(cranked(), name))
    t = np.linspace(0.0, 1.0, 33)
    assert np.array_equal(again.channel("tau", t), cranked().channel("tau", t))
    again.export(tmp_path / "crank.csv")
    page = report_html(again)
    assert "discrete mechanics of order 2" in page


# -- accelerations --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [2, 4])
def test_accelerations_and_jerks_are_bounded_and_smoothed(order: int) -> None:
    problem = two_link(Dmoc(steps=40 // (order // 2), order=order))
    (own,) = problem.phases
    ends = [replace(x, a=(0.0, 0.0)) for x in (own.start, own.end)]
    problem = replace(
        problem,
        phases=(replace(own, start=ends[0], end=ends[1]),),
        costs=(*problem.costs, Cost(Smoothness(), 1e-3)),
        constraints=(predyn.Constraint(JointAcceleration(["j1"]), -2.5, 2.5),),
        solver=SolverOptions(),
    )
    program = transcribe(problem)
    report = program.check_derivatives(np.random.default_rng(0).uniform(-1.0, 1.0, program.n))
    assert report.ok, report
    found = solved(problem)
    assert np.abs(found.a[:, 0]).max() < 2.5 * 1.03
    assert np.abs(found.a[:, 0]).max() > 2.4  # it is active
    assert np.abs(found.a[[0, -1]]).max() < 1e-6
    spline = solved(replace(problem, transcription=predyn.Spline(degree=5, segments=30)))
    assert found.objective == pytest.approx(spline.objective, rel=1e-2)


def test_reactions_can_be_bounded() -> None:
    """The pull on the shoulder of an arm that swings up."""
    problem = two_link(steps(40))
    costs = (*problem.costs, Cost(Smoothness(), 1e-3))
    problem = replace(problem, costs=costs, solver=SolverOptions())
    free = solved(problem)
    pull = np.abs(free.reactions[:, 0, 3:]).max()
    limit = predyn.Constraint(JointReaction("j1"), -0.9 * pull, 0.9 * pull)
    bounded = replace(problem, constraints=(limit,))
    found = solved(bounded)
    assert np.abs(found.reactions[1:-1, 0, 3:]).max() < 0.92 * pull
    assert found.objective > free.objective


# -- refusals -------------------------------------------------------------------------------------


def crank(**changes: Any) -> Problem:
    return replace(turn_crank(steps(10)), **changes)


def phase(**changes: Any) -> tuple[Phase, ...]:
    (own,) = turn_crank(steps(10)).phases
    return (replace(own, **changes),)


REFUSED: dict[str, tuple[Problem, str]] = {
    "hybrid": (crank(transcription=predyn.Hybrid()), "'hybrid' does not support closed loops"),
    "unknown loop": (crank(phases=phase(loops=("pim",))), r"loop 'pim'.*did you mean 'pin'"),
    "loops as text": (crank(phases=phase(loops="pin")), "expected a list of loops"),
    "open": (
        crank(phases=phase(start=rest(0.5, 0.2, 1.6))),
        "'pin' is open by .*close_loops",
    ),
    "opening": (
        crank(phases=phase(start=State(cranked().q[0], (1.0, 0.0, 0.0)))),
        "velocities open a loop: pin",
    ),
    "opening, whatever the others do": (
        crank(phases=phase(start=State(cranked().q[0], (1.0, 0.0, None)))),
        "velocities open a loop: pin",
    ),
    "accelerations": (
        crank(phases=phase(start=State(cranked().q[0], np.zeros(3), (1.0, 0.0, 0.0)))),
        "accelerations open a loop: pin",
    ),
    "accelerations of an unknown posture": (
        crank(phases=phase(end=State((3.6, None, None), np.zeros(3), np.ones(3)))),
        "accelerations of all joints are given, but not all positions",
    ),
    "unknown mass": (
        crank(parameters=(predyn.Parameter("m", 0.5, 1.5, 1.0, quantity="mass of coupler"),)),
        "'dmoc' does not combine unknown numbers of the model, such as 'mass of coupler'",
    ),
    "impact": (
        crank(phases=(*phase(), Phase(1.0, impact=True))),
        "loop 'pin' is closed, and an impact cannot be combined",
    ),
    "order": (crank(transcription=Dmoc(steps=10, order=3)), "order: expected 2 or 4, got 3"),
    "one step": (crank(transcription=Dmoc(steps=1)), "steps: expected a whole number from 2"),
    "no number": (crank(transcription=Dmoc(steps="10")), "steps: expected a whole number"),
    "knots": (replace(two_link(steps(9)), transcription=Dmoc(knots="free")), "equal steps"),
    "limits": (crank(transcription=Dmoc(steps=10, limits="everywhere")), "expected 'points'"),
    "name of a force": (
        crank(signals=(Signal("pin", ("x",)),)),
        "force of loop 'pin' and of a signal",
    ),
    "names of two forces": (
        crank(model=four_bar("hinge").with_loop("pin tilt", "point", "coupler_tip", "rocker")),
        "'pin tilt' is the name of a force of loop 'pin tilt' and of a force of loop 'pin'",
    ),
    "minus": (
        crank(model=arm().with_loop("-pin", "point", "lower", "world")),
        "'-pin': the name of its force must not begin with a minus",
    ),
    "a guess for two joints": (
        crank(guess=([0.0, 1.0], np.zeros((2, 2)))),
        r"guess.curve.q: expected .* shape \(2, 3\).*got shape \(2, 2\)",
    ),
    "a guess that is no number": (crank(guess=([0.0, 1.0], "q")), "guess.curve.q: expected"),
    "name of torques": (
        replace(two_link(predyn.Spline()), signals=(Signal("tau", ("x",)),)),
        "'tau' is the name of the torques",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case: str) -> None:
    problem, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        predyn.solve(problem, verbose=False)


def test_a_step_that_is_too_coarse_is_no_success() -> None:
    model = five_bar()
    path = close_loops(model, [2.2, -1.2, 0.9, 1.2], hold=("j1", "j3"))
    problem = Problem(
        model,
        (Phase(0.6, rest(*path), rest(-2.0, None, -2.5, None)),),
        (Cost(JointTorque(joints=("j1", "j3")), 0.5),),
        passive=("j2", "j4"),
        transcription=steps(3),
    )
    found = predyn.solve(problem, verbose=False)
    assert not found.success
    assert found.status in ("exceeds_limits", "infeasible", "iteration_limit")


@pytest.mark.parametrize("method", [steps(10), predyn.Spline(degree=5, segments=8)])
def test_velocities_that_open_loops_have_no_solution(method: predyn.Spline) -> None:
    """Postures that are not given completely cannot be checked before."""
    turning = phase(start=State((0.5, None, None), (1.0, 0.0, 0.0)))
    with pytest.warns(predyn.errors.ProblemWarning, match="loop rate pin"):
        found = predyn.solve(crank(phases=turning, transcription=method), verbose=False)
    assert found.status == "infeasible"


def test_splines_close_loops_at_their_ends() -> None:
    """Also where velocities are given and positions are not."""
    spline = predyn.Spline(degree=5, segments=8)
    ends = phase(start=State((0.5, None, None), (1.0, None, None)))
    found = solved(crank(phases=ends, transcription=spline))
    assert np.abs(loop_equations(found.model, found.q[[0, -1]]).values).max() < 1e-12
    rates = loop_equations(found.model, found.q[0]).jacobian @ found.v[0]
    assert np.abs(rates).max() < 1e-12


@pytest.mark.parametrize("method", [steps(16), predyn.Spline(degree=5, segments=8)])
def test_linkages_that_move_only_because_of_their_lengths(method: predyn.Spline) -> None:
    """Equations that depend on each other in closed poses alone (Bennett 1903)."""
    model, (s, up) = bennett(), rise()
    path = np.array([bennett_pose(angle) for angle in 0.8 + 0.7 * up])
    motor, *others = model.joint_names
    problem = Problem(
        model,
        (Phase(1.0, rest(*path[0]), rest(*path[-1])),),
        (Cost(JointTorque(joints=(motor,)), 0.5),),
        passive=others,
        transcription=method,
        guess=(s, path),
    )
    found = solved(problem)
    assert found.iterations <= 10
    assert np.abs(loop_equations(model, found.q).values).max() < 1e-6  # also those left out
    assert found.objective == pytest.approx(2.4702, rel=5e-3)  # of order 4


def test_unused_frames_of_the_world_hold_loops() -> None:
    """A loop may be fixed to the world, and limits hold at every node."""
    model = arm().with_frame("post", "world", (1.0, 0.5, 0.0)).with_frame("tip", "lower", (1, 0, 0))
    model = model.with_loop("rope", "distance", "tip", "post", distance=0.8)
    start = close_loops(model, [0.2, 0.9])
    end = close_loops(model, [0.6, 0.4])
    problem = Problem(
        model,
        (Phase(1.0, rest(*start), rest(*end)),),
        (Cost(JointTorque(), 0.5),),
        transcription=steps(20),
        limits=model.with_limits(effort=40.0).limits,
    )
    found = solved(problem)
    apart = frame_kinematics(model, "tip", found.q).p - [1.0, 0.5, 0.0]
    assert np.abs(np.linalg.norm(apart, axis=1) - 0.8).max() < 1e-9
    force = found.signals["rope"]
    assert np.abs(np.cross(force, apart)).max() < 1e-6 * np.abs(force).max()
    assert np.abs(found.tau).max() <= 40.0 + 1e-6


def test_check_lists_the_equations_of_loops() -> None:
    text = problem_text(turn_crank(steps(20), "hinge"))
    assert "loop 'pin' (hinge): equations x, y; z, tilt x, tilt y follow from others" in text
    assert "20 steps" in text


def test_torques_of_order_4_are_parabolas() -> None:
    """Their replay converges with the fourth power of the step, as the motion does."""
    errors = []
    for count in (20, 40):
        found = solved(replace(turn_crank(steps(count, order=4)), solver=SolverOptions()))
        errors.append(predyn.replay(found).max_position_error)
        u = found.signal_curves["tau"].curves[0]
        assert u.degree == 2
        assert np.allclose(found.channel("tau"), found.tau)
    assert errors[1] < errors[0] / 8.0

"""Problems with scenes: planned, timed, improved and certified, or refused with the reason."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pytest

import predyn
from planning.shared_problems import load_problem, problem_files
from predyn import Capsule, InputError, Model, ModelBuilder, Obstacle, Scene
from predyn.collision import Checker, Path
from predyn.nlp.differences import check_derivatives
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.solving.clear_places import near_places
from predyn.solving.clearance_rows import ClearProgram
from predyn.terms import Clearance, Effort, FrameAxis, FramePosition, TotalTime
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe

SHARED = os.environ.get("PREDYN_SHARED")
REST = (0.0, 0.0, 0.0)
START, GOAL = (-0.9, 0.2, 0.2), (0.9, -0.2, -0.2)
BALL = Obstacle("ball", "sphere", (0.12,), (0.8, 0.05, 0.0))
SCENE = Scene((BALL,))


def arm() -> Model:
    builder = ModelBuilder("arm", (0.0, 0.0, 0.0))
    for k in range(3):
        builder.add_link(
            f"l{k}", f"l{k - 1}" if k else "world", f"j{k}", origin=(0.4 if k else 0.0, 0.0, 0.0),
            mass=2.0, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.03, 0.03), position=3.0, velocity=4.0,
            effort=60.0 - 15.0 * k,
        )  # fmt: skip
    capsules = [Capsule(f"l{k}", (0, 0, 0), (0.4, 0, 0), 0.04) for k in range(3)]
    return builder.build().with_capsules(capsules)


def reach(scene: Scene | None = SCENE, **changed: object) -> Problem:
    phase = Phase(Duration(0.1, 5.0, 1.0), State(START, REST), State(GOAL, REST))
    costs = (Cost(TotalTime()), Cost(Effort(normalised=True)))
    problem = Problem(arm(), (phase,), costs, scene=scene, margin=0.005,
                      transcription=Spline(segments=12))  # fmt: skip
    return replace(problem, **changed)


def assert_clear(solution: predyn.Solution, scene: Scene = SCENE) -> None:
    """Proved, clear at dense samples, within limits between them too."""
    assert solution.success
    assert solution.certificate.status == "certified"
    at = solution.at(np.linspace(0.0, solution.duration, 2000))
    assert Checker(solution.model, scene).distances(at.q).min() >= 0.005 - 1e-9
    assert (np.abs(at.v) <= 4.0 * (1.0 + 1e-9)).all()
    assert solution.max_violation_dense <= 0.005


CROSSING = reach(  # it cannot be planned
    Scene(
        (
            Obstacle("ball", "sphere", (0.1,),
                     path=Path([0.0, 1.0], [(1.12, 0.5, 0.0), (1.12, -0.3, 0.0)])),
        )
    ),
    phases=(Phase(1.2, State(START, REST), State(GOAL, REST)),),
)  # fmt: skip


@pytest.fixture(scope="module")
def solved() -> predyn.Solution:
    return predyn.solve(reach(), verbose=False)


def test_stages_in_order_and_each_better(solved: predyn.Solution) -> None:
    assert_clear(solved)
    assert [x.name for x in solved.stages] == ["plan", "time", "improve"]
    assert solved.objective == solved.stages[2].objective < solved.stages[1].objective
    through = predyn.solve(reach(None, margin=0.0), verbose=False)
    assert predyn.certify(through, SCENE).status == "collision"
    assert through.objective < solved.objective


def test_starts_plan_with_other_seeds(solved: predyn.Solution) -> None:
    best = predyn.solve(reach(), starts=3, verbose=False)
    assert_clear(best)
    assert len(best.starts) == 3
    assert best.objective == min(x["objective"] for x in best.starts) <= solved.objective


def test_a_solution_is_a_guess(solved: predyn.Solution) -> None:
    again = predyn.solve(reach(), guess=solved, verbose=False)
    assert_clear(again)
    assert again.objective <= solved.objective * (1.0 + 1e-6)
    assert [x.name for x in again.stages] == ["improve"]
    own = predyn.solve(reach(guess=solved), verbose=False)
    assert [x.name for x in own.stages] == ["improve"]
    np.testing.assert_array_equal(own.q, again.q)
    with pytest.raises(InputError, match=r"starts: expected 1, got 2.*the guess is a motion"):
        predyn.solve(reach(guess=solved), starts=2, verbose=False)


def test_joints_with_acceleration_limits_only_are_planned(solved: predyn.Solution) -> None:
    none = np.full((3, 2), (-np.inf, np.inf))
    limits = arm().limits._replace(effort=none, acceleration=np.tile((-20.0, 20.0), (3, 1)))
    found = predyn.solve(
        reach(model=arm().with_limits(effort=none), limits=limits, costs=(Cost(TotalTime()),)),
        verbose=False,
    )
    assert_clear(found)
    assert [x.name for x in found.stages] == ["plan", "time", "improve"]
    unlimited = reach(model=found.model, costs=(Cost(TotalTime()),))
    assert "neither effort nor acceleration" in predyn.solve(unlimited, verbose=False).message


def test_least_time(solved: predyn.Solution) -> None:
    fastest = predyn.solve(reach(costs=(Cost(TotalTime()),)), verbose=False)
    assert_clear(fastest)
    assert fastest.duration < solved.duration


@pytest.mark.parametrize("stop", [True, False])
def test_via_poses_with_and_without_a_stop(stop: bool) -> None:
    via = State((0.0, 1.6, -0.8), REST if stop else None)
    legs = (
        Phase(Duration(0.1, 5.0, 1.0), State(START, REST), via, name="there"),
        Phase(Duration(0.1, 5.0, 1.0), end=State(GOAL, REST), name="on"),
    )
    solution = predyn.solve(reach(phases=legs), verbose=False)
    assert_clear(solution)
    middle = solution.at(np.array([solution.curves[0].duration]))
    np.testing.assert_allclose(middle.q[0], via.q, atol=1e-9)
    assert bool(np.abs(middle.v).max() < 1e-9) is stop


def test_obstacles_of_one_phase() -> None:
    """A ball that is there in the first phase only is no hindrance in the second."""
    scene = Scene((replace(BALL, phases=("there",)),))
    legs = (
        Phase(Duration(0.1, 5.0, 1.0), State(START, REST), State(GOAL, REST), name="there"),
        Phase(Duration(0.1, 5.0, 1.0), end=State(START, REST), name="back"),
    )
    solution = predyn.solve(reach(scene, phases=legs), verbose=False)
    assert solution.success
    there, back = solution.curves
    assert there.duration > back.duration
    checker = Checker(solution.model, SCENE)
    lengths = [x.duration for x in solution.curves]
    first = solution.at(np.linspace(0.0, lengths[0], 500))
    then = solution.at(np.linspace(lengths[0], sum(lengths), 500))
    assert checker.distances(first.q).min() >= 0.005 - 1e-9
    assert checker.distances(then.q).min() < 0.0


def test_without_a_path_there_is_no_success() -> None:
    wall = Scene((Obstacle("wall", "box", (1.2, 0.02, 1.0), (0.8, 0.0, 0.0)),))
    problem = reach(wall)
    limited = replace(problem, solver=replace(problem.solver, max_seconds=0.5))
    solution = predyn.solve(limited, verbose=False)
    assert not solution.success
    assert solution.status == "time_limit"
    assert solution.certificate is None
    assert [x.name for x in solution.stages] == ["plan"]
    assert "path" in solution.message


def test_what_cannot_be_planned_is_certified_or_no_success() -> None:
    """A ball that crosses: rows until the proof holds."""
    solution = predyn.solve(CROSSING, verbose=False)
    assert solution.success
    assert solution.certificate.status == "certified"
    assert "an obstacle moves" in solution.message
    assert predyn.certify(solution, CROSSING.scene, margin=0.005).status == "certified"


def test_an_interrupted_solve_keeps_a_certified_motion() -> None:
    solution = predyn.solve(reach(), report=lambda _: False, verbose=False)
    assert solution.status == "interrupted"
    assert not solution.success
    assert solution.certificate.status == "certified"


def test_a_program_with_a_scene_is_refused() -> None:
    with pytest.raises(InputError, match=r"solve its problem \(program.problem\)"):
        predyn.solve(transcribe(reach()), verbose=False)


@pytest.mark.parametrize(
    "argument", [{"refine": True}, {"checkpoint": "x.h5"}, {"guess": "feasible"}]
)
def test_arguments_that_scenes_do_not_allow(argument: dict[str, object]) -> None:
    with pytest.raises(InputError, match="not available with a scene"):
        predyn.solve(reach(), verbose=False, **argument)


def test_options_that_would_have_no_effect_are_refused() -> None:
    with pytest.raises(InputError, match="knots: 'free' is not available with a scene"):
        predyn.solve(reach(transcription=Spline(segments=12, knots="free")), verbose=False)
    with pytest.raises(InputError, match=r"starts: expected 1, got 3.*an obstacle moves"):
        predyn.solve(CROSSING, starts=3, verbose=False)


@pytest.mark.parametrize("task", ["manutec-min-energy", "manutec-min-time", "arm6-pick"])
def test_without_obstacles_the_optimum_is_that_of_the_ordinary_program(task: str) -> None:
    given = predyn.load_task(task)
    options = replace(given.transcription, limits="everywhere", refine=False)
    problem = replace(given, transcription=options)
    plain = predyn.solve(problem, verbose=False).check()
    ball = Capsule(problem.model.link_names[-1], (0, 0, 0), (0, 0, 0.01), 0.01)
    model = problem.model.with_capsules([ball])
    staged = predyn.solve(replace(problem, model=model, scene=Scene()), verbose=False)
    assert staged.success
    assert staged.certificate.status == "certified"
    assert staged.objective == pytest.approx(plain.objective, rel=1e-4)


def test_a_cone_of_the_tool_and_jerk_limits() -> None:
    """What the planner does not know is kept by the improvement."""
    model = arm().with_frame("tool", "l2", (0.4, 0.0, 0.0))
    cone = Constraint(FrameAxis("tool", "x", (1.0, 0.0, 0.0), form="angle", tolerance=1.2))
    problem = reach(model=model, constraints=(cone,), jerk_limit=400.0)
    solution = predyn.solve(problem, verbose=False)
    assert_clear(solution)
    at = solution.at(np.linspace(0.0, solution.duration, 1000))
    assert np.abs(at.q.sum(axis=1)).max() <= 1.2 * 1.005
    assert "jerk limits, constraint 'frame_axis'" in solution.stages[1].message


def test_programs_with_rows_have_exact_derivatives() -> None:
    """Two phases in scenes of their own."""
    legs = (
        Phase(Duration(0.1, 5.0, 1.0), State(START, REST), State((0.0, 1.6, -0.8)), name="there"),
        Phase(Duration(0.1, 5.0, 1.0), end=State(GOAL, REST), name="on"),
    )
    program = transcribe(reach(phases=legs))
    block = Obstacle("block", "box", (0.3, 0.3, 0.3), (0.7, 0.7, 0.0))
    checkers = [Checker(program.model, SCENE), Checker(program.model, Scene((block,)))]
    x = first_guess(program)
    places = near_places(checkers, program.curves(x), 0.5, 0.01)
    nlp = ClearProgram(program, checkers, places)
    assert len(places.s) > 50
    assert set(places.phase) == {0, 1}
    assert nlp.g_name(program.m).startswith("there: clearance of ")
    x = x + 0.02 * np.random.default_rng(2).uniform(-1.0, 1.0, len(x))
    check_derivatives(nlp, x)


@pytest.mark.verify
def test_people_keep_their_arms_from_the_body_and_a_box_from_a_shelf() -> None:
    """A box that would pass through the edge of a shelf, with closed loops."""
    given = predyn.load_task("human-lift-box")
    forearms = [Capsule(f"forearm_{side}", (0, 0, 0), (0, 0, -0.2), 0.03) for side in "rl"]
    box, pelvis = (
        Capsule("box", (-0.1, 0, 0), (0.1, 0, 0), 0.1),
        Capsule("pelvis", (0, -0.08, 0), (0, 0.08, 0), 0.08),
    )
    model = given.model.with_capsules([box, *forearms, pelvis])
    free = predyn.solve(replace(given, model=model), verbose=False).check()

    shelf = Scene((Obstacle("shelf", "box", (0.3, 0.6, 0.04), (0.73, 0.0, 1.57)),))
    checker = Checker(model, shelf)
    pair = checker.pairs.index(("box", "shelf"))
    assert checker.distances(free.q)[:, pair].min() < -0.01
    past = predyn.solve(replace(given, model=model, scene=shelf, margin=0.01), verbose=False)
    assert past.success
    assert past.certificate.status == "certified"
    assert checker.distances(past.q).min() >= 0.01

    arms = (("forearm_r", "pelvis"), ("forearm_l", "pelvis"))
    rows = Constraint(Clearance(between=arms, minimum=0.37))
    apart = replace(given, model=model, scene=Scene(), constraints=(*given.constraints, rows))
    wide = predyn.solve(apart, verbose=False).check()
    places = [checker.pairs.index(pair) for pair in arms]
    assert checker.distances(free.q)[:, places].min() < 0.36
    assert checker.distances(wide.q)[:, places].min() >= 0.37 - 1e-6


@pytest.mark.verify
@pytest.mark.skipif(SHARED is None, reason="PREDYN_SHARED is not set: no scenes")
def test_all_shared_problems() -> None:
    """Each certified, never worse than the timed path, and within its limits between samples."""
    files = problem_files(FilePath(str(SHARED)) / "data" / "scenes")
    assert len(files) == 70
    for file in files:
        problem = load_problem(file)
        rest = np.zeros(problem.model.n)
        ends = State(problem.start, rest), State(problem.goal, rest)
        costs = (Cost(TotalTime()), Cost(Effort(normalised=True)))
        phase = Phase(Duration(0.05, 20.0, 1.0), *ends)
        options = Spline(segments=16, degree=4)
        task = Problem(problem.model, (phase,), costs, scene=problem.scene, transcription=options)
        solution = predyn.solve(task, verbose=False)
        assert solution.success, file.stem
        assert predyn.certify(solution, problem.scene).status == "certified", file.stem
        assert solution.objective <= solution.stages[1].objective, file.stem
        over = np.abs(solution.v) / problem.model.limits.velocity[:, 1]
        assert over.max() <= 1.0 + 1e-9, file.stem
        assert solution.max_violation_dense <= 0.005, file.stem


def test_a_timed_path_outside_the_bounds_of_its_duration(solved: predyn.Solution) -> None:
    """One that is too fast is slowed down, one that is too slow is a guess only."""
    ends = State(START, REST), State(GOAL, REST)
    slow = predyn.solve(reach(phases=(Phase(Duration(2.0, 5.0, 2.5), *ends),)), verbose=False)
    assert_clear(slow)
    assert slow.duration == pytest.approx(2.0, rel=1e-6)
    assert slow.stages[1].duration == 2.0
    assert solved.duration < 0.95 < solved.stages[1].duration
    quick = predyn.solve(reach(phases=(Phase(Duration(0.1, 0.95, 0.9), *ends),)), verbose=False)
    assert_clear(quick)
    assert quick.duration <= 0.95 * (1.0 + 1e-6)
    assert "a duration of at most" in quick.stages[1].message
    assert np.isnan(quick.stages[1].objective)


@pytest.mark.parametrize("seed", range(3))
def test_goals_of_two_frames_are_both_met(seed: int) -> None:
    """The path ends in a posture that meets both; many postures meet one of them only."""
    model = arm().with_frame("tip", "l2", (0.4, 0.0, 0.0)).with_frame("elbow", "l1", (0.4, 0, 0))
    posture = np.array([0.7, -0.5, 0.3])
    c, s = np.cos(np.cumsum(posture)), np.sin(np.cumsum(posture))
    elbow = (0.4 * c[:2].sum(), 0.4 * s[:2].sum(), 0.0)
    tip = (0.4 * c.sum(), 0.4 * s.sum(), 0.0)
    goals = tuple(
        Constraint(FramePosition(frame, place), at="end")
        for frame, place in (("tip", (*tip[:2], None)), ("elbow", (*elbow[:2], None)))
    )
    phase = Phase(Duration(0.1, 5.0, 1.0), State(START, REST), State(v=REST), constraints=goals)
    solution = predyn.solve(reach(model=model, phases=(phase,)), seed=seed, verbose=False)
    assert solution.success
    angle = np.cumsum(solution.q[-1])
    found = 0.4 * np.array([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(found[:, :2].sum(axis=1), elbow[:2], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), tip[:2], atol=1e-6)


def test_too_short_a_time_is_no_success() -> None:
    model = arm().with_limits(acceleration=[[-20.0, 20.0]] * 3)
    phase = Phase(0.5, State(START, REST), State(GOAL, REST))
    solution = predyn.solve(reach(model=model, phases=(phase,)), verbose=False)
    assert not solution.success
    assert solution.status in ("infeasible", "not_certified", "iteration_limit")
    assert solution.message


def test_a_phase_that_stands_still_is_not_planned() -> None:
    legs = (
        Phase(Duration(0.1, 5.0, 1.0), State(START, REST), State(GOAL, REST), name="there"),
        Phase(0.3, end=State(GOAL, REST), name="wait"),
    )
    solution = predyn.solve(reach(Scene(), phases=legs), verbose=False)
    assert solution.success
    assert "wait ends where it starts" in solution.message


def test_a_pair_that_no_joint_separates_may_be_near_the_margin() -> None:
    """Capsules of the first and the third link, 0.1 mm beyond the margin where the arm is stretched
    no less than it ever is here: rows must not ask for more."""
    builder = ModelBuilder("arm", (0.0, 0.0, 0.0))
    for k in range(3):
        kind = "prismatic" if k == 1 else "revolute"
        builder.add_link(
            f"l{k}", f"l{k - 1}" if k else "world", f"j{k}", kind=kind, axis=(0, 0, 1), mass=2.0,
            inertia=(0.02, 0.03, 0.03), position=2.0, velocity=4.0, effort=60.0,
        )  # fmt: skip
    capsules = [
        Capsule("l0", (0.0, 0.0, -3.0), (0.0, 0.0, 3.0), 0.05),
        Capsule("l2", (0.2051, 0.0, 0.0), (0.4, 0.0, 0.0), 0.15),
    ]
    model = builder.build().with_capsules(capsules)
    ends = State((0.0, 0.2, 0.0), REST), State((1.0, -0.3, 1.0), REST)
    phase = Phase(Duration(0.1, 5.0, 1.0), *ends)
    problem = reach(Scene(), model=model, phases=(phase,))
    solution = predyn.solve(problem, verbose=False)
    assert solution.success
    assert solution.certificate.clearance == pytest.approx(0.0051, abs=1e-9)
    assert solution.status == "optimal"


def test_success_needs_a_proof(solved: predyn.Solution) -> None:
    assert not replace(solved, certificate=None).success
    unproved = replace(solved.certificate, status="undecided")
    assert not replace(solved, certificate=unproved).success
    assert replace(solved, certificate=None, scene=None).success

"""Rows of a program, their bounds, and the names of rows and variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from predyn.errors import InputError
from predyn.models import branched_acrobot, two_link
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.solving import solve
from predyn.terms import Effort, FramePosition, JointPosition, Periodic, TotalTime
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.spline import SplineProgram

FREE = Duration(0.2, 3.0, 1.1)
REST = State((0.2, -0.3), (0.0, 0.0))
THERE = State((0.9, 0.4), (0.0, 0.0))


def problem(start: State = REST, end: State = THERE, **more: object) -> Problem:
    phases = more.pop("phases", (Phase(more.pop("duration", FREE), start, end),))
    given = {"costs": (Cost(TotalTime()), Cost(Effort(), 0.01)), **more}
    given.setdefault("transcription", Spline(segments=5, limit_points=2))
    return Problem(two_link(), phases, **given)  # type: ignore[arg-type]


def names(program: SplineProgram) -> list[str]:
    return [program.g_name(i) for i in range(program.m)]


def rows_at(program: SplineProgram, x: np.ndarray) -> dict[str, float]:
    g = np.full(program.m, np.nan)
    program.move(x)
    program.constraints(g)
    return dict(zip(names(program), g.tolist(), strict=True))


def test_rows_without_freedom_are_left_out() -> None:
    limits = two_link().limits._replace(
        position=np.array([[-2.0, 2.0], [-np.inf, np.inf]]),
        velocity=np.array([[-9.0, 9.0], [-8.0, 8.0]]),
    )
    program = transcribe(problem(limits=limits))
    kept = names(program)
    # 11 limit points; at rest at both ends neither position nor velocity is free there, and
    # nothing holds joint 2's position
    assert sum(name.startswith("position joint1") for name in kept) == 9
    assert not any(name.startswith("position joint2") for name in kept)
    assert sum(name.startswith("velocity") for name in kept) == 18
    assert sum(name.startswith("effort") for name in kept) == 22
    assert not any(name.endswith((" 0 %", " 100 %")) for name in kept if "effort" not in name)
    assert len(kept) == len(set(kept)) == 49


@pytest.mark.parametrize(("bound", "term"), [
    ({"lower": 0.3}, JointPosition(joints=("joint1",))),  # the start is at 0.2
    ({"upper": 0.8}, JointPosition(joints=("joint1",))),  # the end is at 0.9
])  # fmt: skip
def test_fixed_ends_outside_a_constraint_are_refused(bound: dict, term: JointPosition) -> None:
    """No free variable acts on the row, so it is not in the program and is checked separately."""
    said = outcome(problem(constraints=(Constraint(term, **bound, name="window"),)))
    assert "window" in said
    assert "joint1" in said


def outcome(asked: Problem) -> str:
    """The error message of a problem without a solution."""
    try:
        found = solve(asked)
    except InputError as error:
        return str(error)
    assert not found.success
    return "; ".join([found.message, *(v.name for v in found.violations)])


def test_pairs_without_freedom() -> None:
    """Both ends are given: the row holds trivially or is infeasible."""
    same = replace(problem(end=REST), constraints=(Constraint(Periodic(("q",))),))
    assert solve(same).success
    gain = (0.7, 0.6)  # wrong by 0.1 in joint2
    other = replace(problem(), constraints=(Constraint(Periodic(("q",), offset=gain)),))
    assert "periodic joint2" in outcome(other)


def test_a_moving_start_of_free_duration_becomes_rows() -> None:
    start = State((0.2, -0.3), (0.5, 0.0), (np.nan, 3.0))
    program = transcribe(problem(start))
    found = rows_at(program, first_guess(program))
    boundary = [name for name in found if name.startswith(("start", "end"))]
    assert boundary == ["start v joint1 at 0 %", "start a joint2 at 0 %"]
    index = names(program).index("start v joint1 at 0 %")
    assert program.g_lower[index] == program.g_upper[index] == 0.5
    solution = solve(program.problem)
    assert solution.success
    assert solution.v[0] == pytest.approx([0.5, 0.0], abs=1e-9)
    assert solution.a[0, 1] == pytest.approx(3.0, abs=1e-8)
    assert solution.q[0] == pytest.approx([0.2, -0.3], abs=1e-15)


def test_a_moving_start_of_fixed_duration_needs_no_rows() -> None:
    start = State((0.2, -0.3), (0.5, -0.7), (1.0, np.nan))
    asked = problem(start, duration=0.7)
    program = transcribe(asked)
    assert {name.split()[0] for name in names(program)} == {"effort"}
    samples = program.phases[0].spline.evaluate(program.phases[0].control, [0.0], 0.7)
    assert samples[0][0] == pytest.approx([0.2, -0.3], abs=1e-15)
    assert samples[1][0] == pytest.approx([0.5, -0.7], abs=1e-14)
    assert samples[2][0, 0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("duration", [FREE, 0.9])
def test_uniform_knots_impose_ends_by_rows(duration: Duration | float) -> None:
    """Uniform and clamped knots span the same curves, so the optimum is the same."""
    asked = problem(duration=duration)
    uniform = replace(asked, transcription=replace(asked.transcription, knots="uniform"))
    program = transcribe(uniform)
    boundary = [name for name in names(program) if name.startswith(("start", "end"))]
    wanted = [
        f"{e} {c} joint{j} at {100 * (e == 'end')} %"
        for e in ("start", "end")
        for c in "qv"
        for j in (1, 2)
    ]
    assert boundary == wanted
    one, two = solve(asked), solve(uniform)
    assert one.success
    assert two.success
    assert two.objective == pytest.approx(one.objective, rel=1e-7)
    assert two.at(0.3).q == pytest.approx(one.at(0.3).q, abs=1e-4)


def test_names_of_one_phase() -> None:
    program = transcribe(problem())
    assert program.x_name(0) == "duration"
    assert program.x_name(1) == "control point 2 of joint1"
    assert program.x_name(program.n - 1) == "control point 5 of joint2"
    assert program.g_name(0) == "effort joint1 at 0 %"
    assert program.g_quantity(3) == "effort joint2"
    assert program.g_instant(3) == (0, pytest.approx(0.1))
    assert names(program)[-1] == "effort joint2 at 100 %"
    for wrong in (program.x_name, program.g_name):
        with pytest.raises(IndexError):
            wrong(max(program.n, program.m))


def test_names_of_phases_pairs_and_sums() -> None:
    model = two_link()
    tip = FramePosition("tip", (0.1, None, None))
    asked = Problem(
        model,
        (
            Phase(FREE, REST, name="reach", constraints=(Constraint(tip, -1, 1, (0.25, 0.5)),)),
            Phase(0.8, end=THERE, constraints=(Constraint(Periodic(("v",)), name="round"),)),
        ),
        costs=(Cost(Effort()),),
        constraints=(
            Constraint(Effort(), upper=50.0, integral=True),
            Constraint(Periodic(("v",))),
        ),
        transcription=Spline(segments=3, limit_points=1),
    )
    program = transcribe(asked)
    kept = names(program)
    assert program.x_name(0) == "reach: duration"
    assert program.x_name(program.n - 1) == "phase 2: control point 3 of joint2"
    assert "reach: effort joint1 at 33.33 %" in kept
    assert "reach: frame_position tip x at 25 %" in kept
    assert "phase 2: round joint1 v" in kept
    assert "periodic joint2 v" in kept
    assert kept.count("periodic joint2 v") == 1
    assert "continuity reach to phase 2 joint1 a" in kept
    assert kept[-2:] == ["reach: integral of effort", "phase 2: integral of effort"]
    assert program.g_instant(kept.index("periodic joint2 v")) is None
    assert program.g_instant(program.m - 1) is None
    covered = [k for _, part in program.g_blocks() for k in range(part.start, part.stop)]
    assert covered == list(range(program.m))


def test_rows_match_the_motion() -> None:
    """Values by name are those of the curve at the named share of the duration."""
    model = branched_acrobot()
    asked = Problem(
        model,
        (Phase(FREE, State(np.zeros(3), np.zeros(3))),),
        costs=(Cost(Effort()),),
        limits=model.limits._replace(
            velocity=np.tile([-50.0, 50.0], (3, 1)), acceleration=np.tile([-900.0, 900.0], (3, 1))
        ),
        jerk_limit=1e5,
        transcription=Spline(degree=4, segments=4, limit_points=2),
    )
    program = transcribe(asked)
    rng = np.random.default_rng(2)
    x = rng.standard_normal(program.n)
    x[0] = 1.3
    found = rows_at(program, x)
    phase = program.phases[0]
    states = phase.spline.evaluate(phase.control, np.arange(9) / 8, 1.3)
    for order, kind in ((1, "velocity"), (2, "acceleration"), (3, "jerk")):
        for k in range(1, 9):
            for j, joint in enumerate(model.joint_names):
                name = f"{kind} {joint} at {100 * k / 8:.4g} %"
                assert found[name] == pytest.approx(states[order][k, j], rel=1e-11, abs=1e-9)


def test_a_rotor_across_branches_is_refused() -> None:
    model = branched_acrobot()
    across = np.zeros((3, 3))
    across[1, 2] = across[2, 1] = 0.05
    across += np.diag([0.2, 0.2, 0.2])
    asked = Problem(
        replace(model, rotor=across), (Phase(1.0, State(np.zeros(3))),), costs=(Cost(Effort()),)
    )
    with pytest.raises(InputError, match="different branches"):
        transcribe(asked)


def test_problem_without_freedom_is_refused() -> None:
    asked = problem(duration=1.0, transcription=Spline(segments=1), solver=SolverOptions())
    with pytest.raises(InputError, match="segments"):
        transcribe(asked)


def test_pairs_compare_the_ends_of_the_motion_or_of_their_phase() -> None:
    tau = Constraint(Periodic(("q", "tau"), offset=0.3), -99.0, 99.0)
    asked = problem(
        phases=(Phase(FREE, REST), Phase(0.7, end=THERE, constraints=(replace(tau, name="own"),))),
        constraints=(tau,),
    )
    program = transcribe(asked)
    x = 0.3 * np.random.default_rng(8).standard_normal(program.n)
    x[0] = 1.1
    found = rows_at(program, x)
    ends = []  # (q, tau) at the start and the end of each phase
    for phase in program.phases:
        states = phase.spline.evaluate(phase.control, [0.0, 1.0], phase.T)[:3]
        ends.append((states[0], predyn.inverse_dynamics(asked.model, *states)))
    for name, first, last in (("periodic", ends[0], ends[1]), ("phase 2: own", ends[1], ends[1])):
        for j in (0, 1):
            gain = last[0][1, j] - first[0][0, j] - 0.3
            assert found[f"{name} joint{j + 1} q"] == pytest.approx(gain, abs=1e-13)
            gain = last[1][1, j] - first[1][0, j]
            assert found[f"{name} joint{j + 1} tau"] == pytest.approx(gain, abs=1e-9)
    one, two = program.phases
    before = one.spline.evaluate(one.control, [1.0], one.T)
    after = two.spline.evaluate(two.control, [0.0], two.T)
    for order, channel in enumerate("qva"):
        jump = after[order][0, 1] - before[order][0, 1]
        row = f"continuity phase 1 to phase 2 joint2 {channel}"
        assert found[row] == pytest.approx(jump, rel=1e-11, abs=1e-11)


def test_rows_are_scaled_by_their_bounds_or_their_size() -> None:
    pair = Constraint(Periodic(("q", "v")))
    limits = two_link().limits._replace(effort=np.array([[-10.0, 4.0], [-np.inf, 7.0]]))
    program = transcribe(problem(end=State(), limits=limits, constraints=(pair,)))
    scale = dict(zip(names(program), program.g_scale.tolist(), strict=True))
    assert scale["effort joint1 at 20 %"] == 10.0
    assert scale["effort joint2 at 20 %"] == 7.0
    speed = 1.0 / program.phases[0].T  # the duration of the guess
    sizes = [np.pi, np.pi, speed, speed]
    assert [scale[f"periodic joint{j} {c}"] for c in "qv" for j in (1, 2)] == sizes

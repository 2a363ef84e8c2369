"""The largest excess between points: peak search and the status of motions that exceed limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.model.builder import ModelBuilder
from predyn.models import pendulum_chain, two_link
from predyn.problem import Constraint, Cost, Duration, Hybrid, Phase, Problem, Spline, State
from predyn.solution import MOST_EXCESS, Violation
from predyn.solving.denser_points import at_peaks
from predyn.solving.several_starts import _best
from predyn.solving.single_solve import solve_once
from predyn.terms import Effort, FramePosition, TotalTime
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import motion_of
from predyn.transcribe.peak_search import highest, instants_within
from predyn.transcribe.recheck import dense_violations


def above_zero(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds for which the excess is the value itself."""
    return np.full(rows, -np.inf), np.zeros(rows)


def test_peaks_of_known_functions() -> None:
    """Peaks between samples and at ends; where a function jumps, both sides count."""
    breaks = np.array([0.0, 0.3, 1.0])

    def values(s: np.ndarray) -> np.ndarray:
        step = np.where(s < 0.3, 2.0 + s, 0.0)
        return np.stack([np.sin(7.0 * s), s, -s, step, np.full_like(s, -0.5)])

    s = instants_within(breaks, 20)
    sampled = values(s.ravel()).reshape(5, *s.shape)
    best, at = highest(values, *above_zero(5), s, sampled, np.full(5, 1e-9))
    assert best[:2] == pytest.approx([1.0, 1.0], abs=1e-9)
    assert at[0] == pytest.approx(np.pi / 14, abs=1e-5)
    assert (best[2], at[2]) == (0.0, 0.0)
    assert best[3] == pytest.approx(2.3, abs=1e-9)
    assert at[3] == pytest.approx(0.3, abs=1e-9)
    assert best[4] == -0.5


def test_peaks_near_the_ends_of_pieces() -> None:
    """Up to a radian from sample to sample, the top just inside or outside of a piece."""
    speed, shift = (x.ravel() for x in np.meshgrid(np.geomspace(0.1, 20.0, 60), np.linspace(-3, 3)))
    for end in (0.0, 1.0):

        def values(s: np.ndarray, end: float = end) -> np.ndarray:
            return np.cos(speed[:, None] * (s - end) - shift[:, None] / 20.0)

        s = instants_within(np.array([0.0, 1.0]), 20)
        sampled = values(s.ravel())[:, None]
        best, _ = highest(values, *above_zero(3000), s, sampled, np.full(3000, 4e-7))
        fine = values(np.linspace(0.0, 1.0, 4001)).max(axis=1)
        assert (best >= fine - 1e-7).all()
        assert (best <= 1.0).all()


def test_a_steady_rise_to_an_end_is_not_searched() -> None:
    def values(s: np.ndarray) -> np.ndarray:
        raise AssertionError

    s = instants_within(np.array([0.0, 0.5, 1.0]), 20)
    for sampled in (np.exp(s), np.exp(-s)):
        best, at = highest(values, *above_zero(1), s, sampled[None], np.full(1, 1e-12))
        assert best == sampled.max()
        assert at == s.ravel()[sampled.argmax()]


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    model = pendulum_chain(n)
    tight = np.tile([-1.0, 1.0], (n, 1))
    limits = model.limits._replace(
        position=0.3 * tight, velocity=0.5 * tight, acceleration=2.0 * tight, effort=tight
    )
    spline = Spline(int(rng.integers(3, 6)), int(rng.integers(4, 12)))
    wall = Constraint(FramePosition(model.link_names[-1]), -0.2, 0.2, name="box")
    phase = Phase(Duration(0.5, 2.0, 1.0))
    return Problem(
        model,
        (phase,),
        constraints=(wall,),
        limits=limits,
        jerk_limit=30.0,
        transcription=spline,
    )


@pytest.mark.parametrize("seed", range(8))
def test_no_instant_of_many_has_a_larger_excess(seed: int) -> None:
    problem = random_problem(seed)
    program = transcribe(problem)
    x = 0.3 * np.random.default_rng(seed).normal(size=program.n)
    x[program.phases[0].T_column] = 1.0
    motion = motion_of(program, x)
    told = {v.name: v for v in dense_violations(program, motion)}
    s = np.unique(np.concatenate([np.linspace(0.0, 1.0, 20_001), motion.splines[0].breaks]))
    checked = 0
    for rows in program.rows:
        if not rows.throughout:
            continue
        residual = rows.parts[0].block.residual
        value = np.empty((len(residual.rows), len(s)))
        residual.value(motion.samples(0, s, residual.channels), value)
        for r, name in enumerate(residual.rows):
            worst = max(0.0, (value[r] - rows.upper[r]).max(), (rows.lower[r] - value[r]).max())
            found = told[f"{rows.name} {name}"]
            assert found.excess >= worst - 1e-6 * rows.upper[r]
            near = motion.samples(0, np.array([found.time]), residual.channels)
            there = np.empty((len(residual.rows), 1))
            residual.value(near, there)
            if rows.name != "jerk":  # which jumps
                assert there[r, 0] == pytest.approx(found.value, rel=1e-9, abs=1e-9)
                checked += worst > 0.0
    assert checked > 5


def stiff(transcription: Spline, stiffness: float = 3000.0) -> Problem:
    """A passive joint on a stiff spring: it oscillates faster than 10 segments can follow."""
    model = replace(two_link(), stiffness=np.array([0.0, stiffness]))
    phase = Phase(0.6, State((0.0, 0.0), (0.0, 0.0)), State((0.8, np.nan), (0.0, np.nan)))
    return Problem(
        model,
        (phase,),
        costs=(Cost(Effort(joints=("joint1",))),),
        transcription=transcription,
        passive=("joint2",),
        name="stiff",
    )


def test_passive_torque_between_the_points_is_no_success() -> None:
    rough = predyn.solve(stiff(Spline(segments=8)))
    assert rough.status == "exceeds_limits"
    assert not rough.success
    assert rough.max_violation < 1e-7  # at the points all is well
    assert rough.max_violation_dense > MOST_EXCESS
    assert "passive torque joint2 is" in rough.message
    assert "% of the motors' largest, between the points" in rough.message
    assert "refine" in rough.message
    assert "hybrid" in rough.message
    with pytest.raises(predyn.NotConverged, match="passive torque joint2"):
        rough.check()
    fine = predyn.solve(stiff(Spline(degree=5, segments=8)), refine=True)
    assert fine.success, fine.message
    assert fine.max_violation_dense < MOST_EXCESS
    torque = fine.at(np.linspace(0.0, 0.6, 5001)).tau
    assert np.abs(torque[:, 1]).max() < MOST_EXCESS * np.abs(torque[:, 0]).max()


def test_refinement_that_does_not_suffice_says_so() -> None:
    few = Spline(segments=8, max_refinements=1)
    found = predyn.solve(stiff(few, 3e5), refine=True)
    assert found.status == "exceeds_limits"
    assert "raise max_refinements (now 1)" in found.message


def coarse() -> Problem:
    model = two_link()
    fast = model.limits._replace(velocity=np.array([[-2.0, 2.0], [-2.0, 2.0]]))
    phase = Phase(Duration(0.1, 3.0, 1.0), State((0.0, 0.0), (0.0, 0.0)), State((2.0, -1.0)))
    return Problem(
        model,
        (phase,),
        costs=(Cost(TotalTime()),),
        limits=fast,
        transcription=Spline(segments=3, limit_points=1),
    )


def test_limit_points_are_added_where_few_do_not_suffice() -> None:
    once = solve_once(coarse(), None)
    assert once.status == "exceeds_limits"
    worst = once.dense_violations[0]
    found = predyn.solve(coarse())
    assert found.success
    assert found.max_violation_dense < MOST_EXCESS
    assert "limits were imposed at 2 points per segment instead of 1" in found.message
    assert f"{worst.name} exceeded its bounds by {100 * worst.relative:.3g} %" in found.message
    assert "limit_points=2" in found.provenance["transcription"]
    assert found.iterations > once.iterations
    refined = predyn.solve(coarse(), refine=True)  # which adds points itself
    assert refined.success
    assert refined.max_violation_dense < 1e-2


def with_dry_friction(speed: float, **options: int) -> Problem:
    """A cart that reverses, with friction that jumps where it stands."""
    builder = ModelBuilder("cart", gravity=(0.0, 0.0, 0.0))
    builder.add_link(
        *("cart", "world", "slide", "prismatic"),
        axis=(1.0, 0.0, 0.0), mass=1.0, inertia=(1.0, 1.0, 1.0), coulomb=5.0, coulomb_speed=speed,
    )  # fmt: skip
    reverse = Phase(1.0, State(q=(0.0,), v=(1.0,)), State(q=(0.0,), v=(-1.0,)))
    return Problem(
        builder.build(), (reverse,), (Cost(Effort()),), transcription=Spline(5, **options)
    )


@pytest.mark.parametrize("segments", [4, 6, 8])
def test_costs_are_integrated_again_where_points_do_not_suffice(segments: int) -> None:
    found = predyn.solve(with_dry_friction(0.1, segments=segments, gauss_points=3)).check()
    t = np.linspace(0.0, 1.0, 20_001)
    exact = np.trapezoid(found.at(t).tau[:, 0] ** 2, t)
    assert found.objective == pytest.approx(exact, rel=0.01)
    off = abs(found.objective - exact) > 1.1e-3 * exact
    assert found.unsmoothed.get("effort", exact) == pytest.approx(exact, rel=1e-5)
    assert "effort" in found.unsmoothed or not off
    few = "costs were integrated with 6 points per segment instead of 3, because effort was"
    assert (few in found.message) == (segments < 8)


def test_limits_are_imposed_at_narrow_peaks() -> None:
    """Points in a peak of friction, which is narrower than their distance; more of them miss it."""
    problem, peaks = with_dry_friction(0.02, segments=8), np.linspace(0.0, 1.0, 20_001)
    free = predyn.solve(problem).check()
    effort = free.at(peaks).tau[:, 0]
    k = int(np.abs(effort).argmax())
    far = Violation("effort slide", 1.0, 0.1, effort[k], -10.0, 10.0, float(peaks[k]))
    denser = at_peaks(problem, replace(free, dense_violations=(far,)))
    (added,) = denser.phases[0].constraints
    assert (added.lower, added.upper, added.at) == (-10.0, 10.0, (float(peaks[k]),))
    program = transcribe(denser)
    assert program.g_quantity(program.m - 1) == "effort slide"
    near = far._replace(relative=0.009)
    assert at_peaks(problem, replace(free, dense_violations=(near,))).phases == problem.phases


def test_hybrid_motions_are_checked_exactly_too() -> None:
    solution = predyn.solve("acrobot-swingup").check()
    assert isinstance(predyn.load_task("acrobot-swingup").transcription, Hybrid)
    t = np.linspace(0.0, solution.duration, 20_001)
    v = solution.at(t).v
    for violation in solution.dense_violations:
        if violation.name.startswith("velocity"):
            j = solution.model.joint_index(violation.name.split()[-1])
            over = np.maximum(v[:, j] - violation.upper, violation.lower - v[:, j]).max()
            assert violation.excess >= over - 1e-9 * violation.upper


def test_ranking_of_starts() -> None:
    good = replace(fake_solution(), objective=5.0)
    over = [
        replace(fake_solution(status="exceeds_limits"), objective=1.0, max_violation_dense=x)
        for x in (0.3, 0.1)
    ]
    failed = replace(fake_solution(status="infeasible"), objective=0.5, max_violation=1e-9)
    assert _best([failed, *over, good]) is good
    assert _best([failed, *over]) is over[1]
    assert _best([failed]) is failed


def test_files_and_reports_know_the_status(tmp_path) -> None:
    from predyn.view.report import report_html

    worst = Violation("velocity joint1", 0.3, 0.1, 3.3, -3.0, 3.0, 0.5)
    message = "velocity joint1 is outside its bounds by 10 %"
    solution = replace(
        fake_solution(status="exceeds_limits"),
        message=message,
        max_violation_dense=0.1,
        dense_violations=(worst,),
        starts=({"start": 0, "status": "exceeds_limits", "objective": 1.0},),
    )
    solution.save(tmp_path / "s.h5")
    again = predyn.load_solution(tmp_path / "s.h5")
    assert again.status == "exceeds_limits"
    assert not again.success
    assert again.dense_violations == (worst,)
    assert again.summary()["success"] is False
    page = report_html(again)
    assert "<title>Exceeds limits: two-link-lifting" in page
    assert "This motion exceeds its limits" in page
    assert message in page
    checked = predyn.verify(again).verification
    assert checked.replay is not None  # the motion converged, so it can be replayed

"""Contents of a solution, compared with its curves by SciPy and inverse dynamics."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BSpline

import predyn
from predyn.config import read_task
from predyn.dynamics import ExternalForce
from predyn.dynamics.system import limits_by_kind
from predyn.models import two_link
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.solution import Solution
from predyn.solving import solve
from predyn.terms import Effort, FramePosition, MechanicalEnergy, TotalTime
from predyn.transcribe.methods import transcribe

PER_SEGMENT = 20  # points of the dense re-check
COARSE = Spline(segments=4, limit_points=1)


def coarse() -> Problem:
    """Two phases with so few points that limits are exceeded between them."""
    model = two_link()
    limits = model.limits._replace(
        velocity=np.array([[-4.0, 4.0], [-5.0, 3.0]]),
        acceleration=np.array([[-60.0, 60.0], [-np.inf, np.inf]]),
    )
    return Problem(
        model,
        (
            Phase(Duration(0.1, 2.0, 0.6), State((0.2, -0.9), (0.0, 0.0)), name="there"),
            Phase(Duration(0.1, 2.0, 0.6), end=State((1.6, 0.9), (0.0, 0.0)), name="on"),
        ),
        costs=(
            Cost(TotalTime(), 2.0),
            Cost(Effort(), 0.005),
            Cost(MechanicalEnergy(width=0.5), 0.001, name="work"),
        ),
        constraints=(Constraint(FramePosition("tip", (0.0, None, None)), upper=0.75, name="wall"),),
        forces=(ExternalForce("tip", (0.0, -3.0, 0.0)),),
        limits=limits,
        jerk_limit=9e3,
        transcription=COARSE,
    )


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(coarse()).check()


def motion(solution: Solution, phase: int, s: np.ndarray) -> list[np.ndarray]:
    """q, v, a, jerk at normalised times, by SciPy."""
    curve = solution.curves[phase]
    spline = BSpline(curve.knots, curve.control, curve.degree)
    return [spline(s, nu=d) / curve.duration**d for d in range(4)]


def channels(solution: Solution, phase: int, s: np.ndarray) -> dict[str, np.ndarray]:
    q, v, a, jerk = motion(solution, phase, s)
    forces = coarse().forces
    frame = predyn.dynamics.frame_kinematics(solution.model, "tip", q, v, a)
    tau = predyn.inverse_dynamics(solution.model, q, v, a, forces=forces)
    return {"velocity": v, "acceleration": a, "jerk": jerk, "effort": tau, "wall": frame.p[:, :1]}


def test_dense_violations(solution: Solution) -> None:
    segments = COARSE.segments
    s = np.linspace(0.0, 1.0, PER_SEGMENT * segments + 1)
    inside = np.setdiff1d(np.arange(len(s)), np.arange(0, len(s), PER_SEGMENT)[1:-1])
    named = {violation.name: violation for violation in solution.dense_violations}
    assert solution.max_violation_dense > 1e-3  # there is something to find
    checked = 0
    for p, phase in enumerate(("there", "on")):
        found = channels(solution, p, s)
        for kind, value in found.items():
            bounds = limits_by_kind(solution.limits, solution.jerk_limit)
            limits = bounds.get(kind, np.array([[-np.inf, 0.75]]))
            parts = ["tip x"] if kind == "wall" else solution.model.joint_names
            for j, part in enumerate(parts):
                name = f"{phase}: {kind} {part}"
                lower, upper = limits[j]
                if not np.isfinite(limits[j]).any():
                    assert name not in named
                    continue
                excess = np.maximum(np.maximum(lower - value[:, j], value[:, j] - upper), 0.0)
                told = named[name]
                at = inside if kind == "jerk" else np.arange(len(s))  # it jumps at knots
                worst = at[excess[at].argmax()]
                assert told.excess >= excess[worst] - 1e-9 * max(1.0, abs(upper))
                if kind == "jerk":
                    continue
                checked += 1
                # thirds of a segment are looked at too, so that it may know of a little more
                assert told.excess == pytest.approx(excess[worst], rel=0.05, abs=1e-8 * abs(upper))
                if excess[worst] > 1e-6:
                    bound = lower if value[worst, j] < lower else upper
                    assert told.relative == pytest.approx(told.excess / abs(bound), rel=1e-12)
    assert checked == 2 * (2 + 1 + 2 + 1)
    ordered = [violation.relative for violation in solution.dense_violations]
    assert ordered == sorted(ordered, reverse=True)
    assert solution.max_violation_dense == pytest.approx(ordered[0])


def test_times_of_dense_violations(solution: Solution) -> None:
    for violation in solution.dense_violations:
        if violation.excess > 1e-6 and " effort " in violation.name:
            j = int(violation.name[-1]) - 1
            assert solution.at(violation.time).tau[j] == pytest.approx(violation.value, rel=1e-9)


def test_imposed_points_hold(solution: Solution) -> None:
    s = np.linspace(0.0, 1.0, COARSE.segments + 1)
    for p in range(2):
        found = channels(solution, p, s)
        for kind in ("velocity", "acceleration", "effort"):
            lower, upper = limits_by_kind(solution.limits, solution.jerk_limit)[kind].T
            room = 1e-6 * np.where(np.isfinite(upper), upper, 1.0)
            assert np.all(found[kind] >= lower - room)
            assert np.all(found[kind] <= upper + room)
        assert np.all(found["wall"] <= 0.75 + 1e-6)
    assert solution.max_violation < 1e-7


def test_phases_meet(solution: Solution) -> None:
    before, after = (motion(solution, p, np.array([1.0 - p])) for p in (0, 1))
    for order, tolerance in enumerate((1e-9, 1e-7, 1e-5)):
        assert before[order] == pytest.approx(after[order], abs=tolerance)


def test_costs_add_up(solution: Solution) -> None:
    assert list(solution.costs) == [
        f"{phase}: {name}" for phase in ("there", "on") for name in ("time", "effort", "work")
    ]
    assert sum(solution.costs.values()) == pytest.approx(solution.objective, rel=1e-12)
    # each part by a quadrature of our own: 5 Gauss points a segment are all there is
    x, w = np.polynomial.legendre.leggauss(5)
    s = ((np.arange(4)[:, None] + (x + 1) / 2) / 4).ravel()
    for p, phase in enumerate(("there", "on")):
        T = solution.curves[p].duration
        _, v, *_ = motion(solution, p, s)
        tau = channels(solution, p, s)["effort"]
        weight = np.tile(w / 8, 4) * T
        power = np.sqrt((tau * v) ** 2 + 0.25) - 0.5
        wanted = (
            2.0 * T,
            0.005 * weight @ (tau**2).sum(axis=1),
            0.001 * weight @ power.sum(axis=1),
        )
        for name, value in zip(("time", "effort", "work"), wanted, strict=True):
            assert solution.costs[f"{phase}: {name}"] == pytest.approx(value, rel=1e-11)


def test_samples_are_the_curves(solution: Solution) -> None:
    assert solution.phase_names == ("there", "on")
    assert np.all(np.diff(solution.t) >= 0.0)
    assert solution.t[-1] == pytest.approx(solution.duration)
    for p in range(2):
        mine = solution.phase == p
        begin = 0.0 if p == 0 else solution.curves[0].duration
        s = (solution.t[mine] - begin) / solution.curves[p].duration
        q, v, a, _ = motion(solution, p, np.clip(s, 0.0, 1.0))
        for given, wanted in ((solution.q, q), (solution.v, v), (solution.a, a)):
            scale = max(1.0, np.abs(wanted).max())
            assert np.abs(given[mine] - wanted).max() < 1e-11 * scale
        tau = predyn.inverse_dynamics(solution.model, q, v, a, forces=coarse().forces)
        assert np.abs(solution.tau[mine] - tau).max() < 1e-9


def test_active_limits_and_multipliers(solution: Solution) -> None:
    program = transcribe(coarse())
    blocks = [name for name, _ in program.g_blocks()]
    assert list(solution.multipliers) == [*blocks, "x_lower", "x_upper"]
    assert sum(len(solution.multipliers[name]) for name in blocks) == solution.n_constraints
    # a multiplier away from zero belongs to a limit that holds with equality
    for name in blocks:
        if name.startswith("continuity"):
            continue
        pulled = np.abs(solution.multipliers[name]).max() > 1e-4
        touched = any(active.startswith(name) for active in solution.active)
        assert touched or not pulled
    assert solution.active
    assert all("effort" in name or "velocity" in name or "wall" in name or "acceleration" in name
               or "jerk" in name for name in solution.active)  # fmt: skip


def test_unfinished_solve_names_its_violations() -> None:
    asked = replace(coarse(), solver=SolverOptions(max_iterations=3))
    found = solve(asked)
    assert found.status == "iteration_limit"
    assert found.iterations == 3
    assert found.max_violation > 0.0
    names = set()
    program = transcribe(coarse())
    for i in range(program.m):
        names.add(program.g_name(i))
    for violation in found.violations:
        assert violation.name in names
        assert violation.excess > 0.0
        on_instant = "continuity" not in violation.name
        assert on_instant != math.isnan(violation.time)
    with pytest.raises(predyn.PredynError, match="iteration_limit"):
        found.check()
    assert len(found.history["iteration"]) == 4
    assert sum(found.costs.values()) == pytest.approx(found.objective, rel=1e-12)


def test_built_in_costs_add_up() -> None:
    for name in ("two-link-lifting", "prismatic-revolute"):
        found = solve(read_task(name).problem)
        assert sum(found.costs.values()) == pytest.approx(found.objective, rel=1e-12)
        assert len(found.costs) == (2 if name == "two-link-lifting" else len(found.costs))

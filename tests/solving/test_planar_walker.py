"""Walking in the plane: known optima, the rank of the equations, and what Pinocchio makes of it.

Reference values come from an independent statement of the same program in CasADi (docs/optima.md);
tests/transcribe/test_contacts.py compares the programs themselves.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import BSpline

from oracles.casadi_walker import Statement
from oracles.pinocchio_oracle import pinocchio_forces, pinocchio_model
from planar_steps import walking
from predyn.dynamics import ExternalForce
from predyn.problem import Constraint, Cost, Problem
from predyn.solution import Solution
from predyn.solving import solve
from predyn.terms import ParameterValue, TotalTime
from predyn.transcribe.methods import transcribe
from transcribe.program_values import values

WEIGHT = 735.75  # N
H = 0.002  # m, of differences


class Known(NamedTuple):
    objective: float
    effort: float
    jerk: float
    force_rate: float
    variables: int
    equations: int
    residual: float  # N, of the base between the points


KNOWN = {
    4: Known(0.21203592, 0.14951845, 0.03259547, 0.02992200, 306, 210, 2.6),
    8: Known(0.21246324, 0.14966734, 0.03279046, 0.03000543, 450, 282, 0.5),
    16: Known(0.21262300, 0.14987515, 0.03275142, 0.02999642, 738, 426, 0.06),
}
SEGMENTS = [4, 8, pytest.param(16, marks=pytest.mark.verify)]
FORCES = (  # of the ground, by phase: the signal and where it acts
    (("right_heel", "right_heel"), ("right_sole", "right_heel"), ("right_toe", "right_toe")),
    (("right_toe", "right_toe"), ("right_sole", "right_toe")),
    (
        *(("right_toe", "right_toe"), ("right_sole", "right_toe")),
        *(("left_heel", "left_heel"), ("left_sole", "left_heel")),
    ),
)
SOLVED = 1e-6  # N m and N: the solver's tolerance, and its relaxation of bounds, times the scales


def task(segments: int) -> Problem:
    return walking(Statement(segments))


@cache
def walked(segments: int) -> Solution:
    return solve(task(segments)).check()


@pytest.mark.parametrize("segments", SEGMENTS)
def test_optimum(segments: int) -> None:
    found, known = walked(segments), KNOWN[segments]
    assert found.status == "optimal"
    assert found.objective == pytest.approx(known.objective, rel=1e-6)
    assert found.n_variables == known.variables
    parts = {"effort": 0.0, "smoothness": 0.0, "contact_force_rate": 0.0}
    for name, cost in found.costs.items():
        parts[name.split(": ")[1]] += cost
    # J is stationary, its parts are not: they move with the square root of its accuracy
    assert list(parts.values()) == pytest.approx(
        [known.effort, known.jerk, known.force_rate], rel=1e-4
    )


def test_the_message_states_what_is_missing_at_the_base() -> None:
    size = rf"a force of {KNOWN[4].residual} N \(0\.36 % of the weight\)"
    assert re.search(f"{size} is missing at the floating base, z, at", walked(4).message)


@pytest.mark.parametrize("segments", SEGMENTS)
def test_equations_are_independent(segments: int) -> None:
    """The least singular value of their Jacobian, with rows and variables in their scales."""
    program = transcribe(task(segments))
    jacobian = values(program, walked(segments).x, 1.0, np.zeros(program.m)).jacobian
    equal = np.flatnonzero(program.g_lower == program.g_upper)
    assert len(equal) == KNOWN[segments].equations
    scaled = jacobian[equal] / program.g_scale[equal, None] * program.x_scale
    assert np.linalg.svd(scaled, compute_uv=False)[-1] > 1e-4


class Dense(NamedTuple):
    """A phase at many instants, evaluated with SciPy and Pinocchio."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    forces: dict[str, np.ndarray]


@cache
def dense(segments: int) -> list[Dense]:
    """All phases; the torques are those that Pinocchio needs for the motion and the forces."""
    found, phases, begin = walked(segments), [], 0.0
    twin = pinocchio_model(found.model)
    data = twin.createData()
    s = np.linspace(0.0, 1.0, 121)
    for p, curve in enumerate(found.curves):
        T = curve.duration
        spline = BSpline(np.asarray(curve.knots), np.asarray(curve.control), curve.degree)
        q, v, a = (spline(s, nu=order) / T**order for order in range(3))
        forces = {}
        for name, _ in FORCES[p]:
            own = found.signal_curves[name].curves[p]
            assert own is not None
            forces[name] = BSpline(np.asarray(own.knots), np.asarray(own.control), own.degree)(s)
        loads = [ExternalForce(point, forces[name]) for name, point in FORCES[p]]
        tau = np.empty_like(q)
        for k in range(len(s)):
            pin.forwardKinematics(twin, data, q[k])
            external = pinocchio_forces(found.model, data, loads, k)
            tau[k] = pin.rnea(twin, data, q[k], v[k], a[k], external)
        phases.append(Dense(begin + s * T, q, tau, forces))
        begin += T
    return phases


@pytest.mark.parametrize("segments", SEGMENTS)
def test_the_ground_carries_the_body(segments: int) -> None:
    """Torques of the joints are those of Pinocchio; the base is balanced, nearly between points."""
    found, phases = walked(segments), dense(segments)
    for phase in phases:
        inner = slice(1, -1)  # a sample at the end of a phase belongs to the next one
        given = found.at(phase.t[inner]).tau
        assert np.abs(given - phase.tau[inner]).max() <= 1e-9 * WEIGHT
    worst = max(np.abs(phase.tau[:, :3]).max() for phase in phases)
    assert worst == pytest.approx(KNOWN[segments].residual, abs=0.05 * KNOWN[4].residual)
    assert worst <= 1.1 * KNOWN[segments].residual
    reported = max(x.excess for x in found.dense_violations if "passive" in x.name)
    assert reported >= 0.999 * worst
    # over the step, gravity and the vertical forces balance: the step begins as it ends
    lift = sum(
        np.trapezoid(sum(f[:, 2] for f in phase.forces.values()), phase.t) for phase in phases
    )
    assert lift == pytest.approx(WEIGHT * 0.5, rel=1e-3)


@pytest.mark.parametrize("segments", SEGMENTS)
def test_forces_begin_and_end_at_zero_and_go_on(segments: int) -> None:
    flat, toe, double = (phase.forces for phase in dense(segments))
    zero = [flat["right_heel"][-1], flat["right_toe"][0]]
    zero += [double[name][-1] for name in ("right_toe", "right_sole")]
    zero += [double[name][0] for name in ("left_heel", "left_sole")]
    assert np.abs(zero).max() <= SOLVED * WEIGHT
    for before, after in ((flat, toe), (toe, double)):
        for name in ("right_toe", "right_sole"):
            assert np.abs(before[name][-1] - after[name][0]).max() <= SOLVED * WEIGHT
    for side, other in (("left_heel", "right_heel"), ("left_sole", "right_sole")):
        assert np.abs(double[side][-1] - flat[other][0]).max() <= SOLVED * WEIGHT


@pytest.mark.parametrize("segments", SEGMENTS)
def test_the_step_can_be_repeated(segments: int) -> None:
    found = walked(segments)
    first, last = found.at(0.0), found.at(found.duration)
    swapped = [0, 1, 2, 6, 7, 8, 3, 4, 5]
    gain = np.array([0.6] + [0.0] * 8)
    assert np.abs(last.q - first.q[swapped] - gain).max() <= SOLVED
    assert np.abs(last.v - first.v[swapped]).max() <= 10 * SOLVED
    # accelerations of the base follow from the dynamics and equal forces
    assert np.abs(last.a - first.a[swapped]).max() <= 1e-3


@pytest.mark.parametrize("segments", SEGMENTS)
def test_feet_stand_and_do_not_slip(segments: int) -> None:
    found = walked(segments)
    slip, sunk = 0.0, 0.0
    for phase, points in zip(
        dense(segments), (("right_heel",), ("right_toe",), ("right_toe", "left_heel")), strict=True
    ):
        for name in points:
            p = found.channel(f"frame:{name}", phase.t[1:-1])[:, 9:12]
            slip = max(slip, np.ptp(p[:, 0]))
            sunk = max(sunk, np.abs(p[:, 2]).max())
    assert max(slip, sunk) <= {4: 1e-3, 8: 1e-4, 16: 1e-5}[segments]  # m, between the points
    for phase in dense(segments):
        for side in ("right", "left"):
            own = [f for name, f in phase.forces.items() if name.startswith(side)]
            if own:
                total = sum(own)
                margin = 0.8 * total[:, 2] - np.abs(total[:, 0])
                assert margin.min() >= -1e-3 * WEIGHT


def start(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The guess of the task with smooth random perturbations: 0.2 rad, and 0.05 m of the base."""
    rng = np.random.default_rng(seed)
    s = np.linspace(0.0, 1.0, 41)
    given, q = (np.asarray(x, float) for x in task(4).guess)
    size = np.array([0.05, 0.05] + [0.2] * 7)
    curve = np.stack([np.interp(s, given, column) for column in q.T], axis=1)
    for k in (1, 2, 3):
        phase = rng.uniform(0.0, 2.0 * np.pi, 9)
        height = size * rng.standard_normal(9) / k
        curve += height * np.sin(k * np.pi * s[:, None] + phase)
    low, high = task(4).model.limits.position.T
    return s, np.clip(curve, low + 1e-3, high - 1e-3)


@pytest.mark.parametrize(
    "seed", [k if k < 2 else pytest.param(k, marks=pytest.mark.verify) for k in range(10)]
)
def test_random_starts_find_the_same_step(seed: int) -> None:
    found = solve(task(4), guess=start(seed))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(KNOWN[4].objective, rel=1e-6)


# -- other statements ---------------------------------------------------------------------------


def test_in_the_plane_the_exact_cone_is_the_pyramid() -> None:
    found = solve(walking(Statement(4, cone=True)), guess=walked(4)).check()
    assert found.objective == pytest.approx(KNOWN[4].objective, rel=1e-6)


def with_step(length: float) -> Problem:
    problem = walking(Statement(4))
    assert problem.cycle is not None
    return replace(problem, cycle=replace(problem.cycle, advance=(length, 0.0, 0.0)))


def test_a_free_step_is_as_long_as_its_price_allows() -> None:
    """Short steps cost less; at the optimum, the price of a step of other length is the slope."""
    problem = walking(Statement(4, free_step=True))
    price = Cost(ParameterValue("step", 0.7), at="end")
    last = replace(problem.phases[-1], costs=(price,))
    free = solve(replace(problem, phases=(*problem.phases[:-1], last)), guess=walked(4)).check()
    length = free.parameters["step"]
    assert 0.4 < length < 0.69
    near, far = (solve(with_step(length + h), guess=free).check().objective for h in (-H, H))
    slope = (far - near) / (2.0 * H)
    # with H five times as large the difference is off by 0.9 %, so here by 0.04 %
    assert 2.0 * (0.7 - length) == pytest.approx(slope, rel=1e-3)


def test_free_durations_are_no_worse() -> None:
    problem = walking(Statement(8, free_durations=True))
    half = Constraint(TotalTime(), 0.5, 0.5, integral=True, over="motion")
    problem = replace(problem, constraints=(*problem.constraints, half))
    found = solve(problem, guess=walked(8)).check()
    assert found.duration == pytest.approx(0.5, abs=1e-8)
    assert found.objective < KNOWN[8].objective


@pytest.mark.parametrize("slope", [0.08, -0.08])
def test_on_a_slope_the_ground_carries_the_inclined_weight(slope: float) -> None:
    """Momentum is the same after the step, so the mean force is the weight in the ground's axes."""
    found = solve(walking(Statement(4, slope=slope)), guess=walked(4)).check()
    impulse = np.zeros(3)
    s, weights = np.polynomial.legendre.leggauss(4)  # exact for cubics, segment by segment
    for curves in found.signal_curves.values():
        for curve in curves.curves:
            if curve is not None:
                spline = BSpline(np.asarray(curve.knots), np.asarray(curve.control), curve.degree)
                for k in range(4):
                    at = (k + (s + 1) / 2) / 4
                    impulse += curve.duration / 8 * weights @ spline(at)
    wanted = WEIGHT * 0.5 * np.array([slope, 0.0, 1.0]) / np.hypot(1.0, slope)
    # the base is off by at most the reported force between the points
    off = max(x.excess for x in found.dense_violations if "passive" in x.name)
    assert np.abs(impulse - wanted).max() <= 0.5 * off
    assert off < 0.01 * WEIGHT

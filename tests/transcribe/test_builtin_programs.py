"""Values, derivatives and sparsity of the built-in tasks, against the CasADi formulation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import predyn.tasks
from predyn.config import read_task
from predyn.problem import Hybrid, Problem
from predyn.solvers.ipopt import solve_nlp
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.spline import SplineProgram
from transcribe.program_values import Oracle, Values, declared, values

BUILT_IN = [
    name
    for name in sorted(path.stem for path in Path(predyn.tasks.__file__).parent.glob("*.toml"))
    for problem in (read_task(name).problem,)
    # those with systems are compared in test_systems.py, those with contacts in test_contacts.py
    if not isinstance(problem.transcription, Hybrid) and not problem.systems
    if not any(phase.contacts for phase in problem.phases)
    # its ground forces are compared with complex steps in tests/channels/test_ground.py
    if name != "human-walk-published"
]
SPECIAL = {
    "limits at knots": {"limit_points": 1},
    "degree 4": {"degree": 4, "segments": 8},
    "degree 5": {"degree": 5, "segments": 7, "limit_points": 2},
    "uniform knots": {"knots": "uniform", "segments": 9},
    "given knots": {"knots": (0.0, 0.1, 0.25, 0.3, 0.7, 1.0)},
}
ENTRY = 1e-8  # of an entry
SUM = 4096 * float(np.finfo(float).eps)  # of the largest in a row at any point: sums cancel
ZERO = 1e-13  # of the largest in its row: an entry below it is rounding


class Case:
    """A program, its oracle, and both at a few points."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.program = problem, transcribe(problem)
        self.oracle = Oracle(problem, self.program)
        rng = np.random.default_rng(len(problem.name))
        self.guess = first_guess(self.program)
        self.points = []
        for _ in range(3):
            x = self.guess + 0.2 * rng.standard_normal(self.program.n) * self.program.x_scale
            x = np.clip(x, self.program.x_lower, self.program.x_upper)
            sigma, multipliers = rng.uniform(0.5, 2.0), rng.standard_normal(self.program.m)
            self.points.append((x, sigma, multipliers))
        self.pairs = [self.both(*point) for point in self.points]
        self.sizes = [
            np.max([np.abs(np.atleast_2d(x)).max(axis=1, initial=0.0) for x in several], axis=0)
            for several in zip(*(theirs for _, theirs in self.pairs), strict=True)
        ]
        self.sizes[3] += self.program.g_scale  # small torques are differences of larger ones

    def compare(self, ours: Values, theirs: Values) -> None:
        """Every entry to ENTRY, with room for the rounding of sums."""
        for mine, other, size in zip(ours, theirs, self.sizes, strict=True):
            error = np.abs(np.atleast_2d(mine) - other) - ENTRY * np.abs(other)
            assert np.all(error <= SUM * size[:, None])

    def both(self, x: np.ndarray, sigma: float, multipliers: np.ndarray) -> tuple[Values, Values]:
        ours = values(self.program, x, sigma, multipliers)
        return ours, self.oracle.values(x, sigma, multipliers)


@cache
def case(name: str) -> Case:
    if name in BUILT_IN:
        problem = read_task(name).problem
        return Case(replace(problem, phases=problem.phases[:2]))  # more are alike, and take long
    problem = read_task("two-link-lifting").problem
    transcription = replace(problem.transcription, **SPECIAL[name])
    return Case(replace(problem, transcription=transcription))


@pytest.mark.parametrize("name", [*BUILT_IN, *SPECIAL])
def test_values_and_derivatives(name: str) -> None:
    c = case(name)
    for ours, theirs in c.pairs:
        c.compare(ours, theirs)


@pytest.mark.parametrize("name", BUILT_IN)
def test_derivatives_at_the_optimum(name: str) -> None:
    c = case(name)
    found = solve_nlp(c.program, c.guess, c.problem.solver)
    assert found.status == "optimal"
    ours, theirs = c.both(found.x, 1.0, found.multipliers.g)
    c.compare(ours, theirs)
    # the oracle sees a stationary point too: its gradient, not ours, balances the multipliers
    balance = theirs.gradient + theirs.jacobian.T @ found.multipliers.g
    balance += found.multipliers.x_upper - found.multipliers.x_lower
    assert np.abs(balance).max() <= 1e-6 * c.sizes[1][0]


@pytest.mark.parametrize("name", [*BUILT_IN, *SPECIAL])
def test_sparsity_is_exact(name: str) -> None:
    c = case(name)
    n, m = c.program.n, c.program.m
    for pattern, shape, kind in (
        (c.program.jacobian_pattern, (m, n), "jacobian"),
        (c.program.hessian_pattern, (n, n), "hessian"),
    ):
        told = declared(pattern, shape)
        there = np.zeros(shape, bool)
        for _, theirs in c.pairs:
            entries = np.abs(getattr(theirs, kind))
            there |= entries > ZERO * entries.max(axis=1, keepdims=True, initial=0.0)
        if kind == "hessian":
            there = np.tril(there)
        assert not (there & ~told).any()
        assert told.sum() <= 1.05 * there.sum()


def test_hessian_is_lower_triangular() -> None:
    for name in BUILT_IN:
        rows, columns = case(name).program.hessian_pattern
        assert (rows >= columns).all()


def test_gauss_newton_is_the_hessian_without_curvature() -> None:
    """Of costs alone: 2 w J^T J of the residuals, positive semidefinite; same pattern."""
    exact = read_task("arm-2r-min-effort").problem
    solver = replace(exact.solver, hessian="gauss_newton")
    program = transcribe(replace(exact, solver=solver))
    x = case("arm-2r-min-effort").points[0][0]
    H = values(program, x, 1.0, np.zeros(0)).hessian
    assert pytest.approx(residual_square(program, x), rel=1e-10, abs=1e-9 * np.abs(H).max()) == H


def residual_square(program: SplineProgram, x: np.ndarray) -> np.ndarray:
    """Sum of T w tau'^T tau' of the arm's effort, by central differences of torques."""
    problem, phase = program.problem, program.phases[0]
    s, w = phase.spline.gauss_points(problem.transcription.gauss_points)

    def torques(at: np.ndarray) -> np.ndarray:
        control = phase.control.copy()
        control[phase.columns >= 0] = at[phase.columns[phase.columns >= 0]]
        states = phase.spline.evaluate(control, s, phase.T)
        tau = predyn.inverse_dynamics(problem.model, *states[:3])
        return np.asarray(np.sqrt(w * phase.T)[:, None] * tau).ravel()

    slopes = np.empty((2 * len(s), program.n))
    for i in range(program.n):
        step = np.zeros(program.n)
        step[i] = 1e-3
        near, far = (
            (torques(x + k * step) - torques(x - k * step)) / (2e-3 * k) for k in (1.0, 2.0)
        )
        slopes[:, i] = (4.0 * near - far) / 3.0
    return slopes.T @ slopes

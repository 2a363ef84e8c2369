"""Single shooting: the program of multiple shooting with the states between segments eliminated."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest

from oracles.casadi_hybrid import casadi_residuals
from predyn.curves.bspline import BSpline
from predyn.errors import InputError
from predyn.nlp import SolverOptions, check_derivatives
from predyn.problem import Problem, State
from predyn.transcribe.methods import transcribe
from predyn.transcribe.shooting.single_shooting import SingleShooting
from transcribe.hybrid_cases import HYBRID_CASES
from transcribe.hybrid_oracle import HybridCase
from transcribe.program_values import declared, values

CASES = ("acrobot", "branched acrobot", "tree", "rotors", "two phases", "loads", "frames")
ROUNDING = 1e-12  # of the largest in a row: errors grow along the whole motion


def single(problem: Problem) -> Problem:
    return replace(problem, transcription=replace(problem.transcription, shooting="single"))


@cache
def case(name: str) -> HybridCase:
    return HybridCase(single(HYBRID_CASES[name]()))


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    c = case(name)
    assert isinstance(c.program, SingleShooting)
    assert {k: x for k, x in c.errors().items() if x > ROUNDING} == {}


@pytest.mark.parametrize("name", CASES)
def test_sparsity_is_complete(name: str) -> None:
    c = case(name)
    told = declared(c.program.jacobian_pattern, (c.program.m, c.program.n))
    for _, theirs in c.pairs:
        size = np.abs(theirs.jacobian).max(axis=1, keepdims=True, initial=0.0)
        assert not ((np.abs(theirs.jacobian) > 1e-12 * size) & ~told).any()


@pytest.mark.parametrize("name", ["frames", "two phases"])
def test_derivatives_by_differences(name: str) -> None:
    c = case(name)
    report = check_derivatives(c.program, c.points[0][0], step=1e-4)
    for entry in report:
        assert entry is not None
        assert abs(entry.given - entry.expected) <= 10.0 * entry.tolerance, str(report)


@pytest.mark.parametrize("name", ["acrobot", "tree", "frames"])
def test_multiple_shooting_from_its_states(name: str) -> None:
    """The objective and constraints agree, and the gaps between segments are zero."""
    c = case(name)
    program = transcribe(HYBRID_CASES[name]())
    x, ours = c.points[0][0], c.pairs[0][0]
    (curve,), phase = c.program.curves(x), program.phases[0]
    spline = BSpline(curve.degree, curve.knots)
    states = spline.evaluate(curve.control, phase.spline.breaks, curve.duration, derivatives=1)
    nodes = np.concatenate([state[:, phase.passive] for state in states], axis=1)
    whole = np.concatenate([x, np.zeros(program.n - len(x))])
    free = phase.node_columns >= 0
    whole[phase.node_columns[free]] = nodes[free]
    theirs = values(program, whole, 1.0, np.zeros(program.m))
    assert theirs.f == pytest.approx(ours.f, rel=1e-12)
    m = c.program.m
    assert theirs.g[:m] == pytest.approx(ours.g, rel=1e-10, abs=1e-10)
    assert np.abs(theirs.g[m:]).max() < 1e-11 * (1.0 + np.abs(nodes).max())


def test_gauss_newton() -> None:
    c = case("branched acrobot")
    problem = replace(c.problem, solver=SolverOptions(hessian="gauss_newton"))
    x, r = casadi_residuals(problem)
    f = ca.Function("r", [x], [r]).expand()
    z = ca.SX.sym("x", x.numel())
    at, sigma, multipliers = c.points[0]
    J = ca.Function("J", [z], [ca.jacobian(f(z), z)])(at).full()
    ours = values(transcribe(problem), at, sigma, multipliers)
    expected = 2.0 * sigma * J.T @ J
    size = np.abs(expected).max(axis=1, keepdims=True)
    assert np.all(np.abs(ours.hessian - expected) <= 1e-11 * size)


def test_results_are_bitwise_reproducible() -> None:
    c = case("two phases")
    first = values(c.program, *c.points[0])
    values(c.program, *c.points[1])
    for program in (c.program, transcribe(c.problem)):
        again = values(program, *c.points[0])
        assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))


def test_start_must_be_given() -> None:
    problem = single(HYBRID_CASES["acrobot"]())
    phase = replace(problem.phases[0], start=State([np.nan, 0.0], [0.0, 0.0]))
    with pytest.raises(InputError, match="'joint1'"):
        transcribe(replace(problem, phases=(phase,)))

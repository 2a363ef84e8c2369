"""Values, derivatives and sparsity of programs with integrated joints, against CasADi."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest

from oracles.casadi_hybrid import casadi_residuals
from oracles.casadi_terms import RESIDUALS
from predyn.channels import derived, frames
from predyn.config import read_task
from predyn.kernels.batch import aligned
from predyn.models import gymnast
from predyn.nlp import SolverOptions, check_derivatives
from predyn.problem import Constraint, Cost, Hybrid, Parameter, Spline, State
from predyn.terms import Effort, JointTorque, TotalTime
from predyn.transcribe import chained, instants, pool, row_bends, row_values
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.shooting import hybrid, stage_pool, stage_sets
from predyn.transcribe.shooting.hybrid import HybridProgram
from transcribe.hybrid_cases import HYBRID_CASES, any_term
from transcribe.hybrid_oracle import HybridCase, HybridOracle
from transcribe.program_values import Oracle, declared, values

ROUNDING = 1e-13  # of the largest in a row: hundreds of sums and products
TALL = 1e-11  # the same where reactions of 1e5 N on a tree make up the sums
ZERO = 1e-13  # of the largest in its row: an entry below it is rounding


BUILT_IN = ("acrobot-swingup", "branched-acrobot-swingup", "cart-pole-swingup", "gymnast-swing")


@pytest.fixture(autouse=True)
def _poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill uninitialized memory with NaN."""

    def nothing(*shape: int) -> np.ndarray:
        array = aligned(*shape)
        array[:] = np.nan
        return array

    for module in (
        chained,
        derived,
        frames,
        hybrid,
        instants,
        pool,
        row_bends,
        row_values,
        stage_pool,
        stage_sets,
    ):
        monkeypatch.setattr(module, "aligned", nothing)


@cache
def case(name: str) -> HybridCase:
    return HybridCase(HYBRID_CASES[name]())


@pytest.mark.parametrize("name", HYBRID_CASES)
def test_values_and_derivatives(name: str) -> None:
    assert isinstance(case(name).program, HybridProgram)
    tolerance = TALL if name == "every term" else ROUNDING
    assert {k: x for k, x in case(name).errors().items() if x > tolerance} == {}


@pytest.mark.parametrize("name", HYBRID_CASES)
def test_sparsity(name: str) -> None:
    """The pattern is complete, with few entries that CasADi does not find."""
    c = case(name)
    n, m = c.program.n, c.program.m
    functions = c.oracle.program.functions
    structures = (
        (c.program.jacobian_pattern, functions.jacobian.sparsity_out(0), (m, n), c.oracle.order),
        (c.program.hessian_pattern, functions.hessian.sparsity_out(0), (n, n), np.arange(n)),
    )
    for k, (pattern, sparsity, shape, order) in enumerate(structures):
        told, there = declared(pattern, shape), np.zeros(shape, bool)
        for _, theirs in c.pairs:
            entries = np.abs((theirs.jacobian, np.tril(theirs.hessian))[k])
            there |= entries > ZERO * entries.max(axis=1, keepdims=True, initial=0.0)
        if k:
            assert not np.triu(told, 1).any()
        by_formula = np.zeros(shape, bool)
        by_formula[tuple(np.array(x, int) for x in sparsity.get_triplet())] = True
        assert not (there & ~told).any()
        assert told.sum() <= 1.2 * by_formula[order].sum()


def test_every_term_takes_part() -> None:
    assert set(RESIDUALS) <= set().union(*(any_term(make()) for make in HYBRID_CASES.values()))


def _written_out(cost: Cost) -> Cost:
    """Divisors of a normalised effort: the larger of the two limits of each joint."""
    term = cost.term
    if not isinstance(term, Effort) or not term.normalised:
        return cost
    limits = gymnast().limits.effort[[gymnast().joint_index(name) for name in term.joints or ()]]
    return replace(cost, term=Effort(term.joints, per=np.abs(limits).max(axis=1)))


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_tasks(name: str) -> None:
    """On a grid of a few segments."""
    problem = read_task(name, method="hybrid").problem
    coarse = replace(problem.transcription, segments=3, steps=2, limit_points=1)
    solver, costs = SolverOptions(hessian="exact"), tuple(map(_written_out, problem.costs))
    problem = replace(problem, transcription=coarse, costs=costs, guess="linear", solver=solver)
    c = HybridCase(problem, points=1)
    assert {k: x for k, x in c.errors().items() if x > ROUNDING} == {}


@pytest.mark.parametrize("degree", [3, 5])
def test_passive_joints_on_splines(degree: int) -> None:
    """The spline method: zero torque at the Greville abscissae of the accelerations."""
    problem = replace(
        HYBRID_CASES["branched acrobot"](), transcription=Spline(degree, 6), solver=SolverOptions()
    )
    program = transcribe(problem)
    windows = np.lib.stride_tricks.sliding_window_view(
        program.phases[0].spline.knots[3:-3], degree - 2
    )
    zero = Constraint(
        JointTorque(problem.passive), 0.0, 0.0, tuple(windows.mean(axis=1)), name="passive torque"
    )
    oracle = Oracle(replace(problem, passive=(), constraints=(zero,)), program)
    rng = np.random.default_rng(degree)
    at = 0.4 * rng.standard_normal(program.n), 0.7, rng.standard_normal(program.m)
    for mine, other in zip(values(program, *at), oracle.values(*at), strict=True):
        size = np.abs(np.atleast_2d(other)).max(axis=1, keepdims=True)
        assert np.all(np.abs(np.atleast_2d(mine) - other) <= ROUNDING * size)


@pytest.mark.parametrize("name", ["acrobot", "branched acrobot"])
def test_gauss_newton(name: str) -> None:
    """2 J^T J of the residuals at all stages and at the end; the multipliers add nothing."""
    c = case(name)
    problem = replace(c.problem, solver=SolverOptions(hessian="gauss_newton"))
    x, r = casadi_residuals(problem)
    function = ca.Function("r", [x], [r]).expand()
    z = ca.SX.sym("x", x.numel())
    at, sigma, multipliers = c.points[0]
    assert float(ca.sumsqr(function(at))) == pytest.approx(c.pairs[0][0].f, rel=1e-13)
    J = ca.Function("J", [z], [ca.jacobian(function(z), z)])(at).full()
    expected = 2.0 * sigma * J.T @ J
    program = transcribe(problem)
    ours = values(program, at, sigma, multipliers)
    size = np.abs(expected).max(axis=1, keepdims=True)
    assert np.all(np.abs(ours.hessian - expected) <= ROUNDING * size)
    exact = declared(c.program.hessian_pattern, (program.n, program.n))
    assert not (declared(program.hessian_pattern, (program.n, program.n)) & ~exact).any()


def test_results_are_bitwise_reproducible() -> None:
    """The same program after moving away and back, and a second program."""
    c = case("loads")
    first = values(c.program, *c.points[0])
    values(c.program, *c.points[1])
    for program in (c.program, transcribe(c.problem)):
        again = values(program, *c.points[0])
        for mine, other in zip(first, again, strict=True):
            assert np.array_equal(mine, other)


UNCOMPILED = """
import numpy as np
from transcribe.hybrid_cases import HYBRID_CASES
from transcribe.program_values import values
from predyn.transcribe.methods import transcribe

program = transcribe(HYBRID_CASES["acrobot, eight segments"]())
found = values(program, np.linspace(0.5, 1.0, program.n), 0.7, np.ones(program.m))
sums = [float(np.abs(x).sum()) for x in found]
"""


def test_uncompiled_code_gives_the_same() -> None:
    here: dict = {}
    exec(UNCOMPILED, here)
    run = subprocess.run(
        [sys.executable, "-c", f"{UNCOMPILED}\nprint(*sums)"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    np.testing.assert_allclose([float(x) for x in run.stdout.split()], here["sums"], rtol=1e-12)


def test_names_match_the_variables() -> None:
    program = case("two phases").program
    names = [program.x_name(i) for i in range(program.n)]
    assert len(set(names)) == program.n
    assert names[:2] == ["up: duration", "up: control point 1 of joint2"]
    assert names[-1] == "phase 2: velocity of joint1 at 80 %"
    rows = [program.g_name(i) for i in range(program.m)]
    assert len(set(rows)) == program.m
    assert rows[-1] == "phase 2: passive motion joint1 velocity at 100 %"
    with pytest.raises(IndexError):
        program.x_name(program.n)


def test_oracle_detects_a_wrong_row() -> None:
    """Rows are matched by name, not by value."""
    problem = HYBRID_CASES["acrobot"]()
    other = HYBRID_CASES["branched acrobot"]()
    with pytest.raises(AssertionError):
        HybridOracle(problem, transcribe(other))


@pytest.mark.parametrize("shooting", ["multiple", "single"])
def test_phases_share_a_duration_and_a_row(shooting: str) -> None:
    """Two phases of one parameter's length, joined, with a bound on their sum."""
    whole = read_task("acrobot-swingup").problem
    (phase,) = whole.phases
    total = Constraint(TotalTime(), 1.0, 3.0, integral=True, over="motion", name="total time")
    halves = (
        replace(phase, duration="half", end=State(), name="up"),
        replace(phase, duration="half", start=State(), name="over"),
    )
    problem = replace(
        whole,
        phases=halves,
        constraints=(total,),
        parameters=(Parameter("half", 0.2, 4.0, 1.0, "s"),),
        transcription=Hybrid(segments=4, steps=3, shooting=shooting),
    )
    program = transcribe(problem)
    x = first_guess(program) + 0.01
    report = check_derivatives(program, x, step=1e-4)
    for entry in report:
        assert entry is not None
        assert abs(entry.given - entry.expected) <= 10.0 * entry.tolerance, str(report)
    assert program.phases[0].T_column == program.phases[1].T_column
    assert "parameter half" in [program.x_name(i) for i in range(program.n)]

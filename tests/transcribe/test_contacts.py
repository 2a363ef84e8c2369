"""A whole program with contacts, against a statement in CasADi that shares nothing with it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from oracles.casadi_walker import PHASES, Statement, Walker, casadi_walker
from planar_steps import columns, walking
from predyn.config import read_task
from predyn.transcribe.methods import transcribe
from predyn.transcribe.spline import SplineProgram
from transcribe.program_values import keys, values

SAME = 1e-8  # of each element
ROUNDING = 1e-12  # of the largest element of its row: torques are sums of larger ones
STATEMENTS = {
    "reference": Statement(2),
    "all together": Statement(2, -0.05, True, True, True, True),
}
SLOW = {
    "four segments": Statement(4),
    "exact cone": Statement(2, cone=True),
    "slope": Statement(2, slope=0.1),
    "free step length": Statement(2, free_step=True),
    "unknown place": Statement(2, free_place=True),
    "free durations": Statement(2, free_durations=True),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_program(name: str) -> None:
    compare(STATEMENTS[name], len(name))


@pytest.mark.verify
@pytest.mark.parametrize("name", SLOW)
def test_further_programs(name: str) -> None:
    compare(SLOW[name], len(name))


def compare(statement: Statement, seed: int) -> None:
    """Objective, rows, bounds, Jacobian and Hessian of the Lagrangian at a random point."""
    program, walker = transcribe(walking(statement)), casadi_walker(statement)
    assert isinstance(program, SplineProgram)
    at = columns(program, walker)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, len(at)) * program.x_scale[at]
    for k, key in enumerate(walker.keys):
        if key[0] == "T":
            x[k] = rng.uniform(0.1, 0.3)
    order = {key: i for i, key in enumerate(keys(row[0] for row in walker.rows))}
    known = {key: i for i, key in enumerate(keys(map(program.g_quantity, range(program.m))))}
    assert set(known) == set(order)
    g_at = np.array([known[key] for key in order])
    for bound, k in (("g_lower", 2), ("g_upper", 3)):
        wanted = np.array([row[k] for row in walker.rows])
        assert getattr(program, bound)[g_at] == pytest.approx(wanted, abs=1e-12)

    sigma, lam = 0.7, np.zeros(program.m)
    lam[g_at] = rng.standard_normal(len(g_at)) / program.g_scale[g_at]
    full = np.empty(program.n)
    full[at] = x
    ours = values(program, full, sigma, lam)
    theirs = evaluated(walker, x, sigma, lam[g_at])
    found = (
        np.array([[ours.f]]),
        ours.gradient[None, at],
        ours.g[g_at, None],
        ours.jacobian[np.ix_(g_at, at)],
        ours.hessian[np.ix_(at, at)],
    )
    for part, a, b in zip(ours._fields, found, theirs, strict=True):
        size = np.abs(b).max(axis=1, keepdims=True)
        assert np.all(np.abs(a - b) <= SAME * np.abs(b) + ROUNDING * np.maximum(size, 1.0)), part


def evaluated(walker: Walker, x: np.ndarray, sigma: float, lam: np.ndarray) -> list[np.ndarray]:
    """f, gradient, g, Jacobian and Hessian of the Lagrangian, as matrices."""
    g = ca.vertcat(*(row[1] for row in walker.rows))
    L = sigma * walker.f + ca.dot(ca.DM(lam), g)
    gradient = ca.gradient(walker.f, walker.x)
    hessian, _ = ca.hessian(L, walker.x)
    outputs = [walker.f, gradient.T, g, ca.jacobian(g, walker.x), hessian]
    function = ca.Function("walker", [walker.x], outputs)
    return [np.asarray(ca.densify(e)) for e in function(x)]


def test_phases_are_those_of_the_task() -> None:
    assert tuple(x.name for x in read_task("planar-walker").problem.phases) == PHASES

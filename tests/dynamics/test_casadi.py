"""First and second derivatives against CasADi's automatic differentiation of another formulation.

Both sides are exact up to rounding: a few thousand roundings, each of eps/2 of the summand, add up
in one number, and most of them cancel. We require 1e-12 of the largest entry of an array (or of one
if all are smaller); the project requires 1e-9.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from oracles.casadi_oracle import (
    frame_expression,
    link_frame_expression,
    second_partials,
    weighted_hessian_function,
)
from predyn import dynamics, models
from predyn.dynamics import ExternalForce, FrameMotion
from predyn.model import Model
from random_trees import random_model, random_sites
from registry_cases import SITES, forest

RELATIVE = 1e-12
BATCH = 3
TREES = [(n, seed) for seed, n in enumerate((1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 10, 12))]


def cases() -> dict[str, tuple[Model, list[ExternalForce]]]:
    made = {}
    for n, seed in TREES:
        model = random_model(n, seed)
        made[f"tree-{n}-{seed}"] = (model, random_sites(model, seed))
    for seed in range(3):
        made[f"forest-{seed}"] = (forest(seed, coupled=seed == 2), list(SITES))
    return made


CASES = cases()
FEW = [name for name in CASES if name.startswith("forest") or name in ("tree-1-0", "tree-12-16")]


def inputs(model: Model, sites: list[ExternalForce], seed: int = 0) -> tuple:
    rng = np.random.default_rng([seed, 8])
    states = rng.normal(size=(3, BATCH, model.n))
    loads = rng.normal(size=(BATCH, len(sites), 6))
    forces = [
        replace(site, moment=loads[:, k, :3], force=loads[:, k, 3:]) for k, site in enumerate(sites)
    ]
    return *states, loads.reshape(BATCH, -1), forces


def evaluate(symbols: list[ca.SX], expressions: list[ca.SX], *numbers: np.ndarray) -> list:
    """Each expression as an array (B, rows, columns)."""
    function = ca.Function("f", symbols, [ca.densify(x) for x in expressions])
    results = [function(*(x[b] for x in numbers)) for b in range(len(numbers[0]))]
    shapes = [x.shape for x in expressions]
    columns = zip(*results, strict=True)
    return [
        np.array([np.asarray(x).reshape(shape) for x in values])
        for values, shape in zip(columns, shapes, strict=True)
    ]


def assert_close(
    got: np.ndarray, expected: np.ndarray, what: str, allowed: float = RELATIVE
) -> None:
    expected = expected.reshape(got.shape)
    error = np.abs(got - expected).max() / max(np.abs(expected).max(), 1.0)
    assert error <= allowed, f"{what}: {error:.2e}"


@pytest.mark.parametrize("name", CASES)
def test_inverse_dynamics(name: str) -> None:
    model, sites = CASES[name]
    q, v, a, loads, forces = inputs(model, sites)
    e = link_frame_expression(model, sites)
    partials = [ca.jacobian(e.tau, x) for x in (e.q, e.v, e.a, e.loads)]
    expected = evaluate([e.q, e.v, e.a, e.loads], [e.tau, *partials], q, v, a, loads)
    got = dynamics.inverse_dynamics_derivatives(model, q, v, a, forces=forces)
    parts = dynamics.inverse_dynamics_force_derivatives(model, q, forces)
    got = (*got, np.concatenate(parts, axis=-1))
    for what, x, y in zip(("tau", "q", "v", "a", "loads"), got, expected, strict=True):
        assert_close(x, y, what)
    assert_close(
        dynamics.inverse_dynamics(model, q, v, a, forces=forces), expected[0], "inverse_dynamics"
    )


@pytest.mark.parametrize("name", CASES)
def test_hessian_of_inverse_dynamics(name: str) -> None:
    model, sites = CASES[name]
    q, v, a, loads, forces = inputs(model, sites)
    w = np.random.default_rng(1).normal(size=(BATCH, model.n))
    e = link_frame_expression(model, sites)
    weights = ca.SX.sym("w", model.n)
    symbols = [e.q, e.v, e.a, e.loads]
    blocks = second_partials(ca.dot(weights, e.tau), *symbols)
    expected = evaluate([*symbols, weights], blocks, q, v, a, loads, w)
    h = dynamics.inverse_dynamics_hessian(model, q, v, a, w, forces=forces)
    got = (h.qq, h.qv, h.vv, h.qa, np.concatenate(h.qf, axis=-1))
    for what, x, y in zip(("qq", "qv", "vv", "qa", "qf"), got, expected, strict=True):
        assert_close(x, y, what)


def test_hessian_of_thirty_joints() -> None:
    """Through the function that the benchmark uses."""
    model = models.random_tree(30, 30)
    x = np.random.default_rng(30).normal(size=(4, 30))
    expected = weighted_hessian_function(model)(*x)
    got = dynamics.inverse_dynamics_hessian(model, *x)
    for what, block, reference in zip(("qq", "qv", "vv", "qa"), got[:4], expected, strict=True):
        assert_close(block, np.asarray(reference), what)


@pytest.mark.parametrize("name", FEW)
def test_joint_wrenches_and_their_hessian(name: str) -> None:
    model, sites = CASES[name]
    q, v, a, loads, forces = inputs(model, sites)
    w = np.random.default_rng(2).normal(size=(BATCH, model.n, 6))
    e = link_frame_expression(model, sites)
    weights = ca.SX.sym("w", 6 * model.n)
    blocks = second_partials(ca.dot(weights, e.wrench), e.q, e.v, e.a)
    numbers = (q, v, a, loads, w.reshape(BATCH, -1))
    wrench, *expected = evaluate([e.q, e.v, e.a, e.loads, weights], [e.wrench, *blocks], *numbers)
    assert_close(dynamics.joint_reactions(model, q, v, a, forces=forces), wrench, "wrench")
    got = dynamics.joint_reactions_hessian(model, q, v, a, w, forces=forces)
    for what, x, y in zip(("qq", "qv", "vv", "qa"), got[:4], expected, strict=True):
        assert_close(x, y, what)


@pytest.mark.parametrize("name", FEW)
def test_motion_of_a_frame_and_its_hessian(name: str) -> None:
    model, _ = CASES[name]
    q, v, a, *_ = inputs(model, [])
    frame, point = model.frame_names[-1 if name.startswith("tree") else -2], (0.3, -0.5, 0.7)
    *symbols, motion = frame_expression(model, frame, point)
    weights = [ca.SX.sym(f"w{k}", *x.shape) for k, x in enumerate(motion)]
    scalar = sum(ca.dot(w, x) for w, x in zip(weights, motion, strict=True))
    rng = np.random.default_rng(3)
    w = [rng.normal(size=(BATCH, *((3, 3) if k == 0 else (3,)))) for k in range(6)]
    blocks = second_partials(scalar, *symbols)
    expected = evaluate([*symbols, *weights], [*motion, *blocks], q, v, a, *w)
    got = dynamics.frame_kinematics(model, frame, q, v, a, point=point)
    for what, x, y in zip(FrameMotion._fields, got, expected, strict=False):
        assert_close(x, y, what)
    hessian = dynamics.frame_kinematics_hessian(model, frame, q, v, a, FrameMotion(*w), point=point)
    for what, x, y in zip(("qq", "qv", "vv", "qa"), hessian, expected[6:], strict=False):
        assert_close(x, y, what)


# -- hybrid dynamics ----------------------------------------------------------------------------


def some_passive(n: int, seed: int) -> np.ndarray:
    """A mask with at most four passive joints: a symbolic solution grows quickly."""
    mask = np.ones(n, bool)
    mask[np.random.default_rng([seed, 12]).permutation(n)[: min(4, n - n // 3)]] = False
    return mask


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (3, 2), (4, 5), (5, 6), (6, 9)])
def test_hybrid_dynamics(n: int, seed: int) -> None:
    """CasADi solves the partitioned system symbolically and differentiates that solution.

    Rounding is multiplied by the condition of the passive joints' mass matrix. Odd seeds have
    coupled rotors.
    """
    model = random_model(n, seed)
    sites = random_sites(model, seed)
    q, v, a, loads, forces = inputs(model, sites)
    tau = np.random.default_rng([seed, 13]).normal(size=(BATCH, n))
    mask = some_passive(n, seed)
    passive = np.flatnonzero(~mask).tolist()
    e = link_frame_expression(model, sites)
    torque = ca.SX.sym("tau", n)
    known = ca.SX(e.a)
    known[passive] = 0
    (left,) = ca.substitute([e.tau], [e.a], [known])
    M = ca.jacobian(e.tau, e.a)
    complete, given = ca.SX(known), ca.SX(torque)
    complete[passive] = ca.solve(M[passive, passive], (torque - left)[passive])
    for i in np.flatnonzero(mask).tolist():
        given[i] = (left + M @ (complete - known))[i]
    symbols = [e.q, e.v, e.a, torque, e.loads]
    partials = [ca.jacobian(x, s) for x in (complete, given) for s in symbols[:4]]
    expressions = [M[passive, passive], complete, given, *partials]
    block, *expected = evaluate(symbols, expressions, q, v, a, tau, loads)
    found = dynamics.hybrid_dynamics_derivatives(model, q, v, a, tau, mask, forces=forces)
    allowed = RELATIVE * float(np.linalg.cond(block).max())
    names = ("a", "tau", *(f"d{x} in {s}" for x in ("a", "tau") for s in ("q", "v", "a", "tau")))
    got = (found[0], found[1], *found[2], *found[3])
    for what, x, y in zip(names, got, expected, strict=True):
        assert_close(x, y, what, allowed)

"""Gradients of energies and discrete inverse dynamics against CasADi, complex steps and identities.

The oracle differentiates an energy of 4x4 matrices, up to four times; both sides are exact up to
rounding. We require 1e-12 of the largest entry for values and first partials, and 1e-9 for weighted
second partials.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from coupled_trees import coupled_tree
from oracles.casadi_couplings import joint_states
from oracles.casadi_energy import discrete_torques, energies
from predyn import dynamics, models
from predyn.dynamics import ExternalForce
from predyn.dynamics.lagrangian import ENERGY_GRADIENTS
from predyn.dynamics.lagrangian_derivatives import ENERGY_GRADIENTS_DERIVATIVES
from predyn.errors import InputError
from predyn.kernels.forces import pack_forces
from predyn.model import Model
from random_trees import random_model, random_sites

FIRST, SECOND = 1e-12, 1e-9
SOON = 12  # trees of the quick run
SMALL = [(1 + seed % 12, seed) for seed in range(180)]
LARGE = [(21 + seed, 200 + seed) for seed in range(20)]
TREES = [
    pytest.param(n, seed, id=f"{n}-{seed}", marks=() if seed < SOON else pytest.mark.verify)
    for n, seed in (*SMALL, *LARGE)
]


def worst(got: np.ndarray, expected: object) -> float:
    """Error relative to the largest entry, or to one if all are smaller."""
    expected = np.asarray(expected, float).reshape(got.shape)
    return float(np.abs(got - expected).max() / max(np.abs(expected).max(), 1.0))


def with_loads(sites: list[ExternalForce], loads: np.ndarray) -> list[ExternalForce]:
    """The sites with numbers (..., 6 a force: moment, force)."""
    return [
        replace(f, moment=loads[..., 6 * k : 6 * k + 3], force=loads[..., 6 * k + 3 : 6 * k + 6])
        for k, f in enumerate(sites)
    ]


@pytest.mark.parametrize(("n", "seed"), TREES)
def test_gradients_agree_with_casadi(n: int, seed: int) -> None:
    model = random_model(n, seed)
    sites = random_sites(model, seed)
    rng = np.random.default_rng([seed, 16])
    (q, v), loads, w = rng.normal(size=(2, n)), rng.normal(size=12), rng.normal(size=2 * n)
    e = energies(model, sites)
    weights, fp = ca.SX.sym("w", 2 * n), e.f_and_p
    blocks, _ = ca.hessian(ca.dot(weights, fp), ca.vertcat(e.q, e.v))
    outputs = [e.kinetic, e.potential, e.Q, fp, ca.jacobian(fp, e.q), ca.jacobian(fp, e.v), blocks]
    function = ca.Function("f", [e.q, e.v, e.loads, weights], ca.cse([*map(ca.densify, outputs)]))
    T, V, Q, value, dq, dv, hessian = map(np.asarray, function(q, v, loads, w))
    forces = with_loads(sites, loads)

    found = dynamics.energy_gradients(model, q, v, forces=forces)
    assert worst(found.kinetic, T) <= FIRST
    assert worst(found.potential, V) <= FIRST
    assert worst(found.Q, Q) <= FIRST
    f = found.dT_dq - found.dV_dq + found.Q
    assert worst(np.concatenate([f, found.p]), value) <= FIRST
    d = dynamics.energy_gradients_derivatives(model, q, v, forces=forces)
    assert worst(np.concatenate([d.f, d.p]), value) <= FIRST
    assert worst(np.concatenate([d.df_dq, d.dp_dq]), dq) <= FIRST
    assert worst(np.concatenate([d.df_dv, d.dp_dv]), dv) <= FIRST
    h = dynamics.energy_gradients_hessian(model, q, v, w, forces=forces)
    assert worst(np.block([[h.qq, h.qv], [h.qv.T, h.vv]]), hessian) <= SECOND


@pytest.mark.parametrize(("n", "seed"), TREES[:SOON:3] + TREES[SOON : len(SMALL) : 4])
def test_discrete_equations_agree_with_casadi(n: int, seed: int) -> None:
    model = random_model(n, seed)
    sites = random_sites(model, seed)
    rng = np.random.default_rng([seed, 17])
    q, loads, w = rng.normal(size=(3, n)), rng.normal(size=(2, 12)), rng.normal(size=n)
    h = float(rng.uniform(0.5, 1.5))
    e = discrete_torques(model, sites)
    weights, x = ca.SX.sym("w", n), ca.vertcat(*e.nodes)
    outputs = [e.tau, ca.jacobian(e.tau, x), ca.hessian(ca.dot(weights, e.tau), x)[0]]
    function = ca.Function("f", [x, *e.loads, weights], ca.cse([*map(ca.densify, outputs)]))
    tau, jacobian, hessian = map(np.asarray, function(np.append(q, h), *loads, w))
    forces = with_loads(sites, loads)
    found = dynamics.discrete_inverse_dynamics(model, *q, h, forces=forces)
    assert worst(found, tau) <= FIRST
    check_partials(model, q, h, w, forces, jacobian, hessian)


def check_partials(
    model: Model,
    q: np.ndarray,
    h: float,
    w: np.ndarray,
    forces: list[ExternalForce],
    jacobian: np.ndarray,
    hessian: np.ndarray,
) -> None:
    d = dynamics.discrete_inverse_dynamics_derivatives(model, *q, h, forces=forces)
    assert worst(np.column_stack([d.dq0, d.dq1, d.dq2, d.dh]), jacobian) <= FIRST
    s = dynamics.discrete_inverse_dynamics_hessian(model, *q, h, w, forces=forces)
    none, edge = np.zeros_like(s.q0q0), np.concatenate([s.q0h, s.q1h, s.q2h])[:, None]
    blocks = np.block(
        [[s.q0q0, s.q0q1, none], [s.q0q1.T, s.q1q1, s.q1q2], [none, s.q1q2.T, s.q2q2]]
    )
    assert worst(np.block([[blocks, edge], [edge.T, s.hh]]), hessian) <= SECOND


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(k, marks=pytest.mark.verify) for k in range(3, 20))]
)
def test_coupled_joints_are_reduced_exactly(seed: int) -> None:
    """The Lagrangian of the coordinates in CasADi: that of the tree at its joints' states."""
    model = coupled_tree(seed)
    n = model.n
    sites = random_sites_of(model, seed)
    rng = np.random.default_rng([seed, 18])
    q, loads = rng.uniform(-1.5, 1.5, (3, n)), rng.normal(size=12)
    h, w = 0.8, rng.normal(size=2 * n)
    (x, v, _), full = joint_states(model)
    e = energies(model.expanded, sites)
    old, new = ca.vertcat(e.q, e.v), ca.vertcat(*full[:2])
    T, V, Q = ca.substitute([e.kinetic, e.potential, e.Q], [old], [new])
    Q = ca.jacobian(full[0], x).T @ Q
    fp = ca.vertcat(ca.gradient(T - V, x) + Q, ca.gradient(T, v))
    weights = ca.SX.sym("w", 2 * n)
    outputs = [fp, ca.jacobian(fp, x), ca.jacobian(fp, v)]
    outputs.append(ca.hessian(ca.dot(weights, fp), ca.vertcat(x, v))[0])
    function = ca.Function("f", [x, v, e.loads, weights], [*map(ca.densify, outputs)])
    value, dq, dv, hessian = map(np.asarray, function(q[0], q[1], loads, w))
    forces = with_loads(sites, loads)
    found = dynamics.energy_gradients(model, q[0], q[1], forces=forces)
    assert worst(np.append(found.dT_dq - found.dV_dq + found.Q, found.p), value) <= 10 * FIRST
    d = dynamics.energy_gradients_derivatives(model, q[0], q[1], forces=forces)
    assert worst(np.append(d.f, d.p), value) <= 10 * FIRST
    assert worst(np.concatenate([d.df_dq, d.dp_dq]), dq) <= 10 * FIRST
    assert worst(np.concatenate([d.df_dv, d.dp_dv]), dv) <= 10 * FIRST
    s = dynamics.energy_gradients_hessian(model, q[0], q[1], w, forces=forces)
    assert worst(np.block([[s.qq, s.qv], [s.qv.T, s.vv]]), hessian) <= SECOND

    nodes, step, tau = [ca.SX.sym(f"q{k}", n) for k in range(3)], ca.SX.sym("h"), 0
    for k, sign in enumerate((-1, 1)):
        middle = (nodes[k] + nodes[k + 1]) / 2, (nodes[k + 1] - nodes[k]) / step
        both = ca.substitute(fp, ca.vertcat(x, v), ca.vertcat(*middle))
        tau += sign * both[n:] / step - both[:n] / 2
    every = ca.vertcat(*nodes, step)
    outputs = [tau, ca.jacobian(tau, every), ca.hessian(ca.dot(weights[:n], tau), every)[0]]
    function = ca.Function("f", [every, e.loads, weights], [*map(ca.densify, outputs)])
    tau, jacobian, hessian = map(np.asarray, function(np.append(q, h), loads, w))
    assert worst(dynamics.discrete_inverse_dynamics(model, *q, h, forces=forces), tau) <= 10 * FIRST
    check_partials(model, q, h, w[:n], forces, jacobian, hessian)


def random_sites_of(model: Model, seed: int) -> list[ExternalForce]:
    rng = np.random.default_rng([seed, 19])
    point = rng.normal(size=3)
    return [
        ExternalForce("tool", np.zeros(3), point=point, frame="link"),
        ExternalForce(model.link_names[3], np.zeros(3), point=point[::-1]),
    ]


@pytest.mark.parametrize(
    "n", [40, *(pytest.param(n, marks=pytest.mark.verify) for n in (80, 100, 120))]
)
def test_large_trees_agree_with_complex_steps(n: int) -> None:
    """The kernels' source on complex numbers, one sample for each direction."""
    model = random_model(n, 2 * n)
    sites = random_sites(model, n)
    rng = np.random.default_rng([n, 20])
    x, loads, w = rng.normal(size=2 * n), rng.normal(size=12), rng.normal(size=2 * n)
    step = 1e-40
    inputs = x + 1j * step * np.eye(2 * n)
    forces = with_loads(sites, loads)
    for kernel in (ENERGY_GRADIENTS, ENERGY_GRADIENTS_DERIVATIVES):
        view = kernel.view(model)
        packed, _ = pack_forces(model, view, forces)
        ins = (inputs[:, :n], inputs[:, n:], np.tile(loads, (2 * n, 1)))
        outs = kernel.plain(view, packed, ins, np.complex128)
        if kernel is ENERGY_GRADIENTS:
            d = dynamics.energy_gradients_derivatives(model, x[:n], x[n:], forces=forces)
            exact = np.block([[d.df_dq, d.df_dv], [d.dp_dq, d.dp_dv]])
            assert worst(exact, outs[0].imag.T / step) <= FIRST
        else:
            parts = [
                f.unpacked(y).imag / step for f, y in zip(kernel.fields(view), outs, strict=True)
            ]
            rows = [np.einsum("i,bij->bj", w, y.reshape(-1, 2 * n, n)) for y in parts[1:]]
            s = dynamics.energy_gradients_hessian(model, x[:n], x[n:], w, forces=forces)
            exact = np.block([[s.qq, s.qv], [s.qv.T, s.vv]])
            assert worst(exact, np.concatenate(rows, axis=1)) <= FIRST


@pytest.mark.parametrize("seed", range(4))
def test_equations_of_motion_are_those_of_inverse_dynamics(seed: int) -> None:
    """tau = dp/dt - f, with dp/dt = M a + (dp/dq) v."""
    model = random_model(9, seed)
    rng = np.random.default_rng([seed, 21])
    (q, v, a), loads = rng.normal(size=(3, 7, 9)), rng.normal(size=(7, 12))
    forces = with_loads(random_sites(model, seed), loads)
    d = dynamics.energy_gradients_derivatives(model, q, v, forces=forces)
    rate = np.einsum("bij,bj->bi", d.dp_dv, a) + np.einsum("bij,bj->bi", d.dp_dq, v)
    tau = dynamics.inverse_dynamics(model, q, v, a, forces=forces)
    assert worst(rate - d.f, tau) <= 1e-14
    found = dynamics.energy_gradients(model, q, v, forces=forces)
    assert worst(found.kinetic, dynamics.kinetic_energy(model, q, v)) <= 1e-14
    assert worst(found.potential, dynamics.potential_energy(model, q)) <= 1e-14


def test_discrete_torques_approach_inverse_dynamics_with_order_two() -> None:
    model = random_model(5, 3)
    rng = np.random.default_rng(22)
    q, v, a, jerk = rng.normal(size=(4, 5))
    tau = dynamics.inverse_dynamics(model, q, v, a)
    errors = []
    for h in (2e-2, 1e-2):
        before, after = (q + t * v + t**2 / 2 * a + t**3 / 6 * jerk for t in (-h, h))
        found = dynamics.discrete_inverse_dynamics(model, before, q, after, h)
        errors.append(np.abs(found - tau).max())
    assert 3.8 < errors[0] / errors[1] < 4.2


def test_batches_broadcast_and_forces_may_differ_between_intervals() -> None:
    model = models.random_tree(4, 1)
    rng = np.random.default_rng(23)
    q0, q1, q2 = rng.normal(size=(3, 6, 4))
    h, push = rng.uniform(0.5, 1.0, (3, 1)), rng.normal(size=(2, 3, 6, 3))
    site = ExternalForce("l3", push, point=(0.1, 0.2, 0.3))
    tau = dynamics.discrete_inverse_dynamics(model, q0, q1, q2, h, forces=[site])
    assert tau.shape == (3, 6, 4)
    one = dynamics.discrete_inverse_dynamics(
        model, q0[4], q1[4], q2[4], h[2, 0], forces=[replace(site, force=push[:, 2, 4])]
    )
    np.testing.assert_allclose(tau[2, 4], one, rtol=0, atol=1e-14 * np.abs(one).max())
    same = dynamics.discrete_inverse_dynamics(
        model, q0, q1, q2, 0.5, forces=[replace(site, force=push[0, 0])]
    )
    twice = np.stack([push[0, 0], push[0, 0]])
    again = dynamics.discrete_inverse_dynamics(
        model, q0, q1, q2, 0.5, forces=[replace(site, force=twice)]
    )
    assert np.array_equal(same, again)


def test_bad_steps_and_forces_are_refused_by_name() -> None:
    model = models.random_tree(3, 1)
    q = np.zeros((3, 5, 3))
    with pytest.raises(InputError, match="h: expected positive numbers, got 0"):
        dynamics.discrete_inverse_dynamics(model, *q, 0.0)
    with pytest.raises(InputError, match="h: expected finite numbers"):
        dynamics.discrete_inverse_dynamics_derivatives(model, *q, np.nan)
    push = ExternalForce("l1", np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"forces\[0\]: .* broadcast with \(2, 5, 3\)"):
        dynamics.discrete_inverse_dynamics(model, *q, 0.1, forces=[push])
    with pytest.raises(InputError, match=r"weights: expected shape \(\.\.\., 6\)"):
        dynamics.energy_gradients_hessian(model, q[0], q[1], q[2])

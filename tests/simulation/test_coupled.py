"""Simulations of coupled models, against closed forms and energy."""

from __future__ import annotations

import numpy as np
import pytest

from coupled_trees import coupled_tree
from predyn import ModelBuilder, simulate

T = np.linspace(0.0, 2.0, 41)


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
def test_a_gear_train_accelerates_like_one_wheel(method: str) -> None:
    """Two wheels on the world, the second turns -3 times as fast: I = I1 + 9 I2."""
    builder = ModelBuilder("gears")
    builder.add_link("pinion", mass=1.0, inertia=(0.1, 0.1, 0.2))
    builder.add_link("wheel", origin=(1.0, 0.0, 0.0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = builder.couple("wheel_joint", "pinion_joint", (-3.0, 0.7)).build()
    run = simulate(model, [0.1], [0.2], [2.2], T, method=method)
    a = 2.2 / (0.2 + 9.0 * 0.1)
    # the solution is a parabola, which both methods follow to rounding errors
    np.testing.assert_allclose(run.q[:, 0], 0.1 + 0.2 * T + 0.5 * a * T**2, rtol=1e-12)
    np.testing.assert_allclose(run.a[:, 0], a, rtol=1e-12)


def test_energy_is_kept_without_friction() -> None:
    """Gravity and curves: the adaptive method keeps each step's error below 1e-10 of the state."""
    model = coupled_tree(5, forces=False)
    q = np.full(model.n, 0.2)
    run = simulate(model, q, 0.0 * q, 0.0 * q, np.linspace(0.0, 0.5, 11), rtol=1e-10, atol=1e-10)
    assert run.status == "finished"
    swing = np.ptp(run.energy)
    assert swing < 1e-10 * 2000 * np.abs(run.energy).max()
    fixed = simulate(model, q, 0.0 * q, 0.0 * q, np.linspace(0.0, 0.5, 1001), method="rk4")
    np.testing.assert_allclose(fixed.q[-1], run.q[-1], atol=1e-6)


def test_a_batch_is_simulated_at_once() -> None:
    model = coupled_tree(5)
    q = np.random.default_rng(0).uniform(-0.5, 0.5, (3, model.n))
    rest = np.zeros(model.n)
    both = simulate(model, q, rest, rest, T[:5], method="rk4", step=0.01)
    for k in range(3):
        alone = simulate(model, q[k], rest, rest, T[:5], method="rk4", step=0.01)
        np.testing.assert_allclose(both.q[k], alone.q, rtol=1e-9, atol=1e-12)

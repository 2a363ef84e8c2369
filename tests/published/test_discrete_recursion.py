"""The recursion of the thesis against the kernels, to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from coupled_trees import coupled_tree
from predyn import dynamics
from predyn.errors import InputError, ModelError
from predyn.published.discrete_recursion import discrete_recursion_residual, kinetic_sensitivities
from random_trees import random_model

EPS = np.finfo(float).eps
TREES = [(1 + seed % 12, seed) for seed in range(24)]


def rounding(n: int) -> float:
    """Relative tolerance for a recursion over n links, each of a few dozen operations."""
    return 64 * (n + 1) * EPS


def assert_close(n: int, got: np.ndarray, expected: np.ndarray) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= rounding(n) * max(np.abs(expected).max(), 1.0)


@pytest.mark.parametrize(("n", "seed"), TREES)
def test_recursion_agrees_with_the_kernels(n: int, seed: int) -> None:
    model = random_model(n, seed)
    rng = np.random.default_rng([seed, 24])
    q0, q1, q2, u0, u1 = rng.normal(size=(5, 3, n))
    found = dynamics.energy_gradients(model, q0, q1)
    mine = kinetic_sensitivities(model, q0, q1)
    for x, y in zip(mine, (found.p, found.dT_dq, found.dV_dq), strict=True):
        assert_close(n, x, y)
    h = rng.uniform(0.5, 1.0, 3)
    residual = discrete_recursion_residual(model, q0, q1, q2, h, u0, u1)
    tau = dynamics.discrete_inverse_dynamics(model, q0, q1, q2, h)
    assert_close(n, residual / h[:, None], (u0 + u1) / 2 - tau)


def test_multipliers_act_through_the_jacobian() -> None:
    """A loop closed at the tip: the force h lambda acts there at the node q1."""
    model = random_model(5, 2)
    rng = np.random.default_rng(25)
    q, force, h = rng.normal(size=(3, 5)), rng.normal(size=3), 0.3
    Phi = dynamics.frame_kinematics_derivatives(model, "l4", q[1]).jacobian[3:]
    still = np.zeros(5)
    free = discrete_recursion_residual(model, *q, h, still, still)
    held = discrete_recursion_residual(
        model, *q, h, still, still, multipliers=h * force, jacobian=Phi
    )
    push = dynamics.ExternalForce("l4", force)
    rest = dynamics.inverse_dynamics(model, q[1], still, still)
    with_push = dynamics.inverse_dynamics(model, q[1], still, still, forces=[push])
    assert_close(5, held - free, h * (rest - with_push))


def test_what_it_does_not_support_is_refused_by_name() -> None:
    model = coupled_tree(1)
    q = np.zeros((5, model.n))
    with pytest.raises(ModelError, match="use discrete_inverse_dynamics"):
        discrete_recursion_residual(model, *q[:3], 0.1, *q[3:])
    model = random_model(2, 0)
    q = np.zeros((5, 2))
    with pytest.raises(InputError, match="both or none"):
        discrete_recursion_residual(model, *q[:3], 0.1, *q[3:], multipliers=[1.0])
    with pytest.raises(InputError, match="h: expected positive numbers, got -1"):
        discrete_recursion_residual(model, *q[:3], -1.0, *q[3:])

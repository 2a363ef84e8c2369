"""The position of a mechanism does not change its dynamics, even far from the origin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from predyn import ExternalForce, dynamics
from predyn.models import random_tree

AWAY = np.array([1100.0, -700.0, 300.0])


def moved(model: predyn.Model) -> predyn.Model:
    """The whole mechanism, moved; it has one root."""
    assert np.sum(model.parent < 0) == 1
    p = model.p.copy()
    p[model.parent < 0] += AWAY
    return replace(model, p=p)


@pytest.mark.parametrize("seed", range(4))
def test_dynamics_do_not_depend_on_the_position(seed: int) -> None:
    model = random_tree(8, seed=seed)
    rng = np.random.default_rng(seed)
    q, v, a = rng.standard_normal((3, 20, model.n))
    link = model.link_names[-1]
    forces = [ExternalForce(link, (3.0, -2.0, 1.0), (0.5, 1.0, -1.0), (0.1, 0.2, 0.3))]
    active = rng.random(model.n) < 0.5

    def results(model: predyn.Model) -> list[np.ndarray]:
        tau, *partials = predyn.inverse_dynamics_derivatives(model, q, v, a, forces=forces)
        found = [tau, *partials, predyn.joint_reactions(model, q, v, a, forces=forces)]
        found += [predyn.mass_matrix(model, q), dynamics.torque_regressor(model, q, v, a)]
        found += predyn.hybrid_dynamics(model, q, v, a, tau, active, forces=forces)
        found.append(dynamics.placement_sensitivity(model, q, v, a))
        return found

    for near, far in zip(results(model), results(moved(model)), strict=True):
        np.testing.assert_array_equal(far, near)


def test_energy_depends_on_the_position() -> None:
    model = random_tree(5, seed=1)
    q = np.random.default_rng(1).standard_normal(model.n)
    change = dynamics.potential_energy(moved(model), q) - dynamics.potential_energy(model, q)
    assert change == pytest.approx(-model.inertia[:, 0].sum() * model.gravity @ AWAY, rel=1e-12)

"""Reachable speeds beside linear programs of SciPy, and speed bounds beside the velocity limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import predyn
from planning.random_paths import random_case
from predyn.planning.path_rows import DENSE, grid_of, speed_bounds
from predyn.planning.path_torques import without_friction
from predyn.planning.paths import path_of
from predyn.planning.reachable_speeds import inner_profile, reachable

N, M = 4, 5


def random_rows(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows, upper bounds and the last b; some leave nothing."""
    rng = np.random.default_rng([seed, 8])
    rows = np.zeros((N, M, 5))
    rows[..., :2] = rng.normal(size=(N, M, 2))
    rows[..., 4] = rng.uniform(-0.15, 1.5, (N, M))
    return rows, rng.uniform(0.5, 3.0, N + 1), float(rng.choice([0.0, 0.4]))


def feasible_range(rows: np.ndarray, upper: np.ndarray, last: float) -> tuple[float, float] | None:
    """Range of the first b over all profiles, from one linear program for each end."""
    A, bound = np.zeros((N * M, N + 1)), rows[..., 4].ravel()
    for k in range(N):
        A[k * M : (k + 1) * M, k : k + 2] = rows[k, :, :2]
    bounds = [(0.0, x) for x in upper[:-1]] + [(last, last)]
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(sign * np.eye(N + 1)[0], A_ub=A, b_ub=bound, bounds=bounds)
        if found.status == 2:
            return None
        ends.append(float(found.x[0]))
    return ends[0], ends[1]


def test_sets_are_those_of_linear_programs() -> None:
    blocked = 0
    for seed in range(100):
        rows, upper, last = random_rows(seed)
        ours, theirs = reachable(rows, upper, last), feasible_range(rows, upper, last)
        assert (ours.blocked is None) == (theirs is not None), seed
        if theirs is None:
            blocked += 1
        else:
            np.testing.assert_allclose(ours.sets[0], theirs, atol=1e-8)
    assert 20 < blocked < 80


def test_profiles_keep_their_margin() -> None:
    found = 0
    for seed in range(100):
        rows, upper, last = random_rows(seed)
        reach = reachable(rows, upper, last, 0.01)
        if reach.blocked is not None:
            continue
        first = float(reach.sets[0].mean())
        b = inner_profile(rows, upper, first, last, (0.01,))
        if b is not None:
            found += 1
            used = rows[..., 0] * b[:-1, None] + rows[..., 1] * b[1:, None]
            assert (rows[..., 4] - used).min() > 0.01 - 1e-9
            assert (b[1:-1] > 0.0).all()
    assert found > 20


@pytest.mark.parametrize("seed", range(12))
def test_speed_bounds_hold_between_nodes(seed: int) -> None:
    """The line between the bounds keeps all velocity limits, and nearly reaches them."""
    case = random_case(seed)
    model = case.model.with_limits(velocity=np.linspace(1.0, 2.0, case.model.n))
    path = path_of(model, case.path, "cubic")
    u = path.grid(300, np.zeros(model.n, dtype=bool))
    upper = speed_bounds(model, grid_of(model, without_friction(model), path, u))
    dense = np.interp(np.arange(300 * DENSE) / (300 * DENSE), np.arange(len(u)) / (len(u) - 1), u)
    slope = path.at(dense, 1)[1]
    speed = np.abs(slope) * np.sqrt(np.interp(dense, u, upper))[:, None]
    use = (speed / model.limits.velocity[:, 1]).max(axis=1)
    assert use.max() < 1.0 + 1e-4
    assert np.median(use) > 0.98


def test_contradicting_limits_are_named() -> None:
    """Nothing can stop that may only speed up."""
    model = predyn.models.two_link().with_limits(
        position=np.inf, effort=100.0, acceleration=[[0.5, 1.0], [-5.0, 5.0]]
    )
    result = predyn.retime(model, [[0.0, 0.0], [1.0, 1.0]])
    assert result.status == "infeasible"
    assert "acceleration limit 0.5 of joint 'joint1'" in result.message
    assert "contradicts" in result.message


def test_end_speed_that_cannot_be_reached() -> None:
    model = predyn.models.two_link().with_limits(position=np.inf, effort=4.0, velocity=np.inf)
    with pytest.raises(predyn.InputError, match="end_speed: 40 cannot be reached"):
        predyn.retime(model, [[0.0, 0.0], [1.0, 1.0]], end_speed=40.0)

"""Least squares with zero rows against dense saddle points.

Tolerance: the factor errs by eps of the matrix, what comes from it by that times its condition,
with rows and columns scaled, which changes nothing in the factor's relative errors.
"""

from __future__ import annotations

import numpy as np
import pytest

from estimate.test_band import lower
from predyn.estimate import zero_torques
from predyn.estimate.spline_grid import TOUCHED

EPS = float(np.finfo(float).eps)
SHAPES = [(1, 1, 3, 4), (3, 1, 3, 7), (4, 2, 4, 6), (6, 3, 5, 9), (5, 4, 3, 12), (7, 6, 5, 8)]


class Case:
    """n unknowns a block, `zeros` rows of zero an interval; H touches `across` blocks."""

    def __init__(self, n: int, zeros: int, across: int, count: int) -> None:
        rng = np.random.default_rng([n, zeros, across])
        blocks = count + TOUCHED - 1
        self.n, self.zeros, self.size = n, zeros, blocks * n
        H = np.eye(self.size)
        for k in range(blocks - across + 1):
            J = np.zeros((2 * n, self.size))
            J[:, k * n : (k + across) * n] = rng.standard_normal((2 * n, across * n))
            H += J.T @ J
        self.dense, self.H = H, lower(H, across * n)
        self.g, self.free = rng.standard_normal(self.size), rng.standard_normal((count, zeros))
        self.G = rng.standard_normal((count, zeros, TOUCHED * n))
        self.rows = np.zeros((count * zeros, self.size))
        for k in range(count):
            self.rows[k * zeros : (k + 1) * zeros, k * n : (k + TOUCHED) * n] = self.G[k]
        nothing = np.zeros((len(self.rows), len(self.rows)))
        self.saddle = np.block([[H, self.rows.T], [self.rows, nothing]])

    @property
    def rounding(self) -> float:
        return 8 * len(self.saddle) * EPS * float(np.linalg.cond(self.saddle))


@pytest.fixture(params=SHAPES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(*request.param)


def test_step_and_multipliers(case: Case) -> None:
    wanted = np.linalg.solve(case.saddle, -np.concatenate((case.g, case.free.ravel())))
    found = zero_torques.solution(case.H, case.g, case.G, case.free)
    assert found is not None
    whole = np.concatenate((found.step, found.multipliers.ravel()))
    assert np.abs(whole - wanted).max() < case.rounding * np.abs(wanted).max()


def test_covariances_and_determinant(case: Case) -> None:
    found = zero_torques.solution(case.H, case.g, case.G, case.free)
    assert found is not None
    C = zero_torques.covariances(found.L, case.n, case.zeros)
    wanted = np.linalg.inv(case.saddle)[: case.size, : case.size]
    band = C.shape[1] // 2
    assert band == case.H.shape[1] - 1
    for j in range(case.size):
        for k in range(-band, band + 1):
            exact = wanted[j, j + k] if 0 <= j + k < case.size else 0.0
            assert abs(C[j, band + k] - exact) < case.rounding * np.abs(wanted).max()
    assert 2 * np.log(found.L[:, 0]).sum() == pytest.approx(
        np.linalg.slogdet(case.saddle)[1], abs=case.rounding
    )


def test_a_penalty_does_not_change_the_solution(case: Case) -> None:
    """Where rows are zero, their cost is zero."""
    dense = case.dense + 3.0 * case.rows.T @ case.rows
    g = case.g + 3.0 * case.rows.T @ case.free.ravel()
    n, across = case.n, max(TOUCHED, case.H.shape[1] // case.n)
    plain = zero_torques.solution(lower(case.dense, across * n), case.g, case.G, case.free)
    held = zero_torques.solution(lower(dense, across * n), g, case.G, case.free)
    assert plain is not None
    assert held is not None
    large = max(np.abs(plain.step).max(), np.abs(plain.multipliers).max())
    loss = (case.rounding + 8 * EPS * len(dense) * np.linalg.cond(dense)) * large
    assert np.abs(plain.step - held.step).max() < loss
    assert np.abs(plain.multipliers - held.multipliers).max() < loss * 3.0


@pytest.mark.parametrize("rate", [0.2, 1.0, 5.0])
def test_motions_that_decay_or_grow(rate: float) -> None:
    """x_{k+1} = rate x_k, driven a little, over 300 steps: 5^300 overflows when squared."""
    count, n = 300, 2
    rng = np.random.default_rng(2)
    blocks = count + TOUCHED - 1
    data = rng.standard_normal((blocks, n))
    H, G = np.zeros((blocks * n, 3 * n)), np.zeros((count, 1, TOUCHED * n))
    H[:, 0] = 1.0
    G[:, 0, 0], G[:, 0, n], G[:, 0, 1] = -rate, 1.0, 0.3
    found = zero_torques.solution(H, -data.ravel(), G, np.zeros((count, 1)))
    assert found is not None
    x = found.step.reshape(blocks, n)
    lack = x[1 : count + 1, 0] - rate * x[:count, 0] + 0.3 * x[:count, 1]
    assert np.abs(lack).max() < 1e-12 * np.abs(data).max()
    rows = np.zeros((count, blocks * n))
    for k in range(count):
        rows[k, k * n : (k + TOUCHED) * n] = G[k, 0]
    Z = np.linalg.qr(rows.T, mode="complete")[0][:, count:]
    C = Z @ Z.T  # H is 1
    assert np.abs(found.step - C @ data.ravel()).max() < 1e-10
    variances = zero_torques.covariances(found.L, n, 1)[:, 3 * n - 1]
    assert np.abs(variances - np.diagonal(C)).max() < 1e3 * zero_torques.SLACKS[-1]


def test_dependent_rows_have_no_solution() -> None:
    case = Case(3, 2, 3, 5)
    case.G[:, 1] = case.G[:, 0]
    found = zero_torques.solution(case.H, case.g, case.G, case.free)
    assert found is None or np.abs(found.multipliers).max() > 1e6
    negative = -np.abs(case.H)
    assert zero_torques.solution(negative, case.g, case.G, case.free) is None

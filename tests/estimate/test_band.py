"""Band algebra against dense NumPy on random rows.

Tolerances. A sum of m products errs by at most m eps/2 of the sum of their sizes, in the band and
in NumPy alike. A Cholesky factor is that of a matrix within (band + 1) eps |L||L'| of H
(Higham, Accuracy and Stability, theorem 10.3); what is made from it errs by that times cond(H).
"""

from __future__ import annotations

import numpy as np
import pytest

from predyn.estimate import band

EPS = float(np.finfo(float).eps)
# block, blocks a row, more blocks: sizes odd and even
SHAPES = [(1, 1, 5), (1, 3, 6), (3, 3, 4), (2, 3, 8), (3, 4, 20), (6, 5, 12), (20, 3, 4)]


class Rows:
    """Rows that touch `across` neighbouring blocks of n, two of each kind a block, with weights."""

    def __init__(self, n: int, across: int, more: int) -> None:
        rng = np.random.default_rng([n, across])
        width, count = n * across, 2 * n
        self.size = n * (across + more)
        self.first = np.repeat(n * np.arange(more + 1), count)
        self.J = rng.standard_normal((len(self.first), width))
        self.J[rng.random(self.J.shape) < 0.2] = 0.0
        self.value = rng.standard_normal(len(self.first))
        self.weight = 10.0 ** rng.uniform(-1.0, 1.0, len(self.first))
        self.dense = np.zeros((len(self.first), self.size))
        for r, at in enumerate(self.first):
            self.dense[r, at : at + width] = self.J[r]
        self.width = width
        self.H = self.dense.T * self.weight @ self.dense + np.eye(self.size)
        self.g = self.dense.T @ (self.weight * self.value)

    def band(self) -> tuple[np.ndarray, np.ndarray]:
        H, g = np.zeros((self.size, self.width)), np.zeros(self.size)
        H[:, 0] = 1.0
        band.add_rows(self.first, self.J, self.value, self.weight, H, g)
        return H, g

    @property
    def cond(self) -> float:
        return float(np.linalg.cond(self.H))


def lower(dense: np.ndarray, width: int) -> np.ndarray:
    """Dense lower triangle in the storage of band.py, zeros below its end."""
    size = len(dense)
    out = np.zeros((size, width))
    for k in range(min(width, size)):
        out[: size - k, k] = np.diagonal(dense, -k)
    return out


@pytest.fixture(params=SHAPES, ids=str)
def rows(request: pytest.FixtureRequest) -> Rows:
    return Rows(*request.param)


def test_normal_equations(rows: Rows) -> None:
    H, g = rows.band()
    sizes = np.abs(rows.dense).T * rows.weight @ np.abs(rows.dense) + np.eye(rows.size)
    many = 2 * len(rows.first) * EPS
    assert np.all(np.abs(H - lower(rows.H, rows.width)) <= many * lower(sizes, rows.width))
    products = np.abs(rows.dense).T @ (rows.weight * np.abs(rows.value))
    assert np.all(np.abs(g - rows.g) <= many * products)


def test_rows_are_added_to_existing_values(rows: Rows) -> None:
    H, g = rows.band()
    once_H, once_g = H.copy(), g.copy()
    band.add_rows(rows.first, rows.J, rows.value, rows.weight, H, g)
    once_H[:, 0] -= 0.5  # the identity is there once only
    size = np.abs(once_H).max()
    assert np.abs(H - 2 * once_H).max() <= 4 * len(rows.first) * EPS * size
    size = (np.abs(rows.dense).T @ (rows.weight * np.abs(rows.value))).max()
    assert np.abs(g - 2 * once_g).max() <= 4 * len(rows.first) * EPS * size


def test_products(rows: Rows) -> None:
    rng = np.random.default_rng(1)
    x, z = rng.standard_normal(rows.size), rng.standard_normal(len(rows.first))
    found = band.product(rows.first, rows.J, x)
    assert np.all(
        np.abs(found - rows.dense @ x) <= 2 * rows.width * EPS * (np.abs(rows.dense) @ np.abs(x))
    )
    start = rng.standard_normal(rows.size)
    g = start.copy()
    band.add_transposed(rows.first, rows.J, z, g)
    sizes = np.abs(rows.dense).T @ np.abs(z) + np.abs(start)
    assert np.all(np.abs(g - start - rows.dense.T @ z) <= 2 * len(z) * EPS * sizes)


def test_factor_and_solution(rows: Rows) -> None:
    H, g = rows.band()
    kept = H.copy()
    L = band.factored(H)
    assert L is not None
    assert np.array_equal(H, kept)
    dense = np.linalg.cholesky(rows.H)
    few = 4 * (rows.width + 1) * EPS * rows.cond
    inside = lower(np.ones((rows.size, rows.size)), rows.width) > 0
    assert np.abs((L - lower(dense, rows.width))[inside]).max() <= few * np.abs(dense).max()
    x = band.solved(L, g)
    exact = np.linalg.solve(rows.H, rows.g)
    assert np.linalg.norm(x - exact) <= few * np.linalg.norm(exact)


def test_covariances_within_the_band(rows: Rows) -> None:
    L = band.factored(rows.band()[0])
    C = band.covariances(L)
    exact = np.linalg.inv(rows.H)
    reach = rows.width - 1
    wanted = np.zeros_like(C)
    for k in range(-reach, reach + 1):
        j = np.arange(max(0, -k), min(rows.size, rows.size - k))
        wanted[j, reach + k] = exact[j, j + k]
    few = 4 * (rows.width + 1) * EPS * rows.cond
    assert C.shape == (rows.size, 2 * reach + 1)
    assert np.abs(C - wanted).max() <= few * np.abs(exact).max()


def test_variances_of_rows(rows: Rows) -> None:
    C = band.covariances(band.factored(rows.band()[0]))
    found = band.variances(rows.first, rows.J, C)
    exact = np.einsum("ri,ij,rj->r", rows.dense, np.linalg.inv(rows.H), rows.dense)
    narrow = np.zeros_like(rows.J)
    narrow[:, : rows.width // 2 + 1] = rows.J[:, : rows.width // 2 + 1]
    few = 4 * (rows.width + 1) * EPS * rows.cond
    sizes = (rows.J**2).sum(axis=1) * np.linalg.norm(np.linalg.inv(rows.H), 2)
    assert np.all(np.abs(found - exact) <= few * sizes)
    short = band.variances(rows.first, np.ascontiguousarray(narrow[:, : rows.width // 2 + 1]), C)
    assert np.all(np.abs(short - band.variances(rows.first, narrow, C)) <= few * sizes)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_rows_of_samples(n: int) -> None:
    """Slopes in the positions of a sample's time, none to four rows a sample, as rows of blocks."""
    rng = np.random.default_rng(n)
    interval = np.sort(rng.integers(0, 7, 25))
    basis = rng.random((25, 3))
    start = np.concatenate(([0], np.cumsum(rng.integers(0, 5, 25))))
    sample = np.repeat(np.arange(25), np.diff(start))
    J = rng.standard_normal((len(sample), n))
    J[rng.random(J.shape) < 0.3] = 0.0
    value, weight = rng.standard_normal((2, len(sample)))
    weight = weight**2
    wide = np.ascontiguousarray((basis[sample, :, None] * J[:, None, :]).reshape(-1, 3 * n))
    first, size, reach = n * interval[sample], 9 * n, 4 * n
    room = np.empty((n, n)), np.empty(n)
    H, g = np.ones((size, reach)), np.ones(size)
    band.add_samples(interval, basis, start, J, value, weight, H, g, *room)
    dense = np.zeros((len(sample), size))
    for r, at in enumerate(first):
        dense[r, at : at + 3 * n] = wide[r]
    sizes = np.abs(dense).T * weight @ np.abs(dense)
    many = 4 * len(sample) * EPS
    exact = lower(dense.T * weight @ dense, reach)
    assert np.all(np.abs(H - 1.0 - exact) <= many * (1.0 + lower(sizes, reach)))
    exact = dense.T @ (weight * value)
    assert np.all(
        np.abs(g - 1.0 - exact) <= many * (1.0 + np.abs(dense).T @ np.abs(weight * value))
    )
    x, out = rng.standard_normal(size), np.empty(len(sample))
    band.samples_times(interval, basis, start, J, x, room[1], out)
    assert np.all(np.abs(out - dense @ x) <= 6 * n * EPS * (np.abs(dense) @ np.abs(x)))
    whole = dense.T * weight @ dense + np.eye(size)
    C = band.covariances(band.factored(lower(whole, reach)))
    band.sample_variances(interval, basis, start, J, C, *room, out)
    exact = np.einsum("ri,ij,rj->r", dense, np.linalg.inv(whole), dense)
    loss = 4 * reach * EPS * np.linalg.cond(whole) * (dense**2).sum(axis=1)  # inv(whole) < 1
    assert np.all(np.abs(out - exact) <= loss)


def test_an_indefinite_matrix_has_no_factor() -> None:
    rows = Rows(2, 3, 8)
    H, _ = rows.band()
    H[5, 0] = -1.0
    assert band.factored(H) is None
    assert band.factored(np.zeros_like(H)) is None

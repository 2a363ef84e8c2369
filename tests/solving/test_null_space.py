"""The null-space method for KKT systems."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.solving.null_space import NullSpace


def test_null_space_method() -> None:
    """Against a dense solve; dependent rows are found, and flat directions left alone."""
    rng = np.random.default_rng(3)
    M = rng.normal(size=(9, 9))
    W = M @ M.T
    A = rng.normal(size=(4, 9))
    r, b = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    K = np.block([[W, A.T], [A, np.zeros((4, 4))]])
    wanted = np.linalg.solve(K, np.concatenate([r, b]))
    factors = NullSpace(W, A, 1e-10)
    dx, dy = factors.solve(r, b)
    assert dx == pytest.approx(wanted[:9], abs=1e-10)
    assert dy == pytest.approx(wanted[9:][factors.independent], abs=1e-10)
    assert not factors.related.any()
    twice = NullSpace(W, np.concatenate([A, A[:1] + A[1:2]]), 1e-10)
    again, _ = twice.solve(r, np.concatenate([b, b[:1] + b[1:2]]))
    assert again == pytest.approx(dx, abs=1e-10)
    assert twice.related.tolist() == [True, True, False, False, True]
    assert factors.spans(A[:1] / np.linalg.norm(A[0])).all()
    flat = NullSpace(np.diag([1.0, 1.0, 0.0]), np.array([[1.0, 0.0, 0.0]]), 1e-10)
    assert np.abs(flat.flat.T) == pytest.approx(np.array([[0.0, 0.0, 1.0]]))
    assert NullSpace(np.diag([1.0, -1.0]), np.zeros((0, 2)), 1e-10).is_indefinite
    assert not factors.is_indefinite

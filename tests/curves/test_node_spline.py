"""Differences of nodes: exact for cubics, in every interval and at the ends."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.curves.node_spline import NodeSpline


@pytest.mark.parametrize(("degree", "steps"), [(1, 2), (1, 7), (2, 1), (2, 5)])
def test_differences_are_exact_for_cubics(degree: int, steps: int) -> None:
    spline = NodeSpline(degree, steps)
    cubic = np.polynomial.Polynomial(np.random.default_rng(steps).normal(size=4))
    slope = cubic.deriv()
    control = np.concatenate([[slope(0.0)], cubic(spline.breaks), [slope(1.0)]])
    s = np.unique(np.concatenate([np.linspace(0.0, 1.0, 23), spline.breaks]))
    basis, first = spline.differences(s)
    near = control[first[:, None] + np.arange(4)]
    for order in range(4):
        value = np.einsum("kp,kp->k", basis[:, order], near)
        exact = cubic.deriv(order)(s) if order else cubic(s)
        size = np.abs(basis[:, order]).sum(axis=1).max() * np.abs(control).max()
        assert np.abs(value - exact).max() <= 1e-14 * size


def test_differences_touch_one_node_only_where_they_are_its_position() -> None:
    spline = NodeSpline(1, 6)
    basis, first = spline.differences(spline.breaks)
    touched = [(first[k] + np.flatnonzero(basis[k, 0])).tolist() for k in range(7)]
    assert touched == [[k + 1] for k in range(7)]
    assert np.flatnonzero(basis[0, 1]).tolist() == [0]  # the slope of the start
    assert (first[-1] + np.flatnonzero(basis[-1, 1])).tolist() == [8]

"""A spline and its derivatives at many instants, compiled, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline as SciPySpline

from predyn.curves.bspline import SNAP, BSpline
from predyn.curves.derivative_spline import derivative_spline
from predyn.solution import Curve
from predyn.transcribe.curve_states import ORDERS, curve_states

EPS = np.finfo(float).eps
BREAKS = np.array([0.0, 0.2, 0.25, 0.7, 1.0])


def splines(degree: int) -> list[BSpline]:
    """Clamped, with repeated knots, and with knots outside the domain."""
    times = np.array([degree + 1, degree, 1, min(2, degree), degree + 1])
    clamped = BSpline.clamped(degree, breaks=BREAKS)
    return [clamped, BSpline(degree, np.repeat(BREAKS, times)), BSpline.uniform(degree, 6)]


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_states_against_scipy(degree: int) -> None:
    rng = np.random.default_rng(degree)
    T = 1.7
    for spline in splines(degree):
        control = rng.normal(size=(spline.n_control, 3))
        inside = rng.uniform(size=60)
        inside = inside[np.abs(inside[:, None] - spline.breaks).min(axis=1) > 1e-6]
        s = np.concatenate([inside, spline.breaks[:-1]])  # at a knot: the segment that begins there
        found = curve_states(Curve(degree, spline.knots, control, T), s)
        curve = SciPySpline(spline.knots, control, degree)
        for order in range(ORDERS):
            if order > degree:
                assert (found[order] == 0.0).all()
                continue
            size = np.abs(derivative_spline(spline, control, order).control).max() / T**order
            expected = curve(s, nu=order) / T**order
            np.testing.assert_allclose(found[order], expected, atol=1e3 * EPS * size, rtol=0.0)


def test_an_instant_within_roundings_of_a_knot_is_the_knot() -> None:
    rng = np.random.default_rng(1)
    spline = splines(3)[1]  # its second derivative jumps at 0.2
    curve = Curve(3, spline.knots, rng.normal(size=(spline.n_control, 2)), 1.0)
    at, before, after = curve_states(curve, 0.2 + np.array([0.0, -0.9, 0.9]) * SNAP).swapaxes(0, 1)
    np.testing.assert_array_equal(before, at)
    np.testing.assert_array_equal(after, at)
    outside = curve_states(curve, np.array([0.2 - 4.0 * SNAP]))[2, 0]
    assert np.abs(outside - at[2]).max() > 1.0


def test_not_finite_control_points_stay_local() -> None:
    spline = BSpline.clamped(3, 8)
    control = np.ones((spline.n_control, 2))
    control[1, 0] = np.nan
    found = curve_states(Curve(3, spline.knots, control, 1.0), np.array([0.05, 0.9]))
    assert np.isnan(found[:, 0, 0]).all()
    assert np.isfinite(found[:, 0, 1]).all()
    assert np.isfinite(found[:, 1]).all()

"""Exact extrema of splines and their derivatives, against dense sampling by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline as SciPySpline

from predyn.curves.bspline import BSpline
from predyn.curves.derivative_spline import DerivativeSpline, derivative_spline
from predyn.transcribe.extrema import bernstein, farthest

EPS = np.finfo(float).eps


def maxima(
    spline: DerivativeSpline, floor: np.ndarray | float = -np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Farthest above an upper bound alone."""
    columns = spline.control.shape[1]
    return farthest(spline, np.full(columns, -np.inf), np.full(columns, floor))


def knots_of(kind: str, degree: int, rng: np.random.Generator) -> BSpline:
    if kind == "uniform":
        return BSpline.uniform(degree, int(rng.integers(1, 12)))
    breaks = np.sort(rng.uniform(0.02, 0.98, int(rng.integers(0, 10))))
    if kind == "clamped":
        return BSpline.clamped(degree, breaks=[0.0, *breaks, 1.0])
    times = rng.integers(1, degree + 1, len(breaks))
    ends = np.zeros(degree + 1), np.ones(degree + 1)
    return BSpline(degree, np.concatenate([ends[0], np.repeat(breaks, times), ends[1]]))


def pieces(spline: BSpline, control: np.ndarray, order: int, count: int) -> tuple:
    """Instants (segments, count) and the derivative there, from the side of the segment."""
    curve = SciPySpline(spline.knots, control, spline.degree)
    low, high = spline.breaks[:-1, None], spline.breaks[1:, None]
    u = (1.0 - np.cos(np.linspace(0.0, np.pi, count))) / 2.0
    inside = np.clip(low + (high - low) * u, low, np.nextafter(high, 0.0))
    return inside, curve(inside.ravel(), nu=order).reshape(*inside.shape, -1)


CASES = [
    (kind, degree, order)
    for kind in ("clamped", "uniform", "repeated")
    for degree in (3, 4, 5)
    for order in range(4)
]


@pytest.mark.parametrize(("kind", "degree", "order"), CASES)
def test_maxima_against_sampling(kind: str, degree: int, order: int) -> None:
    rng = np.random.default_rng([degree, order, len(kind)])
    for _ in range(4):
        spline = knots_of(kind, degree, rng)
        control = rng.normal(size=(spline.n_control, 3))
        derived = derivative_spline(spline, control, order)
        value, at = maxima(derived)
        count = 100_000 // spline.segments
        _, sampled = pieces(spline, control, order, count)
        size = np.abs(derived.control).max()
        best = sampled.reshape(-1, 3).max(axis=0)
        assert (value >= best - 1e3 * EPS * size).all()  # never below what the curve attains
        bend = np.abs(derivative_spline(spline, control, min(order + 2, degree)).control).max()
        step = np.pi / (count - 1)
        assert (value - best <= bend * step**2 + 1e3 * EPS * size).all()
        curve = SciPySpline(spline.knots, control, degree)
        sides = [curve(np.clip(at + d, 0.0, 1.0 - 1e-12), nu=order) for d in (-1e-12, 1e-12)]
        there = np.stack(sides)[:, range(3), range(3)]
        slope = np.abs(derivative_spline(spline, control, min(order + 1, degree)).control).max()
        far = np.abs(there - value).min(axis=0)  # attained on one side at least
        assert (far <= 4e-12 * slope + 1e3 * EPS * size).all()


def test_flat_and_constant_splines() -> None:
    spline = BSpline.clamped(4, 7)
    flat = np.full((spline.n_control, 1), 0.3)
    assert maxima(derivative_spline(spline, flat, 0))[0] == pytest.approx(0.3, abs=4 * EPS)
    assert maxima(derivative_spline(spline, flat, 1))[0] == 0.0


def test_cubic_in_closed_form() -> None:
    """q = s (1 - s)^2 has its maximum 4 / 27 at a third."""
    spline = BSpline.clamped(3, 1)
    control = np.array([0.0, 1.0 / 3.0, 0.0, 0.0])[:, None]
    value, at = maxima(derivative_spline(spline, control, 0))
    assert value == pytest.approx(4.0 / 27.0, abs=EPS)
    assert at == pytest.approx(1.0 / 3.0, abs=1e-7)
    value, at = maxima(derivative_spline(spline, control, 1))  # 1 - 4 s + 3 s^2
    assert (value[0], at[0]) == (1.0, 0.0)


def test_floor_skips_lower_maxima() -> None:
    rng = np.random.default_rng(5)
    spline = BSpline.clamped(5, 9)
    derived = derivative_spline(spline, rng.normal(size=(spline.n_control, 4)), 1)
    value, at = maxima(derived)
    floor = value + np.array([-1e-3, 1e-3, -1.0, 1.0])
    above, there = maxima(derived, floor)
    np.testing.assert_array_equal(above[[0, 2]], value[[0, 2]])
    np.testing.assert_array_equal(there[[0, 2]], at[[0, 2]])
    assert (above[[1, 3]] <= value[[1, 3]]).all()


@pytest.mark.parametrize("kind", ["clamped", "uniform", "repeated"])
def test_farthest_is_the_larger_excess(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(20):
        spline = knots_of(kind, 4, rng)
        derived = derivative_spline(spline, rng.normal(size=(spline.n_control, 5)), 1)
        top = maxima(derived)[0]
        bottom = -maxima(derived._replace(control=-derived.control))[0]
        lower, upper = rng.normal(bottom, 0.3), rng.normal(top, 0.3)
        lower[0], upper[1], lower[2], upper[2] = -np.inf, np.inf, -np.inf, np.inf
        value, _ = farthest(derived, lower, upper)
        excess = np.maximum(lower - value, value - upper)
        largest = np.maximum(lower - bottom, top - upper)
        size = np.abs(derived.control).max()
        outside = largest > 0.0
        np.testing.assert_allclose(excess[outside], largest[outside], atol=1e3 * EPS * size)
        assert (excess[~outside] <= 0.0).all()


def test_not_finite_control_points_give_nan() -> None:
    spline = BSpline.clamped(3, 4)
    control = np.ones((spline.n_control, 2))
    control[2, 1] = np.nan
    value, _ = maxima(DerivativeSpline(3, spline.knots, control))
    assert value[0] == 1.0
    assert np.isnan(value[1])
    value, _ = farthest(DerivativeSpline(3, spline.knots, control), np.zeros(2), np.zeros(2))
    assert value[0] == 1.0
    assert np.isnan(value[1])


def test_bernstein_form_of_a_jump() -> None:
    """Second derivative of a cubic with a threefold knot: two independent lines."""
    spline = BSpline(3, np.array([0, 0, 0, 0, 0.5, 0.5, 0.5, 1, 1, 1, 1.0]))
    control = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])[:, None]
    derived = derivative_spline(spline, control, 2)
    found = np.empty((2, 2))
    for out, knot in zip(found, (1, 4), strict=True):
        bernstein(1, derived.knots, derived.control, 0, knot, np.empty(2), out)
    width = 0.5
    expected = 6.0 / width**2 * np.array([[-2.0, 1.0], [1.0, -2.0]])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("kind", ["clamped", "uniform", "repeated"])
def test_derivative_splines_against_scipy(kind: str) -> None:
    rng = np.random.default_rng(3)
    for degree in (3, 4, 5):
        spline = knots_of(kind, degree, rng)
        control = rng.normal(size=(spline.n_control, 2))
        for order in range(4):
            found = derivative_spline(spline, control, order)
            s = rng.uniform(size=50)
            ours = SciPySpline(found.knots, found.control, found.degree)(s)
            theirs = SciPySpline(spline.knots, control, degree)(s, nu=order)
            size = np.abs(found.control).max()
            np.testing.assert_allclose(ours, theirs, atol=1e3 * EPS * size)
            assert len(found.greville) == len(found.control)

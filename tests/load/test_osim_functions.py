"""Functions of OpenSim models against closed forms; smooth refits and their stated errors."""

import numpy as np
import pytest

from predyn.load.osim_functions import affine, compose, of_line, polyline, spline
from predyn.load.quintic_refit import refit, refit_couplings
from predyn.model.couplings import PiecewisePolynomial

RNG = np.random.default_rng(5)
X = np.array([-2.0944, -1.22173, -0.523599, -0.349066, -0.174533, 0.159149, 2.0944])
Y = np.array([-0.4226, -0.4082, -0.399, -0.3976, -0.3966, -0.395264, -0.396])


def test_splines_reproduce_cubics_and_continue_as_lines():
    cubic = np.array([0.3, -0.5, 0.2, 0.1])
    for count in (4, 5, 9, 40):
        x = np.cumsum(RNG.uniform(0.1, 1.0, count))
        f = spline(x, np.polyval(cubic, x))
        t = np.linspace(x[0], x[-1], 101)
        size = np.abs(np.polyval(cubic, t)).max()
        assert np.abs(f(t) - np.polyval(cubic, t)).max() < 1e-13 * size
        for end, side in ((x[0], -1.0), (x[-1], 1.0)):
            slope = np.polyval(np.polyder(cubic), end)
            line = np.polyval(cubic, end) + side * 3.0 * slope
            assert f(end + side * 3.0) == pytest.approx(line, rel=1e-12)


def test_splines_of_few_points_and_lines():
    f = spline(np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 10.0]))  # 1 + x^2
    assert np.abs(f(np.array([0.5, 2.0])) - (1.25, 5.0)).max() < 1e-14
    assert spline(X[:2], Y[:2]).line is not None
    x = np.array([-2.0, -0.3, 0.1, 1.7])
    assert spline(x, -x).line == pytest.approx((-1.0, 0.0), abs=1e-15)
    assert polyline(x, 2.0 * x + 1.0).line == pytest.approx((2.0, 1.0))
    assert polyline(x, np.array([0.0, 0.1, 0.0, 0.1])).line is None


def test_splines_have_two_continuous_derivatives():
    f = spline(X, Y)
    assert np.abs(f(X) - Y).max() < 1e-16
    for order in (1, 2):
        jumps = f(X[1:-1] + 1e-9, order) - f(X[1:-1] - 1e-9, order)
        assert np.abs(jumps).max() < 1e-7 * max(1.0, np.abs(f(X, order)).max())


@pytest.mark.parametrize(("slope", "offset"), [(2.0, 0.3), (-1.3, 0.4), (0.0, 0.2)])
def test_functions_of_a_line(slope, offset):
    t = np.linspace(-3.0, 3.0, 97)
    power = PiecewisePolynomial.polynomial([1.0, 2.0, -0.5, 0.3])
    for f in (spline(X, Y), polyline(X, Y), power):
        g = of_line(f, slope, offset)
        size = np.abs(f(slope * t + offset)).max()
        assert np.abs(g(t) - f(slope * t + offset)).max() < 1e-14 * size
    inner = PiecewisePolynomial.linear(slope, offset)
    assert compose(spline(X, Y), spline(X, Y)) is None
    one, other = compose(inner, spline(X, Y)), affine(spline(X, Y), slope, offset)
    assert one is not None
    assert np.array_equal(one(t), other(t))


@pytest.mark.parametrize("make", [spline, polyline])
def test_refits_are_smooth_and_within_their_stated_errors(make):
    f = make(X, Y)
    g, error, slope = refit(f)
    t = RNG.uniform(-3.0, 3.0, 20_000)
    assert np.abs(g(t) - f(t)).max() <= error * (1.0 + 1e-3)
    assert np.abs(g(t, 1) - f(t, 1)).max() <= slope * (1.0 + 1e-2)
    assert error < (1e-5 if make is spline else 1e-3)
    # a jump of order k shows as a difference of one-sided values; ends pass into lines
    ends = g.breaks
    for order in range(5):
        size = np.abs(g(t, order)).max()
        step = 1e-7
        jumps = np.abs(g(ends + step, order) - g(ends - step, order))
        steepest = np.abs(g(t, order + 1)).max() if order < 4 else np.inf
        if order < 4:
            assert jumps.max() <= 2.5 * step * steepest + 1e-9 * size, order
        else:  # continuous, but its slope is not bounded by a derivative that can be asked for
            width = np.diff(ends).min()
            assert jumps.max() <= 1e2 * step / width * size


def test_refits_of_uneven_points_pass_into_lines_smoothly():
    rng = np.random.default_rng(3)
    for _ in range(40):
        count = int(rng.integers(8, 40))
        x = np.cumsum(rng.uniform(0.3, 1.5, count))
        g, _, _ = refit(spline(x, np.sin(0.1 * x)))
        for end, outward in ((g.breaks[0], -1.0), (g.breaks[-1], 1.0)):
            inside = np.nextafter(end, -outward * np.inf)
            for order in range(2, 5):  # a line outside
                size = np.abs(g(x, order)).max()
                assert abs(g(inside, order)) <= 1e-9 * size


def test_lines_and_polynomials_are_not_refitted():
    power = PiecewisePolynomial.polynomial([1.0, 2.0, -0.5])
    (fitted,), notes = refit_couplings([("j", "q", power)])
    assert fitted[2] is power
    assert notes == []
    _, notes = refit_couplings([("knee_x", "knee", spline(X, Y))])
    assert notes[0].startswith("joint 'knee_x' follows 'knee' by a refit of degree 5: its error")

"""The reference curves: through the points, C2, not a knot next to the ends."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.terms.curve import Curve

TIMES = np.array([0.0, 0.3, 1.1, 1.5, 2.6, 2.7])
VALUES = np.random.default_rng(1).standard_normal((6, 2))
EPS = np.finfo(float).eps


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_a_polynomial_is_reproduced(count: int) -> None:
    """Of degree count - 1, at most 3; beyond the ends too."""
    coefficients = np.array([0.5, -1.0, 2.0, 0.7])[: min(count, 4)]
    polynomial = np.polynomial.Polynomial(coefficients)
    times = TIMES[:count]
    curve = Curve(times, polynomial(times)[:, None], ("x",), "test")
    t = np.linspace(-0.5, 3.0, 24).reshape(4, 6)
    # the smallest step, 0.1, divides values twice; conditioning of the slopes takes the rest
    bound = 1e4 * EPS * np.abs(polynomial(3.0))
    for got, expected in (
        (curve.value(t), polynomial(t)),
        (curve.slope(t), polynomial.deriv()(t)),
        (curve.bend(t), polynomial.deriv(2)(t)),
    ):
        assert got.shape == (1, 4, 6)
        assert np.abs(got[0] - expected).max() <= bound


def test_smooth_at_the_points() -> None:
    curve = Curve(TIMES, VALUES, ("x", "y"), "test")
    inner = TIMES[1:-1]
    before, after = np.nextafter(inner, -9.0), inner
    largest = np.abs(curve.bend(TIMES)).max()
    assert np.abs(curve.value(TIMES) - VALUES.T).max() <= 1e3 * EPS * largest
    for derivative in (curve.value, curve.slope, curve.bend):
        assert np.abs(derivative(before) - derivative(after)).max() <= 1e4 * EPS * largest


def test_not_a_knot_next_to_the_ends() -> None:
    """One cubic runs through the first two pieces, one through the last two."""
    curve = Curve(TIMES, VALUES, ("x", "y"), "test")
    middles = 0.5 * (TIMES[1:] + TIMES[:-1])
    third = (curve.bend(middles + 1e-3) - curve.bend(middles - 1e-3)) / 2e-3
    size = 1e-9 * np.abs(third).max()
    assert np.abs(third[:, 0] - third[:, 1]).max() <= size
    assert np.abs(third[:, -1] - third[:, -2]).max() <= size
    assert np.abs(third[:, 1] - third[:, 2]).max() > 1.0

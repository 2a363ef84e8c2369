"""The corner of L-curves that are built with a known corner."""

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.published.lcurve import corner, lowest

WEIGHTS = np.logspace(-8, 8, 41)


def ell():
    """A ridge regression in which the signal, but not the noise, falls with the singular values."""
    s = np.logspace(0, -6, 30)
    b = s + 1e-3
    w = 1e-4 * WEIGHTS[:, None]
    kept = s**2 / (s**2 + w)
    return (((1 - kept) * b) ** 2).sum(axis=1), ((kept * b / s) ** 2).sum(axis=1)


def test_a_sharp_corner_is_found():
    bend = 17
    before, after = np.minimum(np.arange(41), bend), np.maximum(np.arange(41) - bend, 0)
    x, y = 0.02 * before + 0.3 * after, -0.4 * before - 0.02 * after
    assert abs(corner(np.exp(x), np.exp(y)) - bend) <= 1


def test_scales_do_not_matter():
    misfit, size = ell()
    found = corner(misfit, size)
    assert 0 < found < 40
    assert corner(1e9 * misfit, 1e-9 * size) == found


@pytest.mark.parametrize("seed", range(10))
def test_noise_hardly_moves_the_corner(seed):
    misfit, size = ell()
    found = corner(misfit, size)
    rng = np.random.default_rng(seed)
    rough = [x * np.exp(0.02 * rng.normal(size=41)) for x in (misfit, size)]
    assert (np.diff(rough[0]) < 0).any()
    assert abs(corner(*rough) - found) <= 3


def test_points_that_are_not_numbers_are_skipped():
    misfit, size = ell()
    found = corner(misfit, size)
    misfit[3], size[5], size[7] = np.nan, 0.0, np.inf
    assert abs(corner(misfit, size) - found) <= 1


def test_only_minima_are_lowest_at_their_own_weight():
    misfit, size = ell()
    weights = 1e-4 * WEIGHTS
    own = np.arange(41)
    assert (lowest(weights, misfit, size) == own).all()
    assert len(lowest([], [], [])) == 0
    poor = [x.copy() for x in (misfit, size)]
    poor[1][30] = 2 * size[20]  # a size above that of a smaller weight
    poor[0][35] = misfit[36]  # the size of its weight, met less well than need be
    poor[0][12] = np.nan
    found = lowest(weights, *poor)
    assert set(np.flatnonzero(found != own)) == {12, 30, 35}
    assert np.abs(found - own).max() <= 1


def test_curves_without_a_corner_have_none():
    t = np.linspace(0.0, 1.0, 30)
    assert corner(np.exp(t), np.exp(-t)) == -1  # straight
    assert corner(np.exp(t), np.exp(-(t**2))) == -1  # turns the other way
    assert corner(np.ones(30), np.exp(-t)) == -1
    assert corner(np.exp(1e-3 * t), np.exp(-1e-3 * t)) == -1
    assert corner(np.ones(30), np.ones(30)) == -1
    assert corner(*(x[:4] for x in ell())) == -1
    assert corner([], []) == -1
    with pytest.raises(InputError, match="misfit and size"):
        corner(np.ones(3), np.ones(4))

"""Choices in lanes are those of plain numbers, NaN among them."""

from __future__ import annotations

import numpy as np

from predyn.kernels.lane_choices import any_below, choose, greatest, least, magnitude
from predyn.kernels.lanes import WIDTH, entry, load, store


@entry
def choices(x, y, out):
    for i in range(x.shape[0]):
        a, b = load(x, i, 0), load(y, i, 0)
        store(out, i, 0, choose(a, b, 1.0, -1.0))
        store(out, i, 1, least(a, b))
        store(out, i, 2, greatest(a, b))
        store(out, i, 3, magnitude(a))
        store(out, i, 4, greatest(a, 0.0))
        store(out, i, 5, 1.0 if any_below(a, b) else 0.0)


def test_lanes_choose_as_numbers_do() -> None:
    values = np.array([-2.0, -0.0, 0.0, 1.5, np.inf, -np.inf, np.nan])
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    plain = np.empty((len(x), 6))
    choices(x[:, None].copy(), y[:, None].copy(), plain)
    with np.errstate(invalid="ignore"):
        below = x < y
        np.testing.assert_array_equal(plain[:, 0], np.where(below, 1.0, -1.0))
        np.testing.assert_array_equal(plain[:, 1], np.where(below, x, y))
        np.testing.assert_array_equal(plain[:, 2], np.where(y < x, x, y))
        np.testing.assert_array_equal(plain[:, 3], np.abs(x))
        np.testing.assert_array_equal(plain[:, 4], np.where(x > 0.0, x, 0.0))
        np.testing.assert_array_equal(plain[:, 5], below)
    rows = -(-len(x) // WIDTH)
    fill = np.arange(rows * WIDTH) % len(x)
    out = np.empty((rows, 6, WIDTH))
    choices(x[fill].reshape(rows, 1, WIDTH), y[fill].reshape(rows, 1, WIDTH), out)
    lanes = out.transpose(0, 2, 1).reshape(-1, 6)[: len(x)]
    np.testing.assert_array_equal(lanes[:, :5], plain[:, :5])
    some = below[fill].reshape(rows, WIDTH).any(axis=1)
    np.testing.assert_array_equal(out[:, 5, 0], some)

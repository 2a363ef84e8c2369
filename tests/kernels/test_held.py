"""Arguments passed to compiled functions as one, and direct calls of machine code."""

from __future__ import annotations

import weakref
from typing import NamedTuple

import numpy as np
import pytest

from predyn.kernels.batch import Direct
from predyn.kernels.held import Held, held
from predyn.kernels.lanes import entry


class Pair(NamedTuple):
    whole: np.ndarray
    cube: np.ndarray


@entry
def everything(fixed, factor):
    pair, numbers, (x, y) = held(fixed)
    total = pair.whole.sum() * numbers[0] + numbers[1]
    for i in range(pair.cube.shape[0]):
        for j in range(pair.cube.shape[1]):
            for k in range(pair.cube.shape[2]):
                total += (100 * i + 10 * j + k) * pair.cube[i, j, k]
    x[0] += factor
    y[:] = x[0]
    return total * factor


def arguments() -> tuple:
    rng = np.random.default_rng(3)
    pair = Pair(np.arange(5), rng.integers(1, 9, (2, 3, 4)).astype(float))
    return pair, (7, -0.25), (np.array([1.5, 0.0]), np.zeros((2, 2)))


def expected(pair: Pair, numbers: tuple) -> float:
    weights = sum(s * i for s, i in zip((100, 10, 1), np.indices(pair.cube.shape), strict=True))
    return float(pair.whole.sum() * numbers[0] + numbers[1] + (weights * pair.cube).sum())


def test_a_held_returns_its_values_without_copying():
    pair, numbers, (x, y) = arguments()
    fixed = Held(pair, numbers, (x, y))
    assert everything(fixed, 2.0) == 2.0 * expected(pair, numbers)  # small whole numbers: exact
    assert x[0] == 3.5
    assert np.all(y == 3.5)
    pair.cube[1, 2, 3] += 1.0
    assert everything(fixed, 1.0) == expected(pair, numbers)


def test_a_direct_call_passes_fixed_and_other_arguments():
    pair, numbers, (x, y) = arguments()
    direct = Direct(everything, pair, numbers, (x, y))
    assert [direct.run(f) for f in (1.0, 2.0, -4.0)] == [
        f * expected(pair, numbers) for f in (1.0, 2.0, -4.0)
    ]
    assert x[0] == 0.5
    assert np.all(y == 0.5)


def test_a_held_keeps_its_arrays():
    array = np.zeros(3)
    alive = weakref.ref(array)
    fixed = Held((array,))
    del array
    assert alive() is fixed.values[0][0]


@pytest.mark.parametrize("value", [True, None, "text", [1.0]])
def test_a_held_accepts_only_arrays_numbers_and_tuples(value):
    with pytest.raises(TypeError, match="expected arrays"):
        Held((np.zeros(2), value))

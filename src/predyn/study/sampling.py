"""Samples of several quantities at once: Latin hypercubes and Sobol sequences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.config.joints import is_number
from predyn.errors import InputError, unknown_name

Floats = NDArray[np.float64]
METHODS = LATIN_HYPERCUBE, SOBOL, RANDOM = ("latin_hypercube", "sobol", "random")
KINDS = UNIFORM, LOG_UNIFORM, NORMAL = ("uniform", "log_uniform", "normal")
MOST_SOBOL = 21_201  # dimensions for which direction numbers exist
LARGEST = 1e100
EDGE = 2.0**-53  # keeps a sample of a normal distribution finite


class Distribution(NamedTuple):
    """How a sampled quantity is distributed: between bounds, or mean and standard deviation."""

    kind: str
    first: float
    second: float

    def at(self, share: Floats) -> Floats:
        """The quantiles at shares (n,) of the distribution, between 0 and 1."""
        low, high = self.first, self.second
        if self.kind == UNIFORM:
            return low + (high - low) * share
        if self.kind == LOG_UNIFORM:
            return np.asarray(np.exp(math.log(low) + (math.log(high) - math.log(low)) * share))
        from scipy.special import ndtri  # few studies need it

        return np.asarray(low + high * ndtri(np.clip(share, EDGE, 1.0 - EDGE)))


def read_distribution(entry: Mapping[str, Any]) -> Distribution | None:
    """The distribution of a varied quantity; None if it has values instead."""
    given = [kind for kind in KINDS if kind in entry]
    if not given:
        return None
    kind = given[0]
    words = "mean and standard deviation" if kind == NORMAL else "low and high"
    numbers = entry[kind]
    if len(given) > 1:
        raise InputError(f"expected one distribution, got {' and '.join(given)}")
    if not isinstance(numbers, list) or len(numbers) != 2 or not all(map(_finite, numbers)):
        raise InputError(f"{kind}: expected two numbers, [{words}], got {numbers!r:.60}")
    first, second = map(float, numbers)
    if kind == NORMAL and second < 0.0:
        raise InputError(f"normal: the standard deviation {second:g} is negative")
    if kind != NORMAL and first > second:
        raise InputError(f"{kind}: low {first:g} is above high {second:g}")
    if kind == LOG_UNIFORM and first <= 0.0:
        raise InputError(f"log_uniform: expected numbers above 0, got {first:g}")
    return Distribution(kind, first, second)


def draw_shares(method: str, count: int, dimensions: int, seed: int) -> Floats:
    """Points (count, dimensions) of the unit cube, the same for the same seed."""
    if method not in METHODS:
        raise unknown_name("method of [sample]", method, METHODS)
    rng = np.random.default_rng(seed)
    if method == RANDOM:
        return rng.random((count, dimensions))
    if method == LATIN_HYPERCUBE:
        # each of `count` equal slices of a quantity holds one sample
        slices = np.stack([rng.permutation(count) for _ in range(dimensions)], axis=1)
        return np.asarray((slices + rng.random((count, dimensions))) / count)
    if dimensions > MOST_SOBOL:
        raise InputError(f"sobol: expected at most {MOST_SOBOL} quantities, got {dimensions}")
    from scipy.stats.qmc import Sobol

    sobol = Sobol(dimensions, scramble=True, seed=seed)
    # a whole power of two is drawn, since the sequence is balanced only there
    return np.asarray(sobol.random_base2(max(count - 1, 0).bit_length())[:count])


def _finite(value: Any) -> bool:
    return is_number(value) and abs(value) < LARGEST

"""Noise levels of markers, held together: none may collapse.

Soft tissue moves smoothly, so that a motion can follow a few markers exactly and leave the rest to
others: the level of those few falls to almost zero, evidence rises by thousands, and the bands mean
nothing. The levels of markers are therefore taken as drawn around a level s of the group, by a
scaled inverse chi-square distribution with as many degrees of freedom nu_i as a marker has numbers,

    log p = -1/2 sum nu_i [log(sigma_i^2 / s^2) + s^2 / sigma_i^2],   1/s^2 = mean of 1/sigma_i^2

with weights nu_i: s is where p is largest. Its fixed point with the evidence is

    sigma_i^2 = (sum r^2 + nu_i s^2) / (numbers left to determine it + nu_i).

A marker that is really noisier gets about the root mean square of its own level and the group's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.spline_grid import Floats, Ints


class Pool(NamedTuple):
    """Degrees of freedom (observed,) of each level in the group; 0: it is by itself."""

    strength: Floats

    def common(self, noise: Floats) -> float:
        """s^2 of the group."""
        return float(self.strength.sum() / (self.strength / noise**2).sum())

    def log_prior(self, noise: Floats) -> float:
        if not self.strength.any():
            return 0.0
        ratio = self.common(noise) / noise**2
        return -0.5 * float(self.strength @ (ratio - np.log(ratio)))

    def slope(self, noise: Floats) -> Floats:
        """d log_prior / d log noise."""
        if not self.strength.any():
            return np.zeros(len(noise))
        return np.asarray(self.strength * (self.common(noise) / noise**2 - 1.0))

    def estimated(self, squares: Floats, left: Floats, noise: Floats) -> Floats:
        """Levels of the next iteration, from sums of squares and the numbers left for each."""
        extra = self.strength * self.common(noise) if self.strength.any() else 0.0
        return np.asarray(np.sqrt((squares + extra) / (left + self.strength)))


def pool_of(counts: Ints, together: NDArray[np.bool_]) -> Pool:
    """The group of those `together` (observed,), if there are several; counts: numbers of each."""
    return Pool(np.where(together, counts, 0.0) if together.sum() > 1 else np.zeros(len(counts)))

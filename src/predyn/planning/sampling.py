"""Where a search looks: ranges of the joints, random configurations, and distances between them.

A joint that can turn by more than one turn repeats itself, so most samples of it are from the turn
about the start and the goals; some are from the whole range, lest a way through it be missed. In
distances, a joint counts by how far it moves the robot: the mean over random configurations of the
largest change of a distance to an obstacle or between links, in m per rad.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.collision.checker import Checker
from predyn.model import PRISMATIC

Floats = NDArray[np.float64]
CONFIGURATIONS = 50  # for the weights
LEAST_WEIGHT = 0.05  # of the largest
WIDE = 0.125  # share of the samples that are from the whole range
BEYOND = 0.25 * np.pi  # rad, or m of an unlimited slide, beyond start and goals


class Sampling(NamedTuple):
    low: Floats  # (n,) of most samples
    high: Floats
    lowest: Floats  # (n,) of the others
    highest: Floats
    weight: Floats  # (n,) of the joints in distances, m per rad or m

    @property
    def diagonal(self) -> float:
        return float(np.linalg.norm(self.weight * (self.high - self.low)))

    def draw(self, random: np.random.Generator, count: int) -> Floats:
        """Random configurations (count, n)."""
        wide = random.random(count)[:, None] < WIDE
        share = random.random((count, len(self.low)))
        low, high = np.where(wide, self.lowest, self.low), np.where(wide, self.highest, self.high)
        found: Floats = low + share * (high - low)
        return found


def sampling_for(checker: Checker, start: Floats, goals: Floats) -> Sampling:
    """The sampling for a search from start (n,) to goals (G, n)."""
    model = checker.model
    ends = np.vstack([start, goals])
    least, most = ends.min(axis=0), ends.max(axis=0)
    middle, half = 0.5 * (least + most), 0.5 * (most - least) + BEYOND
    low, high = model.limits.position.T
    turn = np.where(model.kind == PRISMATIC, np.maximum(half, 1.0), np.maximum(half, np.pi))
    lowest = np.where(np.isfinite(low), low, middle - 2.0 * turn)
    highest = np.where(np.isfinite(high), high, middle + 2.0 * turn)
    many = (model.kind != PRISMATIC) & (highest - lowest > 2.0 * np.pi)
    narrow = many | ~np.isfinite(low) | ~np.isfinite(high)
    near = np.where(narrow, np.maximum(lowest, middle - turn), lowest)
    far = np.where(narrow, np.minimum(highest, middle + turn), highest)
    return Sampling(near, far, lowest, highest, _weights(checker, near, far))


def _weights(checker: Checker, low: Floats, high: Floats) -> Floats:
    if not checker.pairs:
        return np.ones(len(low))
    q = np.random.default_rng(0).uniform(low, high, (CONFIGURATIONS, len(low)))
    gradient = np.abs(checker.gradients(q).gradient)
    weight = gradient.max(axis=1).mean(axis=0)
    most = weight.max()
    return np.maximum(weight, LEAST_WEIGHT * most) if most > 0.0 else np.ones(len(low))

"""Typical sizes of the channels of a phase, so that scales do not depend on units.

Joints move by half a turn or 1 m in the duration T of the guess, so that velocities have the size
1/T and accelerations 1/T^2, or that of their limits if these are smaller. Torques have the size of
their limits, or without them that which such motions need at random poses.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.rnea import inverse_dynamics
from predyn.dynamics.system import PhaseSystem
from predyn.model import PRISMATIC
from predyn.samples import FRAME_PARTS
from predyn.terms.linear import Linear
from predyn.terms.selection import LIMITS
from predyn.terms.term import Residual

Floats = NDArray[np.float64]
ORDERS = {"q": 0, "v": 1, "a": 2, "jerk": 3}
FRAME_ORDERS = {"R": 0, "p": 0, "w": 1, "v": 1, "alpha": 2, "a": 2}
POSES = 16  # a power of two: whole lanes


class Sizes:
    """Sizes of the channels of one phase that lasts T seconds in the guess."""

    def __init__(self, system: PhaseSystem, T: float) -> None:
        self._system, self.T = system, T
        self._known: dict[tuple[str, int], float] = {}

    def scale(self, residual: Residual) -> Floats:
        """Typical size of each row of a residual."""
        if not isinstance(residual, Linear):
            return residual.scale
        sizes, found = [0.0] * len(residual.rows), [True] * len(residual.rows)
        for (row, channel, component), factor in residual.coefficients:
            size = self._known.get((channel, component))
            if size is None:
                size = self._known[channel, component] = self._size(channel, component)
            found[row] &= size > 0.0
            sizes[row] = max(sizes[row], abs(factor) * size)
        known = [all_found and x > 0.0 for all_found, x in zip(found, sizes, strict=True)]
        return np.where(known, sizes, residual.scale)

    def _size(self, channel: str, component: int) -> float:
        """The size of a component; 0 if it has its own scale."""
        T, channel = self.T, channel.split(".", 1)[-1]
        if channel in ORDERS:
            usual = np.where(self._system.model.kind == PRISMATIC, 1.0, np.pi)[component]
            usual = usual if channel == "q" else T ** -ORDERS[channel]
            return min(self._limit(channel, component), float(usual))
        if channel in ("tau", "momentum"):
            limit = self._limit("tau", component)
            size = limit if limit < np.inf else float(self._torques[component])
            return size * (T if channel == "momentum" else 1.0)
        if channel.startswith("frame:"):
            (part,) = (x for x, at in FRAME_PARTS.items() if at.start <= component < at.stop)
            return T ** -FRAME_ORDERS[part]
        return 0.0

    def _limit(self, channel: str, component: int) -> float:
        """The larger bound; inf without one, or if both are zero."""
        if channel not in LIMITS:
            return np.inf
        low, high = getattr(self._system.limits, LIMITS[channel])[component].tolist()
        return max(abs(low), abs(high)) or np.inf

    @cached_property
    def _torques(self) -> Floats:
        """The largest torques at random poses, velocities and accelerations of the usual size."""
        model, rng = self._system.model, np.random.default_rng(0)
        reach = np.where(model.kind == PRISMATIC, 1.0, np.pi)
        q, v, a = rng.uniform(-1.0, 1.0, (3, POSES, model.n))
        low, high = self._system.limits.position.T
        q = np.clip(reach * q, low, high)
        tau = inverse_dynamics(model, q, v / self.T, a / self.T**2)
        largest: Floats = np.abs(tau).max(axis=0)
        return largest

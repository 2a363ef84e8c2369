"""Clearance: distances between the bodies of a robot and the obstacles around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import Offer, Samples
from predyn.samples.surroundings import Pair, PairRows
from predyn.terms.selection import read_real
from predyn.terms.term import Residual, Term

SIZE = 0.1  # m, typical of a distance that matters


@dataclass(frozen=True, eq=False)
class Clearance(Term):
    """Signed distances of pairs of bodies in the scene of the problem, m: one row for each pair,
    at least `minimum` as a constraint. Negative where bodies overlap.

    between  None: all pairs that are checked. Otherwise each entry is a pair of names of bodies,
             one name (all pairs with that body), or the number of a pair in `Checker.pairs`. A body
             is an obstacle, a part, a link with all of its capsules, or one capsule ("arm[0]")
    minimum  m; None: the margin of the problem

    Rows hold at their instants only; `predyn.certify` proves a motion between them. Partials are
    exact where the nearest points are unique and the axis of a capsule is outside the obstacle.
    """

    between: Sequence[Pair] | None = None
    minimum: float | None = None

    kind = "clearance"
    loss = "linear"

    def bind(self, model: Model) -> Residual:
        raise InputError("term 'clearance' needs the scene of a problem; set Problem.scene")

    def bind_to(self, offer: Offer) -> Residual:
        if offer.surroundings is None:
            raise InputError(
                "term 'clearance' needs obstacles or bodies to keep apart, but the problem has no "
                "scene; set Problem.scene (an empty predyn.Scene() checks the robot with itself)"
            )
        minimum = offer.surroundings.margin
        if self.minimum is not None:
            minimum = float(read_real(self.minimum, "clearance: minimum").reshape(-1)[0])
            if np.ndim(self.minimum) or not np.isfinite(minimum):
                raise InputError(
                    f"clearance: minimum: expected a finite number in m, got {self.minimum!r:.40}"
                )
        return PairDistances(offer.surroundings.rows(self.between), offer.model.n, minimum)


class PairDistances(Residual):
    """Distances of pairs, in q and, if an obstacle moves, in t."""

    def __init__(self, pairs: PairRows, n: int, minimum: float) -> None:
        self._pairs, count = pairs, len(pairs.names)
        self.rows = tuple(f"{one} to {other}" for one, other in pairs.names)
        self.units, self.scale = ("m",) * count, np.full(count, SIZE)
        self.lower, self.upper = np.full(count, minimum), np.full(count, np.inf)
        place = [*(("q", k) for k in range(n)), ("t", 0)]
        self.entries = tuple((row, *place[k]) for row, k in pairs.entries)
        self.curved = tuple((*place[i], *place[j]) for i, j in pairs.curved)

    def _times(self, s: Samples) -> NDArray | None:
        return s["t"][0] if self._pairs.moving else None

    def value(self, s: Samples, out: NDArray) -> None:
        self._pairs.distances(s["q"], self._times(s), out)

    def partials(self, s: Samples, out: NDArray) -> None:
        self._pairs.slopes(s["q"], self._times(s), out)

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        self._pairs.bends(s["q"], self._times(s), weights, out)

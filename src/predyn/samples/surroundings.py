"""What terms need to know of the surroundings of a robot: distances of pairs of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from numpy.typing import NDArray

Pair = int | str | Sequence[str]


class PairRows(Protocol):
    """Signed distances (m) of some pairs at instants, with exact partials.

    names    of the bodies of each pair
    entries  the first partials: pair, coordinate of the model (its number of joints: time)
    curved   the second partials, each unordered pair of coordinates once
    moving   whether an obstacle of a pair moves, so that distances depend on time

    Coordinates q (n, ...), times t (...) or None; results have one row for each pair or partial.
    """

    names: tuple[tuple[str, str], ...]
    entries: tuple[tuple[int, int], ...]
    curved: tuple[tuple[int, int], ...]
    moving: bool

    def distances(self, q: NDArray, t: NDArray | None, out: NDArray) -> None: ...

    def slopes(self, q: NDArray, t: NDArray | None, out: NDArray) -> None: ...

    def bends(self, q: NDArray, t: NDArray | None, weights: NDArray, out: NDArray) -> None: ...


class Surroundings(Protocol):
    """A robot in a scene; margin: the smallest clearance that is wanted by default, m."""

    margin: float

    def rows(self, pairs: Sequence[Pair] | None) -> PairRows:
        """The chosen pairs; an InputError names one that does not exist."""

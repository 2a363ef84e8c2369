"""Residuals that are sums of channels and of products of two channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import NDArray

from predyn.samples import Samples
from predyn.terms.selection import Floats
from predyn.terms.term import Entry, Residual

Component = tuple[str, int]  # channel, component


class Summand(NamedTuple):
    """factor, times the components in `of` (none, one or two), in a row."""

    row: int
    factor: float
    of: tuple[Component, ...]


class Bilinear(Residual):
    """Each row is the sum of its summands."""

    def __init__(
        self,
        rows: tuple[str, ...],
        units: tuple[str, ...],
        scale: Floats,
        summands: Sequence[Summand],
    ) -> None:
        self.rows, self.units, self.scale = rows, units, scale
        self._summands = tuple(x for x in summands if x.factor != 0.0)
        entries: dict[Entry, int] = {}
        curved: dict[tuple[Component, Component], int] = {}
        for row, _, of in self._summands:
            for channel, x in of:
                entries.setdefault((row, channel, x), len(entries))
            if len(of) == 2:
                curved.setdefault(_ordered(of), len(curved))
        self.entries, self._entry = tuple(entries), entries
        self.curved, self._pair = tuple((*a, *b) for a, b in curved), curved
        self.constant = not curved

    def value(self, s: Samples, out: NDArray) -> None:
        out[:] = 0.0
        for row, factor, of in self._summands:
            product = factor
            for channel, x in of:
                product = product * s[channel][x]
            out[row] += product

    def partials(self, s: Samples, out: NDArray) -> None:
        out[:] = 0.0
        for row, factor, of in self._summands:
            for k, (channel, x) in enumerate(of):
                others = [s[c][y] for m, (c, y) in enumerate(of) if m != k]
                out[self._entry[row, channel, x]] += factor * (others[0] if others else 1.0)

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        out[:] = 0.0
        for row, factor, of in self._summands:
            if len(of) == 2:
                twice = 2.0 if of[0] == of[1] else 1.0
                out[self._pair[_ordered(of)]] += twice * factor * weights[row]


def _ordered(of: tuple[Component, ...]) -> tuple[Component, Component]:
    a, b = sorted(of)
    return a, b

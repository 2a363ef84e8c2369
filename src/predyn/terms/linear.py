"""Residuals that are linear in channels, as most terms are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.samples import Samples
from predyn.terms.selection import Floats, as_slice, column
from predyn.terms.term import Entry, Residual


class Block(NamedTuple):
    """The contribution of a channel to the rows from `start` on.

    factors times channel[components]: one for each (m,), or a matrix (rows, m).
    """

    start: int
    channel: str
    components: NDArray[np.int64]
    factors: Floats

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + len(self.factors))


class Linear(Residual):
    """Sum of blocks minus an offset (rows,). Blocks that overlap cover the same rows."""

    constant = True

    def __init__(
        self,
        rows: tuple[str, ...],
        units: tuple[str, ...],
        scale: Floats,
        blocks: Sequence[Block],
        offset: Floats | None = None,
        lower: Floats | None = None,
        upper: Floats | None = None,
    ) -> None:
        self.rows, self.units, self.scale = rows, units, scale
        self.lower, self.upper = lower, upper
        self._offset = offset if offset is not None and np.any(offset) else None
        seen: set[int] = set()
        self._steps = []
        entries: list[Entry] = []
        coefficients: list[float] = []
        for block in blocks:
            plain = block.factors.ndim == 1 and np.all(block.factors == 1.0)
            self._steps.append(
                (
                    block.rows,
                    block.channel,
                    as_slice(block.components),
                    None if plain else block.factors,
                    block.start in seen,
                )
            )
            seen.add(block.start)
            matrix = block.factors if block.factors.ndim == 2 else np.diag(block.factors)
            r, k = np.nonzero(matrix)
            at = zip(r.tolist(), block.components[k].tolist(), strict=True)
            entries += [(block.start + row, block.channel, component) for row, component in at]
            coefficients += matrix[r, k].tolist()
        self.entries = tuple(entries)
        self._coefficients = np.array(coefficients)

    @property
    def coefficients(self) -> list[tuple[Entry, float]]:
        """The entries with their partials."""
        return list(zip(self.entries, self._coefficients.tolist(), strict=True))

    def value(self, s: Samples, out: NDArray) -> None:
        for rows, channel, components, factors, add in self._steps:
            x, y = s[channel][components], out[rows]
            if factors is None:
                if add:
                    y += x
                else:
                    y[:] = x
            elif factors.ndim == 1:
                if add:
                    y += column(factors, x) * x
                else:
                    np.multiply(column(factors, x), x, out=y)
            elif add:
                y += np.einsum("ri,i...->r...", factors, x)
            else:
                np.einsum("ri,i...->r...", factors, x, out=y)
        if self._offset is not None:
            out -= column(self._offset, out)

    def partials(self, s: Samples, out: NDArray) -> None:
        out[:] = column(self._coefficients, out)

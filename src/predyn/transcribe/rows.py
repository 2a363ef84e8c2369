"""Constraints as sums of contributions.

A row is a sum of contributions of blocks at instants: one for a limit, two for continuity, one per
quadrature point for an integral. Contributions may come from several phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.pattern import lanes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
SMALL_BOUND = 1e-3  # relative to a row's typical size


@dataclass(eq=False)
class Part:
    """A contribution: a block at the instants of a set."""

    points: InstantSet
    block: Block


@dataclass(eq=False)
class Rows:
    """Constraints that share a name.

    pointwise   one constraint for each instant of the single part and each row of its block;
                otherwise all instants of all parts add up to one constraint for each row, or to a
                single one if their blocks have losses
    throughout  whether they should hold between the instants too
    """

    name: str
    rows: tuple[str, ...]  # names; () for a single constraint without one
    parts: Sequence[Part]
    lower: Floats
    upper: Floats
    scale: Floats
    pointwise: bool = True
    throughout: bool = False
    fixed: Flags = field(default_factory=lambda: np.zeros((0, 0), bool))  # no free variable acts

    @property
    def size(self) -> int:
        """Number of constraints per instant, or in total."""
        return len(self.lower)

    def number(self, first: int, alive: Flags) -> Ints:
        """Number the constraints that are alive, (instants or 1, rows), from `first` on, in the
        sets too; returns their indices among all instants and rows.
        """
        self.fixed = ~alive
        index = np.where(alive, first + np.cumsum(alive).reshape(alive.shape) - 1, -1)
        for part in self.parts:
            rows = part.block.rows
            if self.pointwise:
                part.points.row_of[:, rows] = lanes(part.points, index)
            elif part.block.loss is not None:
                part.points.row_of[:, rows] = index[0, 0]
            else:  # a single instant
                part.points.row_of[0, rows, 0] = index[0]
        return np.flatnonzero(alive)

    def quantity(self, k: int) -> str:
        """The name of constraint k of all instants and rows."""
        return f"{self.name} {self.rows[k % self.size]}" if self.rows else self.name

    def instant(self, k: int) -> tuple[int, float] | None:
        """Phase and normalised time of constraint k, None if it belongs to no single instant."""
        if not self.pointwise:
            return None
        points = self.parts[0].points
        return points.phase, float(points.s[k // self.size])


def row_scale(lower: Floats, upper: Floats, size: Floats) -> Floats:
    """The larger finite bound of each row, or its typical size where that is much larger.

    A bound close to zero is no indication of the size of the bounded quantity.
    """
    bound = np.maximum(
        np.where(np.isfinite(lower), abs(lower), 0.0), np.where(np.isfinite(upper), abs(upper), 0.0)
    )
    return np.where(bound > SMALL_BOUND * size, bound, size)

"""Constraints as sums of contributions.

A row is a sum of what blocks of instants add to it. The row of a limit has one contribution, that
of continuity two, that of an integral one for each quadrature point; contributions may lie in
several phases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.pattern import lanes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
SMALL_BOUND = 1e-3  # of a row's typical size


@dataclass(eq=False)
class Part:
    """A contribution: a block at the instants of a set."""

    points: InstantSet
    block: Block


@dataclass(eq=False)
class Rows:
    """Some constraints of one name.

    pointwise   one for each instant of its only part and each row of its block; otherwise all
                instants of all parts add up to one for each row, or to a single one if their
                blocks have losses
    throughout  whether it is meant to hold between the instants too
    """

    name: str
    rows: tuple[str, ...]  # names; () of a single one that needs none
    parts: list[Part]
    lower: Floats
    upper: Floats
    scale: Floats
    pointwise: bool = True
    throughout: bool = False

    @property
    def size(self) -> int:
        """Constraints at an instant, or in all."""
        return len(self.lower)

    def number(self, first: int, alive: Flags) -> Ints:
        """Give numbers from `first` on to those that are alive, (instants or 1, rows), and tell the
        sets; returns which of all instants and rows they are.
        """
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
    """The larger finite bound of each row; its typical size where that is larger by far.

    A bound that is almost zero says nothing about the size of what it bounds.
    """
    bound = np.maximum(
        np.where(np.isfinite(lower), abs(lower), 0.0), np.where(np.isfinite(upper), abs(upper), 0.0)
    )
    return np.where(bound > SMALL_BOUND * size, bound, size)

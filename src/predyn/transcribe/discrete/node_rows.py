"""Rows of nodes: each adds up contributions of the steps beside it and of the node itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.pattern import lanes
from predyn.transcribe.rows import Flags, Ints, Part, Rows


@dataclass(eq=False)
class NodePart(Part):
    """A contribution of each instant of a set to the rows of a node (instants,)."""

    points: InstantSet
    block: Block
    node: Ints


@dataclass(eq=False)
class NodeRows(Rows):
    """One constraint for each node and each row.

    s  normalised times of the nodes
    """

    parts: Sequence[NodePart]
    s: tuple[float, ...] = field(kw_only=True)

    def number(self, first: int, alive: Flags) -> Ints:
        count = len(self.s) * self.size
        index = first + np.arange(count).reshape(len(self.s), self.size)
        for part in self.parts:
            part.points.row_of[:, part.block.rows] = lanes(part.points, index[part.node])
        return np.arange(count)

    def instant(self, k: int) -> tuple[int, float]:
        return self.parts[0].points.phase, self.s[k // self.size]

"""Values of the rows of a set, their losses, and their partials in channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from predyn.channels.derived import ChannelPart
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.lanes import WIDTH
from predyn.samples import Samples
from predyn.terms.term import LOSSES
from predyn.transcribe import kernels
from predyn.transcribe.kernels import Affine, Floats, Sums
from predyn.transcribe.pool import in_lanes

if TYPE_CHECKING:
    from predyn.transcribe.instants import Block, InstantSet


class RowValues:
    """Rows at all instants of a set: values (chunks, rows, WIDTH), partials in channels, sums."""

    def __init__(
        self, points: InstantSet, z: tuple[Floats, ...], derived: Mapping[str, ChannelPart]
    ) -> None:
        chunks, blocks = points.chunks, points.blocks
        self._count = len(points.s)
        self.fraction = in_lanes(points.padded)
        self.time = np.zeros_like(self.fraction)
        self.needs_time = "t" in points.channels
        self.samples = self._sampled(points, z, derived)
        rows = blocks[-1].rows.stop
        self.values = aligned(chunks, rows, WIDTH)
        self.partials = aligned(chunks, max(blocks[-1].entries.stop, 1), WIDTH)
        self.sums = _sums(points, rows)
        self._blocks = [
            (block, view(self.values, block.rows), view(self.partials, block.entries))
            for block in blocks
        ]
        self.cost = 0.0  # contribution to the objective, without the factor T
        name = next(iter(derived), "")
        self._channel = name
        affine = self._numbers = self._affine(points.components.direct, name)
        channel = derived[name].value if derived else z[0]
        self.weights = in_lanes(points.weights)
        self.add_up = Direct(
            kernels.add_up, affine, z, channel, self.values, self.weights, self.sums
        )
        self.put_rows = Direct(kernels.put_rows, self.values, self.sums)

    def _sampled(
        self, points: InstantSet, z: tuple[Floats, ...], derived: Mapping[str, ChannelPart]
    ) -> Samples:
        channels = {
            name: z[order][:, first : first + count].transpose(1, 0, 2)
            for name, (first, count, order) in points.components.direct.items()
            if order < len(z)
        }
        channels["t"] = self.time.transpose(1, 0, 2)
        for name, channel in derived.items():
            channels[name] = channel.value.transpose(1, 0, 2)
        return Samples(channels)

    def _affine(self, direct: Mapping[str, tuple[int, int, int]], channel: str) -> Affine:
        """Rows that are affine in the states and the given channel; others are kept separately."""
        self.not_affine: list[tuple[Block, Floats]] = []
        self._are_affine = []
        rows: list[int] = []
        entries: list[tuple[int, int, int]] = []
        for block, values, partials in self._blocks:
            residual, first = block.residual, block.rows.start
            if not residual.constant or not {*residual.channels} <= {*direct, channel}:
                self.not_affine.append((block, values))
                continue
            self._are_affine.append((block, values, partials))
            rows += range(first, block.rows.stop)
            for r, name, x in residual.entries:
                start, _, of_order = direct.get(name, (0, 0, -1))
                entries.append((first + r, of_order, start + x))
        row, order, component = (np.array([e[k] for e in entries], np.int64) for k in range(3))
        offset, factor = self._offsets_and_factors()
        return Affine(np.array(rows, np.int64), offset, row, order, component, factor)

    def _offsets_and_factors(self) -> tuple[Floats, Floats]:
        """Numbers of the affine rows."""
        offset: list[float] = []
        factor: list[float] = []
        for block, values, partials in self._are_affine:
            residual = block.residual
            zeros = Samples({x: np.zeros_like(self.samples[x]) for x in residual.channels})
            residual.value(zeros, values)
            residual.partials(zeros, partials)
            offset += values[:, 0, 0].tolist()
            factor += partials[:, 0, 0].tolist()
        return np.array(offset, float), np.array(factor, float)

    def refresh(self, points: InstantSet) -> None:
        """Read offsets, factors and weights of the blocks again."""
        self._numbers.offset[:], self._numbers.factor[:] = self._offsets_and_factors()
        weigh(points, self.sums)

    def derive(self, fresh: bool) -> None:
        """Compute partials in channels; fresh: including constant ones, needed only once."""
        for block, _, partials in self._blocks:
            if fresh or not block.residual.constant:
                block.residual.partials(self.samples, partials)

    def of(self, block: Block) -> Floats:
        """Values (instants, rows) of a block."""
        flat = self.values[:, block.rows].transpose(0, 2, 1)
        return flat.reshape(-1, flat.shape[-1])[: self._count]


def _sums(points: InstantSet, count: int) -> Sums:
    shape = (points.chunks, count, WIDTH)
    sums = Sums(
        weight=np.ones(count),
        objective=np.zeros(count, np.int64),
        kind=np.full(count, -1),
        width=np.ones(count),
        straight=np.zeros(count),
        bent=np.ones(count),
        slope=np.ones(shape),
        bend=np.zeros(shape),
        total=np.zeros(count),
    )
    weigh(points, sums)
    return sums


def weigh(points: InstantSet, sums: Sums) -> None:
    """Write weights and losses of the blocks."""
    for block in points.blocks:
        sums.weight[block.rows] = block.weight
        sums.objective[block.rows] = block.objective
        if block.loss:
            sums.kind[block.rows] = LOSSES.index(block.loss.loss)
            sums.width[block.rows] = block.loss.width
            sums.straight[block.rows] = block.loss.straight
            sums.bent[block.rows] = block.loss.bent


def view(array: Floats, rows: slice) -> Floats:
    """View (rows, chunks, WIDTH) of a lane array."""
    return array[:, rows].transpose(1, 0, 2)

"""Quantities of the rows of a set that second derivatives need.

At each instant the Lagrangian is a function of the states. Its second partials are stored in
blocks, one for each pair of components coupled by any row. The kernels are in curvature.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from predyn.channels.derived import ChannelPart
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.lanes import WIDTH
from predyn.transcribe import curvature
from predyn.transcribe.chained import Chained, Dependence
from predyn.transcribe.curvature import OnChannel, Spread
from predyn.transcribe.kernels import Floats, Instants, Ints
from predyn.transcribe.row_values import view

if TYPE_CHECKING:
    from predyn.transcribe.instants import InstantSet

_NONE = np.zeros(0, np.int64)


class OfChannel(NamedTuple):
    """The second partials of one channel: their weights and destination."""

    on: OnChannel
    spread: Spread
    weights: Floats
    curvature: tuple[Floats, ...]


class RowBends:
    """Weights of rows and blocks of second partials, for one set."""

    pairs: Ints  # (blocks, 2) components, the second not after the first
    block_of: Ints  # (components, components), -1 for none
    blocks: Floats  # (chunks, blocks * orders^2, WIDTH)
    main: OfChannel  # one channel; the others are added separately
    _plain: Ints  # (blocks,) 1 if neither component is differentiated in time

    def __init__(
        self,
        points: InstantSet,
        instants: Instants,
        z: tuple[Floats, ...],
        derived: Mapping[str, ChannelPart],
    ) -> None:
        values, chained, chunks = points.values, points.chained, points.chunks
        self._values, self._points = values, points
        count, wide = len(values.sums.weight), len(points.components.base) * points.orders
        self.mu, self.kappa = (aligned(chunks, count, WIDTH) for _ in range(2))
        self.slope, self.cross = (aligned(chunks, wide, WIDTH) for _ in range(2))
        self.square = aligned(chunks, 1, WIDTH)
        self.curved_rows: Ints = np.flatnonzero(values.sums.kind > 0)
        chained.bent[self.curved_rows] = True
        for block in points.blocks:
            chained.bent[block.rows] |= bool(block.residual.curved)
        self._list_curved_terms(points, derived)
        self._list_pairs(points, derived)
        rows = (chained.partials, chained.explicit)
        second = (self.slope, self.cross, self.square, self.blocks)
        self.weigh_rows = Direct(
            curvature.weigh,
            *(chained.groups, rows, values.sums, points.row_of, values.partials),
            *(self.mu, self.kappa, second, self.main.on, self.main.weights),
        )
        self.hessian = Direct(
            curvature.hessian,
            *(instants, z, chained.groups, rows, self.curved_rows, self.kappa, second),
            *((self.pairs, self._plain), self.block_of),
            *((self.main.spread, self.main.curvature),),
            aligned(1, wide + points.orders + 3, WIDTH),
        )

    def _list_curved_terms(self, points: InstantSet, derived: Mapping[str, ChannelPart]) -> None:
        """List pairs of channel components with second partials in terms, and their partials."""
        pairs = [
            ((a, x), (b, y)) for block in points.blocks for a, x, b, y in block.residual.curved
        ]
        parts = list(dict.fromkeys(part for pair in pairs for part in pair))
        rows: list[list[Dependence]] = [[(channel, x, 0)] for channel, x in parts]
        self._parts = Chained(
            rows, derived, points.components, points.values.fraction, points.orders
        )
        self._x = np.array([parts.index(a) for a, _ in pairs], np.int64)
        self._y = np.array([parts.index(b) for _, b in pairs], np.int64)
        self._bent = aligned(points.chunks, len(pairs), WIDTH)
        self._one = np.ones((points.chunks, 1, WIDTH))

    def _list_pairs(self, points: InstantSet, derived: Mapping[str, ChannelPart]) -> None:
        """List pairs of components with curvature, and those that each channel fills."""
        n, rows, chained = len(points.components.base), points.dependences(), points.chained
        coupled = np.zeros((n, n), bool)
        found = []
        for name, channel in derived.items():
            items = [(r, e, x) for r, row in enumerate(rows) for c, x, e in row if c == name]
            on_channel = OnChannel(*np.array(items, np.int64).reshape(-1, 3).T.copy())
            keep = np.zeros(len(channel.pairs), bool)
            for x in points.curved_components(name, np.unique(on_channel.component)):
                on = np.zeros(n, bool)
                on[[component for component, *_ in channel.depends[x]]] = True
                keep |= on[channel.pairs].all(axis=1)
            coupled[channel.pairs[keep, 0], channel.pairs[keep, 1]] = True
            found.append((channel, on_channel, keep))
        for r in self.curved_rows:
            acting = chained.components(int(r))
            coupled[np.ix_(acting, acting)] = True
        for x, y in zip(self._x, self._y, strict=True):
            a, b = self._parts.components(x), self._parts.components(y)
            coupled[np.ix_(a, b)] = coupled[np.ix_(b, a)] = True
        self.pairs = np.argwhere(np.tril(coupled)).astype(np.int64)
        self.block_of = np.full((n, n), -1)
        self.block_of[self.pairs[:, 0], self.pairs[:, 1]] = np.arange(len(self.pairs))
        timed = chained.in_time(n) | self._parts.in_time(n)
        self._plain = np.where(timed[self.pairs].any(axis=1), 0, 1)
        self.blocks = aligned(points.chunks, len(self.pairs) * points.orders**2, WIDTH)
        channels = []
        for channel, on_channel, keep in found:
            first, second = channel.pairs[:, 0], channel.pairs[:, 1]
            block = np.where(keep, self.block_of[first, second], -1)
            spread = Spread(block, (first == second).astype(np.int64))
            channels.append(OfChannel(on_channel, spread, channel.weights, channel.curvature))
        nothing = OfChannel(
            OnChannel(_NONE, _NONE, _NONE),
            Spread(_NONE, _NONE),
            aligned(points.chunks, 1, WIDTH),
            (self.blocks,) * 4,
        )
        self.main = channels[0] if channels else nothing
        self.others = channels[1:]

    def weigh_others(self) -> None:
        """Compute the weights of all channels except the main one; call weigh_rows first."""
        for other in self.others:
            curvature.weigh_channel(other.on, self.mu, self._values.partials, other.weights)

    def spread_others(self, powers: tuple[float, ...]) -> None:
        """Add the second partials of all channels except the main one."""
        for other in self.others:
            curvature.spread(other.spread, other.curvature, powers, self.blocks)

    def bend_terms(self, powers: tuple[float, ...]) -> None:
        """Add the second partials of terms in channels."""
        if not len(self._x):
            return
        for block in self._points.blocks:
            if block.residual.curved:
                weights, out = view(self.mu, block.rows), view(self._bent, block.curved)
                block.residual.curvature(self._values.samples, weights, out)
        parts = self._parts
        parts.update(self._one)
        curvature.outer(
            self._bent, self._x, self._y, parts.groups, parts.partials, parts.explicit,
            powers, self.block_of, self.blocks, self.cross, self.square,
        )  # fmt: skip

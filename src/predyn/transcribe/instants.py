"""A set of instants of one phase: the rows that look at them, and the derivatives of these.

Rows are of two kinds. A pointwise row is a constraint at each instant. A summed row adds up over
the instants, with weights and a loss, to a part of the objective or to one constraint; in a set
that integrates over time the sum carries the factor T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import ChannelPart
from predyn.curves.bspline import BSpline
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.lanes import WIDTH
from predyn.model import Model
from predyn.samples import STATES, Samples, split_side
from predyn.terms.term import LOSSES, Residual, Smoothed
from predyn.transcribe import curvature, kernels
from predyn.transcribe.chained import Chained
from predyn.transcribe.curvature import OnChannel, Spread
from predyn.transcribe.kernels import Affine, Floats, Instants, Ints, Sums
from predyn.transcribe.pool import Sampled, in_lanes, padded

_NONE = np.zeros(0, np.int64)
_ON_NOTHING = OnChannel(_NONE, _NONE, _NONE)
_NOWHERE = Spread(_NONE, _NONE)


@dataclass(eq=False)
class Block:
    """A residual on a set: its rows, and what they add up to."""

    name: str
    residual: Residual
    loss: Smoothed | None = None  # of summed rows
    weight: float = 1.0
    columns: NDArray[np.int64] | None = None  # of a pair: which of the residual's entries are here
    rows: slice = field(default_factory=lambda: slice(0, 0))
    entries: slice = field(default_factory=lambda: slice(0, 0))
    curved: slice = field(default_factory=lambda: slice(0, 0))


class InstantSet:
    """Instants s (in [0, 1]) of a phase with weights; `timed` sets integrate over time."""

    def __init__(
        self, model: Model, phase: int, spline: BSpline, s: Floats, weights: Floats, timed: bool
    ) -> None:
        self.model, self.phase, self.timed, self.s = model, phase, timed, s
        self.blocks: list[Block] = []
        self.padded = padded(s)
        self.chunks = len(self.padded) // WIDTH
        self.active: NDArray[np.bool_] = spline.basis(s).transpose(1, 0, 2) != 0.0
        self.first: Ints = spline.span(s)
        self.weights = in_lanes(np.concatenate([weights, np.zeros(-len(s) % WIDTH)]))
        self._fraction = in_lanes(self.padded)
        self.chosen: NDArray[np.bool_] = np.ones(len(s), bool)  # instants that rows look at

    def add(self, block: Block) -> Block:
        """Give a block its rows, entries and curved pairs, after those of the earlier ones."""
        ends = (0, 0, 0)
        if self.blocks:
            last = self.blocks[-1]
            ends = (last.rows.stop, last.entries.stop, last.curved.stop)
        residual = block.residual
        entries = len(residual.entries) if block.columns is None else len(block.columns)
        counts = (len(residual.rows), entries, len(residual.curved))
        block.rows, block.entries, block.curved = (
            slice(a, a + n) for a, n in zip(ends, counts, strict=True)
        )
        self.blocks.append(block)
        return block

    def _dependences(self) -> list[list[tuple[str, int, int]]]:
        """Of each row: channel, component, column of the partial."""
        rows: list[list[tuple[str, int, int]]] = []
        for block in self.blocks:
            rows += [[] for _ in block.residual.rows]
            entries = block.residual.entries
            chosen = range(len(entries)) if block.columns is None else block.columns
            for k, e in enumerate(chosen):
                r, channel, x = entries[e]
                column = block.entries.start + k
                rows[block.rows.start + r].append((split_side(channel)[1], x, column))
        return rows

    def _bends(self) -> list[tuple[tuple[str, int], tuple[str, int]]]:
        """Pairs of channel components with second partials."""
        bends: list[tuple[tuple[str, int], tuple[str, int]]] = []
        for block in self.blocks:
            bends += [((a, x), (b, y)) for a, x, b, y in block.residual.curved]
        return bends

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels that the rows look at."""
        return tuple(dict.fromkeys(c for row in self._dependences() for c, _, _ in row))

    def _curved_components(self, name: str, used: Ints) -> Sequence[int]:
        """Components of a channel whose second partials count here, given those of the rows."""
        return [int(x) for x in used]

    def build(self, pool: Sampled, first: int) -> None:
        """Make the arrays, once all blocks are known; the set starts at that chunk of the pool."""
        chunks, here = self.chunks, slice(first, first + self.chunks)
        rows, bends = self._dependences(), self._bends()
        self.orders, names = pool.orders, self.channels
        at = pool.instants
        self.instants = Instants(at.first[here], at.last[here], at.basis[here], at.points)
        self.z = tuple(x[here] for x in pool.z)
        derived = {n: ChannelPart(c, here) for n, c in pool.derived.items() if n in names}
        self._time = np.zeros_like(self._fraction)
        count = len(rows)
        self._values, self._mu, self._kappa = (aligned(chunks, count, WIDTH) for _ in range(3))
        self._partials = aligned(chunks, max(self.blocks[-1].entries.stop, 1), WIDTH)
        self._bent = aligned(chunks, self.blocks[-1].curved.stop, WIDTH)
        self._sums = self._summed(count)
        self.chained = Chained(rows, derived, self._fraction, self.orders)
        parts = list(dict.fromkeys(part for pair in bends for part in pair))
        components = [[(channel, x, 0)] for channel, x in parts]
        self._components = Chained(components, derived, self._fraction, self.orders)
        self._bend_x = np.array([parts.index(a) for a, _ in bends], np.int64)
        self._bend_y = np.array([parts.index(b) for _, b in bends], np.int64)
        self._one = np.ones((chunks, 1, WIDTH))
        wide = self.model.n * self.orders
        self._slope, self._cross = (aligned(chunks, wide, WIDTH) for _ in range(2))
        self._square = aligned(chunks, 1, WIDTH)
        self._room = aligned(1, wide + self.orders + 3, WIDTH)
        self._curved_rows = np.flatnonzero(self._sums.kind > 0)
        self.chained.bent[self._curved_rows] = True
        for block in self.blocks:
            self.chained.bent[block.rows] |= bool(block.residual.curved)
        self._arrange_channels(rows, derived)
        self._needs_time, self.still = "t" in names, not names
        self._moves = bool(derived) or not all(b.residual.constant for b in self.blocks)
        self._fresh = True
        self.samples = self._samples(derived)
        self._own = [
            (block, self.view(self._values, block.rows), self.view(self._partials, block.entries))
            for block in self.blocks
            if block.columns is None
        ]
        self.lambda_row: Ints = np.full((chunks, count, WIDTH), -1)
        self.value_row: Ints = self.lambda_row
        self._bind_kernels(derived)

    def _affine(self, channel: str) -> Affine:
        """Rows that are affine in the states and that channel; the others are set apart."""
        self._not_affine: list[tuple[Block, Floats]] = []
        rows: list[tuple[int, float]] = []
        entries: list[tuple[int, int, int, float]] = []
        for block, values, partials in self._own:
            residual, first = block.residual, block.rows.start
            if not residual.constant or not {*residual.channels} <= {*STATES, channel}:
                self._not_affine.append((block, values))
                continue
            zeros = Samples({x: np.zeros_like(self.samples[x]) for x in residual.channels})
            residual.value(zeros, values)
            residual.partials(zeros, partials)
            rows += [(first + r, x) for r, x in enumerate(values[:, 0, 0])]
            for (r, name, x), factor in zip(residual.entries, partials[:, 0, 0], strict=True):
                order = STATES.index(name) if name in STATES else -1
                entries.append((first + r, order, x, factor))
        return Affine(
            np.array([r for r, _ in rows], np.int64),
            np.array([x for _, x in rows], float),
            np.array([r for r, _, _, _ in entries], np.int64),
            np.array([o for _, o, _, _ in entries], np.int64),
            np.array([x for _, _, x, _ in entries], np.int64),
            np.array([factor for _, _, _, factor in entries], float),
        )

    def _bind_kernels(self, derived: dict[str, ChannelPart]) -> None:
        chained, sums, mu = self.chained, self._sums, self._mu
        rows = (chained.partials, chained.explicit)
        on_curve = (self.instants, self.z, chained.groups, rows)
        second = (self._slope, self._cross, self._square, self._blocks)
        on_channel, spread, weights, bends = self._main
        name = next(iter(derived), "")
        channel = derived[name].value if derived else self.z[0]
        self._add_up = Direct(
            kernels.add_up, self._affine(name), self.z, channel, self._values, self.weights, sums
        )
        self._put_rows = Direct(kernels.put_rows, self._values)
        self._jacobian = Direct(kernels.jacobian, *on_curve, self._room)
        self._gradient = Direct(kernels.gradient, *on_curve, sums, mu, self._slope, self._room)
        self._weigh = Direct(
            curvature.weigh,
            *(chained.groups, rows, sums, self.lambda_row, self._partials, mu, self._kappa),
            *(second, on_channel, weights),
        )
        self._hessian = Direct(
            curvature.hessian,
            *(*on_curve, self._curved_rows, self._kappa, second, self.joints, self._pair),
            *((spread, bends), self._room),
        )

    def _summed(self, count: int) -> Sums:
        sums = Sums(
            weight=np.zeros(count),
            target=np.full(count, -2),
            kind=np.full(count, -1),
            width=np.ones(count),
            slope=np.zeros((self.chunks, count, WIDTH)),
            bend=np.zeros((self.chunks, count, WIDTH)),
            total=np.zeros(count),
        )
        for block in self.blocks:
            if block.loss:
                sums.kind[block.rows] = LOSSES.index(block.loss.loss)
                sums.width[block.rows] = block.loss.width
                sums.weight[block.rows] = block.weight
                sums.target[block.rows] = -1
        return sums

    def _arrange_channels(self, rows: list, derived: dict[str, ChannelPart]) -> None:
        """Blocks of joint pairs that have curvature, and which of them each channel fills."""
        n = self.model.n
        coupled = np.zeros((n, n), bool)
        found = []
        for name, channel in derived.items():
            items = [(r, e, x) for r, row in enumerate(rows) for c, x, e in row if c == name]
            on_channel = OnChannel(*np.array(items, np.int64).reshape(-1, 3).T.copy())
            keep = np.zeros(len(channel.pairs), bool)
            for x in self._curved_components(name, np.unique(on_channel.component)):
                on = np.zeros(n, bool)
                on[[joint for joint, *_ in channel.depends[x]]] = True
                keep |= on[channel.pairs].all(axis=1)
            below, above = channel.pairs[keep].T
            coupled[below, above] = True
            found.append((channel, on_channel, keep))
        for r in self._curved_rows:
            joints = self.chained.joints(int(r))
            coupled[np.ix_(joints, joints)] = True
        for x, y in zip(self._bend_x, self._bend_y, strict=True):
            a, b = self._components.joints(x), self._components.joints(y)
            coupled[np.ix_(a, b)] = coupled[np.ix_(b, a)] = True
        self.joints: Ints = np.argwhere(np.tril(coupled)).astype(np.int64)
        self._pair = np.full((n, n), -1)
        self._pair[self.joints[:, 0], self.joints[:, 1]] = np.arange(len(self.joints))
        self._blocks = aligned(self.chunks, len(self.joints) * self.orders**2, WIDTH)
        channels = []
        for channel, on_channel, keep in found:
            below, above = channel.pairs.T
            block = np.where(keep, self._pair[below, above], -1)
            spread = Spread(block, (below == above).astype(np.int64))
            channels.append((on_channel, spread, channel.weights, channel.curvature))
        nothing = (_ON_NOTHING, _NOWHERE, aligned(self.chunks, 1, WIDTH), (self._blocks,) * 4)
        self._main = channels[0] if channels else nothing
        self._others = channels[1:]

    def _samples(self, derived: dict[str, ChannelPart]) -> Samples:
        states = zip(STATES, self.z, strict=False)
        channels = {name: x.transpose(1, 0, 2) for name, x in states}
        channels["t"] = self._time.transpose(1, 0, 2)
        for name, channel in derived.items():
            channels[name] = channel.value.transpose(1, 0, 2)
        return Samples(channels)

    def view(self, array: Floats, rows: slice) -> Floats:
        """(rows, chunks, WIDTH) of a lane array."""
        return array[:, rows].transpose(1, 0, 2)

    def aim(self, k: int, target: int) -> None:
        """Let summed block k add up to a constraint."""
        self._sums.target[self.blocks[k].rows] = target

    # -- at a point ---------------------------------------------------------------------------

    def move(self, T: float, powers: tuple[float, ...]) -> None:
        """Rows and their losses, from the samples of the pool."""
        self._T, self._powers = T, powers[: self.orders]
        if self.still and not self._fresh:
            return
        if self._needs_time:
            np.multiply(self._fraction, T, out=self._time)
        for block, values in self._not_affine:
            block.residual.value(self.samples, values)
        self._cost = self._add_up.run()

    def values_of(self, block: Block) -> Floats:
        """(instants, rows) of a block."""
        flat = self._values[:, block.rows].transpose(0, 2, 1)
        return flat.reshape(len(self.padded), -1)[: len(self.s)]

    def rows_of(self, block: Block) -> Ints:
        """(instants, rows): the numbers of a block's constraints, -1 where there is none."""
        flat = self.lambda_row[:, block.rows].transpose(0, 2, 1)
        return flat.reshape(len(self.padded), -1)[: len(self.s)]

    def put_values(self, out: Floats) -> None:
        """Pointwise rows into the vector of constraints."""
        self._put_rows.run(self.value_row, out)

    def objective(self) -> float:
        """What all summed blocks add to the objective."""
        return float(self._cost * self._T if self.timed else self._cost)

    def total(self, k: int) -> float:
        """What summed block k adds up to."""
        rows = self.blocks[k].rows
        total = float(self._sums.weight[rows] @ self._sums.total[rows])
        return total * self._T if self.timed else total

    def derive(self) -> None:
        """Partials of all rows in the states."""
        if self._fresh or self._moves:
            for block, _, partials in self._own:
                if self._fresh or not block.residual.constant:
                    block.residual.partials(self.samples, partials)
            self.chained.update(self._partials)
            self._fresh = False

    def jacobian(self, place: Ints, place_T: Ints, out: Floats) -> None:
        """Add the pointwise rows to the values of the Jacobian."""
        self._jacobian.run(self._powers, place, place_T, out)

    def still_slope(self, target: int) -> float:
        """d/dT of the summed blocks of a target in a set that is the same for every motion."""
        if not self.timed:
            return 0.0
        if target == -1:
            return float(self._cost)
        on = self._sums.target == target
        return float(self._sums.weight[on] @ self._sums.total[on])

    def gradient(self, target: int, out: Floats) -> float:
        """Add the gradient of the summed blocks of a target to out (count, n); returns d/dT."""
        by_T: float = self._gradient.run(target, self._powers, self._T, self.timed, out)
        return by_T

    def weigh(self, sigma: float, lam: Floats) -> None:
        """Weights of the rows in the Lagrangian, and those of the channels' components."""
        self._weigh.run(sigma, lam, self._powers, self._T, self.timed)
        for on_channel, _, weights, _ in self._others:
            curvature.weigh_channel(on_channel, self._mu, self._partials, weights)

    def hessian(self, exact: bool, place: Ints, place_T: Ints, out: Floats) -> float:
        """Add to the values of the Hessian; returns the second derivative in T.

        After weigh() and the pool's curve(). exact=False leaves out the second partials of
        residuals (Gauss-Newton).
        """
        if exact:
            self._spread_others()
            self._bend_terms()
        total: float = self._hessian.run(exact, self._powers, place, place_T, out)
        return total

    def _spread_others(self) -> None:
        """Second partials of all channels but one."""
        for _, spread, _, bends in self._others:
            curvature.spread(spread, bends, self._powers, self._blocks)

    def _bend_terms(self) -> None:
        """Second partials of terms in channels."""
        if not len(self._bend_x):
            return
        for block, _, _ in self._own:
            if block.residual.curved:
                weights = self.view(self._mu, block.rows)
                out = self.view(self._bent, block.curved)
                block.residual.curvature(self.samples, weights, out)
        parts = self._components
        parts.update(self._one)
        curvature.outer(
            self._bent, self._bend_x, self._bend_y, parts.groups, parts.partials, parts.explicit,
            self._powers, self._pair, self._blocks, self._cross, self._square,
        )  # fmt: skip

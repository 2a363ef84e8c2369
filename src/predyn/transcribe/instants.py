"""A set of instants of one phase: its samples, the rows that look at them, and their derivatives.

Rows are of two kinds. A pointwise row is a constraint at each instant. A summed row adds up over
the instants, with weights and a loss, to a part of the objective or to one constraint; in a set
that integrates over time the sum carries the factor T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.bspline import BSpline
from predyn.dynamics.batch import aligned
from predyn.dynamics.forces import ExternalForce
from predyn.lanes import WIDTH
from predyn.model import Model
from predyn.samples import STATES, Samples, split_side
from predyn.terms.term import LOSSES, Residual, Smoothed
from predyn.transcribe import kernels
from predyn.transcribe.chained import Chained
from predyn.transcribe.channels import Derived, derived_channel
from predyn.transcribe.kernels import Floats, Instants, Ints, OnChannel, Spread, Sums

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
    target: int = -1  # summed rows: constraint that they add up to, -1 the objective
    columns: NDArray[np.int64] | None = None  # of a pair: which of the residual's entries are here
    bends: NDArray[np.int64] | None = None  # and which of its curved pairs
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
        padded = np.concatenate([s, np.repeat(s[-1:], -len(s) % WIDTH)])
        self.chunks = len(padded) // WIDTH
        lanes = lambda x: np.ascontiguousarray(x.reshape(self.chunks, WIDTH, -1).transpose(0, 2, 1))  # noqa: E731
        basis = spline.basis(padded).transpose(1, 0, 2)  # instants, orders, control points
        self.active: NDArray[np.bool_] = basis[: len(s)] != 0.0
        self.instants = Instants(
            spline.span(padded).astype(np.int64).reshape(self.chunks, WIDTH),
            lanes(basis.reshape(len(padded), -1)),
            lanes(padded),
        )
        self.weights = lanes(np.concatenate([weights, np.zeros(len(padded) - len(s))]))

    def add(self, block: Block) -> Block:
        self.blocks.append(block)
        return block

    def build(self, forces: Sequence[ExternalForce]) -> None:
        """Lay out rows and arrays, once all blocks are known."""
        n, chunks = self.model.n, self.chunks
        rows: list[list] = []
        bends = []
        entries = curved = 0
        for block in self.blocks:
            residual = block.residual
            chosen = range(len(residual.entries)) if block.columns is None else block.columns
            bent = range(len(residual.curved)) if block.bends is None else block.bends
            first = len(rows)
            rows += [[] for _ in residual.rows]
            for k, e in enumerate(chosen):
                r, channel, x = residual.entries[e]
                rows[first + r].append((split_side(channel)[1], x, entries + k))
            for e in bent:
                a, x, b, y = residual.curved[e]
                bends.append(((split_side(a)[1], x), (split_side(b)[1], y)))
            block.rows = slice(first, len(rows))
            block.entries = slice(entries, entries + len(chosen))
            block.curved = slice(curved, curved + len(bent))
            entries, curved = block.entries.stop, block.curved.stop
        names = dict.fromkeys(channel for row in rows for channel, _, _ in row)
        self.used = 4 if "jerk" in names else 3
        self.z = aligned(self.used, chunks, n, WIDTH)
        self.z[:] = 0.0
        states = (self.z[0], self.z[1], self.z[2])
        self.derived: dict[str, Derived] = {
            name: derived_channel(self.model, name, states, forces)
            for name in names
            if name not in (*STATES, "t")
        }
        fraction = self.instants.fraction
        self._time = np.zeros_like(fraction)
        self._values = aligned(chunks, len(rows), WIDTH)
        self._partials = aligned(chunks, max(entries, 1), WIDTH)
        self._bent = aligned(chunks, curved, WIDTH)
        self._mu, self._kappa, slope, bend = (aligned(chunks, len(rows), WIDTH) for _ in range(4))
        slope[:] = bend[:] = 0.0
        self._sums = Sums(np.zeros(len(rows)), np.full(len(rows), -2), slope, bend)
        self._kind = np.full(len(rows), -1)
        self._width = np.ones(len(rows))
        self._totals = np.zeros(len(rows))
        for block in self.blocks:
            if block.loss:
                self._kind[block.rows] = LOSSES.index(block.loss.loss)
                self._width[block.rows] = block.loss.width
                self._sums.weight[block.rows] = block.weight
                self._sums.target[block.rows] = block.target
        self.chained = Chained(rows, self.derived, fraction, self.used)
        parts = list(dict.fromkeys(part for pair in bends for part in pair))
        self._components = Chained(
            [[(channel, x, 0)] for channel, x in parts], self.derived, fraction, self.used
        )
        self._bend_x = np.array([parts.index(a) for a, _ in bends], np.int64)
        self._bend_y = np.array([parts.index(b) for _, b in bends], np.int64)
        self._one = np.ones((chunks, 1, WIDTH))
        self._slope, self._cross = (aligned(chunks, n * self.used, WIDTH) for _ in range(2))
        self._square = aligned(chunks, 1, WIDTH)
        self._room = aligned(1, n * self.used + self.used + 3, WIDTH)
        self._lossy = bool(any(block.loss for block in self.blocks))
        self._curved_rows = np.flatnonzero(self._kind > 0)
        self.constant = all(b.residual.constant for b in self.blocks)
        self._arrange_channels(rows)
        self._fresh = True
        self.samples = self._samples()
        self._powers = np.ones(4)
        self._needs_states, self._needs_time = bool(names), "t" in names
        self._own = [
            (block, self.view(self._values, block.rows), self.view(self._partials, block.entries))
            for block in self.blocks
            if block.columns is None
        ]
        self.lambda_row: Ints = np.full((chunks, len(rows), WIDTH), -1)
        self.value_row: Ints = self.lambda_row

    def _arrange_channels(self, rows: list) -> None:
        """Blocks of joint pairs that have curvature, and which of them each channel fills."""
        n = self.model.n
        coupled = np.zeros((n, n), bool)
        found = []
        for name, channel in self.derived.items():
            items = [(r, e, x) for r, row in enumerate(rows) for c, x, e in row if c == name]
            on_channel = OnChannel(*np.array(items, np.int64).T.copy())
            keep = np.zeros(len(channel.pairs), bool)
            for x in np.unique(on_channel.component):
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
        self._blocks = aligned(self.chunks, len(self.joints) * self.used**2, WIDTH)
        channels: list[tuple[Derived | None, OnChannel, Spread]] = []
        for channel, on_channel, keep in found:
            below, above = channel.pairs.T
            block = np.where(keep, self._pair[below, above], -1)
            where = Spread(block, (below == above).astype(np.int64))
            channels.append((channel, on_channel, where))
        self._main = channels[0] if channels else (None, _ON_NOTHING, _NOWHERE)
        self._others: list[Any] = channels[1:]
        main = self._main[0]
        self._main_weights = aligned(self.chunks, 1, WIDTH) if main is None else main.weights
        self._main_curvature = (self._blocks,) * 4 if main is None else main.curvature

    def _samples(self) -> Samples:
        channels = {
            name: self.z[o].transpose(1, 0, 2) for o, name in enumerate(STATES[: self.used])
        }
        channels["t"] = self._time.transpose(1, 0, 2)
        for name, channel in self.derived.items():
            channels[name] = channel.value.transpose(1, 0, 2)
        return Samples(channels)

    def view(self, array: Floats, rows: slice) -> Floats:
        """(rows, chunks, WIDTH) of a lane array."""
        return array[:, rows].transpose(1, 0, 2)

    def aim(self, k: int, target: int) -> None:
        """Let summed block k add up to a constraint."""
        self.blocks[k].target = target
        self._sums.target[self.blocks[k].rows] = target

    # -- at a point ---------------------------------------------------------------------------

    def move(self, control: Floats, T: float, eager: bool) -> None:
        """States of the curve, channel values, rows and their losses.

        eager: the partials will be asked for too, and the channels compute both at once for less.
        """
        self.T = T
        self._powers[:] = 1.0, 1 / T, 1 / T**2, 1 / T**3
        if self._needs_states:
            kernels.evaluate(control, self.instants, T, self.z)
        if self._needs_time:
            np.multiply(self.instants.fraction, T, out=self._time)
        for channel in self.derived.values():
            if eager:
                channel.derive()
            else:
                channel.evaluate()
        self._eager = eager
        for block, values, _ in self._own:
            block.residual.value(self.samples, values)
        if self._lossy:
            kernels.losses(
                self._values, self.weights, self._kind, self._width, self._sums.slope,
                self._sums.bend, self._totals,
            )  # fmt: skip

    def put_values(self, out: Floats) -> None:
        """Pointwise rows into the vector of constraints."""
        kernels.put_rows(self._values, self.value_row, out)

    def total(self, k: int) -> float:
        """What summed block k adds up to."""
        block = self.blocks[k]
        factor = block.weight * self.T if self.timed else block.weight
        return factor * float(self._totals[block.rows].sum())

    def derive(self) -> None:
        """Partials of all rows in the states."""
        if not self._eager:
            for channel in self.derived.values():
                channel.derive()
        for block, _, partials in self._own:
            if self._fresh or not block.residual.constant:
                block.residual.partials(self.samples, partials)
        if self._fresh or self.derived or not self.constant:
            self.chained.update(self._partials)
        self._fresh = False

    def jacobian(self, place: Ints, place_T: Ints, out: Floats) -> None:
        """Add the pointwise rows to the values of the Jacobian."""
        kernels.jacobian(
            self.instants, self.chained.groups, self.chained.partials, self.chained.explicit,
            self.z, self.T, self._powers, self.used, place, place_T, self._room, out,
        )  # fmt: skip

    def gradient(self, target: int, out: Floats) -> float:
        """Add the gradient of the summed blocks of a target to out (count, n); returns d/dT."""
        chained = self.chained
        by_T: float = kernels.gradient(
            self.instants, chained.groups, self._sums, self._totals, target, chained.partials,
            chained.explicit, self.z, self.T, self._powers, self.timed, self.used, self._mu,
            self._slope, self._room, out,
        )  # fmt: skip
        return by_T

    def hessian(
        self, sigma: float, lam: Floats, exact: bool, place: Ints, place_T: Ints, out: Floats
    ) -> float:
        """Add to the values of the Hessian; returns the second derivative in T.

        exact=False leaves out the second partials of residuals (Gauss-Newton).
        """
        chained, mu = self.chained, self._mu
        main, on_main, where = self._main
        kernels.weigh(
            chained.groups, lam, self.lambda_row, self._sums, sigma, chained.partials,
            chained.explicit, self.T, self.timed, self.used, mu, self._kappa, self._slope,
            self._cross, self._square, on_main, self._partials, self._main_weights,
        )  # fmt: skip
        self._blocks[:] = 0.0
        if not exact:
            where = _NOWHERE
        else:
            if main is not None:
                main.curve()
            self._curve_more(mu)
        total: float = kernels.hessian(
            self.instants, self.joints, where, self._main_curvature, self._curved_rows,
            self._kappa, chained.groups, chained.partials, chained.explicit, self._pair,
            self._blocks, self._slope, self._cross, self._square, self.z, self.T, self._powers,
            self.used, place, place_T, self._room, out,
        )  # fmt: skip
        return total

    def _curve_more(self, mu: Floats) -> None:
        """Second partials of the other channels, and of terms in channels."""
        for channel, on_channel, where in self._others:
            kernels.weigh_channel(on_channel, mu, self._partials, channel.weights)
            channel.curve()
            kernels.spread(where, channel.curvature, self.used, self._blocks)
        if not len(self._bend_x):
            return
        for block, _, _ in self._own:
            if block.residual.curved:
                weights = self.view(mu, block.rows)
                out = self.view(self._bent, block.curved)
                block.residual.curvature(self.samples, weights, out)
        parts = self._components
        parts.update(self._one)
        kernels.outer(
            self._bent, self._bend_x, self._bend_y, parts.groups, parts.partials, parts.explicit,
            self.used, self._pair, self._blocks, self._cross, self._square,
        )  # fmt: skip

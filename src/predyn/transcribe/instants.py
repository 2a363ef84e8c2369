"""A set of instants of one phase and the rows evaluated at them.

Rows are of two kinds. A pointwise row is a constraint at each instant. A summed row adds up over
the instants, with weights and a loss, to a part of the objective or to one constraint; in a set
that integrates over time the sum has the factor T. A constraint is the sum of all rows with its
number, from any set.

Blocks of rows are added to a set before it is built. row_values.py computes their values,
chained.py their first partials in the states, row_bends.py the quantities for second derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import ChannelPart
from predyn.curves.bspline import BSpline
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.lanes import WIDTH
from predyn.terms.term import Residual, Smoothed
from predyn.transcribe import kernels
from predyn.transcribe.chained import Chained, Dependence
from predyn.transcribe.kernels import Floats, Ints
from predyn.transcribe.kinks import Kinks
from predyn.transcribe.layout import Components
from predyn.transcribe.pool import Sampled, padded, windows
from predyn.transcribe.row_bends import RowBends
from predyn.transcribe.row_values import RowValues


@dataclass(eq=False)
class Block:
    """A residual on a set: its rows, and the sums that they contribute to."""

    name: str
    residual: Residual
    loss: Smoothed | None = None  # for summed rows
    weight: float = 1.0
    objective: bool = False  # whether the rows add to the objective
    rows: slice = field(default_factory=lambda: slice(0, 0))
    entries: slice = field(default_factory=lambda: slice(0, 0))
    curved: slice = field(default_factory=lambda: slice(0, 0))


class InstantSet:
    """Instants s (in [0, 1]) of a phase with weights; `timed` sets integrate over time."""

    def __init__(
        self, phase: int, components: Components, s: Floats, weights: Floats, timed: bool
    ) -> None:
        self.phase, self.components, self.timed, self.s = phase, components, timed, s
        self.blocks: list[Block] = []
        self.padded = padded(s)
        self.chunks = len(self.padded) // WIDTH
        self.weights = np.concatenate([weights, np.zeros(-len(s) % WIDTH)])
        self.chosen: NDArray[np.bool_] = np.ones(len(s), bool)  # instants at which rows count

    def add(self, block: Block) -> Block:
        """Add a block; its rows, entries and curved pairs follow those of earlier blocks."""
        ends = (0, 0, 0)
        if self.blocks:
            last = self.blocks[-1]
            ends = (last.rows.stop, last.entries.stop, last.curved.stop)
        residual = block.residual
        counts = (len(residual.rows), len(residual.entries), len(residual.curved))
        block.rows, block.entries, block.curved = (
            slice(a, a + n) for a, n in zip(ends, counts, strict=True)
        )
        self.blocks.append(block)
        return block

    def dependences(self) -> list[list[Dependence]]:
        """Dependences of each row: channel, component, column of the partial."""
        rows: list[list[Dependence]] = []
        for block in self.blocks:
            rows += [[] for _ in block.residual.rows]
            for column, (r, channel, x) in enumerate(block.residual.entries, block.entries.start):
                rows[block.rows.start + r].append((channel, x, column))
        return rows

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels that the rows depend on."""
        return tuple(dict.fromkeys(c for row in self.dependences() for c, _, _ in row))

    @cached_property
    def looks(self) -> tuple[Floats, Ints]:
        """The basis at each instant, (signals, instants, orders, points), and the index of the
        first control point, (signals, instants).
        """
        return self._looks()

    def _looks(self) -> tuple[Floats, Ints]:
        return windows(self.components, self.s)

    def of_joints(self, spline: BSpline) -> tuple[Floats, Ints]:
        """The basis of the joints' spline alone, (instants, orders, degree + 1), and the index of
        the first control point.
        """
        return spline.basis(self.s).transpose(1, 0, 2), spline.span(self.s)

    @property
    def windows(self) -> tuple[NDArray[np.bool_], Ints]:
        """Whether each control point acts, and the index of the first, as in looks."""
        basis, first = self.looks
        return basis != 0.0, first

    # -- construction -------------------------------------------------------------------------

    def build(self, pool: Sampled, first: int) -> None:
        """Allocate the arrays, after all blocks are added; first: its first chunk in the pool."""
        here = slice(first, first + self.chunks)
        rows, names = self.dependences(), self.channels
        self.orders = pool.orders
        derived = {n: ChannelPart(c, here) for n, c in pool.derived.items() if n in names}
        z = tuple(x[here] for x in pool.z)
        self.still = not names  # independent of the motion
        self._moves = bool(derived) or not all(b.residual.constant for b in self.blocks)
        self._fresh = True
        self.values = RowValues(self, z, derived)
        self.chained = Chained(rows, derived, self.components, self.values.fraction, self.orders)
        self.row_of: Ints = np.full((self.chunks, len(rows), WIDTH), -1)
        self.kinks = Kinks(self.values, self.row_of)
        self.bends = RowBends(self, pool.instants.part(here), z, derived)
        on_curve = self.on_curve = (
            pool.instants.part(here),
            z,
            self.chained.groups,
            (self.chained.partials, self.chained.explicit),
        )
        sums, room = self.values.sums, aligned(1, 2, WIDTH)
        self._jacobian = Direct(kernels.jacobian, *on_curve, sums, room)
        self._gradient = Direct(
            kernels.gradient, *on_curve, sums, self.bends.mu, self.bends.slope, room
        )

    def refresh(self) -> None:
        """Read the numbers of the blocks again, after these have changed."""
        self.values.refresh(self)
        self._fresh = True

    def curved_components(self, name: str, used: Ints) -> Sequence[int]:
        """Components of a channel whose second partials are needed, given those the rows use."""
        return [int(x) for x in used]

    # -- at a point ---------------------------------------------------------------------------

    def move(self, T: float, powers: tuple[float, ...]) -> None:
        """Evaluate rows and their losses from the samples of the pool."""
        self._T, self._powers = T, powers[: self.orders]
        if self.still and not self._fresh:
            return
        values = self.values
        if values.needs_time:
            np.multiply(values.fraction, T, out=values.time)
        for block, out in values.not_affine:
            block.residual.value(values.samples, out)
        values.cost = values.add_up.run()

    def put_rows(self, out: Floats) -> None:
        """Add the rows to the constraints."""
        self.values.put_rows.run(self.row_of, self._T, self.timed, out)

    def objective(self) -> float:
        """Contribution of all blocks to the objective."""
        return float(self.values.cost * self._T if self.timed else self.values.cost)

    def total(self, block: Block) -> float:
        """The sum of a summed block."""
        sums = self.values.sums
        total = float(sums.weight[block.rows] @ sums.total[block.rows])
        return total * self._T if self.timed else total

    def derive(self) -> None:
        """Compute the partials of all rows in the states."""
        if self._fresh or self._moves:
            self.values.derive(self._fresh)
            self.chained.update(self.values.partials)
            self._fresh = False

    def jacobian(self, place: Ints, place_T: Ints, out: Floats) -> None:
        """Add the rows to the values of the Jacobian."""
        self._jacobian.run(self._powers, self._T, self.timed, place, place_T, out)

    def still_slope(self) -> float:
        """d/dT of the contribution to the objective of a set that is independent of the motion."""
        return float(self.values.cost) if self.timed else 0.0

    def gradient(self, out: Floats) -> float:
        """Add the gradient of its part of the objective to out (control points); return d/dT."""
        by_T: float = self._gradient.run(self._powers, self._T, self.timed, out)
        return by_T

    def weigh(self, sigma: float, lam: Floats) -> None:
        """Compute the weights of the rows and of the channels' components in the Lagrangian."""
        if self.kinks.followed:
            self.kinks.bend(sigma, lam)
        self.bends.weigh_rows.run(sigma, lam, self._powers, self._T, self.timed)
        self.bends.weigh_others()

    def hessian(self, exact: bool, place: Ints, place_T: Ints, place_TT: int, out: Floats) -> float:
        """Add to the values of the Hessian; return the second derivative in T.

        Call weigh() and the pool's curve() first. exact=False omits the second partials of
        residuals (Gauss-Newton).
        """
        if exact:
            self.bends.spread_others(self._powers)
            self.bends.bend_terms(self._powers)
        total: float = self.bends.hessian.run(exact, self._powers, place, place_T, place_TT, out)
        return total


def looks_together(sets: Sequence[InstantSet]) -> tuple[Floats, Ints]:
    """The basis and first control points of sets one after another, each padded to whole chunks."""
    basis, first = [], []
    for points in sets:
        k = np.minimum(np.arange(len(points.padded)), len(points.s) - 1)
        basis.append(points.looks[0][:, k])
        first.append(points.looks[1][:, k])
    return np.concatenate(basis, axis=1), np.concatenate(first, axis=1)

"""Sets of rows evaluated at stages, and their second derivatives.

The set of the integrated costs uses all rows of a phase; other sets copy the few they need.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import Derived
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.lanes import WIDTH
from predyn.transcribe.curvature import Spread
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.kernels import Floats, Ints
from predyn.transcribe.layout import Components
from predyn.transcribe.shooting import segments
from predyn.transcribe.shooting.stage_pool import StagePool, StageRows

_NOWHERE = Spread(np.zeros(0, np.int64), np.zeros(0, np.int64))


class StageSet(InstantSet):
    """Rows evaluated at stages. `rows` are those of the phase, `chosen` the lanes that count.

    The whole set (all rows) holds the integrated costs and the second partials of all channels,
    including those of other sets.
    """

    def __init__(
        self,
        phase: int,
        components: Components,
        at: StageRows,
        rows: Ints,
        chosen: NDArray[np.bool_],
        weights: Floats | None,
    ) -> None:
        timed = weights is not None
        share = np.where(chosen, 1.0, 0.0) if weights is None else weights
        super().__init__(phase, components, at.s[rows].ravel(), share.ravel(), timed)
        self.rows, self.groups_of = rows, at.group[rows]
        self.chosen = chosen.ravel()
        self.whole = len(rows) == len(at.s)
        self.curved: dict[str, set[int]] = {}  # channels of all sets of a phase, for the whole set

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().channels, *self.curved)))

    def curved_components(self, name: str, used: Ints) -> Sequence[int]:
        return sorted(self.curved.get(name, set()) | {int(x) for x in used})

    def settle(self, pool: StagePool) -> None:
        """Allocate the arrays."""
        self._pool = pool
        self._excerpt = None if self.whole else Excerpt(pool, self.rows)
        self.build(self._excerpt or pool, 0)
        self._names = [name for name in self.channels if name in pool.derived]
        chained = self.chained
        partials = (chained.groups, chained.partials, chained.explicit)
        where = (pool.on_stages, self.rows, self.groups_of, partials)
        sums, bends = self.values.sums, self.bends
        self._local_gradient = Direct(segments.gradient, *where, sums, bends.mu, bends.slope)
        self._local_jacobian = Direct(segments.jacobian, pool.on_stages, self.rows, partials, sums)
        self._bend = Direct(
            segments.bend,
            *(*where, (bends.curved_rows, bends.kappa)),
            (bends.blocks, bends.pairs, bends.block_of, bends.cross, bends.square),
            (bends.main.spread if self.whole else _NOWHERE, bends.main.curvature),
        )

    def touched(self) -> NDArray[np.bool_]:
        """(chunks, rows, P, WIDTH): which of the segment's numbers can act on a row."""
        pool, chained = self._pool, self.chained
        grid, points = pool.grid, len(pool.instants.points)
        count, others = len(grid.passive), len(grid.active)
        result = np.zeros((self.chunks, chained.explicit.shape[1], pool.size, WIDTH), bool)
        begins = (self.rows % (4 * grid.steps) == 0)[
            :, None, None
        ]  # of segments, where w includes the state
        basis = pool.instants.basis[self.rows, : 4 * points]  # of the joints
        acts = basis.reshape(self.chunks, 4, points, WIDTH) != 0.0
        for g, (r, j) in enumerate(zip(chained.groups.row, chained.groups.component, strict=True)):
            for o in np.flatnonzero(chained.orders[g]):
                if grid.role[j] < 0:
                    columns = 2 * count + (-1 - grid.role[j]) + others * np.arange(points)
                    result[:, r, columns] |= acts[:, o]
                    if pool.timed and o > 0:
                        result[:, r, -1] = True
                else:
                    own = (np.arange(pool.size) == o * count + grid.role[j])[:, None]
                    result[:, r] |= np.where(begins, own, True) if o < 2 else True
        if pool.timed:
            result[:, chained.timed, -1] = True
            if self.timed:
                result[:, self.values.sums.objective == 0, -1] = True
        return result

    def move(self, T: float, powers: tuple[float, ...]) -> None:
        if self._excerpt is not None and not self.still:
            self._excerpt.fetch(self._names)
        super().move(T, powers)

    def derive(self) -> None:
        if self._excerpt is not None:
            self._excerpt.fetch_partials(self._names)
        super().derive()

    def local_gradient(self, out: Floats) -> float:
        """Add the gradient of its part of the objective in the segments' numbers to out
        (groups + 1, P, WIDTH); return the derivative in the factor T.
        """
        by_T: float = self._local_gradient.run(self._powers, self._T, self.timed, out)
        return by_T

    def local_jacobian(self, place: Ints, out: Floats) -> None:
        """Add the rows to the values of the Jacobian; place (chunks, rows P, WIDTH)."""
        self._local_jacobian.run(self._powers, self._T, self.timed, place, out)

    def give_back(self) -> None:
        """Add slopes and weights of channels to those of the pool; call weigh() first."""
        if self._excerpt is None:
            self._pool.slope += self.bends.slope
        else:
            self._excerpt.give_back(self._names, self.bends.slope)

    def bend(self, exact: bool, out: Floats) -> None:
        """Add second derivatives in the segments' numbers to out (groups + 1, P (P + 1) / 2)."""
        if exact:
            self.bends.bend_terms(self._powers)
            if self.whole:
                self.bends.spread_others(self._powers)
        self._bend.run(exact, self._powers, out)


class Excerpt:
    """A copy of some rows of a pool, for a set of instants."""

    def __init__(self, pool: StagePool, rows: Ints) -> None:
        self._pool, self._rows = pool, rows
        self.orders = pool.orders
        self.instants = pool.instants.part(rows)
        self.z = tuple(aligned(len(rows), x.shape[1], WIDTH) for x in pool.z)
        self.derived = {name: _Copied(channel, rows) for name, channel in pool.derived.items()}

    def fetch(self, names: Sequence[str]) -> None:
        """Copy states and channel values."""
        for x, source in zip(self.z, self._pool.z, strict=True):
            np.take(source, self._rows, axis=0, out=x)
        for name in names:
            self.derived[name].fetch(("value",))

    def fetch_partials(self, names: Sequence[str]) -> None:
        for name in names:
            self.derived[name].fetch(("dq", "dv", "da"))

    def give_back(self, names: Sequence[str], slope: Floats) -> None:
        """Add weights of channels and slopes to the pool's."""
        self._pool.slope[self._rows] += slope
        for name in names:
            self.derived[name].give_back()


class _Copied(Derived):
    """A copy of some rows of a channel."""

    def __init__(self, channel: Derived, rows: Ints) -> None:
        self._channel, self._rows = channel, rows
        for name in ("value", "weights", "dq", "dv", "da"):
            setattr(self, name, np.ascontiguousarray(getattr(channel, name)[rows]))
        self.depends, self.pairs = channel.depends, channel.pairs
        self.curvature = tuple(x[: len(rows)] for x in channel.curvature)

    def fetch(self, names: Sequence[str]) -> None:
        for name in names:
            np.take(getattr(self._channel, name), self._rows, axis=0, out=getattr(self, name))

    def give_back(self) -> None:
        self._channel.weights[self._rows] += self.weights

    def evaluate(self) -> None:
        self.fetch(("value",))

    def derive(self) -> None:
        self.fetch(("dq", "dv", "da"))

    def curve(self) -> None:
        """Do nothing: the pool computes second partials of all rows at once."""

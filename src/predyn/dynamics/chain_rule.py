"""Partials in the joints of a coupled model's tree become partials in its coordinates.

A, B, C, D, E and f'' are as in expansion.py; * scales the columns of a matrix that belong to
joints, and the columns of all joints that follow a coordinate are then added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.expansion import (
    F2,
    A,
    B,
    C,
    D,
    E,
    Floats,
    Joints,
    expand_states,
    expansion_of,
)
from predyn.kernels.arguments import finite, gather, motion, prepare_outputs
from predyn.kernels.fields import dense
from predyn.model import Model

Three = tuple[Floats, Floats, Floats]


class Chain:
    """All joints of a coupled model at coordinates (..., n), and the chain rule there."""

    def __init__(
        self, model: Model, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> None:
        inputs = motion(model, q, v, a)
        flat, lead = gather(model, inputs, None)
        for (name, _, _), values in zip(inputs, flat, strict=True):
            finite(name, values.reshape(*lead, model.n))
        self.model, self.tree, self.states = model, model.expanded, flat
        self._select = expansion_of(model).select
        self.joints: Joints = expand_states(model, *(x.reshape(*lead, model.n) for x in flat))

    @property
    def motion(self) -> Three:
        """q, v, a (..., links) of all joints."""
        return self.joints.q, self.joints.v, self.joints.a

    def sums(self, x: Floats) -> Floats:
        """(..., n): sums of (..., links) over the joints that follow each coordinate."""
        result: Floats = x @ self._select
        return result

    def forces(self, tau: Floats) -> Floats:
        """Forces of the coordinates, from those of all joints (..., links)."""
        return self.sums(tau * self.joints.slopes[A])

    def rows(self, x: Floats) -> Floats:
        """(..., n, m): forces of the coordinates, from rows (..., links, m) of all joints."""
        return self._sum_rows(self.joints.slopes[A][..., None] * x)

    def _sum_rows(self, x: Floats) -> Floats:
        result: Floats = self._select.T @ x
        return result

    def columns(self, *terms: tuple[Floats, int]) -> Floats:
        """(..., m, n): the sum of matrices (..., m, links), each times a row of the slopes."""
        total = sum(x * self.joints.slopes[row][..., None, :] for x, row in terms)
        return self.sums(np.asarray(total))

    def first(self, dq: Floats, dv: Floats, da: Floats) -> Three:
        """Partials (..., m, n) in q, v, a of the coordinates, from those in the joints'."""
        return (
            self.columns((dq, A), (dv, B), (da, C)),
            self.columns((dv, A), (2.0 * da, B)),
            self.columns((da, A)),
        )

    def second(self, blocks: Sequence[Floats], gradient: Three) -> tuple[Floats, ...]:
        """Blocks qq, qv, vv, qa in the coordinates, from those in the joints.

        gradient: (..., links) in q, v, a of the joints.
        """
        qq, qv, vv, qa = blocks
        by_q, by_v, by_a = gradient
        slopes = self.joints.slopes
        mixed = self._both(qv, A, B) + self._both(qa, A, C)
        result = (
            self._both(qq, A, A) + self._both(vv, B, B) + mixed + np.swapaxes(mixed, -1, -2),
            self._both(qv, A, A) + 2.0 * self._both(qa, A, B) + self._both(vv, B, A),
            self._both(vv, A, A),
            self._both(qa, A, A),
        )
        own = (
            by_q * slopes[F2] + by_v * slopes[D] + by_a * slopes[E],
            by_v * slopes[F2] + 2.0 * by_a * slopes[D],
            2.0 * by_a * slopes[F2],
            by_a * slopes[F2],
        )
        for x, diagonal in zip(result, own, strict=True):
            self.add_diagonal(x, diagonal)
        return result

    def add_diagonal(self, x: Floats, values: Floats) -> None:
        """Add sums of values (..., links) to the diagonals of x (..., n, n)."""
        k = np.arange(self.model.n)
        x[..., k, k] += self.sums(values)

    def _both(self, x: Floats, left: int, right: int) -> Floats:
        slopes = self.joints.slopes
        return self._sum_rows(self.sums(slopes[left][..., None] * x * slopes[right][..., None, :]))

    def row_sums(self, factor: Floats, x: Floats) -> Floats:
        """(..., n, m): sums of rows (..., links, m), each times its factor (..., links)."""
        return self._sum_rows(factor[..., None] * x)

    def give(self, out: object, *results: Floats) -> tuple[NDArray, ...]:
        """The results, in the caller's arrays if there are any."""
        if out is None:
            return results
        given = prepare_outputs([dense(*x.shape) for x in results], (), out, self.states)
        for mine, x in zip(given, results, strict=True):
            mine[...] = x
        return given

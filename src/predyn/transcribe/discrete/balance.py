"""Residuals of the discrete Euler-Lagrange equations: what an instant adds to the row of a node.

Every row is the weak form of the equations of motion under the basis function N_a of a node,

    sum over instants of  w [ T N_a (f + u) + p dN_a/ds ]  +  T w_a F_a  +  p_0 or - p_N  =  0

with f and p of the channel `lagrangian`, torques u, forces F of loops and contacts at the nodes,
momenta p_0, p_N at the ends, and quadrature weights w in normalised time. For straight lines and
the midpoint rule these are D1 and D2 of the discrete Lagrangian; for parabolas and Lobatto points
the method has order 4 (docs/discrete-mechanics.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.samples import Samples
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import Floats, column
from predyn.terms.term import Residual

Acting = tuple[str, int, float]  # channel, first component, factor


class Timed(Residual):
    """T times one linear residual, plus another one; T is a parameter."""

    def __init__(self, duration: str, timed: Linear, plain: Linear | None) -> None:
        self.rows, self.units, self.scale = timed.rows, timed.units, timed.scale
        self._duration, self._timed, self._plain = duration, timed, plain
        self._factors = np.array([x for _, x in timed.coefficients])
        self._row = np.array([r for r, _, _ in timed.entries])
        own = plain.entries if plain else ()
        slopes = tuple((r, duration, 0) for r in range(len(self.rows)))
        self.entries = (*timed.entries, *own, *slopes)
        self.curved = tuple((channel, x, duration, 0) for _, channel, x in timed.entries)

    def value(self, s: Samples, out: NDArray) -> None:
        self._timed.value(s, out)
        out *= s[self._duration][0]
        if self._plain:
            more = np.empty_like(out)
            self._plain.value(s, more)
            out += more

    def partials(self, s: Samples, out: NDArray) -> None:
        count, rows = len(self._factors), len(self.rows)
        out[:count] = column(self._factors, out) * s[self._duration][0]
        if self._plain:
            self._plain.partials(s, out[count:-rows])
        self._timed.value(s, out[-rows:])

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        np.multiply(column(self._factors, out), weights[self._row], out=out)


def balance(
    names: tuple[str, ...],
    units: tuple[str, ...],
    scale: Floats,
    timed: Sequence[Acting],
    plain: Sequence[Acting],
    duration: str | float,
) -> Residual:
    """T times some channels plus others, joint by joint.

    duration: T as a number, or the channel of a free one.
    """
    every = np.arange(len(names))

    def linear(parts: Sequence[Acting], T: float) -> list[Block]:
        return [Block(0, x, first + every, np.full(len(names), T * c)) for x, first, c in parts]

    if isinstance(duration, str) and timed:
        own = Linear(names, units, scale, linear(plain, 1.0)) if plain else None
        return Timed(duration, Linear(names, units, scale, linear(timed, 1.0)), own)
    T = 1.0 if isinstance(duration, str) else duration
    return Linear(names, units, scale, [*linear(timed, T), *linear(plain, 1.0)])

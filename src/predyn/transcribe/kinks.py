"""The second derivative of the smooth |r| for a solver that takes steps.

Newton's method converges slowly on sqrt(r^2 + w^2) if w is small: the second derivative
w^2 / (r^2 + w^2)^(3/2) vanishes outside of |r| < w, so that steps overshoot the kink. Chan, Golub
and Mulet (SIAM J. Sci. Comput. 20, 1999) introduce the slope u = r / sqrt(r^2 + w^2) as a variable
of its own and apply Newton's method to u sqrt(r^2 + w^2) = r, which is much closer to linear. With
u eliminated, the second derivative becomes

    (1 - u r / sqrt(r^2 + w^2)) / sqrt(r^2 + w^2)

and u follows the steps of r. It never is negative for |u| <= 1, and tends to the true one where the
steps end; values and first derivatives are not affected, and so neither is the optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from predyn.terms.term import LOSSES

if TYPE_CHECKING:
    from predyn.transcribe.kernels import Floats, Ints
    from predyn.transcribe.row_values import RowValues

ABS = LOSSES.index("abs")


class Kinks:
    """The smooth |r| of a set, with the slopes u of the current point while they are followed."""

    def __init__(self, values: RowValues, row_of: Ints) -> None:
        self.followed = False
        self._values, self._row_of = values, row_of
        self._rows: Ints
        self._u: Floats

    def follow(self, on: bool) -> None:
        """Begin or end to follow; the second derivatives of the first point are the true ones."""
        sums = self._values.sums  # whose numbers a retargeted program has changed
        rows = self._rows = np.flatnonzero((sums.kind == ABS) & (sums.bent != 0.0))
        self._width, self._bent = sums.width[rows][:, None], sums.bent[rows][:, None]
        self.followed = on and len(rows) > 0
        self._r: Floats | None = None

    def bend(self, sigma: float, lam: Floats) -> None:
        """Replace the second derivatives where the Lagrangian counts |r| positively."""
        r = self._values.values[:, self._rows]
        root = np.sqrt(r * r + self._width**2)
        if self._r is None:
            self._u = r / root
        elif np.any(r != self._r):
            r0, root0 = self._r, np.sqrt(self._r**2 + self._width**2)
            u = (r0 + (1.0 - self._u * r0 / root0) * (r - r0)) / root0
            self._u = np.clip(u, -1.0, 1.0)
        self._r = r
        bend = self._bent * self._values.weights * (1.0 - self._u * r / root) / root
        counted = self._counted(sigma, lam)
        self._values.sums.bend[:, self._rows[counted]] = bend[:, counted]

    def _counted(self, sigma: float, lam: Floats) -> NDArray[np.bool_]:
        """Rows whose curvature has a positive factor."""
        sums = self._values.sums
        row = self._row_of[0, self._rows, 0]
        multiplier = lam[row] if len(lam) else np.zeros(len(row))
        factor = np.where(sums.objective[self._rows] == 1, sigma, multiplier)
        return np.asarray(factor * sums.weight[self._rows] * sums.bent[self._rows] > 0.0)

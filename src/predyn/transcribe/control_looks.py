"""Looks at the control points of a curve or of its derivatives, for limits that hold everywhere.

A derivative of a spline is a spline too and lies within the range of its control points. These are
linear in the control points of the curve, with the factor T^-k for the k-th derivative, as values
at instants are. So a set of them is a set of instants with another basis: in place of the basis
functions at an instant it has the coefficients of one control point of the derivative.
"""

from __future__ import annotations

import numpy as np

from predyn.curves.bspline import BSpline
from predyn.curves.derivative_spline import derivative_spline
from predyn.terms.term import Residual
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.kernels import Floats, Ints
from predyn.transcribe.layout import Components
from predyn.transcribe.pool import widened


def bounded_curve(components: Components, residual: Residual) -> tuple[int, int] | None:
    """The spline and the order of the derivative in which a residual is linear, if it is so in one.

    The basis of a spline adds up to one, so bounds on an affine function of its control points are
    bounds on that function of the curve.
    """
    if not residual.constant or len(residual.channels) != 1:
        return None
    (channel,) = residual.channels
    if channel not in components.direct:
        return None
    component, _, order = components.direct[channel]
    signal = int(components.signal[component])
    return (signal, order) if order <= components.splines[signal].degree else None


class ControlSet(InstantSet):
    """The control points of a derivative of a spline, each at its Greville abscissa.

    later: without the first, which is the last one of the phase before.
    """

    def __init__(
        self, phase: int, components: Components, signal: int, order: int, later: bool = False
    ) -> None:
        spline = components.splines[signal]
        p, count = spline.degree, spline.n_control
        derived = derivative_spline(spline, np.eye(count), order)
        kept = slice(int(later), None)
        matrix, s = derived.control[kept], derived.greville[kept]
        first = np.minimum(np.arange(count - order)[kept], count - 1 - p)
        basis = np.zeros((len(s), 4, p + 1))
        basis[:, order] = np.take_along_axis(matrix, first[:, None] + np.arange(p + 1), axis=1)
        self._signal, self._look = signal, (basis, first)
        super().__init__(phase, components, s, np.ones(len(s)), timed=False)

    def _looks(self) -> tuple[Floats, Ints]:
        count = len(self.s)
        found = [
            self._look
            if k == self._signal
            else (np.zeros((count, 4, spline.degree + 1)), np.zeros(count, np.int64))
            for k, spline in enumerate(self.components.splines)
        ]
        return widened(self.components, found)

    def of_joints(self, spline: BSpline) -> tuple[Floats, Ints]:
        if self._signal == 0:
            return self._look
        count = len(self.s)
        return np.zeros((count, 4, spline.degree + 1)), np.zeros(count, np.int64)

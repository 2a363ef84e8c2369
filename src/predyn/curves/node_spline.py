"""Piecewise polynomials through nodes, with a velocity of their own at each end.

A discrete motion is known at nodes: q_0, q_1, .. at equal steps, and in the middle of each step too
if the pieces are parabolas. Velocities at its two ends are not those of the pieces: they follow
from momenta, or are given. They are stored as control points before and after the nodes:

    [w_0, q_0, q_1, .., q_N, w_N]            w = dq/ds = T v

so that a look at an end combines q_0 with w_0, and a look within a step the nodes of that step.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.curves.bspline import BSpline, Side

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# cubics of u = (s - s_k)/h: coefficients (control points, powers of u)
# through nodes at u = -1, 0, 1, 2; with a slope at u = 0 and nodes at u = 0, 1, 2
INSIDE = np.array([[0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]]) / 6
AT_END = np.array([[0, 4, -6, 2], [4, 0, -7, 3], [0, 0, 8, -4], [0, 0, -1, 1]]) / 4


class NodeSpline(BSpline):
    """Straight lines (degree 1) or parabolas (degree 2) in equal steps.

    Values and slopes are those of the pieces, except exactly at s = 0 and s = 1, where the slope is
    that of the end. Beyond the first derivative they are not defined; they come as zeros.
    """

    def __init__(self, degree: int, steps: int) -> None:
        nodes = np.arange(degree * steps + 1) / (degree * steps)
        # knots of the straight lines through the nodes; the ends have one more control point each
        super().__init__(1, np.concatenate(([0.0], nodes, [1.0])))
        object.__setattr__(self, "degree", degree)
        object.__setattr__(self, "steps", steps)

    steps: int

    @property
    def n_control(self) -> int:
        return self.degree * self.steps + 3

    @cached_property
    def breaks(self) -> Floats:
        """The nodes, middles of the steps among them."""
        return self.knots[1:-1]

    @property
    def greville(self) -> Floats:
        """The instant of each control point."""
        return self.knots

    def span(self, s: ArrayLike, side: Side = "right") -> Ints:
        """First of the degree + 1 control points that act at s."""
        s = self._instants(s)
        step = self._step(s, side)
        first = 1 + self.degree * step
        first[s == 0.0] = 0
        first[s == 1.0] = self.n_control - self.degree - 1
        return first

    def basis(self, s: ArrayLike, derivatives: int = 3, side: Side = "right") -> Floats:
        """(derivatives + 1, K, degree + 1): values and slopes; zero from the second on."""
        s = self._instants(s)
        out = np.zeros((derivatives + 1, len(s), self.degree + 1))
        step = self._step(s, side)
        out[:2] = self.within(s * self.steps - step)[: derivatives + 1]
        for end, value, slope in ((0.0, 1, 0), (1.0, -2, -1)):
            out[:, s == end] = 0.0
            out[0, s == end, value] = 1.0
            if derivatives:
                out[1, s == end, slope] = 1.0
        return out

    def within(self, x: Floats) -> Floats:
        """(2, K, degree + 1): the polynomials of the nodes of one step and their slopes in s, at
        x (K,) from 0 to 1 within the step.
        """
        if self.degree == 1:
            values, slopes = [1.0 - x, x], [-np.ones_like(x), np.ones_like(x)]
        else:
            values = [(2.0 * x - 1.0) * (x - 1.0), 4.0 * x * (1.0 - x), x * (2.0 * x - 1.0)]
            slopes = [4.0 * x - 3.0, 4.0 - 8.0 * x, 4.0 * x - 1.0]
        return np.stack([np.stack(values, axis=1), self.steps * np.stack(slopes, axis=1)])

    def differences(self, s: ArrayLike) -> tuple[Floats, Ints]:
        """(K, 4, 4): value and derivatives in s of a cubic through four control points, and the
        first of these, (K,).

        It runs through two nodes on either side; beside an end, through three nodes with the slope
        of the end. Second derivatives at inner nodes are second differences, with errors of h^2.
        """
        s = self._instants(s)
        last, h = self.n_control - 4, self.breaks[1]
        k = np.clip(np.searchsorted(self.breaks, s, side="right") - 1, 0, last)
        k -= (s == self.breaks[last]) & (last > 1)  # an inner node beside the end
        u = (s - self.breaks[k]) / h
        u = np.where(np.isin(s, self.breaks), u.round(), u)
        out, start, end = _derivatives(INSIDE, u), k == 0, k == last
        out[start] = _derivatives(AT_END, u[start]) * np.array([h, 1.0, 1.0, 1.0])
        back = _derivatives(AT_END, 1.0 - u[end]) * np.array([-h, 1.0, 1.0, 1.0])
        out[end] = back[:, :, ::-1] * np.array([[1.0], [-1.0], [1.0], [-1.0]])
        out[np.abs(out) < 1e-14 * h] = 0.0  # rounding
        return out / h ** np.arange(4)[:, None], k.astype(np.int64)

    def smooth(self, control: Floats) -> tuple[BSpline, Floats]:
        """The cubic spline through the nodes with the slopes of the ends, and its control points.

        Between the nodes a discrete motion is not known; this interpolation is smooth.
        """
        from scipy.interpolate import make_interp_spline

        spline = BSpline.clamped(3, breaks=self.breaks)
        ends = ([(1, control[0])], [(1, control[-1])])
        cubic = make_interp_spline(self.breaks, control[1:-1], k=3, t=spline.knots, bc_type=ends)
        return spline, np.asarray(cubic.c)

    def parabolas(self, values: Floats) -> tuple[BSpline, Floats]:
        """Continuous parabolas through values at the nodes (degree 2), and their control points."""
        ends = np.arange(self.steps + 1) / self.steps
        knots = np.concatenate([[0.0], np.repeat(ends, 2), [1.0]])
        control = values.copy()
        control[1::2] = 2.0 * values[1::2] - 0.5 * (values[:-1:2] + values[2::2])
        return BSpline(2, knots), control

    def sample(self, curve: BSpline, control: Floats) -> Floats:
        """Control points on a smooth curve: its values at the nodes, its slopes at the ends."""
        q = curve.evaluate(control, self.breaks, derivatives=0)[0]
        slopes = curve.evaluate(control, np.array([0.0, 1.0]), derivatives=1)[1]
        return np.concatenate([slopes[:1], q, slopes[1:]])

    def _step(self, s: Floats, side: Side) -> Ints:
        ends = np.arange(self.steps + 1) / self.steps
        return np.clip(np.searchsorted(ends, s, side=side) - 1, 0, self.steps - 1)


def _derivatives(cubics: Floats, u: Floats) -> Floats:
    """(K, 4 orders, 4): cubics and their derivatives in u (K,)."""
    one, zero = np.ones_like(u), np.zeros_like(u)
    powers = [
        [one, u, u**2, u**3],
        [zero, one, 2.0 * u, 3.0 * u**2],
        [zero, zero, 2.0 * one, 6.0 * u],
        [zero, zero, zero, 6.0 * one],
    ]
    out: Floats = np.einsum("omk,pm->kop", np.array(powers), cubics)
    return out

"""Joint motions of one phase as B-splines in normalised time, in CasADi; the basis is SciPy's."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline

from oracles.casadi_terms import Symbols
from predyn.problem import Duration, Phase, Spline

ZERO = 1e-12  # a basis value below this share of the largest at its instant is rounding


class Curve:
    """The spline of one phase: knots, then variables, then symbols at instants."""

    T: Any
    c: ca.MX  # (n, n_control)

    def __init__(self, spline: Spline, phase: Phase, n: int) -> None:
        p, segments = spline.degree, phase.segments or spline.segments
        given = isinstance(spline.knots, tuple)
        self.breaks = np.array(spline.knots) if given else np.arange(segments + 1) / segments
        self.clamped = spline.knots != "uniform"
        before = np.zeros(p) if self.clamped else np.arange(-p, 0) / segments
        self.knots = np.concatenate((before, self.breaks, 1.0 - before[::-1]))
        self.n, self.degree, self.n_control = n, p, len(self.knots) - p - 1
        self.duration = phase.duration

    @property
    def size(self) -> int:
        """Number of variables."""
        return isinstance(self.duration, Duration) + self.n * self.n_control

    def take(self, x: ca.MX) -> None:
        """Its variables."""
        self.T = x[0] if isinstance(self.duration, Duration) else float(self.duration)
        self.c = ca.reshape(x[x.numel() - self.n * self.n_control :], self.n, self.n_control)

    @property
    def greville(self) -> np.ndarray:
        """Control points at these abscissae make the curve q(s) = s."""
        windows = np.lib.stride_tricks.sliding_window_view(self.knots[1:-1], self.degree)
        return windows.mean(axis=1)

    def basis(self, s: np.ndarray, derivative: int) -> np.ndarray:
        """(n_control, K): derivatives in s, from the right at a knot."""
        near = self.breaks[np.abs(s[:, None] - self.breaks).argmin(axis=1)]
        s = np.where(np.abs(s - near) < ZERO, near, s)
        basis = BSpline(self.knots, np.eye(self.n_control), self.degree)(s, nu=derivative).T
        return np.where(np.abs(basis) <= ZERO * np.abs(basis).max(axis=0), 0.0, basis)

    def state(self, s: np.ndarray, derivative: int) -> ca.MX:
        """(n, K): a time derivative of the curve."""
        return self.c @ ca.sparsify(ca.DM(self.basis(s, derivative))) / self.T**derivative

    def at(self, s: np.ndarray, symbols: Symbols, wanted: ca.SX) -> ca.MX:
        """(wanted, K): an expression of the symbols, at instants."""
        function = ca.Function("wanted", symbols.inputs, [ca.densify(wanted)], {"cse": True})
        return function.map(len(s))(*self.inputs(s))

    def inputs(self, s: np.ndarray) -> list[ca.MX]:
        """What the symbols are at instants."""
        return [*(self.state(s, d) for d in range(4)), self.T * ca.DM(s).T]

    def limit_points(self, per_segment: int) -> np.ndarray:
        """Evenly in every segment, both ends of the phase included."""
        shares = np.arange(per_segment) / per_segment
        return np.append((self.breaks[:-1, None] + np.outer(np.diff(self.breaks), shares)), 1.0)

    def gauss_points(self, per_segment: int) -> tuple[np.ndarray, np.ndarray]:
        """Instants, and weights that add up to 1."""
        x, w = np.polynomial.legendre.leggauss(per_segment)
        width = np.diff(self.breaks)
        s = self.breaks[:-1, None] + np.outer(width, (x + 1) / 2)
        return s.ravel(), np.outer(width, w / 2).ravel()

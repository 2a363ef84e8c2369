"""B-spline curves on normalised time: basis functions, time derivatives and exact partials.

A curve is q(s) = sum_i N_i(s) c_i with s = t / T in [0, 1]; c are the control points and T the
duration (Xiang, Arora and Abdel-Malek 2008, equations 39-42). A BSpline holds the knots only;
control points come as arguments, one curve per trailing index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.curves.arguments import check_degree, count, duration, finite, vector
from predyn.errors import InputError

Side = Literal["left", "right"]
SNAP = 8 * np.finfo(float).eps  # an instant this close to a knot is that knot
MIN_SEGMENT = 1e-9
OPEN = 1e-10  # directions that move the samples less than this are not determined by them


@dataclass(frozen=True, eq=False)
class BSpline:
    """Basis of one degree (0 to 5) on a full knot vector (n_control + degree + 1,).

    Knots do not decrease, and knots[degree] = 0 and knots[-degree - 1] = 1 bound the domain. An
    inner knot has multiplicity up to the degree, 1 for the steps of degree 0. Functions of s take
    instants (K,) within [0, 1]. Derivatives beyond the degree are zero.
    """

    degree: int
    knots: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_degree(self.degree)
        knots = vector("knots", self.knots).copy()
        p = self.degree
        if len(knots) < 2 * p + 2:
            raise InputError(
                f"knots: degree {p} needs at least {2 * p + 2} knots, got {len(knots)}"
            )
        if knots[p] != 0.0 or knots[-p - 1] != 1.0:
            raise InputError(
                f"knots: knots[{p}] and knots[-{p + 1}] bound the domain and must be exactly 0 and "
                f"1, got {knots[p]:g} and {knots[-p - 1]:g}; scale the knots to normalised time"
            )
        steps = np.diff(knots)
        if np.any(steps < 0.0) or np.any((steps > 0.0) & (steps < MIN_SEGMENT)):
            k = int(np.argmax((steps < 0.0) | ((steps > 0.0) & (steps < MIN_SEGMENT))))
            raise InputError(
                f"knots: must not decrease, and different ones must be {MIN_SEGMENT:g} apart; "
                f"knots[{k}] = {knots[k]!r:.30}, knots[{k + 1}] = {knots[k + 1]!r:.30}"
            )
        inner, most = knots[p + 1 : -p - 1], max(p, 1)
        twice = np.any(inner[most:] == inner[:-most])
        if len(inner) and (inner[0] == 0.0 or inner[-1] == 1.0 or twice):
            raise InputError(
                f"knots: at most {p + 1} equal knots at an end and {most} inside for degree {p}; "
                "remove repeated knots"
            )
        knots.flags.writeable = False
        object.__setattr__(self, "knots", knots)

    @classmethod
    def clamped(
        cls, degree: int, segments: int | None = None, *, breaks: ArrayLike | None = None
    ) -> BSpline:
        """End knots repeated degree + 1 times: the first and last control points are the ends.

        Either a number of equal segments or the breakpoints 0 .. 1.
        """
        check_degree(degree)
        if (segments is None) == (breaks is None):
            raise InputError("clamped: expected either segments or breaks, got both or neither")
        if breaks is None:
            pieces = count("segments", segments)
            inner = np.arange(pieces + 1) / pieces
        else:
            inner = vector("breaks", breaks)
            if len(inner) < 2 or inner[0] != 0.0 or inner[-1] != 1.0 or np.any(np.diff(inner) <= 0):
                raise InputError(
                    "breaks: expected increasing numbers from exactly 0 to exactly 1, got "
                    f"{np.array2string(inner, threshold=8, precision=4)}"
                )
        return cls(degree, np.concatenate((np.zeros(degree), inner, np.ones(degree))))

    @classmethod
    def uniform(cls, degree: int, segments: int) -> BSpline:
        """Evenly spaced knots, also outside the domain."""
        check_degree(degree)
        count("segments", segments)
        return cls(degree, np.arange(-degree, segments + degree + 1) / segments)

    @property
    def n_control(self) -> int:
        """Number of control points."""
        return len(self.knots) - self.degree - 1

    @cached_property
    def breaks(self) -> NDArray[np.float64]:
        """Different knots within the domain, from 0 to 1."""
        breaks = np.unique(self.knots[self.degree : self.n_control + 1])
        breaks.flags.writeable = False
        return breaks

    @property
    def segments(self) -> int:
        """Number of polynomial pieces."""
        return len(self.breaks) - 1

    @cached_property
    def difference_rates(self) -> list[NDArray[np.float64]]:
        """Factors of the differences of control points in one derivative after the other."""
        p, knots, rates = self.degree, self.knots, []
        for k in range(1, p + 1):
            width = knots[p + 1 : len(knots) - k] - knots[k : len(knots) - p - 1]
            zero = np.zeros_like(width)
            rates.append(np.divide(p - k + 1.0, width, out=zero, where=width > 0.0))
        return rates

    @property
    def greville(self) -> NDArray[np.float64]:
        """Abscissae (n_control,) at which control points equal to them give the curve q(s) = s.

        For degree 0 the middles of the segments.
        """
        if self.degree == 0:
            return np.asarray(0.5 * (self.knots[:-1] + self.knots[1:]))
        windows = np.lib.stride_tricks.sliding_window_view(self.knots[1:-1], self.degree)
        return np.asarray(windows.mean(axis=1))

    @property
    def greville_of_acceleration(self) -> NDArray[np.float64]:
        """Greville abscissae of the second derivative: one for each of its coefficients.

        Those of clamped simple knots, the ends among them; the breaks if the degree is 3.
        """
        p, breaks = self.degree - 2, self.breaks
        knots = np.concatenate((np.zeros(p - 1), breaks, np.ones(p - 1)))
        return np.asarray(np.lib.stride_tricks.sliding_window_view(knots, p).mean(axis=1))

    def span(self, s: ArrayLike, side: Side = "right") -> NDArray[np.int64]:
        """First of the degree + 1 control points that act at s, from that side; last span at 1."""
        return self._interval(self._instants(s), side) - self.degree

    def basis(
        self, s: ArrayLike, derivatives: int = 3, side: Side = "right"
    ) -> NDArray[np.float64]:
        """Basis functions span(s) .. span(s) + degree and their derivatives in s.

        Returns (derivatives + 1, K, degree + 1). What is zero in exact arithmetic is 0.0: an
        instant within a few roundings of a knot counts as the knot, and a difference within the
        rounding of its terms as zero. At a knot they are those of the segment on that side.
        """
        s, p = self._instants(s), self.degree
        count("derivatives", derivatives, least=0)
        values, widths = self._functions(s, self._interval(s, side))
        out = np.zeros((derivatives + 1, len(s), p + 1))
        out[0] = values[p]
        for d in range(1, min(derivatives, p) + 1):
            x = size = values[p - d]
            for r in range(p - d + 1, p + 1):
                slope, bound = r * x / widths[r - 1], r * size / widths[r - 1]
                x, size = _stretch(-slope, slope), _stretch(bound, bound)
            rounding = 16 * np.finfo(float).eps / widths[0]
            out[d] = np.where(np.abs(x) <= rounding * size, 0.0, x)
        return out

    def evaluate(
        self, control: ArrayLike, s: ArrayLike, T: float = 1.0, derivatives: int = 3
    ) -> tuple[NDArray[np.float64], ...]:
        """Curve and its time derivatives at s: derivatives + 1 arrays (K, ...).

        control: (n_control, ...). The d-th derivative is the one in s over T**d.
        """
        control, T = self._control(control), duration(T)
        s, p = self._instants(s), self.degree
        count("derivatives", derivatives, least=0)
        interval, trailing = self._interval(s), (1,) * (control.ndim - 1)
        values, widths = self._functions(s, interval)
        acting = control[(interval - p)[:, None] + np.arange(p + 1)]
        found = [np.einsum("ki,ki...->k...", values[p], acting)]
        for d in range(1, derivatives + 1):  # differences of control points round less than sums
            if d > p:
                found.append(np.zeros_like(found[0]))
                continue
            width = (widths[p - d] * (T / (p - d + 1))).reshape(*widths[p - d].shape, *trailing)
            acting = np.diff(acting, axis=1) / width
            found.append(np.einsum("ki,ki...->k...", values[p - d], acting))
        return tuple(found)

    def _functions(
        self, s: NDArray[np.float64], interval: NDArray[np.int64]
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """Functions of degree 0, 1, .. that act at s, by Cox and de Boor, and their widths."""
        column, values, widths = s[:, None], [np.ones((len(s), 1))], []
        for r in range(1, self.degree + 1):
            first = interval[:, None] + np.arange(1 - r, 1)
            low, high = self.knots[first], self.knots[first + r]
            widths.append(high - low)
            share = values[-1] / widths[-1]
            values.append(_stretch((high - column) * share, (column - low) * share))
        return values, widths

    def control_partials(self, s: ArrayLike, T: float = 1.0) -> NDArray[np.float64]:
        """Partials of q, v, a, jerk at s in the control points: (4, K, n_control)."""
        basis, T = self.basis(s), duration(T)
        out = np.zeros((4, basis.shape[1], self.n_control))
        index = self.span(s)[:, None] + np.arange(self.degree + 1)
        np.put_along_axis(out, np.broadcast_to(index, basis.shape), basis, axis=2)
        return out / T ** np.arange(4.0)[:, None, None]

    def duration_partials(
        self, control: ArrayLike, s: ArrayLike, T: float, fixed: Literal["s", "t"] = "s"
    ) -> NDArray[np.float64]:
        """Partials of q, v, a, jerk in the duration T: (4, K, ...).

        fixed: "s" keeps the normalised instant; "t" keeps the time t = s T, so that s moves.
        """
        if fixed not in ("s", "t"):
            raise InputError(f"fixed: expected 's' or 't', got {fixed!r:.40}")
        curve = np.stack(self.evaluate(control, s, T, derivatives=4))
        trailing = (1,) * (curve.ndim - 2)
        out = curve[:4] * (-np.arange(4.0) / T).reshape(4, 1, *trailing)
        if fixed == "t":
            out -= self._instants(s).reshape(-1, *trailing) * curve[1:]
        return out

    def knot_partials(
        self, control: ArrayLike, s: ArrayLike, T: float = 1.0
    ) -> NDArray[np.float64]:
        """Partials of q, v, a, jerk at fixed s in the interior knots: (4, segments - 1, K, ...).

        Interior knots must be simple. Partials that jump at the knot are those from the right.

        A basis function is a difference of divided differences of (x - s)_+^p over p + 1 knots,
        and the derivative of a divided difference in a node is the one with that node doubled
        (de Boor, A Practical Guide to Splines, chapters I and IX). So the partial in knot k is the
        spline on the knots with k doubled whose control points are (c[j-1] - c[j]) over the width
        of the j-th support for j = k - p .. k, and zero for others (compare Piegl and Tiller 1998).
        """
        control, T = self._control(control), duration(T)
        s, p, knots = self._instants(s), self.degree, self.knots
        if p < 2:
            raise InputError(f"knot_partials: expected a degree from 2 on, got {p}")
        inner = np.arange(p + 1, self.n_control)
        if len(inner) != self.segments - 1:
            raise InputError(
                f"knot_partials: interior knots must be simple, got {len(inner)} knots at "
                f"{self.segments - 1} places; a multiple knot has no derivative"
            )
        out = np.zeros((4, len(inner), len(s), *control.shape[1:]))
        for row, k in enumerate(inner):
            doubled = BSpline(p, np.insert(knots, k, knots[k]))
            j = np.arange(k - p, k + 1)
            width = (doubled.knots[j + p + 1] - doubled.knots[j]).reshape(
                -1, *(1,) * (control.ndim - 1)
            )
            moved = np.zeros((doubled.n_control, *control.shape[1:]))
            moved[j] = (control[j - 1] - control[j]) / width
            near = (s >= knots[k - p]) & (s <= knots[k + p])
            out[:, row, near] = doubled.evaluate(moved, s[near], T)
        return out

    def refine(self, control: ArrayLike, breaks: ArrayLike) -> tuple[BSpline, NDArray[np.float64]]:
        """The same curve with more knots: the finer spline and its control points.

        breaks: points in (0, 1) to become simple knots, in any order; existing knots are skipped.
        Knots are inserted one at a time (Boehm 1980).
        """
        control, p = self._control(control), self.degree
        knots = self.knots
        for u in np.unique(self._instants(breaks)):
            if u in knots:
                continue
            last = int(np.searchsorted(knots, u)) - 1  # knots[last] < u < knots[last + 1]
            i = np.arange(last - p + 1, last + 1)
            share = ((u - knots[i]) / (knots[i + p] - knots[i])).reshape(
                -1, *(1,) * (control.ndim - 1)
            )
            mixed = share * control[i] + (1.0 - share) * control[i - 1]
            control = np.concatenate((control[: last - p + 1], mixed, control[last:]))
            knots = np.insert(knots, last + 1, u)
        return BSpline(p, knots), control

    def fit(
        self,
        s: ArrayLike,
        values: ArrayLike,
        *,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        start_slope: ArrayLike | None = None,
        end_slope: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Control points (n_control, ...) of the least-squares curve through values (K, ...) at s.

        start, end: values (...) met exactly; start_slope, end_slope: dq/ds met exactly, which is T
        times the velocity. Directions that the samples do not determine minimise the bending, the
        integral of (d2q/ds2)**2: a few samples give a smooth curve through them. For degree 1 it is
        the integral of (dq/ds)**2, for degree 0 the sum of the squared jumps.
        """
        s = self._instants(s)
        samples = finite("values", values, (len(s), *np.shape(values)[1:]))
        ends = self.control_partials([0.0, 1.0])
        fixed, targets = np.zeros((0, self.n_control)), np.zeros((0, *samples.shape[1:]))
        for name, value, row in (
            ("start", start, ends[0, 0]),
            ("end", end, ends[0, 1]),
            ("start_slope", start_slope, ends[1, 0]),
            ("end_slope", end_slope, ends[1, 1]),
        ):
            if value is not None:
                fixed = np.vstack((fixed, row))
                target = finite(name, value, samples.shape[1:])
                targets = np.concatenate((targets, target[None]))
        bending = np.diff(np.eye(self.n_control), axis=0)
        if self.degree > 0:
            gauss, weights = self.gauss_points(max(self.degree - 1, 1))
            order = min(self.degree, 2)
            bending = np.sqrt(weights)[:, None] * self.control_partials(gauss)[order]

        flat = np.zeros((self.n_control, int(np.prod(samples.shape[1:]))))
        free = np.eye(self.n_control)  # columns: directions that are still open
        for rows, goal in (
            (fixed, targets.reshape(len(targets), flat.shape[1])),
            (self.control_partials(s)[0], samples.reshape(len(s), flat.shape[1])),
            (bending, np.zeros((len(bending), flat.shape[1]))),
        ):
            step, open_directions = _least_squares(rows, free, goal - rows @ flat)
            flat, free = flat + step, open_directions
        return flat.reshape(self.n_control, *samples.shape[1:])

    def gauss_points(self, per_segment: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gauss-Legendre points of every segment in order, and their weights (sum 1)."""
        x, w = gauss_legendre(count("per_segment", per_segment))
        low, width = self.breaks[:-1, None], np.diff(self.breaks)[:, None]
        return (low + width * (x + 1.0) / 2.0).ravel(), (width * w / 2.0).ravel()

    def limit_points(self, per_segment: int) -> NDArray[np.float64]:
        """Evenly spaced points, per_segment from each segment's left end on, and s = 1."""
        share = np.arange(count("per_segment", per_segment)) / per_segment
        points = self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * share
        return np.append(points.ravel(), 1.0)

    def _instants(self, s: ArrayLike) -> NDArray[np.float64]:
        s, breaks = vector("s", s), self.breaks
        right = np.clip(np.searchsorted(breaks, s), 1, len(breaks) - 1)
        for nearest in (breaks[right - 1], breaks[right]):
            s = np.where(np.abs(s - nearest) <= SNAP, nearest, s)
        if np.any((s < 0.0) | (s > 1.0)):
            bad = s[(s < 0.0) | (s > 1.0)][0]
            raise InputError(f"s: expected normalised time t / T within [0, 1], got {bad:g}")
        return s

    def _interval(self, s: NDArray[np.float64], side: Side = "right") -> NDArray[np.int64]:
        last = self.n_control - 1
        return np.clip(np.searchsorted(self.knots, s, side=side) - 1, self.degree, last)

    def _control(self, control: ArrayLike) -> NDArray[np.float64]:
        array = np.asarray(control, dtype=float)
        if array.shape[:1] != (self.n_control,):
            raise InputError(
                f"control: expected shape ({self.n_control}, ...), one row per control point, "
                f"got {array.shape}"
            )
        return array


@cache
def gauss_legendre(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points in [-1, 1] and weights of Gauss quadrature."""
    x, w = np.polynomial.legendre.leggauss(count)
    return x, w


def _stretch(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of two arrays (K, r), as the first and the last r of r + 1 columns."""
    out = np.zeros((len(first), first.shape[1] + 1))
    out[:, :-1] = first
    out[:, 1:] += last
    return out


def _least_squares(
    rows: NDArray[np.float64], free: NDArray[np.float64], goal: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least-squares step within the span of the columns of free, and the columns it leaves open."""
    matrix = rows @ free
    U, singular, Vt = np.linalg.svd(matrix, full_matrices=matrix.shape[0] < matrix.shape[1])
    rank = int(np.count_nonzero(singular > OPEN * np.abs(rows).max(initial=0.0)))
    step = Vt[:rank].T @ ((U[:, :rank].T @ goal) / singular[:rank, None])
    return free @ step, free @ Vt[rank:].T

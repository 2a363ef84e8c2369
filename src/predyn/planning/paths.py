"""A path: joint positions q(u) as a curve without time, u from 0 to 1, twice differentiable.

Points become a path in one of two ways:
"cubic"    the cubic spline through all points, with straight ends (natural), over the length of
           the polyline; it may overshoot between the points
"rounded"  the polyline with rounded corners: a cubic B-spline whose control points lie on the
           polyline, a fixed number on each edge; it stays within the convex hull of two
           neighbouring edges and leaves an edge only near its corners
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.collision.arguments import bounded
from predyn.curves.bspline import BSpline
from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.model.numbers import real_numbers
from predyn.solution import Curve, Solution

Floats = NDArray[np.float64]
INTERPOLATIONS = ("cubic", "rounded")
PER_EDGE = 8  # control points on each edge of a rounded polyline; 1/8 of it is rounded at each end
SAME = 1e-9  # of the length: points this near are the same
SAMPLES = 8  # for lengths, in each polynomial piece
NEAR = 0.3  # of an interval: a node this near moves to a place instead of a new one
NEAREST = 1e-4  # of an interval: the shortest one beside a break
BISECTIONS = 40
RESAMPLED = 201  # points on the curve of a solution


@dataclass(frozen=True, eq=False)
class Path:
    """A B-spline with continuous second derivatives and its control points (n_control, n)."""

    spline: BSpline
    control: Floats

    def at(self, u: Floats, derivatives: int = 2) -> tuple[Floats, ...]:
        """q and its derivatives in u at u (K,): (K, n) each."""
        return self.spline.evaluate(self.control, u, 1.0, derivatives)

    def grid(self, intervals: int, turning: NDArray[np.bool_]) -> Floats:
        """About so many intervals, the breaks of the spline among the nodes.

        Each polynomial piece is divided evenly, by its share of the length. Places where a joint
        with `turning` (n,) turns round are nodes too: its friction jumps there.
        """
        breaks = self.spline.breaks
        q, slope = self.at(self._samples, 1)
        steps = np.linalg.norm(np.diff(q, axis=0), axis=1)
        lengths = steps.reshape(-1, SAMPLES).sum(axis=1)
        counts = np.maximum(np.rint(intervals * lengths / lengths.sum()), 1.0).astype(int)
        parts = [np.linspace(a, b, k, endpoint=False) for a, b, k in
                 zip(breaks[:-1], breaks[1:], counts, strict=True)]  # fmt: skip
        u = np.append(np.concatenate(parts), 1.0)
        pinned = breaks
        for place in self._turns(slope, turning):
            k = int(np.clip(np.searchsorted(u, place), 1, len(u) - 1))
            h, near = u[k] - u[k - 1], k if u[k] - place < place - u[k - 1] else k - 1
            away, fixed = abs(u[near] - place), u[near] in pinned
            if away > NEAR * h or (fixed and away > NEAREST * h):
                u = np.insert(u, k, place)
            elif not fixed:
                u[near] = place
            pinned = np.append(pinned, place)
        return u

    @property
    def _samples(self) -> Floats:
        breaks, share = self.spline.breaks, np.arange(SAMPLES) / SAMPLES
        return np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * share).ravel(), 1.0)

    def _turns(self, slope: Floats, turning: NDArray[np.bool_]) -> Floats:
        """Where q' of a joint changes its sign between samples, by bisection."""
        samples = self._samples
        rows, joints = np.nonzero((slope[:-1] * slope[1:] < 0.0) & turning)
        low, high = samples[rows], samples[rows + 1]
        for _ in range(BISECTIONS if len(rows) else 0):
            middle = 0.5 * (low + high)
            value = self.at(middle, 1)[1][np.arange(len(rows)), joints]
            before = value * slope[rows, joints] > 0.0
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return np.unique(0.5 * (low + high))


def path_of(model: Model, given: Any, interpolation: str) -> Path:
    """The path of points (K, n), a Curve or a Solution; an InputError names what is wrong."""
    if not isinstance(interpolation, str) or interpolation not in INTERPOLATIONS:
        raise unknown_name("interpolation", interpolation, INTERPOLATIONS)
    if isinstance(given, Curve):
        return _exact(model, given)
    if isinstance(given, Solution):
        return _through(_points(model, _points_on(given)))
    points = _points(model, given)
    return _through(points) if interpolation == "cubic" else _rounded(points)


def _points(model: Model, given: ArrayLike) -> Floats:
    points = real_numbers(given, "path", f"points (K, {model.n}), a Curve or a Solution")
    if points.ndim != 2 or points.shape[1] != model.n:
        raise InputError(
            f"path: expected points (K, {model.n}), one column for each joint of {model.name!r}, "
            f"got shape {points.shape}"
        )
    if len(points) < 2:
        raise InputError(f"path: expected at least 2 points, got {len(points)}")
    if not np.isfinite(points).all():
        row, joint = (int(x) for x in np.argwhere(~np.isfinite(points))[0])
        raise InputError(
            f"path: expected finite numbers, got {points[row, joint]} for joint "
            f"{model.joint_names[joint]!r} at point {row}"
        )
    bounded(points, "path", "rad or m")
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not steps.any():
        raise InputError(f"path: all {len(points)} points are the same; a path needs a length")
    if (repeated := steps <= SAME * steps.sum()).any():
        row = int(np.argmax(repeated))
        raise InputError(
            f"path: points {row} and {row + 1} are the same; remove repeated points, or split the "
            "path there if the motion is to stop"
        )
    return points


def _through(points: Floats) -> Path:
    """The natural cubic spline through points, over the length of their polyline."""
    from scipy.interpolate import make_interp_spline

    length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    u = length / length[-1]
    spline = BSpline.clamped(3, breaks=u)
    cubic = make_interp_spline(u, points, k=3, t=spline.knots, bc_type="natural")
    return Path(spline, np.asarray(cubic.c))


def _rounded(points: Floats) -> Path:
    share = np.arange(PER_EDGE)[None, :, None] / PER_EDGE
    edges = points[:-1, None] + share * np.diff(points, axis=0)[:, None]
    control = np.concatenate([edges.reshape(-1, points.shape[1]), points[-1:]])
    return Path(BSpline.clamped(3, len(control) - 3), control)


def _exact(model: Model, curve: Curve) -> Path:
    """The curve as it is; it must be smooth, and must not stand still at its ends."""
    control = np.asarray(curve.control, dtype=float)
    if control.ndim != 2 or control.shape[1] != model.n or not np.isfinite(control).all():
        raise InputError(
            f"path: expected a curve of {model.n} joints with finite control points, got control "
            f"points of shape {control.shape}"
        )
    spline = BSpline(curve.degree, curve.knots)
    if spline.degree < 3 or spline.n_control != spline.segments + spline.degree:
        raise InputError(
            "path: expected a curve with continuous second derivatives, degree 3 or more and "
            f"simple inner knots, got degree {spline.degree} with {spline.n_control} control "
            f"points on {spline.segments} segments"
        )
    path = Path(spline, control)
    length = np.linalg.norm(np.diff(control, axis=0), axis=1).sum()
    if not length > 0.0:
        raise InputError("path: all control points are the same; a path needs a length")
    slopes = np.linalg.norm(path.at(np.array([0.0, 1.0]), 1)[1], axis=1)
    still = slopes <= 1e-6 * length
    if still.any():
        where = "start" if still[0] else "end"
        raise InputError(
            f"path: the curve stands still at its {where} (dq/du = 0), as motions over time do; "
            "give points on it, or the Solution it belongs to"
        )
    return path


def _points_on(solution: Solution) -> Floats:
    """Points on the motion of a solution, evenly spaced along its length, in all phases."""
    t = np.linspace(0.0, solution.duration, 20 * RESAMPLED)
    q = solution.channel("q", t)
    length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1)))
    if not length[-1] > 0.0:
        raise InputError(f"path: the solution {solution.name!r} does not move; a path needs length")
    at = np.interp(np.linspace(0.0, length[-1], RESAMPLED), length, t)
    return solution.channel("q", at)

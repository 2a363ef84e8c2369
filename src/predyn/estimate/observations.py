"""Measurements as rows of least squares: what the motion makes of them, less what was measured.

All rows of a sample depend on the joint positions q at its time, and these on three blocks of
unknowns: rows are kept by sample, with their slopes in q alone.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from predyn.estimate import band, grid_kernels
from predyn.estimate.marker_points import Point, find_points, point_tree
from predyn.estimate.result import OF_JOINTS, OF_TIME, WHITE
from predyn.estimate.spline_grid import TOUCHED, Floats, Grid, Ints
from predyn.model import Model


class Angle(NamedTuple):
    """A measured joint coordinate where it is not missing."""

    name: str
    joint: int
    samples: Ints  # (R,)
    measured: Floats


class Marker(NamedTuple):
    """A measured point, by component where that is not missing."""

    name: str
    samples: Ints  # (R,)
    axis: Ints  # (R,) which component
    measured: Floats  # (R,)


Observed = Angle | Marker


class Seen(NamedTuple):
    """Rows in the order of samples: those of sample s are start[s] .. start[s + 1]."""

    interval: Ints  # (M,) of each sample
    basis: Floats  # (M, 3) weights of its three blocks in q
    start: Ints  # (M + 1,)
    J: Floats  # (R, n) slopes in q
    value: Floats  # (R,) fitted minus measured

    def add(self, weight: Floats, H: Floats, g: Floats) -> None:
        """H += J' W J and g += J' W value, in the unknowns."""
        n = self.J.shape[1]
        band.add_samples(*self, weight, H, g, np.empty((n, n)), np.empty(n))

    def information(self, noise: Floats) -> Floats:
        """How much is known (n,) of each joint's position, in all."""
        return np.asarray(((self.J / noise[:, None]) ** 2).sum(axis=0))

    def after(self, step: Floats) -> Floats:
        """The values (R,) after a step of the unknowns, if they were linear."""
        *place, value = self
        out = np.empty(len(value))
        band.samples_times(*place, step, np.empty(self.J.shape[1]), out)
        return value + out

    def variances(self, C: Floats) -> Floats:
        """Variance (R,) of each row, from covariances in the band."""
        *place, value = self
        n, out = self.J.shape[1], np.empty(len(value))
        band.sample_variances(*place, C, np.empty((n, n)), np.empty(n), out)
        return out


def angle(name: str, joint: int, values: Floats) -> Angle:
    present = np.flatnonzero(np.isfinite(values))
    return Angle(name, joint, present, values[present])


def marker(name: str, values: Floats) -> Marker:
    samples, axis = np.nonzero(np.isfinite(values))
    return Marker(name, samples, axis, values[samples, axis])


class Observations:
    """All that was measured, each thing with its own noise level."""

    def __init__(self, model: Model, grid: Grid, t: Floats, observed: list[Observed]) -> None:
        self.model, self.grid, self.t, self.observed = model, grid, t, observed
        self.mixing: Floats | None = None
        self.serial: Any = None  # see serial_noise.py
        self.interval, self.basis = grid.place(t)
        self.counts = np.array([len(x.measured) for x in observed], np.int64)
        sample = np.concatenate([x.samples for x in observed])
        rank = np.argsort(sample, kind="stable")
        self.sample = sample[rank]
        self.thing = np.repeat(np.arange(len(observed)), self.counts)[rank]  # (R,) of each row
        self.measured = np.concatenate([x.measured for x in observed])[rank]
        self.start = np.searchsorted(self.sample, np.arange(len(t) + 1))
        # place of a row's value among the joints, or the components of markers, of all samples
        markers = [x for x in observed if isinstance(x, Marker)]
        ranks = {x.name: 3 * k for k, x in enumerate(markers)}
        columns = [
            np.full(len(x.samples), x.joint) if isinstance(x, Angle) else ranks[x.name] + x.axis
            for x in observed
        ]
        self.column = np.concatenate(columns)[rank]
        on_marker = np.array([isinstance(x, Marker) for x in observed])[self.thing]
        self.of_joints, self.of_points = np.flatnonzero(~on_marker), np.flatnonzero(on_marker)
        width = np.where(on_marker, 3 * len(markers), model.n)
        self.place = self.sample * width + self.column
        frames = [model.frame(x.name) for x in markers]
        self.points = point_tree(model, [Point(frame.link, frame.p) for frame in frames])

    @property
    def noise_model(self) -> str:
        if self.serial is not None:
            return OF_TIME
        return WHITE if self.mixing is None else OF_JOINTS

    @property
    def blocks(self) -> int:
        """How many blocks of unknowns a row touches."""
        return TOUCHED if self.serial is None else int(self.serial.blocks)

    @property
    def log_volume(self) -> float:
        """What the evidence gains where rows are not the residuals themselves."""
        return 0.0 if self.serial is None else float(self.serial.log_volume)

    @property
    def complete(self) -> bool:
        """Whether every sample has all of several joints, and there are no markers."""
        several = len(self.observed) > 1 and not len(self.of_points)
        return several and len(self.sample) == len(self.observed) * len(self.t)

    def correlated(self, mixing: Floats) -> Observations:
        """The same with noise that is correlated between joints: row i of a sample plus the sum of
        mixing[i, j] times row j before it has the noise level of i alone."""
        other = copy(self)
        other.mixing = mixing
        return other

    def in_time(self, serial: Any) -> Observations:
        """The same with noise that is correlated from sample to sample, see serial_noise.py."""
        other = copy(self)
        other.serial = serial
        return other

    def deviations(self, noise: Floats) -> Floats:
        """Standard deviation of the noise of each observed thing, for levels of the rows."""
        if self.mixing is None:
            return noise
        return np.asarray(np.sqrt(((np.linalg.inv(self.mixing) * noise) ** 2).sum(axis=1)))

    def fitted(self, c: Floats) -> Floats:
        """What the motion makes of each row, (R,)."""
        return np.asarray(self.bare_rows(c).value + self.measured)

    def rows(self, c: Floats) -> Any:
        """Fitted minus measured, with slopes; made independent if the noise is correlated."""
        seen, U = self.bare_rows(c), self.mixing
        if self.serial is not None:
            return self.serial.seen(seen)
        if U is None:
            return seen
        shape = (len(self.t), len(U), self.grid.n)
        J, value = U @ seen.J.reshape(shape), seen.value.reshape(shape[:2]) @ U.T
        return seen._replace(J=np.ascontiguousarray(J.reshape(seen.J.shape)), value=value.ravel())

    def bare_rows(self, c: Floats) -> Seen:
        """Fitted minus measured, with slopes."""
        q = self.grid.at(c, self.interval, self.basis)
        J, value = np.zeros((len(self.sample), self.grid.n)), np.empty(len(self.sample))
        if len(self.of_points):
            places, slopes = self._points(q)
            of_places = (self.place, places.ravel(), slopes.reshape(-1, self.grid.n))
            grid_kernels.gather(*of_places, self.of_points, self.measured, value, J)
        if len(self.of_joints):
            at = self.of_joints
            J[at, self.column[at]] = 1.0
            value[at] = q.ravel()[self.place[at]] - self.measured[at]
        return Seen(self.interval, self.basis, self.start, J, value)

    def _points(self, q: Floats) -> tuple[Floats, Floats]:
        """Places of the markers and their slopes in q, by sample."""
        return find_points(self.model, self.points, q)

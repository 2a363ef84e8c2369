"""Measurements as rows of least squares: what the motion makes of them, less what was measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.estimate.spline_grid import TOUCHED, Floats, Grid, Ints
from predyn.model import Model


class Rows(NamedTuple):
    """Rows value + J x of neighbouring unknowns, see band.py."""

    first: Ints  # (R,)
    J: Floats  # (R, width)
    value: Floats  # (R,)


class Angle(NamedTuple):
    """A measured joint coordinate where it is not missing."""

    name: str
    joint: int
    samples: Ints  # (R,)
    measured: Floats


class Marker(NamedTuple):
    """A measured point, by component where that is not missing."""

    name: str
    samples: Ints  # (U,) where some component is there
    rank: Ints  # (R,) which of those each row is of
    axis: Ints  # (R,) which component it is
    measured: Floats  # (R,)


Observed = Angle | Marker


def angle(name: str, joint: int, values: Floats) -> Angle:
    there = np.flatnonzero(np.isfinite(values))
    return Angle(name, joint, there, values[there])


def marker(name: str, values: Floats) -> Marker:
    there = np.isfinite(values)
    samples = np.flatnonzero(there.any(axis=1))
    axis, rank = np.nonzero(there[samples].T)
    return Marker(name, samples, rank, axis, values[samples[rank], axis])


class Observations:
    """All that was measured, each thing with its own noise level."""

    def __init__(self, model: Model, grid: Grid, t: Floats, observed: list[Observed]) -> None:
        self.model, self.grid, self.t, self.observed = model, grid, t, observed
        self.interval, self.weights = grid.place(t)

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.array([len(x.measured) for x in self.observed], np.int64)

    def fitted(self, c: Floats) -> list[Floats]:
        """What the motion makes of each."""
        q = self.grid.at(c, self.interval, self.weights)
        out = []
        for x in self.observed:
            if isinstance(x, Angle):
                out.append(q[x.samples, x.joint])
            else:
                out.append(frame_kinematics(self.model, x.name, q[x.samples]).p[x.rank, x.axis])
        return out

    def rows(self, c: Floats) -> list[Rows]:
        """Fitted minus measured."""
        n = self.grid.n
        q = self.grid.at(c, self.interval, self.weights)
        out = []
        for x, fitted in zip(self.observed, self.fitted(c), strict=True):
            samples = x.samples if isinstance(x, Angle) else x.samples[x.rank]
            weights = self.weights[samples]
            J = np.zeros((len(samples), TOUCHED, n))
            if isinstance(x, Angle):
                J[:, :, x.joint] = weights
            else:
                slopes = frame_kinematics_derivatives(self.model, x.name, q[x.samples]).jacobian
                J[:] = weights[:, :, None] * slopes[x.rank, 3 + x.axis, None, :]
            out.append(Rows(self.interval[samples] * n, J.reshape(len(J), -1), fitted - x.measured))
        return out

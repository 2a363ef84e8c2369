"""The L-curve: how well the data are met against how large the torques are, and its corner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class LCurve(NamedTuple):
    """Misfit and size of the torques for a series of weights; `corner` is an index or -1."""

    weights: Floats  # what multiplies the size in the sum that is minimised
    misfit: Floats
    size: Floats
    corner: int


LEAST_BEND = 0.2  # rad: a curve that nowhere bends more has no corner


def corner(misfit: Floats, size: Floats) -> int:
    """Index of the point where the log-log curve turns most; -1 if there is none.

    Points are in the order of growing weight: misfit grows, size falls. The angle at a point is
    between the mean directions to its neighbours over a tenth of the length of the curve.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        points = np.stack((np.log10(misfit), np.log10(size)), axis=1)
    if len(points) < 5 or not np.isfinite(points).all():
        return -1
    steps = np.hypot(*np.diff(points, axis=0).T)
    along = np.concatenate(([0.0], np.cumsum(steps)))
    reach = 0.1 * along[-1]
    if reach == 0.0:
        return -1
    at = [
        np.interp(along + shift, along, column) for shift in (-reach, reach) for column in points.T
    ]
    before = points - np.stack(at[:2], axis=1)
    after = np.stack(at[2:], axis=1) - points
    bend = np.arctan2(
        before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0], np.sum(before * after, axis=1)
    )
    inside = (along >= reach) & (along <= along[-1] - reach)
    bend = np.where(inside, bend, -np.inf)
    best = int(np.argmax(bend))
    return best if bend[best] > LEAST_BEND else -1

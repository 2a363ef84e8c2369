"""Tracking of given curves by joints or by the origin of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import FRAME_PARTS, Samples
from predyn.terms.curve import Curve
from predyn.terms.selection import (
    AXES,
    Floats,
    as_slice,
    frame_channel,
    joint_indices,
    joint_names,
    joint_scale,
    joint_units,
)
from predyn.terms.term import Residual, Term


@dataclass(frozen=True, eq=False)
class TrackJoints(Term):
    """Joint positions minus a curve through values (K, joints) at times (K,).

    Times count from the start of the phase, s. The curve is a C2 cubic spline; beyond its ends it
    continues as the last cubic, so let it cover the longest duration.
    """

    times: ArrayLike
    values: ArrayLike
    joints: Sequence[str] | None = None

    kind = "track_joints"

    def bind(self, model: Model) -> Residual:
        index = joint_indices(model, self.joints, self.kind)
        names = joint_names(model, index)
        return Tracked(
            names,
            joint_units(model, index, "q"),
            joint_scale(model, index, "q"),
            "q",
            index,
            Curve(self.times, self.values, names, self.kind),
        )


@dataclass(frozen=True, eq=False)
class TrackPoint(Term):
    """Position of a frame's origin minus a curve through values (K, axes) at times (K,); see
    TrackJoints. axes: "xyz", or those with a column. Metres, world axes."""

    frame: str
    times: ArrayLike
    values: ArrayLike
    axes: str = "xyz"

    kind = "track_point"

    def bind(self, model: Model) -> Residual:
        channel = frame_channel(model, self.frame, self.kind)
        axes = self.axes
        if not axes or len(set(axes)) < len(axes) or not set(axes) <= set(AXES):
            raise InputError(f"track_point: axes: expected some of 'xyz', got {axes!r:.40}")
        components = FRAME_PARTS["p"].start + np.array([AXES.index(axis) for axis in axes])
        return Tracked(
            tuple(f"{self.frame} {axis}" for axis in axes),
            ("m",) * len(axes),
            np.ones(len(axes)),
            channel,
            components,
            Curve(self.times, self.values, tuple(axes), self.kind),
        )


class Tracked(Residual):
    """channel[components] - curve(t)."""

    curved = (("t", 0, "t", 0),)

    def __init__(
        self,
        rows: tuple[str, ...],
        units: tuple[str, ...],
        scale: Floats,
        channel: str,
        components: NDArray[np.int64],
        curve: Curve,
    ) -> None:
        self.rows, self.units, self.scale = rows, units, scale
        self.entries = (
            *((i, channel, int(k)) for i, k in enumerate(components)),
            *((i, "t", 0) for i in range(len(rows))),
        )
        self._channel, self._components, self._curve = channel, as_slice(components), curve

    def value(self, s: Samples, out: NDArray) -> None:
        np.subtract(s[self._channel][self._components], self._curve.value(s["t"][0]), out=out)

    def partials(self, s: Samples, out: NDArray) -> None:
        m = len(self.rows)
        out[:m] = 1.0
        np.negative(self._curve.slope(s["t"][0]), out=out[m:])

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        out[0] = -(weights * self._curve.bend(s["t"][0])).sum(axis=0)

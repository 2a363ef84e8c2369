"""Terms on points of several links: their distance, and pendulums that swing together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import FRAME_PARTS, Samples
from predyn.terms.frames import unit_direction
from predyn.terms.selection import frame_channel
from predyn.terms.term import Residual, Term

P = range(FRAME_PARTS["p"].start, FRAME_PARTS["p"].stop)


@dataclass(frozen=True, eq=False)
class FrameDistance(Term):
    """Distance of the origins of two frames, m; not differentiable where they coincide.

    With lower = r1 + r2 as a constraint, spheres of these radii about the frames do not meet.
    """

    frame: str
    other: str

    kind = "frame_distance"

    def bind(self, model: Model) -> Residual:
        if self.frame == self.other:
            raise InputError(f"{self.kind}: expected two frames, got {self.frame!r} twice")
        channels = [frame_channel(model, name, self.kind) for name in (self.frame, self.other)]
        return Distance(f"{self.frame} to {self.other}", channels)


class Distance(Residual):
    """|p - p'| of two frames."""

    def __init__(self, name: str, channels: Sequence[str]) -> None:
        self.rows, self.units, self.scale = (name,), ("m",), np.ones(1)
        parts = [(channel, k) for channel in channels for k in P]
        self.entries = tuple((0, *part) for part in parts)
        self._pairs = [(i, j) for i in range(6) for j in range(i, 6)]
        self.curved = tuple((*parts[i], *parts[j]) for i, j in self._pairs)
        self._channels = channels

    def _difference(self, s: Samples) -> tuple[NDArray, NDArray]:
        one, other = (s[channel][P.start : P.stop] for channel in self._channels)
        d = one - other
        return d, np.sqrt((d * d).sum(axis=0))

    def value(self, s: Samples, out: NDArray) -> None:
        out[0] = self._difference(s)[1]

    def partials(self, s: Samples, out: NDArray) -> None:
        d, length = self._difference(s)
        out[:3] = d / length
        out[3:] = -out[:3]

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        d, length = self._difference(s)
        unit, share = d / length, weights[0] / length
        for k, (i, j) in enumerate(self._pairs):
            sign = 1.0 if i // 3 == j // 3 else -1.0
            same = 1.0 if i % 3 == j % 3 else 0.0
            out[k] = sign * share * (same - unit[i % 3] * unit[j % 3])


@dataclass(frozen=True, eq=False)
class SwingTogether(Term):
    """Product of the reaches of two pendulums along a direction, m^2: at least 0 if both swing to
    the same side.

    first, second  a pendulum each: names of the frames at its top and at its end
    axis           "x", "y", "z" or a direction of the world
    """

    first: Sequence[str]
    second: Sequence[str]
    axis: str | ArrayLike = "x"

    kind = "swing_together"

    def bind(self, model: Model) -> Residual:
        channels: list[str] = []
        for name, frames in (("first", self.first), ("second", self.second)):
            if isinstance(frames, str) or len(frames) != 2:
                raise InputError(f"{self.kind}: {name}: expected two frames, got {frames!r:.60}")
            channels += [frame_channel(model, frame, self.kind) for frame in frames]
        if len(set(channels)) < 4:
            raise InputError(f"{self.kind}: expected four different frames, got {channels}")
        name = f"{self.first[1]} with {self.second[1]}"
        return Swing(name, channels, unit_direction(self.axis, f"{self.kind}: axis"))


class Swing(Residual):
    """(u . (p2 - p1)) (u . (p4 - p3)); at least 0 by default."""

    def __init__(self, name: str, channels: Sequence[str], along: NDArray) -> None:
        self.rows, self.units, self.scale = (name,), ("m^2",), np.array([0.1])
        self.lower, self.upper = np.zeros(1), np.full(1, np.inf)
        axes = np.flatnonzero(along)
        self._axes, self._u, self._channels = axes + P.start, along[axes], channels
        parts = [(channel, int(k)) for channel in channels for k in self._axes]
        self.entries = tuple((0, *part) for part in parts)
        half = len(parts) // 2
        self.curved = tuple((*one, *other) for one in parts[:half] for other in parts[half:])
        signs = np.array([-1.0, 1.0])
        self._signed = np.concatenate([sign * self._u for sign in signs])  # of one pendulum

    def _reaches(self, s: Samples) -> tuple[NDArray, NDArray]:
        at = [np.tensordot(self._u, s[channel][self._axes], 1) for channel in self._channels]
        return at[1] - at[0], at[3] - at[2]

    def value(self, s: Samples, out: NDArray) -> None:
        one, other = self._reaches(s)
        out[0] = one * other

    def partials(self, s: Samples, out: NDArray) -> None:
        one, other = self._reaches(s)
        half = len(out) // 2
        for k, factor in enumerate(self._signed):
            out[k], out[half + k] = factor * other, factor * one

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        for k, factor in enumerate(np.outer(self._signed, self._signed).ravel()):
            out[k] = factor * weights[0]

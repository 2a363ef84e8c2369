"""Named channels at instants: the only inputs of terms.

A channel is an array (components, ...): component first, instants after it, so that a formula for
one instant is the formula for all of them. Channels and their number of components for a model of
n joints:

    q, v, a, jerk    n    joint positions and their time derivatives
    t                1    time since the start of the phase, s
    tau              n    joint torques or forces
    momentum         n    generalized momentum M(q) v
    lagrangian       2n   generalized forces dT/dq - dV/dq + Q, then momenta dT/dv
    generalized_force  n  the first half of these
    holding          n    torques that balance the unknown external forces at rest
    reactions    6 links  wrench through each joint: moment, force, link axes (joint_reactions)
    frame:NAME       24   a frame's R (9, by rows), p, w, v, alpha, a (3 each), world components

and those that a problem adds:

    signal:NAME      components of a signal; rate:NAME their time derivatives
    parameter:NAME   1

At a pair of instants every name has its side as a prefix: "first.q", "second.frame:tip".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from predyn.errors import unknown_name
from predyn.model import Model
from predyn.samples.registry import units

SIDES = ("first", "second")
FRAME_PARTS = {
    "R": slice(0, 9),
    "p": slice(9, 12),
    "w": slice(12, 15),
    "v": slice(15, 18),
    "alpha": slice(18, 21),
    "a": slice(21, 24),
}


class Samples:
    """Channels by name."""

    def __init__(self, channels: Mapping[str, NDArray]) -> None:
        self._channels = channels

    def __getitem__(self, name: str) -> NDArray:
        """Values (components, ...) of a channel."""
        if name not in self._channels:
            raise unknown_name("channel", name, self._channels)
        return self._channels[name]

    def frame(self, channel: str, part: str) -> NDArray:
        """R (9, ...), p, w, v, alpha or a (3, ...) of a frame's channel."""
        return self[channel][FRAME_PARTS[part]]


def split_side(channel: str) -> tuple[int, str]:
    """Side (0 or 1) and plain name of a channel; 0 for a channel without a side."""
    for k, side in enumerate(SIDES):
        if channel.startswith(f"{side}."):
            return k, channel[len(side) + 1 :]
    return 0, channel


def channel_size(model: Model, channel: str) -> int:
    """Number of components of a channel. Raises an InputError that lists all names if unknown."""
    return len(units(model, split_side(channel)[1]))


def random_samples(model: Model, channels: tuple[str, ...], instants: int, seed: int) -> Samples:
    """Independent random numbers in every channel, to check terms."""
    rng = np.random.default_rng(seed)
    return Samples({c: rng.standard_normal((channel_size(model, c), instants)) for c in channels})

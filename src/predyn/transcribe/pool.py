"""States and channels at all instants of a phase that need the same channels, computed at once.

Sets of instants (quadrature points, limit points, ends) follow each other in the pool's arrays,
each from a chunk of its own, and look at their part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import Derived, derived_channel
from predyn.curves.bspline import BSpline
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import WIDTH
from predyn.model import Model
from predyn.transcribe import kernels
from predyn.transcribe.kernels import Floats, Instants


def in_lanes(values: Floats) -> Floats:
    """(instants, ...) to (chunks, ..., WIDTH); the number of instants fills whole chunks."""
    chunks = len(values) // WIDTH
    lanes = aligned(chunks, values[0].size, WIDTH)
    lanes[:] = values.reshape(chunks, WIDTH, -1).transpose(0, 2, 1)
    return lanes


def padded(s: Floats) -> Floats:
    """With the last instant repeated to fill the last chunk."""
    return np.concatenate([s, np.repeat(s[-1:], -len(s) % WIDTH)])


def instants_of(spline: BSpline, s: Floats, left: NDArray[np.bool_] | None = None) -> Instants:
    """Where instants lie on the curve, and the basis there."""
    basis, first = spline.basis(s).transpose(1, 0, 2), spline.span(s)  # instants, orders, points
    if left is not None:
        basis[left] = spline.basis(s[left], side="left").transpose(1, 0, 2)
        first[left] = spline.span(s[left], side="left")
    first = first.astype(np.int64).reshape(-1, WIDTH)
    last = np.ones(first.shape, bool)
    last[:, :-1] = first[:, :-1] != first[:, 1:]
    points = tuple(range(spline.degree + 1))
    return Instants(first, last, in_lanes(basis.reshape(len(s), -1)), points)


class Sampled(Protocol):
    """States and channels that a set of instants takes its part of."""

    orders: int
    instants: Instants
    z: tuple[Floats, ...]

    @property
    def derived(self) -> Mapping[str, Derived]: ...


class Pool:
    """States z (a tuple by order) and derived channels of some sets of instants.

    s       the instants of each set in turn, padded
    orders  3 for q, v, a, 4 with jerk; 0 if no set looks at the curve
    left    instants that belong to the segment before them, if they are between two
    """

    def __init__(
        self,
        model: Model,
        spline: BSpline,
        s: Floats,
        orders: int,
        channels: Sequence[str],
        forces: Sequence[ExternalForce],
        left: NDArray[np.bool_] | None = None,
    ) -> None:
        self.instants = instants_of(spline, s, left)
        self.idle = orders == 0
        self.orders = orders or 3
        chunks = len(s) // WIDTH
        self.z = tuple(aligned(chunks, model.n, WIDTH) for _ in range(self.orders))
        for x in self.z:
            x[:] = 0.0
        room = aligned(1, spline.degree + 1, WIDTH)
        self._evaluate = Direct(kernels.evaluate, self.instants, self.z, room)
        states = (self.z[0], self.z[1], self.z[2])
        self.derived: dict[str, Derived] = {
            name: derived_channel(model, name, states, forces) for name in channels
        }

    def move(self, control: Floats, powers: tuple[float, ...], eager: bool) -> None:
        """States of the curve and channel values.

        eager: the partials will be asked for too, and the channels compute both at once for less.
        """
        if self.idle:
            return
        self._evaluate.run(control, powers)
        self._eager = eager
        for channel in self.derived.values():
            if eager:
                channel.derive()
            else:
                channel.evaluate()

    def derive(self) -> None:
        """Partials of the channels."""
        if not self.idle and not self._eager:
            for channel in self.derived.values():
                channel.derive()

    def curve(self) -> None:
        """Second partials of the channels, weighted as the sets have asked for."""
        for channel in self.derived.values():
            channel.curve()

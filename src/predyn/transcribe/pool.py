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
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import WIDTH
from predyn.model import Model
from predyn.transcribe import kernels
from predyn.transcribe.kernels import Floats, Instants
from predyn.transcribe.layout import Components


def in_lanes(values: Floats) -> Floats:
    """(instants, ...) to (chunks, ..., WIDTH); the number of instants fills whole chunks."""
    chunks = len(values) // WIDTH
    lanes = aligned(chunks, values[0].size, WIDTH)
    lanes[:] = values.reshape(chunks, WIDTH, -1).transpose(0, 2, 1)
    return lanes


def padded(s: Floats) -> Floats:
    """With the last instant repeated to fill the last chunk."""
    return np.concatenate([s, np.repeat(s[-1:], -len(s) % WIDTH)])


def windows(
    components: Components, s: Floats, left: NDArray[np.bool_] | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """The basis of each signal at instants, (signals, instants, 4 orders, points), and the first
    control point that it belongs to, (signals, instants).

    A signal of low degree has zeros where others have control points. left: instants that belong
    to the segment before them, if they are between two.
    """
    width, found = components.points, []
    for spline in components.splines:
        basis, first = spline.basis(s).transpose(1, 0, 2), spline.span(s)
        if left is not None:
            basis[left] = spline.basis(s[left], side="left").transpose(1, 0, 2)
            first[left] = spline.span(s[left], side="left")
        places = max(spline.n_control, width)
        start = np.minimum(first, places - width)
        wide = np.zeros((len(s), 4, width))
        at = (first - start)[:, None, None] + np.arange(basis.shape[2])
        np.put_along_axis(wide, np.broadcast_to(at, basis.shape), basis, axis=2)
        found.append((wide, start))
    return np.stack([x for x, _ in found]), np.stack([x for _, x in found]).astype(np.int64)


def instants_of(
    components: Components, s: Floats, left: NDArray[np.bool_] | None = None
) -> Instants:
    """Where instants (whole chunks of them) lie on the curves, and the basis there."""
    basis, first = windows(components, s, left)
    chunks = len(s) // WIDTH
    cell = cells(first).reshape(chunks, WIDTH)
    last = np.ones(cell.shape, bool)
    last[:, :-1] = cell[:, :-1] != cell[:, 1:]
    in_chunks = np.ascontiguousarray(first.T.reshape(chunks, WIDTH, -1).transpose(0, 2, 1))
    return Instants(
        in_chunks,
        cell,
        last,
        in_lanes(basis.transpose(1, 0, 2, 3).reshape(len(s), -1)),
        components.base,
        components.stride,
        components.signal,
        tuple(range(components.points)),
    )


def cells(first: NDArray[np.int64]) -> NDArray[np.int64]:
    """(instants,): a number for each combination of first control points (signals, instants)."""
    code: NDArray[np.int64] = first[0]
    for more in first[1:]:
        code = np.unique(code * (1 + more.max()) + more, return_inverse=True)[1].reshape(-1)
    return code


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
        components: Components,
        s: Floats,
        orders: int,
        channels: Sequence[str],
        forces: Sequence[ExternalForce],
        left: NDArray[np.bool_] | None = None,
    ) -> None:
        self.instants = instants_of(components, s, left)
        self.idle = orders == 0
        self.orders = orders or 3
        chunks, count = len(s) // WIDTH, len(components.base)
        self.z = tuple(aligned(chunks, count, WIDTH) for _ in range(self.orders))
        for x in self.z:
            x[:] = 0.0
        room = aligned(1, components.points, WIDTH)
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

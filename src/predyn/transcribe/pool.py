"""States and channels at all instants of a phase that need the same channels, computed at once.

Sets of instants (quadrature points, limit points, ends) are stored one after another in the pool's
arrays, each starting with a new chunk, and use views of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import Derived, derived_channel
from predyn.dynamics.free_numbers import ModelParameters
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import WIDTH
from predyn.model import Model
from predyn.transcribe import kernels
from predyn.transcribe.kernels import Floats, Instants
from predyn.transcribe.layout import Components


def in_lanes(values: Floats) -> Floats:
    """Rearrange (instants, ...) to (chunks, ..., WIDTH); the instants must fill whole chunks."""
    chunks = len(values) // WIDTH
    lanes = aligned(chunks, values[0].size, WIDTH)
    lanes[:] = values.reshape(chunks, WIDTH, -1).transpose(0, 2, 1)
    return lanes


def padded(s: Floats) -> Floats:
    """Repeat the last instant to fill the last chunk."""
    return np.concatenate([s, np.repeat(s[-1:], -len(s) % WIDTH)])


def windows(
    components: Components, s: Floats, left: NDArray[np.bool_] | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """The basis of each signal at instants, (signals, instants, 4 orders, points), and its first
    control point, (signals, instants).

    left: instants that belong to the segment before them if they are at a break point.
    """
    found = []
    for spline in components.splines:
        basis, first = spline.basis(s).transpose(1, 0, 2), spline.span(s)
        if left is not None:
            basis[left] = spline.basis(s[left], side="left").transpose(1, 0, 2)
            first[left] = spline.span(s[left], side="left")
        found.append((basis, first))
    return widened(components, found)


def widened(
    components: Components, found: Sequence[tuple[Floats, NDArray[np.int64]]]
) -> tuple[Floats, NDArray[np.int64]]:
    """The basis (instants, orders, degree + 1) and first control point of each signal in turn, as
    arrays for all signals; the basis of signals of lower degree is padded with zeros.
    """
    width, basis, start = components.points, [], []
    for spline, (narrow, first) in zip(components.splines, found, strict=True):
        places = max(spline.n_control, width)
        begin = np.minimum(first, places - width)
        wide = np.zeros((*narrow.shape[:2], width))
        at = (first - begin)[:, None, None] + np.arange(narrow.shape[2])
        np.put_along_axis(wide, np.broadcast_to(at, narrow.shape), narrow, axis=2)
        basis.append(wide)
        start.append(begin)
    return np.stack(basis), np.stack(start).astype(np.int64)


def instants_of(components: Components, basis: Floats, first: NDArray[np.int64]) -> Instants:
    """Instants (whole chunks) from the basis of each signal at them and its first control point."""
    count = basis.shape[1]
    chunks = count // WIDTH
    cell = cells(first).reshape(chunks, WIDTH)
    last = np.ones(cell.shape, bool)
    last[:, :-1] = cell[:, :-1] != cell[:, 1:]
    in_chunks = np.ascontiguousarray(first.T.reshape(chunks, WIDTH, -1).transpose(0, 2, 1))
    return Instants(
        in_chunks,
        cell,
        last,
        in_lanes(basis.transpose(1, 0, 2, 3).reshape(count, -1)),
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
    """States and channels, of which each set of instants uses a part."""

    orders: int
    instants: Instants
    z: tuple[Floats, ...]

    @property
    def derived(self) -> Mapping[str, Derived]: ...


class Pool:
    """States z (a tuple by order) and derived channels of some sets of instants.

    s       the instants of each set in turn, padded
    orders  3 for q, v, a, 4 with jerk; 0 if no set depends on the curve
    left    instants that belong to the segment before them if they are at a break point
    looks   the basis at the instants and the first control points, if they are known (windows)
    parameters  those that stand for numbers of the model
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
        looks: tuple[Floats, NDArray[np.int64]] | None = None,
        parameters: ModelParameters | None = None,
    ) -> None:
        self.instants = instants_of(components, *(looks or windows(components, s, left)))
        self.s, self.idle = s, orders == 0
        self.orders = orders or 3
        chunks, count = len(s) // WIDTH, len(components.base)
        self.z = tuple(aligned(chunks, count, WIDTH) for _ in range(self.orders))
        for x in self.z:
            x[:] = 0.0
        room = aligned(1, components.points, WIDTH)
        self._evaluate = Direct(kernels.evaluate, self.instants, self.z, room)
        states = (self.z[0], self.z[1], self.z[2])
        self.derived: dict[str, Derived] = {
            name: derived_channel(model, name, states, forces, parameters) for name in channels
        }

    def move(self, control: Floats, powers: tuple[float, ...], eager: bool) -> None:
        """Compute states of the curve and channel values.

        eager: partials will be needed too; computing both at once is cheaper.
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
        """Compute the partials of the channels."""
        if not self.idle and not self._eager:
            for channel in self.derived.values():
                channel.derive()

    def curve(self) -> None:
        """Compute the second partials of the channels with the weights set by the sets."""
        for channel in self.derived.values():
            channel.curve()

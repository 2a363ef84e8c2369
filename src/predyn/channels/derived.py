"""Channels that q, v and a determine, in lanes: what torques, reactions and frames have in common.

Each has its value, its first partials in packed columns, and the second partials of a weighted
sum, packed by ancestor pairs. `depends` says, component by component, which joints act on it and
in which columns of dq, dv, da their partials are (-1: zero).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.batch import Direct, Kernel, aligned
from predyn.kernels.forces import ExternalForce, UnknownForce, pack_forces
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import ancestor_pairs, tree_of
from predyn.model import Model
from predyn.samples.registry import implementation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
States = tuple[Floats, Floats, Floats]  # q, v, a, each (chunks, joints and more, WIDTH)
Depends = list[list[tuple[int, int, int, int]]]  # per component: (joint, column in dq, dv, da)


class Derived(ABC):
    """A channel that q, v and a determine, at all instants of one set."""

    value: Floats  # (chunks, components, WIDTH)
    dq: Floats  # (chunks, columns, WIDTH)
    dv: Floats
    da: Floats
    weights: Floats  # (chunks, components, WIDTH) to be filled before curve()
    depends: Depends
    curvature: tuple[Floats, ...]  # qq, qv, vv, qa, packed by ancestor pairs
    pairs: Ints  # (pairs, 2): joint below, joint above

    def leave_out_zeros(self, states: tuple[Floats, Floats, Floats]) -> None:
        """Take partials that are zero wherever the mechanism is out of `depends`."""
        rng = np.random.default_rng(0)
        for x in states:
            x[:] = rng.uniform(-2.0, 2.0, x.shape)
        states[1][..., 0] = 0.0  # dry friction acts near standstill only
        self.derive()
        there = [np.any(x, axis=(0, 2)) for x in (self.dq, self.dv, self.da)]
        for component, joints in enumerate(self.depends):
            kept = []
            for j, *at in joints:
                q, v, a = (k if k >= 0 and on[k] else -1 for k, on in zip(at, there, strict=True))
                if max(q, v, a) >= 0:
                    kept.append((j, q, v, a))
            self.depends[component] = kept

    @abstractmethod
    def evaluate(self) -> None:
        """Fill `value`."""

    @abstractmethod
    def derive(self) -> None:
        """Fill dq, dv, da (and `value` again)."""

    @abstractmethod
    def curve(self) -> None:
        """Fill `curvature` with the second partials of weights . value."""


class ChannelPart:
    """A stretch of chunks of a channel: what one set of instants sees of it."""

    def __init__(self, channel: Derived, chunks: slice) -> None:
        self.value, self.weights = channel.value[chunks], channel.weights[chunks]
        self.dq, self.dv, self.da = channel.dq[chunks], channel.dv[chunks], channel.da[chunks]
        self.curvature = tuple(x[chunks] for x in channel.curvature)
        self.depends, self.pairs = channel.depends, channel.pairs


def scratch(kernel: Kernel, tree: object, chunks: int) -> tuple[Floats, ...]:
    return tuple(aligned(chunks, field.packed, WIDTH) for field in kernel.fields(tree))


def sweep(kernel: Kernel, tree: Any, constants: Any, ins: tuple, outs: tuple) -> Direct:
    return Direct(kernel.again, tree, constants, ins, outs, aligned(*kernel.work(tree), WIDTH))


def derived_channel(
    model: Model, name: str, states: States, forces: Sequence[ExternalForce]
) -> Derived:
    """The channel of that name at the instants of the states."""
    module, member = implementation(name)
    channel: Derived = module.in_lanes(model, member, states, forces)
    channel.leave_out_zeros(states)
    return channel


class DynamicsChannel(Derived):
    """Torques or reactions: kernels that take external forces.

    Forces are given (constant, or one for each instant in whole chunks), or unknown: they are then
    components among the states, after the joints.
    """

    def __init__(
        self,
        model: Model,
        kernels: tuple[Kernel, Kernel, Kernel],
        states: tuple[Floats, Floats, Floats],
        forces: Sequence[ExternalForce],
    ) -> None:
        self._tree = tree_of(model)
        chunks = len(states[0])
        loads, parts = pack_forces(model, self._tree, forces)
        values = aligned(chunks, 3 * len(parts), WIDTH)
        for k, part in enumerate(parts):
            per_instant = np.broadcast_to(part, (chunks * WIDTH, 3)).reshape(chunks, WIDTH, 3)
            values[:, 3 * k : 3 * k + 3] = per_instant.transpose(0, 2, 1)
        self.loads, self.load_values = loads, values
        self._fed, self._states = _fed(forces), states
        self.value, self.dq, self.dv, self.da = scratch(kernels[1], self._tree, chunks)
        self.curvature = scratch(kernels[2], self._tree, chunks)
        self.weights = aligned(chunks, self.value.shape[1], WIDTH)
        self._kernels = kernels
        self._bind(states)
        self.pairs = ancestor_pairs(self._tree)

    def _bind(self, states: States) -> None:
        """Fix the arrays that the kernels read and write."""
        tree, loads, values, kernels = self._tree, self.loads, self.load_values, self._kernels
        ins, weighted = (*states, values), (*states, self.weights, values)
        outs = (self.value, self.dq, self.dv, self.da)
        self._evaluate = sweep(kernels[0], tree, loads, ins, (self.value,))
        self._derive = sweep(kernels[1], tree, loads, ins, outs)
        self._curve = sweep(kernels[2], tree, loads, weighted, self.curvature)

    def _feed(self) -> None:
        """The values of unknown forces."""
        for columns, components in self._fed:
            self.load_values[:, columns] = self._states[0][:, components]

    def evaluate(self) -> None:
        self._feed()
        self._evaluate.run()

    def derive(self) -> None:
        self._feed()
        self._derive.run()

    def curve(self) -> None:
        self._curve.run()


def _fed(forces: Sequence[ExternalForce]) -> list[tuple[slice, slice]]:
    """Columns of the forces' values that are unknown, and the components that they are."""
    found = []
    for k, force in enumerate(forces):
        if isinstance(force, UnknownForce):
            for first, at in ((6 * k, force.moment_at), (6 * k + 3, force.force_at)):
                if at:
                    found.append((slice(first, first + 3), slice(at[0], at[0] + 3)))
    return found

"""Channels determined by q, v and a, in lanes: the common base of torques, reactions and frames.

Each has its value, its first partials in packed columns, and the second partials of a weighted
sum, packed by ancestor pairs. For each component, `depends` lists the joints that act on it and the
columns of dq, dv, da with their partials (-1: zero).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.free_numbers import ModelParameters, PointOn
from predyn.kernels.batch import Direct, Kernel, aligned
from predyn.kernels.forces import ExternalForce, UnknownForce, pack_forces
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import (
    MASSES,
    Tree,
    ancestor_pairs,
    differ_in_masses_only,
    tree_of,
    trees_of,
)
from predyn.model import Model
from predyn.samples.registry import implementation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
States = tuple[Floats, Floats, Floats]  # q, v, a, each (chunks, joints and more, WIDTH)
Depends = list[list[tuple[int, int, int, int]]]  # per component: (joint, column in dq, dv, da)
NO_LOADS = np.zeros((0, 0, WIDTH))


class Derived(ABC):
    """A channel determined by q, v and a, at all instants of one set.

    trees, points and load_values are what its kernels read of the model and of external forces; a
    channel with these supports parameters that stand for numbers of the model (parametric.py).
    """

    value: Floats  # (chunks, components, WIDTH)
    dq: Floats  # (chunks, columns, WIDTH)
    dv: Floats
    da: Floats
    weights: Floats  # (chunks, components, WIDTH) to be filled before curve()
    depends: Depends
    curvature: tuple[Floats, ...]  # qq, qv, vv, qa, packed by ancestor pairs
    pairs: Ints  # (pairs, 2): joint below, joint above
    trees: tuple[Tree, Tree, Tree]  # as kernels.tree.trees_of returns them
    points: Sequence[PointOn] = ()
    load_values: Floats = NO_LOADS  # (chunks, 6 forces, WIDTH)

    def leave_out_zeros(self, states: tuple[Floats, Floats, Floats]) -> None:
        """Remove partials that are zero in every state from `depends`."""
        for x, random in zip(states, _random(*(x.shape for x in states)), strict=True):
            x[:] = random
        self.derive()
        nonzero = self._nonzero = [np.any(x, axis=(0, 2)) for x in (self.dq, self.dv, self.da)]
        for component, joints in enumerate(self.depends):
            kept = []
            for j, *at in joints:
                q, v, a = (k if k >= 0 and on[k] else -1 for k, on in zip(at, nonzero, strict=True))
                if max(q, v, a) >= 0:
                    kept.append((j, q, v, a))
            self.depends[component] = kept

    def follow(self, model: Model, forces: Sequence[ExternalForce]) -> bool:
        """Take over the numbers of another model with the same joints, and of forces.

        False if it cannot, or if partials that were zero in every state are not zero then.
        """
        return False

    def no_new_partials(self, states: States) -> bool:
        """Whether all partials that leave_out_zeros removed are zero for the present numbers."""
        for x, random in zip(states, _random(*(x.shape for x in states)), strict=True):
            x[:] = random
        self.derive()
        partials = zip((self.dq, self.dv, self.da), self._nonzero, strict=True)
        return not any(x[:, ~known].any() for x, known in partials if not known.all())

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
    """A range of chunks of a channel, for one set of instants."""

    def __init__(self, channel: Derived, chunks: slice) -> None:
        self.value, self.weights = channel.value[chunks], channel.weights[chunks]
        self.dq, self.dv, self.da = channel.dq[chunks], channel.dv[chunks], channel.da[chunks]
        self.curvature = tuple(x[chunks] for x in channel.curvature)
        self.depends, self.pairs = channel.depends, channel.pairs


@lru_cache(maxsize=8)
def _random(*shapes: tuple[int, ...]) -> list[Floats]:
    """Random states q, v, a of the given shapes."""
    rng = np.random.default_rng(0)
    states: list[Floats] = [rng.uniform(-2.0, 2.0, shape) for shape in shapes]
    states[1][..., 0] = 0.0  # dry friction acts near standstill only
    return states


def scratch(kernel: Kernel, tree: object, chunks: int) -> tuple[Floats, ...]:
    return tuple(aligned(chunks, field.packed, WIDTH) for field in kernel.fields(tree))


def sweep(kernel: Kernel, tree: Any, constants: Any, ins: tuple, outs: tuple) -> Direct:
    return Direct(kernel.again, tree, constants, ins, outs, aligned(*kernel.work(tree), WIDTH))


def derived_channel(
    model: Model,
    name: str,
    states: States,
    forces: Sequence[ExternalForce],
    parameters: ModelParameters | None = None,
) -> Derived:
    """Create a channel by name, at the instants of the states.

    parameters: those that stand for numbers of the model or of the forces.
    """
    if model.couplings:  # few models have them
        from predyn.channels.coupled import coupled_channel

        return coupled_channel(model, name, states, forces, parameters)
    module, member = implementation(name)
    if parameters is not None:
        from predyn.channels.parametric import Parametric, twin

        own, probe = (module.in_lanes(twin(model), member, states, forces) for _ in range(2))
        parametric = Parametric(name, own, probe, states, parameters)
        parametric.leave_out_zeros(states)
        if parametric.varies:
            return parametric
    channel: Derived = module.in_lanes(model, member, states, forces)
    channel.leave_out_zeros(states)
    return channel


class UnknownLoad(Protocol):
    """Interface of an unknown external force, as needed by a channel."""

    outputs: Ints  # components of the channel that it acts on
    joints: Ints  # joints that move its point
    parts: list[tuple[range, tuple[int, ...], float]]  # of both: rows, components, sign
    point: PointOn  # where it acts

    def slopes(self) -> Floats:
        """(chunks, 6, outputs, WIDTH): partials of the channel in moment and force."""

    def bends(self) -> Floats:
        """(chunks, 6, joints, WIDTH): mixed second partials of weights . value in these and q."""


class DynamicsChannel(Derived):
    """Base of torques and reactions, whose kernels take external forces.

    Forces are either given (constant, or one per instant in whole chunks) or unknown; unknown
    forces are components of the states, after the joints.
    """

    orders = 3  # states that the kernels take: q, v, a, or only the first ones

    def __init__(
        self,
        model: Model,
        kernels: tuple[Kernel, Kernel, Kernel],
        states: tuple[Floats, Floats, Floats],
        forces: Sequence[ExternalForce],
    ) -> None:
        chunks = len(states[0])
        self._fed, self._states = _fed(forces), states
        self._read(model, forces)
        self.value, *partials = scratch(kernels[1], self._tree, chunks)
        unused = np.zeros((chunks, 1, WIDTH))
        self.dq, self.dv, self.da = (*partials, unused)[:3]
        self.curvature = scratch(kernels[2], self._tree, chunks)
        self.weights = aligned(chunks, self.value.shape[1], WIDTH)
        self._kernels = kernels
        self._unknown: tuple[UnknownLoad, ...] = ()
        self._owns_masses = False  # whether other numbers may be written to those of its tree
        self._bind(states)
        self.pairs = ancestor_pairs(self._tree)

    def _read(self, model: Model, forces: Sequence[ExternalForce]) -> None:
        """Take over the numbers of a model and of forces."""
        self._tree, self.trees = tree_of(model), trees_of(model)
        chunks = len(self._states[0])
        loads, parts = pack_forces(model, self._tree, forces)
        values = aligned(chunks, 3 * len(parts), WIDTH)
        for k, part in enumerate(parts):
            per_instant = np.broadcast_to(part, (chunks * WIDTH, 3)).reshape(chunks, WIDTH, 3)
            values[:, 3 * k : 3 * k + 3] = per_instant.transpose(0, 2, 1)
        self.loads, self.load_values = loads, values
        self.points = [
            PointOn(force.link, force.point, place)
            for force, place in zip(forces, loads.point, strict=True)
        ]

    def follow(self, model: Model, forces: Sequence[ExternalForce]) -> bool:
        tree = tree_of(model)
        if self._unknown or _fed(forces) or len(tree.rotor) or len(self._tree.rotor):
            return False
        unloaded = not forces and not self.points
        if self._owns_masses and unloaded and differ_in_masses_only(self._tree, tree):
            for name in MASSES:
                getattr(self._tree, name)[:] = getattr(tree, name)
        else:
            self._read(model, forces)
            own = {name: getattr(tree, name).copy() for name in MASSES}
            self._tree, self._owns_masses = tree._replace(**own), True
            self._bind(self._states)
        return self.no_new_partials(self._states)

    def _bind(self, states: States) -> None:
        """Fix the arrays that the kernels read and write."""
        tree, loads, values, kernels = self._tree, self.loads, self.load_values, self._kernels
        used = states[: self.orders]
        ins, weighted = (*used, values), (*used, self.weights, values)
        outs = (self.value, self.dq, self.dv, self.da)[: self.orders + 1]
        self._evaluate = sweep(kernels[0], tree, loads, ins, (self.value,))
        self._derive = sweep(kernels[1], tree, loads, ins, outs)
        self._curve = sweep(kernels[2], tree, loads, weighted, self.curvature)

    def _feed(self) -> None:
        """Copy the values of unknown forces from the states."""
        for columns, components, sign in self._fed:
            np.multiply(self._states[0][:, components], sign, out=self.load_values[:, columns])

    def add_unknown(self, loads: Sequence[UnknownLoad], states: States) -> None:
        """Add columns of dq and pairs of second partials for unknown forces."""
        self._unknown = tuple(loads)
        if not loads:
            return
        self.points = [*self.points, *(load.point for load in loads)]
        columns, pairs = self.dq.shape[1], [self.pairs]
        self._first = (columns, len(self.pairs))
        for load in loads:
            for _, components, _ in load.parts:
                for component in components:
                    for k, x in enumerate(load.outputs):
                        self.depends[x].append((component, columns + k, -1, -1))
                    columns += len(load.outputs)
                    both = [np.full_like(load.joints, component), load.joints]
                    pairs.append(np.stack(both, axis=1))
        self.pairs = np.concatenate(pairs)
        count, chunks = len(self.pairs), len(self.dq)
        self.dq = aligned(chunks, columns, WIDTH)
        sizes = (count, 2 * count, count, 2 * count)
        self.curvature = tuple(aligned(chunks, size, WIDTH) for size in sizes)
        for x in (self.dq, *self.curvature):
            x[:] = 0.0
        self._bind(states)

    def evaluate(self) -> None:
        self._feed()
        self._evaluate.run()

    def derive(self) -> None:
        self._feed()
        self._derive.run()
        if self._unknown:
            self._put(self._first[0], self.dq, [x.slopes() for x in self._unknown])

    def curve(self) -> None:
        self._curve.run()
        if self._unknown:
            self._put(self._first[1], self.curvature[0], [x.bends() for x in self._unknown])

    def _put(self, first: int, out: Floats, found: Sequence[Floats]) -> None:
        """Fill the columns of unknown forces from arrays (chunks, 6, columns, WIDTH), one each."""
        for load, values in zip(self._unknown, found, strict=True):
            for rows, _, sign in load.parts:
                for row in rows:
                    last = first + values.shape[2]
                    np.multiply(values[:, row], sign, out=out[:, first:last])
                    first = last


def _fed(forces: Sequence[ExternalForce]) -> list[tuple[slice, slice, float]]:
    """Columns of the unknown values of forces, the components that they are copied from, and the
    sign.
    """
    found = []
    for k, force in enumerate(forces):
        if isinstance(force, UnknownForce):
            moment = (6 * k, force.moment_at, force.moment_sign)
            for first, at, sign in (moment, (6 * k + 3, force.force_at, force.force_sign)):
                if at:
                    found.append((slice(first, first + 3), slice(at[0], at[0] + 3), sign))
    return found
